"""Products of matrices."""
import whet

from ....tensor import Tensor
from ...errors import OnnxError
from ..definition import operator


@operator("MatMul")
def matmul(a: Tensor, b: Tensor) -> Tensor:
    return whet.matmul(a, b)


@operator("Gemm", since=7)
def gemm(a: Tensor, b: Tensor, c: Tensor | None = None, *, alpha: float = 1.0, beta: float = 1.0,
         transA: int = 0, transB: int = 0) -> Tensor:
    if a.dtype.is_floating_point and transB and not transA and alpha == 1 and (
            c is None or beta == 1 and c.ndim == 1):
        return whet.nn.functional.linear(a, b, c)
    found = whet.matmul(a.t() if transA else a, b.t() if transB else b)
    if alpha != 1:
        found = found * _factor(alpha, a)
    if c is not None:
        found = found + (c if beta == 1 else c * _factor(beta, a))
    return found


def _factor(x: float, like: Tensor) -> float | int:
    return x if like.dtype.is_floating_point else int(x)


@operator("Gemm")
def gemm_1(a: Tensor, b: Tensor, c: Tensor, *, alpha: float = 1.0, beta: float = 1.0,
           transA: int = 0, transB: int = 0, broadcast: int = 0) -> Tensor:
    return gemm(a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB)


@operator("Einsum")
def einsum(*operands: Tensor, equation: str) -> Tensor:
    return whet.einsum(equation.replace(" ", ""), *operands)


@operator("Det")
def det(x: Tensor) -> Tensor:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise OnnxError(f"the matrices are not square: {list(x.shape)}")
    return whet.det(x)
