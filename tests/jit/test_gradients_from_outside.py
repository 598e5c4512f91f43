"""Which tensors have a gradient from before a call: compared where the function could tell, and
nowhere else."""
import pytest
import whet
from whet import jit, nn

SLOT = whet.tensor_base.Base._grad
GET = SLOT.__get__

READS = {
    "the attribute": lambda p, x: x * 2 if p.grad is None else x * 3,
    "by its name": lambda p, x: x * 2 if getattr(p, "grad") is None else x * 3,
    "the slot": lambda p, x: x * 2 if p._grad is None else x * 3,
    "a name made at run time": lambda p, x: x * 2 if getattr(p, "_gr" + "ad") is None else x * 3,
    "the slot's descriptor": lambda p, x: x * 2 if SLOT.__get__(p) is None else x * 3,
    "a method of that": lambda p, x: x * 2 if GET(p) is None else x * 3,
    "its number": lambda p, x: x + (0 if p.grad is None else p.grad.sum()),
    "adding to it": lambda p, x: (x * p).sum().backward(),
    "forgetting it": lambda p, x: setattr(p, "grad", None),
    "a copy": lambda p, x: x + (1 if p.as_subclass(whet.Tensor).grad is None else 2),
}


@pytest.mark.parametrize("read", READS)
def test_a_function_that_could_tell(read):
    def seen(traced):
        whet.manual_seed(0)
        p, x = whet.randn(3).requires_grad_(), whet.randn(3)

        def fn(x):
            out = READS[read](p, x)
            return x * 1 if out is None else out
        f, found = jit.trace(fn) if traced else fn, []
        for k in range(16):
            if k in (4, 5, 9):
                p.grad = whet.full((3,), float(k))
            if k in (7, 12):
                p.grad = None
            found.append((f(x).tolist(), None if p.grad is None else p.grad.tolist()))
        return found, f
    want, _ = seen(False)
    got, f = seen(True)
    assert got == want


@pytest.mark.parametrize("forgets", [True, False])
def test_the_optimizer_inside(forgets):
    def seen(traced):
        whet.manual_seed(0)
        model, x = nn.Linear(3, 2), whet.randn(4, 3)
        optimizer = whet.optim.SGD(model.parameters(), lr=0.1)

        def fn():
            if forgets:
                optimizer.zero_grad()
            optimizer.step()
            return model(x).detach()
        f, found = jit.trace(fn) if traced else fn, []
        for k in range(20):
            if k % 5 > 1:
                model(x).square().sum().backward()
            found.append((f().tolist(), [p.grad is None for p in model.parameters()]))
        return found
    assert seen(True) == seen(False)


def test_a_loop_that_differentiates_outside_has_one_recording():
    """In its first call no parameter has a gradient, in all others each has one."""
    model, x = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1)), whet.randn(4, 8)
    f = jit.trace(model)
    optimizer = whet.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(12):
        loss = f(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    tally = f.explain(data=True)["calls"]
    assert tally["recorded"] == 1 and tally["replayed"] >= 9, tally
