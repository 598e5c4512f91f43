"""Sequences and optional values."""
from typing import Any

import numpy as np
import whet

from .... import dtypes
from ...errors import OnnxError
from ..definition import Body, operator
from ..values import Ints, Known, Sequence, Value, as_numbers, as_tensor, shape_of
from .shapes import is_array, joined, parts


def place(sequence: list[Any], position: Any, extra: int = 0) -> int:
    """A position in a sequence, counted from its start."""
    i, count = int(as_numbers(position)[0]), len(sequence)
    if not -count <= i < count + extra:
        raise OnnxError(f"position {i} is not in a sequence of {count}")
    return i + count if i < 0 else i


@operator("SequenceEmpty")
def sequence_empty(*, dtype: int = 1) -> Any:
    return []


@operator("SequenceConstruct")
def sequence_construct(*values: Value) -> Any:
    return list(values)


@operator("SequenceAt")
def sequence_at(sequence: Sequence, position: Value) -> Any:
    return sequence[place(sequence, position)]


@operator("SequenceInsert")
def sequence_insert(sequence: Sequence, value: Value, position: Value = None) -> Any:
    at = len(sequence) if position is None else place(sequence, position, extra=1)
    return [*sequence[:at], value, *sequence[at:]]


@operator("SequenceErase")
def sequence_erase(sequence: Sequence, position: Value = None) -> Any:
    if not sequence:
        raise OnnxError("there is nothing to erase in an empty sequence")
    at = len(sequence) - 1 if position is None else place(sequence, position)
    return [*sequence[:at], *sequence[at + 1:]]


@operator("SequenceLength")
def sequence_length(sequence: Sequence) -> Known:
    return Known(np.array(len(sequence), dtype=object))


@operator("ConcatFromSequence")
def concat_from_sequence(sequence: Sequence, *, axis: int, new_axis: int = 0) -> Any:
    if not new_axis:
        return joined(sequence, axis)
    if any(map(is_array, sequence)):
        return np.stack(sequence, axis)
    return whet.stack([as_tensor(v) for v in sequence], axis)


@operator("SplitToSequence")
def split_to_sequence(data: Value, split: Value = None, *, axis: int = 0, keepdims: int = 1) -> Any:
    length = shape_of(data)[axis]
    if split is None:
        found = parts(data, [1] * length, axis)
        if keepdims:
            return list(found)
        return [np.squeeze(p, axis) if is_array(p) else as_tensor(p).squeeze(axis) for p in found]
    sizes: Ints = as_numbers(split)
    if not shape_of(split):
        step = sizes[0]
        sizes = [min(step, length - i) for i in range(0, length, step)]
    return list(parts(data, sizes, axis))


@operator("SequenceMap")
def sequence_map(sequence: Sequence, *others: Value, body: Body) -> Any:
    rows = [body(value, *(o[i] if isinstance(o, list) else o for o in others))
            for i, value in enumerate(sequence)]
    return tuple(list(column) for column in zip(*rows))


@operator("Optional")
def optional(value: Value = None, *, type: str = "") -> Any:
    return value


@operator("OptionalGetElement")
def optional_get_element(value: Value) -> Any:
    if value is None:
        raise OnnxError("the optional value is not there")
    return value


@operator("OptionalHasElement")
def optional_has_element(value: Value = None) -> Known:
    return Known(np.array(value is not None, dtype=object), dtypes.bool_)
