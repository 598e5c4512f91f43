"""Every op's samples on a device, forward and backward, against the CPU: the same bits (`CLOSE` has
what need not have them), or an error that says that its family has no form there. Devices are
simulated, or this machine's.

    python -m tests.cuda.sweep                      # all ops
    python -m tests.cuda.sweep add sum              # some
    python -m tests.cuda.sweep --traced             # each sample by a traced function, replayed
    python -m tests.cuda.sweep --real --jobs 16     # on this machine's GPU, by so many processes
"""
import argparse
import collections
import contextlib
import functools
import multiprocessing
import warnings

import numpy as np
import whet
from whet import declared_for_tracing
from whet.cuda import CudaError, device_state, execute
from whet.cuda.simulated.driver import SimulatedDriver
from whet.jit.policy import account
from whet.ops.registry import REGISTRY

from tests.ops.test_ops import TESTED, calls, run

TYPES = {
    "pointwise": (whet.float32, whet.float64, whet.float16, whet.bfloat16), "view": (whet.float32,),
    "attention": (whet.float16,)}


# ops whose sums are the device's own, of tensor cores: how far off they may be
CLOSE = {"attention": 4e-3}


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


def close(got, want, most):
    """The same type and sizes, and elements that are close."""
    assert got.is_cuda and (got.dtype, got.shape) == (want.dtype, want.shape), (got, want)
    np.testing.assert_allclose(got.detach().cpu().double(), want.detach().double(), most, most)


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


class Eager(Exception):
    """A traced function was never replayed; why."""


def ways(op, sample, by_traced):
    """Functions of a sample on the device that give its results, three times over: the op itself,
    whose third call machine code makes, or a traced function, which must be replayed in the end."""
    if not by_traced:
        for _ in range(3):
            yield lambda: run(op, sample)
        return
    # what is ours is not searched for what may change: an op has much of it
    text = compile("def call(*args): return op(*args, **options)", "<sweep>", "exec")
    call = declared_for_tracing.run(text, {"op": op, "options": sample.kwargs})["call"]
    traced = whet.jit.trace(lambda *args: call(*args))

    def f(*args):
        r = traced(*args)
        return r if isinstance(r, tuple) else (r,)
    for _ in range(3):
        yield lambda: f(*sample.args)
    if not traced._policy.summary().replayed:
        raise Eager(str(traced.explain(data=True)["refused"]))


def check(name, dtype=whet.float32, most=None, traced=False):
    """Compare an op's samples with the CPU; at most so many."""
    op = REGISTRY[name]
    equal = functools.partial(close, most=CLOSE[name]) if name in CLOSE else same
    for sample in list(calls(op, dtype=dtype))[:most]:
        there = type(sample)(*on_device(tuple(sample.args)),
                             **{k: on_device(v) for k, v in sample.kwargs.items()})
        if not any(whet.is_tensor(x) for x in sample.args):
            continue
        made = run(op, sample)
        want = [x.detach().clone() for x in made]      # a backward may write over what it saved
        slopes = gradients(op, made, sample)
        for way in ways(op, there, traced):
            got = way()
            for a, b in zip(got, want, strict=True):
                equal(a, b)
            for a, b in zip(gradients(op, got, there), slopes, strict=True):
                equal(a, b)


def outcome(name, real=False, traced=False):
    """What came of an op: `equal`, `equal, by the CPU` (with the ops that were), `no form`, or what
    went wrong; `lost` where a device does no more work because of what came before."""
    with by_the_cpu() as told:
        what, why = compared(name, real, traced)
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


def compared(name, real, traced):
    """What came of an op: on simulated devices of its own, or on this machine's."""
    with contextlib.nullcontext() if real else device_state.use(SimulatedDriver()):
        try:
            device_state.machine().driver.synchronize(0)
        except CudaError as error:
            return "lost", str(error)
        for dtype in TYPES.get(REGISTRY[name].family, (whet.float32,)):
            try:
                check(name, dtype, traced=traced)
            except Eager as why:
                return "eager", str(why)
            except NotImplementedError as error:
                return "no form", str(error)
            except Exception as error:
                return "WRONG", f"{dtype} {type(error).__name__}: {error}"
    return "equal", ""


def outcomes(names, real, jobs, traced=False):
    """(name, what came of it) for each op, by processes of their own where there are several."""
    one = functools.partial(outcome, real=real, traced=traced)
    if jobs == 1:
        yield from ((name, one(name)) for name in names)
        return
    lost, spawn = [], multiprocessing.get_context("spawn")
    with spawn.Pool(jobs) as pool:
        for name, (what, why) in zip(names, pool.imap(one, names), strict=True):
            if what == "lost":
                lost.append(name)
            else:
                yield name, (what, why)
    with spawn.Pool(jobs, maxtasksperchild=1) as pool:
        yield from zip(lost, pool.imap(one, lost), strict=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--show", action="store_true",
                        help="why there is no form, and which gradients the CPU computes")
    parser.add_argument("--traced", action="store_true", help="by traced functions")
    parser.add_argument("--real", action="store_true", help="on this machine's GPU")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    args = parser.parse_args()
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    account.GRACE = float("inf") if args.traced else account.GRACE
    for name, (what, why) in outcomes(args.names or TESTED, args.real, args.jobs, args.traced):
        found[REGISTRY[name].family][what].append(name)
        if what in ("WRONG", "lost", "eager") or args.show and why:
            print(f"{what}: {name}: {' '.join(why.split())[:300]}", flush=True)
    for family, what_came in sorted(found.items()):
        counts = ", ".join(f"{len(n)} {what}" for what, n in sorted(what_came.items()))
        print(f"{family}: {counts}")
        for what in ("no form", "equal, by the CPU"):
            for name in what_came.get(what, ()):
                print(f"    {what}: {name}")
    raise SystemExit(any("WRONG" in o or "lost" in o for o in found.values()))


if __name__ == "__main__":
    main()
