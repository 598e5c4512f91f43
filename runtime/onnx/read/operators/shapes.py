"""Shapes: asking for them, changing them, joining and cutting tensors."""
import math
from typing import Any

import numpy as np
import whet
import whet.nn.functional as F

from .... import dtypes
from ....tensor import Tensor
from ...errors import OnnxError
from ..definition import Call, operator
from ..values import (
    Ints,
    Known,
    KnownNumbers,
    Value,
    as_array,
    as_numbers,
    as_tensor,
    shape_of,
)
from .casts import cast_to


def is_array(value: Any) -> bool:
    """Is it an array of what whet has no type for? NumPy moves its elements then."""
    return isinstance(value, np.ndarray)


def ints(value: Known) -> list[int]:
    """A flat list of known integers."""
    return list(value.items.reshape(-1).tolist())


@operator("Shape", since=15)
def shape(data: Value, *, start: int = 0, end: int | None = None) -> Known:
    return Known(list(shape_of(data))[start:end])


@operator("Shape")
def shape_1(data: Value) -> Known:
    return shape(data)


@operator("Size")
def size(data: Value) -> Known:
    return Known(np.array(math.prod(shape_of(data)), dtype=object))


def reshaped(data: Any, sizes: list[int], keep_zeros: bool) -> Any:
    """The data in another shape, where 0 is a size as it was, unless zeros are kept."""
    own = shape_of(data)
    for i, n in enumerate(sizes):
        if n == 0 and not keep_zeros:
            if i >= len(own):
                raise OnnxError(f"shape {sizes}: there is no dimension {i} in {list(own)}")
            sizes = [*sizes[:i], own[i], *sizes[i + 1:]]
    if isinstance(data, Known):
        return Known(data.items.reshape(sizes), data.type)
    return data.reshape(sizes) if is_array(data) else as_tensor(data).reshape(sizes)


@operator("Reshape", since=5)
def reshape(data: Value, shape: Ints, *, allowzero: int = 0) -> Any:
    return reshaped(data, shape, bool(allowzero))


@operator("Reshape")
def reshape_1(data: Value, *, shape: list[int]) -> Any:
    return reshaped(data, shape, keep_zeros=False)


@operator("Flatten")
def flatten(data: Tensor, *, axis: int = 1) -> Tensor:
    axis = axis + data.ndim if axis < 0 else axis
    return data.reshape(math.prod(data.shape[:axis]), math.prod(data.shape[axis:]))


def squeezed(data: Any, axes: list[int] | None) -> Any:
    """The data without these dimensions of size 1, or without all."""
    sizes = shape_of(data)
    gone = {i for i, n in enumerate(sizes) if n == 1} if axes is None else \
        {a % len(sizes) for a in axes}
    if any(sizes[i] != 1 for i in gone):
        raise OnnxError(f"axes {axes} are not all of size 1 in {list(sizes)}")
    return reshaped(data, [n for i, n in enumerate(sizes) if i not in gone], keep_zeros=True)


def unsqueezed(data: Any, axes: list[int]) -> Any:
    """The data with dimensions of size 1 at these places of the result."""
    sizes = list(shape_of(data))
    rank = len(sizes) + len(axes)
    places = {a % rank for a in axes}
    if len(places) < len(axes):
        raise OnnxError(f"axes {axes} name a dimension twice")
    rest = iter(sizes)
    return reshaped(data, [1 if i in places else next(rest) for i in range(rank)], keep_zeros=True)


@operator("Squeeze", since=13)
def squeeze(data: Value, axes: Ints | None = None) -> Any:
    return squeezed(data, axes)


@operator("Squeeze")
def squeeze_1(data: Value, *, axes: list[int] | None = None) -> Any:
    return squeezed(data, axes)


@operator("Unsqueeze", since=13)
def unsqueeze(data: Value, axes: Ints) -> Any:
    return unsqueezed(data, axes)


@operator("Unsqueeze")
def unsqueeze_1(data: Value, *, axes: list[int]) -> Any:
    return unsqueezed(data, axes)


@operator("Transpose")
def transpose(data: Value, *, perm: list[int] | None = None) -> Any:
    order = perm if perm is not None else list(range(len(shape_of(data))))[::-1]
    return np.transpose(data, order) if is_array(data) else as_tensor(data).permute(order)


@operator("Expand")
def expand(data: Value, shape: Ints) -> Any:
    sizes = whet.broadcast_shapes(shape_of(data), tuple(shape))
    return np.broadcast_to(data, sizes) if is_array(data) else as_tensor(data).expand(sizes)


@operator("Tile", since=6)
def tile(data: Value, repeats: Ints) -> Any:
    return np.tile(data, repeats) if is_array(data) else as_tensor(data).repeat(repeats)


