"""State that is laid anew: schedules of every kind, windows of losses, caches that grow, counters
that decide, and what is set between calls."""
import collections

import whet
from whet.optim import lr_scheduler as S

from .harness import Box, leaf, ramp, trap

SCHEDULES = {
    "LambdaLR": lambda o: S.LambdaLR(o, lambda n: 0.9 ** n),
    "MultiplicativeLR": lambda o: S.MultiplicativeLR(o, lambda n: 0.9),
    "StepLR": lambda o: S.StepLR(o, 4), "MultiStepLR": lambda o: S.MultiStepLR(o, [3, 5, 5]),
    "ConstantLR": lambda o: S.ConstantLR(o, 0.5, 4),
    "LinearLR": lambda o: S.LinearLR(o, 0.1, total_iters=6),
    "ExponentialLR": lambda o: S.ExponentialLR(o, 0.9),
    "CosineAnnealingLR": lambda o: S.CosineAnnealingLR(o, 5),
    "PolynomialLR": lambda o: S.PolynomialLR(o, 7, 2.0),
    "CosineAnnealingWarmRestarts": lambda o: S.CosineAnnealingWarmRestarts(o, 3, 2),
    "CyclicLR": lambda o: S.CyclicLR(o, 0.01, 0.1, 3, mode="triangular2"),
    "OneCycleLR": lambda o: S.OneCycleLR(o, 0.1, 20),
    "three_phases": lambda o: S.OneCycleLR(o, 0.1, 20, three_phase=True, anneal_strategy="linear"),
    "SequentialLR": lambda o: S.SequentialLR(o,
                                             [S.LinearLR(o, 0.1, total_iters=3),
                                              S.CosineAnnealingLR(o, 9)], [3]),
                                              "ChainedScheduler": lambda o: S.ChainedScheduler([
                                                  S.ExponentialLR(o, 0.9),
                                                  S.ConstantLR(o, 0.5, 4)])}


def scheduled(name):
    """A trap for a kind of schedule, which steps with its optimizer, and whose state is set between
    calls."""
    def build():
        w = leaf(3)
        opt = whet.optim.SGD([w], lr=0.1, momentum=0.5)
        schedule = SCHEDULES[name](opt)
        def f(x):
            loss = (w * x).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
            schedule.step()
            return opt.param_groups[0]["lr"], schedule.get_last_lr()
        def calls(f):
            for _ in range(9):
                yield f(ramp(3)), w, getattr(schedule, "last_epoch", 0)
            opt.param_groups[0]["lr"] = 0.02
            yield f(ramp(3)), w
            if name not in ("SequentialLR", "ChainedScheduler"):
                schedule.last_epoch = 1
            yield f(ramp(3)), w, f(ramp(3)), w
        return f, calls
    build.__name__, build.__doc__ = (f"a_schedule_{name}",
                                     f"{name} steps inside, and is set by hand.")
    return trap(build)


for _name in SCHEDULES:
    scheduled(_name)


@trap
def a_plateau():
    """ReduceLROnPlateau looks at this call's loss."""
    w = leaf(3)
    opt = whet.optim.SGD([w], lr=0.1)
    schedule = S.ReduceLROnPlateau(opt, patience=1)
    def f(x):
        loss = (w * x).sum() ** 2
        opt.zero_grad()
        loss.backward()
        opt.step()
        schedule.step(loss)
        return loss.item()
    def calls(f):
        for i in range(14):
            yield f(ramp(3) * (1 + i % 3)
                    * 0.1), opt.param_groups[0]["lr"], schedule.best, schedule.num_bad_epochs
    return f, calls


@trap
def windows_of_losses():
    """Deques with and without an end, in an attribute, a dict and a default dict, before and after
    they are full; then one is cleared."""
    o, d, h = (Box(last=collections.deque(maxlen=4)), {"all": collections.deque()},
               collections.defaultdict(lambda: collections.deque(maxlen=3)))
    def f(x):
        v = x.sum()
        o.last.append(v.item())
        d["all"].extend([v, 1])
        h["loss"] += [float(v)]
        return v * 2
    def calls(f):
        for i in range(12):
            yield f(ramp(2) * i), o.last, d["all"], h["loss"], type(o.last).__name__, o.last.maxlen
            if i == 8:
                o.last.clear(), h["loss"].popleft(), d["all"].appendleft(3)
        o.last = collections.deque([7.0], maxlen=2)
        for i in range(4):
            yield f(ramp(2) * i), o.last
    return f, calls


@trap
def a_window_is_read():
    """The mean of the last losses decides."""
    last = collections.deque(maxlen=3)
    def f(x):
        last.append(float(x.sum()))
        mean = sum(last) / len(last)
        return x * 2 if mean > 4 else x * 3, mean, max(last), last[0]
    def calls(f):
        for i in (1, 2, 1, 5, 5, 5, 1, 1, 1, 1, 2, 3):
            yield f(ramp(2) * i), last
    return f, calls


@trap
def a_hidden_state():
    """(h, c) as a tuple that is laid anew, is set between calls, and once is shared with another
    name."""
    o = Box(state=(ramp(2), ramp(2) * 2), other=None)
    def f(x):
        h, c = o.state
        h = (x + h).tanh()
        c = c * 0.5 + h
        o.state = (h.detach(), c.detach())
        return h
    def calls(f):
        for i in range(6):
            yield f(ramp(2) * i), o.state
        o.state = (ramp(2), ramp(2))
        yield f(ramp(2)), o.state
        h = ramp(2)
        o.state = (h, h)
        yield f(ramp(2)), o.state, f(ramp(2)), o.state
        o.state = [ramp(2), ramp(2)]
        yield f(ramp(2)), o.state, f(ramp(2)), o.state
    return f, calls


@trap
def what_is_laid_and_never_read():
    """The last loss, a view, a dict of losses, a pair of a number and a tensor, and a text."""
    o = Box(loss=None, row=None, losses={}, pair=(0.0, None), said="")
    def f(x):
        y = x * 2
        o.loss, o.row, o.losses = y.sum(), y[0], {"a": y.mean(), "n": 1}
        o.pair = y.max().item(), y
        return y
    def calls(f):
        for i in range(8):
            yield f(ramp(2, 2) * i), o.loss, o.row, o.losses, o.pair, o.row._base is not None
    return f, calls


@trap
def caches_of_keys():
    """One that grows by cat, and one that is written to at a position that varies."""
    o = Box(k=whet.zeros(1, 2), room=whet.zeros(8, 2), at=0)
    def f(x):
        o.k = whet.cat([o.k, x])
        o.room[o.at] = x[0]
        o.at += 1
        return (o.k @ x.T).sum() + o.room.sum()
    def calls(f):
        for i in range(7):
            yield f(ramp(1, 2) * i), o.k, o.room, o.at
        o.at, o.k = 0, whet.zeros(1, 2)
        for i in range(4):
            yield f(ramp(1, 2) * i), o.k, o.room, o.at
    return f, calls


@trap
def a_counter_decides():
    """A Counter of what was seen."""
    seen = collections.Counter()
    def f(x, kind):
        seen[kind] += 1
        return x * 10 if seen[kind] > 3 else x, seen.most_common(1), sum(seen.values())
    def calls(f):
        for i in range(12):
            yield f(ramp(2), "ab"[i % 3 == 0]), seen
        seen.clear()
        yield f(ramp(2), "a"), seen
    return f, calls
