"""Other shapes of the same parts, pieces of them, and several beside each other."""
from __future__ import annotations

import math
import operator
from typing import Any

from ..ops.registry import is_tensor
from ..ops.surface import FUNCTIONS as F
from .padding import lengths_of, without_gaps
from .pointwise import beside_values
from .rules import family, rule
from .sums import wrapped
from .tensor import NestedTensor, RaggedSize, is_nested, refusal


def inner(name: str, x: NestedTensor, dim: int) -> int:
    """A dimension of the parts that all have in common, as one of the values."""
    d = x._dim(dim)
    if d in (0, x._ragged):
        raise RuntimeError(f"{name}(): not supported for NestedTensor on "
                           f"{'ragged dim' if d else 'dim=0'}")
    return d - 1


# ---- parts ---------------------------------------------------------------------------------------
@rule("unbind", "unstack")
def unbind(input: Any, dim: int = 0) -> Any:
    """The parts, as views of the values.

    >>> import whet
    >>> nt = whet.nested.nested_tensor([[1., 2.], [3.]])
    >>> nt.unbind()
    (tensor([1., 2.]), tensor([3.]))
    """
    if input._dim(dim):
        raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
    d = input._ragged - 1
    if input._lengths is None:
        return tuple(input._held.split(lengths_of(input).tolist(), d))
    places = zip(input._offsets.tolist(), input._lengths.tolist(), strict=False)
    return tuple([input._held.narrow(d, begin, n) for begin, n in places])


def _part(x: NestedTensor, i: int) -> Any:
    count = x.shape[0]
    if not -count <= i < count:
        raise IndexError(f"index {i} is out of bounds for dimension 0 with size {count}")
    i %= count
    begin, n = int(x._offsets[i].item()), int(lengths_of(x)[i].item())
    return x._held.narrow(x._ragged - 1, begin, n)


def _some_parts(x: NestedTensor, first: int, last: int) -> NestedTensor:
    """The parts from one to before another."""
    last = max(first, last)
    offsets = x._offsets[first:last + 1]
    if x._lengths is not None:
        return NestedTensor(x._held, offsets, x._lengths[first:last], x._ragged)
    begin, end = int(offsets[0].item()), int(offsets[-1].item())
    held = x._held.narrow(x._ragged - 1, begin, end - begin)
    return NestedTensor(held, offsets - begin, None, x._ragged, x._shortest, None)


@rule("__getitem__")
def getitem(self: Any, index: Any) -> Any:
    """A part, several that follow each other, or elements of trailing dimensions."""
    index = index if isinstance(index, tuple) else (index,)
    index = tuple([operator.index(i) if hasattr(i, "__index__") and not is_tensor(i) else i
                   for i in index])
    if any(not (i is None or i is Ellipsis or isinstance(i, int | slice)) for i in index):
        raise refusal("__getitem__", "only numbers and slices can be indices")
    taken = sum(i is not None and i is not Ellipsis for i in index)
    if taken > self.ndim:
        raise IndexError(f"too many indices for tensor of dimension {self.ndim}")
    if Ellipsis not in [i for i in index if i is None or i is Ellipsis]:
        index = (*index, Ellipsis)
    at = next(k for k, i in enumerate(index) if i is Ellipsis)
    index = (*index[:at], *[slice(None)] * (self.ndim - taken), *index[at + 1:])
    first, rest = index[0], index[1:]
    if first is None:
        raise RuntimeError("unsqueeze(): not supported for NestedTensor on dim=0")
    if isinstance(first, int):
        return _part(self, first)[rest]
    if first != slice(None):
        begin, end, step = first.indices(self.shape[0])
        if step != 1:
            raise refusal("__getitem__", "parts can only be taken as they follow each other")
        self = _some_parts(self, begin, end)
    return _trailing(self, rest)


