"""Matrices that a rule states: ones on a diagonal, places of triangles, blocks, powers."""

import numpy as np

from .. import dtypes, size_arguments
from ..dtypes import INT
from . import docstrings
from .creation import (
    check_options,
    empty,
    finish,
    float_dtype,
    literal,
    made_of_numbers,
    ones,
    require,
)
from .onnx import shapes as in_onnx
from .out_arguments import type_to_make
from .pad import pad
from .ranges import goes_by_sizes
from .registry import Op
from .sample_inputs import Sample
from .surface import FUNCTIONS, function


def _eye(n, m, dtype, k=0):
    return np.eye(n, m, k, dtype.np)


eye_op = Op(
    "eye", _eye, samples=lambda make: [
        Sample(n=3, m=2, dtype=dtypes.float32),
        Sample(n=0, m=0, dtype=dtypes.int64)],
    onnx=lambda b, **at: in_onnx.identity(b, _eye, **at))
eye_op.total = True
goes_by_sizes(eye_op, lambda n, m, **_: (n, m), "n", "m")


@function(method=False)
def eye(n, m=None, *, k=0, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """Ones on the diagonal (`k` steps above it), zeros elsewhere.

    >>> import whet
    >>> whet.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    check_options("eye", layout, device)
    n = size_arguments.as_int(n, "eye", "n", 1, size_arguments.whole)
    m = n if m is None else size_arguments.as_int(m, "eye", "m", 2, size_arguments.whole)
    if n < 0 or m < 0:
        raise RuntimeError(
            f"{'n' if n < 0 else 'm'} must be greater or equal to 0, got {n if n < 0 else m}")
    dtype = float_dtype(type_to_make(dtype, out))
    attrs = {"n": n, "m": m, "dtype": dtype}
    if k:
        attrs["k"] = k
    made = made_of_numbers(eye_op, attrs, device, out)
    return finish(made, "eye", out, requires_grad, device)


def _lower(row, col, offset):
    """Where the columns of each row begin and end."""
    return np.zeros(row, np.int64), _up_to(row, col, offset + 1)


def _upper(row, col, offset):
    return _up_to(row, col, offset), np.full(row, col)


def _up_to(row, col, first):
    """first, first + 1, ... for each row, within 0 and col."""
    return np.minimum(np.maximum(np.arange(first, first + row), 0), col)


def places_between(first, end):
    """(2, N): row and column of each place of rows between these columns."""
    count = end - first
    places = np.empty((2, int(np.add.reduce(count))), np.int64)
    places[0] = np.repeat(np.arange(len(count)), count)
    before = np.add.accumulate(count) - count
    np.subtract(np.arange(places.shape[1]), np.repeat(before - first, count), out=places[1])
    return places


def _triangle(name, columns):
    def indices(row, col, offset=0, *, dtype=None, layout=None, device=None):
        check_options(name, layout, device)
        row, col, offset = [size_arguments.as_int(v, name, what, i) for i, (what, v) in enumerate(
            (("row", row), ("col", col), ("offset", offset)), 1)]
        if row < 0 or col < 0:
            raise RuntimeError(
                f"{'row' if row < 0 else 'col'} must be non-negative, got{row if row < 0 else col}")
        d = dtypes.as_dtype(dtype) or dtypes.int64
        places = places_between(*columns(row, col, offset))
        return require(literal(places.astype(d.np, copy=False)), False, device)
    indices.__name__ = indices.__qualname__ = name
    lower = name == "tril_indices"
    indices.__doc__ = docstrings.with_example(
        f"Row and column numbers of the {'lower' if lower else 'upper'} triangle, as a (2, N) "
        "tensor.", f"whet.{name}(2, 2).tolist()",
        "[[0, 1, 1], [0, 0, 1]]" if lower else "[[0, 0, 1], [0, 1, 1]]")
    return function(method=False)(indices)


_triangle("tril_indices", _lower)
_triangle("triu_indices", _upper)


@function(method=False)
def block_diag(*tensors):
    """The tensors as blocks along the diagonal of a matrix of zeros.

    >>> import whet
    >>> whet.block_diag(whet.tensor([[1., 2.]]), whet.tensor([[3.]]))
    tensor([[1., 2., 0.],
            [0., 0., 3.]])
    """
    if not tensors:
        return empty((1, 0))
    for i, t in enumerate(tensors):
        if t.ndim > 2:
            raise RuntimeError(
                f"block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has "
                f"{t.ndim} dimensions")
    d = dtypes.result_of([t.dtype for t in tensors if t.ndim],
                         [t.dtype for t in tensors if not t.ndim], [])
    blocks = [t.reshape((1,) * (2 - t.ndim) + tuple(t.shape)).to(d) for t in tensors]
    width = sum(b.shape[1] for b in blocks)
    rows, left = [], 0
    for b in blocks:
        rows.append(pad(b, (left, width - left - b.shape[1])))
        left += b.shape[1]
    return FUNCTIONS["cat"](rows, 0)


@function(method=False)
def vander(x, N=None, increasing=False):
    """Powers of the elements of a 1-d tensor as columns, highest first unless `increasing`.

    >>> import whet
    >>> whet.vander(whet.tensor([1., 2., 3.]))
    tensor([[1., 1., 1.],
            [4., 2., 1.],
            [9., 3., 1.]])
    """
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = x.shape[0] if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    # Powers are running products, those of whole numbers int64.
    d = x.dtype if x.dtype.category > INT else dtypes.int64
    if n == 0:
        return empty(x.shape[0], 0, dtype=d, device=x.device)
    r = ones(x.shape[0], 1, dtype=d, device=x.device)
    if n > 1:
        r = FUNCTIONS["cat"]([r, x.to(d).unsqueeze(-1).expand(-1, n - 1).cumprod(-1)], 1)
    return r if increasing else r.flip(1)
