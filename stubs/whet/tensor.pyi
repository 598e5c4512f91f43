# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
import numpy as np
from builtins import bool as _bool, float as _float, int as _int, type as _type
from collections.abc import Sequence
from typing import Any, Callable, Iterator, Literal, ParamSpec, Self, TypeVar, overload
from whet.autograd.graph import Node
from whet.devices import device as _device
from whet.dtypes import dtype as _dtype
from whet.random import Generator
from whet.return_types import aminmax as _aminmax, cummax as _cummax, cummin as _cummin, frexp as _frexp, geqrf as _geqrf, histogram as _histogram, kthvalue as _kthvalue, max as _max, median as _median, min as _min, mode as _mode, nanmedian as _nanmedian, qr as _qr, slogdet as _slogdet, sort as _sort, svd as _svd, topk as _topk, triangular_solve as _triangular_solve
from whet.size import Size
from whet.types import Device, Dims, Index, Ints, Layout, MemoryFormat, Number, Scalar, Shape
from whet.utils.hooks import RemovableHandle

S = TypeVar("S")


class Tensor:
    """A multi-dimensional array that can be differentiated through."""
    def __init__(self, *args: Any, device: Device | None = None, dtype: _dtype | None = None, data: Any = None, requires_grad: _bool = False) -> None: ...
    @property
    def H(self) -> Tensor: """The matrix transposed and conjugated."""
    @property
    def T(self) -> Tensor: """The dimensions in reverse order."""
    def abs(self) -> Tensor: """The absolute value of each element; of complex numbers, their modulus. See `whet.abs`."""
    def abs_(self) -> Self: """`abs`, in place."""
    def absolute(self) -> Tensor: """The absolute value of each element; of complex numbers, their modulus. See `whet.abs`."""
    def absolute_(self) -> Self: """`abs`, in place."""
    def acos(self) -> Tensor: """The inverse cosine, between 0 and pi. See `whet.acos`."""
    def acos_(self) -> Self: """`acos`, in place."""
    def acosh(self) -> Tensor: """The inverse hyperbolic cosine; NaN below 1. See `whet.acosh`."""
    def acosh_(self) -> Self: """`acosh`, in place."""
    def add(self, other: Scalar, *, alpha: Number = 1) -> Tensor: """input + alpha * other. See `whet.add`."""
    def add_(self, other: Scalar, *, alpha: Number = 1) -> Self: """`add`, in place."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor: """beta * input + alpha * batch_sum(batch1, batch2)."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Self: """`addbmm`, in place."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor: """input + value * (tensor1 / tensor2), elementwise. See `whet.addcdiv`."""
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Self: """`addcdiv`, in place."""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor: """input + value * tensor1 * tensor2, elementwise. See `whet.addcmul`."""
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Self: """`addcmul`, in place."""
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor: """beta * input + alpha * mm(mat1, mat2)."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Self: """`addmm`, in place."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor: """beta * input + alpha * mv(mat, vec)."""
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Self: """`addmv`, in place."""
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor: """beta * input + alpha * outer(vec1, vec2)."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Self: """`addr`, in place."""
    def adjoint(self) -> Tensor: """Matrices transposed and conjugated."""
    def all(self, dim: Dims | None = None, keepdim: _bool = False) -> Tensor: """Are all elements true (not zero)?"""
    def allclose(self, other: Scalar, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool: """Are all elements close (see `isclose`)?"""
    def amax(self, dim: Dims = (), keepdim: _bool = False) -> Tensor: """The greatest element, over any dimensions; its gradient is shared evenly between ties."""
    def amin(self, dim: Dims = (), keepdim: _bool = False) -> Tensor: """The least element, over any dimensions; its gradient is shared evenly between ties."""
    def aminmax(self, *, dim: Dims | None = None, keepdim: _bool = False) -> _aminmax: """(min, max) together."""
    def angle(self) -> Tensor: """The angle of a complex number in the plane; of a real number 0 or pi."""
    def any(self, dim: Dims | None = None, keepdim: _bool = False) -> Tensor: """Is any element true (not zero)?"""
    def apply_(self, callable: Callable[..., Any]) -> Self: """Replace every element by what a Python function makes of it. Slow."""
    def arccos(self) -> Tensor: """The inverse cosine, between 0 and pi. See `whet.acos`."""
    def arccos_(self) -> Self: """`acos`, in place."""
    def arccosh(self) -> Tensor: """The inverse hyperbolic cosine; NaN below 1. See `whet.acosh`."""
    def arccosh_(self) -> Self: """`acosh`, in place."""
    def arcsin(self) -> Tensor: """The inverse sine, between -pi / 2 and pi / 2. See `whet.asin`."""
    def arcsin_(self) -> Self: """`asin`, in place."""
    def arcsinh(self) -> Tensor: """The inverse hyperbolic sine. See `whet.asinh`."""
    def arcsinh_(self) -> Self: """`asinh`, in place."""
    def arctan(self) -> Tensor: """The inverse tangent, between -pi / 2 and pi / 2. See `whet.atan`."""
    def arctan2(self, other: Scalar) -> Tensor: """The angle of the point (other, input) in the plane, between -pi and pi. See `whet.atan2`."""
    def arctan2_(self, other: Scalar) -> Self: """`atan2`, in place."""
    def arctan_(self) -> Self: """`atan`, in place."""
    def arctanh(self) -> Tensor: """The inverse hyperbolic tangent; NaN outside of [-1, 1]. See `whet.atanh`."""
    def arctanh_(self) -> Self: """`atanh`, in place."""
    def argmax(self, dim: Dims | None = None, keepdim: _bool = False) -> Tensor: """The index of the (first) greatest element."""
    def argmin(self, dim: Dims | None = None, keepdim: _bool = False) -> Tensor: """The index of the (first) least element."""
    def argsort(self, dim: Dims = -1, descending: _bool = False, *, stable: _bool = True, axis: Dims | None = None) -> Tensor: """The indices that put the elements in order along a dimension."""
    def argwhere(self) -> Tensor: """The indices of all elements that are not zero, as rows."""
    def as_strided(self, size: Shape, stride: Shape, storage_offset: _int | None = None) -> Tensor: ...
    def as_strided_(self, size: Shape, stride: Shape, storage_offset: _int | None = None) -> Self: """`as_strided`, in place."""
    def as_strided_scatter(self, src: Tensor, size: Shape, stride: Shape, storage_offset: _int | None = None) -> Tensor: """A copy of `input` and of its memory with the region of `as_strided` replaced by `src`."""
    def as_subclass(self, cls: _type[S]) -> S: """The same memory and history as an instance of `cls`."""
    def asin(self) -> Tensor: """The inverse sine, between -pi / 2 and pi / 2. See `whet.asin`."""
    def asin_(self) -> Self: """`asin`, in place."""
    def asinh(self) -> Tensor: """The inverse hyperbolic sine. See `whet.asinh`."""
    def asinh_(self) -> Self: """`asinh`, in place."""
    def atan(self) -> Tensor: """The inverse tangent, between -pi / 2 and pi / 2. See `whet.atan`."""
    def atan2(self, other: Scalar) -> Tensor: """The angle of the point (other, input) in the plane, between -pi and pi. See `whet.atan2`."""
    def atan2_(self, other: Scalar) -> Self: """`atan2`, in place."""
    def atan_(self) -> Self: """`atan`, in place."""
    def atanh(self) -> Tensor: """The inverse hyperbolic tangent; NaN outside of [-1, 1]. See `whet.atanh`."""
    def atanh_(self) -> Self: """`atanh`, in place."""
    def backward(self, gradient: Tensor | None = None, retain_graph: _bool | None = None, create_graph: _bool = False, inputs: Tensor | Sequence[Tensor] | None = None) -> None: """Accumulate d self / d leaf into every leaf's `.grad`."""
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor: """beta * input + alpha * bmm(batch1, batch2)."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Self: """`baddbmm`, in place."""
    def bernoulli(self, p: _float | Tensor | None = None, *, generator: Generator | None = None) -> Tensor: """Ones with the probabilities of the input, zeros otherwise."""
    def bernoulli_(self, p: _float | Tensor = 0.5, *, generator: Generator | None = None) -> Self: """Fill with ones with probability p, zeros otherwise."""
    def bfloat16(self, memory_format: MemoryFormat = ...) -> Tensor: """The tensor as bfloat16."""
    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> Tensor: """How often (or with how much weight) each number 0, 1, ... occurs."""
    def bitwise_and(self, other: Scalar) -> Tensor: """The bits that both have; of booleans, `and`. See `whet.bitwise_and`."""
    def bitwise_and_(self, other: Scalar) -> Self: """`bitwise_and`, in place."""
    def bitwise_left_shift(self, other: Scalar) -> Tensor: """The bits moved up by `other` places. See `whet.bitwise_left_shift`."""
    def bitwise_left_shift_(self, other: Scalar) -> Self: """`bitwise_left_shift`, in place."""
    def bitwise_not(self) -> Tensor: """All bits flipped; of booleans, `not`. See `whet.bitwise_not`."""
    def bitwise_not_(self) -> Self: """`bitwise_not`, in place."""
    def bitwise_or(self, other: Scalar) -> Tensor: """The bits that at least one has; of booleans, `or`. See `whet.bitwise_or`."""
    def bitwise_or_(self, other: Scalar) -> Self: """`bitwise_or`, in place."""
    def bitwise_right_shift(self, other: Scalar) -> Tensor: """The bits moved down by `other` places; the sign stays. See `whet.bitwise_right_shift`."""
    def bitwise_right_shift_(self, other: Scalar) -> Self: """`bitwise_right_shift`, in place."""
    def bitwise_xor(self, other: Scalar) -> Tensor: """The bits that exactly one has; of booleans, `!=`. See `whet.bitwise_xor`."""
    def bitwise_xor_(self, other: Scalar) -> Self: """`bitwise_xor`, in place."""
    def bmm(self, mat2: Tensor) -> Tensor: """The products of two batches of matrices."""
    def bool(self, memory_format: MemoryFormat = ...) -> Tensor: """The tensor as bool."""
    def broadcast_to(self, size: Shape) -> Tensor: """`expand` to a shape."""
    def byte(self, memory_format: MemoryFormat = ...) -> Tensor: """The tensor as uint8."""
    def cauchy_(self, median: _float = 0, sigma: _float = 1, *, generator: Generator | None = None) -> Self: """Fill with draws from the Cauchy distribution."""
    def cbrt(self) -> Tensor: """The cube root of each element. See `whet.cbrt`."""
    def cbrt_(self) -> Self: """`cbrt`, in place."""
    def ccol_indices(self) -> Tensor: """`ccol_indices()` of a sparse column compressed tensor."""
    def cdouble(self, memory_format: MemoryFormat = ...) -> Tensor: """The tensor as complex128."""
    def ceil(self) -> Tensor: """The least whole number that is not less, elementwise. See `whet.ceil`."""
    def ceil_(self) -> Self: """`ceil`, in place."""
    def cfloat(self, memory_format: MemoryFormat = ...) -> Tensor: """The tensor as complex64."""
    def channel_shuffle(self, groups: _int) -> Tensor: """Channels dealt out over the groups."""
    def char(self, memory_format: MemoryFormat = ...) -> Tensor: """The tensor as int8."""
    def cholesky(self, upper: _bool = False) -> Tensor: """The Cholesky factor of a positive definite matrix."""
    def cholesky_inverse(self, upper: _bool = False) -> Tensor: """The inverse of a matrix, from its Cholesky factor."""
    def cholesky_solve(self, L: Tensor, upper: _bool = False) -> Tensor: """X with A @ X = B, given the Cholesky factor of A."""
    def chunk(self, chunks: _int, dim: Dims = 0) -> tuple[Tensor, ...]: """Views of at most `chunks` pieces of one size (the last may be smaller) along a dimension."""
    def clamp(self, min: Scalar | None = None, max: Scalar | None = None) -> Tensor: """input limited to [min, max]. See `whet.clamp`."""
    def clamp_(self, min: Scalar | None = None, max: Scalar | None = None) -> Self: """`clamp`, in place."""
    def clamp_max(self, max: Scalar) -> Tensor: """input, at most max. See `whet.clamp_max`."""
    def clamp_max_(self, max: Scalar) -> Self: """`clamp_max`, in place."""
    def clamp_min(self, min: Scalar) -> Tensor: """input, at least min. See `whet.clamp_min`."""
    def clamp_min_(self, min: Scalar) -> Self: """`clamp_min`, in place."""
    def clip(self, min: Scalar | None = None, max: Scalar | None = None) -> Tensor: """input limited to [min, max]. See `whet.clamp`."""
    def clip_(self, min: Scalar | None = None, max: Scalar | None = None) -> Self: """`clamp`, in place."""
    def clone(self, *, memory_format: MemoryFormat = ...) -> Tensor: """A copy with the same history."""
    def coalesce(self) -> Tensor: """`coalesce()` of a sparse coordinate tensor. A dense one has none, and raises RuntimeError."""
    def col_indices(self) -> Tensor: """`col_indices()` of a sparse row compressed tensor. A dense one has none, and raises RuntimeError."""
    def conj(self) -> Tensor: """The complex conjugate; a real tensor itself."""
    def conj_physical(self) -> Tensor: """The complex conjugate of each element. See `whet.conj_physical`."""
    def conj_physical_(self) -> Self: """`conj_physical`, in place."""
    def const_data_ptr(self) -> _int: """The address of the first element."""
    def contiguous(self, memory_format: MemoryFormat = ...) -> Tensor: """The same values without gaps, row-major (or in another format); itself if they are."""
    def copy_(self, src: Tensor, non_blocking: _bool = False) -> Self: """Write the values of `src`, broadcast and converted, into this tensor."""
    def copysign(self, other: Scalar) -> Tensor: """The magnitude of input with the sign of other. See `whet.copysign`."""
    def copysign_(self, other: Scalar) -> Self: """`copysign`, in place."""
    def corrcoef(self) -> Tensor: """The correlation coefficients of variables (rows), observed together (columns)."""
    def cos(self) -> Tensor: """The cosine of each element, in radians. See `whet.cos`."""
    def cos_(self) -> Self: """`cos`, in place."""
    def cosh(self) -> Tensor: """The hyperbolic cosine of each element. See `whet.cosh`."""
    def cosh_(self) -> Self: """`cosh`, in place."""
    def count_nonzero(self, dim: Dims | None = None) -> Tensor: """How many elements are not zero."""
    def cov(self, *, correction: _float = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor: """The covariances of variables (rows), observed together (columns)."""
    def cpu(self, memory_format: MemoryFormat = ...) -> Tensor: """The tensor in the CPU's memory: itself, if it is there."""
    def cross(self, other: Scalar, dim: _int | None = None) -> Tensor: """The vector product of vectors of 3 elements along `dim` (by default the first dimension of size 3)."""
    def crow_indices(self) -> Tensor: """`crow_indices()` of a sparse row compressed tensor. A dense one has none, and raises RuntimeError."""
    def cuda(self, device: Device | None = None, non_blocking: _bool = False, memory_format: MemoryFormat = ...) -> Tensor: """The tensor on a CUDA device: the current one, where none is named."""
    def cummax(self, dim: Dims) -> _cummax: """Running maxima along `dim`: (values, indices)."""
    def cummin(self, dim: Dims) -> _cummin: """Running minima along `dim`: (values, indices)."""
    def cumprod(self, dim: Dims, *, dtype: _dtype | None = None) -> Tensor: """Running products along `dim`."""
    def cumprod_(self, dim: Dims, *, dtype: _dtype | None = None) -> Self: """`cumprod`, in place."""
    def cumsum(self, dim: Dims, *, dtype: _dtype | None = None) -> Tensor: """Running sums along `dim`."""
    def cumsum_(self, dim: Dims, *, dtype: _dtype | None = None) -> Self: """`cumsum`, in place."""
    def cumulative_trapezoid(self, x: Tensor | None = None, *, dx: _float | None = None, dim: Dims = -1) -> Tensor: """Running integrals of y along `dim` by the trapezoidal rule."""
    @property
    def data(self) -> Tensor: """The same memory without history; writes to it are not seen by version checks."""
    @data.setter
    def data(self, value: Tensor) -> None: ...
    def data_ptr(self) -> _int: """The address of the first element."""
    def deg2rad(self) -> Tensor: """Degrees as radians. See `whet.deg2rad`."""
    def deg2rad_(self) -> Self: """`deg2rad`, in place."""
    def dense_dim(self) -> _int: """How many dense dimensions there are: all."""
    def dequantize(self) -> Any: """The real numbers of a tensor of a quantised type, or of each of several; other tensors as float32."""
    def det(self) -> Tensor: """The determinant of a square matrix, or of each of a batch."""
    def detach(self) -> Tensor: """The same memory without history. Writes are seen by both, and by version checks."""
    def detach_(self) -> Self: """Forget the history of this tensor, in place."""
    @property
    def device(self) -> _device: """Where the memory is."""
    def diag(self, diagonal: _int = 0) -> Tensor: """A vector as a diagonal matrix, or the diagonal of a matrix (copied)."""
    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor: """The last dimension as a diagonal of two new ones, zeros elsewhere."""
    def diagflat(self, offset: _int = 0) -> Tensor: """The flattened tensor as a diagonal matrix."""
    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor: """The diagonal of two dimensions, as the last dimension of the result."""
    def diagonal_scatter(self, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor: """A copy of `input` with a diagonal replaced by `src`."""
    def diff(self, n: _int = 1, dim: Dims = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor: """The n-th difference along `dim`."""
    def digamma(self) -> Tensor: """The derivative of `lgamma`. See `whet.digamma`."""
    def digamma_(self) -> Self: """`digamma`, in place."""
    def dim(self) -> _int: """The number of dimensions."""
    def dim_order(self, ambiguity_check: _bool = False) -> tuple[_int, ...]: """The dimensions from the outermost in memory to the innermost."""
    def dist(self, other: Scalar, p: _float = 2) -> Tensor: """The p-norm of the difference."""
    def div(self, other: Scalar, *, rounding_mode: str | None = None) -> Tensor: """input / other: true division, or rounded ("trunc", "floor"). See `whet.div`."""
    def div_(self, other: Scalar, *, rounding_mode: str | None = None) -> Self: """`div`, in place."""
    def divide(self, other: Scalar, *, rounding_mode: str | None = None) -> Tensor: """input / other: true division, or rounded ("trunc", "floor"). See `whet.div`."""
    def divide_(self, other: Scalar, *, rounding_mode: str | None = None) -> Self: """`div`, in place."""
    def dot(self, tensor: Tensor) -> Tensor: """The inner product of two vectors."""
    def double(self, memory_format: MemoryFormat = ...) -> Tensor: """The tensor as float64."""
    def dsplit(self, indices_or_sections: Ints) -> tuple[Tensor, ...]: """`tensor_split` along dimension 2, into equal pieces where a number is given."""
    @property
    def dtype(self) -> _dtype: """The element type."""
    def eig(self, *args: Any, **kwargs: Any) -> Any: """An error, as in PyTorch, which removed it."""
    def element_size(self) -> _int: """Bytes of an element."""
    def eq(self, other: Scalar) -> Tensor: """Are two elements equal? See `whet.eq`."""
    def eq_(self, other: Scalar) -> Self: """`eq`, in place."""
    def equal(self, other: Scalar) -> _bool: """Have the two tensors the same size and elements?"""
    def erf(self) -> Tensor: """The error function of each element. See `whet.erf`."""
    def erf_(self) -> Self: """`erf`, in place."""
    def erfc(self) -> Tensor: """1 - erf(input), exact also where it is small. See `whet.erfc`."""
    def erfc_(self) -> Self: """`erfc`, in place."""
    def erfinv(self) -> Tensor: """The inverse of `erf`, for elements between -1 and 1. See `whet.erfinv`."""
    def erfinv_(self) -> Self: """`erfinv`, in place."""
    def exp(self) -> Tensor: """e to the power of each element. See `whet.exp`."""
    def exp2(self) -> Tensor: """2 to the power of each element. See `whet.exp2`."""
    def exp2_(self) -> Self: """`exp2`, in place."""
    def exp_(self) -> Self: """`exp`, in place."""
    def expand(self, *shape: Ints, size: Shape | None = None, implicit: _bool = False) -> Self: """Dimensions of size one repeated without copying; -1 leaves a size as it is."""
    def expand_as(self, other: Scalar) -> Tensor: """`expand` to the shape of another tensor."""
    def expm1(self) -> Tensor: """exp(input) - 1, exact near zero, too. See `whet.expm1`."""
    def expm1_(self) -> Self: """`expm1`, in place."""
    def exponential_(self, lambd: Number = 1, *, generator: Generator | None = None) -> Self: """Fill with draws from the exponential distribution."""
    def fill_(self, value: Scalar) -> Self: """Write a number to every element."""
    def fill_diagonal_(self, fill_value: Number, wrap: _bool = False) -> Self: """Write a number to the main diagonal; with `wrap` it starts again below a tall matrix's end."""
    def fix(self) -> Tensor: """The whole part of each element: rounded towards zero. See `whet.trunc`."""
    def fix_(self) -> Self: """`trunc`, in place."""
    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor: """The dimensions from `start_dim` to `end_dim` as one."""
    def flip(self, *numbers: Ints, dims: Dims | None = None) -> Tensor: ...
    def fliplr(self) -> Tensor: """The columns in reverse order."""
    def flipud(self) -> Tensor: """The rows in reverse order."""
    def float(self, memory_format: MemoryFormat = ...) -> Tensor: """The tensor as float32."""
    def float_power(self, exponent: Scalar) -> Tensor: """input to the power of exponent, in double precision. See `whet.float_power`."""
    def float_power_(self, exponent: Scalar) -> Self: """`float_power`, in place: of tensors in double precision."""
    def floor(self) -> Tensor: """The greatest whole number that is not greater, elementwise. See `whet.floor`."""
    def floor_(self) -> Self: """`floor`, in place."""
    def floor_divide(self, other: Scalar) -> Tensor: """The quotient rounded towards minus infinity. See `whet.floor_divide`."""
    def floor_divide_(self, other: Scalar) -> Self: """`floor_divide`, in place."""
    def fmax(self, other: Scalar) -> Tensor: """The greater of two elements; a number rather than NaN. See `whet.fmax`."""
    def fmin(self, other: Scalar) -> Tensor: """The lesser of two elements; a number rather than NaN. See `whet.fmin`."""
    def fmod(self, other: Scalar) -> Tensor: """The remainder of the division rounded towards zero; it has the sign of the dividend."""
    def fmod_(self, other: Scalar) -> Self: """`fmod`, in place."""
    def frac(self) -> Tensor: """The fractional part of each element, with its sign. See `whet.frac`."""
    def frac_(self) -> Self: """`frac`, in place."""
    def frexp(self) -> _frexp: """(mantissa, exponent): input = mantissa * 2 ** exponent, 0.5 <= |mantissa| < 1."""
    def gather(self, dim: Dims, index: Tensor, *, sparse_grad: _bool = False) -> Tensor: """Elements at the places that `index` names along a dimension."""
    def gcd(self, other: Scalar) -> Tensor: """The greatest common divisor of whole numbers. See `whet.gcd`."""
    def gcd_(self, other: Scalar) -> Self: """`gcd`, in place."""
    def ge(self, other: Scalar) -> Tensor: """input >= other, elementwise. See `whet.ge`."""
    def ge_(self, other: Scalar) -> Self: """`ge`, in place."""
    def geometric_(self, p: _float, *, generator: Generator | None = None) -> Self: """Fill with draws from the geometric distribution: of how many trials is the first one a success?"""
    def geqrf(self) -> _geqrf: ...
    def ger(self, vec2: Tensor) -> Tensor: """All products of the elements of two vectors."""
    def get_device(self) -> _int: """The number of the device; -1 where devices of its type have none."""
    @property
    def grad(self) -> Tensor | None: """The gradient that `backward()` accumulated, or None."""
    @grad.setter
    def grad(self, value: Tensor | None) -> None: ...
    @property
    def grad_fn(self) -> Node | None: """The node that made this tensor; None for a leaf."""
    def greater(self, other: Scalar) -> Tensor: """input > other, elementwise. See `whet.gt`."""
    def greater_(self, other: Scalar) -> Self: """`gt`, in place."""
    def greater_equal(self, other: Scalar) -> Tensor: """input >= other, elementwise. See `whet.ge`."""
    def greater_equal_(self, other: Scalar) -> Self: """`ge`, in place."""
    def gt(self, other: Scalar) -> Tensor: """input > other, elementwise. See `whet.gt`."""
    def gt_(self, other: Scalar) -> Self: """`gt`, in place."""
    def half(self, memory_format: MemoryFormat = ...) -> Tensor: """The tensor as float16."""
    def hardshrink(self, lambd: Number = 0.5) -> Tensor: """input, 0 where |input| <= lambd. See `whet.hardshrink`."""
    def hash_tensor(self, dim: Dims = (), *, keepdim: _bool = False, mode: _int = 0) -> Tensor: """The exclusive or of the bits of all elements, as 64-bit numbers, along dimensions."""
    def heaviside(self, values: Tensor) -> Tensor: """0 below zero, 1 above, `values` at zero. See `whet.heaviside`."""
    def heaviside_(self, values: Scalar) -> Self: """`heaviside`, in place."""
    def histc(self, bins: _int = 100, min: _float = 0, max: _float = 0) -> Tensor: ...
    def histogram(self, bins: _int | Tensor = 100, *, range: tuple[_float, _float] | None = None, weight: Tensor | None = None, density: _bool = False) -> _histogram: ...
    def hsplit(self, indices_or_sections: Ints) -> tuple[Tensor, ...]: """`tensor_split` along dimension 1, into equal pieces where a number is given."""
    def hypot(self, other: Scalar) -> Tensor: """sqrt(input ** 2 + other ** 2), without overflow on the way. See `whet.hypot`."""
    def hypot_(self, other: Scalar) -> Self: """`hypot`, in place."""
    def i0(self) -> Tensor: """The modified Bessel function of the first kind, of order 0. See `whet.i0`."""
    def i0_(self) -> Self: """`i0`, in place."""
    def igamma(self, other: Scalar) -> Tensor: """The regularised lower incomplete gamma function of shape `input` at `other`."""
    def igamma_(self, other: Scalar) -> Self: """`igamma`, in place."""
    def igammac(self, other: Scalar) -> Tensor: """The regularised upper incomplete gamma function of shape `input` at `other`."""
    def igammac_(self, other: Scalar) -> Self: """`igammac`, in place."""
    @property
    def imag(self) -> Tensor: """The imaginary part of a complex tensor, as a view."""
    @imag.setter
    def imag(self, value: Tensor) -> None: ...
    def index_add(self, dim: Dims, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor: """`source` (times alpha) added to the slices that a 1-d index names, in index order."""
    def index_add_(self, dim: Dims, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Self: """`index_add`, in place."""
    def index_copy(self, dim: Dims, index: Tensor, source: Tensor) -> Tensor: """`source` written to the slices that a 1-d index names."""
    def index_copy_(self, dim: Dims, index: Tensor, source: Tensor) -> Self: """`index_copy`, in place."""
    def index_fill(self, dim: Dims, index: Tensor, value: Scalar) -> Tensor: """A number written to the slices that a 1-d index names."""
    def index_fill_(self, dim: Dims, index: Tensor, value: Scalar) -> Self: """`index_fill`, in place."""
    def index_put(self, indices: tuple[Tensor, ...] | list[Tensor], values: Tensor, accumulate: _bool = False) -> Tensor: """A copy of `input` with `values` at the index tensors (or added there, in index order)."""
    def index_put_(self, indices: tuple[Tensor, ...] | list[Tensor], values: Tensor, accumulate: _bool = False) -> Self: """Write `values` at the index tensors (or add them, in index order)."""
    def index_reduce(self, dim: Dims, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor: """`source` combined (prod, mean, amax, amin) into the slices that a 1-d index names."""
    def index_reduce_(self, dim: Dims, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True) -> Self: """`index_reduce`, in place."""
    def index_select(self, dim: Dims, index: Tensor) -> Tensor: """The slices of a dimension that a 1-d index names."""
    def indices(self) -> Tensor: """`indices()` of a sparse coordinate tensor. A dense one has none, and raises RuntimeError."""
    def inner(self, other: Scalar) -> Tensor: """Sums of products over the last dimension of both."""
    def int(self, memory_format: MemoryFormat = ...) -> Tensor: """The tensor as int32."""
    def int_repr(self) -> Tensor: """The integers of a tensor of a quantised type."""
    def inverse(self) -> Tensor: """The inverse of a square matrix, or of each of a batch."""
    def ipu(self, device: Device | None = None, non_blocking: _bool = False, memory_format: MemoryFormat | None = None) -> Tensor: """An error: there are no devices of ipu here."""
    def is_coalesced(self) -> _bool: """`is_coalesced()` of a sparse coordinate tensor. A dense one has none, and raises RuntimeError."""
    def is_complex(self) -> _bool: """Is the element type complex?"""
    def is_conj(self) -> _bool: """Is it conjugated, or negated, only when its elements are read? Never here."""
    def is_contiguous(self, memory_format: MemoryFormat | None = None) -> _bool: """Is the memory in row-major order without gaps?"""
    @property
    def is_cpu(self) -> _bool: """Is the memory the CPU's?"""
    @property
    def is_cuda(self) -> _bool: """Is the memory on a CUDA device?"""
    def is_floating_point(self) -> _bool: """Is the element type a floating point type?"""
    def is_inference(self) -> _bool: """Was this tensor made in inference mode?"""
    is_ipu: _bool
    @property
    def is_leaf(self) -> _bool: """Was this tensor made by the user rather than by a recorded op?"""
    is_maia: _bool
    @property
    def is_meta(self) -> _bool: """Is there no memory? Such a tensor has all but elements."""
    is_mkldnn: _bool
    is_mps: _bool
    is_mtia: _bool
    def is_neg(self) -> _bool: """Is it conjugated, or negated, only when its elements are read? Never here."""
    is_nested: _bool
    def is_nonzero(self) -> _bool: """Is the single element different from zero?"""
    def is_pinned(self, device: Device | None = None) -> _bool: """Is it in memory of the host that devices copy from and to by themselves?"""
    is_quantized: _bool
    def is_same_size(self, other: Scalar) -> _bool: """Have the two tensors the same shape?"""
    def is_set_to(self, tensor: Tensor) -> _bool: """Are both the same elements of the same memory: its beginning, size, steps and type?"""
    def is_shared(self) -> _bool: """Is the memory one that processes share? See `share_memory_`."""
    def is_signed(self) -> _bool: """Can elements be negative?"""
    is_sparse: _bool
    is_sparse_csr: _bool
    is_vulkan: _bool
    is_xla: _bool
    is_xpu: _bool
    def isclose(self, other: Scalar, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> Tensor: """Where |input - other| <= atol + rtol * |other|; infinities are close to themselves only."""
    def isfinite(self) -> Tensor: """Is an element neither infinite nor NaN? See `whet.isfinite`."""
    def isinf(self) -> Tensor: """Is an element infinite, of either sign? See `whet.isinf`."""
    def isnan(self) -> Tensor: """Is an element NaN? See `whet.isnan`."""
    def isneginf(self) -> Tensor: """Is an element minus infinity? See `whet.isneginf`."""
    def isposinf(self) -> Tensor: """Is an element plus infinity? See `whet.isposinf`."""
    def isreal(self) -> Tensor: """Where the imaginary part is zero."""
    def istft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False) -> Tensor: ...
    def item(self) -> _float | _int | _bool: """The single element as a Python number."""
    @property
    def itemsize(self) -> _int: """Bytes of an element."""
    def kron(self, other: Scalar) -> Tensor: """The Kronecker product: each element of `input` times all of `other`, as blocks."""
    def kthvalue(self, k: _int, dim: Dims = -1, keepdim: _bool = False) -> _kthvalue: """(values, indices): the k-th smallest element (from 1) along a dimension."""
    @property
    def layout(self) -> Layout: """How elements lie in memory: by strides, in tensors of this class."""
    def lcm(self, other: Scalar) -> Tensor: """The least common multiple of whole numbers. See `whet.lcm`."""
    def lcm_(self, other: Scalar) -> Self: """`lcm`, in place."""
    def ldexp(self, other: Scalar) -> Tensor: """input times two to the power of other. See `whet.ldexp`."""
    def ldexp_(self, other: Scalar) -> Self: """`ldexp`, in place."""
    def le(self, other: Scalar) -> Tensor: """input <= other, elementwise. See `whet.le`."""
    def le_(self, other: Scalar) -> Self: """`le`, in place."""
    def lerp(self, end: Tensor, weight: Tensor | _float) -> Tensor: """Linear interpolation: input + weight * (end - input). See `whet.lerp`."""
    def lerp_(self, end: Tensor, weight: Tensor | _float) -> Self: """`lerp`, in place."""
    def less(self, other: Scalar) -> Tensor: """input < other, elementwise. See `whet.lt`."""
    def less_(self, other: Scalar) -> Self: """`lt`, in place."""
    def less_equal(self, other: Scalar) -> Tensor: """input <= other, elementwise. See `whet.le`."""
    def less_equal_(self, other: Scalar) -> Self: """`le`, in place."""
    def lgamma(self) -> Tensor: """log(|gamma(input)|), elementwise. See `whet.lgamma`."""
    def lgamma_(self) -> Self: """`lgamma`, in place."""
    def log(self) -> Tensor: """The natural logarithm of each element. See `whet.log`."""
    def log10(self) -> Tensor: """The logarithm to base 10. See `whet.log10`."""
    def log10_(self) -> Self: """`log10`, in place."""
    def log1p(self) -> Tensor: """log(1 + input), exact near zero, too. See `whet.log1p`."""
    def log1p_(self) -> Self: """`log1p`, in place."""
    def log2(self) -> Tensor: """The logarithm to base 2. See `whet.log2`."""
    def log2_(self) -> Self: """`log2`, in place."""
    def log_(self) -> Self: """`log`, in place."""
    def log_normal_(self, mean: _float = 1, std: _float = 2, *, generator: Generator | None = None) -> Self: """Fill with exp of normal numbers."""
    def log_softmax(self, dim: Dims, dtype: _dtype | None = None) -> Tensor: """log(softmax(x)) along `dim`, without overflow and underflow."""
    def logaddexp(self, other: Scalar) -> Tensor: """log(exp(input) + exp(other)), without overflow. See `whet.logaddexp`."""
    def logaddexp2(self, other: Scalar) -> Tensor: """log2(2 ** input + 2 ** other), without overflow. See `whet.logaddexp2`."""
    def logcumsumexp(self, dim: Dims) -> Tensor: """Running log(sum(exp(x))) along `dim`."""
    def logdet(self) -> Tensor: """The logarithm of the determinant; NaN where it is negative."""
    def logical_and(self, other: Scalar) -> Tensor: """True where both elements are not zero. See `whet.logical_and`."""
    def logical_and_(self, other: Scalar) -> Self: """`logical_and`, in place."""
    def logical_not(self) -> Tensor: """True where the element is zero. See `whet.logical_not`."""
    def logical_not_(self) -> Self: """`logical_not`, in place."""
    def logical_or(self, other: Scalar) -> Tensor: """True where at least one element is not zero. See `whet.logical_or`."""
    def logical_or_(self, other: Scalar) -> Self: """`logical_or`, in place."""
    def logical_xor(self, other: Scalar) -> Tensor: """True where exactly one of the elements is not zero. See `whet.logical_xor`."""
    def logical_xor_(self, other: Scalar) -> Self: """`logical_xor`, in place."""
    def logit(self, eps: _float | None = None) -> Tensor: """log(input / (1 - input)), input limited to [eps, 1 - eps] where eps is given. See `whet.logit`."""
    def logit_(self, eps: _float | None = None) -> Self: """`logit`, in place."""
    def logsumexp(self, dim: Dims, keepdim: _bool = False) -> Tensor: """log(sum(exp(x))) along `dim`, computed stably."""
    def long(self, memory_format: MemoryFormat = ...) -> Tensor: """The tensor as int64."""
    def lstsq(self, *args: Any, **kwargs: Any) -> Any: """An error, as in PyTorch, which removed it."""
    def lt(self, other: Scalar) -> Tensor: """input < other, elementwise. See `whet.lt`."""
    def lt_(self, other: Scalar) -> Self: """`lt`, in place."""
    @overload
    def lu(self, pivot: _bool = True, get_infos: Literal[False] = False) -> tuple[Tensor, Tensor]: """(factors, pivots) or (factors, pivots, infos): `whet.lu`."""
    @overload
    def lu(self, pivot: _bool = True, *, get_infos: Literal[True]) -> tuple[Tensor, Tensor, Tensor]: """(factors, pivots) or (factors, pivots, infos): `whet.lu`."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor: """Solve A @ X = b, given the factors of A as `lu` packs them."""
    @property
    def mH(self) -> Tensor: """Matrices transposed and conjugated."""
    @property
    def mT(self) -> Tensor: """Matrices transposed."""
    def map2_(self, x: Tensor, y: Tensor, callable: Callable[..., Any]) -> Self: """Replace every element by `callable(element, that of x, that of y)`. Slow."""
    def map_(self, tensor: Tensor, callable: Callable[..., Any]) -> Self: """Replace every element by `callable(element, other element)`. Slow."""
    def masked_fill(self, mask: Tensor, value: Scalar) -> Tensor: """A copy of `input` with `value` where the mask is true."""
    def masked_fill_(self, mask: Tensor, value: Scalar) -> Self: """`masked_fill`, in place."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor: """A copy of `input` whose elements where the mask is true are those of `source`, in order."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Self: """`masked_scatter`, in place."""
    def masked_select(self, mask: Tensor) -> Tensor: """The elements where the mask is true, as one dimension."""
    def matmul(self, other: Scalar) -> Tensor: """The matrix product, with NumPy's rules for vectors and batches."""
    def matrix_exp(self) -> Tensor: """The exponential of square matrices: a Taylor series of A / 2^k, squared k times."""
    def matrix_power(self, n: _int, *, out: Tensor | None = None) -> Tensor: """A @ A @ ... n times; of the inverse where n is negative."""
    @overload
    def max(self) -> Tensor: ...
    @overload
    def max(self, dim: _int, keepdim: _bool = False) -> _max: ...
    @overload
    def max(self, dim: Tensor) -> Tensor: ...
    @overload
    def max(self, *, other: Tensor) -> Tensor: ...
    def maximum(self, other: Scalar) -> Tensor: """The greater of two elements; NaN if either is. See `whet.maximum`."""
    def mean(self, dim: Dims | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, axis: Dims | None = None, keepdims: _bool | None = None) -> Tensor: """The mean of all elements, or along dimensions."""
    @overload
    def median(self) -> Tensor: """The middle element (the lower of two): of all, or (values, indices) along a dimension."""
    @overload
    def median(self, dim: _int, keepdim: _bool = False) -> _median: """The middle element (the lower of two): of all, or (values, indices) along a dimension."""
    @overload
    def min(self) -> Tensor: """The least element; with a dimension (values, indices); with another tensor the elementwise minimum."""
    @overload
    def min(self, dim: _int, keepdim: _bool = False) -> _min: """The least element; with a dimension (values, indices); with another tensor the elementwise minimum."""
    @overload
    def min(self, dim: Tensor) -> Tensor: """The least element; with a dimension (values, indices); with another tensor the elementwise minimum."""
    @overload
    def min(self, *, other: Tensor) -> Tensor: """The least element; with a dimension (values, indices); with another tensor the elementwise minimum."""
    def minimum(self, other: Scalar) -> Tensor: """The lesser of two elements; NaN if either is. See `whet.minimum`."""
    def mm(self, mat2: Tensor) -> Tensor: """The product of two matrices."""
    def mode(self, dim: _int = -1, keepdim: _bool = False) -> _mode: ...
    def module_load(self, other: Scalar, assign: _bool = False) -> Tensor: ...
    def moveaxis(self, source: Dims, destination: Dims) -> Tensor: """Dimensions moved to other places; the rest keep their order."""
    def movedim(self, source: Dims, destination: Dims) -> Tensor: """Dimensions moved to other places; the rest keep their order."""
    def msort(self) -> Tensor: """The elements in order along the first dimension."""
    def mtia(self, device: Device | None = None, non_blocking: _bool = False, memory_format: MemoryFormat | None = None) -> Tensor: """An error: there are no devices of mtia here."""
    def mul(self, other: Scalar) -> Tensor: """input * other, elementwise. See `whet.mul`."""
    def mul_(self, other: Scalar) -> Self: """`mul`, in place."""
    def multigammaln(self, p: _float) -> Tensor: """The logarithm of the multivariate gamma function of dimension p."""
    def multinomial(self, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None) -> Tensor: """Indices drawn from the rows of (unnormalised) probabilities."""
    def multiply(self, other: Scalar) -> Tensor: """input * other, elementwise. See `whet.mul`."""
    def multiply_(self, other: Scalar) -> Self: """`mul`, in place."""
    def mv(self, vec: Tensor) -> Tensor: """A matrix times a vector."""
    def mvlgamma(self, p: _float) -> Tensor: """The logarithm of the multivariate gamma function of dimension p."""
    def mvlgamma_(self, p: _float) -> Self: """`mvlgamma`, in place."""
    @property
    def name(self) -> str | None: """The name of the tensor: it has none."""
    def nan_to_num(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor: """NaN and the infinities replaced by numbers. See `whet.nan_to_num`."""
    def nan_to_num_(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Self: """`nan_to_num`, in place."""
    def nanmean(self, dim: Dims | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None) -> Tensor: """The mean of the elements that are not NaN."""
    @overload
    def nanmedian(self) -> Tensor: """`median` without the NaNs."""
    @overload
    def nanmedian(self, dim: _int, keepdim: _bool = False) -> _nanmedian: """`median` without the NaNs."""
    def nanquantile(self, q: _float | Tensor, dim: Dims | None = None, keepdim: _bool = False, *, interpolation: str = 'linear') -> Tensor: """`quantile` without the NaNs."""
    def nansum(self, dim: Dims | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None) -> Tensor: """The sum, NaNs counted as zero."""
    def narrow(self, dim: Dims, start: _int | Tensor, length: _int) -> Tensor: """A range of a dimension: `length` places from `start`."""
    def narrow_copy(self, dim: Dims, start: Number, length: _int) -> Tensor: """`narrow`, copied."""
    @property
    def nbytes(self) -> _int: """Bytes of all elements."""
    @property
    def ndim(self) -> _int: """The number of dimensions."""
    def ndimension(self) -> _int: """The number of dimensions."""
    def ne(self, other: Scalar) -> Tensor: """Do two elements differ? See `whet.ne`."""
    def ne_(self, other: Scalar) -> Self: """`ne`, in place."""
    def neg(self) -> Tensor: """The elements with the opposite sign. See `whet.neg`."""
    def neg_(self) -> Self: """`neg`, in place."""
    def negative(self) -> Tensor: """The elements with the opposite sign. See `whet.neg`."""
    def negative_(self) -> Self: """`neg`, in place."""
    def nelement(self) -> _int: """The number of elements."""
    def new(self, *args: Any, device: Device | None = None) -> Tensor: """A tensor of this type from sizes or data (see `whet.Tensor`)."""
    def new_empty(self, *shape: Ints, size: Shape | None = None, dtype: _dtype | None = None, device: Device | None = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False) -> Tensor: """As `whet.empty`, in the type of this tensor."""
    def new_empty_strided(self, size: Shape, stride: Shape, *, dtype: _dtype | None = None, device: Device | None = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False) -> Tensor: """As `whet.empty_strided`, in the type of this tensor."""
    def new_full(self, size: Ints, fill_value: Number, *, dtype: _dtype | None = None, device: Device | None = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False) -> Tensor: """As `whet.full`, in the type of this tensor."""
    def new_ones(self, *shape: Ints, size: Shape | None = None, dtype: _dtype | None = None, device: Device | None = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False) -> Tensor: """As `whet.ones`, in the type of this tensor."""
    def new_tensor(self, data: Any, *, dtype: _dtype | None = None, device: Device | None = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False) -> Tensor: """As `whet.tensor`, in the type of this tensor."""
    def new_zeros(self, *shape: Ints, size: Shape | None = None, dtype: _dtype | None = None, device: Device | None = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False) -> Tensor: """As `whet.zeros`, in the type of this tensor."""
    def nextafter(self, other: Scalar) -> Tensor: """The number that follows input in the direction of other. See `whet.nextafter`."""
    def nextafter_(self, other: Scalar) -> Self: """`nextafter`, in place."""
    @overload
    def nonzero(self, *, as_tuple: Literal[False] = False) -> Tensor: """The indices of all elements that are not zero, as rows (or one tensor for each dimension)."""
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: """The indices of all elements that are not zero, as rows (or one tensor for each dimension)."""
    def nonzero_static(self, *, size: Shape, fill_value: Scalar = -1) -> Tensor: """`nonzero` with a given number of rows: cut, or filled up with `fill_value`."""
    def norm(self, p: _float | str | None = 'fro', dim: Dims | None = None, keepdim: _bool = False, dtype: _dtype | None = None) -> Tensor: """The norm of a tensor: `p` a number, "fro" or "nuc"."""
    def normal_(self, mean: _float = 0, std: _float = 1, *, generator: Generator | None = None) -> Self: """Fill with normal numbers."""
    def not_equal(self, other: Scalar) -> Tensor: """Do two elements differ? See `whet.ne`."""
    def not_equal_(self, other: Scalar) -> Self: """`ne`, in place."""
    def numel(self) -> _int: """The number of elements."""
    def numpy(self, *, force: _bool = False) -> np.ndarray[Any, np.dtype[Any]]: """The tensor's memory as a NumPy array."""
    def orgqr(self, tau: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def ormqr(self, tau: Tensor, other: Scalar, left: _bool = True, transpose: _bool = False) -> Tensor: ...
    def outer(self, vec2: Tensor) -> Tensor: """All products of the elements of two vectors."""
    @property
    def output_nr(self) -> _int: ...
    def permute(self, *order: Ints, dims: Shape | None = None) -> Tensor: ...
    def pin_memory(self, device: Device | None = None) -> Tensor: """The tensor in memory of the host that CUDA devices copy from and to by themselves."""
    def pinverse(self, rcond: _float = 1e-15) -> Tensor: """The Moore-Penrose inverse."""
    def polygamma(self, n: _int) -> Tensor: """The n-th derivative of `digamma`."""
    def polygamma_(self, n: _int) -> Self: """`polygamma`, in place."""
    def positive(self) -> Tensor: """The input itself; of booleans an error."""
    def pow(self, exponent: Scalar) -> Tensor: """input to the power of exponent. See `whet.pow`."""
    def pow_(self, exponent: Scalar) -> Self: """`pow`, in place."""
    def prelu(self, weight: Tensor) -> Tensor: """x where positive, weight * x elsewhere; the weight is one number or one per channel."""
    def prod(self, dim: Dims | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None) -> Tensor: """The product of all elements, or along one dimension."""
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor: """A copy with `source` written (or added) at places of the flattened tensor."""
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Self: """Write (or add) `source` at places of the flattened tensor."""
    def q_per_channel_axis(self) -> _int: """The axis that has a scale for each place of a tensor of a quantised type."""
    def q_per_channel_scales(self) -> Tensor: """The scales along the axis of a tensor of a quantised type."""
    def q_per_channel_zero_points(self) -> Tensor: """The zero points along the axis of a tensor of a quantised type."""
    def q_scale(self) -> _float: """The scale of a tensor of a quantised type."""
    def q_zero_point(self) -> _int: """The zero point of a tensor of a quantised type."""
    def qr(self, some: _bool = True) -> _qr: """Q and R with A = Q @ R."""
    def qscheme(self) -> Any: """The scheme of a tensor of a quantised type."""
    def quantile(self, q: _float | Tensor, dim: Dims | None = None, keepdim: _bool = False, *, interpolation: str = 'linear') -> Tensor: """The values below which the fractions `q` of the elements lie."""
    def rad2deg(self) -> Tensor: """Radians as degrees. See `whet.rad2deg`."""
    def rad2deg_(self) -> Self: """`rad2deg`, in place."""
    def random_(self, low: _int | None = None, high: _int | None = None, *, generator: Generator | None = None, **named: _int) -> Self: """Fill with whole numbers in [from, to): by default all that the type can hold."""
    def ravel(self) -> Tensor: """The elements in row-major order as one dimension; a view where the memory allows it."""
    @property
    def real(self) -> Tensor: """The real part of a complex tensor, as a view; a real tensor itself."""
    @real.setter
    def real(self, value: Tensor) -> None: ...
    def reciprocal(self) -> Tensor: """1 / input, elementwise. See `whet.reciprocal`."""
    def reciprocal_(self) -> Self: """`reciprocal`, in place."""
    def record_stream(self, stream: Any) -> Tensor: """Say that work of another stream uses the memory, which is not reused before that."""
    def register_hook(self, hook: Callable[[Tensor], Any]) -> RemovableHandle: ...
    def register_post_accumulate_grad_hook(self, hook: Callable[..., Any]) -> RemovableHandle: """Call `hook(tensor)` each time a gradient was accumulated into this leaf's `.grad`."""
    def reinforce(self, *args: Any, **kwargs: Any) -> Any: """An error, as in PyTorch, which removed it."""
    def relu(self) -> Tensor: """max(input, 0), elementwise. See `whet.relu`."""
    def relu_(self) -> Self: """`relu`, in place."""
    def remainder(self, other: Scalar) -> Tensor: """The remainder of the division rounded down; it has the sign of the divisor. See `whet.remainder`."""
    def remainder_(self, other: Scalar) -> Self: """`remainder`, in place."""
    def renorm(self, p: _float, dim: Dims, maxnorm: _float) -> Tensor: """Every slice along `dim` whose p-norm is greater than `maxnorm` scaled down to it."""
    def renorm_(self, p: _float, dim: Dims, maxnorm: _float) -> Self: """`renorm`, in place."""
    def repeat(self, *size: Ints, repeats: Ints | None = None) -> Tensor: """The tensor repeated along each dimension, copied."""
    def repeat_interleave(self, repeats: _int | Tensor | None = None, dim: Dims | None = None, *, output_size: Ints | None = None) -> Tensor: """Each element repeated, along one dimension or (with none) of the flattened tensor."""
    @property
    def requires_grad(self) -> _bool: """Is a gradient wanted for this tensor?"""
    @requires_grad.setter
    def requires_grad(self, value: _bool) -> None: ...
    def requires_grad_(self, requires_grad: _bool = True) -> Self: """Ask for a gradient of this leaf (or stop asking)."""
    def reshape(self, *sizes: Ints, shape: Shape | None = None) -> Tensor: ...
    def reshape_as(self, other: Scalar) -> Tensor: """`reshape` to the shape of another tensor."""
    def resize(self, *sizes: Ints) -> Tensor: """The tensor viewed in another shape of the same number of elements."""
    def resize_(self, *sizes: Ints, memory_format: MemoryFormat = ...) -> Self: """Give this tensor another shape: in its memory if that is large enough, else in new memory."""
    def resize_as(self, other: Scalar) -> Tensor: """The tensor viewed in the shape of another."""
    def resize_as_(self, other: Scalar, *, memory_format: MemoryFormat | None = None) -> Self: """`resize_` to the shape of another tensor."""
    def resolve_conj(self) -> Tensor: """The tensor itself: conjugation is never lazy."""
    def resolve_neg(self) -> Tensor: """The tensor itself: negation is never lazy."""
    def retain_grad(self) -> None: """Keep the gradient of this non-leaf in `.grad`."""
    @property
    def retains_grad(self) -> _bool: """Does this non-leaf keep its gradient?"""
    def roll(self, shifts: Dims, dims: Dims | None = None) -> Tensor: """Elements moved along dimensions; what leaves at one end comes in at the other."""
    def rot90(self, k: _int = 1, dims: Shape = (0, 1)) -> Tensor: """Two dimensions turned by k quarters, from the first towards the second."""
    def round(self, *, decimals: _int = 0) -> Tensor: """Round half to even, to `decimals` digits."""
    def round_(self, *, decimals: _int = 0) -> Self: """`round`, in place."""
    def row_indices(self) -> Tensor: """`row_indices()` of a sparse column compressed tensor. A dense one has none, and raises RuntimeError."""
    def rsqrt(self) -> Tensor: """1 / sqrt(input), elementwise. See `whet.rsqrt`."""
    def rsqrt_(self) -> Self: """`rsqrt`, in place."""
    def rsub(self, other: Scalar, *, alpha: Number = 1) -> Tensor: """other - alpha * input"""
    def scatter(self, dim: Dims, index: Tensor, src: Scalar | None = None, *, reduce: str | None = None, value: Number | None = None) -> Tensor: ...
    def scatter_(self, dim: Dims, index: Tensor, src: Scalar | None = None, *, reduce: str | None = None, value: Number | None = None) -> Self: """`scatter`, in place."""
    def scatter_add(self, dim: Dims, index: Tensor, src: Tensor) -> Tensor: """`src` added at the places that `index` names along a dimension, in index order."""
    def scatter_add_(self, dim: Dims, index: Tensor, src: Tensor) -> Self: """`scatter_add`, in place."""
    def scatter_reduce(self, dim: Dims, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor: """`src` combined (sum, prod, mean, amax, amin) into the places that `index` names along a dimension."""
    def scatter_reduce_(self, dim: Dims, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True) -> Self: """`scatter_reduce`, in place."""
    def select(self, dim: Dims, index: Tensor) -> Tensor: """One place of a dimension, which disappears."""
    def select_scatter(self, src: Tensor, dim: Dims, index: Tensor) -> Tensor: """A copy of `input` with one place of a dimension replaced by `src`."""
    def set_(self, source: Any = None, storage_offset: _int = 0, size: Shape | None = None, stride: Shape | None = None) -> Self: """Let this tensor use the memory (and shape) of another, or a storage."""
    def sgn(self) -> Tensor: """input / |input|, 0 at 0: the sign, of complex numbers, too. See `whet.sgn`."""
    def sgn_(self) -> Self: """`sgn`, in place."""
    @property
    def shape(self) -> Size: """The sizes."""
    def short(self, memory_format: MemoryFormat = ...) -> Tensor: """The tensor as int16."""
    def sigmoid(self) -> Tensor: """1 / (1 + exp(-input)), elementwise. See `whet.sigmoid`."""
    def sigmoid_(self) -> Self: """`sigmoid`, in place."""
    def sign(self) -> Tensor: """-1, 0 or 1, by the sign of each element. See `whet.sign`."""
    def sign_(self) -> Self: """`sign`, in place."""
    def signbit(self) -> Tensor: """Is the sign bit set? It is set in -0., too. See `whet.signbit`."""
    def sin(self) -> Tensor: """The sine of each element, in radians. See `whet.sin`."""
    def sin_(self) -> Self: """`sin`, in place."""
    def sinc(self) -> Tensor: """sin(pi * input) / (pi * input), 1 at 0. See `whet.sinc`."""
    def sinc_(self) -> Self: """`sinc`, in place."""
    def sinh(self) -> Tensor: """The hyperbolic sine of each element. See `whet.sinh`."""
    def sinh_(self) -> Self: """`sinh`, in place."""
    @overload
    def size(self, dim: None = None) -> Size: """The sizes, or the size of one dimension."""
    @overload
    def size(self, dim: _int) -> _int: """The sizes, or the size of one dimension."""
    def slice_inverse(self, src: Tensor, dim: Dims = 0, start: Number | None = None, end: Number | None = None, step: Number = 1) -> Tensor: """`src`, of which `input` is a slice: a view of it."""
    def slice_scatter(self, src: Tensor, dim: Dims = 0, start: _int | None = None, end: _int | None = None, step: _int = 1) -> Tensor: """A copy of `input` with input[start:end:step] along `dim` replaced by `src`."""
    def slogdet(self) -> _slogdet: """Sign and logarithm of the determinant."""
    def smm(self, mat: Tensor) -> Tensor: """The product of a sparse matrix and a dense one, as a sparse one."""
    def softmax(self, dim: Dims, dtype: _dtype | None = None) -> Tensor: """exp(x) divided by its sum along `dim`."""
    def solve(self, *args: Any, **kwargs: Any) -> Any: """An error, as in PyTorch, which removed it."""
    def sort(self, dim: Dims = -1, descending: _bool = False, *, stable: _bool = True) -> _sort: """(values, indices): the elements in order along a dimension, and where each was."""
    def sparse_dim(self) -> _int: """How many sparse dimensions there are: none."""
    def sparse_mask(self, mask: Tensor) -> Tensor: """The elements at the places of a sparse tensor."""
    def sparse_resize_(self, size: Shape, sparse_dim: _int, dense_dim: _int) -> Self: """Give a sparse tensor another size, with the entries that it has, in place."""
    def sparse_resize_and_clear_(self, size: Shape, sparse_dim: _int, dense_dim: _int) -> Self: """Give a sparse tensor another size, without entries, in place."""
    def split(self, split_size_or_sections: Ints, dim: Dims = 0) -> tuple[Tensor, ...]: """Views of pieces along a dimension: of one size (the last may be smaller), or of the given sizes."""
    def split_with_sizes(self, split_sizes: Shape, dim: Dims = 0) -> tuple[Tensor, ...]: """`split` into pieces of the given sizes."""
    def sqrt(self) -> Tensor: """The square root of each element; NaN below zero. See `whet.sqrt`."""
    def sqrt_(self) -> Self: """`sqrt`, in place."""
    def square(self) -> Tensor: """input * input, elementwise. See `whet.square`."""
    def square_(self) -> Self: """`square`, in place."""
    def squeeze(self, dim: Dims | None = None) -> Tensor: """A view without the dimensions of size one: all of them, or those among `dim`."""
    def squeeze_(self, dim: Dims | None = None) -> Self: """`squeeze`, in place."""
    def sspaddmm(self, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor: """beta times a sparse matrix and alpha times a product, as a sparse one."""
    def std(self, dim: Dims | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None) -> Tensor: """The standard deviation."""
    def std_mean(self, dim: Dims | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None) -> tuple[Tensor, Tensor]: """(standard deviation, mean)"""
    def stft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, pad_mode: str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> Tensor: ...
    def storage(self) -> Any: """The memory under this tensor, as elements."""
    def storage_offset(self) -> _int: """Elements between the start of the storage and the first element."""
    def storage_type(self) -> Any: """The kind of the tensor's storage: `whet.FloatStorage`; `TypedStorage` where there is no name for it."""
    @overload
    def stride(self, dim: None = None) -> tuple[_int, ...]: """Steps in memory, in elements."""
    @overload
    def stride(self, dim: _int) -> _int: """Steps in memory, in elements."""
    def sub(self, other: Scalar, *, alpha: Number = 1) -> Tensor: """input - alpha * other. See `whet.sub`."""
    def sub_(self, other: Scalar, *, alpha: Number = 1) -> Self: """`sub`, in place."""
    def subtract(self, other: Scalar, *, alpha: Number = 1) -> Tensor: """input - alpha * other. See `whet.sub`."""
    def subtract_(self, other: Scalar, *, alpha: Number = 1) -> Self: """`sub`, in place."""
    def sum(self, dim: Dims | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, axis: Dims | None = None, keepdims: _bool | None = None) -> Tensor: """The sum of all elements, or along dimensions. Sums of integers are int64."""
    def sum_to_size(self, *size: Ints) -> Tensor: """Sum over broadcast dimensions so that the result has the given size."""
    def svd(self, some: _bool = True, compute_uv: _bool = True) -> _svd: """U, S, V (not its transpose), as the older function gives them."""
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor: """`transpose`, with NumPy's names."""
    def swapaxes_(self, axis0: _int, axis1: _int) -> Self: """`swapaxes`, in place."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor: """Two dimensions exchanged."""
    def swapdims_(self, dim0: _int, dim1: _int) -> Self: """`transpose`, in place."""
    def symeig(self, *args: Any, **kwargs: Any) -> Any: """An error, as in PyTorch, which removed it."""
    def t(self) -> Tensor: """A matrix transposed."""
    def t_(self) -> Self: """`t`, in place."""
    def take(self, index: Tensor) -> Tensor: """Elements at places of the flattened tensor."""
    def take_along_dim(self, indices: Tensor, dim: Dims | None = None) -> Tensor: ...
    def tan(self) -> Tensor: """The tangent of each element, in radians. See `whet.tan`."""
    def tan_(self) -> Self: """`tan`, in place."""
    def tanh(self) -> Tensor: """The hyperbolic tangent of each element. See `whet.tanh`."""
    def tanh_(self) -> Self: """`tanh`, in place."""
    def tensor_split(self, indices_or_sections: Ints | Tensor, dim: Dims = 0) -> tuple[Tensor, ...]: """Views of pieces along a dimension: `sections` of almost equal size, or cut at the given indices."""
    def tile(self, *size: Ints, dims: Shape | None = None) -> Tensor: ...
    @overload
    def to(self, dtype: _dtype, non_blocking: _bool = False, copy: _bool = False, *, memory_format: MemoryFormat = ...) -> Tensor: ...
    @overload
    def to(self, device: Device | None = None, dtype: _dtype | None = None, non_blocking: _bool = False, copy: _bool = False, *, memory_format: MemoryFormat = ...) -> Tensor: ...
    @overload
    def to(self, other: Tensor, /, non_blocking: _bool = False, copy: _bool = False, *, memory_format: MemoryFormat = ...) -> Tensor: ...
    def to_dense(self, dtype: _dtype | None = None, *, masked_grad: _bool | None = None) -> Tensor: """The tensor itself: all tensors are dense."""
    def to_device(self, device: Device, /, *, stream: Any = None) -> Tensor: """The tensor on another device, as the array API standard has it."""
    def to_padded_tensor(self, padding: _float, output_size: Ints | None = None) -> Tensor: """A dense tensor of the parts of a nested one, filled up to one length."""
    def to_sparse(self, sparse_dim: _int | None = None, *, layout: Layout | None = None, blocksize: tuple[_int, _int] | None = None, dense_dim: _int | None = None) -> Tensor: """The tensor as a sparse one, with a number of sparse dimensions, or a layout."""
    def to_sparse_bsc(self, blocksize: tuple[_int, _int], dense_dim: _int | None = None) -> Tensor: """The blocks that are not zero, column by column."""
    def to_sparse_bsr(self, blocksize: tuple[_int, _int], dense_dim: _int | None = None) -> Tensor: """The blocks that are not zero, row by row."""
    def to_sparse_coo(self) -> Tensor: """The elements that are not zero, with their places."""
    def to_sparse_csc(self, dense_dim: _int | None = None) -> Tensor: """The elements that are not zero, column by column."""
    def to_sparse_csr(self, dense_dim: _int | None = None) -> Tensor: """The elements that are not zero, row by row."""
    def tolist(self) -> Any: """Nested lists of Python numbers."""
    def topk(self, k: _int | Tensor, dim: Dims = -1, largest: _bool = True, sorted: _bool = True) -> _topk: """(values, indices): the k largest (or smallest) elements along a dimension, in order."""
    def trace(self) -> Tensor: """The sum of the diagonal of a matrix."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor: """Two dimensions exchanged."""
    def transpose_(self, dim0: _int, dim1: _int) -> Self: """`transpose`, in place."""
    def trapezoid(self, x: Tensor | None = None, *, dx: _float | None = None, dim: Dims = -1) -> Tensor: """The integral of y along `dim` by the trapezoidal rule."""
    def triangular_solve(self, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False) -> _triangular_solve: """(X with A @ X = b, a copy of A): the older form of `linalg.solve_triangular`."""
    def tril(self, diagonal: _int = 0) -> Tensor: """Matrices with zeros above the given diagonal."""
    def tril_(self, diagonal: _int = 0) -> Self: """`tril`, in place."""
    def triu(self, diagonal: _int = 0) -> Tensor: """Matrices with zeros below the given diagonal."""
    def triu_(self, diagonal: _int = 0) -> Self: """`triu`, in place."""
    def true_divide(self, other: Scalar) -> Tensor: """input / other, of whole numbers, too. See `whet.true_divide`."""
    def true_divide_(self, other: Scalar) -> Self: """`true_divide`, in place."""
    def trunc(self) -> Tensor: """The whole part of each element: rounded towards zero. See `whet.trunc`."""
    def trunc_(self) -> Self: """`trunc`, in place."""
    @overload
    def type(self, dtype: None = None, non_blocking: _bool = False) -> str: """The name of the tensor's type; with an argument, the tensor in that type."""
    @overload
    def type(self, dtype: _dtype | str | _type, non_blocking: _bool = False) -> Tensor: """The name of the tensor's type; with an argument, the tensor in that type."""
    def type_as(self, other: Scalar) -> Tensor: """The tensor in the type of another."""
    def unbind(self, dim: Dims = 0) -> tuple[Tensor, ...]: """The slices along a dimension, as a tuple."""
    def unflatten(self, dim: _int, sizes: Shape) -> Tensor: """One dimension as several."""
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor: """All windows of `size` along a dimension, `step` apart, as a new last dimension."""
    def uniform_(self, a: _float = 0, b: _float = 1, *, generator: Generator | None = None, **named: _float) -> Self: """Fill with uniform numbers in [from, to)."""
    @overload
    def unique(self, sorted: _bool = True, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None) -> Tensor: ...
    @overload
    def unique(self, sorted: _bool = True, *, return_inverse: Literal[True], return_counts: Literal[True], dim: _int | None = None) -> tuple[Tensor, Tensor, Tensor]: ...
    @overload
    def unique(self, sorted: _bool = True, *, return_inverse: Literal[True], return_counts: Literal[False] = False, dim: _int | None = None) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique(self, sorted: _bool = True, *, return_inverse: Literal[False] = False, return_counts: Literal[True], dim: _int | None = None) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique(self, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None) -> Any: ...
    @overload
    def unique_consecutive(self, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None) -> Tensor: """`input` without repetitions of an element (or slice along `dim`) right after itself."""
    @overload
    def unique_consecutive(self, *, return_inverse: Literal[True], return_counts: Literal[True], dim: _int | None = None) -> tuple[Tensor, Tensor, Tensor]: """`input` without repetitions of an element (or slice along `dim`) right after itself."""
    @overload
    def unique_consecutive(self, *, return_inverse: Literal[True], return_counts: Literal[False] = False, dim: _int | None = None) -> tuple[Tensor, Tensor]: """`input` without repetitions of an element (or slice along `dim`) right after itself."""
    @overload
    def unique_consecutive(self, *, return_inverse: Literal[False] = False, return_counts: Literal[True], dim: _int | None = None) -> tuple[Tensor, Tensor]: """`input` without repetitions of an element (or slice along `dim`) right after itself."""
    @overload
    def unique_consecutive(self, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None) -> Any: """`input` without repetitions of an element (or slice along `dim`) right after itself."""
    def unsafe_chunk(self, chunks: _int, dim: Dims = 0) -> tuple[Tensor, ...]: """`chunk` into pieces that may be written to."""
    def unsafe_split(self, split_size: _int, dim: Dims = 0) -> tuple[Tensor, ...]: """`split` into pieces that may be written to."""
    def unsafe_split_with_sizes(self, split_sizes: Shape, dim: Dims = 0) -> tuple[Tensor, ...]: """`split_with_sizes` into pieces that may be written to."""
    def unsqueeze(self, dim: Dims) -> Tensor: """A dimension of size one put in at `dim`."""
    def unsqueeze_(self, dim: Dims) -> Self: """`unsqueeze`, in place."""
    def unstack(self, dim: Dims = 0) -> tuple[Tensor, ...]: """The slices along a dimension, as a tuple."""
    def untyped_storage(self) -> Any: """The memory under this tensor, as bytes."""
    def values(self) -> Tensor: """`values()` of a sparse tensor. A dense one has none, and raises RuntimeError."""
    def var(self, dim: Dims | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None) -> Tensor: """The variance (divided by n - correction)."""
    def var_mean(self, dim: Dims | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None) -> tuple[Tensor, Tensor]: """(variance, mean)"""
    def vdot(self, other: Scalar) -> Tensor: """The inner product of two vectors, the first conjugated."""
    @overload
    def view(self, *shape: Ints) -> Tensor: """The same memory in another shape, or (given a dtype) as elements of another type."""
    @overload
    def view(self, dtype: _dtype, /) -> Tensor: """The same memory in another shape, or (given a dtype) as elements of another type."""
    def view_as(self, other: Scalar) -> Tensor: """`view` in the shape of another tensor."""
    @property
    def volatile(self) -> _bool: """False: PyTorch removed it, and so says a warning. See `whet.no_grad`."""
    @volatile.setter
    def volatile(self, value: _bool) -> None: ...
    def vsplit(self, indices_or_sections: Ints) -> tuple[Tensor, ...]: """`tensor_split` along dimension 0, into equal pieces where a number is given."""
    def where(self, condition: Tensor, other: Scalar) -> Tensor: ...
    def xlogy(self, other: Scalar) -> Tensor: """input * log(other), 0 where input is 0. See `whet.xlogy`."""
    def xlogy_(self, other: Scalar) -> Self: """`xlogy`, in place."""
    def xpu(self, device: Device | None = None, non_blocking: _bool = False, memory_format: MemoryFormat | None = None) -> Tensor: """An error: there are no devices of xpu here."""
    def zero_(self) -> Self: """Write zero to every element."""
    def __add__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __radd__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __sub__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __rsub__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __mul__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __rmul__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __truediv__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __rtruediv__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __floordiv__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __rfloordiv__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __mod__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __rmod__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __pow__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __rpow__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __and__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __rand__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __or__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __ror__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __xor__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __rxor__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __lshift__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __rlshift__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __rshift__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __rrshift__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __matmul__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __rmatmul__(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor: ...
    def __iadd__(self, other: Scalar | np.ndarray[Any, Any]) -> Self: ...
    def __isub__(self, other: Scalar | np.ndarray[Any, Any]) -> Self: ...
    def __imul__(self, other: Scalar | np.ndarray[Any, Any]) -> Self: ...
    def __itruediv__(self, other: Scalar | np.ndarray[Any, Any]) -> Self: ...
    def __ifloordiv__(self, other: Scalar | np.ndarray[Any, Any]) -> Self: ...
    def __imod__(self, other: Scalar | np.ndarray[Any, Any]) -> Self: ...
    def __ipow__(self, other: Scalar | np.ndarray[Any, Any]) -> Self: ...
    def __iand__(self, other: Scalar | np.ndarray[Any, Any]) -> Self: ...
    def __ior__(self, other: Scalar | np.ndarray[Any, Any]) -> Self: ...
    def __ixor__(self, other: Scalar | np.ndarray[Any, Any]) -> Self: ...
    def __lt__(self, other: Any) -> Tensor: ...
    def __le__(self, other: Any) -> Tensor: ...
    def __gt__(self, other: Any) -> Tensor: ...
    def __ge__(self, other: Any) -> Tensor: ...
    def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __hash__(self) -> _int: ...
    def __bool__(self) -> _bool: ...
    def __int__(self) -> _int: ...
    def __float__(self) -> _float: ...
    def __complex__(self) -> complex: ...
    def __index__(self) -> _int: ...
    def __len__(self) -> _int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __contains__(self, x: Scalar) -> _bool: ...
    def __getitem__(self, index: Index) -> Tensor: ...
    def __setitem__(self, index: Index, value: Scalar | Sequence[Any]) -> None: ...
    def __array__(self, dtype: Any = None, copy: _bool | None = None) -> np.ndarray[Any, Any]: ...
    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[_int, _int]: ...
