"""Sparse tensors of indices and values."""
from __future__ import annotations

import functools
from typing import Any

from ..dtypes import INT, int32, int64
from ..layouts import layout as Layout
from ..ops.public_functions import compile_function
from ..ops.question_kernels import asked
from ..ops.registry import ask, is_tensor
from ..ops.surface import FUNCTIONS as F
from .tensor import (
    COMPRESSED_NAMES,
    CompressedTensor,
    CooTensor,
    sparse_bsc,
    sparse_bsr,
    sparse_csc,
    sparse_csr,
)


class check_sparse_tensor_invariants:
    """Whether constructors look at all that must hold of indices, beside their bounds: a context, a
    decorator, or `enable()` and `disable()`.

    >>> import whet
    >>> with whet.sparse.check_sparse_tensor_invariants():
    ...     whet.sparse_coo_tensor([[0, 1]], [2., 3.], (2,)).to_dense()
    tensor([2., 3.])
    """
    _enabled = False

    def __init__(self, enable: bool = True) -> None:
        self._wanted, self._before = enable, [False]
        self._before.clear()

    @staticmethod
    def is_enabled() -> bool:
        """Do they?"""
        return check_sparse_tensor_invariants._enabled

    @staticmethod
    def enable() -> None:
        """Let them look."""
        check_sparse_tensor_invariants._enabled = True

    @staticmethod
    def disable() -> None:
        """Let them not look."""
        check_sparse_tensor_invariants._enabled = False

    def __enter__(self) -> None:
        self._before.append(self._enabled)
        check_sparse_tensor_invariants._enabled = self._wanted

    def __exit__(self, *error: Any) -> None:
        check_sparse_tensor_invariants._enabled = self._before.pop()

    def __call__(self, fn: Any) -> Any:
        @functools.wraps(fn)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self._wanted):
                return fn(*args, **kwargs)
        return checked


def _as_tensor(x: Any, dtype: Any = None, device: Any = None) -> Any:
    return F["as_tensor"](x, dtype=dtype, device=device)


def _index(x: Any, name: str) -> Any:
    """Indices as a tensor of whole numbers."""
    if not is_tensor(x):
        x = F["as_tensor"](x)
        if not x.numel() or x.is_floating_point():
            x = x.to(int64)
    if x.dtype.category != INT:
        raise RuntimeError(f"{name} must be an int tensor, but got {x.dtype}")
    return x if x.dtype in (int32, int64) else x.to(int64)


def _leaf(values: Any, requires_grad: bool) -> Any:
    """The values of a tensor, in memory of its own: those that were given stay as they are."""
    if requires_grad:
        return values.detach().requires_grad_()
    return values if values.requires_grad else values.detach()


def _bounded(places: Any, sizes: tuple[int, ...]) -> None:
    """Raise where an index is out of range."""
    for d, n in enumerate(sizes):
        def check(a: Any, d: int = d, n: int = n) -> None:
            if a.size and a.min() < 0:
                raise RuntimeError(f"found negative index {a.min()} for dim {d}")
            if a.size and a.max() >= n:
                raise RuntimeError(
                    f"size is inconsistent with indices: for dim {d}, size is {n} but found index "
                    f"{a.max()}")
        asked(lambda x, _, n=n: (x < 0) | (x >= n))(check)
        ask(check, places[d])


def _positive(sizes: tuple[int, ...]) -> None:
    if any(n < 0 for n in sizes):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(sizes)}: "
                           f"{list(sizes)}")


