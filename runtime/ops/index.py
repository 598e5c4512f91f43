"""tensor[index] and tensor[index] = value.

Whole numbers, slices, None and `...` give views. Tensors, arrays and lists of whole numbers or truth values (masks) gather: the
places they name are copied. Both kinds mix as in PyTorch: first the view, then the gather from it.
"""
import builtins
import operator

import numpy as np

from .. import dtypes, indexing
from ..autograd import inplace as ip
from ..autograd import modes
from ..cpu import entries, memory
from ..cpu import take as picks
from ..cpu.pointwise import Pointwise
from ..dtypes import FLOAT, INT
from ..tensor import Tensor, wrap
from .batching import aligned, by_rows, repeated
from .convert import copy_op
from .creation import as_tensor, cast_number, empty_array, literal, number, scalar_tensor, tensor
from .pointwise_family import inplace
from .registry import Op, apply, is_tensor, view_of
from .samples import Sample
from .surface import METHODS, function, method
from .view import slice_op

state, GRAD, INFERENCE, SPECIAL = modes.state, modes.GRAD, modes.INFERENCE, modes.SPECIAL


# ---- places, checked -------------------------------------------------------------------------------------------------
def in_bounds(index, n, dim, *, negative=True, error=IndexError):
    """An index array as non-negative int64 places of a dimension of size n; raises if one lies outside."""
    i = index if index.dtype == np.int64 else index.astype(np.int64)
    if not i.size:
        return i
    if i.view(np.uint64).max() < n:                       # negative numbers are huge ones here: one pass checks both ends
        return i
    low, high = int(i.min()), int(i.max())
    if high >= n or low < (-n if negative else 0):
        bad = high if high >= n else low
        raise error(f"index {bad} is out of bounds for dimension {dim} with size {n}" if n or not negative else
                    "index is out of bounds for dimension with size 0")
    return np.where(i < 0, i + n, i)


# ---- gathering by index tensors --------------------------------------------------------------------------------------
def _key(shape, index, dims):
    """NumPy's index for index arrays at some dimensions, checked."""
    key = [builtins.slice(None)] * (dims[-1] + 1)
    for i, d in zip(index, dims):
        key[d] = in_bounds(i, shape[d], d)
    return tuple(key)


def _gathered(a, *index, dims):
    if len(dims) == 1 and picks.fits(a, index[0]):
        i, d = index[0], dims[0]
        out, fine = picks.rows(a, i.reshape(-1), d, wrap=True)
        if fine:
            return out.reshape((*a.shape[:d], *i.shape, *a.shape[d + 1:]))
    key = _key(a.shape, index, dims)
    if len(dims) == 1:
        i, d = key[-1], dims[0]
        if not a.shape[d]:
            return np.empty((*a.shape[:d], *i.shape, *a.shape[d + 1:]), a.dtype)
        out = empty_array((*a.shape[:d], *i.shape, *a.shape[d + 1:]), a.dtype)
        return a.take(i, d, out=out, mode="clip")
    return np.ascontiguousarray(a[key])


def scatter_rows(out, places, rows):
    """out[places[k]] += rows[k], in the order of k; both are 2-d, `out` is row-major. Half types are summed in float32."""
    if not rows.size:
        return out
    if out.dtype.itemsize == 2 and dtypes.FROM_NUMPY[out.dtype].kind == FLOAT:
        out[...] = scatter_rows(out.astype(np.float32), places, rows.astype(np.float32)).astype(out.dtype)
        return out
    n = out.shape[1]
    if n != 1:
        places = (places[:, None] * n + np.arange(n)).reshape(-1)
    (np.logical_or if out.dtype == np.bool_ else np.add).at(out.reshape(-1), places, rows.reshape(-1))
    return out


