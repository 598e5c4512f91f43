"""Steps of rows that go on from their neighbours, all in one launch, or with NumPy where nothing is
compiled. `passes/lower_llvm/elements/neighbour_steps.py` says what a step is."""
from functools import partial
from math import prod

import numpy as np
from whet.ir import scalar
from whet.ir.symbolic_size import at_least
from whet.passes.lower_llvm.elements import neighbour_steps as kernels
from whet.passes.lower_llvm.elements.neighbour_steps import Read as Read
from whet.passes.lower_llvm.elements.neighbour_steps import Steps as Steps

from . import native, product_kernels
from .distances import ELEMENTS as ELEMENTS
from .distances import fits

UNIT_STEPS = 1 << 13    # elements that are worth a thread of their own


def run(what, lengths, arrays):
    """Run all steps of each row. `lengths` (...): the rows' numbers of steps, none above the steps
    of array 0. `arrays`: those of `what`, (..., entries, elements of a row) or (..., elements of a
    row), dense."""
    carried = arrays[0]
    if not fits(carried):
        _by_numpy(what, lengths, arrays)
        return
    *batch, entries, width = carried.shape
    kernel = native.kernel(f"neighbour_steps/{what}", partial(kernels.steps, what=what))
    grain = at_least(UNIT_STEPS // at_least((entries - 1) * width, 1), 1)
    native.launch(kernel, prod(batch), grain, lengths, *arrays, entries - 1, width)


def _by_numpy(what, lengths, arrays):
    """Run all steps of each row with NumPy."""
    carried, count = arrays[0], arrays[0].shape[-2] - 1
    for t in reversed(range(count)) if what.back else range(count):
        reads = [_read(arrays[one.array], one, t) for one in what.reads]
        roots = [what.carried] if what.made is None else [what.carried, what.made]
        made = scalar.evaluate(roots, reads, product_kernels.DTYPE.__getitem__)
        goes_on = (t < lengths)[..., None]
        carried[..., t + (not what.back), :] = np.where(
            goes_on, made[0], carried[..., t + what.back, :])
        if what.made is not None:
            arrays[-1][..., t, :] = np.where(goes_on, made[1], 0)


def _read(a, one, t):
    """The elements that an expression reads in a step."""
    row = a if one.entry is None else a[..., t + one.entry, :]
    out, n = np.full(row.shape, one.outside, row.dtype), row.shape[-1]
    low, high = max(one.shift, 0), n + min(one.shift, 0)
    if low < high:
        out[..., low - one.shift:high - one.shift] = row[..., low:high]
    return out
