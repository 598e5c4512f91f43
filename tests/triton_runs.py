"""Kernels run on NumPy arrays by Triton's interpreter, as the CPU's entry points run theirs; and
what eager launches, listened to."""
import contextlib
import importlib.util
import os

import numpy as np
import pytest
from whet.autograd import modes
from whet.cpu import pointwise, reduce, rows
from whet.dtypes import FROM_NUMPY, SHORT
from whet.ir import kernel as K
from whet.ir import rows as R
from whet.ir import scalar as S
from whet.ops.observer import Observer

needs_triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="Triton has wheels for Linux only")
os.environ.setdefault("TRITON_CACHE_DIR",
                      os.path.join(os.path.dirname(__file__), "..", ".whet-cache", "triton"))


def short(a):
    return FROM_NUMPY[a.dtype].short


def like(a, copy=False):
    """New memory of the same shape and strides; with `copy`, of the same elements."""
    ends = [(n - 1) * s for n, s in zip(a.shape, a.strides)] if a.size else []
    below, above = (sum(f(e, 0) for e in ends) for f in (min, max))
    b = np.ndarray(a.shape, a.dtype, np.zeros(above - below + a.itemsize, np.uint8), -below,
                   a.strides)
    if copy:
        np.copyto(b, a)
    return b


def same(got, want):
    """Equal bits, any NaN for any NaN."""
    assert got.dtype == want.dtype and got.shape == want.shape
    if got.dtype.kind in "fV":
        nan = np.isnan(want)
        np.testing.assert_array_equal(np.isnan(got), nan)
        got, want = (np.where(nan, 0,
                              np.ascontiguousarray(a).view(f"u{a.itemsize}")) for a in (got, want))
    np.testing.assert_array_equal(got, want)


# ---- as the CPU's entry points do ----------------------------------------------------------------
def pointwise_kernel(roots, inputs, outs):
    """(the kernel, how it walks)"""
    arrays = [*inputs, *outs]
    strides = [np.broadcast_to(a, outs[0].shape).strides for a in arrays]
    walk = K.plan(outs[0].shape, strides, [a.itemsize for a in arrays], len(inputs))
    return (K.Pointwise(tuple(roots), tuple(map(short, inputs)), tuple(map(short, outs)),
                        walk.space, walk.access), walk)


def run_pointwise(roots, inputs, outs):
    """Compute into `outs`; the Source."""
    from whet.passes.lower_triton import pointwise as lower
    from whet.passes.lower_triton import simulate
    inputs = [np.asarray(a) for a in inputs]
    kernel, walk = pointwise_kernel(roots, inputs, outs)
    source = lower.lower(kernel, len(walk.shape))
    simulate.run(source, [*inputs, *outs],
                 lower.numbers(kernel, walk, [a.itemsize for a in (*inputs, *outs)]))
    return source


def run_rows(program, operands, axes=(-1,), tile=None):
    """(the outputs of a row program over axes, rows in the order of memory; the Source)"""
    from whet.passes.lower_triton import rows as lower
    from whet.passes.lower_triton import simulate
    shape = next(x.shape for x, o in zip(operands, program.operands) if o.is_full)
    axes = tuple(sorted(a % len(shape) for a in axes)) if shape else ()
    outer = tuple(a for a in range(len(shape)) if a not in axes)
    sizes = lambda dims: int(np.prod([shape[a] for a in dims]))
    count, n = sizes(outer), sizes(axes)
    layout = lower.Layout()
    source = lower.lower(program, layout, tile or lower.tile(count, n))
    numbers, arrays, outs = {"n": n, "rows": count}, [], []
    for i, (x, o) in enumerate(zip(operands, program.operands)):
        if o.is_scalar:
            numbers[f"x{i}"] = x
        elif o.is_full:
            arrays.append(np.ascontiguousarray(x.transpose(outer + axes)).reshape(count, n))
        elif not o.is_position:
            arrays.append(np.ascontiguousarray(x).reshape(-1))
    for k, t in program.outputs:
        outs.append(
            np.zeros((count, n) if isinstance(program.stages[k], R.Store) else (count,),
                     SHORT[t].np))
    numbers |= dict.fromkeys((s for s in lower.strides(program, layout)), n)
    simulate.run(source, [*arrays, *outs], numbers)
    back = np.argsort(outer + axes)
    return [
        y.reshape([shape[a] for a in outer
                   + axes]).transpose(back) if y.ndim == 2 else y.reshape([shape[a] for a in outer])
        for y in outs], source


