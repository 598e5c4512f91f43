# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from builtins import bool as _bool
from collections.abc import Sequence
from typing import Any
from whet.dtypes import dtype
from whet.return_types import linalg_eigh, linalg_qr, linalg_slogdet, linalg_svd, unique_all as _unique_all, unique_counts as _unique_counts, unique_inverse as _unique_inverse
from whet.size import Size
from whet.tensor import Tensor
from whet.types import Device, Dims, Ints, Number, Scalar, Shape


bool: dtype
complex128: dtype
complex64: dtype
e: float
float32: dtype
float64: dtype
inf: float
int16: dtype
int32: dtype
int64: dtype
int8: dtype
nan: float
newaxis: None
pi: float
uint16: dtype
uint32: dtype
uint64: dtype
uint8: dtype
def abs(x: Tensor, /) -> Tensor: """`abs` of the array API standard. See `whet.abs`."""
def acos(x: Tensor, /) -> Tensor: """`acos` of the array API standard. See `whet.acos`."""
def acosh(x: Tensor, /) -> Tensor: """`acosh` of the array API standard. See `whet.acosh`."""
def add(x1: Tensor, x2: Tensor, /) -> Tensor: """`add` of the array API standard. See `whet.add`."""
def all(x: Tensor, /, *, axis: Dims | None = None, keepdims: _bool = False) -> Tensor: """`all` of the array API standard."""
def any(x: Tensor, /, *, axis: Dims | None = None, keepdims: _bool = False) -> Tensor: """`any` of the array API standard."""
def arange(start: Number, /, stop: Number | None = None, step: Number = 1, *, dtype: dtype | None = None, device: Device | None = None) -> Tensor: """start, start + step, ... up to but without `stop`."""
def argmax(x: Tensor, /, *, axis: Dims | None = None, keepdims: _bool = False) -> Tensor: """`argmax` of the array API standard."""
def argmin(x: Tensor, /, *, axis: Dims | None = None, keepdims: _bool = False) -> Tensor: """`argmin` of the array API standard."""
def argsort(x: Tensor, /, *, axis: Dims = -1, descending: _bool = False, stable: _bool = True) -> Tensor: """The places of the elements in order along an axis."""
def asarray(obj: Any, /, *, dtype: dtype | None = None, device: Device | None = None, copy: _bool | None = None) -> Tensor: """The object as a tensor, sharing its memory if possible."""
def asin(x: Tensor, /) -> Tensor: """`asin` of the array API standard. See `whet.asin`."""
def asinh(x: Tensor, /) -> Tensor: """`asinh` of the array API standard. See `whet.asinh`."""
def astype(x: Tensor, dtype: dtype, /, *, copy: _bool = True, device: Device | None = None) -> Tensor: """The elements in another type; a copy unless that is the type they have and `copy=False`."""
def atan(x: Tensor, /) -> Tensor: """`atan` of the array API standard. See `whet.atan`."""
def atan2(x1: Tensor, x2: Tensor, /) -> Tensor: """`atan2` of the array API standard. See `whet.atan2`."""
def atanh(x: Tensor, /) -> Tensor: """`atanh` of the array API standard. See `whet.atanh`."""
def bitwise_and(x1: Tensor, x2: Tensor, /) -> Tensor: """`bitwise_and` of the array API standard. See `whet.bitwise_and`."""
def bitwise_invert(x: Tensor, /) -> Tensor: """`bitwise_invert` of the array API standard. See `whet.bitwise_not`."""
def bitwise_left_shift(x1: Tensor, x2: Tensor, /) -> Tensor: """`bitwise_left_shift` of the array API standard. See `whet.bitwise_left_shift`."""
def bitwise_or(x1: Tensor, x2: Tensor, /) -> Tensor: """`bitwise_or` of the array API standard. See `whet.bitwise_or`."""
def bitwise_right_shift(x1: Tensor, x2: Tensor, /) -> Tensor: """`bitwise_right_shift` of the array API standard. See `whet.bitwise_right_shift`."""
def bitwise_xor(x1: Tensor, x2: Tensor, /) -> Tensor: """`bitwise_xor` of the array API standard. See `whet.bitwise_xor`."""
def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]: """Views of one shape."""
def broadcast_shapes(*shapes: Ints) -> Size: """The shape that tensors of these shapes broadcast to."""
def broadcast_to(x: Tensor, /, shape: Shape) -> Tensor: """A view in which dimensions of size one are repeated."""
def can_cast(from_: dtype, to: dtype, /) -> _bool: """Do a type (or a tensor's) and another meet in the other?"""
def ceil(x: Tensor, /) -> Tensor: """`ceil` of the array API standard. See `whet.ceil`."""
def clip(x: Tensor, /, min: Scalar | None = None, max: Scalar | None = None) -> Tensor: """Elements between two bounds, in the type of `x`."""
def concat(arrays: Sequence[Tensor], /, *, axis: Dims = 0) -> Tensor: """Tensors one after the other along an axis; flattened if that is None."""
def conj(x: Tensor, /) -> Tensor: """`conj` of the array API standard. See `whet.conj`."""
def copysign(x1: Tensor, x2: Tensor, /) -> Tensor: """`copysign` of the array API standard. See `whet.copysign`."""
def cos(x: Tensor, /) -> Tensor: """`cos` of the array API standard. See `whet.cos`."""
def cosh(x: Tensor, /) -> Tensor: """`cosh` of the array API standard. See `whet.cosh`."""
def count_nonzero(x: Tensor, /, *, axis: Dims | None = None, keepdims: _bool = False) -> Tensor: """The number of elements that are not zero."""
def cumulative_prod(x: Tensor, /, *, axis: Dims | None = None, dtype: dtype | None = None, include_initial: _bool = False) -> Tensor: """The running prod along an axis, from its start value if `include_initial`."""
def cumulative_sum(x: Tensor, /, *, axis: Dims | None = None, dtype: dtype | None = None, include_initial: _bool = False) -> Tensor: """The running sum along an axis, from its start value if `include_initial`."""
def diff(x: Tensor, /, *, axis: Dims = -1, n: int = 1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor: """The n-th difference along an axis."""
def divide(x1: Tensor, x2: Tensor, /) -> Tensor: """`divide` of the array API standard. See `whet.true_divide`."""
def empty(shape: Ints, *, dtype: dtype | None = None, device: Device | None = None) -> Tensor: """A tensor whose elements are whatever lay there."""
def empty_like(x: Tensor, /, *, dtype: dtype | None = None, device: Device | None = None) -> Tensor: """`empty_like` of the array API standard."""
def equal(x1: Tensor, x2: Tensor, /) -> _bool: """`equal` of the array API standard. See `whet.eq`."""
def exp(x: Tensor, /) -> Tensor: """`exp` of the array API standard. See `whet.exp`."""
def expand_dims(x: Tensor, /, axis: Dims = 0) -> Tensor: """A dimension of size one more (or several)."""
def expm1(x: Tensor, /) -> Tensor: """`expm1` of the array API standard. See `whet.expm1`."""
def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: dtype | None = None, device: Device | None = None) -> Tensor: """Ones on the k-th diagonal, zeros elsewhere."""
def finfo(type: dtype | None, /) -> Any: """The limits of a real floating type, or of a tensor's; of a complex one, those of its parts."""
def flip(x: Tensor, /, *, axis: Dims | None = None) -> Tensor: """In reversed order along axes."""
def floor(x: Tensor, /) -> Tensor: """`floor` of the array API standard. See `whet.floor`."""
def floor_divide(x1: Tensor, x2: Tensor, /) -> Tensor: """The quotient rounded down; of infinities and finite numbers an infinity."""
def from_dlpack(x: Tensor, /, *, device: Device | None = None, copy: _bool | None = None) -> Tensor: """A tensor over the memory of another library's."""
def full(shape: Ints, fill_value: Number, *, dtype: dtype | None = None, device: Device | None = None) -> Tensor: """One number everywhere."""
def full_like(x: Tensor, /, fill_value: Number, *, dtype: dtype | None = None, device: Device | None = None) -> Tensor: """One number everywhere, in the shape and type of another tensor."""
def greater(x1: Tensor, x2: Tensor, /) -> Tensor: """`greater` of the array API standard. See `whet.gt`."""
def greater_equal(x1: Tensor, x2: Tensor, /) -> Tensor: """`greater_equal` of the array API standard. See `whet.ge`."""
def hypot(x1: Tensor, x2: Tensor, /) -> Tensor: """`hypot` of the array API standard. See `whet.hypot`."""
def iinfo(type: dtype | Any, /) -> Any: """The limits of an integer type, or of a tensor's."""
def imag(x: Tensor, /) -> Tensor: """`imag` of the array API standard. See `whet.imag`."""
def isdtype(dtype: dtype, kind: dtype | str | tuple[dtype | str, ...]) -> _bool: """Is a type of a kind ("integral", "real floating", ...), another type, or any of several?"""
def isfinite(x: Tensor, /) -> Tensor: """`isfinite` of the array API standard. See `whet.isfinite`."""
def isin(x1: Tensor, x2: Tensor, /, *, invert: _bool = False) -> Tensor: """Which elements of `x1` are among those of `x2`?"""
def isinf(x: Tensor, /) -> Tensor: """`isinf` of the array API standard. See `whet.isinf`."""
def isnan(x: Tensor, /) -> Tensor: """`isnan` of the array API standard. See `whet.isnan`."""
def less(x1: Tensor, x2: Tensor, /) -> Tensor: """`less` of the array API standard. See `whet.lt`."""
def less_equal(x1: Tensor, x2: Tensor, /) -> Tensor: """`less_equal` of the array API standard. See `whet.le`."""
def linspace(start: Number | Tensor, stop: Number, /, num: int, *, dtype: dtype | None = None, device: Device | None = None, endpoint: _bool = True) -> Tensor: """`num` numbers evenly spaced from start to stop."""
def log(x: Tensor, /) -> Tensor: """`log` of the array API standard. See `whet.log`."""
def log10(x: Tensor, /) -> Tensor: """`log10` of the array API standard. See `whet.log10`."""
def log1p(x: Tensor, /) -> Tensor: """`log1p` of the array API standard. See `whet.log1p`."""
def log2(x: Tensor, /) -> Tensor: """`log2` of the array API standard. See `whet.log2`."""
def logaddexp(x1: Tensor, x2: Tensor, /) -> Tensor: """`logaddexp` of the array API standard. See `whet.logaddexp`."""
def logical_and(x1: Tensor, x2: Tensor, /) -> Tensor: """`logical_and` of the array API standard. See `whet.logical_and`."""
def logical_not(x: Tensor, /) -> Tensor: """`logical_not` of the array API standard. See `whet.logical_not`."""
def logical_or(x1: Tensor, x2: Tensor, /) -> Tensor: """`logical_or` of the array API standard. See `whet.logical_or`."""
def logical_xor(x1: Tensor, x2: Tensor, /) -> Tensor: """`logical_xor` of the array API standard. See `whet.logical_xor`."""
def matmul(x1: Tensor, x2: Tensor, /) -> Tensor: """The matrix product."""
def matrix_transpose(x: Tensor, /) -> Tensor: """The last two dimensions exchanged."""
def max(x: Tensor, /, *, axis: Dims | None = None, keepdims: _bool = False) -> Tensor: """`max` of the array API standard."""
def maximum(x1: Tensor, x2: Tensor, /) -> Tensor: """`maximum` of the array API standard. See `whet.maximum`."""
def mean(x: Tensor, /, *, axis: Dims | None = None, keepdims: _bool = False) -> Tensor: """The mean."""
def meshgrid(*arrays: Tensor, indexing: str = 'xy') -> tuple[Tensor, ...]: """Coordinates as grids."""
def min(x: Tensor, /, *, axis: Dims | None = None, keepdims: _bool = False) -> Tensor: """`min` of the array API standard."""
def minimum(x1: Tensor, x2: Tensor, /) -> Tensor: """`minimum` of the array API standard. See `whet.minimum`."""
def moveaxis(x: Tensor, source: Dims, destination: Dims, /) -> Tensor: """Dimensions moved to other places."""
def multiply(x1: Tensor, x2: Tensor, /) -> Tensor: """`multiply` of the array API standard. See `whet.mul`."""
def negative(x: Tensor, /) -> Tensor: """`negative` of the array API standard. See `whet.neg`."""
def nextafter(x1: Tensor, x2: Tensor, /) -> Tensor: """`nextafter` of the array API standard. See `whet.nextafter`."""
def nonzero(x: Tensor, /) -> tuple[Tensor, ...]: """The indices of the elements that are not zero, one tensor for each dimension."""
def not_equal(x1: Tensor, x2: Tensor, /) -> Tensor: """`not_equal` of the array API standard. See `whet.ne`."""
def ones(shape: Ints, *, dtype: dtype | None = None, device: Device | None = None) -> Tensor: """Ones."""
def ones_like(x: Tensor, /, *, dtype: dtype | None = None, device: Device | None = None) -> Tensor: """`ones_like` of the array API standard."""
def permute_dims(x: Tensor, /, axes: Shape) -> Tensor: """The dimensions in another order."""
def positive(x: Tensor, /) -> Tensor: """`positive` of the array API standard. See `whet.positive`."""
def pow(x1: Tensor, x2: Tensor, /) -> Tensor: """`pow` of the array API standard. See `whet.pow`."""
def prod(x: Tensor, /, *, axis: Dims | None = None, dtype: dtype | None = None, keepdims: _bool = False) -> Tensor: """The product; whole numbers in the widest type of their sign."""
def real(x: Tensor, /) -> Tensor: """`real` of the array API standard. See `whet.real`."""
def reciprocal(x: Tensor, /) -> Tensor: """`reciprocal` of the array API standard. See `whet.reciprocal`."""
def remainder(x1: Tensor, x2: Tensor, /) -> Tensor: """`remainder` of the array API standard. See `whet.remainder`."""
def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: Dims | None = None) -> Tensor: """Each element several times."""
def reshape(x: Tensor, /, shape: Shape, *, copy: _bool | None = None) -> Tensor: """The same elements in another shape: a view if that can be (or `copy=False`), else a copy."""
def result_type(*arrays_and_dtypes: Any) -> dtype: """The type that operands meet in; numbers follow the kind of the others."""
def roll(x: Tensor, /, shift: Ints, *, axis: Dims | None = None) -> Tensor: """Elements moved on along axes, those that leave enter again."""
def round(x: Tensor, /) -> Tensor: """The nearest whole numbers (the even one of two), of complex numbers for each part."""
def searchsorted(x1: Tensor, x2: Tensor, /, *, side: str | None = 'left', sorter: Tensor | None = None) -> Tensor: """The places at which elements would keep `x1` sorted."""
def sign(x: Tensor, /) -> Tensor: """-1, 0 or 1, of complex numbers the direction; not a number where `x` is not."""
def signbit(x: Tensor, /) -> Tensor: """`signbit` of the array API standard. See `whet.signbit`."""
def sin(x: Tensor, /) -> Tensor: """`sin` of the array API standard. See `whet.sin`."""
def sinh(x: Tensor, /) -> Tensor: """`sinh` of the array API standard. See `whet.sinh`."""
def sort(x: Tensor, /, *, axis: Dims = -1, descending: _bool = False, stable: _bool = True) -> Tensor: """The elements in order along an axis."""
def sqrt(x: Tensor, /) -> Tensor: """`sqrt` of the array API standard. See `whet.sqrt`."""
def square(x: Tensor, /) -> Tensor: """`square` of the array API standard. See `whet.square`."""
def squeeze(x: Tensor, /, axis: Dims) -> Tensor: """Without dimensions of size one."""
def stack(arrays: Sequence[Tensor], /, *, axis: Dims = 0) -> Tensor: """Join tensors along a new axis."""
def std(x: Tensor, /, *, axis: Dims | None = None, correction: float | None = 0.0, keepdims: _bool = False) -> Tensor: """`std` of the array API standard."""
def subtract(x1: Tensor, x2: Tensor, /) -> Tensor: """`subtract` of the array API standard. See `whet.sub`."""
def sum(x: Tensor, /, *, axis: Dims | None = None, dtype: dtype | None = None, keepdims: _bool = False) -> Tensor: """The sum; whole numbers in the widest type of their sign."""
def take(x: Tensor, indices: Tensor, /, *, axis: Dims | None = None) -> Tensor: """Slices along an axis."""
def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: Dims = -1) -> Tensor: """An element for each index along an axis, all else broadcast."""
def tan(x: Tensor, /) -> Tensor: """`tan` of the array API standard. See `whet.tan`."""
def tanh(x: Tensor, /) -> Tensor: """`tanh` of the array API standard. See `whet.tanh`."""
def tensordot(x1: Tensor, x2: Tensor, /, *, axes: int | Sequence[Sequence[int]] = 2) -> Tensor: """Products summed over axes of both."""
def tile(x: Tensor, repetitions: Ints, /) -> Tensor: """The whole several times along each dimension."""
def tril(x: Tensor, /, *, k: int = 0) -> Tensor: """The lower triangles, zero above the k-th diagonal."""
def triu(x: Tensor, /, *, k: int = 0) -> Tensor: """The upper triangles, zero below the k-th diagonal."""
def trunc(x: Tensor, /) -> Tensor: """`trunc` of the array API standard. See `whet.trunc`."""
def unique_all(x: Tensor, /) -> _unique_all: """`unique_all` of the array API standard. See `whet.unique_all`."""
def unique_counts(x: Tensor, /) -> _unique_counts: """`unique_counts` of the array API standard. See `whet.unique_counts`."""
def unique_inverse(x: Tensor, /) -> _unique_inverse: """`unique_inverse` of the array API standard. See `whet.unique_inverse`."""
def unique_values(x: Tensor, /) -> Tensor: """`unique_values` of the array API standard. See `whet.unique_values`."""
def unstack(x: Tensor, /, *, axis: Dims = 0) -> tuple[Tensor, ...]: """The slices along an axis."""
def var(x: Tensor, /, *, axis: Dims | None = None, correction: float = 0.0, keepdims: _bool = False) -> Tensor: """`var` of the array API standard."""
def vecdot(x1: Tensor, x2: Tensor, /, *, axis: Dims = -1) -> Tensor: """The inner product of vectors along an axis, the first conjugated."""
def where(condition: Tensor, x1: Scalar, x2: Scalar, /) -> Tensor: """Elements of `x1` where the condition holds, of `x2` elsewhere."""
def zeros(shape: Ints, *, dtype: dtype | None = None, device: Device | None = None) -> Tensor: """Zeros."""
def zeros_like(x: Tensor, /, *, dtype: dtype | None = None, device: Device | None = None) -> Tensor: """`zeros_like` of the array API standard."""

