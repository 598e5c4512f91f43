"""Names and forms of calls by which libraries made for PyTorch reach for it."""
import collections

import pytest
import whet
from whet import nn


@pytest.mark.parametrize("call, shape", [
    (lambda x: x.reshape(shape=(2, 3)), (2, 3)), (lambda x: x.view(size=(3, 2)), (3, 2)),
    (lambda x: x.view(dtype=whet.int32), (6,)), (lambda x: x[None].expand(size=(4, 6)), (4, 6)),
    (lambda x: x.repeat(repeats=(2, 1)), (2, 6)), (lambda x: x.tile(dims=(2,)), (12,)),
    (lambda x: x.tile(2, 1), (2, 6)), (lambda x: x.broadcast_to(size=(2, 6)), (2, 6)),
    (lambda x: whet.broadcast_to(x, shape=(2, 6)), (2, 6)),
    (lambda x: whet.randn(size=(2, 5)), (2, 5)), (lambda x: whet.rand(size=(3,)), (3,))])
def test_sizes_are_given_by_name(call, shape):
    x = whet.arange(6.0)
    for _ in range(3):
        assert call(x).shape == shape


def test_an_optimizer_may_be_given_its_hooks():
    """As wrappers of optimizers do that do not call the constructor."""
    class Wrapper(whet.optim.Optimizer):
        def __init__(self, base):
            self.base, self.param_groups = base, base.param_groups
            self._optimizer_step_pre_hooks = collections.OrderedDict()
            self._optimizer_step_post_hooks = collections.OrderedDict({7: print})
    wrapper = Wrapper(whet.optim.SGD(nn.Linear(2, 2).parameters(), lr=0.1))
    assert not wrapper._optimizer_step_pre_hooks
    assert dict(wrapper._optimizer_step_post_hooks) == {7: print}
    wrapper.register_step_pre_hook(print)
    assert list(wrapper._optimizer_step_pre_hooks.values()) == [print]


def test_functions_of_the_symbolic_tracer():
    @whet.fx.wrap
    def f(x):
        return x + 1
    assert f(1) == 2 and not isinstance(f, whet.fx.Proxy)
    for absent in (lambda: whet.fx.symbolic_trace(f), whet.fx.Tracer):
        with pytest.raises(NotImplementedError, match=r"whet\.jit\.trace\(f\) records runs"):
            absent()


def test_functions_by_their_older_module():
    assert whet.functional.einsum is whet.einsum
    assert all(getattr(whet.functional, n) is getattr(whet, n) for n in whet.functional.__all__)


def test_nothing_depends_on_being_traced():
    f = whet.jit.trace(lambda x: x * (3 if whet.compiler.is_compiling() else 2))
    assert [f(whet.ones(1)).item() for _ in range(5)] == [2.0] * 5
    assert f.explain(data=True)["calls"]["replayed"] >= 2
