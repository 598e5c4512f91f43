"""`__torch_function__`: classes of tensors, modes and other objects that say what functions are."""
import gc
import inspect
import subprocess
import sys

import pytest
import whet
import whet.nn.functional as F
from whet import overrides
from whet.ops import registry


class Marked(whet.Tensor):
    """Results of functions of these are these, too."""


def marked(*size):
    numbers = whet.arange(1, 1 + whet.Size(size).numel(), dtype=whet.float32)
    return numbers.reshape(size).as_subclass(Marked)


PLAIN = whet.ones(3, 4)
GIVES_MARKED = {
    "an operator": lambda t: t + 1, "a reflected one": lambda t: 1 - t, "on the right": PLAIN.add,
    "of two": lambda t: PLAIN * t, "a comparison": lambda t: PLAIN < t,
    "equality": lambda t: t == 1,
    "a function": lambda t: whet.add(PLAIN, t), "of a list": lambda t: whet.cat([PLAIN, t]),
    "by name": lambda t: whet.add(input=PLAIN, other=t), "of nn": lambda t: F.linear(PLAIN, t),
    "a layer": lambda t: whet.nn.Linear(4, 2)(t), "an index": lambda t: t[0, :2],
    "an index by a mask": lambda t: PLAIN[t > 2], "a view": lambda t: t.view(-1),
    "a copy": lambda t: t.clone(), "of a type": lambda t: t.double(),
    "detached": lambda t: t.detach(),
    "an attribute": lambda t: t.T, "its data": lambda t: t.data, "in place": lambda t: t.mul_(1),
    "written to another": lambda t: whet.ones(3, 4).add_(t), "like it": whet.zeros_like,
    "new from it": lambda t: t.new_zeros(2), "random": whet.randn_like, "of a loss":
    lambda t: F.cross_entropy(t, whet.tensor([0, 1, 2])), "of linalg": whet.linalg.vector_norm,
    "one of several": lambda t: t.max(1).values, "one of a split": lambda t: t.split(2)[0],
    "iterated": lambda t: next(iter(t)), "given out": lambda t: whet.add(
        PLAIN, t, out=whet.empty(3, 4)), "an einsum": lambda t: whet.einsum("ij,kj->ik", PLAIN, t),
}


@pytest.mark.parametrize("what", GIVES_MARKED)
def test_results_are_of_the_class(what):
    of_plain, of_marked = (GIVES_MARKED[what](t) for t in (
        marked(3, 4).as_subclass(whet.Tensor), marked(3, 4)))
    assert type(of_marked) is Marked and type(of_plain) is whet.Tensor
    if what not in ("random", "a layer"):
        assert whet.equal(of_plain, of_marked.as_subclass(whet.Tensor))


def test_what_is_no_tensor_stays():
    t = marked(2, 3)
    assert t.shape == (2, 3) and type(t.sum().item()) is float
    assert t.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert type(t.max(1)).__name__ == type(PLAIN.max(1)).__name__
    assert type(t.as_subclass(whet.Tensor)) is whet.Tensor and t.grad is None
    assert repr(t).startswith("Marked(")


def test_gradients_are_plain_and_flow():
    w = marked(3).requires_grad_()
    (w * w).sum().backward()
    assert whet.equal(w.grad, 2 * w.detach().as_subclass(whet.Tensor))
    assert type(w.grad) is whet.Tensor and (w * 2).grad_fn is not None


def test_parameters_have_no_say():
    p = whet.nn.Parameter(whet.ones(2))
    b = whet.nn.Buffer(whet.ones(2))

    class Own(whet.nn.Parameter):
        pass
    assert type(p + 1) is type(b + 1) is type(Own(whet.ones(2)) + 1) is whet.Tensor


