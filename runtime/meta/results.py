"""What the results of an op are like, found out without elements.

An op says it of its outlines, or its own code is run on these: it plans its launches, none of which
is made, and its memory is an outline, too. Ops that NumPy or LAPACK computes are tried on numbers.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes
from ..cpu import allocator
from ..cpu.taped_launches import Tape
from ..device_arrays import reach
from ..ir.outline import Outline, Room
from ..ir.symbolic_size import Unsized
from .arrays import MetaArray, empty

MOST_KINDS = 1 << 12             # of calls that are known
MOST_TRIED = 1 << 26             # bytes of the operands that an op is tried on


class Like(NamedTuple):
    """What a result is like. `operand`: the operand whose memory it lies in, `offset` bytes behind
    the first element of that; None where it has its own."""
    operand: int | None
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype


_known: dict[Any, list[Like | None] | Like] = {}


def results(op: Any, arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """New arrays, like those that an op would give."""
    key = _key(op, arrays, attrs)
    try:
        like = _known.get(key)
    except TypeError:                        # an attribute that has no hash
        return _new_or_view(_described_results(op, arrays, attrs), arrays)
    if like is None:
        if len(_known) >= MOST_KINDS:
            _known.clear()
        like = _known[key] = _described_results(op, arrays, attrs)
    return _new_or_view(like, arrays)


def _key(op: Any, arrays: Sequence[Any], attrs: Mapping[str, Any]) -> tuple[Any, ...]:
    """What results go by."""
    first: dict[int, int] = {}               # memory is distinguished by who has it first
    operands = [(x.shape, x.strides, x.dtype, first.setdefault(id(x.held), i), x.address - x.start)
                if type(x) is MetaArray else x.dtype if isinstance(x, np.ndarray) else (type(x), x)
                for i, x in enumerate(arrays)]
    described = [(name, type(v), v) for name, v in attrs.items()]
    return op, dtypes.get_default_dtype(), *operands, *described


def _new_or_view(like: list[Like | None] | Like, arrays: Sequence[Any]) -> Any:
    if isinstance(like, list):
        return tuple([None if one is None else _new_or_view(one, arrays) for one in like])
    if like.operand is None:
        return empty(like.shape, like.dtype, like.strides)
    base = arrays[like.operand]
    return MetaArray.at(base.held, base.address + like.offset, like.shape, like.strides, like.dtype)


def _described_results(op: Any, arrays: Sequence[Any],
           attrs: Mapping[str, Any]) -> list[Like | None] | Like:
    """What the results of a call are like."""
    rooms: dict[int, Room] = {}
    outlines = [_outline(x, rooms) if hasattr(x, "dtype") else x for x in arrays]
    made = _outlined(op, outlines, attrs)
    if type(made) is tuple:
        return [None if m is None else _described(m, outlines) for m in made]
    return _described(made, outlines)


def _outline(x: Any, rooms: dict[int, Room]) -> Outline:
    if type(x) is not MetaArray:             # a number of the host's
        return Outline((), x.dtype)
    room = rooms.setdefault(id(x.held), Room(x.room))
    return Outline(x.shape, x.dtype, x.strides, room, x.address - x.start)


def _described(made: Any, outlines: Sequence[Any]) -> Like:
    shape, dtype = tuple(map(int, made.shape)), np.dtype(made.dtype)
    strides = tuple(map(int, made.strides))
    if type(made) is Outline:
        for i, x in enumerate(outlines):
            if type(x) is Outline and x.room is made.room:
                return Like(i, made.offset - x.offset, shape, strides, dtype)
    return Like(None, 0, shape, strides, dtype)


def _outlined(op: Any, outlines: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Outlines of an op's results; arrays, where it was tried on numbers."""
    if op.sized_by_data and op.outlined is None:
        raise NotImplementedError(
            f"{op.name}: the size of its result depends on numbers, which meta tensors have none "
            "of")
    of_outlines = op.outlined or op.makes
    if of_outlines is not None:
        with allocator.without_memory():
            made = of_outlines(*outlines, **attrs)
        return made[0] if type(made) is tuple and len(made) == 1 else made
    if op.shape is not None:
        return Outline(op.shape(*outlines, **attrs), outlines[0].dtype)
    if op.any_sizes or op.launches:
        try:
            with allocator.without_memory():
                return Tape(dry=True).listen(op.forward, *outlines, **attrs)
        except (Unsized, AttributeError, TypeError, IndexError):
            pass                             # it asks for more than outlines have
    return _tried(op, outlines, attrs)


def _tried(op: Any, outlines: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """The results for some numbers. They are such that matrices have inverses."""
    size = sum([x.nbytes for x in outlines if type(x) is Outline])
    if size > MOST_TRIED:
        raise NotImplementedError(
            f"{op.name}: what its result is like is found by computing one on the CPU, which "
            f"meta tensors of {size} bytes are too large for")
    operands = [_numbers(x) if type(x) is Outline else x for x in outlines]
    with np.errstate(all="ignore"):
        return op.forward(*operands, **attrs)


def _numbers(x: Outline) -> np.ndarray:
    low, high = reach(x.shape, x.strides, x.dtype.itemsize)
    made = np.ndarray(x.shape, x.dtype, np.zeros(high - low, np.uint8), -low, x.strides)
    if x.dtype.kind in "fc" and x.ndim > 1 and x.shape[-1] == x.shape[-2]:
        made[...] = np.eye(x.shape[-1])
    return made
