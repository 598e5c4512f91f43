"""Random arguments for everything public: a right result or an error of a kind that PyTorch raises,
and nothing changed by a call that failed.

    python -m tests.fuzz_arguments --seconds 60 --seed 3
    python -m tests.fuzz_arguments --only whet.cumsum --seed 3 --rounds 200

A call draws plausible arguments by the names of the parameters, and puts something else in the
place of some. Calls are made in a process of their own, one after the other, so that caches and
recipes of earlier calls are there; a call that ends it or takes too long is found by the log's last
line, and the next process goes on behind it.
"""
import argparse
import collections
import enum
import faulthandler
import inspect
import itertools
import os
import random
import signal
import subprocess
import sys
import time
import traceback
import warnings

import numpy as np

MEMORY, SECONDS, HARD_SECONDS = 4 << 30, 5, 15
# state of the process, files, what waits or starts others, and what hands out the memory that a
# tensor only shows
SKIPPED = frozenset(
    """save load set_num_threads set_default_dtype set_printoptions set_grad_enabled
set_default_device manual_seed seed from_file set_deterministic use_deterministic_algorithms compile
share_memory_ set_num_interop_threads set_float32_matmul_precision set_rng_state inference_mode
no_grad enable_grad set_flush_denormal set_warn_always initial_seed no_grad_ storage untyped_storage
backward register_hook set_detect_anomaly detect_anomaly fork wait saved_tensors_hooks DataParallel
DistributedDataParallel"""
    .split())
DUNDERS = """__add__ __radd__ __iadd__ __sub__ __rsub__ __mul__ __truediv__ __floordiv__ __mod__
__pow__ __rpow__ __matmul__ __and__ __or__ __xor__ __lshift__ __getitem__ __setitem__ __eq__ __lt__
__neg__ __abs__ __invert__ __bool__ __int__ __float__ __index__ __len__ __iter__ __contains__
__array__ __reversed__ __format__""".split()
# of our internals alone: a caller can do nothing with them
INTERNAL = ((AttributeError, KeyError, UnboundLocalError, NameError, AssertionError, SystemError,
             RecursionError, BufferError, StopIteration, EOFError))


class Hostile(Exception):
    """Raised by an argument: to be passed on as it is."""


class Number(int):
    pass


class Text(str):
    pass


class Color(enum.IntEnum):
    RED = 1


class Size:
    """An object whose special methods do what they like."""

    def __init__(self, answer):
        self.answer = answer

    def say(self, *_):
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer
    __index__ = __len__ = __iter__ = __getitem__ = __float__ = __bool__ = say


class Endless:
    """A sequence without an end."""

    def __iter__(self):
        return itertools.count()

    def __getitem__(self, i):
        return i


class Changing(list):
    """A list that is another each time somebody asks."""

    def __len__(self):
        return 10 ** 6

    def __iter__(self):
        return iter([self])


def tensors(whet):
    """Ways to make a tensor."""
    return [
        lambda: whet.ones(2, 3), lambda: whet.arange(6).reshape(2, 3), lambda: whet.ones(0),
        lambda: whet.ones(2, 0, 3), lambda: whet.tensor(1.5), lambda: whet.tensor([True, False]),
        lambda: whet.tensor([5, -7, 10 ** 12]), lambda: whet.ones(3, 1).expand(3, 4),
        lambda: whet.tensor([float("nan"), float("inf"), -float("inf")]),
        lambda: whet.ones(2, 2, dtype=whet.complex64), lambda: whet.ones(4, 4).t(),
        lambda: whet.ones(3, dtype=whet.float16), lambda: whet.ones(3, dtype=whet.bfloat16),
        lambda: whet.ones(2, 3, 4, 5), lambda: whet.ones(1, 1, 1, 1, 1, 1, 1, 1),
        lambda: whet.ones(3, dtype=whet.uint64), lambda: whet.ones(3, requires_grad=True),
        lambda: whet.zeros(3, 3), lambda: whet.tensor(2), lambda: whet.arange(10)[::2],
        lambda: whet.ones(2, 3, requires_grad=True).sin(), lambda: whet.eye(4, dtype=whet.float64),
        lambda: whet.ones(2, 3, 8), lambda: whet.ones(3).as_strided(
            (2, 2), (1, 1)), lambda: whet.from_numpy(np.arange(4.0)[:0]),
        lambda: whet.ones(2, 3, requires_grad=True).detach()]


