"""Batches from samples."""
import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence

import numpy as np
import whet

from ...tensor import Tensor, wrap
from .worker_info import room_for

_UNFIT = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}")


def _like(original, items, changeable):
    """A container of the type of `original` with new items; a plain list or dict where that type
    cannot be made."""
    try:
        if isinstance(original, changeable):
            made = copy.copy(original)
            (made.update(items) if isinstance(original, Mapping) else made.__setitem__(
                slice(None), items))
            return made
        return type(original)(items)
    except TypeError:
        # no such constructor, or no such method
        return items


def default_convert(data):
    """NumPy arrays (also inside of containers) as tensors; everything else as it is.

    >>> import numpy as np
    >>> import whet
    >>> whet.utils.data.default_convert([np.ones(2), "text"])
    [tensor([1., 1.], dtype=whet.float64), 'text']
    """
    if isinstance(data, Tensor):
        return data
    if isinstance(data, np.ndarray | np.generic):
        return (data if data.dtype.kind in "SUOV" and data.dtype not in whet.dtypes.FROM_NUMPY else
                whet.as_tensor(data))
    if isinstance(data, Mapping):
        return _like(data, {k: default_convert(v) for k, v in data.items()}, MutableMapping)
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, tuple):
        return [default_convert(v) for v in data]
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _like(data, [default_convert(v) for v in data], MutableSequence)
    return data


def collate_tensor_fn(batch, *, collate_fn_map=None):
    first, out = batch[0], None
    if type(first) is Tensor and not any(t.requires_grad for t in batch):
        room = room_for((len(batch), *first.shape), first.dtype.np)
        out = None if room is None else wrap(room)
    return whet.stack(batch, 0, out=out)


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    if batch[0].dtype.kind in "SUO":
        raise TypeError(_UNFIT.format(batch[0].dtype))
    return collate([whet.as_tensor(b) for b in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    return whet.as_tensor(np.asarray(batch))


def collate_float_fn(batch, *, collate_fn_map=None):
    return whet.tensor(batch, dtype=whet.float64)


def collate_int_fn(batch, *, collate_fn_map=None):
    return whet.tensor(batch)


def collate_str_fn(batch, *, collate_fn_map=None):
    return batch


default_collate_fn_map = {
    Tensor: collate_tensor_fn, np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn, float: collate_float_fn,
    int: collate_int_fn, str: collate_str_fn, bytes: collate_str_fn}


def collate(batch, *, collate_fn_map=None):
    """Samples of one structure as one structure of batches; `collate_fn_map` says how by type."""
    first = batch[0]
    if collate_fn_map is not None:
        found = (collate_fn_map.get(type(first)) or next(
            (f for t, f in collate_fn_map.items() if isinstance(first, t)), None))
        if found is not None:
            return found(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        return _like(
            first,
            {k: collate([b[k] for b in batch], collate_fn_map=collate_fn_map) for k in first},
            MutableMapping)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(collate(column, collate_fn_map=collate_fn_map)
                             for column in zip(*batch)))
    if isinstance(first, Sequence):
        if any(len(b) != len(first) for b in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)]
        return columns if isinstance(first, tuple) else _like(first, columns, MutableSequence)
    raise TypeError(_UNFIT.format(type(first)))


def default_collate(batch):
    """Samples as a batch: tensors and arrays are stacked, numbers become tensors, containers are
    collated inside.

    >>> import whet
    >>> whet.utils.data.default_collate([{"x": 1.0, "name": "a"}, {"x": 2.0, "name": "b"}])
    {'x': tensor([1., 2.], dtype=whet.float64), 'name': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
