"""Views: other shapes and parts of the same memory. Nothing is copied; writes are seen by all.

Each op is one kind of index map. `slice` is every basic index at once: whole numbers, slices and
new axes.
"""
import builtins
from math import prod

import numpy as np

from .. import size_arguments, strided_memory
from ..size_arguments import sizes
from ..tensor import Size
from . import dims, docstrings
from .batching import aligned, shifted
from .onnx import shapes as in_onnx
from .registry import MoveOp, Op, apply, is_tensor, unrecorded, view_of
from .sample_inputs import Sample
from .surface import FUNCTIONS, METHODS, function, method


class ViewOp(Op):
    """An op whose result is a part or a reordering of its input's memory."""
    family = "view"
    is_view = True
    linear = (0,)

# ---- reshape -------------------------------------------------------------------------------------
def _dense(a, r):
    """`r`, that is `a` in another shape, with the strides of row-major memory where `a` is that.
    NumPy lets an array of this shape be."""
    return a.reshape(-1).reshape(r.shape) if r.shape == a.shape and a.flags.c_contiguous else r


def _view(a, size):
    try:
        return _dense(a, a.reshape(size, copy=False))
    except ValueError:
        if a.size == 0:
            return strided_memory.strided(a, size, strided_memory.dense_strides(size))
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        ) from None


view_op = ViewOp(
    "view", _view, lambda g, _y, _x, size: [reshape(g, _x.shape)],
    samples=lambda make: [
        Sample(make(2, 3), size=(3, 2)), Sample(make(2, 3), size=(6,)),
        Sample(make(), size=(1, 1)), Sample(make(0, 3), size=(3, 0)), Sample(make(1), size=())],
    batch=shifted(sizes=("size",), least=0), onnx=lambda b, x, size: b.reshape(x, size))
reshape_op = MoveOp(
    "reshape", lambda a, size: size, lambda out, a, size: [(out.reshape(a.shape), a)],
    lambda g, _y, _x, size: [reshape(g, _x.shape)],
    samples=lambda make: [
        Sample(make(2, 3).t(), size=(6,)), Sample(make(2, 3, 4).transpose(1, 2), size=(2, 12))],
    batch=shifted(sizes=("size",), least=0), onnx=lambda b, x, size: b.reshape(x, size))

view_op.keeps_elements = reshape_op.keeps_elements = True


def reshape(input, shape):
    """The tensor in another shape: a view where the memory allows it, else a copy.

    >>> import whet
    >>> whet.reshape(whet.arange(6), (2, -1))
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    a = input._array
    size = size_arguments.infer_size(sizes((shape,), "reshape"), a.size)
    if not a.flags.c_contiguous:
        try:
            a.reshape(size, copy=False)
        except ValueError:
            if a.size:
                return apply(reshape_op, (input,), {"size": size})
    return apply(view_op, (input,), {"size": size})


FUNCTIONS["reshape"] = reshape
reshape.__module__ = "whet"


def _reshape_method(self, *sizes, shape=None):
    """See `whet.reshape`.

    >>> import whet
    >>> whet.arange(6).reshape(2, 3)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    shape, a = sizes if shape is None else (shape,), self._array
    if a.flags.c_contiguous and unrecorded(self):
        try:
            # NumPy takes any negative size for -1
            if min(shape if type(shape[0]) is int else shape[0], default=0) >= -1:
                return view_of(self, _dense(a, a.reshape(*shape)))
        except (IndexError, TypeError, ValueError):
            pass                             # said again below, in this library's words
    return reshape(self, shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)


METHODS["reshape"] = _reshape_method


@method()
def view_as(self, other):
    """`view` in the shape of another tensor.

    >>> import whet
    >>> whet.arange(6).view_as(whet.ones(2, 3)).shape
    whet.Size([2, 3])
    """
    size = size_arguments.infer_size(other._array.shape, self._array.size)
    return apply(view_op, (self,), {"size": size})


@method()
def reshape_as(self, other):
    """`reshape` to the shape of another tensor.

    >>> import whet
    >>> whet.arange(6).reshape_as(whet.ones(2, 3)).shape
    whet.Size([2, 3])
    """
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
    """The elements in row-major order as one dimension; a view where the memory allows it.

    >>> import whet
    >>> whet.ravel(whet.tensor([[1, 2], [3, 4]]))
    tensor([1, 2, 3, 4])
    """
    a = input._array
    return input if a.ndim == 1 and a.flags.c_contiguous else reshape(input, (-1,))


