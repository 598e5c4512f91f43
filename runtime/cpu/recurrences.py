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


def run(what, sizes, first, matrices, arrays, is_reversed):
    """Run all steps. `sizes`: (steps, rows, numbers of a state). `first`: the rows that the first
    step multiplies; None if there is nothing to multiply yet. `matrices` (gates, K, numbers of a
    state). `arrays`: those of `what`, dense."""
    if not products.supported(what.dtype):
        _by_numpy(what, sizes, first, matrices, arrays, is_reversed)
        return
    (count, rows, width), k = sizes, matrices.shape[1]
    size, dtype, pack, units, pack_grain, table = gemm.packing_of(matrices)
    packed = taped_launches.partial(memory.empty((size,), dtype))
    native.launch(pack, units, pack_grain, matrices, packed, table)
    product_kernels.bring_part("tiles", what.dtype)
    kernel = native.kernel(f"steps/{what}", partial(kernels.steps, what=what))
    each = kernels.unit_rows(what.dtype)
    work = count * (each * what.sums) * width * k
    numbers = numbers_of([count, rows, width, k, 0 if first is None else k, int(is_reversed)])
    grain = at_least(product_kernels.UNIT_STEPS // at_least(work, 1), 1)
    first = None if first is None else contiguous(first)
    native.launch(kernel, -(-rows // each), grain, numbers, first, packed, *arrays)


def _by_numpy(what, sizes, first, matrices, arrays, is_reversed):
    """The same with NumPy."""
    count, rows, width = sizes

    def part(p, t):
        kind, a = what.arrays[p.array], arrays[p.array]
        if isinstance(kind, Series):
            a = a[t]
        return a.reshape(*a.shape[:-1], kind.parts, width)[..., p.part, :]
    source = first
    for t in reversed(range(count)) if is_reversed else range(count):
        sums = [np.zeros((rows, width), matrices.dtype) if source is None else
                gemm.matmul(source, m) for m in matrices]
        made = scalar.evaluate([e for e, _ in what.results],
                               [*sums, *(part(p, t) for p in what.reads)],
                               product_kernels.DTYPE.__getitem__)
        for x, (_, p) in zip(made, what.results, strict=True):
            part(p, t)[...] = x
        array, at = what.source
        source = arrays[array][t][:, at * width:at * width + matrices.shape[1]]
