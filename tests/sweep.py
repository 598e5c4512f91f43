"""Every float there is through every pointwise function of one float32 operand: the largest error in units of the last place.

    python -m tests.sweep [names]

What is compared with is the same function in float64, which the suite compares with mpmath and which has 29 bits more. Four billion
floats take some tens of seconds a function.
"""
import argparse
import inspect
import time

import numpy as np
import whet
import whet.nn.functional as F
from whet import jit
from whet.dtypes import FLOAT
from whet.ops.registry import REGISTRY

LIMIT = 2.0
CHUNK, ALL = 1 << 17, 1 << 32


def functions():
    """{name: function} of the public pointwise functions that take one float tensor and give floats."""
    found = {}
    for name, op in REGISTRY.items():
        f = getattr(whet, name, None) or getattr(F, name, None)
        if op.family != "pointwise" or FLOAT not in op.kinds or f is None or name == "clamp":
            continue
        needed = [p for p in inspect.signature(f).parameters.values() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
        if len(needed) == 1 and getattr(f(whet.ones(1)), "dtype", None) is whet.float32:
            found[name] = f
    return found


def errors(f):
    """A traced function: (worst error, its place) of float32 operands x."""
    @jit.trace
    def worst(x):
        got, want = f(x).double(), f(x.double())
        top = 2.0 ** 128                            # where float32 would have its next number: what is beyond counts as that
        got, want = got.clamp(-top, top), want.clamp(-top, top)
        exponent = (want.view(whet.int64) & 0x7FF0000000000000).view(whet.float64)
        error = (got - want).abs() / (exponent * 2.0 ** -23).clamp(2.0 ** -149, 2.0 ** 104)
        error = whet.where(got.isnan() & want.isnan(), 0.0, error.nan_to_num(float("inf")))
        return error.max(0)
    return worst


def sweep(f, start=0, end=ALL):
    """(worst error, where): over all floats whose bits are numbers from start to end."""
    worst, top, where = errors(f), -1.0, None
    for first in range(start, end, CHUNK):
        x = whet.from_numpy(np.arange(first, first + CHUNK, dtype=np.uint32).view(np.float32))
        error, at = worst(x)
        if float(error) > top:
            top, where = float(error), float(x[at])
    return top, where


def main():
    """Sweep the functions named, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    known, failed = functions(), []
    for name in parser.parse_args().names or known:
        t = time.perf_counter()
        error, where = sweep(known[name])
        failed += [name] * (error > LIMIT)
        print(f"{name:<14} {error:8.3f} ulp at {where!r:<26} {time.perf_counter() - t:4.0f} s", flush=True)
    raise SystemExit(f"more than {LIMIT} ulp: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
