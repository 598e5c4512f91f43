"""whet's own names are patched, tensors carry more than numbers, others hold memory."""
import collections
import dataclasses

import numpy as np
import whet
from whet import nn

from tests.traps.harness import leaf, outcome, ramp, thrice, trap


# ---- whet's own names are patched ----------------------------------------------------------------
def patched(owner, name, value, calls):
    """Some calls, some with a whet name replaced, and some more."""
    before = vars(owner)[name]
    yield from calls()
    setattr(owner, name, value)
    try:
        yield from calls()
    finally:
        setattr(owner, name, before)
    yield from calls()


@trap
def a_function_of_whet_is_patched():
    """whet.exp = ..."""
    def f(x): return whet.exp(x)
    def calls(f):
        yield from patched(whet, "exp", lambda x: x + 1, lambda: thrice(lambda: f(ramp(3))))
    return f, calls


@trap
def a_method_is_added_to_tensors():
    """Tensor.double_it = ...: tensors learn a word."""
    whet.Tensor.double_it = lambda t: t * 2
    def f(x): return x.double_it()
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        whet.Tensor.double_it = lambda t: t * 2 + 1
        yield from thrice(lambda: f(ramp(3)))
        del whet.Tensor.double_it
        yield outcome(lambda: f(ramp(3)))
    return f, calls


@trap
def a_layer_of_whet_is_patched():
    """nn.Linear.forward = ..., for all layers at once."""
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    def f(x): return model(x)
    def calls(f):
        def other(self, x): return x - 1
        yield from patched(nn.Linear, "forward", other, lambda: thrice(lambda: f(ramp(2, 3))))
    return f, calls


@trap
def the_forward_of_one_layer_is_replaced():
    """model[0].forward = ..."""
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    def f(x): return model(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(2, 3)))
        model[0].forward = lambda x: x - 1
        yield from thrice(lambda: f(ramp(2, 3)))
        del model[0].forward
        yield from thrice(lambda: f(ramp(2, 3)))
    return f, calls


@trap
def an_attribute_of_a_layer_decides():
    """eps, negative_slope and the like are plain attributes."""
    norm, act = nn.LayerNorm(3), nn.LeakyReLU(0.1)
    def f(x): return act(norm(x) - 0.5)
    def calls(f):
        yield from thrice(lambda: f(ramp(2, 3)))
        act.negative_slope = 0.5
        yield from thrice(lambda: f(ramp(2, 3)))
        norm.eps = 10.0
        yield from thrice(lambda: f(ramp(2, 3)))
    return f, calls


# ---- tensors that carry more than numbers --------------------------------------------------------
@trap
def an_attribute_on_an_argument():
    """x.scale, set by the caller."""
    def f(x): return x * x.scale
    def calls(f):
        for s in (2.0, 3.0, 2.0):
            for _ in range(3):
                x = nn.Parameter(ramp(3))
                x.scale = s
                yield f(x)
    return f, calls


@trap
def an_attribute_on_an_argument_or_none():
    """getattr(p, "decay", default) over a list of parameters."""
    def f(p): return p * getattr(p, "decay", 1.0)
    def calls(f):
        p = nn.Parameter(ramp(3))
        yield from thrice(lambda: f(p))
        p.decay = 3.0
        yield from thrice(lambda: f(p))
        q = nn.Parameter(ramp(3))
        yield from thrice(lambda: f(q))
        q.decay = 0.0
        yield from thrice(lambda: f(q))
    return f, calls


@trap
def an_attribute_on_a_captured_parameter():
    """The same for what is reached from outside."""
    p = nn.Parameter(ramp(3))
    def f(x): return x * p * getattr(p, "decay", 1.0)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        p.decay = 3.0
        yield from thrice(lambda: f(ramp(3)))
        p.decay = 4.0
        yield from thrice(lambda: f(ramp(3)))
        del p.decay
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def an_attribute_is_put_on_an_argument():
    """The function marks what it has seen."""
    def f(p):
        p.seen = getattr(p, "seen", 0) + 1
        return p * 2
    def calls(f):
        p, q = nn.Parameter(ramp(3)), nn.Parameter(ramp(3))
        for _ in range(5):
            yield f(p), f(q), p.seen, q.seen
    return f, calls


@trap
def a_class_of_tensors_has_a_setting():
    """class Scaled(nn.Parameter): gain = ..., and a property that reads it."""
    class Scaled(nn.Parameter):
        gain = 2.0
        @property
        def scaled(self): return self * self.gain
    def f(p): return p * p.gain, p.scaled
    def calls(f):
        p = Scaled(ramp(3))
        for Scaled.gain in (2.0, 3.0, 2.0):
            yield from thrice(lambda: f(p))
    return f, calls


@trap
def the_offset_of_a_view_is_asked_for():
    """Equal shapes and strides, other offsets."""
    table = ramp(4, 3)
    def f(x): return x * x.storage_offset()
    def calls(f):
        for i in (0, 1, 1, 1, 2, 0):
            yield f(table[i])
    return f, calls


@trap
def the_version_of_a_tensor_is_asked_for():
    """x._version counts the writes."""
    w = ramp(3)
    def f(x): return x * x._version + w * w._version
    def calls(f):
        x = ramp(3)
        yield from thrice(lambda: f(x))
        x.add_(1)
        yield from thrice(lambda: f(x))
        w.add_(1)
        yield from thrice(lambda: f(x))
    return f, calls


