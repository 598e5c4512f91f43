"""tensor[index] and tensor[index] = value.

Whole numbers, slices, None and `...` give views. Tensors, arrays and lists of whole numbers or
truth values (masks) gather: the places they name are copied. Both kinds mix as in PyTorch: first
the view, then the gather from it.
"""
import builtins
import operator

import numpy as np

from .. import devices, dtypes, size_arguments
from ..autograd import inplace as ip
from ..autograd import modes
from ..dtypes import FLOAT, INT
from ..tensor import Tensor, wrap
from ..tensor_base import REQUIRES_GRAD
from .advanced_indexing import check_values, fits, index_op, put_in, put_op
from .argument_guards import guard
from .convert import copy_op
from .creation import literal
from .from_data import as_tensor, number, tensor
from .masks import masked_fill_
from .nonzero import in_one_dimension, places_of_true, selected
from .registry import apply, is_tensor, view_of
from .surface import METHODS, function, method
from .view_parts import slice_op

state, GRAD, INFERENCE, SPECIAL = modes.state, modes.GRAD, modes.INFERENCE, modes.SPECIAL


# ---- reading an index ----------------------------------------------------------------------------
_KINDS = (
    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
    "indices")


def _as_tuple(index):
    """The index as a tuple; a list that holds more than numbers counts as one."""
    if type(index) is tuple:
        return index
    if isinstance(index, tuple):
        return tuple(index)
    if type(index) is list and len(index) < 32 and any(
            is_tensor(i) or isinstance(i, list | tuple | np.ndarray | builtins.range
                                       | builtins.slice) or i is None or i is ... for i in index):
        return tuple(index)
    return (index,)


def _index_tensor(x):
    """An index tensor from a tensor, an array or nested lists: int64, or truth values."""
    if is_tensor(x):
        t = x
    else:
        t = as_tensor(x) if isinstance(x, np.ndarray) else tensor(x)
        if not t._array.size and not isinstance(x, np.ndarray):
            t = t.to(dtypes.int64)
        if isinstance(x, list | tuple) and t.dtype.category >= FLOAT:
            t = t.to(dtypes.int64)
    k = t.dtype.category
    if k >= FLOAT or (k == INT and t._array.ndim      # one number may be of any size
                      and t.dtype not in (dtypes.int64, dtypes.int32, dtypes.uint8)):
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return t


def _too_many(shape, index):
    """The error for an index that has more entries than the tensor has dimensions."""
    if not shape and len(index) == 1 and isinstance(index[0], int):
        return IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
            "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number")
    return IndexError(f"too many indices for tensor of dimension {len(shape)}")


def _check_mask(mask, shape, first):
    """Has a mask the sizes of a tensor's dimensions from `first` on?"""
    for d, n in enumerate(mask):
        if n != shape[first + d]:
            raise IndexError(
                f"The shape of the mask {list(mask)} at index {d} does not match the shape of the "
                f"indexed tensor {list(shape)} at index {first + d}")


