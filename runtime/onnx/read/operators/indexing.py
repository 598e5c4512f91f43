"""Reading and writing at indices, sorting, what is unique."""
from typing import Any

import numpy as np
import whet

from ....tensor import Tensor
from ...errors import OnnxError
from ..definition import Call, operator
from ..values import Ints, Known, Number, Value, as_array, as_tensor, from_array
from .shapes import is_array


def within(indices: Tensor, length: int) -> Tensor:
    """Indices where negative ones count from the end."""
    wide = indices.to(whet.int64)
    return whet.where(wide < 0, wide + length, wide)


def gather_known(data: Known, indices: Known, *, axis: int = 0) -> Known:
    """Gather of known numbers."""
    return Known(np.asarray(np.take(data.items, indices.items.astype(np.int64), axis),
                            dtype=object), data.type)


@operator("Gather", known=gather_known)
def gather(data: Value, indices: Value, *, axis: int = 0) -> Any:
    if is_array(data):
        return np.asarray(np.take(data, as_tensor(indices).numpy(), axis))
    x = as_tensor(data)
    axis = axis % x.ndim
    if isinstance(indices, Known) and indices.items.ndim == 0:
        return x.select(axis, int(indices.items[()]))
    at = within(as_tensor(indices), x.shape[axis])
    found = whet.index_select(x, axis, at.reshape(-1))
    return found.reshape(*x.shape[:axis], *at.shape, *x.shape[axis + 1:])


@operator("GatherElements")
def gather_elements(data: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
    return whet.gather(data, axis, within(indices, data.shape[axis]))


@operator("GatherND")
def gather_nd(data: Tensor, indices: Tensor, *, batch_dims: int = 0) -> Tensor:
    b, depth = batch_dims, indices.shape[-1]
    index: list[Any] = []
    for d in range(b):
        view = [1] * (indices.ndim - 1)
        view[d] = data.shape[d]
        index.append(whet.arange(data.shape[d]).reshape(view))
    index += [within(indices[..., i], data.shape[b + i]) for i in range(depth)]
    return data[tuple(index)]


def scattered(data: Tensor, axis: int, at: Tensor, updates: Tensor, reduction: str) -> Tensor:
    """The data with other elements at these places along an axis."""
    at = within(at, data.shape[axis])
    if reduction == "none":
        return data.scatter(axis, at, updates)
    kinds = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}
    if reduction not in kinds:
        raise OnnxError(f"there is no reduction {reduction!r}")
    return data.scatter_reduce(axis, at, updates, kinds[reduction], include_self=True)


@operator("ScatterElements")
def scatter_elements(data: Tensor, indices: Tensor, updates: Tensor, *, axis: int = 0,
                     reduction: str = "none") -> Tensor:
    return scattered(data, axis % data.ndim, indices, updates, reduction)


@operator("Scatter")
def scatter(data: Tensor, indices: Tensor, updates: Tensor, *, axis: int = 0) -> Tensor:
    return scattered(data, axis % data.ndim, indices, updates, "none")


@operator("ScatterND")
def scatter_nd(data: Tensor, indices: Tensor, updates: Tensor, *,
               reduction: str = "none") -> Tensor:
    depth = indices.shape[-1]
    index = tuple(within(indices[..., i], data.shape[i]) for i in range(depth))
    if reduction == "none":
        return data.index_put(index, updates)
    if reduction == "add":
        return data.index_put(index, updates, accumulate=True)
    flat_at = whet.zeros(indices.shape[:-1], dtype=whet.int64)
    for i, at in enumerate(index):
        flat_at = flat_at * data.shape[i] + at
    rest = data.shape[depth:]
    rows = data.reshape(-1, *rest)
    at = flat_at.reshape(-1, *[1] * len(rest)).expand(-1, *rest)
    return scattered(rows, 0, at, updates.reshape(-1, *rest), reduction).reshape(data.shape)


@operator("TensorScatter")
def tensor_scatter(past: Tensor, update: Tensor, write_indices: Tensor | None = None, *,
                   axis: int = -2, mode: str = "linear") -> Tensor:
    axis, batch, count = axis % past.ndim, past.shape[0], update.shape[axis]
    start = whet.zeros(batch, dtype=whet.int64) if write_indices is None else write_indices
    at = start.reshape(batch, 1) + whet.arange(count)
    if mode == "circular":
        at = whet.remainder(at, past.shape[axis])
    view = [1] * past.ndim
    view[0], view[axis] = batch, count
    return past.scatter(axis, at.reshape(view).expand(update.shape), update)


@operator("OneHot")
def one_hot(indices: Tensor, depth: Number, values: Value, *, axis: int = -1) -> Tensor:
    count, pair = int(depth), as_tensor(values)
    at = within(indices, count).unsqueeze(axis)
    view = [1] * at.ndim
    view[axis % at.ndim] = count
    return whet.where(whet.eq(at, whet.arange(count).reshape(view)), pair[1], pair[0])


@operator("Compress")
def compress(data: Value, condition: Tensor, *, axis: int | None = None) -> Any:
    if axis is None:
        data, axis = data.reshape(-1), 0
    if is_array(data):
        return np.compress(condition.numpy(), data, axis)
    places = whet.nonzero(condition.to(whet.bool)).reshape(-1)
    return whet.index_select(as_tensor(data), axis, places)


@operator("NonZero")
def nonzero(x: Tensor) -> Tensor:
    return whet.nonzero(x).t()


def highest(x: Tensor, k: int, axis: int, largest: int, sorted: int) -> tuple[Tensor, Tensor]:
    """The k largest or smallest along an axis; of equal ones the first."""
    values, places = whet.sort(x, dim=axis, descending=bool(largest), stable=True)
    return values.narrow(axis, 0, k), places.narrow(axis, 0, k)


@operator("TopK", since=10)
def top_k(x: Tensor, k: Ints, *, axis: int = -1, largest: int = 1,
          sorted: int = 1) -> tuple[Tensor, Tensor]:
    return highest(x, k[0], axis, largest, sorted)


@operator("TopK")
def top_k_1(x: Tensor, *, k: int, axis: int = -1) -> tuple[Tensor, Tensor]:
    return highest(x, k, axis, 1, 1)


@operator("Unique")
def unique(x: Value, *, axis: int | None = None, sorted: int = 1, call: Call) -> Any:
    array = as_array(x)
    if axis is None:
        array, axis = array.reshape(-1), 0
    found, first, inverse, counts = np.unique(
        array, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    inverse = inverse.reshape(-1)
    if not sorted:
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        found, first, counts = found.take(order, axis), first[order], counts[order]
        inverse = rank[inverse]
    return tuple(from_array(a) for a in (found, *(i.astype(np.int64)
                                                  for i in (first, inverse, counts))))


@operator("ReverseSequence")
def reverse_sequence(x: Tensor, lengths: Tensor, *, batch_axis: int = 1,
                     time_axis: int = 0) -> Tensor:
    moved = x if time_axis == 0 else x.transpose(0, 1)
    time = whet.arange(moved.shape[0]).reshape(-1, 1)
    each = lengths.to(whet.int64).reshape(1, -1)
    at = whet.where(time < each, each - 1 - time, time)
    at = at.reshape(*at.shape, *[1] * (x.ndim - 2)).expand(moved.shape)
    found = whet.gather(moved, 0, at)
    return found if time_axis == 0 else found.transpose(0, 1)
