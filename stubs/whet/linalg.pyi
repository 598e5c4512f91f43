# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence
from whet.dtypes import dtype
from whet.return_types import linalg_cholesky_ex, linalg_eig, linalg_eigh, linalg_inv_ex, linalg_ldl_factor, linalg_ldl_factor_ex, linalg_lstsq, linalg_lu, linalg_lu_factor, linalg_lu_factor_ex, linalg_qr, linalg_slogdet, linalg_solve_ex, linalg_svd
from whet.tensor import Tensor
from whet.types import Dims, Scalar
from whet.ops.host_family import LinAlgError as LinAlgError


def cholesky(A: Tensor, *, upper: bool = False, out: Tensor | None = None) -> Tensor: """L with A = L @ L.mH (or the upper U with A = U.mH @ U)."""
def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False, out: Tensor | None = None) -> linalg_cholesky_ex: ...
def cond(A: Tensor, p: float | str | None = None, *, out: Tensor | None = None) -> Tensor: """The condition number: by how much a solution may amplify errors of its right side."""
def cross(input: Tensor, other: Scalar, *, dim: int | None = -1, out: Tensor | None = None) -> Tensor: """The cross product of vectors of three elements along `dim`."""
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor: """The determinant of a square matrix, or of each of a batch."""
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor: """The diagonals of matrices."""
def eig(A: Tensor, *, out: Tensor | None = None) -> linalg_eig: """Eigenvalues and eigenvectors of a square matrix, complex always."""
def eigh(A: Tensor, UPLO: str = 'L', *, out: Tensor | None = None) -> linalg_eigh: """Eigenvalues (ascending) and eigenvectors of a symmetric matrix, of which one triangle is read."""
def eigvals(A: Tensor, *, out: Tensor | None = None) -> Tensor: """The eigenvalues of a square matrix, complex always."""
def eigvalsh(A: Tensor, UPLO: str = 'L', *, out: Tensor | None = None) -> Tensor: """Eigenvalues (ascending) of a symmetric matrix."""
def householder_product(A: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor: """The inverse of a square matrix, or of each of a batch."""
def inv_ex(A: Tensor, *, check_errors: bool = False, out: Tensor | None = None) -> linalg_inv_ex: """(the inverse, 0): where there is none, the place of the first pivot that is zero."""
def ldl_factor(A: Tensor, *, hermitian: bool = False, out: Tensor | None = None) -> linalg_ldl_factor: ...
def ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False, out: Tensor | None = None) -> linalg_ldl_factor_ex: ...
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False, out: Tensor | None = None) -> Tensor: """X with A @ X = B, given what `ldl_factor` makes of A. It has no gradient."""
def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None, out: Tensor | None = None) -> linalg_lstsq: """The X for which |A @ X - B| is least, and of those the least X."""
def lu(A: Tensor, *, pivot: bool = True, out: Sequence[Tensor] | None = None) -> linalg_lu: """P, L, U with A = P @ L @ U."""
def lu_factor(A: Tensor, *, pivot: bool = True, out: Tensor | None = None) -> linalg_lu_factor: """(L and U in one matrix, row swaps) with A = P @ L @ U. A pivot that is zero is an error."""
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False, out: Tensor | None = None) -> linalg_lu_factor_ex: """(L and U in one matrix, row swaps, the place of the first pivot that is zero) with A = P @ L @ U."""
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False, out: Tensor | None = None) -> Tensor: """X with A @ X = B, given what `lu_factor` makes of A."""
def matmul(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """The matrix product, with NumPy's rules for vectors and batches."""
def matrix_exp(A: Tensor) -> Tensor: """The exponential of square matrices: a Taylor series of A / 2^k, squared k times."""
def matrix_norm(A: Tensor, ord: float | str = 'fro', dim: Dims = (-2, -1), keepdim: bool = False, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor: """A norm of each matrix: "fro", "nuc", inf, -inf, 1, -1, 2, -2."""
def matrix_power(A: Tensor, n: int, *, out: Tensor | None = None) -> Tensor: """A @ A @ ... n times; of the inverse where n is negative."""
def matrix_rank(A: Tensor, tol: float | Tensor | None = None, hermitian: bool = False, *, atol: float | Tensor | None = None, rtol: float | Tensor | None = None, out: Tensor | None = None) -> Tensor: ...
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor: """The product of several matrices; the first and the last may be vectors."""
def norm(A: Tensor, ord: float | str | None = None, dim: Dims | None = None, keepdim: bool = False, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor: """A vector norm over one dimension (or all), a matrix norm over two."""
def pinv(A: Tensor, rcond: float | Tensor | None = None, hermitian: bool = False, *, atol: float | Tensor | None = None, rtol: float | Tensor | None = None, out: Tensor | None = None) -> Tensor: ...
def qr(A: Tensor, mode: str = 'reduced', *, out: Tensor | None = None) -> linalg_qr: """Q with orthonormal columns and the upper R with A = Q @ R."""
def slogdet(A: Tensor, *, out: Tensor | None = None) -> linalg_slogdet: """(sign, log of the absolute value) of the determinant."""
def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Tensor | None = None) -> Tensor: """X with A @ X = B (or X @ A = B)."""
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False, out: Tensor | None = None) -> linalg_solve_ex: """(the solution, 0): where there is none, the place of the first pivot that is zero."""
def solve_triangular(A: Tensor, B: Tensor, *, upper: float, left: bool = True, unitriangular: bool = False, out: Tensor | None = None) -> Tensor: """X with A @ X = B (or X @ A = B), one triangle of A being read. It is of A's type."""
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None, out: Tensor | None = None) -> linalg_svd: """U, S, Vh with A = U @ diag(S) @ Vh."""
def svdvals(A: Tensor, *, driver: str | None = None, out: Tensor | None = None) -> Tensor: """The singular values, the largest first."""
def tensorinv(A: Tensor, ind: int = 2, *, out: Tensor | None = None) -> Tensor: """The inverse of a tensor as a map from its last dimensions to its first `ind`."""
def tensorsolve(A: Tensor, B: Tensor, dims: Sequence[int] | None = None, *, out: Tensor | None = None) -> Tensor: """X with tensordot(A, X, X.ndim) = B."""
def vander(x: Tensor, N: int | None = None) -> Tensor: """The powers 0 to N - 1 of each number, as rows."""
def vecdot(x: Tensor, y: Tensor, *, dim: Dims = -1, out: Tensor | None = None) -> Tensor: """The inner product of vectors along `dim`, the first conjugated."""
def vector_norm(x: Tensor, ord: float = 2, dim: Dims | None = None, keepdim: bool = False, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor: """(sum |x|^ord)^(1/ord) over the given dimensions (all by default)."""
