"""Views: other shapes and parts of the same memory. Nothing is copied; writes are seen by all.

Each op is one kind of index map. `slice` is every basic index at once: whole numbers, slices and new axes.
"""
import builtins
from math import prod

import numpy as np

from .. import dtypes, indexing
from ..autograd import inplace as ip
from ..autograd import modes
from ..autograd.node import Node
from ..dtypes import COMPLEX, FLOAT
from ..indexing import as_int, sizes
from . import dims
from .creation import complex_op
from .registry import Op, apply, edge_of, is_tensor, unrecorded, view_of
from .samples import Sample
from .surface import FUNCTIONS, METHODS, function, method


class ViewOp(Op):
    """An op whose result is a part or a reordering of its input's memory."""
    family = "view"
    is_view = True


class ViewsOp(ViewOp):
    """A view op with several results."""
    view_is_safe = False


# ---- reshape ---------------------------------------------------------------------------------------------------------
def _view(a, size):
    try:
        return a.reshape(size, copy=False)
    except ValueError:
        if a.size == 0:
            return indexing.strided(a, size, indexing.dense_strides(size))
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one dimension spans across "
                           "two contiguous subspaces). Use .reshape(...) instead.") from None


view_op = ViewOp("view", _view, lambda g, _y, _x, size: [reshape(g, _x.shape)], samples=lambda make: [
    Sample(make(2, 3), size=(3, 2)), Sample(make(2, 3), size=(6,)), Sample(make(), size=(1, 1)), Sample(make(0, 3), size=(3, 0)),
    Sample(make(1), size=())])
reshape_op = Op("reshape", lambda a, size: a.reshape(size).copy(), lambda g, _y, _x, size: [reshape(g, _x.shape)],
                samples=lambda make: [
    Sample(make(2, 3).t(), size=(6,)), Sample(make(2, 3, 4).transpose(1, 2), size=(2, 12))])


