"""Ops that move elements without computing: rolling, flipping, triangles and diagonals."""
import builtins
import itertools
from functools import lru_cache, partial

import numpy as np

from .. import devices
from ..cpu import memory, pointwise, taped_launches
from ..ir import scalar as s
from ..ir.outline import Outline, like_first
from ..layouts import contiguous_format
from ..size_arguments import as_int, sizes, whole
from . import dims
from .batching import native, shifted
from .onnx import shapes as in_onnx
from .out_types import OutType
from .pointwise_family import inplace
from .registry import MoveOp, Op, apply
from .sample_inputs import Sample
from .strided_views import diagonal, undiagonal_op
from .surface import METHODS, function, method
from .view import reshape


# ---- rolling and turning -------------------------------------------------------------------------
def _rolled(out, a, shifts, dims):
    """Each dimension is cut in two, which change places."""
    parts = [[(builtins.slice(None),) * 2] for _ in a.shape]
    for d in set(dims):
        n = a.shape[d]
        k = sum([s for s, e in zip(shifts, dims) if e == d]) % n if n else 0
        if k:
            parts[d] = [(builtins.slice(k, None), builtins.slice(None, n - k)),
                        (builtins.slice(None, k), builtins.slice(n - k, None))]
    return [(out[(*[p[0] for p in part], ...)], a[(*[p[1] for p in part], ...)])
            for part in itertools.product(*parts)]


roll_op = MoveOp(
    "roll", lambda a, **kw: a.shape, _rolled, lambda g, _y, _x, shifts, dims: [
        apply(roll_op, (g,), {"shifts": tuple([-s for s in shifts]), "dims": dims})],
    samples=lambda make: [
        Sample(make(4, 3), shifts=(1,), dims=(0,)),
        Sample(make(2, 3), shifts=(-1, 5), dims=(0, 1)),
        Sample(make(0, 3), shifts=(1,), dims=(0,))], batch=shifted("dims"), onnx=in_onnx.rolled)


@function()
def roll(input, shifts, dims=None):
    """Elements moved along dimensions; what leaves at one end comes in at the other.

    >>> import whet
    >>> whet.arange(4).roll(1)
    tensor([3, 0, 1, 2])
    """
    shifts = sizes((shifts,), "roll", "shifts")
    if dims is None or isinstance(dims, tuple | list) and not dims:
        if len(shifts) != 1:
            raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:0")
        return reshape(roll(reshape(input, (-1,)), shifts, (0,)), input._array.shape)
    dims = sizes((dims,), "roll", "dims")
    if len(shifts) != len(dims):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    return apply(roll_op, (input,),
                 {"shifts": shifts, "dims": tuple([_dim(d, input._array.ndim) for d in dims])})


_dim = dims.one


def _flipped(out, a, dims):
    return [(out, a[(*[builtins.slice(None, None, -1 if d in dims else 1)
                       for d in range(a.ndim)], ...)])]


flip_op = MoveOp(
    "flip", lambda a, dims: a.shape, _flipped,
    lambda g, _y, _x, dims: [apply(flip_op, (g,), {"dims": dims})], samples=lambda make: [
        Sample(make(2, 3), dims=(0,)),
        Sample(make(2, 3, 2), dims=(0, 2)),
        Sample(make(), dims=()),
        Sample(make(0, 2), dims=(0,))], batch=shifted("dims", least=0), onnx=in_onnx.flipped)


roll_op.any_sizes = flip_op.any_sizes = True


@function()
def flip(input, dims):
    """The elements in reverse order along the given dimensions, copied.

    >>> import whet
    >>> whet.flip(whet.tensor([[1, 2], [3, 4]]), [1])
    tensor([[2, 1],
            [4, 3]])
    """
    dims = tuple([_dim(d, input._array.ndim) for d in sizes((dims,), "flip", "dims")])
    if len(set(dims)) != len(dims):
        raise RuntimeError(
            f"dim {next(d for d in dims if dims.count(d) > 1)} appears multiple times in the list "
            "of dims")
    return apply(flip_op, (input,), {"dims": dims if input._array.ndim else ()})


@method("flip")
def _flip(self, *numbers, dims=None):
    """See `whet.flip`.

    >>> import whet
    >>> whet.tensor([[1, 2], [3, 4]]).flip(0)
    tensor([[3, 4],
            [1, 2]])
    """
    return flip(
        self, dims if dims is not None else
        numbers[0] if len(numbers) == 1 and not isinstance(numbers[0], int) else numbers)