def _required(fn):
    """How many arguments a function must be given, and whether it takes any."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except ValueError:
        return 1
    fixed = [p for p in parameters if p.default is p.empty
             and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(fixed) or any(p.kind is p.VAR_POSITIONAL for p in parameters)


def test_every_public_function_asks():
    class Tells(whet.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "told", func
    t = whet.ones(2).as_subclass(Tells)
    asked = 0
    for space, functions in overrides.get_overridable_functions().items():
        for fn in functions:
            if space is whet.Tensor or not _required(fn) or fn.__name__.startswith("__"):
                continue
            told, of = fn(*[t] * _required(fn))
            assert told == "told" and of.__name__.partition("_with_")[0] in fn.__name__, fn
            asked += 1
    assert asked > 700
    with whet._C.DisableTorchFunctionSubclass():
        methods = {name: getattr(whet.Tensor, name) for name in vars(whet.Tensor)}
    for name, method in methods.items():
        if not name.startswith("_") and callable(method) and name not in (
                overrides.function_protocol.OF_THE_CLASS):
            assert getattr(t, name)(*[1] * (_required(method) - 1))[0] == "told", name
            asked += 1
    assert asked > 1300


def test_ops_that_functions_call_inside_ask_too():
    """A layer, say, may call an op of ours without the public function in front of it."""
    assert type(registry.REGISTRY["exp"](marked(3))) is Marked


def test_a_class_says_what_functions_are():
    handled = {}

    class Diagonal(whet.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func in handled:
                return handled[func](*args, **kwargs or {})
            return super().__torch_function__(func, types, args, kwargs)
    handled[whet.sum] = lambda t, **_: "the sum"
    handled[F.linear] = lambda *args, **_: ("linear", len(args))
    handled[whet.Tensor.add] = lambda a, b: "added"
    handled[whet.Tensor.shape.__get__] = lambda t: "its shape"
    t = whet.ones(2, 2).as_subclass(Diagonal)
    assert whet.sum(t) == "the sum" and F.linear(t, t) == ("linear", 2)
    assert t + 1 == "added" and t.add(1) == "added" and PLAIN[:2, :2] + t == "added"
    assert t.shape == "its shape" and type(t.mean()) is Diagonal


def test_subclasses_are_asked_first_and_may_leave_it():
    asked = []

    class Outer(whet.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(cls.__name__)
            return NotImplemented

    class Inner(Outer):
        pass
    a, b = (whet.ones(2).as_subclass(c) for c in (Outer, Inner))
    with pytest.raises(TypeError, match="no implementation found for .*add.*Inner.*Outer"):
        whet.add(a, b)
    assert asked == ["Inner", "Outer"]


def test_strangers_among_classes():
    """Two classes neither of which is the other's: the default is of neither."""
    class Other(whet.Tensor):
        pass
    with pytest.raises(TypeError, match="no implementation found"):
        marked(3) + whet.ones(3).as_subclass(Other)


def test_errors_are_those_of_the_function():
    with pytest.raises(RuntimeError, match="shape|size|broadcast"):
        marked(3) + whet.ones(4)
    assert type(marked(3) + 1) is Marked


def test_where_tensors_have_no_say():
    t = marked(3)
    with whet._C.DisableTorchFunctionSubclass():
        assert type(t + 1) is whet.Tensor and not overrides.has_torch_function_unary(t)
        with whet._C.DisableTorchFunctionSubclass():
            pass
        assert type(t * 2) is whet.Tensor
    assert type(t + 1) is Marked and overrides.has_torch_function_variadic(PLAIN, t)


class Counting(overrides.TorchFunctionMode):
    def __init__(self):
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        return func(*args, **kwargs or {})


def test_modes_are_asked_of_everything():
    with Counting() as mode:
        t = whet.zeros(2) + whet.randn(2)
        F.relu(t)
        t[0] = 1
        whet.cat([t, t]).sum(0)
    assert mode.names == ["zeros", "randn", "add", "relu", "__setitem__", "cat", "sum"]
    t + 1
    assert len(mode.names) == 7


def test_modes_are_asked_from_the_inside_outwards():
    order = []

    class Tells(overrides.TorchFunctionMode):
        def __init__(self, name):
            self.name = name

        def __torch_function__(self, func, types, args=(), kwargs=None):
            order.append(self.name)
            return func(*args, **kwargs or {})
    with Tells("outer"), Tells("inner"):
        PLAIN + 1
        with whet._C.DisableTorchFunction():
            PLAIN + 1
    assert order == ["inner", "outer"]


def test_a_mode_that_raises_is_left():
    with pytest.raises(ZeroDivisionError), Counting() as mode:
        raise ZeroDivisionError
    PLAIN + 1
    assert mode.names == [] and not whet.autograd.modes.state.function_modes


def test_modes_and_classes():
    with Counting() as mode:
        assert type(marked(3) + 1) is Marked
    assert "add" in mode.names


def test_names_of_overrides():
    assert overrides.is_tensor_like(marked(2)) and not overrides.is_tensor_like([1.0])
    assert overrides.is_tensor_method_or_property(whet.Tensor.add)
    assert overrides.is_tensor_method_or_property(whet.Tensor.shape.__get__)
    assert not overrides.is_tensor_method_or_property(whet.add)
    assert overrides.resolve_name(whet.Tensor.shape.__get__) == "whet.Tensor.shape.__get__"
    assert overrides.get_testing_overrides()[whet.add](1, 2) == -1
    assert whet.add not in overrides.get_ignored_functions()


def test_classes_that_nobody_has_cost_nothing():
    """Functions look at their arguments only while there is a class that has a say."""
    gc.collect()                             # classes of other tests
    before = len(whet.function_protocol.speakers)

    class Short(whet.Tensor):
        pass
    assert len(whet.function_protocol.speakers) == before + 1
    del Short
    gc.collect()
    assert len(whet.function_protocol.speakers) == before


def test_functions_look_for_overrides_only_while_there_is_a_parameter_without_a_shape():
    speakers = whet.function_protocol.speakers
    before = len(speakers)
    m = whet.nn.LazyLinear(3, bias=False)
    assert len(speakers) == before + 1
    m(whet.ones(2, 2))
    assert len(speakers) == before and not vars(m.weight)


def test_modules_alone_override_no_functions():
    code = "import whet.nn, whet.function_protocol as f; whet.nn.LazyLinear; print(f.speakers)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