def add_at(out, index, values, dims):
    """out[index] += values, in index order, where `index` are arrays for the dimensions `dims` (int64, checked)."""
    rest = [d for d in range(out.ndim) if d not in dims]
    shape = np.broadcast_shapes(*[i.shape for i in index])
    place, n = np.zeros(shape, np.int64), 1
    for i, d in zip(reversed(index), reversed(dims)):
        place = place + i * n
        n *= out.shape[d]
    adjacent = dims[-1] - dims[0] == len(dims) - 1
    at = dims[0] if adjacent else 0
    moved = np.moveaxis(values, range(at, at + len(shape)), range(len(shape)))
    inner = int(np.prod([out.shape[d] for d in rest], dtype=np.int64))
    rows = np.ascontiguousarray(moved).reshape(place.size, inner)
    order = (*dims, *rest)
    flat = np.ascontiguousarray(out.transpose(order)).reshape(n, inner)
    same = np.may_share_memory(flat, out)
    scatter_rows(flat, place.reshape(-1), rows)
    if not same:
        out.transpose(order)[...] = flat.reshape([out.shape[d] for d in order])
    return out


def _put_slices(out, values, *index, dims, accumulate):
    """Write or add slices by an index of one dimension, or of several that lie as one, with a kernel."""
    d, end = dims[0], dims[0] + len(dims)
    shape = index[0].shape if len(dims) == 1 else np.broadcast_shapes(*[i.shape for i in index])
    if dims[-1] != end - 1 or values.shape != _result_shape(out.shape, shape, dims) or not values.flags.c_contiguous:
        return False
    rest, wrap = (out.shape[:d], out.shape[end:]), len(dims) == 1
    if wrap:
        at, = index
    elif out.flags.c_contiguous and out.size and values.size and all(i.dtype == np.int64 for i in index):
        at = _one_index(index, shape, out.shape[d:end])
        out = out.reshape(*rest[0], -1, *rest[1])
    else:
        return False
    return at.flags.c_contiguous and picks.put(out, at.reshape(-1), values.reshape(*rest[0], at.size, *rest[1]), d, accumulate, wrap=wrap)


def _one_index(index, shape, sizes):
    """Places along several dimensions taken as one; -1 where one of them has no such place."""
    k = len(index)
    if k not in _one_places:
        from ..ir import scalar as s
        xs = s.args(2 * k)
        _one_places[k] = Pointwise("one_place", (s.one_place(xs[:k], xs[k:]),), 2 * k)
    at = memory.empty(shape, np.dtype(np.int64))
    entries.scratch(at, at.nbytes)
    _one_places[k]([*index, *[np.array([n], np.int64) for n in sizes]], [at])
    return at


_one_places: dict = {}


def _sum_at(g, *index, size, dims):
    out = np.zeros(size, g.dtype)
    if _put_slices(out, g, *index, dims=dims, accumulate=True):
        return out
    return add_at(out, [in_bounds(i, size[d], d) for i, d in zip(index, dims)], g, dims)


class _Places:
    """Places named by index tensors of examples, as places in the whole batch: `index` for `dims` of what has the batch dimension in front.

    `moved` puts a result of such an index, which has the batch dimension in front too, in the order that the op has it in; `back` undoes it.
    """

    def __init__(self, n, index, batched, dims):
        adjacent = dims[-1] - dims[0] == len(dims) - 1
        depth = max([i._array.ndim - b for i, b in zip(index, batched)])
        self.index, self.dims = index, tuple([d + 1 for d in dims])
        self.source, self.target = (), ()
        if any(batched):
            along = literal(np.arange(n)).reshape((n, *[1] * depth)).expand((n, *_one_shape(index, batched)))
            self.index = [along, *[i if b else repeated(i, n) for i, b in zip(index, batched)]]
            self.dims = (0, *self.dims)
            if adjacent and dims[0]:
                self.source, self.target = range(1 + dims[0], 1 + dims[0] + depth), range(1, 1 + depth)
        elif not adjacent:
            self.source, self.target = (0,), (depth,)

    def moved(self, x):
        return x.movedim(tuple(self.source), tuple(self.target)) if self.source else x

    def back(self, x):
        return x.movedim(tuple(self.target), tuple(self.source)) if self.source else x


