"""Random programs over the public functions, run in several ways that must agree to the bit.

    python -m tests.fuzz --seconds 60 --seed 1

A program is plain data (a list of steps), so the same one runs in processes of its own: with the
native entries, with the Python paths only (WHET_NATIVE=0), and on several threads. Every step runs
several times, because the native entries replay what ran before. Where a step has a NumPy form, its
result is also compared with that in float64. A program on which two ways differ, or on which one
crashes, is made as short as possible and printed.
"""
import functools
import hashlib
import json
import os
import random
import subprocess
import sys
import warnings

import numpy as np

from tests import fuzz_harness

FLOATS = ["float32", "float64", "float16", "bfloat16"]
OTHERS = ["int64", "int32", "uint8", "int8", "int16", "bool", "complex64"]
SHAPES = [[], [1], [3], [4, 4], [2, 3], [3, 1], [1, 3], [2, 3, 4], [5, 1, 4], [0], [2, 0, 3], [17],
          [33, 9], [1, 1], [64, 130], [20000]]
LAYOUTS = ["plain", "transposed", "sliced", "expanded", "offset"]
NUMBERS = [
    0, 1, 2, -1, 3, 0.5, -0.0, 2.5, -1.75, True, False, 1e30,
    float("inf"),
    float("nan"), 2 ** 31, 2 ** 53 + 1, -2 ** 40, 7]
UNARY = (
    "exp log sin cos tanh sigmoid relu sqrt rsqrt abs neg square reciprocal floor ceil trunc sign "
    "expm1 log1p erf atan sinh isnan isinf isfinite logical_not positive frac round silu softplus "
    "gelu signbit bitwise_not").split()
BINARY = (
    "add sub mul div maximum minimum pow atan2 fmod remainder floor_divide eq ne lt le gt ge "
    "logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor hypot copysign").split()
REDUCTIONS = "sum mean prod amax amin max min argmax argmin any all var std logsumexp cumsum cumprod softmax log_softmax norm".split(
)
VIEWS = "t view reshape index slice transpose unsqueeze squeeze expand flatten permute unbind chunk detach narrow select diagonal".split(
)
INPLACE = (
    "add_ sub_ mul_ div_ exp_ neg_ relu_ tanh_ sigmoid_ abs_ square_ zero_ fill_ copy_ clamp_min_ "
    "sqrt_ pow_"
).split()
PRODUCTS = "matmul mm mv dot outer bmm linear".split()
OTHER = "where clamp lerp addcmul cat stack clone contiguous to float double flip sort topk gather addmm masked_fill".split(
)
REFERENCES = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "maximum": np.maximum,
    "minimum": np.minimum, "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos,
    "tanh": np.tanh, "sqrt": np.sqrt, "abs": np.abs, "neg": np.negative, "square": np.square,
    "expm1": np.expm1, "log1p": np.log1p, "floor": np.floor, "ceil": np.ceil, "atan": np.arctan,
    "sum": np.sum, "mean": np.mean, "amax": np.max, "amin": np.min, "matmul": np.matmul}


# ---- programs ------------------------------------------------------------------------------------
def program(seed, length=12):
    """A list of steps: [what, operands, details]. Operands are numbers of earlier results
    (modulo their count) or {"n": a number}."""
    r = random.Random(seed)
    steps = [_leaf(r) for _ in range(3)]
    for _ in range(length):
        steps.append(_step(r))
    return steps


def _leaf(r):
    dtype = r.choice(FLOATS[:2]) if r.random() < 0.6 else r.choice(FLOATS + OTHERS)
    return [
        "leaf", [],
        dict(dtype=dtype, shape=r.choice(SHAPES), layout=r.choice(LAYOUTS), seed=r.randrange(1000),
             grad=r.random() < 0.4, special=r.random() < 0.2)]