@operator("Tile")
def tile_1(data: Tensor, tiles: Ints, axis: Ints) -> Tensor:
    counts = [1] * data.ndim
    counts[int(axis[0])] = int(tiles[0])
    return data.repeat(counts)


def joined(values: list[Any], axis: int) -> Any:
    """The values one after another along an axis."""
    if any(map(is_array, values)):
        return np.concatenate([as_array(v) for v in values], axis)
    return whet.cat([as_tensor(v) for v in values], axis)


def joined_known(*values: Known, axis: int = 1) -> Known:
    """Known numbers one after another along an axis."""
    return Known(np.concatenate([v.items for v in values], axis), values[0].type)


@operator("Concat", since=4, known=joined_known)
def concat(*data: Value, axis: int) -> Any:
    return joined(list(data), axis)


@operator("Concat", known=joined_known)
def concat_1(*data: Value, axis: int = 1) -> Any:
    return joined(list(data), axis)


def parts(data: Any, sizes: list[int], axis: int) -> tuple[Any, ...]:
    """The data cut along an axis into parts of these sizes."""
    if isinstance(data, Known):
        ends = np.cumsum(np.array(sizes))[:-1]
        return tuple(Known(p, data.type) for p in np.split(data.items, ends, axis))
    if is_array(data):
        return tuple(np.split(data, np.cumsum(sizes)[:-1], axis))
    tensor = as_tensor(data)
    if sum(sizes) != tensor.shape[axis]:
        raise OnnxError(f"parts of sizes {sizes} do not make {tensor.shape[axis]}")
    return tuple(whet.split(tensor, sizes, axis))