@method()
def view(self, *shape):
    """The same memory in another shape, or (given a dtype) as elements of another type.

    >>> import whet
    >>> whet.arange(6).view(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    if len(shape) == 1 and (type(shape[0]) is dtypes.dtype or isinstance(shape[0], builtins.type)):
        return _view_as_type(self, dtypes.as_dtype(shape[0]))
    if not shape:
        raise TypeError("view() received an invalid combination of arguments - got (), but expected a shape or a dtype")
    return apply(view_op, (self,), {"size": indexing.infer_size(sizes(shape, "view"), self._array.size)})


def reshape(input, shape):
    """The tensor in another shape: a view where the memory allows it, else a copy."""
    a = input._array
    size = indexing.infer_size(sizes((shape,), "reshape"), a.size)
    if not a.flags.c_contiguous:
        try:
            a.reshape(size, copy=False)
        except ValueError:
            if a.size:
                return apply(reshape_op, (input,), {"size": size})
    return apply(view_op, (input,), {"size": size})


FUNCTIONS["reshape"] = reshape
reshape.__module__ = "whet"


def _reshape_method(self, *shape):
    """See `whet.reshape`."""
    a = self._array
    if a.flags.c_contiguous and unrecorded(self):
        try:
            return view_of(self, a.reshape(*shape))
        except (TypeError, ValueError):
            pass                                              # said again below, in this library's words
    return reshape(self, shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)


METHODS["reshape"] = _reshape_method


@method()
def view_as(self, other):
    """`view` in the shape of another tensor."""
    return apply(view_op, (self,), {"size": indexing.infer_size(other._array.shape, self._array.size)})


@method()
def reshape_as(self, other):
    """`reshape` to the shape of another tensor."""
    return reshape(self, other._array.shape)


@function()
def flatten(input, start_dim=0, end_dim=-1):
    """The dimensions from `start_dim` to `end_dim` as one.

    >>> import whet
    >>> whet.zeros(2, 3, 4).flatten(1).shape
    whet.Size([2, 12])
    """
    shape = input._array.shape
    first, last = dims.one(start_dim, len(shape)), dims.one(end_dim, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape(input, (1,))
    if first == last:
        return input
    return reshape(input, (*shape[:first], prod(shape[first:last + 1]), *shape[last + 1:]))


@function()
def ravel(input):
    """The elements in row-major order as one dimension; a view where the memory allows it."""
    return reshape(input, (-1,)) if input._array.ndim != 1 or not input._array.flags.c_contiguous else input


@function()
def unflatten(input, dim, sizes):
    """One dimension as several."""
    shape = input._array.shape
    d = dims.one(dim, len(shape))
    sizes = indexing.sizes((sizes,), "unflatten")
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        inner = indexing.infer_size(sizes, shape[d])
    except RuntimeError:
        raise RuntimeError(f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} ({shape[d]}) in the "
                           "input tensor") from None
    return apply(view_op, (input,), {"size": (*shape[:d], *inner, *shape[d + 1:])}) if input.is_contiguous() else \
        reshape(input, (*shape[:d], *inner, *shape[d + 1:]))


def _unsqueeze(a, dim):
    return a[(builtins.slice(None),) * dim + (None, ...)]


unsqueeze_op = ViewOp("unsqueeze", _unsqueeze, lambda g, _y, _x, dim: [squeeze(g, dim)], samples=lambda make: [
    Sample(make(2, 3), dim=1), Sample(make(), dim=0), Sample(make(0), dim=1)])


@function()
def unsqueeze(input, dim):
    """A dimension of size one put in at `dim`."""
    return apply(unsqueeze_op, (input,), {"dim": dims.one(dim, input._array.ndim + 1)})


def _squeeze(a, dim):
    return a.squeeze(dim)


squeeze_op = ViewOp("squeeze", _squeeze, lambda g, _y, _x, dim: [reshape(g, _x.shape)], samples=lambda make: [
    Sample(make(2, 1, 3), dim=(1,)), Sample(make(1, 1), dim=(0, 1)), Sample(make(2, 3), dim=())])


def _squeezed(input, dim):
    shape = input._array.shape
    if dim is None:
        return tuple([d for d, s in enumerate(shape) if s == 1])
    if not isinstance(dim, tuple | list):
        d = dims.one(dim, len(shape))
        return (d,) if shape and shape[d] == 1 else ()
    return tuple([d for d in dims.many(dim, len(shape)) or () if shape[d] == 1])


@function()
def squeeze(input, dim=None):
    """Without the dimensions of size one: all of them, or those among `dim`.

    >>> import whet
    >>> whet.zeros(1, 3, 1).squeeze().shape
    whet.Size([3])
    """
    return apply(squeeze_op, (input,), {"dim": _squeezed(input, dim)})


# ---- expand ----------------------------------------------------------------------------------------------------------
def _expand(a, size):
    r = np.broadcast_to(a, size)
    if a.flags.writeable:
        r.flags.writeable = True
    return r


expand_op = ViewOp("expand", _expand, lambda g, _y, _x, size: [g.sum_to_size(_x.shape)], samples=lambda make: [
    Sample(make(3, 1), size=(3, 4)), Sample(make(3), size=(2, 3)), Sample(make(), size=(2, 2)), Sample(make(1, 3), size=(0, 3)),
    Sample(make(2, 3), size=(2, 3))])


def _expand_size(input, size, op="expand"):
    shape = input._array.shape
    if len(size) < len(shape):
        raise RuntimeError(f"{op}(whet.{input.dtype.letter}Tensor{{{list(shape)}}}, size={list(size)}): the number of sizes "
                           "provided "
                           f"({len(size)}) must be greater or equal to the number of dimensions in the tensor ({len(shape)})")
    new = len(size) - len(shape)
    out = list(size)
    for d, s in enumerate(size):
        have = shape[d - new] if d >= new else 1
        if s == -1:
            if d < new:
                raise RuntimeError(f"The expanded size of the tensor ({s}) isn't allowed in a leading, non-existing dimension {d}")
            out[d] = have
        elif s < 0:
            raise RuntimeError(f"expand: invalid size {s} at dimension {d}: {list(size)}")
        elif have != s and have != 1:
            raise RuntimeError(f"The expanded size of the tensor ({s}) must match the existing size ({have}) at non-singleton "
                               f"dimension {d}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}")
    return tuple(out)


@method()
def expand(self, *size, implicit=False):
    """Dimensions of size one repeated without copying; -1 leaves a size as it is."""
    return apply(expand_op, (self,), {"size": _expand_size(self, sizes(size, "expand"))})


@method()
def expand_as(self, other):
    """`expand` to the shape of another tensor."""
    return apply(expand_op, (self,), {"size": _expand_size(self, other._array.shape)})


@function()
def broadcast_to(input, shape):
    """`expand` to a shape."""
    return apply(expand_op, (input,), {"size": _expand_size(input, sizes((shape,), "broadcast_to"))})


@function(method=False)
def broadcast_tensors(*tensors):
    """The tensors expanded to their common shape."""
    if len(tensors) == 1 and isinstance(tensors[0], list | tuple):
        tensors = tensors[0]
    shape = _common_shape([t._array.shape for t in tensors])
    return tuple(t if t._array.shape == shape else apply(expand_op, (t,), {"size": shape}) for t in tensors)


broadcast_arrays = FUNCTIONS["broadcast_arrays"] = broadcast_tensors


def _common_shape(shapes):
    out = ()
    for s in shapes:
        try:
            out = indexing.broadcast_shapes(out, s)
        except RuntimeError:
            n = max(len(out), len(s))
            a, b = (1,) * (n - len(out)) + tuple(out), (1,) * (n - len(s)) + tuple(s)
            d = max(i for i in range(n) if a[i] != b[i] and 1 not in (a[i], b[i]))
            raise RuntimeError(f"The size of tensor a ({a[d]}) must match the size of tensor b ({b[d]}) at non-singleton dimension "
                               f"{d}") from None
    return out


@function(method=False)
def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes broadcast to.

    >>> import whet
    >>> whet.broadcast_shapes((2, 1), (3,))
    whet.Size([2, 3])
    """
    from ..tensor import Size
    return Size(indexing.broadcast_shapes(*[(s,) if isinstance(s, int) else tuple(s) for s in shapes]))


# ---- permute ---------------------------------------------------------------------------------------------------------
def _inverse(order):
    out = [0] * len(order)
    for i, d in enumerate(order):
        out[d] = i
    return tuple(out)


permute_op = ViewOp("permute", lambda a, dims: a.transpose(dims), lambda g, _y, _x,
                    dims: [apply(permute_op, (g,), {"dims": _inverse(dims)})],
                    samples=lambda make: [Sample(make(2, 3, 4), dims=(2, 0, 1)), Sample(make(), dims=()),
                                          Sample(make(0, 2), dims=(1, 0))])
