"""Which part each row of the values is of, and how parts are padded to one length.

A *row* is a slice of the values at one place of the ragged dimension.
"""
from __future__ import annotations

from typing import Any

from ..dtypes import int64
from ..ops.sparse_products import rows_of
from ..ops.surface import FUNCTIONS as F
from .rules import rule
from .tensor import NestedTensor, is_nested


def lengths_of(x: NestedTensor) -> Any:
    """The length of each part."""
    return x._offsets.diff() if x._lengths is None else x._lengths


def longest(x: NestedTensor) -> int:
    """The length of the longest part."""
    if x._longest is not None:
        return x._longest
    return int(lengths_of(x).max().item()) if x._offsets.shape[0] > 1 else 0


def offsets_of(lengths: Any) -> Any:
    """Where each part begins, and the last ends."""
    zero = F["zeros"](1, dtype=int64, device=lengths.device)
    return F["cat"]([zero, lengths.to(int64).cumsum(0)])


def parts_of_rows(x: NestedTensor) -> Any:
    """For each row the part that it is of; the one before it, where it is of none."""
    count = x._held.shape[x._ragged - 1]
    if x._lengths is None:
        return rows_of(x._offsets, count)
    at = F["arange"](count, device=x._offsets.device)
    last = max(x._offsets.shape[0] - 2, 0)
    return (F["searchsorted"](x._offsets, at, right=True) - 1).clamp(0, last)


def rows(x: NestedTensor) -> Any:
    """The values with the ragged dimension in front."""
    return x._held.movedim(x._ragged - 1, 0)


def with_rows(x: NestedTensor, values: Any) -> NestedTensor:
    """The same structure with other rows."""
    return x._with(values.movedim(0, x._ragged - 1))


def without_gaps(x: NestedTensor) -> NestedTensor:
    """The parts of x, none of which ends before the next one begins."""
    if x._lengths is None:
        return x
    offsets = offsets_of(x._lengths)
    count = int(x._lengths.sum().item())
    moved = x._offsets[:-1] - offsets[:-1]
    at = F["arange"](count, device=offsets.device) + moved.index_select(0, rows_of(offsets, count))
    return NestedTensor(x._held.index_select(x._ragged - 1, at), offsets, None, x._ragged,
                        x._shortest, x._longest)


def have_same_parts(a: NestedTensor, b: NestedTensor) -> bool:
    """Have both parts of the same sizes at the same places?"""
    return (a._ragged == b._ragged and a._held.shape == b._held.shape
            and bool(F["equal"](a._offsets, b._offsets))
            and bool(F["equal"](lengths_of(a), lengths_of(b))))


def padded_places(x: NestedTensor, length: int) -> Any:
    """Where each row is among those of all parts, padded to a length."""
    part = parts_of_rows(x)
    at = F["arange"](part.shape[0], device=part.device)
    return at + (F["arange"](x._offsets.shape[0] - 1, device=part.device) * length
                 - x._offsets[:-1]).index_select(0, part)


def padded(x: NestedTensor, padding: Any, length: int | None = None) -> Any:
    """A dense tensor of the parts, each filled up to the longest or to a length."""
    x = without_gaps(x)
    length = longest(x) if length is None else length
    count, of_rows = x._offsets.shape[0] - 1, rows(x)
    rest = of_rows.shape[1:]
    if of_rows.shape[0] != count * length:
        whole = F["full"]((count * length, *rest), padding, dtype=x.dtype, device=x.device)
        of_rows = whole.index_copy(0, padded_places(x, length), of_rows)
    return of_rows.reshape(count, length, *rest).movedim(1, x._ragged)


def unpadded(dense: Any, like: NestedTensor) -> NestedTensor:
    """The parts' rows of a dense tensor in which each is filled up. Without gaps."""
    by_part = dense.movedim(like._ragged, 1)
    count, length, *rest = by_part.shape
    of_rows = by_part.reshape(count * length, *rest)
    if like._held.shape[like._ragged - 1] != count * length:
        of_rows = of_rows.index_select(0, padded_places(like, length))
    return with_rows(like, of_rows)


@rule("to_padded_tensor")
def to_padded_tensor(input: Any, padding: float, output_size: Any = None) -> Any:
    """A dense tensor of the parts, filled up with `padding` to the longest, or to `output_size`.

    >>> import whet
    >>> nt = whet.nested.nested_tensor([[1., 2., 3.], [4.]])
    >>> whet.nested.to_padded_tensor(nt, 0.)
    tensor([[1., 2., 3.],
            [4., 0., 0.]])
    """
    if not is_nested(input):
        raise NotImplementedError(
            "Could not run 'to_padded_tensor' with arguments of layout whet.strided: it is of "
            "nested tensors.")
    if output_size is None:
        return padded(input, padding)
    wanted, length = tuple(output_size), longest(input)
    least = [*input.shape]
    least[input._ragged] = length
    if len(wanted) != len(least):
        raise RuntimeError("to_padded_tensor: output_size must have as many sizes as the tensor "
                           f"has dimensions: {len(least)}, but got {len(wanted)}")
    if any(n < m for n, m in zip(wanted, least, strict=True)):
        raise RuntimeError("Value in output_size is less than NestedTensor padded size. "
                           "Truncation is not supported.")
    dense = padded(input, padding, wanted[input._ragged])
    more = [n - m for n, m in zip(wanted, dense.shape, strict=True)]
    if not any(more):
        return dense
    return F["constant_pad_nd"](dense, [k for n in reversed(more) for k in (0, n)], padding)