def others(whet):
    """Ways to make something that is no tensor."""
    return [
        lambda: None, lambda: 0, lambda: 1, lambda: -1, lambda: 2, lambda: -2 ** 31,
        lambda: 2 ** 31, lambda: 2 ** 62, lambda: 2 ** 63, lambda: -2 ** 63, lambda: 2 ** 70,
        lambda: 1.5, lambda: 1e308, lambda: float("nan"), lambda: float("inf"), lambda: 1j,
        lambda: True, lambda: "x", lambda: "", lambda: "sum", lambda: "cuda:99", lambda: "\0\ud800",
        lambda: [], lambda: (), lambda: [1, 2], lambda: (0, 0), lambda: (-1, -1),
        lambda: [2 ** 40, 2 ** 40], lambda: (3, -2), lambda: [1.5], lambda: ["a"], lambda: [None],
        lambda: {}, lambda: {"a": 1}, lambda: {1}, lambda: object(), lambda: whet.float32,
        lambda: whet.int8, lambda: whet.complex128, lambda: np.ones(3), lambda: np.float32(2),
        lambda: np.array(["a"]), lambda: slice(None), lambda: ..., lambda: b"xx",
        lambda: [whet.ones(2), whet.ones(3)], lambda: [[1, 2], [3]], lambda: range(3), lambda: len,
        lambda: (whet.ones(2), None), lambda: np.arange(3, dtype=">f8"),
        lambda: np.arange(3, dtype=">i4"), lambda: np.zeros(2, [
            ("a", "f4"), ("b", "i8")]), lambda: np.array([1, None], object),
        lambda: np.zeros(2, "M8[s]"), lambda: np.zeros(2, np.longdouble),
        lambda: np.arange(4.0)[::-1], lambda: _locked(np.ones(3)),
        lambda: np.lib.stride_tricks.as_strided(np.ones(4), (3, 2), (8, 8)),
        lambda: np.float64("nan"), lambda: np.array(3), lambda: np.bool_(True), lambda: Number(2),
        lambda: Text("mean"), lambda: Color.RED, lambda: Size(-1), lambda: Size(2 ** 80),
        lambda: Size("x"), lambda: Size(Hostile()), lambda: Size(1), lambda: Endless(),
        lambda: Changing([1]), lambda: iter([1, 2]), lambda: whet.Size([2, 3]),
        lambda: whet.nn.Parameter(whet.ones(2)), lambda: whet.device("cpu"), lambda: Hostile,
        lambda: lambda *a, **k: None, lambda: [whet.ones(2, 3)] * 2, lambda: [0.5] * 3,
        lambda: tuple(range(70)), lambda: _nested(60)]


def _locked(a):
    a.setflags(write=False)
    return a


def _nested(n):
    x: list = []
    for _ in range(n):
        x = [x]
    return x


NAMED = {
    "tensor": """input self other weight bias mat1 mat2 vec vec1 vec2 tensor target x A B mask index
              src values indices query key value condition tensor1 tensor2 end grad_output
              running_mean running_var boundaries sorted_sequence input1 input2 anchor positive
              negative""",
    "dim": "dim dim0 dim1 dims axis diagonal offset k n start sorter step rounding_mode source "
    "destination chunks repeats shifts ndim p order",
    "size": """size shape sizes kernel_size stride padding dilation output_size normalized_shape
            split_size_or_sections pad s num_features in_channels out_channels in_features
            out_features hidden_size input_size num_groups groups num_heads embed_dim d_model nhead
            dim_feedforward""",
    "number": """alpha beta eps lr momentum min max min_val max_val negative_slope lambd threshold
              fill_value value scale tol rcond delta margin lower upper""",
    "tensors": "tensors arrays params parameters operands inputs outputs"}
KIND = {name: kind for kind, names in NAMED.items() for name in names.split()}