class _Index:
    """What a user's index says: a basic index, then index tensors for some dimensions of the view
    that it gives.

    basic: one entry for each dimension in turn (see `slice_op`); whole: does that leave the tensor
    as it is?; at: index tensors by dimension of the view.
    """
    __slots__ = ("basic", "whole", "at")

    def __init__(self, shape, index):
        index = [
            i if i is None or i is ... or type(i) in (int, builtins.slice, bool) else
            _index_tensor(i) if is_tensor(i) else _entry(i) for i in _as_tuple(index)]
        used = 0
        for i in index:
            if i is not None and i is not ... and i is not True and i is not False:
                used += i._array.ndim if is_tensor(i) and _is_mask(i) else 1
        if used > len(shape):
            raise _too_many(shape, index)
        self.basic, self.at, self.whole = [], {}, True
        tensors = [i for i in index if is_tensor(i)]
        # numbers that differ for each example of a transform are gathered, to the same places
        apart = (any([i._stands_for_another for i in tensors])
                 and not any([i._array.ndim or _is_mask(i) for i in tensors]))
        source = out = 0
        seen = False
        for i in index:
            if i is None:
                self._entry(None)
                out += 1
            elif i is ...:
                n = 0 if seen else len(shape) - used
                seen = True
                self.basic += [(None, None, None)] * n
                source, out = source + n, out + n
            elif i is True or i is False:
                self._entry(None)
                self.at[out] = literal(np.asarray([i]))
                out += 1
            elif type(i) is builtins.slice:
                self._slice(i)
                source, out = source + 1, out + 1
            elif isinstance(i, int):
                self._number(i, shape[source])
                source += 1
            elif not i._array.ndim and not _is_mask(i) and not apart:
                self._number(_whole(i), shape[source])
                source += 1
            elif not i._array.ndim and not apart:
                self._entry(None)
                self.at[out] = literal(np.asarray([bool(i)]))
                out += 1
            else:
                n = i._array.ndim if _is_mask(i) else 1
                self.at[out] = i
                if _is_mask(i):
                    _check_mask(i._array.shape, shape, source)
                self.basic += [(None, None, None)] * n
                source, out = source + n, out + n

    def _entry(self, e):
        self.basic.append(e)
        self.whole = False

    def _slice(self, s):
        try:
            start, stop, step = [
                None if x is None else size_arguments.whole(x) for x in (s.start, s.stop, s.step)]
        except TypeError:
            raise TypeError(
                "slice indices must be integers or None or have an __index__ method") from None
        if step is None:
            step = 1
        elif step <= 0:
            raise ValueError("step must be greater than zero")
        if not start and stop is None and step == 1:
            self.basic.append((None, None, None))
        else:                # as it is said, so that it means the same of a tensor of another size
            self._entry((start, stop, step))

    def _number(self, i, n):
        if not -n <= i < n:
            raise IndexError(
                f"index {i} is out of bounds for dimension {len(self.basic)} with size {n}")
        self._entry(i)

    def view(self, t):
        """The basic part applied."""
        basic = self.basic
        while basic and basic[-1] == (None, None, None):
            basic.pop()
        return apply(slice_op, (t,), {"index": tuple(basic)})

    def places(self):
        """(dims, index tensors of one shape): masks as the places where they are true."""
        dims: list[int] = []
        index: list = []
        for d, t in sorted(self.at.items()):
            if _is_mask(t):
                parts = places_of_true(t)
                dims += range(d, d + len(parts))
                index += parts
            else:
                dims.append(d)
                index.append(t)
        try:
            shape = np.broadcast_shapes(*[i._array.shape for i in index])
        except ValueError:
            raise IndexError(
                "shape mismatch: indexing tensors could not be broadcast together with shapes "
                f"{', '.join(str(list(i._array.shape)) for i in index)}") from None
        return tuple(dims), [i if i._array.shape == shape else i.expand(shape) for i in index]


def _is_mask(t):
    return t._array.dtype == np.bool_ or t._array.dtype == np.uint8


def _entry(x):
    """An index that is not of the usual types."""
    if isinstance(x, np.bool_):
        return bool(x)
    if (isinstance(x, list | tuple | range | np.ndarray)
            or hasattr(x, "__array__") and not (hasattr(x, "__index__") or isinstance(x, float))):
        return _index_tensor(x)
    if isinstance(x, str):
        raise TypeError(f"new(): invalid data type '{x.__class__.__name__}'")
    try:
        return size_arguments.whole(x)
    except TypeError:
        raise IndexError(f"{_KINDS} (got {x.__class__.__name__})") from None


_ALL = builtins.slice(None)
# attributes for so many first dimensions: machine code knows them soonest by the same object
_FIRST = [{"dims": tuple(range(n))} for n in range(65)]
_PLAIN = {int, builtins.slice, type(None), type(...)}


def _plain(index):
    """NumPy's form of an index of whole numbers, None, `...` and slices without a step; None for
    any other."""
    kind = type(index)
    if kind is int:
        return index, ...
    if kind is tuple:
        for i in index:
            k = type(i)
            if k not in _PLAIN or k is builtins.slice and i.step is not None:
                return None
        return index if ... in index else (*index, ...)
    return (index if kind is builtins.slice and index.step is None or index is ... or index is None
            else None)


def _places_alone(index, ndim):
    """Is an index nothing but tensors of whole numbers, all of one shape, for the first
    dimensions?"""
    if type(index) is not tuple or not 1 < len(index) <= ndim:
        return False
    shape = index[0]._array.shape if type(index[0]) is Tensor else ()
    return bool(shape) and all([
        type(i) is Tensor and i._array.shape == shape and i._array.dtype == np.int64
        for i in index])