@trap
def the_history_of_an_argument_is_asked_for():
    """type(x.grad_fn).__name__ and grad_fn.name() decide."""
    w = leaf(3)
    def f(x): return x * 2 if "mul" in x.grad_fn.name().lower() else x - 1
    def calls(f):
        for make in (lambda: w * 3, lambda: w + 3, lambda: w.exp(), lambda: w * 3):
            yield from thrice(lambda: f(make()).detach())
    return f, calls


@trap
def settings_of_a_generator_are_read():
    """g.initial_seed() is a number like any other."""
    g = whet.Generator()
    def f(x): return x * (g.initial_seed() % 7) + whet.initial_seed() % 5
    def calls(f):
        for s in (3, 4, 3):
            g.manual_seed(s)
            yield from thrice(lambda: f(ramp(3)))
        whet.manual_seed(3)
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


# ---- memory that others hold ---------------------------------------------------------------------
@trap
def an_array_view_is_written_to_inside():
    """np.asarray(x) and np.from_dlpack(x) are x's memory."""
    def f(x):
        np.asarray(x)[0] = 7
        return x * 2
    def calls(f):
        yield from thrice(lambda: (lambda x: (f(x), x))(ramp(3)))
        yield f(ramp(3))
    return f, calls


@trap
def a_dlpack_view_is_read_inside():
    """np.from_dlpack(x)[0] is a number that no tensor was asked for."""
    def f(x): return x * float(np.from_dlpack(x)[0])
    def calls(f):
        for k in (1.0, 2.0, 3.0):
            yield from thrice(lambda: f(ramp(3) * k))
    return f, calls


@trap
def a_record_of_numpy_changes():
    """A scalar of a structured array is a view of it."""
    table = np.zeros(1, dtype=[("a", "f4")])
    record = table[0]
    def f(x): return x + float(record["a"])
    def calls(f):
        for table["a"] in (0.0, 1.0, 2.0):
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


# ---- what comes out ------------------------------------------------------------------------------
@trap
def a_function_is_returned():
    """A closure with a counter of its own, made at each call."""
    def f(x):
        count = 0
        def bump():
            nonlocal count
            count += 1
            return count
        return x * 2, bump
    def calls(f):
        for _ in range(5):
            y, bump = f(ramp(3))
            yield y, bump(), bump()
    return f, calls


@trap
def a_class_is_returned():
    """A class made inside, with a counter of its own."""
    def f(x):
        class Counter: n = 0
        return x * 2, Counter
    def calls(f):
        for _ in range(5):
            y, c = f(ramp(3))
            c.n += 1
            yield y, c.n
    return f, calls


@trap
def one_list_is_returned_twice():
    """out[0] is out[1]"""
    def f(x):
        a = [x * 2]
        return a, a
    def calls(f):
        for _ in range(5):
            a, b = f(ramp(3))
            a.append(1)
            yield a is b, len(b)
    return f, calls


@trap
def a_list_that_holds_itself_is_returned():
    """A structure without an end."""
    def f(x):
        a = [x * 2]
        a.append(a)
        return a
    def calls(f):
        for _ in range(5):
            a = f(ramp(3))
            yield a[0], a[1] is a
    return f, calls


@trap
def a_dataclass_with_slots_goes_in_and_out():
    """There is no __dict__ to look into."""
    @dataclasses.dataclass(slots=True)
    class Pair:
        a: object
        b: float = 1.0
    def f(p): return Pair(p.a * p.b, p.b + 1)
    def calls(f):
        for b in (1.0, 2.0, 1.0):
            for _ in range(3):
                q = f(Pair(ramp(3), b))
                yield q.a, q.b
    return f, calls


@trap
def a_dataclass_made_from_tensors_alone():
    """Slots, in a result only."""
    @dataclasses.dataclass(slots=True)
    class Pair:
        a: object
        b: float = 1.0
    def f(x): return Pair(x * 2, 3.0)
    def calls(f):
        for _ in range(5):
            q = f(ramp(3))
            yield q.a, q.b
    return f, calls


@trap
def a_named_tuple_with_an_attribute():
    """A subclass of a named tuple has a dict beside its fields."""
    class Pair(collections.namedtuple("Pair", "a b")): pass
    def f(x):
        p = Pair(x * 2, 1)
        p.note = "here"
        return p
    def calls(f):
        for _ in range(5):
            p = f(ramp(3))
            yield p.a, p.note
    return f, calls


@trap
def an_outcome_is_written_to_before_backward():
    """exp saves its result: a write to it is an error later."""
    w = leaf(3)
    def f(x): return (x * w).exp()
    def calls(f):
        for k in range(6):
            y = f(ramp(3))
            if k % 2:
                y.add_(1)
            w.grad = None
            yield outcome(lambda: y.sum().backward()), w.grad
    return f, calls


@trap
def an_argument_is_written_to_before_backward():
    """What the function saved of its argument is not what it was."""
    w = leaf(3)
    def f(x): return (x * w).sum()
    def calls(f):
        for k in range(6):
            x = ramp(3)
            y = f(x)
            if k % 2:
                x.add_(1)
            w.grad = None
            yield outcome(lambda: y.backward()), w.grad
    return f, calls


@trap
def inputs_of_backward_are_chosen():
    """y.backward(inputs=[a]): b must get nothing."""
    a, b = leaf(3), leaf(3)
    def f(x): return (x * a * b).sum()
    def calls(f):
        for k in range(6):
            a.grad = b.grad = None
            f(ramp(3)).backward(inputs=[a, b][k % 2:][:1])
            yield a.grad, b.grad
    return f, calls
