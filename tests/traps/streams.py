"""Lines that are printed, logged and warned of: streams and handlers that look, and errors."""
import contextlib
import io
import logging
import sys
import warnings

import whet

from tests.traps.harness import Box, outcome, ramp, thrice, trap


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
    """builtins.print is a user function for a while; a module has its own."""
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
        table["out"]("x", say is print, say == table["out"],
                     isinstance(table["stream"], io.TextIOBase))
        return x * (2 if say is print else 3)
    def calls(f):
        for _ in range(5):
            yield (f(ramp(2)), [k is print for k in o.kept], type(o.kept[0]).__name__,
                   type(table["out"]).__name__, callable(say))
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
