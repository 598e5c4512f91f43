"""What is printed, logged, warned and timed, in order with all else: by stand-ins' tricks, other streams, handlers that look, errors."""
import contextlib
import functools
import io
import logging
import os
import sys
import time
import warnings

import whet
from whet import nn

from tests.traps.harness import Box, leaf, outcome, ramp, thrice, trap


@trap
def a_counter_is_printed():
    """print(n) where n counts, with sep and end, into another stream every time."""
    o = Box(n=0)
    def f(x):
        o.n += 1
        print("step", o.n, o.n * 0.5, sep="|", end=".\n", flush=True)
        return x * o.n
    def calls(f):
        for _ in range(7):
            stream = io.StringIO()
            with contextlib.redirect_stdout(stream):
                y = f(ramp(2))
            yield y, stream.getvalue()
    return f, calls


@trap
def a_loss_is_printed_in_an_f_string():
    """f"{loss:.3f}" of this call's numbers, in the middle of the work."""
    o = Box(step=0)
    def f(x):
        o.step += 1
        loss = (x * x).mean()
        print(f"step {o.step}: loss {loss.item():.3f}")
        return loss * 2
    def calls(f):
        for k in range(9):
            yield f(ramp(3) * k)
    return f, calls


@trap
def lines_of_two_streams_keep_their_order():
    """stdout and a list-like stream in turn, with a write to a tensor between."""
    both, w = io.StringIO(), whet.zeros(2)
    def f(x):
        print("a", file=both)
        w.add_(x)
        both.write("b")
        both.writelines(["c", "d\n"])
        print("e", w, file=both)
        return w * 1
    def calls(f):
        for _ in range(5):
            yield f(ramp(2)), both.getvalue(), w.clone()
    return f, calls


@trap
def what_is_printed_is_written_to_afterwards():
    """The text is of the moment."""
    w = whet.zeros(2)
    def f(x):
        y = x * 2
        print(y, w)
        y.add_(1)
        w.add_(1)
        print(y, w)
        return y
    def calls(f):
        for k in range(5):
            yield f(ramp(2) * k), w.clone()
    return f, calls


@trap
def a_stream_that_looks():
    """A stream of the user's reads what the function changes, when it is written to."""
    o, seen = Box(n=0), []
    class Stream:
        def write(self, text): seen.append((text, o.n))
        def flush(self): pass
    def f(x):
        o.n += 1
        print("one")
        o.n += 1
        return x * o.n
    def calls(f):
        for _ in range(4):
            yield f(ramp(2)), list(seen)
        with contextlib.redirect_stdout(Stream()):
            for _ in range(4):
                yield f(ramp(2)), list(seen)
    return f, calls


@trap
def a_handler_that_looks():
    """A logging handler reads a tensor that the function writes to afterwards."""
    w, seen, log = whet.zeros(2), [], logging.getLogger("whet.traps.looks")
    log.propagate, log.handlers[:] = False, []
    log.setLevel(logging.INFO)
    class Look(logging.Handler):
        def emit(self, record): seen.append((record.getMessage(), w.sum().item()))
    def f(x):
        w.add_(x)
        log.info("now %d", len(x))
        w.mul_(2)
        return w * 1
    def calls(f):
        yield from thrice(lambda: (f(ramp(2)), list(seen)))
        log.addHandler(Look())
        yield from thrice(lambda: (f(ramp(2)), list(seen)))
        log.handlers.clear()
        yield from thrice(lambda: (f(ramp(2)), list(seen)))
    return f, calls


@trap
def a_handler_that_fills_what_the_function_reads():
    """Logged lines come back as an input."""
    lines, log = [], logging.getLogger("whet.traps.fills")
    log.propagate = False
    log.setLevel(logging.DEBUG)
    class Keep(logging.Handler):
        def emit(self, record): lines.append(record.getMessage())
    log.handlers[:] = [Keep()]
    def f(x):
        log.debug("line %s", "a")
        return x * len(lines)
    def calls(f):
        for _ in range(5):
            yield f(ramp(2)), list(lines)
        lines.clear()
        yield from thrice(lambda: (f(ramp(2)), list(lines)))
    return f, calls


@trap
def lines_of_the_log_know_where_they_are_from():
    """%(funcName)s and %(lineno)d, levels, exc_info and a filter."""
    stream, log = io.StringIO(), logging.getLogger("whet.traps.where")
    log.propagate = False
    log.setLevel(logging.INFO)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(levelname)s %(funcName)s %(name)s %(message)s"))
    log.handlers[:] = [handler]
    def helper(x): log.warning("shape %s of %d", tuple(x.shape), 2)
    def f(x):
        helper(x)
        if log.isEnabledFor(logging.DEBUG):
            x = x + 100
        log.debug("not often")
        return x * 2
    def calls(f):
        for level in (logging.INFO, logging.ERROR, logging.DEBUG):
            log.setLevel(level)
            yield from thrice(lambda: (f(ramp(2)), stream.getvalue()))
        handler.addFilter(lambda r: "shape" not in r.msg)
        yield from thrice(lambda: (f(ramp(2)), stream.getvalue()))
    return f, calls