def _trailing(x: NestedTensor, index: tuple[Any, ...]) -> NestedTensor:
    """Elements by an index for each dimension behind the batch, and for new ones."""
    dim = made = 0
    ragged = x._ragged
    for i in index:
        if i is not None:
            dim += 1
        if dim == x._ragged and i is not None:
            if not isinstance(i, slice) or i != slice(None):
                what = "slice" if isinstance(i, slice) else "select"
                raise RuntimeError(f"{what}(): not supported for NestedTensor on ragged dim")
            ragged = made + 1
        made += not isinstance(i, int)
    return x._with(x._held[index], ragged)


@rule("__setitem__")
def setitem(self: Any, index: Any, value: Any) -> None:
    """Write to a part, or to elements of trailing dimensions."""
    there = getitem(self, index)
    there.copy_(value) if is_nested(there) or is_tensor(value) else there.fill_(value)


@family("select", "select_copy")
def select(func: Any, input: Any, dim: int, index: int) -> Any:
    """A part, or one element of a trailing dimension."""
    if not input._dim(dim):
        return _part(input, index)
    d = inner("select", input, dim)
    return input._with(func(input._held, d, index), input._ragged - (d + 1 < input._ragged))


@rule("chunk", "unsafe_chunk")
def chunk(input: Any, chunks: int, dim: int = 0) -> Any:
    """So many pieces: of the parts, or along a trailing dimension."""
    if input._dim(dim):
        d = inner("chunk", input, dim)
        return tuple(map(input._with, input._held.chunk(chunks, d)))
    if chunks < 1:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    count = input.shape[0]
    size = max(-(-count // chunks), 1)
    return tuple([_some_parts(input, i, min(i + size, count)) for i in range(0, count, size)])


# position of the dimension, and the one where none is given
PIECES = {"split": (1, 0), "split_with_sizes": (1, 0), "tensor_split": (1, 0),
          "unsafe_split": (1, 0), "narrow": (0, None), "index_select": (0, None),
          "flip": (0, None), "roll": (1, None),
          "sort": (0, -1), "argsort": (0, -1), "topk": (1, -1), "glu": (0, -1),
          "kthvalue": (1, -1), "normalize": (1, 1), "cummax": (0, None), "cummin": (0, None),
          "gumbel_softmax": (2, -1)}
NAMES = {"flip": "dims", "roll": "dims"}


@family(*PIECES)
def along(func: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
    """A function along a trailing dimension, which is left there."""
    name = func.__name__
    at, default = PIECES[name]
    called = NAMES.get(name, "dim")
    arguments = list(args)
    dim = arguments[at] if len(arguments) > at else kwargs.pop(called, kwargs.pop("axis", default))
    if dim is None:
        raise refusal(name, "a dimension must be named")
    if name == "flip" and len(arguments) > 1:            # a method may be given several
        dim, arguments = arguments, []
    several = isinstance(dim, list | tuple)
    found = [inner(name, input, d) for d in (dim if several else [dim])]
    new: Any = found if several else found[0]
    if len(arguments) > at:
        arguments[at] = new
    else:
        kwargs[called] = new
    return wrapped(func(input._held, *arguments, **kwargs), input._with)


# ---- shapes --------------------------------------------------------------------------------------
@rule("transpose", "swapaxes", "swapdims", "transpose_copy")
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Two dimensions exchanged, neither of which is the batch."""
    a, b = input._dim(dim0), input._dim(dim1)
    if a == b:
        return input
    if not a or not b:
        raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
    ragged = {a: b, b: a}.get(input._ragged, input._ragged)
    return input._with(input._held.transpose(a - 1, b - 1), ragged)


NestedTensor.mT = property(lambda self: transpose(self, -2, -1))    # type: ignore[attr-defined]


@rule("permute", "permute_dims", "permute_copy")
def permute(input: Any, *dims: Any) -> Any:
    """The dimensions in another order, the batch first."""
    order = [input._dim(d) for d in (dims[0] if len(dims) == 1 else dims)]
    if sorted(order) != list(range(input.ndim)):
        raise RuntimeError(f"permute(): the dimensions {tuple(order)} are not those of a tensor "
                           f"that has {input.ndim}")
    if order[0]:
        raise ValueError("Permute is not supported on the batch dimension for jagged NT")
    held = input._held.permute(*[d - 1 for d in order[1:]])
    return input._with(held, order.index(input._ragged))


def _inner_sizes(name: str, x: NestedTensor, sizes: Any) -> tuple[list[Any], int]:
    """Sizes with the batch and the symbol, as those of the values; and where the symbol is.
    A -1 at its place stands for it."""
    def refused() -> RuntimeError:
        return RuntimeError(f"{name}(): cannot view shape {tuple(x.shape)} as {list(sizes)}")
    symbol, r = x.shape[x._ragged], x._ragged
    at = next((k for k, n in enumerate(sizes) if isinstance(n, RaggedSize)), None)
    if at is None:
        at = r if len(sizes) > r and sizes[r] == -1 else None
    if at is None or not at or sizes[at] not in (-1, symbol) or sizes[0] not in (-1, x.shape[0]):
        raise refused()
    new: list[Any] = [*sizes[1:]]
    new[at - 1] = x._held.shape[r - 1]
    if sum(n == -1 for n in new) > 1 or any(isinstance(n, RaggedSize) for n in new):
        raise refused()
    return new, at


@rule("view", "reshape", "view_copy")
def reshape(input: Any, *shape: Any, **kwargs: Any) -> Any:
    """The dimensions beside the ragged one in another shape. The sizes are the batch, the symbol
    (or -1 at its place) and numbers.

    >>> import whet
    >>> nt = whet.nested.nested_tensor([whet.ones(2, 6), whet.ones(3, 6)])
    >>> nt.view(2, -1, 2, 3).values().shape
    whet.Size([5, 2, 3])
    """
    shape = shape or (kwargs.get("shape", kwargs.get("size", kwargs.get("dtype"))),)
    if len(shape) == 1 and not isinstance(shape[0], int | list | tuple):
        return input._with(input._held.view(shape[0]))           # in another type
    sizes = tuple(shape[0] if isinstance(shape[0], list | tuple) else shape)
    new, at = _inner_sizes("view", input, sizes)
    before = math.prod(input._held.shape[:input._ragged - 1])
    if -1 in new[:at - 1]:
        k = new.index(-1)
        known = math.prod(n for i, n in enumerate(new[:at - 1]) if i != k)
        new[k] = before // known if known else 0
    total = input._held.numel()
    if math.prod(new[:at - 1]) != before or -1 not in new and math.prod(new) != total:
        raise RuntimeError(f"view(): cannot view shape {tuple(input.shape)} as {list(sizes)}")
    return input._with(input._held.reshape(new), at)


@rule("view_as", "reshape_as")
def view_as(self: Any, other: Any) -> Any:
    """The shape of another nested tensor with the same parts."""
    return reshape(self, *other.shape)


@rule("expand")
def expand(self: Any, *sizes: Any) -> Any:
    """Trailing dimensions of size 1 repeated."""
    sizes = tuple(sizes[0] if len(sizes) == 1 and isinstance(sizes[0], list | tuple) else sizes)
    if len(sizes) != self.ndim:
        raise RuntimeError(f"expand(): cannot expand shape {tuple(self.shape)} -> {list(sizes)}")
    new, _ = _inner_sizes("expand", self, tuple(
        self.shape[k] if n == -1 and k in (0, self._ragged) else n if n != -1 else self.shape[k]
        for k, n in enumerate(sizes)))
    return self._with(self._held.expand(*new))


@rule("expand_as")
def expand_as(self: Any, other: Any) -> Any:
    """The sizes of another nested tensor with the same parts."""
    if is_nested(self):
        return expand(self, *other.shape)
    return other._with(beside_values("expand_as", self, other).expand(other._held.shape))


@family("flatten")
def flatten(func: Any, input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Trailing dimensions as one."""
    first, last = input._dim(start_dim), input._dim(end_dim)
    if first == last:
        return input
    if not first:
        raise RuntimeError("flatten(): not supported for NestedTensor on dim=0")
    if first <= input._ragged <= last:
        raise RuntimeError("flatten(): not supported for NestedTensor on ragged dim")
    gone = last - first if last < input._ragged else 0
    return input._with(func(input._held, first - 1, last - 1), input._ragged - gone)


@family("unflatten")
def unflatten(func: Any, input: Any, dim: int, sizes: Any) -> Any:
    """A trailing dimension as several."""
    d = inner("unflatten", input, dim)
    found = func(input._held, d, sizes)
    more = found.ndim - input._held.ndim if d + 1 < input._ragged else 0
    return input._with(found, input._ragged + more)


@family("squeeze", "squeeze_copy")
def squeeze(func: Any, input: Any, dim: Any = None) -> Any:
    """Without some trailing dimensions of size 1."""
    if dim is None:
        raise refusal("squeeze", "a dimension must be named")
    dims = [inner("squeeze", input, d) for d in (dim if isinstance(dim, list | tuple) else (dim,))]
    gone = [d for d in dims if input._held.shape[d] == 1]
    left = input._held.squeeze(gone) if gone else input._held
    return input._with(left, input._ragged - sum(d + 1 < input._ragged for d in gone))


def _with_new(name: str, func: Any, held: Any, like: NestedTensor, dim: int) -> NestedTensor:
    """`func(held, dim)`, which makes a new dimension of values like these; not before the batch."""
    n = like.ndim + 1
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], "
                         f"but got {dim})")
    d = dim % n
    if not d:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on dim=0")
    return like._with(func(held, d - 1), like._ragged + (d <= like._ragged))


@family("unsqueeze", "unsqueeze_copy")
def unsqueeze(func: Any, input: Any, dim: int) -> Any:
    """A new dimension of size 1, not before the batch."""
    return _with_new("unsqueeze", func, input._held, input, dim)


@rule("contiguous")
def contiguous(self: Any, memory_format: Any = None) -> Any:
    """The tensor without gaps, and with values in row-major order."""
    x = without_gaps(self)
    held = x._held.contiguous()
    return self if x is self and held is self._held else x._with(held)


# ---- several -------------------------------------------------------------------------------------
def _together(name: str, tensors: Any) -> NestedTensor:
    like = next(x for x in tensors if is_nested(x))
    for x in tensors:
        if not is_nested(x):
            raise RuntimeError(f"{name}(): expected each tensor to be nested, but one is dense")
        if not x._has_structure_of(like):
            raise RuntimeError(f"{name}(): expected all tensors to share their ragged structure, "
                               f"but got shapes {tuple(like.shape)} and {tuple(x.shape)}")
    return like


@family("cat", "concat", "concatenate")
def cat(func: Any, tensors: Any, dim: int = 0) -> Any:
    """Tensors of the same structure beside each other, or all their parts after each other."""
    like = next(x for x in tensors if is_nested(x))
    if like._dim(dim):
        like = _together("cat", tensors)
        return like._with(func([x._held for x in tensors], inner("cat", like, dim)))
    if not all(is_nested(x) and x._ragged == like._ragged for x in tensors):
        raise RuntimeError("cat(): expected nested tensors with one ragged dimension")
    tensors = [without_gaps(x) for x in tensors]
    offsets = tensors[0]._offsets
    for x in tensors[1:]:
        offsets = F["cat"]([offsets, x._offsets[1:] + offsets[-1]])
    return NestedTensor(func([x._held for x in tensors], like._ragged - 1), offsets, None,
                        like._ragged)


@family("stack")
def stack(func: Any, tensors: Any, dim: int = 0) -> Any:
    """Tensors of the same structure along a new trailing dimension."""
    like = _together("stack", tensors)
    return _with_new("stack", func, [x._held for x in tensors], like, dim)
