"""Nested tensors: tensors of unequal length, one after the other in one tensor of values.

`values` holds the parts side by side along the ragged dimension, `offsets` says where each part
begins and the last ends. With `lengths` a part may end before the next one begins.
What can be done with one is in the tables of `rules.py`.
"""
from __future__ import annotations

import itertools
import weakref
from dataclasses import dataclass
from typing import Any

from .. import declared_for_tracing
from ..composite_tensor import CompositeTensor
from ..layouts import jagged
from ..tensor import Size

_numbers: dict[int, Any] = {}            # id of offsets -> a reference to them, and their number
_next_number = itertools.count(1)


def _number_of(x: Any) -> int:
    """The number of some offsets in texts, which they get when they are first shown."""
    found = _numbers.get(id(x))
    if found is None or found[0]() is not x:
        key = id(x)
        found = _numbers[key] = (weakref.ref(x, lambda r: _forget(key, r)), next(_next_number))
    return int(found[1])


def _forget(key: int, reference: Any) -> None:
    if key in _numbers and _numbers[key][0] is reference:
        del _numbers[key]


class RaggedSize:
    """The size of a ragged dimension: a symbol, since each part has another one. Those of tensors
    that share their offsets are equal."""
    __slots__ = ("offsets", "times")
    stands_for_a_size = True

    def __init__(self, offsets: Any, times: int = 1) -> None:
        self.offsets, self.times = offsets, times

    def __eq__(self, other: Any) -> bool:
        return (type(other) is RaggedSize and other.offsets is self.offsets
                and other.times == self.times)

    def __hash__(self) -> int:
        return hash((id(self.offsets), self.times))

    def __mul__(self, n: Any) -> Any:
        return RaggedSize(self.offsets, self.times * n) if isinstance(n, int) else NotImplemented

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"{self.times}*" * (self.times != 1) + f"j{_number_of(self.offsets)}"


@dataclass(eq=False, repr=False)
class NestedTensor(CompositeTensor):
    """The parts' values side by side, and where each begins. `_ragged` is the dimension along which
    they lie so, counted with the batch.

    >>> import whet
    >>> x = whet.nested.nested_tensor([whet.ones(2), whet.ones(3)], layout=whet.jagged)
    >>> type(x).__name__, [part.shape for part in x.unbind()]
    ('NestedTensor', [whet.Size([2]), whet.Size([3])])
    """
    _held: Any
    _offsets: Any
    _lengths: Any = None
    _ragged: int = 1
    # what the user said of the lengths: others are asked for when they are needed
    _shortest: int | None = None
    _longest: int | None = None
    layout = jagged
    is_nested = True
    _kind = "nested"
    is_sparse = is_sparse_csr = False

    def _with(self, values: Any, ragged: int | None = None) -> NestedTensor:
        """The same structure with other values."""
        return NestedTensor(values, self._offsets, self._lengths,
                            self._ragged if ragged is None else ragged,
                            self._shortest, self._longest)

    def _has_structure_of(self, other: Any) -> bool:
        """Do both share their offsets, with the ragged dimension at the same place?"""
        return (self._offsets is other._offsets and self._lengths is other._lengths
                and self._ragged == other._ragged)

    def _values_of(self, gradient: Any) -> Any:
        if tuple(gradient.shape) != tuple(self.shape):
            raise RuntimeError(f"Mismatch in shape: grad_output has a shape of {gradient.shape} "
                               f"and output has a shape of {self.shape}.")
        return gradient._held

    # ---- what it is ----
    @property
    def shape(self) -> Any:
        """The sizes; that of the ragged dimension is a symbol."""
        sizes: list[Any] = [self._offsets.shape[0] - 1, *self._held.shape]
        sizes[self._ragged] = RaggedSize(self._offsets if self._lengths is None else self._lengths)
        return Size(sizes)

    def numel(self) -> int:
        """The number of elements of all parts."""
        return int(self._held.numel())

    nelement = numel
    nbytes = property(lambda self: self._held.nbytes)

    def stride(self, dim: int | None = None) -> Any:
        """Steps in memory; that from part to part goes by the part."""
        steps = self._held.stride()
        sizes = self.shape
        found = (sizes[self._ragged] * steps[self._ragged - 1], *steps)
        return found if dim is None else found[self._dim(dim)]

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Do the parts' elements follow each other in memory without gaps?"""
        return self._lengths is None and self._ragged == 1 and bool(self._held.is_contiguous())

    def values(self) -> Any:
        """The parts' values side by side, as one ordinary tensor."""
        return self._held

    def offsets(self) -> Any:
        """Where each part begins along the ragged dimension of `values()`, and the last ends."""
        return self._offsets

    def lengths(self) -> Any:
        """The length of each part, where they do not fill the values; None where they do."""
        return self._lengths

    @declared_for_tracing.tells_elements
    def item(self) -> Any:
        """The single element as a Python number."""
        if self.numel() != 1:
            raise RuntimeError(
                f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        return self._held.item()

    def numpy(self, *, force: bool = False) -> Any:
        """There is no array of a nested tensor."""
        raise RuntimeError(".numpy() is not supported for nested tensors. Use .values() or "
                           "to_padded_tensor() first.")

    def tolist(self) -> Any:
        """The parts as lists."""
        return [x.tolist() for x in self.unbind()]

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        history = ""
        if self.grad_fn is not None:
            history = f", grad_fn=<{type(self.grad_fn).__name__}>"
        elif self.requires_grad:
            history = ", requires_grad=True"
        return (f"NestedTensor(size={tuple(self.shape)}, offsets={self._offsets!r}{history}, "
                f"contiguous={self._lengths is None})")

    def __iter__(self) -> Any:
        return iter(self.unbind())


def is_nested(x: Any) -> bool:
    """Is it a nested tensor?"""
    return issubclass(type(x), NestedTensor)


def refusal(name: str, why: str = "there is no such function of nested tensors") -> Exception:
    """The error of a function that there is not for nested tensors."""
    name = name[2:-2] if name.startswith("__") else name
    return NotImplementedError(
        f"Could not run '{name}' with arguments of layout {jagged}: {why}. Use .values(), which "
        "has all parts side by side, or to_padded_tensor().")