def sparse_coo_tensor(indices: Any = None, values: Any = None, size: Any = None, *,
                      dtype: Any = None, device: Any = None, pin_memory: bool = False,
                      requires_grad: bool = False, check_invariants: bool | None = None,
                      is_coalesced: bool | None = None) -> Any:
    """A sparse tensor of the values at some places, (sparse dims, entries) of them; zero elsewhere.

    >>> import whet
    >>> s = whet.sparse_coo_tensor([[0, 1], [2, 0]], [3., 4.], (2, 3))
    >>> s.to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if values is None:                       # sparse_coo_tensor(size): nothing but zeros
        size = tuple(indices if size is None else size)
        _positive(size)
        indices = F["zeros"](len(size), 0, dtype=int64)
        values = F["zeros"](0, dtype=dtype, device=device)
    places, held = F["as_tensor"](indices).to(int64), _as_tensor(values, dtype, device)
    if places.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(places.shape)}")
    if held.ndim < 1:
        held = held.reshape(1).expand(places.shape[1])
    if places.shape[1] != held.shape[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {places.shape[1]}, "
            f"nnz from values: {held.shape[0]}")
    sizes = _coo_sizes(places, held, size)
    if is_coalesced is None:            # of fewer than two places no two are equal or out of order
        is_coalesced = places.shape[1] < 2
    new = CooTensor(places, _leaf(held, requires_grad), sizes, bool(is_coalesced))
    if check_invariants or check_invariants is None and check_sparse_tensor_invariants._enabled:
        _check_order(new)
    return new


def _coo_sizes(places: Any, held: Any, size: Any) -> tuple[int, ...]:
    """The sizes, which must have room for the places."""
    n = places.shape[0]
    if size is None:
        if places.numel() and bool((places < 0).any()):
            raise RuntimeError(f"found negative index {int(places.min())} for dim "
                               f"{int((places < 0).any(1).nonzero()[0])}")
        if n and not places.shape[1]:
            return (*[0] * n, *held.shape[1:])
        return (*([m + 1 for m in places.amax(1).tolist()] if n else ()), *held.shape[1:])
    sizes = tuple(int(k) for k in size)
    _positive(sizes)
    if len(sizes) != n + held.ndim - 1:
        raise RuntimeError(
            "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = "
            f"{len(sizes)}, sparse_dim = {n}, dense_dim = {held.ndim - 1}")
    if tuple(held.shape[1:]) != sizes[n:]:
        raise RuntimeError(
            f"values has incorrect size, expected {[held.shape[0], *sizes[n:]]}, got "
            f"{list(held.shape)}")
    _bounded(places, sizes[:n])
    return sizes


def _check_order(t: CooTensor) -> None:
    if t._is_coalesced:
        from .tensor import _ascends, flat_places
        if not _ascends(flat_places(t._places, t._sizes[:t.sparse_dim()])):
            raise RuntimeError("cannot set is_coalesced to true if indices correspond to "
                               "uncoalesced COO tensor")


def sparse_compressed_tensor(compressed_indices: Any, plain_indices: Any, values: Any,
                             size: Any = None, *, dtype: Any = None, layout: Any = None,
                             device: Any = None, pin_memory: bool = False,
                             requires_grad: bool = False, check_invariants: bool | None = None
                             ) -> Any:
    """A sparse matrix of where its rows (or columns) begin among the entries, of which column (or
    row) each entry is of, and of their values."""
    if layout not in COMPRESSED_NAMES:
        raise RuntimeError("expected sparse compressed tensor layout but got "
                           f"{layout if isinstance(layout, Layout) else 'none'}")
    names = COMPRESSED_NAMES[layout]
    pointers, places = _index(compressed_indices, names[0]), _index(plain_indices, names[1])
    held = _as_tensor(values, dtype, device)
    if pointers.dtype is not places.dtype:
        raise RuntimeError(
            f"{names[0]} and {names[1]} dtype must match, but got {pointers.dtype} and "
            f"{places.dtype}")
    if pointers.ndim != 1 or places.ndim != 1:
        raise NotImplementedError(f"{names[0]}: batches of compressed matrices are not supported")
    blocks = layout in (sparse_bsr, sparse_bsc)
    if held.ndim < (3 if blocks else 1) or places.shape[0] != held.shape[0]:
        raise RuntimeError(
            f"number of elements in {names[1]} must be equal to the number of values: "
            f"{list(places.shape)} and {list(held.shape)}")
    block = tuple(held.shape[1:3]) if blocks else (1, 1)
    rest = tuple(held.shape[3 if blocks else 1:])
    rows_first = layout in (sparse_csr, sparse_bsr)
    if size is None:
        most = int(places.max()) + 1 if places.numel() else 0
        grid = (pointers.shape[0] - 1, most) if rows_first else (most, pointers.shape[0] - 1)
        sizes = (grid[0] * block[0], grid[1] * block[1], *rest)
    else:
        sizes = tuple(int(k) for k in size)
    _check_compressed(pointers, places, sizes, block, rest, names, rows_first)
    new = CompressedTensor(pointers, places, _leaf(held, requires_grad), sizes, layout)
    if check_invariants or check_invariants is None and check_sparse_tensor_invariants._enabled:
        _check_rows(new, names)
    return new


def _check_compressed(pointers: Any, places: Any, sizes: tuple[int, ...], block: Any, rest: Any,
                      names: Any, rows_first: bool) -> None:
    """Raise where the parts do not fit together."""
    _positive(sizes)
    if len(sizes) != 2 + len(rest) or tuple(sizes[2:]) != rest:
        raise RuntimeError(f"size must be that of a matrix of values of size {list(rest)}, but got "
                           f"{list(sizes)}")
    if sizes[0] % block[0] or sizes[1] % block[1]:
        raise RuntimeError(f"a matrix of size {list(sizes[:2])} has no whole number of blocks of "
                           f"size {list(block)}")
    grid = sizes[0] // block[0], sizes[1] // block[1]
    along, across = grid if rows_first else grid[::-1]
    if pointers.shape[0] != along + 1:
        raise RuntimeError(
            f"{names[0]}.shape[-1] must be equal to the number of "
            f"{'rows' if rows_first else 'columns'} + 1 (= {along + 1}), but got "
            f"{pointers.shape[0]}")
    count = places.shape[0]

    def check(a: Any) -> None:
        if a[0] != 0:
            raise RuntimeError(f"`{names[0]}[..., 0] == 0` is not satisfied.")
        if a[-1] != count:
            raise RuntimeError(f"`{names[0]}[..., -1] == nnz` is not satisfied.")
        if (a[1:] < a[:-1]).any():
            raise RuntimeError(
                f"`0 <= {names[0]}[..., 1:] - {names[0]}[..., :-1]` is not satisfied.")
    ask(check, pointers)

    def inside(a: Any) -> None:
        if a.size and (a.min() < 0 or a.max() >= across):
            raise RuntimeError(f"`0 <= {names[1]} < {'ncols' if rows_first else 'nrows'}` is not "
                               "satisfied.")
    asked(lambda x, _: (x < 0) | (x >= across))(inside)
    ask(inside, places)


def _check_rows(t: CompressedTensor, names: Any) -> None:
    """Raise where the places of a row are not in order, or not different."""
    from ..ops.sparse_products import rows_of
    rows, places = rows_of(t._pointers.long(), t._places.shape[0]), t._places
    if bool(((rows[1:] == rows[:-1]) & (places[1:] <= places[:-1])).any()):
        raise RuntimeError(f"`{names[1]}[..., {names[0]}[..., i - 1]:{names[0]}[..., i]] for all "
                           "i = 1, ..., along the last dimension are sorted and distinct` is not "
                           "satisfied.")


def _of_layout(name: str, kind: Layout) -> Any:
    """The function of one layout, whose parameters have the names of that layout's parts."""
    a, b = COMPRESSED_NAMES[kind]
    options = ("dtype=None", "device=None", "pin_memory=False", "requires_grad=False",
               "check_invariants=None")
    passed = ", ".join([f"{o.partition('=')[0]}={o.partition('=')[0]}" for o in options])
    made = compile_function(
        name, f"def {name}({a}, {b}, values, size=None, *, {', '.join(options)}):\n"
        f"    return make({a}, {b}, values, size, layout=kind, {passed})\n",
        {"make": sparse_compressed_tensor, "kind": kind})
    made.__doc__ = f"`sparse_compressed_tensor` of layout {kind}."
    return made


sparse_csr_tensor = _of_layout("sparse_csr_tensor", sparse_csr)
sparse_csc_tensor = _of_layout("sparse_csc_tensor", sparse_csc)
sparse_bsr_tensor = _of_layout("sparse_bsr_tensor", sparse_bsr)
sparse_bsc_tensor = _of_layout("sparse_bsc_tensor", sparse_bsc)


def restored(kind: str, fields: dict[str, Any]) -> Any:
    """A sparse tensor of what a file has of it, which is looked at as what anybody gives."""
    layout = {str(k).partition(".")[2]: k for k in COMPRESSED_NAMES}.get(kind)
    places, held, sizes = fields["_places"], fields["_held"], fields["_sizes"]
    if layout is None:
        coalesced = fields["_is_coalesced"]
        with check_sparse_tensor_invariants():
            return sparse_coo_tensor(places, held, sizes, is_coalesced=coalesced)
    return sparse_compressed_tensor(fields["_pointers"], places, held, sizes, layout=layout)
