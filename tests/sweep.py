"""Every float there is through every pointwise function of one float32 operand: the largest error
in units of the last place.

    python -m tests.sweep [names]                  all 2^32 floats
    python -m tests.sweep --every 1021 [names]     each 1021st of them, and all from 2^-14 to 2^8 of either sign
    python -m tests.sweep --pairs [names]          functions of two operands, at pairs of random bits and of special values
    python -m tests.sweep --write FILE [names]     puts what was found into a table that is kept in FILE

What is compared with is the same function in float64, which the suite compares with mpmath and
which has 29 bits more. Four billion floats take some tens of seconds a function.
"""
import argparse
import functools
import inspect
import re
import time
from pathlib import Path

import numpy as np
import whet
import whet.nn.functional as F
from whet import jit
from whet.dtypes import FLOAT
from whet.ops.registry import REGISTRY

LIMIT = 2.0
CHUNK, SIGN, ALL = 1 << 15, 1 << 31, 1 << 32
# Not functions of each element alone, of as many operands as they say.
OTHER = ("clamp", "dropout", "prelu", "binary_cross_entropy")
# What is called otherwise than its op, or has an option that makes it another function.
MORE = {"gelu_tanh": functools.partial(F.gelu, approximate="tanh"), "selu": F.selu}


def functions(operands=1):
    """{name: function} of the public pointwise functions that take so many float tensors and
    give floats."""
    found = {}
    for name, op in [*REGISTRY.items(), *((name, None) for name in MORE)]:
        own = name.removeprefix("special_")
        f = (MORE.get(name) or getattr(whet, name, None) or getattr(F, name, None)
             or getattr(whet.special, own, None))
        if (op is not None and (op.family != "pointwise" or FLOAT not in op.kinds) or f is None
                or name in OTHER):
            continue
        needed = [
            p for p in inspect.signature(f).parameters.values()
            if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
        if (len(needed) == operands
                and getattr(f(*[whet.ones(1)] * operands), "dtype", None) is whet.float32):
            found[own] = f
    return found


def errors(f):
    """A traced function: (worst error, its place) of float32 operands."""
    @jit.trace
    def worst(*xs):
        got, want = f(*xs).double(), f(*[x.double() for x in xs])
        # where float32 would have its next number: what is beyond counts as that
        top = 2.0 ** 128
        got, want = got.clamp(-top, top), want.clamp(-top, top)
        exponent = (want.view(whet.int64) & 0x7FF0000000000000).view(whet.float64)
        error = (got - want).abs() / (exponent * 2.0 ** -23).clamp(2.0 ** -149, 2.0 ** 104)
        error = whet.where(got.isnan() & want.isnan(), 0.0, error.nan_to_num(float("inf")))
        return error.max(0)
    return worst


def worst_of(f, chunks):
    """(the largest error, its operands, how many were tried), over chunks of bits: an array for
    each operand."""
    worst, top, where, count = errors(f), -1.0, None, 0
    for chunk in chunks:
        xs = [whet.from_numpy(bits.view(np.float32)) for bits in chunk]
        error, at = worst(*xs)
        count += xs[0].numel()
        if float(error) > top:
            top, where = float(error), tuple([float(x[at]) for x in xs])
    return top, where, count


def sweep(f, every=1):
    """The same over all floats; or over each so-manyth, and all of a magnitude at which
    functions are no straight lines."""
    def chunks():
        steps = np.arange(0, CHUNK * every, every, dtype=np.uint32)
        # one for all: new memory for each would take as long as what is computed
        bits = np.empty_like(steps)
        for first in range(0, ALL, CHUNK * every):
            n = min(CHUNK, -(-(ALL - first) // every))
            yield [np.add(steps[:n], np.uint32(first), out=bits[:n])]
        if every > 1:
            low, high = (int(np.float32(v).view(np.uint32)) for v in (2.0 ** -14, 2.0 ** 8))
            for first in (*range(low, high, CHUNK), *range(low + SIGN, high + SIGN, CHUNK)):
                yield [np.arange(first, first + CHUNK, dtype=np.uint32)]
    return worst_of(f, chunks())


def pairs(f, count=1 << 24):
    """The same over pairs: special values with each other; random bits; numbers of like size;
    numbers not far from one."""
    rng = np.random.default_rng(0)
    special = np.array([
        0, 1, 2, 3, .5, 1.5, 7, 1e10, 16777215, np.inf, np.nan, 1e-45, 1e-38, 3e38, 1.0000001,
        .99999994], "f4")
    special = np.concatenate([special, -special]).view("u4")

    def chunks():
        yield [np.ascontiguousarray(a.ravel()) for a in np.meshgrid(special, special)]
        for _ in range(count // CHUNK // 4):
            a, b = (rng.integers(0, ALL, CHUNK, dtype=np.uint32) for _ in range(2))
            yield [a, b]
            yield [a, a + rng.integers(-1 << 24, 1 << 24, CHUNK).astype(np.uint32)]
            yield [
                rng.normal(0, 10 ** rng.uniform(-3, 2), CHUNK).astype("f4").view("u4")
                for _ in range(2)]
            yield [(rng.choice([-1, 1], CHUNK)
                    * np.exp2(rng.uniform(-8, 8, CHUNK))).astype("f4").view("u4") for _ in range(2)]
    return worst_of(f, chunks())


def write(path, found, header):
    """Put rows into the table of a file, in place of those of the same functions."""
    old = dict(re.findall(r"^\| `(\w+)` (\|.*)$", path.read_text(), re.M)) if path.exists() else {}
    rows = (old | {
        name: f"| {error:.3f} | {', '.join(map(repr, where))} | {count:,} |"
        for name, (error, where, count) in found.items()})
    table = "".join(f"| `{name}` {row}\n" for name, row in sorted(rows.items()))
    path.write_text(
        f"{header}\n\n| function | largest error (ulp) | at | operands tried |\n|---|---|---|---|\n"
        f"{table}")


HEADER = """# Accuracy of float32

The largest error of each pointwise function, in units of the last place of the exact result: float32 compared with the same function in
float64, which the suite compares with mpmath. 4,294,967,296 operands are all there are; fewer are a sample of these and all from 2^-14 to
2^8 (`--every`). Of functions of two operands a sample is tried (`--pairs`). Written by `make sweep`."""


def main():
    """Sweep the functions named, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    known, failed = functions(2 if options.pairs else 1), []
    for name in options.names or known:
        t = time.perf_counter()
        found = pairs(known[name]) if options.pairs else sweep(known[name], options.every)
        error, where, count = found
        failed += [name] * (error > LIMIT)
        print(
            f"{name:<14} {error:8.3f} ulp at {', '.join(map(repr, where)):<26} {count:,} "
            f"{time.perf_counter() - t:4.0f} s",
            flush=True)
        if options.write:
            write(options.write, {name: found}, HEADER)
    raise SystemExit(f"more than {LIMIT} ulp: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