class fft:
    """The standard's `fft`."""
    @staticmethod
    def fft(x: Tensor, /, *, n: int | None = None, axis: Dims = -1, norm: str = 'backward') -> Tensor: ...
    @staticmethod
    def fftfreq(n: int, /, *, d: float = 1.0, dtype: dtype | None = None, device: Device | None = None) -> Tensor: ...
    @staticmethod
    def fftn(x: Tensor, /, *, s: Number | None = None, axes: Dims | None = None, norm: str = 'backward') -> Tensor: ...
    @staticmethod
    def fftshift(x: Tensor, /, *, axes: Dims | None = None) -> Tensor: ...
    @staticmethod
    def hfft(x: Tensor, /, *, n: int | None = None, axis: Dims = -1, norm: str = 'backward') -> Tensor: ...
    @staticmethod
    def ifft(x: Tensor, /, *, n: int | None = None, axis: Dims = -1, norm: str = 'backward') -> Tensor: ...
    @staticmethod
    def ifftn(x: Tensor, /, *, s: Number | None = None, axes: Dims | None = None, norm: str = 'backward') -> Tensor: ...
    @staticmethod
    def ifftshift(x: Tensor, /, *, axes: Dims | None = None) -> Tensor: ...
    @staticmethod
    def ihfft(x: Tensor, /, *, n: int | None = None, axis: Dims = -1, norm: str = 'backward') -> Tensor: ...
    @staticmethod
    def irfft(x: Tensor, /, *, n: int | None = None, axis: Dims = -1, norm: str = 'backward') -> Tensor: ...
    @staticmethod
    def irfftn(x: Tensor, /, *, s: Number | None = None, axes: Dims | None = None, norm: str = 'backward') -> Tensor: ...
    @staticmethod
    def rfft(x: Tensor, /, *, n: int | None = None, axis: Dims = -1, norm: str = 'backward') -> Tensor: ...
    @staticmethod
    def rfftfreq(n: int, /, *, d: float = 1.0, dtype: dtype | None = None, device: Device | None = None) -> Tensor: ...
    @staticmethod
    def rfftn(x: Tensor, /, *, s: Number | None = None, axes: Dims | None = None, norm: str = 'backward') -> Tensor: ...