transpose_op = ViewOp("transpose", lambda a, dim0, dim1: a.swapaxes(dim0, dim1),
                      lambda g, _y, _x, dim0, dim1: [apply(transpose_op, (g,), {"dim0": dim0, "dim1": dim1})],
                      samples=lambda make: [Sample(make(2, 3, 4), dim0=0, dim1=2), Sample(make(0, 2), dim0=0, dim1=1)])


def permute(input, dims):
    """The dimensions in another order.

    >>> import whet
    >>> whet.permute(whet.zeros(2, 3, 4), (2, 0, 1)).shape
    whet.Size([4, 2, 3])
    """
    order = sizes((dims,), "permute", "dims")
    n = input._array.ndim
    if len(order) != n:
        raise RuntimeError("permute(): number of dimensions in the tensor input does not match the length of the desired ordering "
                           f"of dimensions i.e. input.dim() = {n} is not equal to len(dims) = {len(order)}")
    order = tuple([_dim(d, n) for d in order])
    if len(set(order)) != n:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return apply(permute_op, (input,), {"dims": order})


_dim = dims.one
FUNCTIONS["permute"] = permute
permute.__module__ = "whet"


def _permute_method(self, *order, dims=None):
    """See `whet.permute`."""
    if dims is not None:
        order = (dims,)
    return permute(self, order[0] if len(order) == 1 and not isinstance(order[0], int) else order)


METHODS["permute"] = _permute_method
FUNCTIONS["permute_dims"] = lambda x, axes: permute(x, axes)


@function("swapaxes", "swapdims")
def transpose(input, dim0, dim1):
    """Two dimensions exchanged."""
    n = input._array.ndim
    dim0, dim1 = dims.one(dim0, n), dims.one(dim1, n)
    if not n:
        return apply(permute_op, (input,), {"dims": ()})
    return apply(transpose_op, (input,), {"dim0": dim0, "dim1": dim1})


METHODS["swapaxes"] = lambda self, axis0, axis1: transpose(self, axis0, axis1)
FUNCTIONS["swapaxes"] = lambda input, axis0, axis1: transpose(input, axis0, axis1)


@function()
def t(input):
    """A matrix transposed."""
    n = input._array.ndim
    if n > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {n}D")
    return transpose(input, 0, n - 1 if n else 0)


def _moved(input, source, destination):
    n = input._array.ndim
    one = isinstance(source, int), isinstance(destination, int)
    source = (source,) if one[0] else tuple(source)
    destination = (destination,) if one[1] else tuple(destination)
    if len(source) != len(destination):
        raise RuntimeError(f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same "
                           f"number of dims as destination ({list(destination)} dims)")
    source, destination = [dims.one(d, n) for d in source], [dims.one(d, n) for d in destination]
    for name, ds in (("source", source), ("destination", destination)):
        if len(set(ds)) != len(ds):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({ds})")
    order = [d for d in range(n) if d not in source]
    for to, d in sorted(zip(destination, source)):
        order.insert(to, d)
    return tuple(order)


@function()
def movedim(input, source, destination):
    """Dimensions moved to other places; the rest keep their order."""
    return apply(permute_op, (input,), {"dims": _moved(input, source, destination)} if input._array.ndim else {"dims": ()})


FUNCTIONS["moveaxis"] = METHODS["moveaxis"] = movedim


@function()
def adjoint(input):
    """Matrices transposed and conjugated."""
    if input.ndim < 2:
        raise RuntimeError("tensor.adjoint() is only supported on matrices or batches of matrices. Got "
                           f"{input.ndim}-D tensor.")
    return transpose(input, -2, -1).conj()


def _matrix_transpose(self):
    """Matrices transposed."""
    if self._array.ndim < 2:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got {self._array.ndim}-D tensor.")
    return transpose(self, -2, -1)


def _reverse(self):
    """The dimensions in reverse order."""
    return apply(permute_op, (self,), {"dims": tuple(range(self._array.ndim - 1, -1, -1))})


def _hermitian(self):
    """The matrix transposed and conjugated."""
    if self._array.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self._array.ndim}-D tensor.")
    return (transpose(self, 0, 1) if self._array.ndim else self).conj()


METHODS["T"], METHODS["mT"], METHODS["H"], METHODS["mH"] = map(property, (_reverse, _matrix_transpose, _hermitian, adjoint))
FUNCTIONS["matrix_transpose"] = lambda x: _matrix_transpose(x)


# ---- basic indices ---------------------------------------------------------------------------------------------------
def numpy_index(index):
    """The index that NumPy understands. (A trailing `...` makes NumPy give views for single elements too.)"""
    return (*[builtins.slice(*i) if type(i) is tuple else i for i in index], ...)


def _unslice(g, size, index):
    out = np.zeros(size, g.dtype)
    out[numpy_index(index)] = g
    return out


_indices = [((2, 3, 4), (0,)), ((2, 3, 4), ((0, 2, 1), 2)), ((2, 3, 4), ((0, 2, 1), None, (0, 3, 2))), ((5,), ((1, 5, 3),)),
            ((), (None,)),
            ((3, 0), ((0, 2, 1),)), ((4,), ((2, 2, 1),))]
slice_op = ViewOp("slice", lambda a, index: a[numpy_index(index)],
                  lambda g, _y, _x, index: [apply(unslice_op, (g,), {"size": tuple(_x.shape), "index": index})],
                  samples=lambda make: [Sample(make(*s), index=i) for s, i in _indices])
