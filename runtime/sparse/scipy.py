"""Sparse matrices of scipy's, which is imported where it is asked for."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.surface import FUNCTIONS as F
from .make import sparse_compressed_tensor, sparse_coo_tensor
from .tensor import sparse_bsr, sparse_csc, sparse_csr

LAYOUTS = {"csr": sparse_csr, "csc": sparse_csc, "bsr": sparse_bsr}


def from_scipy(matrix: Any) -> Any:
    """A matrix or array of `scipy.sparse` as a sparse tensor: csr, csc and bsr in their layouts and
    in the same memory, all others as COO.

    >>> import scipy.sparse
    >>> import whet
    >>> whet.sparse.from_scipy(scipy.sparse.csr_array([[0., 2.], [3., 0.]])).to_dense()
    tensor([[0., 2.],
            [3., 0.]], dtype=whet.float64)
    """
    if matrix.format in LAYOUTS:
        return sparse_compressed_tensor(
            F["from_numpy"](matrix.indptr), F["from_numpy"](matrix.indices),
            F["from_numpy"](matrix.data), matrix.shape, layout=LAYOUTS[matrix.format])
    coo = matrix.tocoo()
    places = np.stack([coo.row, coo.col]).astype(np.int64)
    data = np.ascontiguousarray(coo.data)
    return sparse_coo_tensor(F["from_numpy"](places), F["from_numpy"](data), coo.shape)


def to_scipy(input: Any) -> Any:
    """A sparse tensor as an array of `scipy.sparse`, of its layout.

    >>> import whet
    >>> m = whet.sparse.to_scipy(whet.tensor([[0., 2.], [3., 0.]]).to_sparse_csr())
    >>> m.toarray().tolist()
    [[0.0, 2.0], [3.0, 0.0]]
    """
    import scipy.sparse
    values = input._held.detach().numpy()
    for name, layout in LAYOUTS.items():
        if input.layout is layout:
            make = getattr(scipy.sparse, f"{name}_array")
            return make((values, input._places.numpy(), input._pointers.numpy()),
                        shape=tuple(input.shape))
    coo = input._as_coo()
    rows, columns = coo._places.numpy()
    return scipy.sparse.coo_array((coo._held.detach().numpy(), (rows, columns)),
                                  shape=tuple(input.shape))
