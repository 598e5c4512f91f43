"""Row programs on devices: reductions, softmax, norms, in the CPU's order of sums."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..dtypes import SHORT
from ..ir import rows as R
from .arrays import DeviceArray, empty
from .errors import NoForm
from .launch import launch
from .pointwise import copied, is_wide

_sources: dict[Any, Any] = {}       # by what describes a kernel completely


def run(program: R.Program, operands: Sequence[Any], axes: Sequence[int],
        index: int) -> list[DeviceArray]:
    """The outputs of a program along axes. Full outputs have the full shape, row outputs that
    without the axes."""
    full = next(x for x, o in zip(operands, program.operands, strict=True) if o.kind == "full")
    shape = full.shape
    inner = tuple(sorted(a % full.ndim for a in axes))
    outer = tuple(a for a in range(full.ndim) if a not in inner)
    order = outer + inner
    count, n = prod(shape[a] for a in outer), prod(shape[a] for a in inner)
    arrays, numbers = {}, {"n": n, "rows": count}
    for i, (x, o) in enumerate(zip(operands, program.operands, strict=True)):
        if o.kind == "scalar":
            numbers[f"x{i}"] = x
        elif o.kind == "full":
            arrays[f"x{i}"] = _row_by_row(x, order, (count, n))
        elif o.kind != "index":
            arrays[f"x{i}"] = _row_by_row(x, tuple(range(x.ndim)), (x.size,))
    outs = []
    for j, (k, t) in enumerate(program.outputs):
        is_full = isinstance(program.stages[k], R.Store)
        made = empty(index, tuple(shape[a] for a in (order if is_full else outer)), SHORT[t].np)
        arrays[f"y{j}"] = made.reshape(count, n) if is_full else made.reshape(count)
        outs.append(_turned_back(made, order) if is_full else made)
    if count and all(o.size for o in outs):
        _launch(program, count, n, arrays, numbers, index)
    return outs


def _row_by_row(x: DeviceArray, order: tuple[int, ...], shape: tuple[int, ...]) -> DeviceArray:
    """The elements with these dimensions in this order, one after the other; moved if need be."""
    x = x.transpose(order)
    return (x if x.flags.c_contiguous else copied(x)).reshape(shape)


def _turned_back(x: DeviceArray, order: tuple[int, ...]) -> DeviceArray:
    return x.transpose(tuple(int(d) for d in np.argsort(order)))


def _launch(program: R.Program, count: int, n: int, arrays: dict[str, DeviceArray],
            numbers: dict[str, Any], index: int) -> None:
    from ..passes.lower_triton import rows as lower
    layout, tile = lower.Layout(), lower.tile(count, n)
    numbers |= dict.fromkeys(lower.strides(program, layout), n)
    wide = is_wide([a.geometry for a in arrays.values()])
    key = program.key, tile, wide
    source = _sources.get(key)
    if source is None:
        source = _sources[key] = _lowered(program, layout, tile, wide)
    launch(index, source, {name: a.geometry for name, a in arrays.items()}, numbers)


def _lowered(program: R.Program, layout: Any, tile: Any, wide: bool) -> Any:
    from ..passes.lower_triton import rows as lower
    from ..passes.lower_triton.scalar import Unsupported
    try:
        return lower.lower(program, layout, tile, wide)
    except Unsupported as error:
        raise NoForm(f"{program.name}: no form of it for CUDA devices yet, for this "
                                  f"type ({error.args[0]})") from None


def of_op(op: Any, arrays: Sequence[Any], attrs: Any, index: int) -> list[DeviceArray]:
    """The outputs of an op that is a row program (`as_rows`), one number a row with its dimensions
    kept as 1, where the op keeps them."""
    full = arrays[0]
    if full.dtype.kind == "c":
        raise NoForm(f"{op.name}: no form of it for CUDA devices yet, for complex "
                                  "numbers")
    program, operands, axes = op.as_rows(*arrays, **attrs)
    outs = run(program, operands, axes, index)
    if attrs.get("keepdim", op.family == "rows"):
        axes = {a % full.ndim for a in axes} if full.ndim else set()
        kept = tuple(1 if a in axes else s for a, s in enumerate(full.shape))
        outs = [o if o.shape == full.shape else o.reshape(kept) for o in outs]
    return outs