def equal_sizes(length: int, count: int) -> list[int]:
    """Sizes of parts that are as equal as can be: the last one may be less."""
    step = -(-length // count)
    return [min(step, length - i * step) for i in range(count)]


@operator("Split", since=13)
def split(data: Value, split: Ints | None = None, *, axis: int = 0,
          num_outputs: int | None = None, call: Call) -> Any:
    sizes = split or equal_sizes(shape_of(data)[axis], num_outputs or len(call.outputs))
    return parts(data, sizes, axis)


@operator("Split", since=2)
def split_2(data: Value, *, axis: int = 0, split: list[int] | None = None, call: Call) -> Any:
    return parts(data, split or equal_sizes(shape_of(data)[axis], len(call.outputs)), axis)


@operator("Split")
def split_1(data: Value, sizes: Ints | None = None, *, axis: int = 0,
            split: list[int] | None = None, call: Call) -> Any:
    return split_2(data, axis=axis, split=sizes or split, call=call)


def ends_of(length: int, start: int, end: int, step: int) -> slice:
    """The slice of ONNX's start, end and step along a dimension."""
    if step > 0:
        first, last = (min(max(i + length if i < 0 else i, 0), length) for i in (start, end))
        return slice(first, last, step)
    first = min(max(start + length if start < 0 else start, 0), length - 1)
    last = min(max(end + length if end < 0 else end, -1), length - 1)
    return slice(first, None if last < 0 else last, step)


def cut(data: Any, starts: list[int], ends: list[int], axes: list[int] | None,
        steps: list[int] | None) -> Any:
    """A slice of the data."""
    sizes = shape_of(data)
    index = [slice(None)] * len(sizes)
    for axis, start, end, step in zip(axes or range(len(starts)), starts, ends,
                                      steps or [1] * len(starts)):
        index[axis] = ends_of(sizes[axis], start, end, step)
    if isinstance(data, Known):
        return Known(data.items[tuple(index)], data.type)
    if is_array(data):
        return data[tuple(index)]
    data = as_tensor(data)
    for axis, part in enumerate(index):
        if part.step is not None and part.step < 0:
            places = whet.tensor(range(sizes[axis])[part], dtype=whet.int64)
            data, index[axis] = whet.index_select(data, axis, places), slice(None)
    return data[tuple(index)]


@operator("Slice", since=10)
def slice_10(data: Value, starts: Ints, ends: Ints, axes: Ints | None = None,
             steps: Ints | None = None) -> Any:
    return cut(data, starts, ends, axes, steps)


@operator("Slice")
def slice_1(data: Value, *, starts: list[int], ends: list[int],
            axes: list[int] | None = None) -> Any:
    return cut(data, starts, ends, axes, None)


def padded(data: Tensor, before_after: list[int], mode: str, value: Any) -> Tensor:
    """The data with its edges moved outwards, or inwards where a number is negative."""
    rank = data.ndim
    pairs = list(zip(before_after[:rank], before_after[rank:]))
    if mode == "constant":
        flat = [n for pair in reversed(pairs) for n in pair]
        return F.pad(data, flat, value=value)
    for axis, (before, after) in enumerate(pairs):
        length = data.shape[axis]
        if before or after:
            places = np.pad(np.arange(length), (max(before, 0), max(after, 0)), _MODES[mode])
            places = places[max(-before, 0):len(places) - max(-after, 0)]
            data = whet.index_select(data, axis, whet.tensor(places))
    return data


_MODES: dict[str, Any] = {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}


@operator("Pad", since=11)
def pad(data: Tensor, pads: Ints, value: Value = None, axes: Ints | None = None, *,
        mode: str = "constant") -> Tensor:
    rank = data.ndim
    if axes is not None:
        full, count = [0] * (2 * rank), len(axes)
        for i, axis in enumerate(axes):
            full[axis % rank], full[axis % rank + rank] = pads[i], pads[i + count]
        pads = full
    return padded(data, pads, mode, 0 if value is None else as_numbers(value)[0])


@operator("Pad", since=2)
def pad_2(data: Tensor, *, pads: list[int], mode: str = "constant", value: float = 0.0) -> Tensor:
    return padded(data, pads, mode, value)


@operator("Pad")
def pad_1(data: Tensor, *, paddings: list[int], mode: str = "constant",
          value: float = 0.0) -> Tensor:
    return padded(data, paddings, mode, value)


@operator("ConstantOfShape")
def constant_of_shape(shape: Ints, *, value: Value = None) -> Any:
    if value is None:
        return whet.zeros(shape)
    if is_array(value):
        return np.broadcast_to(value.reshape(()), shape).copy()
    if isinstance(value, Known) and len(shape) < 2 and math.prod(shape) <= 64:
        return Known(np.full(shape, value.items.reshape(-1)[0], dtype=object), value.type)
    return whet.full(shape, as_numbers(value)[0], dtype=as_tensor(value).dtype)


def known_range(start: Known, limit: Known, delta: Known, *, stash_type: int = 1) -> Any:
    """The numbers of a range, which are known where they are few."""
    first, last, step = (v.items.reshape(-1)[0] for v in (start, limit, delta))
    if start.type.is_floating_point or abs(last - first) > 64 * abs(step):
        return whet.arange(first, last, step, dtype=start.type)
    return Known(list(range(first, last, step)), start.type)


@operator("Range", known=known_range)
def range_(start: KnownNumbers, limit: KnownNumbers, delta: KnownNumbers, *,
           stash_type: int = 1) -> Any:
    if start.type in (dtypes.float16, dtypes.bfloat16):
        wide = [Known(v.items, dtypes.float32) for v in (start, limit, delta)]
        return as_tensor(known_range(*wide)).to(start.type)
    return as_tensor(known_range(start, limit, delta))


@operator("EyeLike")
def eye_like(data: Tensor, *, dtype: int | None = None, k: int = 0) -> Any:
    rows, columns = data.shape
    at = whet.arange(columns).unsqueeze(0) - whet.arange(rows).unsqueeze(1)
    return cast_to(whet.eq(at, k), dtype) if dtype else whet.eq(at, k).to(data.dtype)


@operator("Trilu")
def trilu(data: Tensor, k: Ints | None = None, *, upper: int = 1) -> Tensor:
    at = k[0] if k else 0
    return whet.triu(data, at) if upper else whet.tril(data, at)


@operator("DepthToSpace")
def depth_to_space(data: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    n, c, h, w = data.shape
    b, depth = blocksize, c // blocksize**2
    if mode == "DCR":
        found = data.reshape(n, b, b, depth, h, w).permute(0, 3, 4, 1, 5, 2)
    else:
        found = data.reshape(n, depth, b, b, h, w).permute(0, 1, 4, 2, 5, 3)
    return found.reshape(n, depth, h * b, w * b)


@operator("SpaceToDepth")
def space_to_depth(data: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    n, c, h, w = data.shape
    b = blocksize
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    found = data.reshape(n, c, h // b, b, w // b, b).permute(order)
    return found.reshape(n, c * b * b, h // b, w // b)


@operator("CenterCropPad")
def center_crop_pad(data: Tensor, shape: Ints, *, axes: list[int] | None = None) -> Tensor:
    for axis, target in zip(axes or range(data.ndim), shape):
        length = data.shape[axis]
        if target < length:
            data = data.narrow(axis, (length - target) // 2, target)
        elif target > length:
            pads = [0] * (2 * data.ndim)
            before = (target - length) // 2
            at = axis % data.ndim
            pads[at], pads[at + data.ndim] = before, target - length - before
            data = padded(data, pads, "constant", 0)
    return data
