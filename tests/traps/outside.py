"""Lines in branches, hooks and f-strings; clocks that decide; functions that nobody can reach."""
import builtins
import collections
import functools
import io
import json
import logging
import math
import os
import time
import warnings

import numpy as np
import whet
import whet.nn.functional as F
from whet import nn

from tests.traps.harness import Box, leaf, outcome, ramp, thrice, trap


@trap
def lines_in_the_branches_of_a_cond():
    """print inside cond and while_loop."""
    def yes(x):
        print("yes")
        return x * 2
    def no(x):
        print("no")
        return x - 1
    def body(x):
        print("round")
        return x * 2
    def f(x):
        y = whet.cond(x.sum() > 2, yes, no, (x,))
        return y, whet.while_loop(lambda t: t.sum() < 10, lambda t: (body(t),), (x.abs() + 1,))
    def calls(f):
        for k in (1, 1, 1, 5, 5, 5, -3, 1):
            yield f(ramp(2) * k)
    return f, calls


@trap
def lines_in_hooks_and_layers():
    """A layer of the user's prints its shapes, a hook its name, in training."""
    class Loud(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(2, 2)
        def forward(self, x):
            print("in", tuple(x.shape), x.dtype, x.requires_grad)
            return self.inner(x)
    model = Loud()
    model.inner.register_forward_hook(lambda m, i, o: print("hook", type(m).__name__))
    def f(x):
        loss = model(x).pow(2).sum()
        loss.backward()
        print("done")
        return loss
    def calls(f):
        for n in (1, 1, 1, 3, 3):
            yield f(ramp(n, 2)), model.inner.weight.grad
    return f, calls


@trap
def a_tensor_with_a_history_is_printed():
    """grad_fn is in the text."""
    w = leaf(2)
    def f(x):
        y = (x * w).sum()
        print(y, y.detach(), w)
        return y
    def calls(f):
        for k in (1, 1, 1, 2, 2):
            yield f(ramp(2) * k)
    return f, calls


@trap
def a_big_tensor_and_odd_things_are_printed():
    """Lists, dicts, objects with __str__ that counts, numbers of NumPy, nothing."""
    class Said:
        n = 0
        def __str__(self):
            Said.n += 1
            return f"said {Said.n}"
    s = Said()
    def f(x):
        print([1, 2.5, "a"], {"k": (1,)}, None, True, x.shape, x.dtype, 1e100, -0.0)
        print()
        print(s, x)
        return x * 2
    def calls(f):
        for k in range(5):
            yield f(ramp(40, 40) * k), Said.n
    return f, calls


@trap
def time_goes_on():
    """Clocks of all kinds: they never go back, and the work lies between."""
    o = Box(last=0.0, total=0.0)
    def f(x):
        start, wall = time.perf_counter(), time.time()
        y = x @ x
        end = time.perf_counter()
        o.total += end - start
        ahead = start >= o.last
        o.last = end
        return y, ahead, end >= start, wall > 1e9
    def calls(f):
        for _ in range(6):
            before, total = time.perf_counter(), o.total
            y, ahead, forth, late = f(ramp(3, 3))
            yield (y, ahead, forth, late, before < o.last < time.perf_counter(), o.total > total,
                   type(o.last).__name__)
    return f, calls


@trap
def a_deadline_decides():
    """A loop that stops when time is over, with a clock that is replaced."""
    o = Box(clock=time.monotonic, limit=1e9)
    def f(x):
        start = o.clock()
        for _ in range(3):
            if o.clock() - start > o.limit:
                return x
            x = x * 2
        return x
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        ticks = Box(n=0)
        def tick():
            ticks.n += 1
            return ticks.n
        o.clock = tick
        yield from thrice(lambda: f(ramp(2)))
        o.clock, o.limit = time.monotonic, -1.0
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def time_flows_into_tensors():
    """A clock's number times a tensor: compared with what the caller's clock says."""
    def f(x): return x * time.time(), x - time.time() + 2 * time.time()
    def calls(f):
        for _ in range(5):
            a = time.time()
            y, z = f(whet.ones(1, dtype=whet.float64))
            b = time.time()
            yield bool(a <= y.item() <= b), bool(0 < z[0].item())
    return f, calls


@trap
def a_tensor_is_filled_with_the_time():
    """A clock's number as an argument that is no tensor's place."""
    def f(x): return x + whet.full((2,), time.time() - 1e9, dtype=whet.float64)
    def calls(f):
        last = 0.0
        for _ in range(5):
            y = f(whet.zeros(2)).max().item()
            yield y > last
            last = y
    return f, calls


@trap
def f_strings_of_all_kinds():
    """Numbers beside words, in the middle of others, used twice, in loops, to a stream."""
    o, stream = Box(n=0, name="a"), io.StringIO()
    def f(x):
        o.n += 1
        loss = x.mean().item()
        print(f"{o.name} {loss:.2f} of {o.n}", f"{o.n}", f"{o.n:d}|", o.n)
        stream.write(f"{loss:8.3f};{o.n}\n")
        for k in range(2):
            print(f"{k}: {loss * k:.1f} {o.n + k:03d}")
        print(f"{o.n}{o.n}{o.name}{o.n}")
        return x * o.n
    def calls(f):
        for k in range(12):
            o.name = "ab"[k > 6]
            yield f(ramp(2) * k), stream.getvalue()
    return f, calls


@trap
def f_strings_that_are_kept():
    """Texts of numbers with specs that are computed and conversions, laid somewhere, and
    measured."""
    o = Box(n=0, kept=None, width=3)
    def f(x):
        o.n += 1
        print(f"{o.n:{o.width}d}|", f"{o.n!r}")
        o.kept = f"{o.n}"
        print(f"{o.kept}{o.n}{o.n}")
        return x * o.n, len(o.kept)
    def calls(f):
        for k in range(12):
            yield f(ramp(2) * k), o.kept
    return f, calls


@trap
def an_f_string_decides():
    """The text of a number is compared, measured and printed."""
    o = Box(n=7)
    def f(x):
        o.n += 1
        text = f"{o.n}"
        if len(text) > 1:
            x = x * 2
        print(text, f"{o.n}".zfill(4), f"{o.n}" + "!", (y := f"{o.n}"), y)
        return x
    def calls(f):
        for _ in range(7):
            yield f(ramp(2)), o.n
    return f, calls


@trap
def losses_are_logged_and_warned_of():
    """f-strings and % of values in log lines and warnings, every third call."""
    stream, log, o = io.StringIO(), logging.getLogger("whet.traps.losses"), Box(step=0)
    log.propagate, log.handlers[:] = False, [logging.StreamHandler(stream)]
    log.setLevel(logging.INFO)
    def f(x):
        o.step += 1
        loss = (x * x).mean()
        if o.step % 3 == 0:
            log.info(f"step {o.step}: {loss:.3f}")
            log.info("step %d: %.3f", o.step, loss.item())
        if loss > 3:
            warnings.warn(f"loss is {loss.item():.1f}", stacklevel=1)
        return loss
    def calls(f):
        for k in range(14):
            yield f(ramp(2) * k * 0.3), stream.getvalue()
    return f, calls


@trap
def print_lies_where_nobody_can_reach():
    """In a tuple, a default and a frozenset, compared with the print of the builtins, and
    mapped."""
    ways = (print, len)
    def f(x, say=print):
        if ways[0] is print and say is print and print in frozenset(ways):
            list(map(ways[0], ["a", "b"]))
            x = x * 2
        return x
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        yield from thrice(lambda: f(ramp(2), say=len))
    return f, calls


@trap
def a_function_of_the_system_is_mapped():
    """list(map(os.remove, names)): what C calls from C."""
    import tempfile
    folder = tempfile.mkdtemp()
    o = Box(names=[])
    def f(x):
        list(map(os.remove, o.names))
        return x * len(o.names)
    def calls(f):
        for k in range(5):
            o.names[:] = [os.path.join(folder, "a")]
            with open(o.names[0], "w") as file:
                file.write(str(k))
            yield f(ramp(2)), os.listdir(folder)
        os.rmdir(folder)
    return f, calls


@trap
def methods_of_tensors_are_no_functions():
    """nn.Linear.table = a dict that changes; an object with a state that is called, on Tensor."""
    class Scale:
        k = 2.0
        def __call__(self, t): return t * self.k
    scale, model = Scale(), nn.Linear(2, 2)
    def f(x):
        return whet.Tensor.scale_of_a_trap(x) * model.table_of_a_trap["k"]
    def calls(f):
        whet.Tensor.scale_of_a_trap = scale
        nn.Linear.table_of_a_trap = table = {"k": 1.0}
        try:
            yield from thrice(lambda: f(ramp(2)))
            scale.k = 3.0
            yield from thrice(lambda: f(ramp(2)))
            table["k"] = 5.0
            yield from thrice(lambda: f(ramp(2)))
        finally:
            del whet.Tensor.scale_of_a_trap, nn.Linear.table_of_a_trap
    return f, calls


@trap
def a_partial_of_print_is_a_method():
    """Tensor.shout = functools.partial(print, ...)."""
    def f(x):
        x.shout_of_a_trap()
        return x * 2
    def calls(f):
        whet.Tensor.shout_of_a_trap = functools.partial(print, "shout")
        try:
            yield from thrice(lambda: f(ramp(2)))
        finally:
            del whet.Tensor.shout_of_a_trap
        yield outcome(lambda: f(ramp(2)))
    return f, calls


@trap
def what_libraries_hold_is_changed(trace):
    """Functions put something into modules, classes and functions that are not the user's, by
    names that are there already and by new ones; it is taken out again between calls."""
    def putting(owner, name):
        def f(x):
            if name == "mark":
                owner.mark = 5
            else:
                setattr(owner, name, 5)
            return x * 2
        return trace(f)
    def calls(_):
        for owner in (math, json, whet, np, builtins, collections.Counter, json.JSONEncoder,
                      json.dumps, F.relu):
            for name in ("mark", "later"):
                f = putting(owner, name)
                for _ in range(3):
                    yield f(ramp(2)), getattr(owner, name)
                    delattr(owner, name)
        for owner, name in ((math, "exp"), (json, "loads"), (np, "exp"),
                            (json.JSONEncoder, "default")):
            f, was = putting(owner, name), getattr(owner, name)
            for _ in range(3):
                yield f(ramp(2)), getattr(owner, name) is was
                setattr(owner, name, was)
    return ramp, calls


@trap
def warnings_are_to_be_said_every_time():
    """`set_warn_always` inside."""
    def f(x, always):
        whet.set_warn_always(always)
        return x * 2
    def calls(f):
        for always in (True, False):
            for _ in range(3):
                yield f(ramp(2), always), whet.is_warn_always_enabled()
                whet.set_warn_always(False)
    return f, calls