unslice_op = Op("unslice", _unslice, lambda g, _y, _x, size, index: [apply(slice_op, (g,), {"index": index})],
                samples=lambda make: [Sample(make(*np.empty(s)[numpy_index(i)].shape), size=s, index=i) for s, i in _indices])
slice_op.doc = "`index`: for each dimension in turn a number >= 0, a tuple (start, stop, step) with step > 0, or None: a new axis."


def _at(d, entry):
    return ((None, None, None),) * d + (entry,)


@function()
def select(input, dim, index):
    """One place of a dimension, which disappears."""
    shape = input._array.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d, i = dims.one(dim, len(shape)), as_int(index, "select", "index", 2)
    if not -shape[d] <= i < shape[d]:
        raise IndexError(f"select(): index {i} out of range for tensor of size {list(shape)} at dimension {d}")
    return apply(slice_op, (input,), {"index": _at(d, i + shape[d] if i < 0 else i)})


@function()
def narrow(input, dim, start, length):
    """A range of a dimension: `length` places from `start`."""
    shape = input._array.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    d, s, n = dims.one(dim, len(shape)), as_int(start, "narrow", "start", 2), as_int(length, "narrow", "length", 3)
    if n < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -shape[d] <= s <= shape[d]:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-shape[d]}, {shape[d]}], but got {s})")
    s += shape[d] if s < 0 else 0
    if s + n > shape[d]:
        raise RuntimeError(f"start ({s}) + length ({n}) exceeds dimension size ({shape[d]}).")
    return apply(slice_op, (input,), {"index": _at(d, (s, s + n, 1))})


@function()
def narrow_copy(input, dim, start, length):
    """`narrow`, copied."""
    return narrow(input, dim, start, length).clone()


def slice_along(input, dim, start=None, end=None, step=1):
    """input[..., start:end:step, ...] at dimension `dim`."""
    shape = input._array.shape
    if not shape:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    d = dims.one(dim, len(shape))
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    return apply(slice_op, (input,), {"index": _at(d, (*indexing.bound(start, end, step, shape[d]), step))})


# ---- diagonal and windows --------------------------------------------------------------------------------------------
def _diagonal(a, offset, dim1, dim2):
    r = a.diagonal(offset, dim1, dim2)
    if a.flags.writeable:
        r.flags.writeable = True
    return r


def _undiagonal(g, size, offset, dim1, dim2):
    out = np.zeros(size, g.dtype)
    _diagonal(out, offset, dim1, dim2)[...] = g
    return out


_diagonals = [((3, 4), 0, 0, 1), ((3, 4), 1, 0, 1), ((2, 3, 4), -1, 1, 2), ((3, 2, 4), 0, 2, 0), ((2, 2), 5, 0, 1)]
diagonal_op = ViewOp("diagonal", _diagonal, lambda g, _y, _x, **kw: [apply(undiagonal_op, (g,), {"size": tuple(_x.shape), **kw})],
                     samples=lambda make: [Sample(make(*s), offset=o, dim1=p, dim2=q) for s, o, p, q in _diagonals])
undiagonal_op = Op("undiagonal", _undiagonal, lambda g, _y, _x, size, **kw: [apply(diagonal_op, (g,), kw)],
                   samples=lambda make: [Sample(make(*np.empty(s).diagonal(o, p, q).shape), size=s, offset=o, dim1=p, dim2=q)
                                         for s, o, p, q in _diagonals])


@function()
def diagonal(input, offset=0, dim1=0, dim2=1):
    """The diagonal of two dimensions, as the last dimension of the result.

    >>> import whet
    >>> whet.tensor([[1, 2], [3, 4]]).diagonal()
    tensor([1, 4])
    """
    n = input._array.ndim
    d1, d2 = dims.one(dim1, n), dims.one(dim2, n)
    if d1 == d2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return apply(diagonal_op, (input,), {"offset": as_int(offset, "diagonal", "offset"), "dim1": d1, "dim2": d2})