def _one_shape(index, batched):
    return next(i._array.shape[1:] if b else i._array.shape for i, b in zip(index, batched))


def _index_each(op, n, inputs, batched, attrs):
    x, *index = inputs
    at = _Places(n, index, batched[1:], attrs["dims"])
    return at.back(apply(op, (x if batched[0] else repeated(x, n), *at.index), {"dims": at.dims}))


def _index_sum_each(op, n, inputs, batched, attrs):
    g, *index = inputs
    at = _Places(n, index, batched[1:], attrs["dims"])
    return apply(op, (at.moved(g if batched[0] else repeated(g, n)), *at.index), {"size": (n, *attrs["size"]), "dims": at.dims})


def _put_each(op, n, inputs, batched, attrs):
    x, values, *index = inputs
    at = _Places(n, index, batched[2:], attrs["dims"])
    x = x if batched[0] else repeated(x, n)
    shape = _result_shape(x._array.shape[1:], _one_shape(index, batched[2:]), attrs["dims"])
    values = aligned(values, len(shape)) if batched[1] else values
    values = at.moved(values.expand((n, *shape)))
    return apply(op, (x, values, *at.index), {**attrs, "dims": at.dims})


def _index_vjp(g, _y, _x, *index, dims):
    return [apply(index_sum_op, (g, *index), {"size": tuple(_x.shape), "dims": dims}), *[None] * len(index)]


def _index_sum_vjp(g, _y, _g, *index, size, dims):
    return [apply(index_op, (g, *index), {"dims": dims}), *[None] * len(index)]


def _i(*values):
    return tensor(list(values), dtype=dtypes.int64)


_advanced = [((3, 2), [[0, -1, 0]], (0,)), ((2, 3), [[[0, 1], [2, 2]]], (1,)), ((3, 4), [[0, 1, 0], [3, 3, 0]], (0, 1)),
             ((2, 3, 4), [[0, 1], [1, -1]], (0, 2)), ((3,), [[]], (0,)), ((4,), [2], (0,))]


def _gather_samples(make):
    for shape, index, at in _advanced:
        yield Sample(make(*shape), *[tensor(i, dtype=dtypes.int64) for i in index], dims=at)


def _sum_samples(make):
    for shape, index, at in _advanced:
        i = [np.array(k, np.int64) for k in index]
        yield Sample(make(*_gathered(np.empty(shape), *i, dims=at).shape), *map(wrap, i), size=shape, dims=at)


index_op = Op("index", _gathered, _index_vjp, samples=_gather_samples, linear=(0,), batch=_index_each)
index_op.doc = "Elements at index tensors of one shape, one for each of the dimensions `dims`."
index_sum_op = Op("index_sum", _sum_at, _index_sum_vjp, samples=_sum_samples, linear=(0,), batch=_index_sum_each)
index_sum_op.moves = lambda out, g, *index, size, dims: [(out, 0)]
index_sum_op.put = lambda out, g, *index, size, dims: _put_slices(out, g, *index, dims=dims, accumulate=True)
index_op.memo = True
index_op.picks = lambda a, *index, dims: (dims[0], False, True) if dims[-1] - dims[0] == len(dims) - 1 else None
index_op.saves = index_sum_op.saves = frozenset(range(1, 65))            # the index tensors only


# ---- writing at index tensors ----------------------------------------------------------------------------------------
class _PutOp(Op):
    """self[index] = values, or += values in index order."""

    def forward(self, a, values, *index, dims, accumulate):
        r = np.array(a, order="C")
        self.write(r, values, *index, dims=dims, accumulate=accumulate)
        return r

    put = staticmethod(_put_slices)

    @staticmethod
    def write(a, values, *index, dims, accumulate):
        """The in-place form: into `a` itself."""
        if _put_slices(a, values, *index, dims=dims, accumulate=accumulate):
            return a
        key = _key(a.shape, index, dims)
        shape = _result_shape(a.shape, np.broadcast_shapes(*[i.shape for i in index]), dims)
        if values.shape != shape:
            values = _fitted(values, shape)
        if accumulate:
            add_at(a, [key[d] for d in dims], values, dims)
        else:
            if np.may_share_memory(a, values):
                values = values.copy()
            a[key] = values
        return a


