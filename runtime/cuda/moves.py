"""Ops that put elements into other places, on devices: the copies that an op states (`moves`)."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .arrays import DeviceArray, empty
from .pointwise import copy_into


def run(op: Any, arrays: Sequence[Any], attrs: Mapping[str, Any], index: int) -> DeviceArray:
    """New memory of the op's `shape`, filled by its moves."""
    places = geometries(arrays)
    out = empty(index, tuple(op.shape(*places, **attrs)), places[0].dtype)
    apply(out, op.moves(out.geometry, *places, **attrs), arrays)
    return out


def over(op: Any, arrays: Sequence[Any], attrs: Mapping[str, Any]) -> None:
    """The moves of an op that writes into its first operand."""
    places = geometries(arrays)
    apply(arrays[0], op.moves(*places, **attrs), arrays)


def geometries(arrays: Sequence[Any]) -> list[Any]:
    """The addresses, shapes and strides of the operands."""
    return [x.geometry if type(x) is DeviceArray else x for x in arrays]


def apply(out: DeviceArray, moves: Sequence[tuple[Any, Any]], arrays: Sequence[Any]) -> None:
    """Make the copies: each puts an array, or a number, into a part of `out`."""
    for part, x in moves:
        to = out.view_as(part)
        if not isinstance(x, np.ndarray):
            x = np.asarray(x, to.dtype)
        elif not any(x is a for a in arrays):        # addresses of a device, not numbers
            x = DeviceArray(out.held, x)
        if to.size:
            copy_into(to, x)
