"""Views of several pieces at once."""

import builtins
from itertools import accumulate

from .. import dtypes, size_arguments
from ..size_arguments import as_int
from . import dims, docstrings
from .batching import shifted
from .creation import zeros
from .onnx import shapes as in_onnx
from .registry import apply, is_tensor, sizes_of
from .sample_inputs import Sample
from .surface import FUNCTIONS, function
from .view import ViewOp
from .view_parts import slice_along


class ViewsOp(ViewOp):
    """A view op with several results."""

    view_is_safe = False


# ---- several views at once -----------------------------------------------------------------------
def _split(a, sizes, dim):
    out, at, before = [], 0, (builtins.slice(None),) * dim
    for n in sizes:
        out.append(a[(*before, builtins.slice(at, at + n))])
        at += n
    if at != a.shape[dim]:                   # where a trace has other sizes than those of the call
        raise RuntimeError(f"pieces of {sizes} are not all of {a.shape[dim]}")
    return tuple(out)


def _filled(gs, shapes, like):
    """The gradients of pieces, with zeros for pieces that have none."""
    there = next(g.device for g in gs if g is not None)
    return [zeros(s, dtype=like.dtype, device=there) if g is None else g
            for g, s in zip(gs, shapes)]


def _split_vjp(gs, _y, _x, sizes, dim):
    shapes = [(*_x.shape[:dim], n, *_x.shape[dim + 1:]) for n in sizes]
    return [FUNCTIONS["cat"](_filled(gs, shapes, _x), dim)]


def _cutting(name):
    """An op that cuts a tensor into pieces of these sizes."""
    op = ViewsOp(
        name,
        _split,
        _split_vjp,
        samples=lambda make: [
            Sample(make(5, 2), sizes=(2, 2, 1), dim=0),
            Sample(make(2, 3), sizes=(0, 3), dim=1),
            Sample(make(4), sizes=(4,), dim=0),
        ],
        batch=shifted("dim"),
        onnx=in_onnx.pieces,
    )
    op.any_sizes, op.size_attrs = True, frozenset(("sizes",))
    return op


split_op = _cutting("split")
# the gradient of a join: as many pieces as were joined, whatever their sizes
unjoin_op = _cutting("unjoin")


def _unbind(a, dim):
    before = (builtins.slice(None),) * dim
    return tuple([a[(*before, i, ...)] for i in range(a.shape[dim])])


def _unbind_vjp(gs, _y, _x, dim):
    shape = tuple(_x.shape)
    shapes = [shape[:dim] + shape[dim + 1:]] * shape[dim]
    return [FUNCTIONS["stack"](_filled(gs, shapes, _x), dim)]


unbind_op = ViewsOp(
    "unbind",
    _unbind,
    _unbind_vjp,
    samples=lambda make: [
        Sample(make(3, 2), dim=0),
        Sample(make(2, 3), dim=1),
        Sample(make(2), dim=0),
    ],
    batch=shifted("dim"),
    onnx=in_onnx.slices,
)
unbind_op.any_sizes = True


def _pieces(input, lengths, dim):
    lengths = tuple([n if type(n) is int else size_arguments.whole(n) for n in lengths])
    return apply(split_op, (input,), {"sizes": lengths, "dim": dim})