def _unfold(a, dimension, size, step):
    shape, strides = list(a.shape), list(a.strides)
    if not shape:
        return a.reshape(1)[:size]
    n = (shape[dimension] - size) // step + 1
    a = a[(builtins.slice(None),) * dimension + (builtins.slice(0, (n - 1) * step + 1, step),)]
    item = a.itemsize
    shape[dimension] = n
    inner = strides[dimension] // item
    strides[dimension] *= step
    return indexing.strided(a, (*shape, size), (*[s // item for s in strides], inner))


def _unfolded_sum(g, shape, dimension, size, step):
    out = np.zeros(shape, g.dtype)
    if not shape:
        return out + (g.sum() if g.size else 0)
    n, at = g.shape[dimension], (builtins.slice(None),) * dimension
    for k in range(size):
        out[(*at, builtins.slice(k, k + (n - 1) * step + 1, step))] += g[..., k]
    return out


_windows = [((8,), 0, 3, 1), ((2, 7), 1, 2, 2), ((5, 3), 0, 5, 1), ((4, 3), 0, 2, 3)]
unfold_op = ViewOp("unfold", _unfold, lambda g, _y, _x, **kw: [apply(unfold_sum_op, (g,), {"shape": tuple(_x.shape), **kw})],
                   samples=lambda make: [Sample(make(*s), dimension=d, size=n, step=k) for s, d, n, k in _windows])
unfold_sum_op = Op("unfold_sum", _unfolded_sum, lambda g, _y, _x, shape, **kw: [apply(unfold_op, (g,), kw)],
                   samples=lambda make: [Sample(make(*_unfold(np.empty(s), d, n, k).shape), shape=s, dimension=d, size=n, step=k)
                                         for s, d, n, k in _windows])


@method()
def unfold(self, dimension, size, step):
    """All windows of `size` along a dimension, `step` apart, as a new last dimension.

    >>> import whet
    >>> whet.arange(4).unfold(0, 2, 1)
    tensor([[0, 1],
            [1, 2],
            [2, 3]])
    """
    shape = self._array.shape
    d = dims.one(dimension, len(shape))
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    limit = shape[d] if shape else 1
    if size > limit:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {limit} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return apply(unfold_op, (self,), {"dimension": d, "size": size, "step": step})


# ---- any strides -----------------------------------------------------------------------------------------------------
def _extent(shape, stride, offset=0):
    """The lowest and the highest element that the geometry touches, relative to its base's first element."""
    if prod(shape) == 0:
        return offset, offset - 1
    low = high = offset
    for n, s in zip(shape, stride):
        if s < 0:
            low += (n - 1) * s
        else:
            high += (n - 1) * s
    return low, high


def _positions(shape, stride, offset):
    """Each element's place in memory."""
    p = np.full(shape, offset, np.int64)
    for d, (n, s) in enumerate(zip(shape, stride)):
        p += (np.arange(n, dtype=np.int64) * s).reshape((-1,) + (1,) * (len(shape) - 1 - d))
    return p


def _block(shape, base_stride, size, stride, offset):
    """(elements before the base's first element, number of elements) of the memory that base and view touch."""
    low0, high0 = _extent(shape, base_stride)
    low1, high1 = _extent(size, stride, offset)
    return -min(low0, low1), max(high0, high1) - min(low0, low1) + 1


def _strided_sum(g, shape, size, stride, offset, base_stride):
    before, n = _block(shape, base_stride, size, stride, offset)
    wide = np.float32 if g.dtype.itemsize == 2 and g.dtype.kind in "fV" or g.dtype == dtypes.bfloat16.np else g.dtype
    memory = np.zeros(max(n, 0), wide)
    if prod(size):
        if _distinct(size, stride):
            indexing.strided(memory[:1], size, stride, before + offset)[...] = g
        else:
            np.add.at(memory, _positions(size, stride, before + offset), g.astype(wide, copy=False))
    if prod(shape) == 0:
        return np.zeros(shape, g.dtype)
    base = indexing.strided(memory[:1], shape, base_stride, before)
    if not _distinct(shape, base_stride):                  # each of the elements in one place gets its share
        where = _positions(shape, base_stride, before)
        base = base / np.bincount(where.reshape(-1), minlength=n)[where]
    return base.astype(g.dtype)


def _distinct(shape, stride):
    """Do the elements lie in different places, as far as nested dimensions show? (False may be a false alarm.)"""
    reach = 0
    for s, n in sorted((abs(s), n) for s, n in zip(stride, shape) if n != 1):
        if n and s <= reach:
            return False
        reach += s * (n - 1)
    return True


def _strided_copy(a, size, stride, offset, base_stride):
    before, n = _block(a.shape, base_stride, size, stride, offset)
    if not prod(size):
        return np.empty(size, a.dtype)
    memory = np.zeros(max(n, 1), a.dtype)
    if a.size:
        indexing.strided(memory[:1], a.shape, base_stride, before)[...] = a
    return indexing.strided(memory[:1], size, stride, before + offset).copy()


def _as_strided_vjp(g, _y, _x, size, stride, offset, base_stride):
    return [apply(strided_sum_op, (g,), {"shape": tuple(_x.shape), "size": size, "stride": stride, "offset": offset,
                                         "base_stride": base_stride})]


_geometries = [((3, 4), (2, 2), (4, 1), 1, (4, 1)), ((6,), (4, 3), (1, 1), 0, (1,)), ((2, 3), (3, 2), (1, 3), 0, (3, 1)),
               ((4,), (2, 2), (0, 2), 1, (1,)), ((3,), (), (), 2, (1,)), ((3,), (0, 2), (1, 1), 0, (1,))]


def _geometry_samples(make, of_view):
    for shape, size, stride, offset, base in _geometries:
        kw = dict(size=size, stride=stride, offset=offset, base_stride=base)
        yield Sample(make(*size), shape=shape, **kw) if of_view else Sample(make(*shape), **kw)


as_strided_op = ViewOp("as_strided", lambda a, size, stride, offset, base_stride: indexing.strided(a, size, stride, offset),
                       _as_strided_vjp,
                       samples=lambda make: _geometry_samples(make, False))
as_strided_op.doc = "A region of memory: size, stride, offset from the first element of the input, whose strides are `base_stride`."
as_strided_copy_op = Op("as_strided_copy", _strided_copy, _as_strided_vjp, samples=lambda make: _geometry_samples(make, False))
strided_sum_op = Op("strided_sum", _strided_sum,
                    lambda g, _y, _x, shape, **kw: [apply(as_strided_copy_op, (g,), kw)],
                    samples=lambda make: _geometry_samples(make, True))


def _element_strides(a):
    return tuple([s // a.itemsize for s in a.strides])


@function()
def as_strided(input, size, stride, storage_offset=None):
    """A view with the given size and strides, `storage_offset` elements from the start of the storage (of this tensor, if None)."""
    size, stride = sizes((size,), "as_strided"), sizes((stride,), "as_strided", "stride")
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: {list(size)}, {list(stride)}")
    if any(s < 0 for s in stride) and not any(s < 0 for s in input._array.strides):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    indexing.checked_size(size, "as_strided")
    if storage_offset is not None and storage_offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {storage_offset}")
    offset = 0 if storage_offset is None else storage_offset - input.storage_offset()
    return apply(as_strided_op, (input,), {"size": size, "stride": stride, "offset": offset,
                                           "base_stride": _element_strides(input._array)})


def region_of_copy(g, where):
    """(a copy of g, laid out as the base of a view was; the view's region of it). For gradients of in-place writes to views."""
    base, stride = where["base_shape"], where["base_stride"]
    size, offset = where["size"], where["offset"]
    before, n = _block(base, stride, size, where["stride"], offset)
    memory = FUNCTIONS["empty"](max(n, 0), dtype=g.dtype.to_real() if where["via"] == "real" else g.dtype)
    inner = apply(as_strided_op, (memory,), {"size": base, "stride": stride, "offset": before, "base_stride": (1,)})
    region = apply(as_strided_op, (memory,), {"size": size, "stride": where["stride"], "offset": before + offset, "base_stride": (1,
        )})
    whole = view_as_complex(inner) if where["via"] == "real" else inner
    whole.copy_(g)
    return whole, view_as_complex(region) if where["via"] == "complex" else region


# ---- several views at once -------------------------------------------------------------------------------------------
def _split(a, sizes, dim):
    out, at, before = [], 0, (builtins.slice(None),) * dim
    for n in sizes:
        out.append(a[(*before, builtins.slice(at, at + n))])
        at += n
    return tuple(out)


def _filled(gs, shapes, like):
    from .creation import zeros
    return [zeros(s, dtype=like.dtype) if g is None else g for g, s in zip(gs, shapes)]


def _split_vjp(gs, _y, _x, sizes, dim):
    shape = tuple(_x.shape)
    return [FUNCTIONS["cat"](_filled(gs, [(*shape[:dim], n, *shape[dim + 1:]) for n in sizes], _x), dim)]


split_op = ViewsOp("split", _split, _split_vjp, samples=lambda make: [
    Sample(make(5, 2), sizes=(2, 2, 1), dim=0), Sample(make(2, 3), sizes=(0, 3), dim=1), Sample(make(4), sizes=(4,), dim=0)])


def _unbind(a, dim):
    before = (builtins.slice(None),) * dim
    return tuple([a[(*before, i, ...)] for i in range(a.shape[dim])])


def _unbind_vjp(gs, _y, _x, dim):
    shape = tuple(_x.shape)
    return [FUNCTIONS["stack"](_filled(gs, [shape[:dim] + shape[dim + 1:]] * shape[dim], _x), dim)]


unbind_op = ViewsOp("unbind", _unbind, _unbind_vjp, samples=lambda make: [Sample(make(3, 2), dim=0), Sample(make(2, 3), dim=1),
                                                                          Sample(make(2), dim=0)])


def _pieces(input, lengths, dim):
    return apply(split_op, (input,), {"sizes": tuple(lengths), "dim": dim})


@function()
def split(tensor, split_size_or_sections, dim=0):
    """Views of pieces along a dimension: of one size (the last may be smaller), or of the given sizes.

    >>> import whet
    >>> whet.arange(5).split(2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    if not tensor._array.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = dims.one(dim, tensor._array.ndim)
    n = tensor._array.shape[d]
    if isinstance(split_size_or_sections, list | tuple):
        return _split_sizes(tensor, split_size_or_sections, d)
    k = as_int(split_size_or_sections, "split", "split_size")
    if k < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={k}")
    if k == 0:
        if n:
            raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}")
        return _pieces(tensor, (0,), d)
    return _pieces(tensor, [min(k, n - i) for i in range(0, n, k)] or (0,), d)


def _split_sizes(tensor, lengths, d):
    n = tensor._array.shape[d]
    lengths = [as_int(s, "split", "split_sizes") for s in lengths]
    if any(s < 0 for s in lengths):
        raise RuntimeError(f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={lengths}")
    if sum(lengths) != n:
        raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at dimension {d}), "
                           f"but got split_sizes={lengths}")
    return _pieces(tensor, lengths, d) if lengths else ()


@function()
def split_with_sizes(input, split_sizes, dim=0):
    """`split` into pieces of the given sizes."""
    return _split_sizes(input, split_sizes, dims.one(dim, input._array.ndim))


@function()
def chunk(input, chunks, dim=0):
    """Views of at most `chunks` pieces of one size (the last may be smaller) along a dimension."""
    if not input._array.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    d = dims.one(dim, input._array.ndim)
    n = input._array.shape[d]
    k = -(-n // chunks)
    if k == 0:
        return _pieces(input, (0,) * chunks, d)
    return _pieces(input, [min(k, n - i) for i in range(0, n, k)], d)


@function()
def unsafe_chunk(input, chunks, dim=0):
    """`chunk`."""
    return chunk(input, chunks, dim)


@function()
def tensor_split(input, indices_or_sections, dim=0):
    """Views of pieces along a dimension: `sections` of almost equal size, or cut at the given indices."""
    if not input._array.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    d = dims.one(dim, input._array.ndim)
    n = input._array.shape[d]
    at = indices_or_sections
    if is_tensor(at):
        if at.dtype is not dtypes.int64 or at.ndim > 1:
            raise RuntimeError("tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional "
                               f"tensor of type long, but got a tensor with {at.ndim} dims of type {at.dtype}")
        at = at.tolist()
    if isinstance(at, int):
        if at <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {at}")
        q, r = divmod(n, at)
        return _pieces(input, [q + 1] * r + [q] * (at - r), d)
    cuts = [i + n if i < 0 else i for i in at]
    views, last = [], 0
    for c in [*cuts, n]:
        views.append((*indexing.bound(last, max(c, 0), 1, n),))
        last = max(c, 0)
    if all(a[1] == b[0] for a, b in zip(views, views[1:])) and views[0][0] == 0 and views[-1][1] == n:
        return _pieces(input, [b - a for a, b in views], d)
    return tuple(slice_along(input, d, a, b) for a, b in views)


def _split_alias(name, dim, least):
    def pieces(input, indices_or_sections):
        if input._array.ndim < least:
            raise RuntimeError(f"torch.{name} requires a tensor with at least {least} dimension{'s' if least > 1 else ''}, but got "
                               f"a tensor with {input._array.ndim} dimensions!".replace("torch.", ""))
        d = 0 if name == "hsplit" and input._array.ndim == 1 else dim
        n = input._array.shape[d]
        if isinstance(indices_or_sections, int) and (indices_or_sections <= 0 or n % indices_or_sections):
            raise RuntimeError(f"{name} attempted to split along dimension {d}, but the size of the dimension {n} is not divisible "
                               f"by the split_size {indices_or_sections}!")
        return tensor_split(input, indices_or_sections, d)
    pieces.__name__ = pieces.__qualname__ = name
    pieces.__doc__ = f"`tensor_split` along dimension {dim}, into equal pieces where a number is given."
    function()(pieces)


_split_alias("vsplit", 0, 2)
_split_alias("hsplit", 1, 1)
_split_alias("dsplit", 2, 3)


@function("unstack")
def unbind(input, dim=0):
    """The slices along a dimension, as a tuple."""
    if not input._array.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    d = dims.one(dim, input._array.ndim)
    return apply(unbind_op, (input,), {"dim": d}) if input._array.shape[d] else ()


FUNCTIONS["unstack"] = lambda x, *, axis=0: unbind(x, axis)


# ---- other element types over the same memory ------------------------------------------------------------------------
def _reinterpret(a, dtype):
    if a.itemsize == dtype.itemsize or not a.ndim:
        return a.view(dtype.np)
    if a.shape[-1] != 1 and a.strides[-1] != a.itemsize and a.size:
        raise RuntimeError("self.stride(-1) must be 1 to view a tensor of another element size")
    if a.flags.c_contiguous:
        return a.view(dtype.np)
    size = a.shape[-1] * a.itemsize // dtype.itemsize
    return np.ndarray((*a.shape[:-1], size), dtype.np, _bytes_from(a), 0, (*a.strides[:-1], dtype.itemsize))


def _bytes_from(a):
    """The memory from the first element on, as bytes."""
    item = a.itemsize
    low, high = _extent(a.shape, _element_strides(a))
    if low < 0:
        raise RuntimeError("view(dtype): negative strides are not supported for an element type of another size")
    return indexing.strided(a, (high + 1,), (1,)).view(np.uint8) if item else a


view_dtype_op = ViewOp("view_dtype", _reinterpret, samples=lambda make: [Sample(make(2, 4), dtype=dtypes.int32)])


def _view_as_type(self, dtype):
    a, item = self._array, self._array.itemsize
    if dtype.itemsize != item:
        if not a.ndim:
            raise RuntimeError(f"self.dim() cannot be 0 to view {self.dtype.letter} as {dtype.letter} (different element sizes)")
        if a.shape[-1] * item % dtype.itemsize:
            raise RuntimeError(f"self.size(-1) must be divisible by {dtype.itemsize // item} to view {self.dtype.letter} as "
                               f"{dtype.letter} (different element sizes), but got {a.shape[-1]}")
    return self.view_as(self) if dtype is self.dtype else apply(view_dtype_op, (self,), {"dtype": dtype})


_complex_samples = lambda make: [Sample(make(2, 3).to(dtypes.complex128)), Sample(make().to(dtypes.complex128))]  # noqa: E731


def _as_real(a):
    return a[..., None].view(a.real.dtype)


def _as_complex(a):
    return a.view(np.result_type(a.dtype, np.complex64)).reshape(a.shape[:-1]) if a.flags.c_contiguous else \
        np.ndarray(a.shape[:-1], np.result_type(a.dtype, np.complex64), _bytes_from(a), 0, a.strides[:-1])


def _real_vjp(g, _y, _x):
    return [apply(complex_op, (g, FUNCTIONS["zeros_like"](g)), {})]


def _imag_vjp(g, _y, _x):
    return [apply(complex_op, (FUNCTIONS["zeros_like"](g), g), {})]


real_op = ViewOp("real", lambda a: a.real, _real_vjp, samples=_complex_samples)
imag_op = ViewOp("imag", lambda a: a.imag, _imag_vjp, samples=_complex_samples)
view_as_real_op = ViewOp("view_as_real", _as_real, lambda g, _y, _x: [_complex_from(g)], samples=_complex_samples)
view_as_complex_op = ViewOp("view_as_complex", _as_complex, lambda g, _y, _x: [view_as_real(g)],
                            samples=lambda make: [Sample(make(3, 2)), Sample(make(2))])


def _complex_from(g):
    return view_as_complex(g if g._array.flags.c_contiguous else g.contiguous())


@function(method=False)
def view_as_real(input):
    """A complex tensor as a real one with a last dimension (real, imaginary); the same memory."""
    if input.dtype.kind != COMPLEX:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return apply(view_as_real_op, (input,), {})


@function(method=False)
def view_as_complex(input):
    """A real tensor whose last dimension is (real, imaginary) as a complex one; the same memory."""
    a = input._array
    if input.dtype.kind != FLOAT or a.itemsize < 4:
        raise RuntimeError("view_as_complex is only supported for floating point tensors, but got a tensor of scalar type: "
                           f"{input.dtype.letter}")
    if not a.ndim:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if a.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if a.size and a.strides[-1] != a.itemsize:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if a.size and any(s % (2 * a.itemsize) for s, n in zip(a.strides[:-1], a.shape) if n > 1):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    return apply(view_as_complex_op, (input,), {})


@function(method=False)
def real(input):
    """The real part of a complex tensor, as a view; a real tensor itself."""
    return apply(real_op, (input,), {}) if input.dtype.kind == COMPLEX else input


@function(method=False)
def imag(input):
    """The imaginary part of a complex tensor, as a view."""
    if input.dtype.kind != COMPLEX:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return apply(imag_op, (input,), {})


def _set_part(get):
    def setter(self, value):
        get(self).copy_(value)
    return setter


METHODS["real"], METHODS["imag"] = property(real, _set_part(real)), property(imag, _set_part(imag))


# ---- at least so many dimensions -------------------------------------------------------------------------------------
def _atleast(name, grow):
    def atleast(*tensors):
        if len(tensors) == 1 and is_tensor(tensors[0]):
            return grow(tensors[0])
        if len(tensors) == 1:
            tensors = tensors[0]
        return tuple(grow(x) for x in tensors)
    atleast.__name__ = atleast.__qualname__ = name
    atleast.__doc__ = f"The tensors with at least {name[8]} dimension(s), by adding dimensions of size one."
    return function(method=False)(atleast)


atleast_1d = _atleast("atleast_1d", lambda x: x if x._array.ndim else x.reshape(1))
atleast_2d = _atleast("atleast_2d", lambda x: x if x._array.ndim > 1 else x.unsqueeze(0) if x._array.ndim else x.reshape(1, 1))
atleast_3d = _atleast("atleast_3d", lambda x: x if x._array.ndim > 2 else x.unsqueeze(-1) if x._array.ndim == 2 else
                      x.unsqueeze(0).unsqueeze(-1) if x._array.ndim else x.reshape(1, 1, 1))


# ---- the in-place forms change only what the tensor says of its memory -----------------------------------------------
def reshape_inplace(op, t, attrs):
    """Replace a tensor's shape and strides by those of a view of itself, with history."""
    name = op.name + "_"
    if modes.state.observers:
        return modes.state.observers[-1].inplace(op, t, (), attrs)
    if modes.state.flags & modes.GRAD and t.requires_grad:
        source = t if t._base is None else t._base
        if source._rg & 1 and source._node is None:
            what = "a leaf Variable" if source is t else "a view of a leaf Variable"
            raise RuntimeError(f"{what} that requires grad is being used in an in-place operation ({name}).")
        ip.check_view_for_history(t, name)
        node = Node(op, (edge_of(t),), attrs)
        node.save((t,), t, op)
        t._array, t._node = op.forward(t._array, **attrs), node
    else:
        t._array = op.forward(t._array, **attrs)
    t._bump(name)
    return t


@method()
def squeeze_(self, dim=None):
    """`squeeze`, in place."""
    return reshape_inplace(squeeze_op, self, {"dim": _squeezed(self, dim)})


@method()
def unsqueeze_(self, dim):
    """`unsqueeze`, in place."""
    return reshape_inplace(unsqueeze_op, self, {"dim": dims.one(dim, self._array.ndim + 1)})


@method("swapdims_", "swapaxes_")
def transpose_(self, dim0, dim1):
    """`transpose`, in place."""
    n = self._array.ndim
    dim0, dim1 = dims.one(dim0, n), dims.one(dim1, n)
    return reshape_inplace(transpose_op, self, {"dim0": dim0, "dim1": dim1}) if n else self


@method()
def t_(self):
    """`t`, in place."""
    if self._array.ndim > 2:
        raise RuntimeError(f"t_() expects a tensor with <= 2 dimensions, but self is {self._array.ndim}D")
    return transpose_(self, 0, self._array.ndim - 1 if self._array.ndim else 0)


@method()
def as_strided_(self, size, stride, storage_offset=None):
    """`as_strided`, in place."""
    offset = 0 if storage_offset is None else storage_offset - self.storage_offset()
    return reshape_inplace(as_strided_op, self, {"size": sizes((size,), "as_strided_"), "stride": sizes((stride,), "as_strided_",
        "stride"),
                                                 "offset": offset, "base_stride": _element_strides(self._array)})
