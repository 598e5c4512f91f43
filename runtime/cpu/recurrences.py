"""Recurrences on the CPU: all steps in one launch, or with NumPy where nothing is compiled.
`passes/lower_llvm/products/recurrences.py` says what a step is."""
from functools import partial

import numpy as np
from whet.ir import scalar
from whet.ir.outline import table as numbers_of
from whet.ir.symbolic_size import at_least
from whet.passes.lower_llvm.products import gemm as products
from whet.passes.lower_llvm.products import recurrences as kernels
from whet.passes.lower_llvm.products.recurrences import Array as Array
from whet.passes.lower_llvm.products.recurrences import Place as Place
from whet.passes.lower_llvm.products.recurrences import Series as Series
from whet.passes.lower_llvm.products.recurrences import State as State
from whet.passes.lower_llvm.products.recurrences import Steps as Steps

from . import gemm, memory, native, product_kernels, taped_launches
from .rows import contiguous


def run(what, sizes, first, matrices, arrays, is_reversed, begins=None):
    """Run all steps. `sizes`: (steps, rows, numbers of a state). `first`: the rows that the first
    step multiplies; None if there is nothing to multiply yet. `matrices` (gates, K, numbers of a
    state). `arrays`: those of `what`, dense. `begins`: of packed sequences, where each step begins
    and the last one ends."""
    what = what if begins is None else what.for_packed
    if not products.supported(what.dtype):
        _by_numpy(what, sizes, first, matrices, arrays, is_reversed, begins)
        return
    (count, rows, width), k = sizes, matrices.shape[1]
    size, dtype, pack, units, pack_grain, table = gemm.packing_of(matrices)
    packed = taped_launches.partial(memory.empty((size,), dtype))
    native.launch(pack, units, pack_grain, matrices, packed, table)
    product_kernels.bring_part("tiles", what.dtype)
    kernel = native.kernel(f"steps/{what.key}", partial(kernels.steps, what=what))
    each = kernels.unit_rows(what.dtype)
    work = count * (each * what.sums) * width * k
    numbers = numbers_of([count, rows, width, k, 0 if first is None else k, int(is_reversed)])
    grain = at_least(product_kernels.UNIT_STEPS // at_least(work, 1), 1)
    first = None if first is None else contiguous(first)
    more = () if begins is None else (begins,)
    native.launch(kernel, -(-rows // each), grain, numbers, first, packed, *more, *arrays)


def _by_numpy(what, sizes, first, matrices, arrays, is_reversed, begins):
    """Run all steps of a recurrent layer with NumPy."""
    count, rows, width = sizes
    begins = np.arange(count + 1) * rows if begins is None else begins

    def of_step(a, t):
        return a.reshape(-1, a.shape[-1])[begins[t]:begins[t + 1]]

    def part(p, t):
        kind, a = what.arrays[p.array], arrays[p.array]
        a = of_step(a, t) if isinstance(kind, Series) else a
        a = a[:begins[t + 1] - begins[t]] if isinstance(kind, State) else a
        return a.reshape(*a.shape[:-1], kind.parts, width)[..., p.part, :]

    def sums_of(source, n):
        """For each matrix, the sums of n rows, of which the step before has some."""
        source, others = source[:n], None if first is None else first[len(source):n]
        return [np.concatenate([
            gemm.matmul(source, m),
            np.zeros((n - len(source), width), m.dtype) if others is None
            else gemm.matmul(others, m)]) for m in matrices]
    source = np.empty((0, matrices.shape[1]), matrices.dtype)
    for t in reversed(range(count)) if is_reversed else range(count):
        sums = sums_of(source, begins[t + 1] - begins[t])
        made = scalar.evaluate([e for e, _ in what.results],
                               [*sums, *(part(p, t) for p in what.reads)],
                               product_kernels.DTYPE.__getitem__)
        for x, (_, p) in zip(made, what.results, strict=True):
            part(p, t)[...] = x
        array, at = what.source
        source = of_step(arrays[array], t)[:, at * width:at * width + matrices.shape[1]]