class Drawer:
    """Draws the arguments of one call."""

    def __init__(self, whet, r):
        self.whet, self.r, self.tensors, self.others = whet, r, tensors(whet), others(whet)

    def tensor(self):
        return self.r.choice(self.tensors)()

    def any(self):
        return self.r.choice(self.others if self.r.random() < 0.6 else self.tensors)()

    def plausible(self, name, default):
        """Something that a parameter of this name may well be given."""
        r, kind = self.r, KIND.get(name)
        if kind is None:
            return default if default is not inspect.Parameter.empty else self.any()
        if kind == "dim":
            return r.choice([0, 1, -1, 2, None, (0, 1)])
        if kind == "size":
            return r.choice([1, 2, 3, (2, 3), (2,), (1, 1, 2), 4])
        if kind == "number":
            return r.choice([0.5, 1, 2.0, 0, -1, 1e-3])
        return [self.whet.ones(2, 3), self.whet.ones(2, 3)] if kind == "tensors" else self.tensor()

    def arguments(self, f, skip=0):
        """(positional, by name) for a call of `f`, whose first parameters `skip` are given
        already."""
        r = self.r
        try:
            parameters = list(inspect.signature(f).parameters.values())[skip:]
        except (TypeError, ValueError):
            parameters = []
        if not parameters or r.random() < 0.25:
            args = [self.any() for _ in range(r.choice([0, 1, 1, 2, 2, 3, 4]))]
            kwargs = ({
                r.choice(["dim", "keepdim", "dtype", "out", "size", "reduction", "device"]): self.
                any()} if r.random() < 0.2 else {})
            return args, kwargs
        args, kwargs = [], {}
        for p in parameters:
            if p.default is not p.empty and r.random() < 0.6:
                if p.kind is p.POSITIONAL_OR_KEYWORD and r.random() < 0.5:
                    args += [] if kwargs else [p.default]
                continue
            x = self.plausible(p.name, p.default)
            if p.kind is p.VAR_POSITIONAL:
                args += [x] * r.choice([0, 1, 2])
            elif p.kind is p.VAR_KEYWORD:
                continue
            elif p.kind is p.KEYWORD_ONLY or len(args) < parameters.index(p):
                kwargs[p.name] = x
            else:
                args.append(x)
        for _ in range(r.choice([0, 1, 1, 1, 2])):
            places = [*range(len(args)), *kwargs]
            if places:
                at = r.choice(places)
                (kwargs if isinstance(at, str) else args)[at] = self.any()
        return args, kwargs


# ---- what is called ------------------------------------------------------------------------------
def function(f):
    def draw(d):
        args, kwargs = d.arguments(f)
        return f, args, kwargs
    return draw


def tensor_method(f):
    def draw(d):
        args, kwargs = d.arguments(f, 1)
        return f, [d.tensor(), *args], kwargs
    return draw


def layer(cls):
    """A module is made and called: by plausible arguments alone first, for else few would be
    called."""
    def draw(d):
        good = Drawer(d.whet, d.r)
        if d.r.random() < 0.7:
            good.any = lambda: d.r.choice([1, 2, 3, 0.5, None, True])
        args, kwargs = good.arguments(cls)

        def call(*xs, **kw):
            return cls(*args, **kwargs)(*xs, **kw)
        call.__name__ = f"{cls.__name__}{_texts(d.whet, args)}{_texts(d.whet, kwargs.values())}"
        given, named = d.arguments(cls.forward, 1)
        return call, given, named
    return draw


def optimizer(cls):
    def draw(d):
        whet, r = d.whet, d.r
        args, kwargs = d.arguments(cls)

        def call(*xs, **kw):
            if r.random() < 0.8:
                xs = ([whet.ones(2, requires_grad=True)], *xs[1:])
            made = cls(*xs, **kw)
            for group in made.param_groups:
                for p in group["params"]:
                    p.grad = whet.ones_like(p)
            made.step()
        call.__name__ = cls.__name__
        return call, args, kwargs
    return draw


def transform(f):
    """What takes a function: one of these."""
    def draw(d):
        inner = d.r.choice([
            lambda x, *_: x.sin().sum(), lambda x, *_: x * 2, lambda *a: a, lambda: None, 3, None])
        args, kwargs = d.arguments(f, 1)

        def call(*xs, **kw):
            made = f(inner, *xs, **kw)
            return made(d.tensor()) if callable(made) else made
        call.__name__ = f.__name__
        return call, args, kwargs
    return draw