@function()
def unflatten(input, dim, sizes):
    """One dimension as several.

    >>> import whet
    >>> whet.unflatten(whet.arange(6), 0, (2, 3))
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    shape = input._array.shape or (1,)
    d = dims.one(dim, len(shape))
    sizes = size_arguments.sizes((sizes,), "unflatten")
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        inner = size_arguments.infer_size(sizes, shape[d])
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} "
            f"({shape[d]}) in the input tensor") from None
    size = *shape[:d], *inner, *shape[d + 1:]
    return apply(view_op, (input,), {"size": size}) if input.is_contiguous() else (
        reshape(input, size))


def _unsqueeze(a, dim):
    return a[(builtins.slice(None),) * dim + (None, ...)]


unsqueeze_op = ViewOp(
    "unsqueeze", _unsqueeze, lambda g, _y, _x, dim: [squeeze(g, dim)],
    samples=lambda make: [Sample(make(2, 3), dim=1), Sample(make(), dim=0), Sample(make(0), dim=1)],
    batch=shifted("dim", least=0), onnx=lambda b, x, dim: b.unsqueeze(x, (dim,)))


@function()
def unsqueeze(input, dim):
    """A dimension of size one put in at `dim`.

    >>> import whet
    >>> whet.unsqueeze(whet.tensor([1, 2]), 1)
    tensor([[1],
            [2]])
    """
    return apply(unsqueeze_op, (input,), {"dim": dims.one(dim, input._array.ndim + 1)})


def _squeeze(a, dim):
    return a.squeeze(dim)


squeeze_op = ViewOp(
    "squeeze", _squeeze, lambda g, _y, _x, dim: [reshape(g, _x.shape)],
    samples=lambda make: [
        Sample(make(2, 1, 3), dim=(1,)), Sample(make(1, 1), dim=(0, 1)),
        Sample(make(2, 3), dim=())],
    batch=shifted("dim", least=0), onnx=lambda b, x, dim: b.squeeze(x, dim))


def squeezed_dims(input, dim):
    """The dimensions that go, of those that are named."""
    shape = input._array.shape
    if dim is None:
        return tuple([d for d, s in enumerate(shape) if s == 1])
    if not isinstance(dim, tuple | list):
        d = dims.one(dim, len(shape))
        return (d,) if shape and shape[d] == 1 else ()
    return tuple([d for d in dims.many(dim, len(shape)) or () if shape[d] == 1])


@function()
def squeeze(input, dim=None):
    """A view without the dimensions of size one: all of them, or those among `dim`.

    >>> import whet
    >>> whet.zeros(1, 3, 1).squeeze().shape
    whet.Size([3])
    """
    return apply(squeeze_op, (input,), {"dim": squeezed_dims(input, dim)})


# ---- expand --------------------------------------------------------------------------------------
def _expand(a, size):
    r = np.broadcast_to(a, size)
    if a.flags.writeable:
        r.flags.writeable = True
    return r


def _expand_each(op, n, inputs, batched, attrs):
    return apply(op, (aligned(inputs[0], len(attrs["size"])),), {"size": (n, *attrs["size"])})


expand_op = ViewOp(
    "expand", _expand, lambda g, _y, _x, size: [g.sum_to_size(_x.shape)],
    samples=lambda make: [
        Sample(make(3, 1), size=(3, 4)), Sample(make(3), size=(2, 3)), Sample(make(), size=(2, 2)),
        Sample(make(1, 3), size=(0, 3)), Sample(make(2, 3), size=(2, 3))],
    batch=_expand_each, onnx=in_onnx.expanded)


def _expand_size(input, size, op="expand"):
    shape = input._array.shape
    if len(size) < len(shape):
        raise RuntimeError(
            f"{op}(whet.{input.dtype.letter}Tensor{{{list(shape)}}}, size={list(size)}): the "
            f"number of sizes provided ({len(size)}) must be greater or equal to the number of "
            f"dimensions in the tensor ({len(shape)})")
    new = len(size) - len(shape)
    out = list(size)
    for d, s in enumerate(size):
        have = shape[d - new] if d >= new else 1
        if s == -1:
            if d < new:
                raise RuntimeError(
                    f"The expanded size of the tensor ({s}) isn't allowed in a leading, "
                    f"non-existing dimension {d}")
            out[d] = have
        elif s < 0:
            raise RuntimeError(f"expand: invalid size {s} at dimension {d}: {list(size)}")
        elif have != s and have != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({s}) must match the existing size ({have}) at "
                f"non-singleton dimension {d}.  Target sizes: {list(size)}.  "
                f"Tensor sizes: {list(shape)}")
    return tuple(out)


@method()
def expand(self, *shape, size=None, implicit=False):
    """Dimensions of size one repeated without copying; -1 leaves a size as it is.

    >>> import whet
    >>> whet.tensor([[1], [2]]).expand(2, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    shape = sizes(shape if size is None else (size,), "expand")
    return apply(expand_op, (self,), {"size": _expand_size(self, shape)})


@method()
def expand_as(self, other):
    """`expand` to the shape of another tensor.

    >>> import whet
    >>> whet.tensor([[1], [2]]).expand_as(whet.ones(2, 3)).shape
    whet.Size([2, 3])
    """
    return apply(expand_op, (self,), {"size": _expand_size(self, other._array.shape)})


@function()
def broadcast_to(input, size):
    """`expand` to a shape.

    >>> import whet
    >>> whet.broadcast_to(whet.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    size = _expand_size(input, sizes((size,), "broadcast_to"))
    return apply(expand_op, (input,), {"size": size})


@function(method=False)
def broadcast_tensors(*tensors):
    """The tensors expanded to their common shape.

    >>> import whet
    >>> a, b = whet.broadcast_tensors(whet.ones(2, 1), whet.ones(3))
    >>> a.shape, b.shape
    (whet.Size([2, 3]), whet.Size([2, 3]))
    """
    if len(tensors) == 1 and isinstance(tensors[0], list | tuple):
        tensors = tensors[0]
    shape = _common_shape([t._array.shape for t in tensors])
    return tuple(t if t._array.shape == shape else apply(expand_op, (t,), {"size": shape})
                 for t in tensors)


broadcast_arrays = FUNCTIONS["broadcast_arrays"] = broadcast_tensors


def _common_shape(shapes):
    out = ()
    for s in shapes:
        try:
            out = size_arguments.broadcast_shapes(out, s)
        except RuntimeError:
            n = max(len(out), len(s))
            a, b = (1,) * (n - len(out)) + tuple(out), (1,) * (n - len(s)) + tuple(s)
            d = max(i for i in range(n) if a[i] != b[i] and 1 not in (a[i], b[i]))
            raise RuntimeError(
                f"The size of tensor a ({a[d]}) must match the size of tensor b ({b[d]}) at "
                f"non-singleton dimension {d}") from None
    return out


@function(method=False)
def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes broadcast to.

    >>> import whet
    >>> whet.broadcast_shapes((2, 1), (3,))
    whet.Size([2, 3])
    """
    shapes = [size_arguments.numbers(sizes((s,), "broadcast_shapes", "shapes")) for s in shapes]
    if any(n < 0 for s in shapes for n in s):
        raise ValueError("Attempting to broadcast a dimension with negative length!")
    return Size(size_arguments.broadcast_shapes(*shapes))


# ---- permute -------------------------------------------------------------------------------------
def _inverse(order):
    out = [0] * len(order)
    for i, d in enumerate(order):
        out[d] = i
    return tuple(out)


def _permute_each(op, n, inputs, batched, attrs):
    return apply(op, inputs, {"dims": (0, *[d + 1 for d in attrs["dims"]])})


permute_op = ViewOp(
    "permute", lambda a, dims: a.transpose(dims),
    lambda g, _y, _x, dims: [apply(permute_op, (g,), {"dims": _inverse(dims)})],
    samples=lambda make: [
        Sample(make(2, 3, 4), dims=(2, 0, 1)), Sample(make(), dims=()),
        Sample(make(0, 2), dims=(1, 0))],
    batch=_permute_each, onnx=lambda b, x, dims: in_onnx.transposed(b, x, dims))
transpose_op = ViewOp(
    "transpose", lambda a, dim0, dim1: a.swapaxes(dim0, dim1),
    lambda g, _y, _x, dim0, dim1: [apply(transpose_op, (g,), {"dim0": dim0, "dim1": dim1})],
    samples=lambda make: [
        Sample(make(2, 3, 4), dim0=0, dim1=2), Sample(make(0, 2), dim0=0, dim1=1)],
    batch=shifted("dim0", "dim1"), onnx=in_onnx.swapped)


def permute(input, dims):
    """The dimensions in another order.

    >>> import whet
    >>> whet.permute(whet.zeros(2, 3, 4), (2, 0, 1)).shape
    whet.Size([4, 2, 3])
    """
    order = sizes((dims,), "permute", "dims")
    n = input._array.ndim
    if len(order) != n:
        raise RuntimeError(
            "permute(): number of dimensions in the tensor input does not match the length of the "
            f"desired ordering of dimensions i.e. input.dim() = {n} is not equal to "
            f"len(dims) = {len(order)}")
    order = tuple([_dim(d, n) for d in order])
    if len(set(order)) != n:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return apply(permute_op, (input,), {"dims": order})


_dim = dims.one
FUNCTIONS["permute"] = permute
permute.__module__ = "whet"


def _permute_method(self, *order, dims=None):
    """See `whet.permute`.

    >>> import whet
    >>> whet.ones(2, 3, 4).permute(2, 0, 1).shape
    whet.Size([4, 2, 3])
    """
    if dims is not None:
        order = (dims,)
    return permute(self, order[0] if len(order) == 1 and not isinstance(order[0], int) else order)


METHODS["permute"] = _permute_method


@function("swapaxes", "swapdims")
def transpose(input, dim0, dim1):
    """Two dimensions exchanged.

    >>> import whet
    >>> whet.transpose(whet.ones(2, 3, 4), 0, 2).shape
    whet.Size([4, 3, 2])
    """
    n = input._array.ndim
    dim0, dim1 = dims.one(dim0, n), dims.one(dim1, n)
    if not n:
        return apply(permute_op, (input,), {"dims": ()})
    return apply(transpose_op, (input,), {"dim0": dim0, "dim1": dim1})


METHODS["swapaxes"] = lambda self, axis0, axis1: transpose(self, axis0, axis1)


@function()
def t(input):
    """A matrix transposed.

    >>> import whet
    >>> whet.t(whet.tensor([[1, 2], [3, 4]]))
    tensor([[1, 3],
            [2, 4]])
    """
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
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should "
            f"contain the same number of dims as destination ({list(destination)} dims)")
    source, destination = [dims.one(d, n) for d in source], [dims.one(d, n) for d in destination]
    for name, ds in (("source", source), ("destination", destination)):
        if len(set(ds)) != len(ds):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({ds})")
    order = [d for d in range(n) if d not in source]
    for to, d in sorted(zip(destination, source)):
        order.insert(to, d)
    return tuple(order) if n else ()