@function()
def split(tensor, split_size_or_sections, dim=0):
    """Views of pieces along a dimension: of one size (the last may be smaller), or of the given
    sizes.

    >>> import whet
    >>> whet.arange(5).split(2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    if not tensor._array.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = dims.one(dim, tensor._array.ndim)
    if isinstance(split_size_or_sections, list | tuple):
        return _split_sizes(tensor, split_size_or_sections, d)
    n = sizes_of(tensor)[d]
    k = as_int(split_size_or_sections, "split", "split_size")
    if k < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={k}")
    if k == 0:
        if n:
            raise RuntimeError(
                f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}"
            )
        return _pieces(tensor, (0,), d)
    return _pieces(tensor, _lengths(n, k) or (0,), d)


def _lengths(n, k):
    """The lengths of pieces of `k`, of which the last may be smaller."""
    whole = -(-n // k) - 1
    return [*[k] * whole, n - k * whole] if n else []


def _split_sizes(tensor, lengths, d):
    lengths = [as_int(s, "split", "split_sizes", index=size_arguments.whole) for s in lengths]
    _check_lengths(tensor._array.shape[d], d, lengths)
    return _pieces(tensor, lengths, d) if lengths else ()


@size_arguments.checks
def _check_lengths(n, d, lengths):
    """Raise RuntimeError where pieces of these lengths are not all of a dimension."""
    if any([s < 0 for s in lengths]):
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, but got "
            f"split_sizes={lengths}")
    if sum(lengths) != n:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at "
            f"dimension {d}), but got split_sizes={lengths}")


@function()
def split_with_sizes(input, split_sizes, dim=0):
    """`split` into pieces of the given sizes.

    >>> import whet
    >>> whet.tensor([1, 2, 3]).split_with_sizes([1, 2])
    (tensor([1]), tensor([2, 3]))
    """
    if not input._array.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    return _split_sizes(input, split_sizes, dims.one(dim, input._array.ndim))


@function()
def unsafe_split(input, split_size, dim=0):
    """`split` into pieces that may be written to.

    >>> import whet
    >>> whet.unsafe_split(whet.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))
    """
    return _one_by_one(input, split(input, split_size, dim), dim)


@function()
def unsafe_split_with_sizes(input, split_sizes, dim=0):
    """`split_with_sizes` into pieces that may be written to.

    >>> import whet
    >>> whet.unsafe_split_with_sizes(whet.tensor([1, 2, 3]), [1, 2])
    (tensor([1]), tensor([2, 3]))
    """
    return _one_by_one(input, split_with_sizes(input, split_sizes, dim), dim)


def _one_by_one(input, pieces, dim):
    """The pieces again, each as a view of its own: views that one call makes together may not be
    written to where gradients are recorded."""
    lengths = [piece._array.shape[dim] for piece in pieces]
    starts = accumulate(lengths, initial=0)
    return tuple([input.narrow(dim, start, n) for start, n in zip(starts, lengths)])


@function()
def chunk(input, chunks, dim=0):
    """Views of at most `chunks` pieces of one size (the last may be smaller) along a dimension.

    >>> import whet
    >>> whet.chunk(whet.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))
    """
    if not input._array.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    d = dims.one(dim, input._array.ndim)
    n = sizes_of(input)[d]
    k = -(-n // chunks)
    before = k * (chunks - 1)
    if before < n:                           # the only thing that a trace has to ask of most sizes
        return _pieces(input, [*[size_arguments.whole(k)] * (chunks - 1), n - before], d)
    return _pieces(input, _lengths(n, k) if n else (0,) * chunks, d)


def equal_parts(input, count, dim):
    """`chunk` along a dimension that is a multiple of `count` by construction, as of gates that a
    product has computed side by side. No trace asks whether it is: the op does, at other sizes."""
    d = dims.one(dim, input._array.ndim)
    n = input._array.shape[d]
    return chunk(input, count, d) if n % count else _pieces(input, (n // count,) * count, d)


@function()
def unsafe_chunk(input, chunks, dim=0):
    """`chunk` into pieces that may be written to.

    >>> import whet
    >>> whet.unsafe_chunk(whet.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))
    """
    return _one_by_one(input, chunk(input, chunks, dim), dim)


@function()
def tensor_split(input, indices_or_sections, dim=0):
    """Views of pieces along a dimension: `sections` of almost equal size, or cut at the given
    indices.

    >>> import whet
    >>> whet.tensor_split(whet.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))
    """
    if not input._array.ndim:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    d = dims.one(dim, input._array.ndim)
    n = sizes_of(input)[d]
    at = indices_or_sections
    if is_tensor(at):
        if at.dtype is not dtypes.int64 or at.ndim > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                f"one-dimensional tensor of type long, but got a tensor with {at.ndim} dims of "
                f"type {at.dtype}")
        at = at.tolist()
    if isinstance(at, int):
        if at <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {at}")
        q, r = n // at, n % at
        return _pieces(input, [q + 1] * r + [q] * (at - r), d)
    cuts = [i + n if i < 0 else i for i in at]
    views, last = [], 0
    for c in [*cuts, n]:
        views.append((*size_arguments.bound(last, max(c, 0), 1, n),))
        last = max(c, 0)
    if (
        all(a[1] == b[0] for a, b in zip(views, views[1:]))
        and views[0][0] == 0
        and views[-1][1] == n
    ):
        return _pieces(input, [b - a for a, b in views], d)
    return tuple(slice_along(input, d, a, b) for a, b in views)


def _split_alias(name, dim, least):
    def pieces(input, indices_or_sections):
        if input._array.ndim < least:
            raise RuntimeError(
                f"{name} requires a tensor with at least {least} "
                f"dimension{'s' if least > 1 else ''}, but got a tensor with {input._array.ndim} "
                "dimensions!")
        d = 0 if name == "hsplit" and input._array.ndim == 1 else dim
        n = input._array.shape[d]
        if isinstance(indices_or_sections, int) and (
            indices_or_sections <= 0 or n % indices_or_sections
        ):
            raise RuntimeError(
                f"{name} attempted to split along dimension {d}, but the size of the dimension "
                f"{n} is not divisible by the split_size {indices_or_sections}!")
        return tensor_split(input, indices_or_sections, d)

    pieces.__name__ = pieces.__qualname__ = name
    pieces.__doc__ = docstrings.with_example(
        f"`tensor_split` along dimension {dim}, into equal pieces where a number is given.",
        f"[part.shape for part in whet.{name}(whet.ones(4, 4, 4), [1])]",
        f"[whet.Size({[4] * dim + [1] + [4] * (2 - dim)}), "
        f"whet.Size({[4] * dim + [3] + [4] * (2 - dim)})]")
    function()(pieces)


_split_alias("vsplit", 0, 2)
_split_alias("hsplit", 1, 1)
_split_alias("dsplit", 2, 3)


@function("unstack")
def unbind(input, dim=0):
    """The slices along a dimension, as a tuple.

    >>> import whet
    >>> whet.unbind(whet.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    if not input._array.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    d = dims.one(dim, input._array.ndim)
    return apply(unbind_op, (input,), {"dim": d}) if input._array.shape[d] else ()
