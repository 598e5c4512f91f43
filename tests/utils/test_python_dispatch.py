"""`whet.utils._python_dispatch.TorchDispatchMode`: what a mode is asked, and what it may answer."""
import threading

import pytest
import whet
from whet import nn
from whet.utils._python_dispatch import TorchDispatchMode

aten = whet.ops.aten


class Listing(TorchDispatchMode):
    """Notes which ops there are."""

    def __init__(self):
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(func)
        return func(*args, **kwargs or {})


def layers():
    whet.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2, bias=False))


def test_a_step_is_seen_and_is_what_it_was():
    x, found = whet.randn(5, 3), []
    for mode in (None, Listing()):
        model = layers()
        optimizer = whet.optim.SGD(model.parameters(), lr=0.1)

        def step(model=model, optimizer=optimizer):
            whet.dropout(model(x), 0.5, True).sum().backward()
            optimizer.step()
        if mode is None:
            step()
        else:
            with mode:
                step()
        found.append([p.detach().clone() for p in model.parameters()])
    assert all(a.equal(b) for a, b in zip(*found, strict=True))
    assert [mode.seen.count(op) for op in (
        aten.addmm.default, aten.mm.default, aten.gelu.default)] == [1, 4, 1]


def test_writes_draws_and_views_have_names():
    x = whet.zeros(2, 3)
    with Listing() as mode:
        x.T[0].add_(1)
        whet.bernoulli(x)
    assert x.tolist() == [[1, 0, 0], [1, 0, 0]]
    names = [str(f) for f in mode.seen]
    assert "aten.add_.default" in names and any("random" in n for n in names)
    assert names[0] in ("aten.permute.default", "aten.transpose.default")


def test_an_op_has_one_form_whatever_it_is_called():
    assert aten.add.Tensor is aten.add.Scalar is aten.add.default
    assert not hasattr(aten.add, "no_such_form") and callable(aten._pin_memory.default)
    with Listing() as mode:
        whet.ones(2).double()
    assert mode.seen[-1] is aten._to_copy.default


def test_what_a_mode_gives_is_the_result():
    class Negative(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            assert types == ()
            made = func(*args, **kwargs)
            return -made if func is aten.exp.default else made
    x = whet.ones(2, requires_grad=True)
    with Negative():
        y = x.exp() * 2
    assert y.equal(-x.exp() * 2)
    y.sum().backward()
    assert x.grad.equal(-x.exp().detach() * 2)


def test_the_mode_that_was_entered_last_is_asked_first():
    order = []

    class Named(TorchDispatchMode):
        def __init__(self, name):
            self.name = name

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            order.append(self.name)
            return func(*args, **kwargs)
    one = Named("one")
    with one, Named("two"), one:
        whet.ones(2).exp()
    assert order[-3:] == ["one", "two", "one"]
    order.clear()
    whet.ones(2).exp()
    assert order == []


def test_a_name_is_the_function_again_afterwards():
    """Within the method it stands for the op that the mode is asked about; elsewhere it does not,
    also after an error."""
    class Refusing(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise ValueError("no")
    x = whet.ones(2)
    with pytest.raises(ValueError, match="no"), Refusing():
        x.add(1)
    assert aten.add.default(x, x, alpha=2).tolist() == [3, 3]


def test_operators_of_ones_own_are_seen_as_one():
    @whet.library.custom_op("dispatch_of_tests::double", mutates_args=())
    def double(x: whet.Tensor) -> whet.Tensor:
        return x * 2
    x = whet.ones(2)
    with Listing() as mode:
        assert double(x).tolist() == [2, 2]
    assert mode.seen[0] is double


def test_a_mode_that_says_nothing_is_an_error():
    class Mute(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return NotImplemented
    x = whet.ones(2)
    with pytest.raises(TypeError, match=r"NotImplemented for aten\.exp"), Mute():
        x.exp()


def test_traced_functions_run_eagerly_in_a_mode():
    traced = whet.jit.trace(lambda x: x.exp() + 1)
    x = whet.ones(2)
    want = x.exp() + 1
    for _ in range(4):
        assert traced(x).equal(want)
    with Listing() as mode:
        made = traced(x)
    assert made.equal(want)
    assert [str(f) for f in mode.seen] == ["aten.exp.default", "aten.add.default"]


def test_a_function_that_enters_a_mode_is_not_recorded():
    mode = Listing()

    @whet.jit.trace
    def f(x):
        with mode:
            return x.exp()
    x = whet.ones(2)
    with pytest.warns(whet.jit.TraceWarning):
        for _ in range(4):
            f(x)
    assert len(mode.seen) == 4


def test_other_threads_have_modes_of_their_own():
    with Listing() as mode:
        thread = threading.Thread(target=lambda: whet.ones(2).exp())
        thread.start()
        thread.join()
    assert mode.seen == []
