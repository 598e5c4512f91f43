"""Sparse tensors: index tensors and a tensor of values, which stand for a tensor that is zero
elsewhere.

A sparse tensor has no memory, no history and no gradient of its own: all are those of its values.
What can be done with one is in the tables of `rules.py`.
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from .. import declared_for_tracing
from ..autograd import modes
from ..composite_tensor import CompositeTensor
from ..formatting import sparse_str
from ..layouts import PARTS, layout, no_such_part
from ..layouts import sparse_bsc as sparse_bsc
from ..layouts import sparse_bsr as sparse_bsr
from ..layouts import sparse_coo as sparse_coo
from ..layouts import sparse_csc as sparse_csc
from ..layouts import sparse_csr as sparse_csr
from ..ops.surface import FUNCTIONS as F
from ..tensor import Size


def refusal(name: str, what: str) -> NotImplementedError:
    """The error of an op that there is not for a layout."""
    return NotImplementedError(
        f"Could not run '{name}' with arguments of layout {what}: there is no such op for sparse "
        "tensors. Use to_dense() first where the tensor fits into memory.")


class SparseTensor(CompositeTensor):
    """What all layouts have in common.

    >>> import whet
    >>> x = whet.eye(2).to_sparse()
    >>> isinstance(x, whet.sparse.SparseTensor), x.layout
    (True, whet.sparse_coo)
    """
    __slots__ = ()
    _kind = "sparse"

    # what the layouts say
    _sizes: tuple[int, ...]

    # the rule of a function of single elements, by its name: `pointwise.py` brings it
    _function_of_values: ClassVar[Any]

    def _as_coo(self) -> Any:
        """The tensor as a `CooTensor`."""
        raise NotImplementedError

    def _back(self, coo: Any) -> Any:
        """A `CooTensor` in this layout."""
        raise NotImplementedError

    def _entries(self) -> tuple[Any, Any, Any, bool]:
        """The rows, columns and values of a matrix's entries, and do the rows never go down?"""
        raise NotImplementedError

    def _parts(self) -> list[tuple[str, Any]]:
        """Names and tensors, for texts."""
        raise NotImplementedError

    # ---- what it is ----
    @property
    def shape(self) -> Any:
        """The sizes."""
        return Size(self._sizes)

    def numel(self) -> int:
        """The number of elements, those that are zero included."""
        return math.prod(self._sizes)

    nelement = numel

    is_sparse = property(lambda self: self.layout is sparse_coo)
    is_sparse_csr = property(lambda self: self.layout is sparse_csr)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """A sparse tensor's elements do not lie row by row."""
        return False

    def is_inference(self) -> bool:
        """Were its values made in inference mode?"""
        return bool(self._held.is_inference())

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the type of tensor, or the values in another type."""
        if dtype is None:
            kind = "sparse" if self.layout is sparse_coo else f"{self.layout}".partition(".")[2]
            return f"whet.{kind}.{self.dtype.letter}Tensor"
        held = self._held.type(dtype)
        return self if held is self._held else self._with(held)

    def _nnz(self) -> int:
        """How many entries there are."""
        return int(self._held.shape[0])

    def values(self) -> Any:
        """The values."""
        return self._held

    def _values_of(self, gradient: Any) -> Any:
        return gradient.sparse_mask(self)._held

    # ---- what there is not ----
    def _method(self, name: str) -> Any:
        function = self._function_of_values(name)
        if function is not None:
            return partial(function, self)

        def refuse(*args: Any, **kwargs: Any) -> Any:
            raise (no_such_part(name, self.layout) if name in PARTS
                   else refusal(name, str(self.layout)))
        return refuse

    def numpy(self, *, force: bool = False) -> Any:
        """There is no array of a sparse tensor."""
        raise TypeError(f"can't convert {self.layout} tensor to numpy. Use Tensor.to_dense() "
                        "first.")

    @declared_for_tracing.tells_elements
    def item(self) -> Any:
        """The single element as a Python number."""
        if self.numel() != 1:
            raise RuntimeError(
                f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        return self._as_coo().to_dense().item()

    def stride(self, dim: int | None = None) -> Any:
        """There are no steps in memory."""
        raise RuntimeError("Sparse tensors do not have strides")

    # ---- texts ----
    def __repr__(self, *, tensor_contents: Any = None) -> str:
        parts = self._parts()
        for _, x in parts:
            if modes.state.observers:
                modes.state.observers[-1].shown(x)
        return sparse_str(self, parts)


@dataclass(eq=False, repr=False)
class CooTensor(SparseTensor):
    """Entries in any order: (sparse dims, entries) places, (entries, ...) values. Values at equal
    places are summed."""
    _places: Any
    _held: Any
    _sizes: tuple[int, ...]
    _is_coalesced: bool = False
    layout = sparse_coo

    def _with(self, values: Any) -> CooTensor:
        return CooTensor(self._places, values, self._sizes, self._is_coalesced)

    def _as_coo(self) -> CooTensor:
        return self

    def _back(self, coo: CooTensor) -> CooTensor:
        return coo

    def _entries(self) -> tuple[Any, Any, Any, bool]:
        return self._places[0], self._places[1], self._held, self._is_coalesced

    def _parts(self) -> list[tuple[str, Any]]:
        return [("indices", self._places), ("values", self._held.detach())]

    def sparse_dim(self) -> int:
        """How many dimensions have places."""
        return int(self._places.shape[0])

    def dense_dim(self) -> int:
        """How many dimensions each value has."""
        return len(self._sizes) - self.sparse_dim()

    def is_coalesced(self) -> bool:
        """Are the places in order, and different?"""
        return self._is_coalesced

    def indices(self) -> Any:
        """The places."""
        self._needs_order("indices")
        return self._places

    def values(self) -> Any:
        """The values."""
        self._needs_order("values")
        return self._held

    def _needs_order(self, what: str) -> None:
        if not self._is_coalesced:
            raise RuntimeError(
                f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")

    def _indices(self) -> Any:
        """The places, in whatever order."""
        return self._places

    def _values(self) -> Any:
        """The values, in whatever order, without history."""
        return self._held.detach()

    def _coalesced_(self, coalesced: bool) -> CooTensor:
        """Say whether the places are in order, and different."""
        self._is_coalesced = coalesced
        return self

    def coalesce(self) -> CooTensor:
        """The places in order, values at equal places summed."""
        if self._is_coalesced:
            return self
        n, places = self.sparse_dim(), self._places
        flat = flat_places(places, self._sizes[:n])
        if _ascends(flat):
            return CooTensor(places, self._held, self._sizes, True)
        flat, which = F["unique"](flat, return_inverse=True)
        held = self._held
        zero = F["zeros"](flat.shape[0], *held.shape[1:], dtype=held.dtype, device=held.device)
        return CooTensor(places_of(flat, self._sizes[:n]), zero.index_add(0, which, held),
                         self._sizes, True)


COMPRESSED_NAMES = {
    sparse_csr: ("crow_indices", "col_indices"), sparse_bsr: ("crow_indices", "col_indices"),
    sparse_csc: ("ccol_indices", "row_indices"), sparse_bsc: ("ccol_indices", "row_indices")}


@dataclass(eq=False, repr=False)
class CompressedTensor(SparseTensor):
    """Entries (or blocks) row by row, or column by column: where each row begins among them, which
    column each has, and its value."""
    _pointers: Any
    _places: Any
    _held: Any
    _sizes: tuple[int, ...]
    layout: layout

    @property
    def _by_rows(self) -> bool:
        return self.layout in (sparse_csr, sparse_bsr)

    @property
    def _has_blocks(self) -> bool:
        return self.layout in (sparse_bsr, sparse_bsc)

    def _with(self, values: Any) -> CompressedTensor:
        return CompressedTensor(self._pointers, self._places, values, self._sizes, self.layout)

    # a matrix of entries in a layout: `convert.py` brings it
    _compressed: ClassVar[Any]

    def _back(self, coo: CooTensor) -> Any:
        block = tuple(self._held.shape[1:3]) if self._has_blocks else None
        return self._compressed(coo, self.layout, block)

    def _entries(self) -> tuple[Any, Any, Any, bool]:
        from ..ops.sparse_products import rows_of
        along = rows_of(self._pointers.long(), self._places.shape[0])
        across, held = self._places.long(), self._held
        if self._has_blocks:
            rows, columns = (along, across) if self._by_rows else (across, along)
            _, r, c = held.shape[:3]
            rows = rows[:, None, None] * r + F["arange"](r)[None, :, None]
            columns = columns[:, None, None] * c + F["arange"](c)[None, None, :]
            shape = held.shape[:3]
            held = held.reshape(-1, *held.shape[3:])
            return rows.expand(shape).reshape(-1), columns.expand(shape).reshape(-1), held, False
        return (along, across, held, True) if self._by_rows else (across, along, held, False)

    def _as_coo(self) -> CooTensor:
        rows, columns, held, in_order = self._entries()
        return CooTensor(F["stack"]([rows, columns]), held, self._sizes, in_order)

    def _parts(self) -> list[tuple[str, Any]]:
        pointers, places = COMPRESSED_NAMES[self.layout]
        return [(pointers, self._pointers), (places, self._places),
                ("values", self._held.detach())]

    def sparse_dim(self) -> int:
        """How many dimensions have places."""
        return 2

    def dense_dim(self) -> int:
        """How many dimensions each value has."""
        return len(self._sizes) - 2

    def _indices(self) -> Any:
        """Only tensors of layout `sparse_coo` have them."""
        raise no_such_part("indices", self.layout)

    def _index(self, name: str, which: int) -> Any:
        if COMPRESSED_NAMES[self.layout][which] != name:
            raise no_such_part(name, self.layout)
        return self._places if which else self._pointers

    def crow_indices(self) -> Any:
        """Where each row begins among the entries."""
        return self._index("crow_indices", 0)

    def col_indices(self) -> Any:
        """The column of each entry."""
        return self._index("col_indices", 1)

    def ccol_indices(self) -> Any:
        """Where each column begins among the entries."""
        return self._index("ccol_indices", 0)

    def row_indices(self) -> Any:
        """The row of each entry."""
        return self._index("row_indices", 1)


def flat_places(places: Any, sizes: tuple[int, ...]) -> Any:
    """Places as numbers, row by row."""
    flat = places[0] if len(sizes) else F["zeros"](places.shape[1], dtype=places.dtype)
    for d in range(1, len(sizes)):
        flat = flat * sizes[d] + places[d]
    return flat


def places_of(flat: Any, sizes: tuple[int, ...]) -> Any:
    """The other way: (dims, entries)."""
    rows = []
    for n in reversed(sizes):
        rows.append(flat % n)
        flat = flat // n
    return F["stack"](rows[::-1]) if rows else F["zeros"](0, flat.shape[0], dtype=flat.dtype)


def _ascends(flat: Any) -> bool:
    """Does each number come after the one before it?"""
    return bool((flat[1:] > flat[:-1]).all())

