"""Which tensors have a gradient from before a call: compared where the function could tell, and
nowhere else."""
import numpy as np
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


def dropped_by_optimizer(ps, x):
    whet.optim.SGD(ps, lr=0.1).zero_grad()


def dropped_by_module(ps, x):
    holder = nn.Module()
    holder.params = nn.ParameterList(ps)
    holder.zero_grad()


def deleted(ps, x):
    for p in ps[:2]:
        del p.grad


def dropped_if_there(ps, x):
    for p in ps:
        if p.grad is not None:
            p.grad = None


def dropped_after_a_refused_one(ps, x):
    try:
        ps[0].grad = whet.zeros(7)
    except RuntimeError:
        pass
    ps[1].grad = None


ACTS = {
    "dropped": lambda ps, x: setattr(ps[0], "grad", None),
    "another dropped": lambda ps, x: setattr(ps[1], "grad", None),
    "dropped by an optimizer": dropped_by_optimizer,
    "dropped by a module": dropped_by_module,
    "deleted": deleted,
    "dropped if there": dropped_if_there,
    "refused": dropped_after_a_refused_one,
    "written over with zeros": lambda ps, x: whet.optim.SGD(ps, lr=0.1).zero_grad(False),
    "laid": lambda ps, x: setattr(ps[2], "grad", x * 2),
    "laid again": lambda ps, x: setattr(ps[0], "grad", ps[0].grad),
    "of another": lambda ps, x: setattr(ps[1], "grad", ps[2].grad),
    "differentiated": lambda ps, x: (ps[0] * ps[1] * x).sum().backward(),
    "another differentiated": lambda ps, x: (ps[2] * x).square().sum().backward(),
    "asked": lambda ps, x: x * 2 if ps[0].grad is None else x * 3,
    "read": lambda ps, x: x if ps[1].grad is None else x + ps[1].grad,
    "one step": lambda ps, x: whet.optim.SGD(ps, lr=0.01).step(),
    "their norm": lambda ps, x: x + nn.utils.clip_grad_norm_(ps, 1.0),
}


def outcome_of_acts(seed, is_traced):
    """What a random program makes of three parameters with and without gradients, call by call."""
    rng = np.random.default_rng(seed)
    chosen = [ACTS[name] for name in rng.choice(list(ACTS), rng.integers(1, 6))]
    ps = [nn.Parameter(whet.tensor(rng.standard_normal(3))) for _ in range(3)]

    def program(x):
        for act in chosen:
            out = act(ps, x)
            x = out if isinstance(out, whet.Tensor) else x
        return x * 1
    f, found = jit.trace(program) if is_traced else program, []
    for _ in range(14):
        for p in ps:
            way = rng.integers(0, 4)
            if way < 2:
                p.grad = whet.tensor(rng.standard_normal(3)) if way else None
        x = whet.tensor(rng.standard_normal(3))
        found.append(f(x).tolist())
        found += [p.tolist() for p in ps]
        found += [None if p.grad is None else p.grad.tolist() for p in ps]
    return found


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_that_drop_and_read_gradients(seed):
    assert outcome_of_acts(seed, True) == outcome_of_acts(seed, False)


class Experts(nn.Module):
    """Each call names those of its parts that have a say: the others get no gradient."""

    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList(nn.Linear(6, 6) for _ in range(5))

    def forward(self, x, which):
        return sum(self.parts[i](x).tanh() for i in which)


@pytest.mark.parametrize("drops", ["optimizer", "module", "attribute"])
def test_gradients_that_are_dropped_unread_make_no_recordings(drops):
    whet.manual_seed(0)
    model = Experts()
    optimizer = whet.optim.SGD(model.parameters(), lr=0.1)

    @jit.trace
    def step(x, which):
        if drops == "attribute":
            for p in model.parameters():
                p.grad = None
        else:
            (optimizer if drops == "optimizer" else model).zero_grad()
        loss = model(x, which).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()
    rng, ways = np.random.default_rng(0), [(0, 1), (1, 2, 3), (4,), (0, 3)]
    for k in range(48):
        which = ways[k % 4 if k < 4 else rng.integers(0, 4)]
        step(whet.randn(4, 6), which)
        assert [p.grad is not None for p in model.parts[0].parameters()] == 2 * [0 in which]
    tally = step.explain(data=True)["calls"]
    assert tally["recorded"] <= len(ways) + 1, tally