@function()
def movedim(input, source, destination):
    """Dimensions moved to other places; the rest keep their order.

    >>> import whet
    >>> whet.movedim(whet.ones(2, 3, 4), 0, -1).shape
    whet.Size([3, 4, 2])
    """
    order = _moved(input, source, destination)
    return apply(permute_op, (input,), {"dims": order})


FUNCTIONS["moveaxis"] = METHODS["moveaxis"] = movedim


@function()
def adjoint(input):
    """Matrices transposed and conjugated.

    >>> import whet
    >>> whet.adjoint(whet.tensor([[1 + 1j, 2 + 0j]]))
    tensor([[1.-1.j],
            [2.-0.j]])
    """
    if input.ndim == 1:
        raise RuntimeError("tensor.adjoint() is only supported on matrices or batches of matrices. "
                           "Got 1-D tensor.")
    return transpose(input, -2, -1).conj() if input.ndim else input.conj()


def _matrix_transpose(self):
    """Matrices transposed."""
    if not self._array.ndim:
        return self.view_as(self)
    if self._array.ndim < 2:
        raise RuntimeError(
            "tensor.mT is only supported on matrices or batches of matrices. Got "
            f"{self._array.ndim}-D tensor.")
    return transpose(self, -2, -1)


def _reverse(self):
    """The dimensions in reverse order."""
    return apply(permute_op, (self,), {"dims": tuple(range(self._array.ndim - 1, -1, -1))})


