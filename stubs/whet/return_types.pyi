# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import NamedTuple
from whet.tensor import Tensor

class Histogram(NamedTuple):
    """Result of `histogram`."""
    hist: Tensor
    bin_edges: Tensor

class HistogramDD(NamedTuple):
    """Result of `histogramdd`."""
    hist: Tensor
    bin_edges: tuple[Tensor, ...]

class aminmax_result(NamedTuple):
    min: Tensor
    max: Tensor

class cholesky_ex_result(NamedTuple):
    L: Tensor
    info: Tensor

class eig_result(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class eigh_result(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class frexp_result(NamedTuple):
    mantissa: Tensor
    exponent: Tensor

class geqrf_result(NamedTuple):
    a: Tensor
    tau: Tensor

class inv_ex_result(NamedTuple):
    inverse: Tensor
    info: Tensor

class kthvalue_result(NamedTuple):
    values: Tensor
    indices: Tensor

class ldl_factor_ex_result(NamedTuple):
    LD: Tensor
    pivots: Tensor
    info: Tensor

class ldl_factor_result(NamedTuple):
    LD: Tensor
    pivots: Tensor

class lstsq_result(NamedTuple):
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor

class lu_factor_ex_result(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor

class lu_factor_result(NamedTuple):
    LU: Tensor
    pivots: Tensor

class lu_result(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor

class max_result(NamedTuple):
    values: Tensor
    indices: Tensor

class median_result(NamedTuple):
    values: Tensor
    indices: Tensor

class mode_result(NamedTuple):
    values: Tensor
    indices: Tensor

class nanmedian_result(NamedTuple):
    values: Tensor
    indices: Tensor

class qr_result(NamedTuple):
    Q: Tensor
    R: Tensor

class slogdet_result(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class solve_ex_result(NamedTuple):
    result: Tensor
    info: Tensor

class sort_result(NamedTuple):
    values: Tensor
    indices: Tensor

class svd_of_old_result(NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor

class svd_result(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor

class topk_result(NamedTuple):
    values: Tensor
    indices: Tensor

class triangular_solve_result(NamedTuple):
    solution: Tensor
    cloned_coefficient: Tensor

class unique_all_result(NamedTuple):
    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor

class unique_counts_result(NamedTuple):
    values: Tensor
    counts: Tensor

class unique_inverse_result(NamedTuple):
    values: Tensor
    inverse_indices: Tensor
