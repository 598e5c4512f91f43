"""Classes of tensors that say themselves what functions are of them, and modes that do."""
import whet
import whet.nn.functional as F
from whet.overrides import TorchFunctionMode

from tests.traps.harness import ramp, thrice, trap


def kind(result):
    """A result, and the class that it is of."""
    return type(result).__name__, result.as_subclass(whet.Tensor)


class Kept(whet.Tensor):
    """Results are of the class, too."""


@trap
def results_are_of_the_class():
    """An op on a tensor of a user class gives one of the class."""
    def f(t): return (t * 2 + 1).relu()
    def calls(f):
        yield from thrice(lambda: kind(f(ramp(3).as_subclass(Kept))))
        yield from thrice(lambda: kind(f(ramp(3))))
    return f, calls


@trap
def views_are_of_the_class():
    """What is given back is a view of the argument, or of another result."""
    def f(t):
        twice = t * 2
        return t[1:], twice, twice.view(2, 2)
    def calls(f):
        for t in (ramp(4).as_subclass(Kept), ramp(4)):
            for _ in range(3):
                part, twice, square = f(t)
                square.add_(1)
                part.add_(1)
                yield [*map(kind, (part, twice, square)), t.as_subclass(whet.Tensor)]
    return f, calls


@trap
def a_class_whose_functions_read_a_global():
    """__torch_function__ adds what a variable says."""
    def factory():
        bias = [1.0]
        class Biased(whet.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                result = super().__torch_function__(func, types, args, kwargs)
                if func is whet.relu:
                    with whet._C.DisableTorchFunctionSubclass():
                        result = result + bias[0]
                return result
        return Biased, bias
    Biased, bias = factory()
    def f(t): return whet.relu(t) * 2
    def calls(f):
        for bias[0] in (1.0, 5.0, 1.0):
            yield from thrice(lambda: kind(f(ramp(3).as_subclass(Biased))))
    return f, calls


@trap
def a_class_that_changes_its_mind():
    """__torch_function__ is replaced, and deleted."""
    class Fickle(whet.Tensor): pass
    t = ramp(3).as_subclass(Fickle)
    def f(): return t * 2
    def calls(f):
        yield from thrice(lambda: kind(f()))
        Fickle.__torch_function__ = classmethod(lambda cls, func, types, args=(), kwargs=None:
                                                whet.ones(2))
        yield from thrice(lambda: kind(f()))
        del Fickle.__torch_function__
        yield from thrice(lambda: kind(f()))
    return f, calls


@trap
def a_class_that_counts():
    """__torch_function__ leaves something behind at each call."""
    class Counted(whet.Tensor):
        calls = 0
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.calls += 1
            return super().__torch_function__(func, types, args, kwargs)
    def f(t): return (t + 1).exp()
    def calls(f):
        for _ in range(5):
            result = f(ramp(3).as_subclass(Counted))
            counted = Counted.calls
            yield kind(result), counted
    return f, calls


@trap
def a_class_that_counts_in_a_step():
    """The same where gradients flow, memory is written to, and numbers are asked for."""
    class Counted(whet.Tensor):
        names = []
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.names.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)
    held = ramp(3).as_subclass(Counted)
    def f(t, w):
        part = (t * w)[1:]
        loss = (part + held.sum()).square().mean()
        loss.backward()
        held.mul_(0.5)
        return part.view(2, 1).detach(), loss.item(), {"shape": t.shape, "sum": t.sum()}
    def calls(f):
        w = ramp(3).requires_grad_()
        for _ in range(5):
            part, loss, more = f(ramp(3).as_subclass(Counted), w)
            seen, w.grad = [*Counted.names], None
            yield kind(part), loss, more["shape"], kind(more["sum"]), seen
            Counted.names.clear()
    return f, calls


@trap
def a_class_with_metadata():
    """Results have the attributes of the operands."""
    class Named(whet.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            result = super().__torch_function__(func, types, args, kwargs)
            if isinstance(result, cls):
                result.of = next(a.of for a in args if isinstance(a, cls)) + "'"
            return result
    def f(t): return t * 2
    def calls(f):
        for name in "aabb":
            t = ramp(3).as_subclass(Named)
            t.of = name
            result = f(t)
            yield kind(result), result.of
    return f, calls


@trap
def a_table_of_functions():
    """What a function is comes from a table that grows."""
    table = {}
    class Listed(whet.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return table.get(func, super().__torch_function__)(func, types, args, kwargs)
    def f(t): return F.softplus(t)
    def calls(f):
        t = ramp(3).as_subclass(Listed)
        yield from thrice(lambda: kind(f(t)))
        table[F.softplus] = lambda func, types, args, kwargs: whet.zeros(1)
        yield from thrice(lambda: kind(f(t)))
    return f, calls


@trap
def a_tensor_outside_changes_its_class():
    """A variable holds a plain tensor, then one of a class."""
    held = [ramp(3)]
    def f(x): return x + held[0]
    def calls(f):
        yield from thrice(lambda: kind(f(ramp(3))))
        held[0] = held[0].as_subclass(Kept)
        yield from thrice(lambda: kind(f(ramp(3))))
    return f, calls


@trap
def the_class_of_a_tensor_is_replaced():
    """t.__class__ = ..."""
    class Other(Kept): pass
    t = ramp(3).as_subclass(Kept)
    def f(): return t * 2
    def calls(f):
        yield from thrice(lambda: kind(f()))
        t.__class__ = Other
        yield from thrice(lambda: kind(f()))
    return f, calls


@trap
def tensors_without_a_say():
    """The caller is where classes have no say, or is not."""
    t = ramp(3).as_subclass(Kept)
    def f(): return t * 2
    def calls(f):
        for _ in range(3):
            yield kind(f())
            with whet._C.DisableTorchFunctionSubclass():
                yield kind(f())
    return f, calls


class Doubling(TorchFunctionMode):
    """Doubles what `relu` gives."""
    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **kwargs or {})
        return result * 2 if func in (whet.relu, F.relu) else result


@trap
def a_mode_around_the_call():
    """The caller enters a mode, and leaves it."""
    def f(x): return whet.relu(x) + 1
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        with Doubling():
            yield from thrice(lambda: f(ramp(3)))
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_mode_inside():
    """The function enters a mode of which the number varies."""
    class Scaling(TorchFunctionMode):
        factor = 2.0
        def __torch_function__(self, func, types, args=(), kwargs=None):
            result = func(*args, **kwargs or {})
            return result * self.factor if func is whet.relu else result
    def f(x):
        with Scaling():
            return whet.relu(x) + 1
    def calls(f):
        for Scaling.factor in (2.0, 3.0, 2.0):
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_mode_that_lists_what_it_sees():
    """A mode's list grows at each call."""
    class Listing(TorchFunctionMode):
        def __init__(self): self.seen = []
        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.seen.append(func.__name__)
            return func(*args, **kwargs or {})
    mode = Listing()
    def f(x):
        with mode:
            return whet.zeros(3) + x.exp()
    def calls(f):
        for _ in range(5):
            yield f(ramp(3)), list(mode.seen)
    return f, calls


@trap
def gradients_through_a_class():
    """A loss of a tensor of a class, and the gradient of what it was made of."""
    def f(w):
        loss = (w.as_subclass(Kept) * 2).square().sum()
        loss.backward()
        return loss
    def calls(f):
        w = ramp(3).requires_grad_()
        for _ in range(4):
            yield kind(f(w).detach()), type(w.grad).__name__, w.grad.clone()
    return f, calls
