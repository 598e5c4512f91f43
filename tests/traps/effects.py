"""Effects and sources that no tensor carries: output, containers, caches, context, time,
threads."""
import asyncio
import collections
import contextvars
import functools
import io
import logging
import os
import queue
import sys
import threading
import time
import warnings

import whet

from tests.traps.harness import Box, leaf, outcome, ramp, thrice, trap


@trap
def a_line_is_printed():
    """print happens at every call."""
    def f(x):
        print("called with", tuple(x.shape))
        return x * 2
    def calls(f):
        for n in (2, 2, 2, 3, 3):
            yield f(ramp(n))
    return f, calls


@trap
def a_value_is_printed():
    """The text is made of this call's numbers; some of it goes to another stream."""
    stream = io.StringIO()
    def f(x):
        y = x.sum()
        print(f"{y:.1f}", y, file=stream)
        print(y.item(), end=";")
        return y
    def calls(f):
        for k in (1, 1, 1, 2, 3):
            yield f(ramp(2) * k), stream.getvalue()
    return f, calls


@trap
def sys_stdout_and_stderr_are_written_to():
    """write() on a stream that is looked up when called."""
    def f(x):
        sys.stdout.write("out ")
        sys.stderr.write("err ")
        return x + 1
    def calls(f):
        for _ in range(4):
            before, sys.stderr = sys.stderr, io.StringIO()
            try:
                yield f(ramp(2)), sys.stderr.getvalue()
            finally:
                sys.stderr = before
    return f, calls


@trap
def a_line_is_logged():
    """The level decides whether, a handler what becomes of it."""
    log, lines = logging.getLogger("whet.traps"), []
    log.propagate = False
    class Keep(logging.Handler):
        def emit(self, record): lines.append(record.getMessage())
    log.handlers[:] = [Keep()]
    def f(x):
        log.info("mean %.2f", x.mean())
        return x * 2
    def calls(f):
        for level in (logging.WARNING, logging.INFO, logging.ERROR):
            log.setLevel(level)
            yield from thrice(lambda: (f(ramp(2)), list(lines)))
    return f, calls


@trap
def a_warning_is_given():
    """warnings.warn at every call; as an error when the filters say so."""
    def f(x):
        if x.max() > 2:
            warnings.warn("large", RuntimeWarning, stacklevel=2)
        return x * 2
    def calls(f):
        for n in (2, 8, 2):
            yield from thrice(lambda: f(ramp(n)))
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            yield from thrice(lambda: outcome(lambda: f(ramp(8))))
    return f, calls


@trap
def numbers_are_appended_to_a_list():
    """A history of losses."""
    losses = []
    def f(x):
        losses.append(x.mean().item())
        return x - losses[-1]
    def calls(f):
        for k in range(5):
            yield f(ramp(3) * k), list(losses)
    return f, calls


@trap
def tensors_are_appended_to_a_list():
    """Intermediates escape: each call's must be its own."""
    kept = []
    def f(x):
        h = x * 2
        kept.append(h)
        kept.append(h[0])
        return h.exp()
    def calls(f):
        for k in range(5):
            yield f(ramp(2) * k), list(kept)
        kept[0].zero_()
        yield list(kept)
    return f, calls


@trap
def a_dict_is_updated():
    """Counts and latest tensors under names; setdefault and Counter."""
    stats, hits = {}, collections.Counter()
    def f(x, name):
        hits[name] += 1
        stats.setdefault(name, []).append(float(x[0]))
        stats["last"] = x * 2
        return x + hits[name]
    def calls(f):
        for name in "aaabbac":
            yield f(ramp(2) * len(hits), name), dict(stats), hits
    return f, calls


@trap
def memoised_by_lru_cache():
    """A hit makes no operation at all; the cached tensor is one object for all calls."""
    @functools.lru_cache(maxsize=2)
    def table(n): return whet.arange(n).float().exp()
    def f(x): return x * table(len(x))
    def calls(f):
        for n in (2, 2, 2, 3, 4, 2, 2):
            yield f(ramp(n)), tuple(table.cache_info())
        table(2).zero_()
        yield from thrice(lambda: f(ramp(2)))
        table.cache_clear()
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def memoised_by_hand():
    """A dict of masks that is filled at the first call of each size, and emptied."""
    masks = {}
    def f(x):
        n = x.shape[0]
        if n not in masks:
            masks[n] = whet.tril(whet.ones(n, n))
        return masks[n] @ x
    def calls(f):
        for n in (2, 2, 2, 3, 3, 2):
            yield f(ramp(n)), masks
        masks[2] = whet.zeros(2, 2)
        yield from thrice(lambda: f(ramp(2)))
        masks.clear()
        yield from thrice(lambda: (f(ramp(2)), masks))
    return f, calls


