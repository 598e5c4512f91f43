"""An interrupt at any line of ours while a traced step is recorded or replayed leaves nothing
behind.

    python -m tests.interrupts             every line, at its first and at its last turn (some minutes)
    python -m tests.interrupts --every 50  each 50th of them

The interpreter looks for interrupts at calls, jumps back and where functions begin. So the return
to the line of a `with` at its end is left out, and the lines of a `finally` up to its first call,
as none comes before that call is done. The lines of an `__exit__` up to its first call are left
out, too: an interrupt may come where it begins, but Python code cannot guard against that one.
"""
import argparse
import ast
import dis
import functools
import gc
import os
import random
import sys
import time
import warnings

import whet
from whet.autograd import modes

OURS = os.path.dirname(whet.__file__), os.path.dirname(os.path.dirname(whet.jit.__file__))


CLOCK = time.time


class Interrupt(BaseException):
    pass


class State:
    """What the step changes in Python's state."""

    def __init__(self):
        self.count, self.log, self.started, self.scale = 0, [], None, 0.5


def program():
    """(a traced training step, what it changes, its model)."""
    whet.manual_seed(0)
    model, state = (whet.nn.Sequential(whet.nn.Linear(3, 4), whet.nn.ReLU(),
                                       whet.nn.Linear(4, 1)), State())
    optimizer = whet.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    @whet.jit.trace
    def step(x, factor):
        state.started = time.time()
        state.count += 1
        optimizer.zero_grad()
        loss = (model(x) * factor * state.scale).square().mean()
        loss.backward()
        optimizer.step()
        with whet.no_grad():
            state.log.append(loss.detach())
        return loss
    return step, state, model


class Injector:
    """Raises at one line event of our code, counted from the beginning; or counts them."""

    def __init__(self, at=None):
        self.at, self.n, self.turns = at, 0, {}

    def __call__(self, frame, event, arg):
        return self.line if _is_ours(frame.f_code.co_filename) else None

    def line(self, frame, event, arg):
        if event == "line":
            if (frame.f_lasti in _ends_of_withs(frame.f_code)
                    or frame.f_lineno in _begins_of_ends(frame.f_code.co_filename)):
                return self.line
            self.n += 1
            if self.at is None:
                first, _ = self.turns.setdefault((frame.f_code, frame.f_lineno), (self.n, self.n))
                self.turns[frame.f_code, frame.f_lineno] = first, self.n
            elif self.n == self.at:
                sys.settrace(None)
                self.where = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
                raise Interrupt
        return self.line


@functools.lru_cache(None)
def _ends_of_withs(code):
    """Where the code of a function is about to call an `__exit__`: with three times None, or with
    an error."""
    steps = list(dis.get_instructions(code))
    left = {a.offset for a, *others in zip(steps, steps[1:], steps[2:])
            if all(x.opname == "LOAD_CONST" and x.argval is None for x in (a, *others))}
    return frozenset(left | {a.offset for a, b in zip(steps, steps[1:])
                             if b.opname == "WITH_EXCEPT_START"})


@functools.lru_cache(None)
def _begins_of_ends(path):
    """The numbers of the lines of all `finally` and `__exit__` of a file, each up to its first
    call."""
    with open(path) as file:
        nodes = list(ast.walk(ast.parse(file.read())))
    bodies = [n.finalbody for n in nodes if isinstance(n, ast.Try) and n.finalbody]
    bodies += [n.body for n in nodes if isinstance(n, ast.FunctionDef) and n.name == "__exit__"]
    lines = set()
    for body in bodies:
        calls = [n.lineno for step in body for n in ast.walk(step) if isinstance(n, ast.Call)]
        lines.update(range(body[0].lineno, min(calls, default=body[0].lineno) + 1))
    return frozenset(lines)


_known: dict = {}


def _is_ours(name):
    if name not in _known:
        _known[name] = ("tests" not in name and name.startswith(_roots())
                        and "site-packages" not in name)
    return _known[name]


def _roots():
    return tuple(os.path.realpath(p) for p in OURS)


def run(calls, at=None):
    """Make some calls of the step and an interrupted one: the injector, and what is wrong
    afterwards (or None). The first call makes the optimizer's state, and is not recorded."""
    step, state, model = program()
    x = whet.arange(6.0).reshape(2, 3)
    for i in range(calls):
        step(x, 1.0 + i)
    injector, wrong = Injector(at), None
    gc.collect(0)
    sys.settrace(injector)
    try:
        step(x, 1.0 + calls)
    except Interrupt:
        pass
    finally:
        sys.settrace(None)
    left = {
        "a profile function": sys.getprofile() is not None,
        "the collector off": not gc.isenabled(),
        "observers": modes.state.observers != (),
        "modes": modes.state.flags != modes.GRAD,
        "a lock": step._calls.attempts.lock.locked(),
        "a number": type(state.count) is not int or type(state.scale) is not float
        or type(state.started) not in (float, type(None)),
        "a list": type(state.log) is not list,
        "a clock": time.time is not CLOCK,
        "a backward": modes.state.pending is not None}
    wrong = ", ".join(name for name, there in left.items() if there)
    sys.setprofile(None)
    time.time = CLOCK
    gc.enable()
    modes.state.observers, modes.state.pending = (), None
    modes.set_flags(modes.GRAD)
    return injector, wrong, (step, state, model, x)


def goes_on(step, state, model, x):
    """Does the step still do what eager does?"""
    for _ in range(2):
        before = ([p.detach().clone()
                   for p in model.parameters()], [p.grad for p in model.parameters()], state.count)
        loss = step(x, 3.0)
        want = (whet.func.functional_call(
            model, dict(zip([n for n, _ in model.named_parameters()], before[0])),
            (x,)) * 3.0 * state.scale).square().mean()
        if (loss.item() != want.item() or state.count != before[2] + 1
                or state.log[-1].item() != loss.item()):
            return False
    return True


def points(calls, every, seed):
    """The numbers of the line events to interrupt at."""
    run(calls)
    injector, _, _ = run(calls)
    all_of_them = sorted({n for turn in injector.turns.values() for n in turn})
    return random.Random(seed).sample(all_of_them, max(1, len(all_of_them) // every))


def explore(every=1, seed=0, kinds=(0, 1, 2, 4)):
    """(how many interrupts, [(calls before, line, what is wrong)])."""
    found, n = [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for calls in kinds:
            for at in points(calls, every, seed):
                injector, wrong, rest = run(calls, at)
                n += 1
                if not wrong and not goes_on(*rest):
                    wrong = "another result"
                if wrong:
                    found.append((calls, getattr(injector, "where", None), wrong))
    return n, found


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--every", type=int, default=1)
    p.add_argument("--seed", type=int, default=0)
    a = p.parse_args()
    n, found = explore(a.every, a.seed)
    for calls, where, wrong in found:
        print(f"after {calls} calls, {where}: {wrong}")
    print(f"{n} interrupts, {len(found)} wrong")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