def _step(r):
    def operand(numbers=0.0):
        return {"n": r.choice(NUMBERS)} if r.random() < numbers else r.randrange(40)

    kind = r.choices([
        "leaf", "unary", "binary", "operator", "reduce", "view", "inplace", "product", "other",
        "backward", "mode"], [3, 4, 6, 5, 4, 5, 5, 2, 4, 3, 1])[0]
    if kind == "leaf":
        return _leaf(r)
    if kind == "unary":
        return [r.choice(UNARY), [operand()], {}]
    if kind == "binary":
        return [r.choice(BINARY), [operand(), operand(0.4)], {}]
    if kind == "operator":
        pair = [operand(), operand(0.4)]
        if r.random() < 0.3:
            pair.reverse()
        return [
            "operator", pair,
            dict(sign=r.choice(["+", "-", "*", "/", "@", "**", "//", "%", "<", "=="]))]
    if kind == "reduce":
        return [
            r.choice(REDUCTIONS), [operand()],
            dict(dim=r.choice([None, 0, -1, 1]), keep=r.random() < 0.3)]
    if kind == "view":
        return [r.choice(VIEWS), [operand()], dict(a=r.randrange(-3, 4), b=r.randrange(-3, 4))]
    if kind == "inplace":
        return [r.choice(INPLACE), [operand(), operand(0.4)], {}]
    if kind == "product":
        return [r.choice(PRODUCTS), [operand(), operand(), operand()], {}]
    if kind == "other":
        return [
            r.choice(OTHER), [operand(), operand(0.2), operand(0.2)],
            dict(a=r.randrange(-3, 4), dtype=r.choice(FLOATS + OTHERS))]
    if kind == "mode":
        return ["mode", [], dict(on=r.random() < 0.6)]
    return ["backward", [operand()], {}]