def __getitem__(self, index):
    """A part of the tensor: see `whet.ops.index`."""
    flags = state.flags
    if (not flags & SPECIAL
            and not (flags & GRAD and
                     (self._rg & REQUIRES_GRAD or self._base is not None and self.requires_grad))):
        try:
            plain = _plain(index)
            if plain is not None:
                return view_of(self, self._array[plain])
            if (type(index) is Tensor and index._array.dtype == np.bool_ and index._array.ndim
                    and index._array.shape == self._array.shape
                    and not flags & INFERENCE
                    and type(self._array) is type(index._array) is np.ndarray):
                return wrap(selected(self._array, index._array))
        except (IndexError, TypeError):
            # said again below, in this library's words
            pass
    if (type(index) is Tensor and index._array.ndim and index._array.dtype == np.int64
            and self._array.ndim):
        return apply(index_op, (self, *_beside(self, [index])), _FIRST[1])
    if _places_alone(index, self._array.ndim):
        return apply(index_op, (self, *_beside(self, index)), _FIRST[len(index)])
    if (type(index) is Tensor and index._array.dtype == np.bool_ and (n := index._array.ndim)
            and index._array.shape == self._array.shape[:n]):
        return _chosen(self, index)
    return _part(self, index)


def _chosen(t, mask):
    """The elements, or slices, where a mask of the first dimensions is true."""
    if mask._array.ndim > 1:
        t, mask = in_one_dimension(t, mask, 0)
    places = places_of_true(mask)
    return apply(index_op, (t, *_beside(t, places)), _FIRST[len(places)])


@guard
def _part(self, index):
    """A part by an index of any kind."""
    found = _Index(self._array.shape, index)
    if not found.at:
        return found.view(self)
    t = self if found.whole else found.view(self)
    if len(found.at) == 1:
        (d, mask), = found.at.items()
        if _is_mask(mask) and mask._array.ndim > 1:
            t, found.at[d] = in_one_dimension(t, mask, d)
    dims, places = found.places()
    return apply(index_op, (t, *_beside(t, places)), {"dims": dims})


def _beside(t, places):
    """Index tensors on the device of what they index, where they may lie on the CPU."""
    if devices.beyond is None or all([type(x._array) is np.ndarray for x in (t, *places)]):
        return places
    if any([i.device != t.device and not i.is_cpu for i in places]):
        raise RuntimeError("indices should be either on cpu or on the same device as the indexed "
                           f"tensor ({t.device})")
    return [i.to(t.device) for i in places]


METHODS["__getitem__"] = __getitem__


def _whole(self):
    """A tensor of one whole number as a size or a part of an index. During a recorded run this is
    an int that knows where it comes from, so that replays go by other numbers, too."""
    if self._array.size != 1 or self.dtype.category != INT:
        return operator.index(self)
    return size_arguments.whole(self.item())


METHODS["__whet_whole__"] = _whole


# ---- assignment ----------------------------------------------------------------------------------
def _as_value(t, value):
    if is_tensor(value):
        return value
    if isinstance(value, bool | int | float | complex | np.generic):
        return number(value if not isinstance(value, np.generic) else value.item(), t.dtype)
    if isinstance(value, np.ndarray) or hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        return as_tensor(value)
    raise TypeError(f"can't assign a {value.__class__.__name__} to a whet.{t.dtype.letter}Tensor")


def _write_at_once(t, index, value):
    """t[index] = value, where nothing is recorded, and it is soon said what it writes. Was it
    done?"""
    a, plain, src = t._array, _plain(index), value
    if plain is None:
        return False
    if not fits(value, a):
        value = _as_value(t, value)
        src = value._array
        if src.dtype != a.dtype or state.flags & GRAD and value.requires_grad:
            return False
    try:
        part = a[plain]
    except (IndexError, TypeError):
        return False                         # said again in this library's words
    bare = src is value
    if not bare:
        src = _fitted_part(part, src)
    ip.check_writable(t, "copy_", part)
    if bare:
        part[...] = value
    else:
        copy_op.write(part, src)
    t._bump("copy_")
    return True