@function()
def fliplr(input):
    """The columns in reverse order.

    >>> import whet
    >>> whet.fliplr(whet.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, (1,))


@function()
def flipud(input):
    """The rows in reverse order.

    >>> import whet
    >>> whet.flipud(whet.tensor([[1, 2], [3, 4]]))
    tensor([[3, 4],
            [1, 2]])
    """
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, (0,))


@function()
def rot90(input, k=1, dims=(0, 1)):
    """Two dimensions turned by k quarters, from the first towards the second.

    >>> import whet
    >>> whet.rot90(whet.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    a, b = (_dim(d, input.ndim) for d in dims)
    if a == b:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    k = as_int(k, "rot90", "k") % 4
    if k == 0:
        return input.clone()
    if k == 2:
        return flip(input, (a, b))
    return flip(input, (b,)).transpose(a, b) if k == 1 else flip(input, (a,)).transpose(a, b)


# ---- triangles -----------------------------------------------------------------------------------
_BITS = {size: f"u{size}" for size in (1, 2, 4, 8)}


@lru_cache(256)
def _triangle_kernel(keep, diagonal):
    x, row, column = s.args(3)
    return pointwise.Pointwise("triangle", (s.where(keep(column - row, diagonal), x, 0),), 3)


def _choose(keep, out, a, diagonal):
    """A triangle by one kernel: rows and columns are compared. Is it done?"""
    if a.itemsize not in _BITS or type(a) is Outline:
        return False
    bits = _BITS[a.itemsize]
    rows, columns = (taped_launches.table(np.arange(n)) for n in a.shape[-2:])
    _triangle_kernel(keep, diagonal)([a.view(bits), rows[:, None], columns], [out.view(bits)])
    return True


def _triangular(name, keep, example):
    def forward(a, diagonal):
        if a.size and type(a) is not Outline:
            out = memory.empty(a.shape, a.dtype)
            if _choose(keep, out, a, diagonal):
                return out
        mask = keep(np.arange(a.shape[-1])[None, :] - np.arange(a.shape[-2])[:, None], diagonal)
        return np.where(mask, a, np.zeros((), a.dtype))

    op = Op(
        name, forward, lambda g, _y, _x, diagonal: [apply(op, (g,), {"diagonal": diagonal})],
        samples=lambda make: [
            Sample(make(3, 4), diagonal=0),
            Sample(make(2, 3, 3), diagonal=-1),
            Sample(make(3, 2), diagonal=1),
            Sample(make(0, 2), diagonal=0)], linear=(0,), batch=native,
        onnx=in_onnx.triangle(name == "triu"))
    op.any_sizes = op.keeps_sizes = op.total = op.launches = True
    op.write_by_kernels, op.outlined = partial(_choose, keep), like_first
    op.forward_on_device = lambda a, diagonal: devices.beyond.pointwise.triangle(a, keep, diagonal)

    def check(input):
        if input._array.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")

    def triangle(input, diagonal=0):
        check(input)
        return apply(op, (input,), {"diagonal": as_int(diagonal, name, "diagonal", index=whole)})

    def triangle_(self, diagonal=0):
        check(self)
        return inplace(op, self, (), {"diagonal": as_int(diagonal, name, "diagonal", index=whole)})
    triangle.__name__ = triangle.__qualname__ = name
    triangle.__doc__ = (
        f"Matrices with zeros {'above' if name == 'tril' else 'below'} the given diagonal.\n\n"
        f">>> import whet\n>>> whet.{name}(whet.tensor([[1., 2.], [3., 4.]]))\n{example}")
    triangle_.__name__, triangle_.__doc__ = name + "_", f"`{name}`, in place."
    METHODS[name + "_"] = triangle_
    return function(out=True)(triangle)


tril = _triangular("tril", lambda above, k: above <= k, "tensor([[1., 0.],\n        [3., 4.]])")
triu = _triangular("triu", lambda above, k: above >= k, "tensor([[1., 2.],\n        [0., 4.]])")


# ---- diagonals -----------------------------------------------------------------------------------
@function()
def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """The last dimension as a diagonal of two new ones, zeros elsewhere.

    >>> import whet
    >>> whet.diag_embed(whet.tensor([[1., 2.]])).shape
    whet.Size([1, 2, 2])
    """
    n = input._array.ndim + 1
    d1, d2 = dims.one(dim1, n), dims.one(dim2, n)
    if d1 == d2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if not input._array.ndim:
        raise RuntimeError("diag_embed: the input must have at least one dimension")
    m = input._array.shape[-1] + abs(offset)
    size = list(input._array.shape[:-1])
    for d in sorted((d1, d2)):
        size.insert(d, m)
    return apply(undiagonal_op, (input,),
                 {"size": tuple(size), "offset": offset, "dim1": d1, "dim2": d2})


@function(out=True)
def diag(input, diagonal=0):
    """A vector as a diagonal matrix, or the diagonal of a matrix (copied).

    >>> import whet
    >>> whet.diag(whet.tensor([1., 2.]))
    tensor([[1., 0.],
            [0., 2.]])
    """
    if input._array.ndim == 1:
        return diag_embed(input, diagonal)
    if input._array.ndim == 2:
        return _diagonal_of(input, diagonal).clone()
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input._array.ndim}D")


_diagonal_of = diagonal


@function()
def diagflat(input, offset=0):
    """The flattened tensor as a diagonal matrix.

    >>> import whet
    >>> whet.diagflat(whet.tensor([[1., 2.]]))
    tensor([[1., 0.],
            [0., 2.]])
    """
    return diag_embed(reshape(input, (-1,)), offset)


# ---- products of shapes --------------------------------------------------------------------------
@function(out=True, out_type=OutType.CASTS)
def kron(input, other):
    """The Kronecker product: each element of `input` times all of `other`, as blocks.

    >>> import whet
    >>> whet.kron(whet.tensor([1., 10.]), whet.tensor([1., 2.]))
    tensor([ 1.,  2., 10., 20.])
    """
    n = max(input.ndim, other.ndim)
    a = (1,) * (n - input.ndim) + tuple(input.shape)
    b = (1,) * (n - other.ndim) + tuple(other.shape)
    left = input.reshape([k for s in a for k in (s, 1)])
    right = other.reshape([k for s in b for k in (1, s)])
    return (left * right).reshape([s * t for s, t in zip(a, b)])


@function()
def channel_shuffle(input, groups):
    """Channels dealt out over the groups.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.channel_shuffle(whet.arange(4.).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    if input.ndim < 3:
        raise RuntimeError(
            "channel_shuffle expects input with > 2 dims, but got input with sizes "
            f"{list(input.shape)}")
    c = input.shape[1]
    if groups <= 0:
        raise RuntimeError(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if c % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups."
        )
    if groups in (1, c):                 # in order already, and not to be a view
        return input.clone(memory_format=contiguous_format)
    x = input.reshape(input.shape[0], groups, c // groups, *input.shape[2:])
    return x.transpose(1, 2).reshape(input.shape)