@trap
def memoised_on_the_object():
    """cached_property computes at the first access, and again when it was deleted."""
    class Kernel:
        def __init__(self): self.width, self.made = 2.0, 0
        @functools.cached_property
        def weights(self):
            self.made += 1
            return whet.arange(3) * self.width
    k = Kernel()
    def f(x): return x * k.weights
    def calls(f):
        yield from thrice(lambda: (f(ramp(3)), k.made))
        k.width = 5.0
        yield from thrice(lambda: (f(ramp(3)), k.made))
        del k.weights
        yield from thrice(lambda: (f(ramp(3)), k.made))
    return f, calls


@trap
def a_context_variable_is_read():
    """ContextVar.get gives what the caller's context holds."""
    scale = contextvars.ContextVar("scale", default=1.0)
    def f(x): return x * scale.get()
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        token = scale.set(3.0)
        yield from thrice(lambda: f(ramp(2)))
        other = contextvars.copy_context()
        other.run(scale.set, 8.0)
        yield from thrice(lambda: other.run(f, ramp(2)))
        scale.reset(token)
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def a_context_variable_is_set():
    """An effect on the context of the call."""
    depth = contextvars.ContextVar("depth", default=0)
    def f(x):
        depth.set(depth.get() + 1)
        return x + 1
    def calls(f):
        for _ in range(5):
            yield f(ramp(2)), depth.get()
        contextvars.copy_context().run(f, ramp(2))
        yield depth.get()
        depth.set(0)
    return f, calls


@trap
def an_environment_variable_is_read():
    """os.environ and os.getenv."""
    def f(x): return (x * float(os.environ.get("TRAP_SCALE", "1")) + ("TRAP_SHIFT" in os.environ)
                      + len(os.getenv("TRAP_NAME", "")))
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        for name, value in (("TRAP_SCALE", "3"), ("TRAP_SHIFT", ""), ("TRAP_NAME", "long"),
                            ("TRAP_SCALE", "4")):
            os.environ[name] = value
            yield from thrice(lambda: f(ramp(2)))
        del os.environ["TRAP_SCALE"]
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def the_environment_is_gone_through():
    """Its entries, their number and their order."""
    def f(x):
        found = [(k, v) for k, v in os.environ.items() if k.startswith("TRAP_")]
        weighed = sum(i * len(v) for i, (_, v) in enumerate(found))
        return x * weighed + len(os.environ) + len([k for k in os.environ if k in found])
    def calls(f):
        for name, value in (("TRAP_A", "1"), ("TRAP_B", "four"), ("TRAP_B", "two"), ("TRAP_A", "")):
            os.environ[name] = value
            yield from thrice(lambda: f(ramp(2)))
        os.environ["TRAP_A"] = os.environ.pop("TRAP_A")
        yield from thrice(lambda: f(ramp(2)))
        for name in ("TRAP_A", "TRAP_B"):
            del os.environ[name]
            yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def an_environment_variable_gets_a_default():
    """The first call sets it, and copies have it; who deletes it finds it set again."""
    def f(x):
        return x * len(os.environ.setdefault("TRAP_DEFAULT", "ab")) + len(os.environ.copy())
    def calls(f):
        for value in (None, None, "abc", None):
            os.environ.pop("TRAP_DEFAULT", None)
            if value:
                os.environ["TRAP_DEFAULT"] = value
            for _ in range(3):
                yield f(ramp(2)), os.environ["TRAP_DEFAULT"]
        del os.environ["TRAP_DEFAULT"]
    return f, calls


@trap
def an_environment_variable_is_set():
    """And read back by others."""
    def f(x):
        os.environ["TRAP_CALLS"] = str(int(os.environ.get("TRAP_CALLS", "0")) + 1)
        return x + 1
    def calls(f):
        for _ in range(5):
            yield f(ramp(2)), os.environ["TRAP_CALLS"]
    return f, calls