class linalg:
    """The standard's `linalg`."""
    @staticmethod
    def cholesky(x: Tensor, /, *, upper: _bool = False) -> Tensor: ...
    @staticmethod
    def cross(x1: Tensor, x2: Tensor, /, *, axis: Dims = -1) -> Tensor: ...
    @staticmethod
    def det(x: Tensor, /) -> Tensor: ...
    @staticmethod
    def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor: ...
    @staticmethod
    def eigh(x: Tensor, /) -> linalg_eigh: ...
    @staticmethod
    def eigvalsh(x: Tensor, /) -> Tensor: ...
    @staticmethod
    def inv(x: Tensor, /) -> Tensor: ...
    @staticmethod
    def matmul(x1: Tensor, x2: Tensor, /) -> Tensor: ...
    @staticmethod
    def matrix_norm(x: Tensor, /, *, keepdims: _bool = False, ord: str = 'fro') -> Tensor: ...
    @staticmethod
    def matrix_power(x: Tensor, n: int, /) -> Tensor: ...
    @staticmethod
    def matrix_rank(x: Tensor, /, *, rtol: float | None = None) -> Tensor: ...
    @staticmethod
    def matrix_transpose(x: Tensor, /) -> Tensor: ...
    @staticmethod
    def outer(x1: Tensor, x2: Tensor, /) -> Tensor: ...
    @staticmethod
    def pinv(x: Tensor, /, *, rtol: float | None = None) -> Tensor: ...
    @staticmethod
    def qr(x: Tensor, /, *, mode: str = 'reduced') -> linalg_qr: ...
    @staticmethod
    def slogdet(x: Tensor, /) -> linalg_slogdet: ...
    @staticmethod
    def solve(x1: Tensor, x2: Tensor, /) -> Tensor: ...
    @staticmethod
    def svd(x: Tensor, /, *, full_matrices: _bool = True) -> linalg_svd: ...
    @staticmethod
    def svdvals(x: Tensor, /) -> Tensor: ...
    @staticmethod
    def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Dims = 2) -> Tensor: ...
    @staticmethod
    def trace(x: Tensor, /, *, offset: int = 0, dtype: dtype | None = None) -> Tensor: ...
    @staticmethod
    def vecdot(x1: Tensor, x2: Tensor, /, *, axis: Dims = -1) -> Tensor: ...
    @staticmethod
    def vector_norm(x: Tensor, /, *, axis: Dims | None = None, keepdims: _bool = False, ord: int = 2) -> Tensor: ...

class Array(Tensor):
    """A tensor whose operators follow the array API standard."""
    def to_device(self, device: Device, /, *, stream: Any = None) -> Tensor: """The array on a device: there is one."""