def _fitted(values, shape):
    while values.ndim > len(shape) and values.shape[0] == 1:
        values = values[0]
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise RuntimeError(f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of "
                           f"shape {list(shape)}") from None


def _result_shape(shape, index_shape, dims):
    rest = [s for d, s in enumerate(shape) if d not in dims]
    at = dims[0] if dims[-1] - dims[0] == len(dims) - 1 else 0
    return (*rest[:at], *index_shape, *rest[at:])


def _put_vjp(g, _y, _x, _values, *index, dims, accumulate, needs):
    gx, gv = g, None
    if not accumulate and needs[0]:
        gx = apply(put_op, (g, scalar_tensor(0, g.dtype), *index), {"dims": dims, "accumulate": False})
    if needs[1]:
        gv = apply(index_op, (g, *index), {"dims": dims})
        if gv.ndim < len(_values.shape):
            gv = gv.reshape((1,) * (len(_values.shape) - gv.ndim) + tuple(gv.shape))
        gv = gv.sum_to_size(tuple(_values.shape))
    return [gx, gv, *[None] * len(index)]


def _put_samples(make):
    for shape, index, at in _advanced:
        i = [np.array(k, np.int64) for k in index]
        result = _gathered(np.empty(shape), *i, dims=at).shape
        for accumulate in (False, True):
            if accumulate or len(set(zip(*[k.reshape(-1).tolist() for k in i]))) == i[0].size:
                yield Sample(make(*shape), make(*result), *map(wrap, i), dims=at, accumulate=accumulate)
    yield Sample(make(3, 2), make(), _i(1, 2), dims=(0,), accumulate=False)


put_op = _PutOp("index_put", None, _put_vjp, samples=_put_samples, linear=(0, 1), batch=_put_each)
put_op.saves = frozenset(range(2, 66))


# ---- reading an index ------------------------------------------------------------------------------------------------
_KINDS = "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices"


def _as_tuple(index):
    """The index as a tuple; a list that holds more than numbers counts as one."""
    if type(index) is tuple:
        return index
    if isinstance(index, tuple):
        return tuple(index)
    if type(index) is list and len(index) < 32 and any(
            is_tensor(i) or isinstance(i, list | tuple | np.ndarray | builtins.slice) or i is None or i is ... for i in index):
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
        if isinstance(x, list | tuple) and t.dtype.kind >= FLOAT:
            t = t.to(dtypes.int64)
    k = t.dtype.kind
    if k >= FLOAT or k == INT and t.dtype not in (dtypes.int64, dtypes.int32, dtypes.uint8):
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return t