def _make(whet, dtype, shape, layout, seed, grad, special):
    rng = np.random.default_rng(seed)
    if layout == "transposed":
        shape = shape[::-1]
    if layout == "sliced" and shape:
        shape = [*shape[:-1], shape[-1] * 2]
    if layout == "expanded" and shape:
        shape = [1, *shape[1:]] if shape[0] else shape
    if layout == "offset" and shape:
        shape = [shape[0] + 1, *shape[1:]]
    a = rng.standard_normal(shape) * 2
    if special and a.size:
        a.reshape(-1)[rng.integers(0, a.size, max(1, a.size // 4))] = rng.choice([
            np.nan, np.inf, -np.inf, -0.0, 0.0])
    if dtype == "bool":
        a = a > 0
    elif "int" in dtype:
        a = np.nan_to_num(a * 5, nan=0, posinf=100,
                          neginf=-100).clip(0 if dtype[0] == "u" else -100, 100).astype(dtype)
    t = whet.tensor(a.astype(np.float64 if dtype in FLOATS else a.dtype)).to(getattr(whet, dtype))
    if layout == "transposed":
        t = t.permute(*range(t.ndim)[::-1])
    elif layout == "sliced" and shape:
        t = t[..., ::2]
    elif layout == "expanded" and shape and shape[0] == 1:
        t = t.expand(3, *shape[1:])
    elif layout == "offset" and shape:
        t = t[1:]
    if grad and (t.is_floating_point() or t.is_complex()):
        t = t.detach().requires_grad_()
    return t


def expression(whet, what, names, d):
    """One step as Python source, over the names of its operands."""
    x, y = [*names, None][:2]
    if what in UNARY:
        return f"{'whet' if hasattr(whet, what) else 'F'}.{what}({x})"
    if what in BINARY:
        return f"whet.{what}({', '.join(names)})"
    if what == "operator":
        return f"{x} {d['sign']} {y}"
    if what in REDUCTIONS:
        return _reduction(what, x, d)
    if what in INPLACE:
        return f"{x}.{what}()" if what[:-1] in UNARY or what == "zero_" else f"{x}.{what}({y})"
    if what in PRODUCTS:
        return f"{'F' if what == 'linear' else 'whet'}.{what}({', '.join(names)})"
    return _view(what, x, d) if what in VIEWS else _other(what, *[*names, None, None][:3], d)


def _reduction(what, x, d):
    dim = d["dim"]
    if what in ("cumsum", "cumprod", "softmax", "log_softmax"):
        return f"whet.{what}({x}, {dim or 0})"
    if dim is None:
        return (f"whet.{what}({x}, tuple(range({x}.ndim)))"
                if what == "logsumexp" else f"whet.{what}({x})")
    return (f"whet.norm({x}, dim={dim})"
            if what == "norm" else f"whet.{what}({x}, {dim}, {d['keep']})")


def _view(what, x, d):
    a, b = d["a"], d["b"]
    return {
        "t": f"{x}.t()", "view": f"{x}.view(-1)", "reshape": f"{x}.reshape(-1)",
        "index": f"{x}[{a}]", "slice": f"{x}[{a}:{b + 3 or None}]",
        "transpose": f"{x}.transpose({a}, {b})", "unsqueeze": f"{x}.unsqueeze({a})",
        "squeeze": f"{x}.squeeze()", "expand": f"{x}.expand(2, *{x}.shape)",
        "flatten": f"{x}.flatten()",
        "permute": f"{x}.permute(*[(i + 1) % {x}.ndim for i in range({x}.ndim)])",
        "unbind": f"{x}.unbind()[:3]", "chunk": f"{x}.chunk(2, -1)", "detach": f"{x}.detach()",
        "narrow": f"{x}.narrow(0, 0, {abs(a)})", "select": f"{x}.select({a}, {b})",
        "diagonal": f"{x}.diagonal({a})"}[what]


def _other(what, x, y, z, d):
    return {
        "where": f"whet.where({x} > 0, {y}, {z})",
        "clamp": f"whet.clamp({x}, {y}, {z})",
        "lerp": f"whet.lerp({x}, {y}, {z})",
        "addcmul": f"whet.addcmul({x}, {y}, {z})",
        "cat": f"whet.cat([{x}, {y}])",
        "stack": f"whet.stack([{x}, {y}, {z}])",
        "clone": f"{x}.clone()",
        "contiguous": f"{x}.contiguous()",
        "to": f"{x}.to(whet.{d.get('dtype')})",
        "float": f"{x}.float()",
        "double": f"{x}.double()",
        "flip": f"{x}.flip(0)",
        "sort": f"{x}.sort(dim=-1, stable=True)",
        "topk": f"{x}.topk(2)",
        "gather": f"{x}.gather(0, {y}.long() * 0)",
        "addmm": f"whet.addmm({x}, {y}, {z})",
        "masked_fill": f"{x}.masked_fill({x} > 0, {y})"}[what]


_compiled = functools.lru_cache(None)(lambda text: compile(text, "step", "eval"))


def _call(whet, what, xs, d):
    """One step on tensors and numbers."""
    names = ["x", "y", "z"][:len(xs)]
    return eval(_compiled(expression(whet, what, names, d)),
                dict(zip(names, xs), whet=whet, F=whet.nn.functional))


# ---- running them --------------------------------------------------------------------------------
def describe(t, history=True):
    """All there is to see of a result."""
    if isinstance(t, tuple | list):
        return [describe(x, history) for x in t]
    if not hasattr(t, "_array"):
        return repr(t)
    a = t.detach()._array
    n = np.ascontiguousarray(a)
    if n.dtype.kind in "fcV" and n.size:                       # the bits of a NaN may be any NaN's
        n = n.copy()
        n[n != n] = np.nan
    return [str(t.dtype), list(t.shape), list(t.stride()) if t.numel() else 0,
            hashlib.sha1(n.tobytes()).hexdigest()[:12], t.requires_grad, t.is_leaf, t._version,
            None if not history or t.grad_fn is None else t.grad_fn.name()]


def reference(what, xs, d, result):
    """Does the result disagree with NumPy in float64?"""
    f = REFERENCES.get(what)
    if (f is None or not all(
            isinstance(x, int | float) or x.dtype.itemsize >= 4 and x.is_floating_point()
            for x in xs)):
        return None
    if not hasattr(result, "_array") or not result.is_floating_point():
        return None
    ns = [x.detach()._array.astype(np.float64) if hasattr(x, "_array") else x for x in xs]
    kw = {} if "dim" not in d or d["dim"] is None else dict(axis=d["dim"], keepdims=d["keep"])
    with np.errstate(all="ignore"):
        want, got = np.asarray(f(*ns, **kw)), result.detach()._array.astype(np.float64)
        size = max([
            1.0, *[
                float(np.abs(n[np.isfinite(n)]).max(
                    initial=0)) if isinstance(n, np.ndarray) else 1.0 for n in ns]])
        small = 1e-5 if result.dtype.itemsize == 4 else 1e-12
        count = (max([n.size for n in ns
                      if isinstance(n, np.ndarray)]) if what in ("sum", "mean", "matmul") else 1)
        near = np.isclose(
            got, want, rtol=4 * small, atol=small *
            (size * size * count if what == "matmul" else size * count if count > 1 else 0) + 1e-37,
            equal_nan=True)
        large = np.abs(want) > (1e38 if small > 1e-6 else 1e300)
    return (None if got.shape == want.shape and
            (near | large).all() else f"{what}: far from NumPy's result")


def execute(steps, repeats=3, threads=None):
    """What each step came to: descriptions of results, or the errors."""
    import whet
    if threads:
        whet.set_num_threads(threads)
    pool, out = [], []
    recording = True
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for what, operands, d in steps:
            if what == "mode":
                recording = d["on"]
                out.append(None)
                continue
            outcome = []
            for _ in range(repeats if what != "leaf" else 1):
                with whet.set_grad_enabled(recording):
                    try:
                        outcome.append(_once(whet, what, operands, d, pool))
                    except (RuntimeError, TypeError, ValueError, IndexError, OverflowError,
                            NotImplementedError, AttributeError, ZeroDivisionError) as e:
                        outcome.append(f"{type(e).__name__}: {e}".replace(
                            "'whet.tensor.Tensor'", "'Tensor'")[:300])
            kept = [o for o in outcome if isinstance(o, tuple)]
            for _, result in kept[:1]:
                pool.extend([
                    t for t in (result if isinstance(result, tuple | list) else [result])
                    if hasattr(t, "_array")])
            out.append([o[0] if isinstance(o, tuple) else o for o in outcome])
        out.append([describe(t) for t in pool])
    return out


def _once(whet, what, operands, d, pool):
    if what == "leaf":
        t = _make(whet, **d)
        return describe(t), t
    xs = [o["n"] if isinstance(o, dict) else pool[o % len(pool)] for o in operands]
    if what == "backward":
        t = xs[0]
        leaves = [x for x in pool if x.is_leaf and x.requires_grad]
        if not t.requires_grad:
            return [], None
        gs = whet.autograd.grad((t if not t.is_complex() else t.real).sum(), leaves,
                                retain_graph=True, allow_unused=True)
        return [None if g is None else describe(g) for g in gs], None
    if what in PRODUCTS:
        xs = xs[:2]
    result = _call(whet, what, xs, d)
    return ((reference(what, xs, d, result) if what in REFERENCES else None)
            or describe(result), result)


class Worker:
    """A process that runs programs sent to it."""

    def __init__(self, module="tests.fuzz", threads=0, **env):
        self.module, self.threads = module, threads
        self.env, self.process = env, None

    def __call__(self, steps):
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", self.module, "--serve", str(self.threads)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=dict(os.environ, **self.env),
                text=True,
                cwd=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        try:
            self.process.stdin.write(json.dumps(steps) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            return [f"crashed with status {self.process.wait()}"]
        return json.loads(line)

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
            self.process.stdout.close()


def serve(threads):
    """Read programs, one a line; answer with what they came to."""
    for line in sys.stdin:
        print(json.dumps(execute(json.loads(line), threads=threads or None)), flush=True)


def workers():
    return {
        "native": Worker(WHET_NATIVE="1", threads=1),
        "python": Worker(WHET_NATIVE="0"),
        "threads": Worker(WHET_NATIVE="1", threads=4)}


@functools.cache
def held_workers():
    """The ways of this process. Theirs end with it."""
    return workers()


def differ(steps, ways):
    """Where the ways do not agree: text, or None."""
    results = {name: way(steps) for name, way in ways.items()}
    first = next(iter(results))
    for name, r in results.items():
        if r != results[first] or len(r) == 1 and isinstance(r[0], str):
            k = next((k for k, (p, q) in enumerate(zip(r, results[first])) if p != q), 0)
            return (
                f"step {k}: {first}: {results[first][k] if k < len(results[first]) else None}\n   "
                f"     {name}: {r[k]}")
    text = json.dumps(results[first])
    return text[max(0, text.find("far from") - 40):][:120] if "far from" in text else None


class Program(fuzz_harness.Program):
    """A program, as its steps."""

    def __init__(self, steps):
        self.steps = steps

    @classmethod
    def drawn(cls, seed):
        return cls(program(seed))

    def compared(self, form, counts):
        return differ(self.steps, held_workers())

    def smaller(self):
        for k in reversed(range(len(self.steps))):
            fewer = self.steps[:k] + self.steps[k + 1:]
            if fewer and fewer[0][0] == "leaf":
                yield Program(fewer)

    def __str__(self):
        return "\n".join("    " + json.dumps(s) for s in self.steps)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(int(sys.argv[2]))
    else:
        sys.exit(fuzz_harness.main(__spec__.name))