@trap
def the_root_logger_is_used_by_name():
    """logging.warning(...) and logging.getLogger() inside."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    def f(x):
        logging.warning("careful %d", 3)
        return x * 2
    def calls(f):
        logging.root.addHandler(handler)
        try:
            yield from thrice(lambda: (f(ramp(2)), stream.getvalue()))
        finally:
            logging.root.removeHandler(handler)
        other = logging.StreamHandler(io.StringIO())
        logging.root.addHandler(other)
        yield from thrice(lambda: (f(ramp(2)), other.stream.getvalue()))
        logging.root.removeHandler(other)
    return f, calls


@trap
def warnings_once_always_never_or_raised():
    """The filters change between calls; a write happens before the warning."""
    count = whet.zeros(1)
    def f(x):
        count.add_(1)
        warnings.warn("careful", UserWarning, stacklevel=1)
        count.add_(10)
        return x * 2
    def calls(f):
        for action in ("always", "ignore", "default", "error", "always"):
            with warnings.catch_warnings():
                warnings.simplefilter(action)
                for _ in range(3):
                    yield outcome(lambda: f(ramp(2))), count.clone()
    return f, calls


@trap
def a_warning_of_ones_own_and_who_shows_it():
    """A category of the user's, stacklevel, and warnings.showwarning replaced."""
    shown, state = [], Box(n=0)
    class Mine(UserWarning):
        pass
    def show(message, category, filename, lineno, file=None, line=None):
        if category is Mine:
            shown.append((str(message), lineno > 0, state.n))
    def f(x):
        state.n += 1
        warnings.warn("mine", Mine, stacklevel=2)
        state.n += 1
        return x * 2
    def calls(f):
        yield from thrice(lambda: (f(ramp(2)), list(shown)))
        before, warnings.showwarning = warnings.showwarning, show
        try:
            yield from thrice(lambda: (f(ramp(2)), list(shown)))
        finally:
            warnings.showwarning = before
    return f, calls


@trap
def print_is_patched():
    """builtins.print is a function of the user's for a while; a module has its own."""
    import builtins
    lines = []
    def f(x):
        print("line", x.shape[0])
        return x * 2
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        before = builtins.print
        builtins.print = lambda *args: lines.append(args)
        try:
            yield from thrice(lambda: (f(ramp(2)), list(lines)))
        finally:
            builtins.print = before
        yield from thrice(lambda: (f(ramp(2)), list(lines)))
    return f, calls


@trap
def print_is_kept_and_compared():
    """say = print; say is print; a dict of functions; what the function keeps of it."""
    o = Box(kept=None)
    say, table = print, {"out": print, "stream": sys.stdout}
    def f(x):
        o.kept = [say, table["out"]]
        table["out"]("x", say is print, say == table["out"], isinstance(table["stream"], io.TextIOBase))
        return x * (2 if say is print else 3)
    def calls(f):
        for _ in range(5):
            yield f(ramp(2)), [k is print for k in o.kept], type(o.kept[0]).__name__, type(table["out"]).__name__, callable(say)
    return f, calls


@trap
def a_closed_stream_is_written_to():
    """ValueError, after what was written before."""
    o, w = Box(stream=io.StringIO()), whet.zeros(1)
    def f(x):
        w.add_(1)
        o.stream.write("text")
        w.add_(10)
        return x * 2
    def calls(f):
        yield from thrice(lambda: (outcome(lambda: f(ramp(2))), w.clone()))
        o.stream.close()
        yield from thrice(lambda: (outcome(lambda: f(ramp(2))), w.clone()))
        o.stream = io.StringIO()
        yield from thrice(lambda: (outcome(lambda: f(ramp(2))), w.clone(), o.stream.getvalue()))
    return f, calls


@trap
def a_stream_is_read_and_written():
    """tell() and getvalue() of what the function itself wrote."""
    stream = io.StringIO()
    def f(x):
        n = stream.write("ab")
        return x * n + stream.tell()
    def calls(f):
        for _ in range(5):
            yield f(ramp(2)), stream.getvalue()
    return f, calls


@trap
def a_write_goes_on_after_an_error():
    """What was printed before an exception stays printed, each time once."""
    def f(x, n):
        print("before", n)
        y = x.reshape(n, -1)
        print("after", n)
        return y
    def calls(f):
        for n in (2, 2, 2, 3, 3, 3, 2):
            yield outcome(lambda: f(ramp(4), n))
    return f, calls


@trap
def a_guard_fails_after_a_line():
    """A branch on the data comes after print: the line is printed once, whichever way."""
    def f(x):
        print("start")
        y = x * 2
        if y.sum() > 4:
            print("large")
            y = y - 1
        print("end")
        return y
    def calls(f):
        for k in (1, 1, 1, 5, 5, 1, 5, -3, 1):
            yield f(ramp(2) * k)
    return f, calls


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
            yield y, ahead, forth, late, before < o.last < time.perf_counter(), o.total > total, type(o.last).__name__
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
    """Texts of numbers with specs that are computed and conversions, laid somewhere, and measured."""
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
    """In a tuple, a default and a frozenset, compared with the print of the builtins, and mapped."""
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