class _Index:
    """What a user's index says: a basic index, then index tensors for some dimensions of the view that it gives.

    basic: one entry for each dimension in turn (see `slice_op`); whole: does that leave the tensor as it is?; at: index tensors by
    dimension of the view.
    """
    __slots__ = ("basic", "whole", "at")

    def __init__(self, shape, index):
        index = [i if i is None or i is ... or type(i) in (int, builtins.slice, bool) else _index_tensor(i) if is_tensor(i)
                 else _entry(i)
                 for i in _as_tuple(index)]
        used = 0
        for i in index:
            if i is not None and i is not ... and i is not True and i is not False:
                used += i._array.ndim if is_tensor(i) and _is_mask(i) else 1
        if used > len(shape):
            if not shape and len(index) == 1 and type(index[0]) is int:
                raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                                 "convert a 0-dim tensor to a number")
            raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
        self.basic, self.at, self.whole = [], {}, True
        tensors = [i for i in index if is_tensor(i)]
        # numbers that a transform has others of for each example are gathered at; their places in the result are the same
        apart = any([i._stands_for_another for i in tensors]) and not any([i._array.ndim or _is_mask(i) for i in tensors])
        source = out = 0
        seen = False
        for i in index:
            if i is None:
                self._entry(None)
                out += 1
            elif i is ...:
                n = 0 if seen else len(shape) - used
                seen = True
                for _ in range(n):
                    self.basic.append((None, None, None))
                source, out = source + n, out + n
            elif i is True or i is False:
                self._entry(None)
                self.at[out] = literal(np.asarray([i]))
                out += 1
            elif type(i) is builtins.slice:
                self._slice(i, shape[source])
                source, out = source + 1, out + 1
            elif type(i) is int:
                self._number(i, shape[source])
                source += 1
            elif not i._array.ndim and not _is_mask(i) and not apart:
                self._number(int(i.item()), shape[source])
                source += 1
            elif not i._array.ndim and not apart:
                self._entry(None)
                self.at[out] = literal(np.asarray([bool(i)]))
                out += 1
            else:
                n = i._array.ndim if _is_mask(i) else 1
                self.at[out] = i
                if _is_mask(i):
                    for d in range(n):
                        if i._array.shape[d] != shape[source + d]:
                            raise IndexError(f"The shape of the mask {list(i._array.shape)} at index {d} does not match the shape "
                                             f"of the indexed tensor {list(shape)} at index {source + d}")
                self.basic += [(None, None, None)] * n
                source, out = source + n, out + n

    def _entry(self, e):
        self.basic.append(e)
        self.whole = False

    def _slice(self, s, n):
        try:
            start, stop, step = [None if x is None else operator.index(x) for x in (s.start, s.stop, s.step)]
        except TypeError:
            raise TypeError("slice indices must be integers or None or have an __index__ method") from None
        if step is None:
            step = 1
        elif step <= 0:
            raise ValueError("step must be greater than zero")
        start, stop = indexing.bound(start, stop, step, n)
        if start == 0 and stop == n and step == 1:
            self.basic.append((None, None, None))
        else:
            self._entry((start, stop, step))

    def _number(self, i, n):
        if not -n <= i < n:
            raise IndexError(f"index {i} is out of bounds for dimension {len(self.basic)} with size {n}")
        self._entry(i + n if i < 0 else i)

    def view(self, t):
        """The basic part applied."""
        basic = self.basic
        while basic and basic[-1] == (None, None, None):
            basic.pop()
        return apply(slice_op, (t,), {"index": tuple(basic)})

    def places(self):
        """(dims, index tensors of one shape): masks as the places where they are true."""
        dims, index = [], []
        for d, t in sorted(self.at.items()):
            if _is_mask(t):
                parts = nonzero(t, as_tuple=True)
                dims += range(d, d + len(parts))
                index += parts
            else:
                dims.append(d)
                index.append(t)
        try:
            shape = np.broadcast_shapes(*[i._array.shape for i in index])
        except ValueError:
            raise IndexError("shape mismatch: indexing tensors could not be broadcast together with shapes "
                             f"{', '.join(str(list(i._array.shape)) for i in index)}") from None
        return tuple(dims), [i if i._array.shape == shape else i.expand(shape) for i in index]


def _is_mask(t):
    return t._array.dtype == np.bool_ or t._array.dtype == np.uint8


def _entry(x):
    """An index that is not of the usual types."""
    if isinstance(x, np.bool_):
        return bool(x)
    if isinstance(x, list | tuple | range | np.ndarray) or hasattr(x, "__array__") and not (hasattr(x, "__index__") or isinstance(x, float)):
        return _index_tensor(x)
    if isinstance(x, str):
        raise TypeError(f"new(): invalid data type '{type(x).__name__}'")
    try:
        return operator.index(x)
    except TypeError:
        raise IndexError(f"{_KINDS} (got {type(x).__name__})") from None


_ALL, _FIRST = builtins.slice(None), {"dims": (0,)}
_PLAIN = {int, builtins.slice, type(None), type(...)}