def _hermitian(self):
    """The matrix transposed and conjugated."""
    if self._array.ndim not in (0, 2):
        raise RuntimeError(
            "tensor.H is only supported on matrices (2-D tensors). Got "
            f"{self._array.ndim}-D tensor.")
    return (transpose(self, 0, 1) if self._array.ndim else self).conj()


METHODS["T"], METHODS["mT"] = property(_reverse), property(_matrix_transpose)
METHODS["H"], METHODS["mH"] = property(_hermitian), property(adjoint)


for _o in (view_op, reshape_op, unsqueeze_op, squeeze_op, expand_op, permute_op, transpose_op):
    _o.any_sizes = True


# ---- at least so many dimensions -----------------------------------------------------------------
def _atleast(name, grow):
    def atleast(*tensors):
        if len(tensors) == 1 and is_tensor(tensors[0]):
            return grow(tensors[0])
        if len(tensors) == 1:
            tensors = tensors[0]
        return tuple(grow(x) for x in tensors)
    atleast.__name__ = atleast.__qualname__ = name
    n = int(name[8])
    atleast.__doc__ = docstrings.with_example(
        f"The tensors with at least {n} dimension{'s' * (n > 1)}, by adding dimensions of size "
        "one.", f"whet.{name}(whet.tensor(5.)).shape", f"whet.Size({[1] * n})")
    return function(method=False)(atleast)


atleast_1d = _atleast("atleast_1d", lambda x: x if x._array.ndim else x.reshape(1))
atleast_2d = _atleast("atleast_2d", lambda x: (
    x if x._array.ndim > 1 else x.unsqueeze(0) if x._array.ndim else x.reshape(1, 1)))
atleast_3d = _atleast("atleast_3d", lambda x: (
    x if x._array.ndim > 2 else x.unsqueeze(-1) if x._array.ndim == 2 else
    x.unsqueeze(0).unsqueeze(-1) if x._array.ndim else x.reshape(1, 1, 1)))