@trap
def a_clock_is_read():
    """time.perf_counter does not stand still: two calls never get the same."""
    def f(x):
        t = time.perf_counter()
        return x * 1, t
    def calls(f):
        times = []
        for _ in range(5):
            y, t = f(ramp(2))
            times.append(t)
            yield y, sorted(set(times)) == times
    return f, calls


@trap
def a_clock_that_can_be_set():
    """A clock of the program's own, behind a function."""
    now = [0.0]
    def clock():
        now[0] += 0.5
        return now[0]
    def f(x, clock=clock):
        start = clock()
        return x * (clock() - start), start
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        now[0] = 100.0
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def a_file_is_read():
    """The contents, and the position, of an open file."""
    file = io.StringIO("1 2 3 4 5 6 7 8")
    def f(x): return x * float(file.read(2))
    def calls(f):
        for _ in range(6):
            yield f(ramp(2)), file.tell()
    return f, calls


@trap
def the_function_is_a_generator():
    """Calling it runs nothing; its body runs when, and as far as, the caller asks."""
    log = []
    def f(x):
        log.append("started")
        for _ in range(3):
            x = x * 2
            got = yield x
            log.append(got)
        return x + 1
    def calls(f):
        for k in range(4):
            g = f(ramp(2))
            yield list(log)
            yield next(g), outcome(lambda: g.send(k)), list(log)
            yield list(g), log
        del log[:]
    return f, calls


@trap
def the_function_is_a_coroutine():
    """async def gives an awaitable, and other tasks run in between."""
    state = Box(scale=1.0)
    async def f(x):
        y = x * state.scale
        await asyncio.sleep(0)
        return y + state.scale
    def calls(f):
        async def both():
            async def change(): state.scale += 1
            return (await asyncio.gather(f(ramp(2)), change(), f(ramp(2))))[::2]
        for _ in range(4):
            yield asyncio.run(both())
    return f, calls


@trap
def many_threads_call_at_once():
    """One trace, each thread with its own tensors, shapes and grad mode."""
    def f(x, n):
        y = x * n
        x.add_(1)
        return y.exp().sum() if n % 2 else y
    def calls(f):
        yield from thrice(lambda: f(ramp(2), 1))
        results, errors = {}, []
        def work(i):
            try:
                with whet.set_grad_enabled(i % 2 == 0):
                    for k in range(20):
                        x = ramp(2 + i % 3) * i
                        w = leaf(2 + i % 3)
                        results[i, k] = f(x, k % 3), x, f(w * i, 1).requires_grad
            except BaseException as e:
                errors.append(repr(e))
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for t in threads: t.start()
        for t in threads: t.join(60)
        yield dict(sorted(results.items())), errors
    return f, calls


@trap
def threads_that_the_function_starts():
    """Operations of other threads belong to the call as well."""
    def f(x):
        out = [None, None]
        def work(i): out[i] = (x + i).exp()
        threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
        for t in threads: t.start()
        for t in threads: t.join(60)
        return out[0] + out[1] * 2
    def calls(f):
        for k in range(5):
            yield f(ramp(2) * k)
    return f, calls


@trap
def a_number_of_this_thread():
    """threading.local: each thread finds its own."""
    local = threading.local()
    local.scale = 2.0
    def f(x): return x * getattr(local, "scale", -1.0)
    def calls(f):
        out = []
        yield from thrice(lambda: f(ramp(2)))
        t = threading.Thread(target=lambda: out.extend([f(ramp(2)), f(ramp(2)),
                                                        setattr(local, "scale", 9.0), f(ramp(2))]))
        t.start()
        t.join(60)
        yield out, f(ramp(2))
    return f, calls


@trap
def work_comes_from_a_queue():
    """get_nowait takes from it, and raises when it is empty."""
    work, done = queue.Queue(), queue.Queue()
    def f(scale):
        x = work.get_nowait()
        done.put(x * scale)
        return done.qsize()
    def calls(f):
        for k in range(5):
            work.put(ramp(2) * k)
        for _ in range(7):
            yield outcome(lambda: f(2.0))
        yield [done.get_nowait() for _ in range(5)]
    return f, calls