def __setitem__(self, index, value):
    """Write to a part of the tensor."""
    if not (ip.writes_at_once(self) and _write_at_once(self, index, value)):
        _put_in_part(self, index, value)


def __delitem__(self, index):
    """Refused: a tensor has its size, and an index gives what is left."""
    raise TypeError("Tensor does not support deleting items")


@guard
def _put_in_part(self, index, value):
    """Write to the part of a tensor that an index of any kind names, with a record where one is
    wanted."""
    value = _as_value(self, value)
    found = _Index(self._array.shape, index)
    t = self if found.whole else found.view(self)
    if not found.at:
        src = value
        while src._array.ndim > t._array.ndim and src._array.shape[0] == 1:
            src = src[0]
        _check_expands(src._array.shape, t._array.shape)
        if found.whole:
            t = found.view(self)
        t.copy_(src)
        return
    if len(found.at) == 1 and not value._array.ndim and not value.requires_grad:
        (d, mask), = found.at.items()
        m, shape = mask._array, t._array.shape
        if m.dtype == np.bool_ and m.ndim and m.shape == shape[d:d + m.ndim]:
            after = len(shape) - d - m.ndim
            masked_fill_(t,
                         mask.reshape(m.shape + (1,) * after) if after else mask,
                         value if value.dtype is t.dtype else value.to(t.dtype))
            return
    dims, places = found.places()
    if value.dtype is not t.dtype:
        value = value.to(t.dtype)
    put_in(t, _beside(t, places), dims, value, False)


def _check_expands(have, want):
    for k in range(1, len(have) + 1):
        n = want[-k] if k <= len(want) else None
        if n is None or have[-k] != n and have[-k] != 1:
            if n is None:
                raise RuntimeError(
                    f"The number of sizes of the source ({len(have)}) is larger than that of the "
                    f"part it is assigned to ({len(want)}).  Target sizes: {list(want)}.  Tensor "
                    f"sizes: {list(have)}")
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({have[-k]}) "
                f"at non-singleton dimension {len(want) - k}.  Target sizes: {list(want)}.  "
                f"Tensor sizes: {list(have)}")


def _fitted_part(part, src):
    """What is written to a part, which it fits."""
    while src.ndim > part.ndim and src.shape[0] == 1:
        src = src[0]
    if src.shape != part.shape:
        _check_expands(src.shape, part.shape)
    return src


METHODS["__setitem__"], METHODS["__delitem__"] = __setitem__, __delitem__


def _put_arguments(t, indices, values):
    if not isinstance(indices, tuple | list):
        raise TypeError(
            "index_put_(): argument 'indices' (position 1) must be tuple of Tensors, not "
            f"{indices.__class__.__name__}")
    if len(indices) > t._array.ndim:
        raise IndexError(
            f"too many indices for tensor of dimension {t._array.ndim} (got {len(indices)})")
    if not is_tensor(values):
        values = number(values, t.dtype)
    if values.dtype is not t.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {t.dtype.letter} "
            f"for the destination and {values.dtype.letter} for the source.")
    if all(i is None for i in indices):
        raise IndexError("index_put_(): argument 'indices' must have a tensor for some dimension; "
                         "copy_() and add_() write to all of a tensor")
    found = _Index(
        t._array.shape,
        tuple([_ALL if i is None else i if i._array.ndim else i.reshape(1) for i in indices]))
    return (*found.places(), values)


@method()
def index_put_(self, indices, values, accumulate=False):
    """Write `values` at the index tensors (or add them, in index order).

    >>> import whet
    >>> whet.zeros(3).index_put_((whet.tensor([0, 0]),), whet.ones(2), accumulate=True)
    tensor([2., 0., 0.])
    """
    dims, places, values = _put_arguments(self, indices, values)
    return put_in(self, places, dims, values, accumulate)


@function()
def index_put(input, indices, values, accumulate=False):
    """A copy of `input` with `values` at the index tensors (or added there, in index order).

    >>> import whet
    >>> whet.index_put(whet.zeros(3), (whet.tensor([0, 2]),), whet.tensor([1., 2.]))
    tensor([1., 0., 2.])
    """
    dims, places, values = _put_arguments(input, indices, values)
    check_values(input, places, dims, values)
    return apply(put_op, (input, values, *places), {"dims": dims, "accumulate": accumulate})
