"""Hooks that run around the steps of all optimizers."""
import pytest
import whet
from whet import nn, optim
from whet.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)


@pytest.mark.parametrize("register", [register_optimizer_step_pre_hook,
                                      register_optimizer_step_post_hook])
def test_hooks_of_all_optimizers_run_in_traced_steps_too(register):
    def run(trace):
        whet.manual_seed(0)
        model = nn.Linear(3, 2)
        opt, scale, handles, seen = optim.SGD(model.parameters(), lr=0.1), [0.5], [], []

        def hook(optimizer, args, kwargs):
            for p in optimizer.param_groups[0]["params"]:
                p.grad.mul_(scale[0])
                p.data.mul_(scale[0])

        def step(x):
            opt.zero_grad()
            loss = (model(x) ** 2).mean()
            loss.backward()
            opt.step()
            return loss
        f = whet.jit.trace(step) if trace else step
        for i in range(18):
            if i in (4, 12, 13):
                handles.append(register(hook))
            scale[0] = 0.25 if i > 7 else 0.5
            if i in (10, 15, 16):
                handles.pop().remove()
            seen.append((f(whet.randn(4, 3)).item(), model.weight.tolist()))
        return seen
    assert run(True) == run(False)


def test_the_order_of_hooks_around_a_step():
    opt, seen = optim.SGD([whet.ones(1, requires_grad=True)], lr=0.1), []
    opt.register_step_pre_hook(lambda o, args, kwargs: seen.append(("pre", args, kwargs)))
    opt.register_step_post_hook(lambda *_: seen.append("post"))
    with register_optimizer_step_pre_hook(lambda *_: seen.append("pre of all")), \
            register_optimizer_step_post_hook(lambda *_: seen.append("post of all")):
        opt.step()
    assert seen == ["pre of all", ("pre", (opt,), {}), "post", "post of all"]
    with register_optimizer_step_pre_hook(lambda o, args, kwargs: ((o, lambda: 7), {})):
        assert opt.step() == 7
    with register_optimizer_step_pre_hook(lambda *_: 5), pytest.raises(RuntimeError, match="5"):
        opt.step()
