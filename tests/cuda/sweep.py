"""Every op's samples on a simulated device, forward and backward, against the CPU: the same bits,
or an error that says that its family has no form there.

    python -m tests.cuda.sweep            # all ops
    python -m tests.cuda.sweep add sum    # some
"""
import argparse
import collections
import contextlib
import warnings

import numpy as np
import whet
from whet.cuda import execute, machine
from whet.cuda.simulated.driver import SimulatedDriver
from whet.ops.registry import REGISTRY

from tests.ops.test_ops import TESTED, calls, run

TYPES = {
    "pointwise": (whet.float32, whet.float64, whet.float16, whet.bfloat16), "view": (whet.float32,)}


def on_device(x):
    """An argument where the device is: tensors are moved, with their strides, and are leaves."""
    if isinstance(x, tuple | list):
        return type(x)(on_device(y) for y in x)
    if not whet.is_tensor(x):
        return x
    return x.detach().to("cuda").requires_grad_(x.requires_grad)


def same(got, want):
    """The same type, sizes, strides and bits; any NaN for any NaN."""
    assert got.is_cuda and (got.dtype, got.shape) == (want.dtype, want.shape), (got, want)
    a, b = got.detach().cpu()._array, want.detach()._array
    if a.dtype.kind in "fV":
        nan = np.isnan(b)
        np.testing.assert_array_equal(np.isnan(a), nan)
        a, b = (np.where(nan, 0, np.ascontiguousarray(x).view(f"u{x.itemsize}")) for x in (a, b))
    np.testing.assert_array_equal(a, b)


def leaves_of(sample):
    """The tensors that gradients are asked of."""
    return [a for a in sample.args if whet.is_tensor(a) and a.requires_grad]


def gradients(op, outs, sample):
    """The gradients of all leaves, for ones."""
    live = [o for i, o in enumerate(outs) if i not in op.nondiff_outputs and o.requires_grad]
    if not live or not leaves_of(sample):
        return []
    made = whet.autograd.grad(live, leaves_of(sample), [whet.ones_like(o) for o in live],
                              allow_unused=True)
    return [g for g in made if g is not None]


def check(name, dtype=whet.float32, most=None):
    """Compare an op's samples with the CPU; at most so many."""
    op = REGISTRY[name]
    for sample in list(calls(op, dtype=dtype))[:most]:
        there = type(sample)(*on_device(tuple(sample.args)),
                             **{k: on_device(v) for k, v in sample.kwargs.items()})
        if not any(whet.is_tensor(x) for x in sample.args):
            continue
        want, got = run(op, sample), run(op, there)
        for a, b in zip(got, want, strict=True):
            same(a, b)
        for a, b in zip(gradients(op, got, there), gradients(op, want, sample), strict=True):
            same(a, b)


def outcome(name):
    """What came of an op: `equal`, `equal, by the CPU` (with the ops that were), `no form`, or what
    went wrong."""
    with by_the_cpu() as told:
        what, why = compared(name)
    if what == "equal" and told:
        return ("equal, by the CPU" if name in told else "equal", ", ".join(sorted(told)))
    return what, why


@contextlib.contextmanager
def by_the_cpu():
    """The names of ops that the CPU computed for a device meanwhile: each warns once."""
    execute._told.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield execute._told


def compared(name):
    """What came of an op on devices of its own."""
    with machine.use(SimulatedDriver()):
        for dtype in TYPES.get(REGISTRY[name].family, (whet.float32,)):
            try:
                check(name, dtype)
            except NotImplementedError as error:
                return "no form", str(error)
            except Exception as error:
                return "WRONG", f"{dtype} {type(error).__name__}: {error}"
    return "equal", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--show", action="store_true",
                        help="why there is no form, and which gradients the CPU computes")
    args = parser.parse_args()
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for name in args.names or TESTED:
        what, why = outcome(name)
        found[REGISTRY[name].family][what].append(name)
        if what == "WRONG" or args.show and why:
            print(f"{what}: {name}: {' '.join(why.split())[:300]}", flush=True)
    for family, outcomes in sorted(found.items()):
        print(f"{family}: " + ", ".join(f"{len(n)} {what}" for what, n in sorted(outcomes.items())))
        for what in ("no form", "equal, by the CPU"):
            for name in outcomes.get(what, ()):
                print(f"    {what}: {name}")
    raise SystemExit(any("WRONG" in o for o in found.values()))


if __name__ == "__main__":
    main()