def targets(whet):
    """name -> what draws a call."""
    out, seen = {}, set()

    def publish(prefix, module, kind, wanted):
        for name in sorted(vars(module)) if inspect.ismodule(module) else sorted(dir(module)):
            f = getattr(module, name, None)
            if (name[0] != "_" and name not in SKIPPED and callable(f) and wanted(f)
                    and id(f) not in seen):
                seen.add(id(f))
                out[prefix + name] = kind(f)

    def plain(f):
        return not inspect.isclass(f)
    publish("whet.", whet, function, plain)
    for name in ("nn.functional", "linalg", "fft", "special", "nn.utils", "nn.init", "autograd"):
        module = whet
        for part in name.split("."):
            module = getattr(module, part)
        publish(f"whet.{name}.", module, function, plain)
    publish("whet.func.", whet.func, transform,
            lambda f: plain(f) and f.__name__ in whet.func.__all__)
    publish(
        "whet.nn.", whet.nn, layer,
        lambda f: inspect.isclass(f) and issubclass(f, whet.nn.Module) and f is not whet.nn.Module)
    publish("whet.optim.", whet.optim, optimizer,
            lambda f: inspect.isclass(f) and issubclass(f, whet.optim.Optimizer))
    publish("whet.distributions.", whet.distributions, function, inspect.isclass)
    for name in sorted(dir(whet.Tensor)):
        f = getattr(whet.Tensor, name)
        if (name[0] != "_" or name in DUNDERS) and name not in SKIPPED and callable(f):
            out["Tensor." + name] = tensor_method(f)
    return out


# ---- one call ------------------------------------------------------------------------------------
def look(whet, x):
    """What must be the same after a call that failed."""
    if isinstance(x, whet.Tensor):
        a = x._array
        return x._version, a.shape, a.strides, a.dtype, x.requires_grad, a.tobytes()
    if isinstance(x, np.ndarray):
        return x.tobytes()
    if isinstance(x, dict):
        return [(k, look(whet, v)) for k, v in x.items()]
    return [look(whet, y) for y in x] if type(x) in (list, tuple) else None


def _texts(whet, xs):
    return [_text(whet, x) for x in xs]


def _text(whet, x):
    if isinstance(x, whet.Tensor):
        return f"<{x.dtype} {list(x.shape)}{' grad' if x.requires_grad else ''}>"
    if isinstance(x, np.ndarray):
        return f"<ndarray {x.dtype} {list(x.shape)}>"
    if isinstance(x, Changing | Endless):
        return f"<{type(x).__name__}>"
    if isinstance(x, Size):
        return f"<Size of {x.answer!r}>"
    return f"[{', '.join(_texts(whet, x))}]" if type(x) is list and len(x) < 5 else ascii(x)[:60]


class Late(BaseException):
    pass


def _place(error):
    """The innermost line of ours that an error comes from."""
    frames = [
        f for f in traceback.extract_tb(error.__traceback__) if "fuzz_arguments" not in f.filename]
    return f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else "nowhere"


def judge(whet, f, args, kwargs):
    """What is wrong with a call: (kind, text), or None."""
    before = look(whet, [args, kwargs])
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        with np.errstate(all="ignore"):
            f(*args, **kwargs)
        wrong = None
    except Late:
        return "slow", f"more than {SECONDS} s"
    except INTERNAL as e:
        ours = traceback.extract_tb(e.__traceback__)[-1].filename != __file__
        # what PyTorch raises there
        spoken = (isinstance(e, AssertionError) and str(e)
                  or isinstance(e, BufferError) and "DLPack" in str(e))
        wrong = (None if spoken or not ours else
                 ("internal", f"{type(e).__name__} at {_place(e)}: {str(e)[:150]}"))
    except Exception as e:
        wrong = (None if look(whet, [args, kwargs]) == before else
                 ("changed", f"an argument, and then: {type(e).__name__}: {str(e)[:150]}"))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if not whet.is_grad_enabled() or whet.get_default_dtype() is not whet.float32:
        whet.set_grad_enabled(True)
        whet.set_default_dtype(whet.float32)
        return "mode", "changed a mode"
    return wrong


