"""The tuples with names that functions return: `whet.max(x, dim=0)` is a `max_result`."""
from .linalg import (
    cholesky_ex_result,
    geqrf_result,
    inv_ex_result,
    lstsq_result,
    solve_ex_result,
    triangular_solve_result,
)
from .ops.derived import frexp_result
from .ops.elimination import lu_factor_ex_result, lu_factor_result, lu_result
from .ops.host import eig_result, eigh_result, qr_result, slogdet_result, svd_result
from .ops.linalg_names import svd_of_old_result
from .ops.reduce import aminmax_result, max_result
from .ops.search import (
    Histogram,
    HistogramDD,
    unique_all_result,
    unique_counts_result,
    unique_inverse_result,
)
from .ops.sort import (
    kthvalue_result,
    median_result,
    mode_result,
    nanmedian_result,
    sort_result,
    topk_result,
)
from .ops.symmetric_elimination import ldl_factor_ex_result, ldl_factor_result

__all__ = [
    "Histogram", "HistogramDD", "aminmax_result", "cholesky_ex_result", "eig_result",
    "eigh_result", "frexp_result", "geqrf_result", "inv_ex_result", "kthvalue_result",
    "lstsq_result", "ldl_factor_ex_result", "ldl_factor_result", "lu_factor_ex_result",
    "lu_factor_result", "lu_result", "max_result", "median_result", "mode_result",
    "nanmedian_result", "qr_result", "slogdet_result", "solve_ex_result", "sort_result",
    "svd_of_old_result", "svd_result", "topk_result", "triangular_solve_result",
    "unique_all_result", "unique_counts_result", "unique_inverse_result"]