def _plain(index):
    """NumPy's form of an index of whole numbers, None, `...` and slices without a step; None for any other."""
    kind = type(index)
    if kind is int:
        return index, ...
    if kind is tuple:
        for i in index:
            k = type(i)
            if k not in _PLAIN or k is builtins.slice and i.step is not None:
                return None
        return index if ... in index else (*index, ...)
    return index if kind is builtins.slice and index.step is None or index is ... or index is None else None


def __getitem__(self, index):
    """A part of the tensor: see `whet.ops.index`."""
    flags = state.flags
    if not flags & (INFERENCE | SPECIAL) and not (flags & GRAD and (self._rg & 1 or self._base is not None and self.requires_grad)):
        try:
            plain = _plain(index)
            if plain is not None:
                return view_of(self, self._array[plain])
            if type(index) is Tensor:
                i = index._array
                if i.dtype == np.bool_ and i.ndim and i.shape == self._array.shape:
                    return wrap(self._array[i])
                if i.dtype == np.int64 and i.ndim and self._array.ndim:
                    return wrap(_gathered(self._array, i, dims=(0,)))
        except (IndexError, TypeError):
            pass                                          # said again below, in this library's words
    if type(index) is Tensor and index._array.ndim and index._array.dtype == np.int64 and self._array.ndim:
        return apply(index_op, (self, index), _FIRST)
    found = _Index(self._array.shape, index)
    if not found.at:
        return found.view(self)
    t = self if found.whole else found.view(self)
    dims, places = found.places()
    return apply(index_op, (t, *places), {"dims": dims})


METHODS["__getitem__"] = __getitem__


# ---- assignment ------------------------------------------------------------------------------------------------------
def _as_value(t, value):
    if is_tensor(value):
        return value
    if isinstance(value, bool | int | float | complex | np.generic):
        return number(value if not isinstance(value, np.generic) else value.item(), t.dtype)
    if isinstance(value, np.ndarray) or hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        return as_tensor(value)
    raise TypeError(f"can't assign a {type(value).__name__} to a whet.{t.dtype.letter}Tensor")


def fits(value, array):
    """Is the value a number that the array's type surely holds?"""
    kind = type(value)
    if kind is float:
        return array.dtype.kind == "f" and -65504.0 <= value <= 65504.0
    return kind is int and array.dtype.kind in "fi" and -128 <= value < 128


def __setitem__(self, index, value):
    """Write to a part of the tensor."""
    if ip.writes_at_once(self):
        a, plain, src = self._array, _plain(index), value
        if plain is not None and not fits(value, a):
            value = _as_value(self, value)
            src = value._array
            if src.dtype != a.dtype or state.flags & GRAD and value.requires_grad:
                plain = None
        if plain is not None:
            try:
                part = a[plain]
            except (IndexError, TypeError):
                pass                                      # said again below, in this library's words
            else:
                bare = src is value
                if not bare:
                    src = _fitted_part(part, src)
                ip.check_writable(self, "copy_", part)
                if bare:
                    part[...] = value
                else:
                    copy_op.write(part, src)
                self._bump("copy_")
                return
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
            from .masks import masked_fill_
            after = len(shape) - d - m.ndim
            masked_fill_(t, mask.reshape(m.shape + (1,) * after) if after else mask, value if value.dtype is t.dtype else value.to(t.dtype))
            return
    dims, places = found.places()
    if value.dtype is not t.dtype:
        value = value.to(t.dtype)
    put_in(t, places, dims, value, False)


def _check_expands(have, want):
    for k in range(1, len(have) + 1):
        n = want[-k] if k <= len(want) else None
        if n is None or have[-k] != n and have[-k] != 1:
            if n is None:
                raise RuntimeError(f"The number of sizes of the source ({len(have)}) is larger than that of the part it is "
                                   f"assigned to ({len(want)}).  Target sizes: {list(want)}.  Tensor sizes: {list(have)}")
            raise RuntimeError(f"The expanded size of the tensor ({n}) must match the existing size ({have[-k]}) at non-singleton "
                               f"dimension {len(want) - k}.  Target sizes: {list(want)}.  Tensor sizes: {list(have)}")