def serve(seed, first, rounds, only):
    """Make calls from number `first` on: a line before each, and one where it is wrong."""
    import resource

    import whet
    faulthandler.enable()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
    whet.set_num_threads(2)

    def late(*_):
        raise Late
    signal.signal(signal.SIGALRM, late)
    drawers = targets(whet)
    names = [n for n in drawers if not only or n in only]
    for k in range(first, rounds * len(names)):
        name = names[k % len(names)]
        try:
            f, args, kwargs = drawers[name](Drawer(
                whet, random.Random(f"{seed} {name} {k // len(names)}")))
        except Hostile:
            continue
        own = getattr(f, "__name__", name)
        named = [f"{k}={v}" for k, v in zip(kwargs, _texts(whet, kwargs.values()))]
        text = (
            f"{name}{'' if own.rstrip('_') in name else ' ' + own}({', '.join(_texts(whet, args) + named)})"
        )
        print(f"CALL {k} {text}".replace("\n", " "), flush=True)
        wrong = judge(whet, f, args, kwargs)
        if wrong:
            print(f"WRONG {wrong[0]} {name}\t{wrong[1]}".replace("\n", " "), flush=True)
        if k % 500 == 0 and (whet.ones(3) + 1).tolist() != [2, 2, 2]:
            print(f"WRONG garbage {name}\tones(3) + 1", flush=True)
    print("DONE", flush=True)


def explore(seed=0, rounds=1, seconds=None, only=(), native="1"):
    """Make `rounds` calls of each target, or as many as there are seconds for: (number of calls,
    [(kind, name, why, call)])."""
    first, found, end = 0, [], None if seconds is None else time.time() + seconds
    while True:
        command = [sys.executable, os.path.abspath(__file__), "--serve", "--seed", str(seed),
                   "--first", str(first), "--rounds", str(rounds),
                   *(["--only", *only] if only else [])]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=dict(os.environ, WHET_NATIVE=native)) as worker:
            watch = Watchdog(worker, end)
            call = ""
            for line in worker.stdout:
                watch.fed()
                if line.startswith("CALL"):
                    _, number, call = line.rstrip("\n").split(" ", 2)
                    first = int(number) + 1
                elif line.startswith("WRONG"):
                    what, why = line.rstrip("\n").split("\t", 1)
                    found.append((*what.split(" ")[1:], why, call))
                    print("...", found[-1][:3], call[:200], file=sys.stderr, flush=True)
                elif line.startswith("DONE"):
                    watch.stop()
                    return first, found
            error = worker.stderr.read()
            watch.stop()
        if end is not None and time.time() >= end:
            return first, found
        status = worker.wait()
        if not call:
            raise RuntimeError(f"the process that makes the calls ended by itself: {error[-2000:]}")
        print("... ended", status, call[:300], file=sys.stderr, flush=True)
        found.append(("slow" if watch.barked else "crash",
                      call.partition("(")[0],
                      f"status {status}: {error[-300:]!r}",
                      call))


class Watchdog:
    """Ends a process that says nothing for too long, or goes on past the end."""

    def __init__(self, process, end):
        import threading
        self.process, self.end, self.last, self.barked = process, end, time.time(), False
        self.done = threading.Event()
        threading.Thread(target=self.run, daemon=True).start()

    def fed(self):
        self.last = time.time()

    def stop(self):
        self.done.set()

    def run(self):
        while not self.done.wait(0.5):
            self.barked = time.time() - self.last > HARD_SECONDS
            if self.barked or self.end is not None and time.time() > self.end:
                self.process.kill()
                return


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--seconds", type=float)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--rounds", type=int, default=10 ** 9)
    p.add_argument("--first", type=int, default=0)
    p.add_argument("--only", nargs="*", default=[])
    p.add_argument("--serve", action="store_true")
    a = p.parse_args()
    if a.serve:
        return serve(a.seed, a.first, a.rounds, a.only)
    n, found = explore(a.seed, a.rounds, a.seconds, a.only)
    kinds = collections.defaultdict(list)
    for kind, name, why, call in found:
        kinds[kind, why if kind == "internal" else name].append((name, why, call))
    for (kind, _), cases in sorted(kinds.items(), key=lambda kc: (kc[0][0], -len(kc[1]))):
        name, why, call = cases[0]
        print(f"{kind} {len(cases)} x {why}\n    {call[:300]}")
    print(f"{n} calls, {len(found)} wrong")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