def run_parts(program, operands):
    """The outputs of a row program on contiguous rows that are cut into parts of one block."""
    from whet.cuda.rows import MEMORY
    from whet.passes.lower_triton import long_rows, simulate
    from whet.passes.lower_triton import rows as lower
    count, n = next(x.shape for x, o in zip(operands, program.operands) if o.is_full)
    parts = -(-n // R.BLOCK)
    numbers, there = {"n": n, "rows": count, "parts": parts}, {}
    for i, (x, o) in enumerate(zip(operands, program.operands)):
        if o.is_scalar:
            numbers[f"x{i}"] = x
        elif not o.is_position:
            there[f"x{i}"] = np.ascontiguousarray(x)
    outs = [np.zeros((count, n) if isinstance(program.stages[k], R.Store) else (count,),
                     SHORT[t].np) for k, t in program.outputs]
    there |= {f"y{j}": y for j, y in enumerate(outs)}
    layout = lower.Layout()
    numbers |= dict.fromkeys(lower.strides(program, layout), n)
    for walk in long_rows.lower(program, layout, lower.Tile(1, 1, 1, 64), lower.up(parts)):
        for source in filter(None, walk):
            pointers = [(name, kind) for name, kind in source.parameters if kind[0] == "*"]
            for name, kind in pointers:
                if name not in there:
                    there[name] = np.full(count * (parts if name[0] == "s" else 1), 77,
                                          MEMORY[kind])
            simulate.run(source, [there[name] for name, _ in pointers], numbers)
        there = {name: a for name, a in there.items() if name[0] != "s"}
    return outs


def run_matmul(x, y, kernel=None, operands=(), ones=(), tile=None, **parts):
    """(x @ y and what the contraction says beside; the Source), for arrays of 2 to 4 dimensions
    that have the same batch."""
    from whet.passes.lower_triton import contract as lower
    from whet.passes.lower_triton import simulate
    contract = lower.Contract(short(x), operands=tuple(map(short, operands)), **parts)
    source = lower.lower(contract, kernel or lower.Chains, ones, tile=tile)
    (m, k), n = x.shape[-2:], y.shape[-1]
    out = np.zeros((*x.shape[:-2], m, n), SHORT[contract.result].np)
    operands = [np.broadcast_to(o, out.shape) for o in operands]
    strides = [[0] * (4 - v.ndim) + [s // v.itemsize for s in v.strides]
               for v in (x, y, out, *operands)]
    batch = [1] * (4 - x.ndim) + list(x.shape[:-2])
    simulate.run(source, [x, y, out, *operands],
                 lower.numbers((m, n, k), [s[2:] + s[:2] for s in strides], batch))
    return out, source


# ---- listening to eager --------------------------------------------------------------------------
class Launches(Observer):
    """What ran: (kind, what, operands before, results after)."""

    def __init__(self):
        self.all = []

    def replay(self, done):
        """Run them again as Triton kernels and compare bits; those whose description is in
        `done` are left out."""
        for kind, what, operands, results in self.all:
            key = (kind, str(what),
                   tuple((a.dtype, a.shape, a.strides) if isinstance(a, np.ndarray) else None
                         for a in operands))
            if key in done:
                continue
            done.add(key)
            if kind == "pointwise":
                outs = [like(a) for a in results]
                run_pointwise(what, operands, outs)
            elif kind == "rows":
                outs, _ = run_rows(what[0], operands, what[1])
                outs = [y.reshape(w.shape) for y, w in zip(outs, results)]
            for y, w in zip(outs, results, strict=True):
                same(y, w)


@contextlib.contextmanager
def listening(monkeypatch):
    """All launches of pointwise kernels and row programs within, which run the ordinary way."""
    heard = Launches()

    def call(self, inputs, outs=None, old=pointwise.Pointwise.__call__):
        before = [like(np.asarray(a), copy=True) for a in inputs]
        results = old(self, inputs, outs)
        compiled = [a.dtype.kind != "c" for a in (*before, *results)]
        if all(compiled) and results[0].size:
            roots = [
                r if S.typeof(r, list(map(short, before))) == short(y) else S.cast(r, short(y))
                for r, y in zip(self.roots, results)]
            heard.all.append(
                ("pointwise", tuple(roots), before, [like(y, copy=True) for y in results]))
        return results

    def made(self, program, operands, axes, row_shape=None, old=rows.Plan.__init__):
        old(self, program, operands, axes, row_shape)
        run = self.run

        def listened(*operands):
            before = [np.array(x) if isinstance(x, np.ndarray) else x for x in operands]
            outs = run(*operands)
            if all(np.size(x) for x in outs):
                heard.all.append(("rows", (program, axes), before, [np.array(y) for y in outs]))
            return outs
        self.run = listened
        self.single = lambda x, *scalars: listened(x, *scalars)[0]

    with monkeypatch.context() as m:
        m.setattr(pointwise.Pointwise, "__call__", call)
        m.setattr(rows.Plan, "__init__", made)
        m.setattr(rows, "_plans", {})
        m.setattr(reduce, "_plans", {})
        before = modes.state.observers
        modes.state.observers = (*before, heard)
        modes.refresh()
        try:
            yield heard
        finally:
            modes.state.observers = before
            modes.refresh()