def _fitted_part(part, src):
    """What is written to a part, which it fits."""
    while src.ndim > part.ndim and src.shape[0] == 1:
        src = src[0]
    if src.shape != part.shape:
        _check_expands(src.shape, part.shape)
    return src


METHODS["__setitem__"] = __setitem__


def put_in(t, places, dims, values, accumulate):
    """t[places] = values (or +=), recorded."""
    if values._array.ndim:
        _fitted(values._array, _result_shape(t._array.shape, places[0]._array.shape, dims))
    for i, d in zip(places, dims):
        in_bounds(i._array, t._array.shape[d], d)
    return inplace(put_op, t, (values, *places), {"dims": dims, "accumulate": accumulate})


def _put_arguments(t, indices, values):
    if not isinstance(indices, tuple | list):
        raise TypeError(f"index_put_(): argument 'indices' (position 1) must be tuple of Tensors, not {type(indices).__name__}")
    if len(indices) > t._array.ndim:
        raise IndexError(f"too many indices for tensor of dimension {t._array.ndim} (got {len(indices)})")
    if not is_tensor(values):
        values = number(values, t.dtype)
    if values.dtype is not t.dtype:
        raise RuntimeError(f"Index put requires the source and destination dtypes match, got {t.dtype.letter} for the destination "
                           f"and {values.dtype.letter} for the source.")
    found = _Index(t._array.shape, tuple([_ALL if i is None else i if i._array.ndim else i.reshape(1) for i in indices]))
    return (*found.places(), values)


@method()
def index_put_(self, indices, values, accumulate=False):
    """Write `values` at the index tensors (or add them, in index order)."""
    dims, places, values = _put_arguments(self, indices, values)
    return put_in(self, places, dims, values, accumulate)


@function()
def index_put(input, indices, values, accumulate=False):
    """A copy of `input` with `values` at the index tensors (or added there, in index order)."""
    dims, places, values = _put_arguments(input, indices, values)
    return apply(put_op, (input, values, *places), {"dims": dims, "accumulate": accumulate})


# ---- where is it not zero --------------------------------------------------------------------------------------------
def _nonzero(a):
    if not a.ndim:
        return np.zeros((int(bool(a)), 0), np.int64)
    if a.ndim == 1:
        return np.flatnonzero(a).reshape(-1, 1)
    return np.stack(np.nonzero(a), 1)


nonzero_op = Op("nonzero", _nonzero, samples=lambda make: [Sample(tensor([[1, 0], [0, 2]])), Sample(make(0)), Sample(make())])


@function(out=True)
def nonzero(input, *, as_tuple=False):
    """The indices of all elements that are not zero, as rows (or one tensor for each dimension).

    >>> import whet
    >>> whet.nonzero(whet.tensor([0, 3, 0, 4]))
    tensor([[1],
            [3]])
    """
    if not as_tuple:
        return apply(nonzero_op, (input,), {})
    if not input._array.ndim:
        input = input.reshape(1)
    return apply(nonzero_op, (input,), {}).unbind(1)


@function()
def argwhere(input):
    """The indices of all elements that are not zero, as rows."""
    return apply(nonzero_op, (input,), {})


def _nonzero_static(a, size, fill_value):
    out = np.empty((size, a.ndim), np.int64)
    out.fill(cast_number(fill_value, dtypes.int64))
    rows = _nonzero(a)[:size]
    out[:len(rows)] = rows
    return out


nonzero_static_op = Op("nonzero_static", _nonzero_static, samples=lambda make: [
    Sample(tensor([[1, 0], [0, 2]]), size=3, fill_value=-1), Sample(tensor([True, True]), size=1, fill_value=0)])


@function()
def nonzero_static(input, *, size, fill_value=-1):
    """`nonzero` with a given number of rows: cut, or filled up with `fill_value`."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    return apply(nonzero_static_op, (input,), {"size": size, "fill_value": fill_value})


by_rows(nonzero_op, nonzero_static_op)
from . import gather, search  # noqa: E402, F401  (more of the family)

