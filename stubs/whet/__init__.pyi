# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from builtins import bool as _bool, float as _float, int as _int, str as _str
from collections.abc import Sequence
from os import PathLike
from typing import Any, Callable, Literal, ParamSpec, TypeVar, overload
from whet.nn.module import Module
from whet.return_types import aminmax as _aminmax, cummax as _cummax, cummin as _cummin, frexp as _frexp, geqrf as _geqrf, histogram as _histogram, histogramdd as _histogramdd, kthvalue as _kthvalue, max as _max, median as _median, min as _min, mode as _mode, nanmedian as _nanmedian, qr as _qr, slogdet as _slogdet, sort as _sort, svd as _svd, topk as _topk, triangular_solve as _triangular_solve, unique_all as _unique_all, unique_counts as _unique_counts, unique_inverse as _unique_inverse
from whet.types import Device, Dims, Ints, Layout, MemoryFormat, Number, Scalar, Shape
from whet.streams import AcceleratorError as AcceleratorError
from whet.function_protocol import DisableTorchFunction as DisableTorchFunction
from whet.function_protocol import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from whet.streams import AnyEvent as Event
from whet.futures import Future as Future
from whet.random import Generator as Generator
from whet.amp import GradScaler as GradScaler
from whet.cuda.driver import OutOfMemoryError as OutOfMemoryError
from whet.size import Size as Size
from whet.streams import AnyStream as Stream
from whet.symbolic_types import SymBool as SymBool
from whet.symbolic_types import SymFloat as SymFloat
from whet.symbolic_types import SymInt as SymInt
from whet.tensor import Tensor as Tensor
from whet.ops.storage import TypedStorage as TypedStorage
from whet.ops.storage import UntypedStorage as UntypedStorage
from whet.amp import autocast as autocast
from whet.devices import device as device
from whet.dtypes import dtype as dtype
from whet.autograd.modes import enable_grad as enable_grad
from whet.dtypes import finfo as finfo
from whet.dtypes import iinfo as iinfo
from whet.autograd.modes import inference_mode as inference_mode
from whet.layouts import layout as layout
from whet.layouts import memory_format as memory_format
from whet.autograd.modes import no_grad as no_grad
from whet.layouts import qscheme as qscheme
from whet.autograd.modes import set_grad_enabled as set_grad_enabled
from whet import linalg as linalg
from whet import fft as fft
from whet import special as special
from whet import func as func
from whet import amp as amp
from whet import array_api as array_api
from whet import testing as testing
from whet import cuda as cuda
from whet import accelerator as accelerator
from whet import compiler as compiler
from whet import autograd as autograd
from whet import nn as nn
from whet import optim as optim
from whet import utils as utils
from whet import distributions as distributions
from whet import jit as jit
from whet import random as random
from whet import types as types
from whet import return_types as return_types
from whet import signal as signal

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")

__version__: _str
__array_api_version__: str
bfloat16: dtype
bit: dtype
bits16: dtype
bits1x8: dtype
bits2x4: dtype
bits4x2: dtype
bits8: dtype
bool: dtype
cdouble: dtype
cfloat: dtype
chalf: dtype
channels_last: MemoryFormat
channels_last_3d: MemoryFormat
complex128: dtype
complex32: dtype
complex64: dtype
contiguous_format: MemoryFormat
default_generator: Generator
double: dtype
e: _float
float: dtype
float16: dtype
float32: dtype
float4_e2m1fn_x2: dtype
float64: dtype
float8_e4m3fn: dtype
float8_e4m3fnuz: dtype
float8_e5m2: dtype
float8_e5m2fnuz: dtype
float8_e8m0fnu: dtype
half: dtype
has_lapack: _bool
has_mkl: _bool
has_openmp: _bool
has_spectral: _bool
inf: _float
int: dtype
int1: dtype
int16: dtype
int2: dtype
int3: dtype
int32: dtype
int4: dtype
int5: dtype
int6: dtype
int64: dtype
int7: dtype
int8: dtype
jagged: layout
long: dtype
nan: _float
newaxis: None
per_channel_affine: qscheme
per_channel_symmetric: qscheme
per_tensor_affine: qscheme
per_tensor_symmetric: qscheme
pi: _float
preserve_format: MemoryFormat
qint32: dtype
qint8: dtype
quint8: dtype
short: dtype
sparse_bsc: layout
sparse_bsr: layout
sparse_coo: layout
sparse_csc: layout
sparse_csr: layout
strided: Layout
uint1: dtype
uint16: dtype
uint2: dtype
uint3: dtype
uint32: dtype
uint4: dtype
uint5: dtype
uint6: dtype
uint64: dtype
uint7: dtype
uint8: dtype
def __array_namespace_info__() -> Any: """What this namespace can do, which types it has and which it takes by default."""
def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The absolute value of each element; of complex numbers, their modulus."""
def abs_(input: Tensor) -> Tensor: """`abs`, in place."""
def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The absolute value of each element; of complex numbers, their modulus."""
def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The inverse cosine, between 0 and pi."""
def acos_(input: Tensor) -> Tensor: """`acos`, in place."""
def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The inverse hyperbolic cosine; NaN below 1."""
def acosh_(input: Tensor) -> Tensor: """`acosh`, in place."""
def adaptive_avg_pool1d(input: Tensor, output_size: _int | Sequence[_int | None] | None) -> Tensor: """The means of windows that are chosen to give `output_size`, over 1 spatial dimension."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: _int | Sequence[_int | None] | None, return_indices: Literal[False] = False) -> Tensor: """The largest values of windows that are chosen to give `output_size`, over 1 spatial dimension."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: _int | Sequence[_int | None] | None, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: """The largest values of windows that are chosen to give `output_size`, over 1 spatial dimension."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: _int | Sequence[_int | None] | None, return_indices: _bool = False) -> Any: """The largest values of windows that are chosen to give `output_size`, over 1 spatial dimension."""
def add(input: Tensor, other: Scalar, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor: """input + alpha * other."""
def add_(self: Tensor, other: Scalar, *, alpha: Number = 1) -> Tensor: """`add`, in place."""
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor: """beta * input + alpha * batch_sum(batch1, batch2)."""
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1, out: Tensor | None = None) -> Tensor: """input + value * (tensor1 / tensor2), elementwise."""
def addcdiv_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor: """`addcdiv`, in place."""
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1, out: Tensor | None = None) -> Tensor: """input + value * tensor1 * tensor2, elementwise."""
def addcmul_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor: """`addcmul`, in place."""
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor: """beta * input + alpha * mm(mat1, mat2)."""
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor: """beta * input + alpha * mv(mat, vec)."""
def addmv_(self: Tensor, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor: """`addmv`, in place."""
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor: """beta * input + alpha * outer(vec1, vec2)."""
def adjoint(input: Tensor) -> Tensor: """Matrices transposed and conjugated."""
def alias_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor: """A copy of the result of `alias`, in memory of its own."""
def all(input: Tensor, dim: Dims | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor: """Are all elements true (not zero)?"""
def allclose(input: Tensor, other: Scalar, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool: """Are all elements close (see `isclose`)?"""
def alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor: """Dropout that keeps mean and variance of self-normalising networks."""
def alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor: """`alpha_dropout`, in place."""
def amax(input: Tensor, dim: Dims = (), keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor: """The greatest element, over any dimensions; its gradient is shared evenly between ties."""
def amin(input: Tensor, dim: Dims = (), keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor: """The least element, over any dimensions; its gradient is shared evenly between ties."""
def aminmax(input: Tensor, *, dim: Dims | None = None, keepdim: _bool = False, out: Tensor | None = None) -> _aminmax: """(min, max) together."""
def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The angle of a complex number in the plane; of a real number 0 or pi."""
def any(input: Tensor, dim: Dims | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor: """Is any element true (not zero)?"""
def arange(start: Number = 0, end: Number | None = None, step: Number = 1, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor: """start, start + step, ... up to but without `end`."""
def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The inverse cosine, between 0 and pi."""
def arccos_(input: Tensor) -> Tensor: """`acos`, in place."""
def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The inverse hyperbolic cosine; NaN below 1."""
def arccosh_(input: Tensor) -> Tensor: """`acosh`, in place."""
def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The inverse sine, between -pi / 2 and pi / 2."""
def arcsin_(input: Tensor) -> Tensor: """`asin`, in place."""
def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The inverse hyperbolic sine."""
def arcsinh_(input: Tensor) -> Tensor: """`asinh`, in place."""
def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The inverse tangent, between -pi / 2 and pi / 2."""
def arctan2(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """The angle of the point (other, input) in the plane, between -pi and pi."""
def arctan_(input: Tensor) -> Tensor: """`atan`, in place."""
def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The inverse hyperbolic tangent; NaN outside of [-1, 1]."""
def arctanh_(input: Tensor) -> Tensor: """`atanh`, in place."""
def are_deterministic_algorithms_enabled() -> _bool: """Was `use_deterministic_algorithms(True)` called?"""
def argmax(input: Tensor, dim: Dims | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor: """The index of the (first) greatest element."""
def argmin(input: Tensor, dim: Dims | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor: """The index of the (first) least element."""
def argsort(input: Tensor, dim: Dims = -1, descending: _bool = False, *, stable: _bool = True, axis: Dims | None = None, out: Tensor | None = None) -> Tensor: """The indices that put the elements in order along a dimension."""
def argwhere(input: Tensor) -> Tensor: """The indices of all elements that are not zero, as rows."""
def as_strided(input: Tensor, size: Shape, stride: Shape, storage_offset: _int | None = None) -> Tensor: ...
def as_strided_(self: Tensor, size: Shape, stride: Shape, storage_offset: _int | None = None) -> Tensor: """`as_strided`, in place."""
def as_strided_copy(input: Tensor, size: Shape, stride: Shape, storage_offset: _int | None = None, *, out: Tensor | None = None) -> Tensor: """A copy of the result of `as_strided`, in memory of its own."""
def as_strided_scatter(input: Tensor, src: Tensor, size: Shape, stride: Shape, storage_offset: _int | None = None) -> Tensor: """A copy of `input` and of its memory with the region of `as_strided` replaced by `src`."""
def as_tensor(data: Any, dtype: dtype | None = None, device: Device | None = None) -> Tensor: """The data as a tensor, sharing memory where possible and keeping history."""
def asarray(obj: Any, *, dtype: dtype | None = None, device: Device | None = None, copy: _bool | None = None, requires_grad: _bool = False) -> Tensor: """The object as a tensor; `copy` forces a new one (True), forbids it (False) or leaves it open (None)."""
def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The inverse sine, between -pi / 2 and pi / 2."""
def asin_(input: Tensor) -> Tensor: """`asin`, in place."""
def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The inverse hyperbolic sine."""
def asinh_(input: Tensor) -> Tensor: """`asinh`, in place."""
def astype(x: Tensor, dtype: dtype, /, *, copy: _bool = True, device: Device | None = None) -> Tensor: """The elements in another type; a copy unless that is the type they have and `copy=False`."""
def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The inverse tangent, between -pi / 2 and pi / 2."""
def atan2(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """The angle of the point (other, input) in the plane, between -pi and pi."""
def atan2_(input: Tensor, other: Scalar) -> Tensor: """`atan2`, in place."""
def atan_(input: Tensor) -> Tensor: """`atan`, in place."""
def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The inverse hyperbolic tangent; NaN outside of [-1, 1]."""
def atanh_(input: Tensor) -> Tensor: """`atanh`, in place."""
@overload
def atleast_1d(tensor: Tensor, /) -> Tensor: """The tensors with at least 1 dimension, by adding dimensions of size one."""
@overload
def atleast_1d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: """The tensors with at least 1 dimension, by adding dimensions of size one."""
@overload
def atleast_1d(first: Tensor, second: Tensor, /, *tensors: Tensor) -> tuple[Tensor, ...]: """The tensors with at least 1 dimension, by adding dimensions of size one."""
@overload
def atleast_2d(tensor: Tensor, /) -> Tensor: """The tensors with at least 2 dimensions, by adding dimensions of size one."""
@overload
def atleast_2d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: """The tensors with at least 2 dimensions, by adding dimensions of size one."""
@overload
def atleast_2d(first: Tensor, second: Tensor, /, *tensors: Tensor) -> tuple[Tensor, ...]: """The tensors with at least 2 dimensions, by adding dimensions of size one."""
@overload
def atleast_3d(tensor: Tensor, /) -> Tensor: """The tensors with at least 3 dimensions, by adding dimensions of size one."""
@overload
def atleast_3d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: """The tensors with at least 3 dimensions, by adding dimensions of size one."""
@overload
def atleast_3d(first: Tensor, second: Tensor, /, *tensors: Tensor) -> tuple[Tensor, ...]: """The tensors with at least 3 dimensions, by adding dimensions of size one."""
def avg_pool1d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, ceil_mode: _bool = False, count_include_pad: _bool = True) -> Tensor: """The mean of each window, over 1 spatial dimension."""
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor: """beta * input + alpha * bmm(batch1, batch2)."""
def bartlett_window(window_length: _int, periodic: _bool = True, *, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor: """The Bartlett window; periodic unless asked otherwise."""
def batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: _bool, momentum: _float, eps: _float, cudnn_enabled: _bool = True) -> Tensor: """Normalise each channel. The parameters stand in another order than in `nn.functional.batch_norm`."""
def bernoulli(input: Tensor, p: _float | Tensor | None = None, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor: """Ones with the probabilities of the input, zeros otherwise."""
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor: """sum over i, j of input1[i] * weight[k, i, j] * input2[j]"""
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor: """The cross entropy of probabilities with targets in [0, 1]."""
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean', pos_weight: Tensor | None = None) -> Tensor: """The cross entropy of sigmoid(input) with targets in [0, 1], computed stably."""
def bincount(input: Tensor, weights: Tensor | None = None, minlength: _int = 0) -> Tensor: """How often (or with how much weight) each number 0, 1, ... occurs."""
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor: """How many of `count` tries succeed, each with the probability `prob`."""
def bitwise_and(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """The bits that both have; of booleans, `and`."""
def bitwise_and_(input: Tensor, other: Scalar) -> Tensor: """`bitwise_and`, in place."""
def bitwise_invert(x: Tensor, /) -> Tensor: """`bitwise_invert` of the array API standard. See `whet.bitwise_not`."""
def bitwise_left_shift(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """The bits moved up by `other` places."""
def bitwise_left_shift_(input: Tensor, other: Scalar) -> Tensor: """`bitwise_left_shift`, in place."""
def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor: """All bits flipped; of booleans, `not`."""
def bitwise_not_(input: Tensor) -> Tensor: """`bitwise_not`, in place."""
def bitwise_or(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """The bits that at least one has; of booleans, `or`."""
def bitwise_or_(input: Tensor, other: Scalar) -> Tensor: """`bitwise_or`, in place."""
def bitwise_right_shift(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """The bits moved down by `other` places; the sign stays."""
def bitwise_right_shift_(input: Tensor, other: Scalar) -> Tensor: """`bitwise_right_shift`, in place."""
def bitwise_xor(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """The bits that exactly one has; of booleans, `!=`."""
def bitwise_xor_(input: Tensor, other: Scalar) -> Tensor: """`bitwise_xor`, in place."""
def blackman_window(window_length: _int, periodic: _bool = True, *, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor: """The Blackman window; periodic unless asked otherwise."""
def block_diag(*tensors: Tensor) -> Tensor: """The tensors as blocks along the diagonal of a matrix of zeros."""
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor: """The products of two batches of matrices."""
def broadcast_arrays(*tensors: Tensor) -> tuple[Tensor, ...]: """The tensors expanded to their common shape."""
def broadcast_shapes(*shapes: Ints) -> Size: """The shape that tensors of these shapes broadcast to."""
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]: """The tensors expanded to their common shape."""
def broadcast_to(input: Tensor, size: Shape) -> Tensor: """`expand` to a shape."""
def bucketize(input: Tensor, boundaries: Tensor, *, out_int32: _bool = False, right: _bool = False, out: Tensor | None = None) -> Tensor: """The number of the bucket, between sorted boundaries, that each value falls in."""
def can_cast(from_: dtype, to: dtype) -> _bool: """May a value of the one type be put into the other (no complex into real, no float into int)?"""
def cartesian_prod(*tensors: Tensor) -> Tensor: """Every combination of one element of each 1-d tensor, as rows."""
def cat(tensors: Sequence[Tensor], dim: Dims = 0, *, axis: Dims | None = None, out: Tensor | None = None) -> Any: """Tensors joined along a dimension."""
def cbrt(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The cube root of each element."""
def cbrt_(input: Tensor) -> Tensor: """`cbrt`, in place."""
def ccol_indices_copy(self: Tensor, *, out: Tensor | None = None) -> Tensor: """A copy of the result of `ccol_indices`, in memory of its own."""
def cdist(x1: Tensor, x2: Tensor, p: _float = 2.0, compute_mode: str = 'use_mm_for_euclid_dist_if_necessary') -> Tensor: """p-norm distances between all pairs of rows."""
def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The least whole number that is not less, elementwise."""
def ceil_(input: Tensor) -> Tensor: """`ceil`, in place."""
def celu(input: Tensor, alpha: Number = 1.0, inplace: _bool = False) -> Tensor: """x where positive, alpha * (exp(x / alpha) - 1) elsewhere."""
def celu_(input: Tensor, alpha: Number = 1.0) -> Tensor: """`celu`, in place."""
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor: """The product of several matrices."""
def channel_shuffle(input: Tensor, groups: _int) -> Tensor: """Channels dealt out over the groups."""
def cholesky(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor: """The Cholesky factor of a positive definite matrix."""
def cholesky_inverse(L: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor: """The inverse of a matrix, from its Cholesky factor."""
def cholesky_solve(B: Tensor, L: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor: """X with A @ X = B, given the Cholesky factor of A."""
def chunk(input: Tensor, chunks: _int, dim: Dims = 0) -> tuple[Tensor, ...]: """Views of at most `chunks` pieces of one size (the last may be smaller) along a dimension."""
def clamp(input: Tensor, min: Scalar | None = None, max: Scalar | None = None, *, out: Tensor | None = None) -> Tensor: """input limited to [min, max]."""
def clamp_(self: Tensor, min: Scalar | None = None, max: Scalar | None = None) -> Tensor: """`clamp`, in place."""
def clamp_max(input: Tensor, max: Scalar, *, out: Tensor | None = None) -> Tensor: """input, at most max."""
def clamp_max_(self: Tensor, max: Scalar) -> Tensor: """`clamp_max`, in place."""
def clamp_min(input: Tensor, min: Scalar, *, out: Tensor | None = None) -> Tensor: """input, at least min."""
def clamp_min_(self: Tensor, min: Scalar) -> Tensor: """`clamp_min`, in place."""
def clear_autocast_cache() -> None: """Drop what `autocast` made of tensors: nothing is kept."""
def clip(input: Tensor, min: Scalar | None = None, max: Scalar | None = None, *, out: Tensor | None = None) -> Tensor: """input limited to [min, max]."""
def clip_(self: Tensor, min: Scalar | None = None, max: Scalar | None = None) -> Tensor: """`clamp`, in place."""
def clone(input: Tensor, *, memory_format: MemoryFormat = ...) -> Tensor: """A copy with the same history."""
def col_indices_copy(self: Tensor, *, out: Tensor | None = None) -> Tensor: """A copy of the result of `col_indices`, in memory of its own."""
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor: """1-d tensors joined as columns, others side by side."""
def combinations(input: Tensor, r: _int = 2, with_replacement: _bool = False) -> Tensor: """All combinations of r elements of a 1-d tensor, as rows."""
@overload
def compile(model: F, *, fullgraph: _bool = False, dynamic: _bool | None = None, backend: str | Callable[..., Any] = 'inductor', mode: str | None = None, options: Any = None, name: str | None = None, disable: _bool = False, recompile_limit: _int | None = None, isolate_recompiles: _bool = False, shapes_spec: Any = None) -> F: """`whet.jit.trace` of a function or module."""
@overload
def compile(model: None = None, *, fullgraph: _bool = False, dynamic: _bool | None = None, backend: str | Callable[..., Any] = 'inductor', mode: str | None = None, options: Any = None, name: str | None = None, disable: _bool = False, recompile_limit: _int | None = None, isolate_recompiles: _bool = False, shapes_spec: Any = None) -> Callable[[F], F]: """`whet.jit.trace` of a function or module."""
def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor: """The complex numbers real + i imag."""
def concat(tensors: Sequence[Tensor], dim: Dims = 0, *, axis: Dims | None = None, out: Tensor | None = None) -> Tensor: """Tensors joined along a dimension."""
def concatenate(tensors: Sequence[Tensor], dim: Dims = 0, *, axis: Dims | None = None, out: Tensor | None = None) -> Tensor: """Tensors joined along a dimension."""
def cond(pred: Tensor | _bool, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Sequence[Any] = ()) -> Any: ...
def conj(input: Tensor) -> Tensor: """The complex conjugate; a real tensor itself."""
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The complex conjugate of each element."""
def conj_physical_(self: Tensor) -> Tensor: """`conj_physical`, in place."""
def constant_pad_nd(input: Tensor, pad: Ints, value: Scalar = 0) -> Tensor: """`nn.functional.pad` with a constant."""
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1, padding: Ints | str = 0, dilation: Ints = 1, groups: _int = 1) -> Tensor: """The 1-d convolution (cross-correlation) of an input with a weight."""
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1, padding: Ints | str = 0, dilation: Ints = 1, groups: _int = 1) -> Tensor: """The 2-d convolution (cross-correlation) of an input with a weight."""
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1, padding: Ints | str = 0, dilation: Ints = 1, groups: _int = 1) -> Tensor: """The 3-d convolution (cross-correlation) of an input with a weight."""
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: _int = 0) -> Tensor: """1-d convolution of (time, batch, channel) with a weight of (width, in, out)."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1, padding: Ints = 0, output_padding: Ints = 0, groups: _int = 1, dilation: Ints = 1) -> Tensor: """The 1-d transposed convolution: the gradient of `conv1d` for its input."""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1, padding: Ints = 0, output_padding: Ints = 0, groups: _int = 1, dilation: Ints = 1) -> Tensor: """The 2-d transposed convolution: the gradient of `conv2d` for its input."""
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1, padding: Ints = 0, output_padding: Ints = 0, groups: _int = 1, dilation: Ints = 1) -> Tensor: """The 3-d transposed convolution: the gradient of `conv3d` for its input."""
def convolution(input: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints, dilation: Ints, transposed: _bool, output_padding: Ints, groups: _int) -> Tensor: """A convolution, transposed or not, of as many dimensions as the weight has beside channels."""
def copysign(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """The magnitude of input with the sign of other."""
def copysign_(input: Tensor, other: Scalar) -> Tensor: """`copysign`, in place."""
def corrcoef(input: Tensor) -> Tensor: """The correlation coefficients of variables (rows), observed together (columns)."""
def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The cosine of each element, in radians."""
def cos_(input: Tensor) -> Tensor: """`cos`, in place."""
def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The hyperbolic cosine of each element."""
def cosh_(input: Tensor) -> Tensor: """`cosh`, in place."""
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor: """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: Dims = 1, eps: _float = 1e-08) -> Tensor: """The cosine of the angle between vectors along `dim`."""
def count_nonzero(input: Tensor, dim: Dims | None = None) -> Tensor: """How many elements are not zero."""
def cov(input: Tensor, *, correction: _float = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor: """The covariances of variables (rows), observed together (columns)."""
def cross(input: Tensor, other: Scalar, dim: _int | None = None, *, out: Tensor | None = None) -> Tensor: """The vector product of vectors of 3 elements along `dim` (by default the first dimension of size 3)."""
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, ignore_index: _int = -100, reduce: _bool | None = None, reduction: str = 'mean', label_smoothing: _float = 0.0) -> Tensor: """The cross entropy of logits with class indices or class probabilities."""
def crow_indices_copy(self: Tensor, *, out: Tensor | None = None) -> Tensor: """A copy of the result of `crow_indices`, in memory of its own."""
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor | Sequence[_int], target_lengths: Tensor | Sequence[_int], blank: _int = 0, reduction: str = 'mean', zero_infinity: _bool = False) -> Tensor: """Connectionist temporal classification: minus the log-probability of all alignments of the targets."""
def cummax(input: Tensor, dim: Dims, *, out: Tensor | None = None) -> _cummax: """Running maxima along `dim`: (values, indices)."""
def cummin(input: Tensor, dim: Dims, *, out: Tensor | None = None) -> _cummin: """Running minima along `dim`: (values, indices)."""
def cumprod(input: Tensor, dim: Dims, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor: """Running products along `dim`."""
def cumsum(input: Tensor, dim: Dims, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor: """Running sums along `dim`."""
def cumulative_prod(x: Tensor, /, *, axis: Dims | None = None, dtype: dtype | None = None, include_initial: _bool = False) -> Tensor: """The running prod along an axis, from its start value if `include_initial`."""
def cumulative_sum(x: Tensor, /, *, axis: Dims | None = None, dtype: dtype | None = None, include_initial: _bool = False) -> Tensor: """The running sum along an axis, from its start value if `include_initial`."""
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: _float | None = None, dim: Dims = -1) -> Tensor: """Running integrals of y along `dim` by the trapezoidal rule."""
def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor: """Degrees as radians."""
def deg2rad_(input: Tensor) -> Tensor: """`deg2rad`, in place."""
def dequantize(input: Tensor) -> Any: """The real numbers of a tensor of a quantised type, or of each of several; other tensors as float32."""
def det(A: Tensor) -> Tensor: """The determinant of a square matrix, or of each of a batch."""
def detach(input: Tensor) -> Tensor: """The same memory without history. Writes are seen by both, and by version checks."""
def detach_(input: Tensor) -> Tensor: """Take a tensor's history from it."""
def detach_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor: """A copy of the result of `detach`, in memory of its own."""
def diag(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor: """A vector as a diagonal matrix, or the diagonal of a matrix (copied)."""
def diag_embed(input: Tensor, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor: """The last dimension as a diagonal of two new ones, zeros elsewhere."""
def diagflat(input: Tensor, offset: _int = 0) -> Tensor: """The flattened tensor as a diagonal matrix."""
def diagonal(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor: """The diagonal of two dimensions, as the last dimension of the result."""
def diagonal_copy(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1, *, out: Tensor | None = None) -> Tensor: """A copy of the result of `diagonal`, in memory of its own."""
def diagonal_scatter(input: Tensor, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor: """A copy of `input` with a diagonal replaced by `src`."""
def diff(input: Tensor, n: _int = 1, dim: Dims = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, out: Tensor | None = None) -> Tensor: """The n-th difference along `dim`."""
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The derivative of `lgamma`."""
def digamma_(input: Tensor) -> Tensor: """`digamma`, in place."""
def dist(input: Tensor, other: Scalar, p: _float = 2) -> Tensor: """The p-norm of the difference."""
def div(input: Tensor, other: Scalar, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor: """input / other: true division, or rounded ("trunc", "floor")."""
def div_(self: Tensor, other: Scalar, *, rounding_mode: str | None = None) -> Tensor: """`div`, in place."""
def divide(input: Tensor, other: Scalar, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor: """input / other: true division, or rounded ("trunc", "floor")."""
def divide_(self: Tensor, other: Scalar, *, rounding_mode: str | None = None) -> Tensor: """`div`, in place."""
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor: """The inner product of two vectors."""
def dropout(input: Tensor, p: _float, train: _bool) -> Tensor: """Zero elements with probability p and scale the rest by 1 / (1 - p)."""
def dropout_(input: Tensor, p: _float, train: _bool) -> Tensor: """`dropout`, in place."""
def dsmm(input: Tensor, mat2: Tensor) -> Tensor: """The product of two matrices, of which the first may be sparse."""
def dsplit(input: Tensor, indices_or_sections: Ints) -> tuple[Tensor, ...]: """`tensor_split` along dimension 2, into equal pieces where a number is given."""
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor: """Tensors joined along the third dimension."""
def einsum(equation: str, *operands: Any) -> Tensor: """Sums of products written with index letters."""
def embedding(weight: Tensor, indices: Tensor, padding_idx: _int = -1, scale_grad_by_freq: _bool = False, sparse: _bool = False) -> Tensor: """Rows of a table. The table comes first, other than in `nn.functional.embedding`."""
def empty(*shape: Ints, size: Shape | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False, memory_format: MemoryFormat = ...) -> Tensor: """A tensor whose elements are whatever the memory holds."""
def empty_like(input: Tensor, *, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False, memory_format: MemoryFormat = ..., pin_memory: _bool = False) -> Tensor: """Uninitialised memory in the shape and type of `input`."""
def empty_permuted(size: Shape, physical_layout: Shape, *, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor: ...
def empty_strided(size: Shape, stride: Shape, *, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor: """Uninitialised memory with the given strides (in elements)."""
def eq(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """Are two elements equal?"""
def eq_(input: Tensor, other: Scalar) -> Tensor: """`eq`, in place."""
def equal(input: Tensor, other: Scalar) -> _bool: """Have the two tensors the same size and elements?"""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The error function of each element."""
def erf_(input: Tensor) -> Tensor: """`erf`, in place."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor: """1 - erf(input), exact also where it is small."""
def erfc_(input: Tensor) -> Tensor: """`erfc`, in place."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The inverse of `erf`, for elements between -1 and 1."""
def erfinv_(input: Tensor) -> Tensor: """`erfinv`, in place."""
def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor: """e to the power of each element."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor: """2 to the power of each element."""
def exp2_(input: Tensor) -> Tensor: """`exp2`, in place."""
def exp_(input: Tensor) -> Tensor: """`exp`, in place."""
def expand_copy(input: Tensor, size: Shape, *, out: Tensor | None = None) -> Tensor: """A copy of the result of `expand`, in memory of its own."""
def expand_dims(x: Tensor, /, axis: Dims = 0) -> Tensor: """A dimension of size one more (or several)."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor: """exp(input) - 1, exact near zero, too."""
def expm1_(input: Tensor) -> Tensor: """`expm1`, in place."""
def eye(n: _int, m: _int | None = None, *, k: _int = 0, out: Tensor | None = None, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False) -> Tensor: """Ones on the diagonal (`k` steps above it), zeros elsewhere."""
def fake_quantize_per_channel_affine(input: Tensor, scale: Tensor | _float, zero_point: Tensor | _float, axis: Dims, quant_min: _int, quant_max: _int) -> Tensor: """`fake_quantize_per_tensor_affine` with a scale and a zero point for each place along `axis`."""
def fake_quantize_per_tensor_affine(input: Tensor, scale: Tensor | _float, zero_point: Tensor | _float, quant_min: _int, quant_max: _int) -> Tensor: """The real numbers that are left when `input` goes through integers from quant_min to quant_max."""
def feature_alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor: """`alpha_dropout` of whole channels."""
def feature_alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor: """`feature_alpha_dropout`, in place."""
def feature_dropout(input: Tensor, p: _float, train: _bool) -> Tensor: """Zero whole channels with probability p and scale the rest by 1 / (1 - p)."""
def fill(input: Tensor, value: Scalar) -> Tensor: """A tensor of the shape of `input` with a number everywhere."""
def fill_(self: Tensor, value: Scalar) -> Tensor: """Write a number to every element."""
def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The whole part of each element: rounded towards zero."""
def fix_(input: Tensor) -> Tensor: """`trunc`, in place."""
def flatten(input: Tensor, start_dim: _int = 0, end_dim: _int = -1) -> Tensor: """The dimensions from `start_dim` to `end_dim` as one."""
def flip(input: Tensor, dims: Dims) -> Tensor: """The elements in reverse order along the given dimensions, copied."""
def fliplr(input: Tensor) -> Tensor: """The columns in reverse order."""
def flipud(input: Tensor) -> Tensor: """The rows in reverse order."""
def float_power(input: Tensor, exponent: Scalar, *, out: Tensor | None = None) -> Tensor: """input to the power of exponent, in double precision."""
def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The greatest whole number that is not greater, elementwise."""
def floor_(input: Tensor) -> Tensor: """`floor`, in place."""
def floor_divide(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """The quotient rounded towards minus infinity."""
def floor_divide_(self: Tensor, other: Scalar) -> Tensor: """`floor_divide`, in place."""
def fmax(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """The greater of two elements; a number rather than NaN."""
def fmin(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """The lesser of two elements; a number rather than NaN."""
def fmod(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """The remainder of the division rounded towards zero; it has the sign of the dividend."""
def fmod_(self: Tensor, other: Scalar) -> Tensor: """`fmod`, in place."""
def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The fractional part of each element, with its sign."""
def frac_(input: Tensor) -> Tensor: """`frac`, in place."""
def frexp(input: Tensor, *, out: Tensor | None = None) -> _frexp: """(mantissa, exponent): input = mantissa * 2 ** exponent, 0.5 <= |mantissa| < 1."""
def from_dlpack(ext_tensor: Any, *, device: Device | None = None, copy: _bool | None = None) -> Tensor: """A tensor over the memory of another library's tensor (or of a DLPack capsule)."""
def from_file(filename: str, shared: _bool | None = None, size: _int = 0, *, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, pin_memory: _bool = False) -> Tensor: ...
def from_numpy(ndarray: Any) -> Tensor: """A tensor over the memory of a NumPy array: each sees the other's writes."""
def frombuffer(buffer: Any, *, dtype: dtype, count: _int = -1, offset: _int = 0, requires_grad: _bool = False) -> Tensor: """A 1-d tensor over the memory of an object with a buffer."""
def full(size: Ints, fill_value: Number, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor: """A tensor with one value everywhere, in the value's own type where none is given."""
def full_like(input: Tensor, fill_value: Number, *, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False, memory_format: MemoryFormat = ..., pin_memory: _bool = False) -> Tensor: """One value everywhere, in the shape and type of `input`."""
def gather(input: Tensor, dim: Dims, index: Tensor, *, sparse_grad: _bool = False, out: Tensor | None = None) -> Tensor: """Elements at the places that `index` names along a dimension."""
def gcd(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """The greatest common divisor of whole numbers."""
def gcd_(input: Tensor, other: Scalar) -> Tensor: """`gcd`, in place."""
def ge(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """input >= other, elementwise."""
def ge_(input: Tensor, other: Scalar) -> Tensor: """`ge`, in place."""
def geqrf(input: Tensor, *, out: Tensor | None = None) -> _geqrf: ...
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor: """All products of the elements of two vectors."""
def get_autocast_cpu_dtype() -> dtype: """The type that products on the CPU are made in."""
def get_autocast_dtype(device_type: str) -> dtype: """The type that products are made in."""
def get_autocast_gpu_dtype() -> dtype: """The type that products on CUDA devices are made in."""
def get_default_device() -> device: """The device of new tensors."""
def get_default_dtype() -> dtype: """The type of new floating point tensors."""
def get_deterministic_debug_mode() -> _int: """The number of the mode that `set_deterministic_debug_mode` set, in other words or not."""
def get_device(input: Tensor) -> _int: """The number of the device that a tensor lies on; -1 for the CPU."""
def get_device_module(device: Device | None = None) -> Any: ...
def get_float32_matmul_precision() -> str: """What `set_float32_matmul_precision` was given, or what `allow_tf32` comes to."""
def get_num_interop_threads() -> _int: """How many operations of a Python thread run beside each other: one."""
def get_num_threads() -> _int: """How many threads a launch may use."""
def get_rng_state() -> Tensor: """The default generator's position."""
def gradient(input: Tensor, *, spacing: Number | Sequence[Number] | Sequence[Tensor] = 1, dim: Dims | None = None, edge_order: _int = 1) -> tuple[Tensor, ...]: """The derivatives of samples along each dimension, by central differences."""
def greater(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """input > other, elementwise."""
def greater_equal(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """input >= other, elementwise."""
def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor: ...
def grid_sampler_2d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor: ...
def grid_sampler_3d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor: ...
def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05, cudnn_enabled: _bool = True) -> Tensor: """Normalise groups of channels of each sample. See `nn.functional.group_norm`."""
def gru(input: Tensor, hx: Any, params: Any, has_biases: Any, num_layers: Any, dropout: _float, train: _bool, bidirectional: _bool, batch_first: _bool) -> tuple[Tensor, Tensor]: """(outputs, state) of GRU layers whose weights are in a list (see `lstm`)."""
def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor: """One step of a GRU: the state after it."""
def gt(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """input > other, elementwise."""
def gt_(input: Tensor, other: Scalar) -> Tensor: """`gt`, in place."""
def hamming_window(window_length: _int, periodic: _bool = True, alpha: Number = 0.54, beta: Number = 0.46, *, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor: """The Hamming window; periodic unless asked otherwise."""
def hann_window(window_length: _int, periodic: _bool = True, *, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor: """The Hann window; periodic unless asked otherwise."""
def hardshrink(input: Tensor, lambd: Number = 0.5, *, out: Tensor | None = None) -> Tensor: """input, 0 where |input| <= lambd."""
def hardsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor: """(input + 3) / 6 limited to [0, 1]."""
def hardsigmoid_(input: Tensor) -> Tensor: """`hardsigmoid`, in place."""
def hardswish(input: Tensor, *, out: Tensor | None = None) -> Tensor: """input * hardsigmoid(input), elementwise."""
def hardswish_(input: Tensor) -> Tensor: """`hardswish`, in place."""
def hardtanh(input: Tensor, min_val: _float = -1.0, max_val: _float = 1.0, *, out: Tensor | None = None) -> Tensor: """input limited to [min_val, max_val]."""
def hardtanh_(input: Tensor, min_val: _float = -1.0, max_val: _float = 1.0) -> Tensor: """`hardtanh`, in place."""
def hash_tensor(input: Tensor, dim: Dims = (), *, keepdim: _bool = False, mode: _int = 0, out: Tensor | None = None) -> Tensor: """The exclusive or of the bits of all elements, as 64-bit numbers, along dimensions."""
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor: """0 below zero, 1 above, `values` at zero."""
def heaviside_(input: Tensor, values: Scalar) -> Tensor: """`heaviside`, in place."""
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: _float = 1.0, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor: """input where the target is 1, max(0, margin - input) where it is -1."""
def histc(input: Tensor, bins: _int = 100, min: _float = 0, max: _float = 0, *, out: Tensor | None = None) -> Tensor: ...
def histogram(input: Tensor, bins: _int | Tensor = 100, *, range: tuple[_float, _float] | None = None, weight: Tensor | None = None, density: _bool = False, out: Tensor | None = None) -> _histogram: ...
def histogramdd(input: Tensor, bins: _int | Sequence[_int] | Sequence[Tensor], *, range: Sequence[_float] | None = None, weight: Tensor | None = None, density: _bool = False) -> _histogramdd: """(hist, bin_edges): points, the rows of the last dimension, counted in boxes."""
def hsmm(mat1: Tensor, mat2: Tensor) -> Tensor: """The product of a sparse matrix and a dense one, as the rows that have entries."""
def hsplit(input: Tensor, indices_or_sections: Ints) -> tuple[Tensor, ...]: """`tensor_split` along dimension 1, into equal pieces where a number is given."""
def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor: """The product of a sparse matrix and a dense one, as the rows that have entries."""
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor: """Tensors joined side by side."""
def hypot(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """sqrt(input ** 2 + other ** 2), without overflow on the way."""
def hypot_(input: Tensor, other: Scalar) -> Tensor: """`hypot`, in place."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The modified Bessel function of the first kind, of order 0."""
def i0_(input: Tensor) -> Tensor: """`i0`, in place."""
def igamma(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """The regularised lower incomplete gamma function of shape `input` at `other`."""
def igammac(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """The regularised upper incomplete gamma function of shape `input` at `other`."""
def imag(input: Tensor) -> Tensor: """The imaginary part of a complex tensor, as a view."""
def index_add(self: Tensor, dim: Dims, index: Tensor, source: Tensor, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor: """`source` (times alpha) added to the slices that a 1-d index names, in index order."""
def index_copy(self: Tensor, dim: Dims, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor: """`source` written to the slices that a 1-d index names."""
def index_fill(self: Tensor, dim: Dims, index: Tensor, value: Scalar, *, out: Tensor | None = None) -> Tensor: """A number written to the slices that a 1-d index names."""
def index_put(input: Tensor, indices: tuple[Tensor, ...] | list[Tensor], values: Tensor, accumulate: _bool = False) -> Tensor: """A copy of `input` with `values` at the index tensors (or added there, in index order)."""
def index_put_(self: Tensor, indices: tuple[Tensor, ...] | list[Tensor], values: Tensor, accumulate: _bool = False) -> Tensor: """Write `values` at the index tensors (or add them, in index order)."""
def index_reduce(self: Tensor, dim: Dims, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor: """`source` combined (prod, mean, amax, amin) into the slices that a 1-d index names."""
def index_select(input: Tensor, dim: Dims, index: Tensor, *, out: Tensor | None = None) -> Tensor: """The slices of a dimension that a 1-d index names."""
def indices_copy(self: Tensor, *, out: Tensor | None = None) -> Tensor: """A copy of the result of `indices`, in memory of its own."""
def initial_seed() -> _int: """The default generator's seed."""
def inner(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """Sums of products over the last dimension of both."""
def instance_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, use_input_stats: _bool, momentum: _float, eps: _float, cudnn_enabled: _bool = True) -> Tensor: """Normalise each channel of each sample."""
def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The inverse of a square matrix, or of each of a batch."""
def is_anomaly_check_nan_enabled() -> _bool: """Does a backward stop at the first NaN, where `set_detect_anomaly` holds?"""
def is_anomaly_enabled() -> _bool: """Does `set_detect_anomaly` hold?"""
def is_autocast_cache_enabled() -> _bool: ...
def is_autocast_cpu_enabled() -> _bool: """Are products on the CPU made in a smaller type, on this thread?"""
def is_autocast_enabled(device_type: str = 'cuda') -> _bool: """Are products on a kind of devices made in a smaller type, on this thread?"""
def is_complex(input: Tensor) -> _bool: """Is the element type complex?"""
def is_conj(input: Tensor) -> _bool: """Is it conjugated, or negated, only when its elements are read? Never here."""
def is_deterministic_algorithms_warn_only_enabled() -> _bool: """Was `use_deterministic_algorithms(True, warn_only=True)` called?"""
def is_floating_point(input: Tensor) -> _bool: """Is the element type a floating point type?"""
def is_grad_enabled() -> _bool: """Is gradient recording on, on this thread?"""
def is_inference(input: Tensor) -> _bool: """Was this tensor made in inference mode?"""
def is_inference_mode_enabled() -> _bool: """Is inference mode on, on this thread?"""
def is_neg(input: Tensor) -> _bool: """Is it conjugated, or negated, only when its elements are read? Never here."""
def is_nonzero(input: Tensor) -> _bool: """Is the single element different from zero?"""
def is_same_size(input: Tensor, other: Scalar) -> _bool: """Have the two tensors the same shape?"""
def is_signed(input: Tensor) -> _bool: """Can elements be negative?"""
def is_storage(obj: object) -> _bool: """Is the object a storage?"""
def is_tensor(obj: object) -> _bool: """Is the object a tensor?"""
def is_warn_always_enabled() -> _bool: """Are warnings said every time? See `set_warn_always`."""
def isclose(input: Tensor, other: Scalar, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> Tensor: """Where |input - other| <= atol + rtol * |other|; infinities are close to themselves only."""
def isdtype(dtype: dtype, kind: dtype | str | tuple[dtype | str, ...]) -> _bool: """Is a type of a kind ("integral", "real floating", ...), another type, or any of several?"""
def isfinite(input: Tensor, *, out: Tensor | None = None) -> Tensor: """Is an element neither infinite nor NaN?"""
def isin(elements: Scalar, test_elements: Scalar, *, assume_unique: _bool = False, invert: _bool = False, out: Tensor | None = None) -> Tensor: """For each element: is it among the test elements?"""
def isinf(input: Tensor, *, out: Tensor | None = None) -> Tensor: """Is an element infinite, of either sign?"""
def isnan(input: Tensor, *, out: Tensor | None = None) -> Tensor: """Is an element NaN?"""
def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor: """Is an element minus infinity?"""
def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor: """Is an element plus infinity?"""
def isreal(input: Tensor) -> Tensor: """Where the imaginary part is zero."""
def istft(input: Tensor, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False) -> Tensor: ...
def kaiser_window(window_length: _int, periodic: _bool = True, beta: Number = 12.0, *, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor: """The Kaiser window; periodic unless asked otherwise."""
def kl_div(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean', log_target: _bool = False) -> Tensor: """target * (log target - input), the input being log-probabilities."""
def kron(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """The Kronecker product: each element of `input` times all of `other`, as blocks."""
def kthvalue(input: Tensor, k: _int, dim: Dims = -1, keepdim: _bool = False, *, out: Tensor | None = None) -> _kthvalue: """(values, indices): the k-th smallest element (from 1) along a dimension."""
def layer_norm(input: Tensor, normalized_shape: Ints, weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05, cudnn_enable: _bool = True) -> Tensor: """Mean 0 and variance 1 over the last dimensions, then weight and bias."""
def lcm(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """The least common multiple of whole numbers."""
def lcm_(input: Tensor, other: Scalar) -> Tensor: """`lcm`, in place."""
def ldexp(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """input times two to the power of other."""
def ldexp_(self: Tensor, other: Scalar) -> Tensor: """`ldexp`, in place."""
def le(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """input <= other, elementwise."""
def le_(input: Tensor, other: Scalar) -> Tensor: """`le`, in place."""
def leaky_relu(input: Tensor, negative_slope: _float = 0.01, *, out: Tensor | None = None) -> Tensor: """input where positive, negative_slope * input elsewhere."""
def leaky_relu_(input: Tensor, negative_slope: _float = 0.01) -> Tensor: """`leaky_relu`, in place."""
def lerp(input: Tensor, end: Tensor, weight: Tensor | _float, *, out: Tensor | None = None) -> Tensor: """Linear interpolation: input + weight * (end - input)."""
def lerp_(input: Tensor, end: Tensor, weight: Tensor | _float) -> Tensor: """`lerp`, in place."""
def less(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """input < other, elementwise."""
def less_equal(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """input <= other, elementwise."""
def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor: """log(|gamma(input)|), elementwise."""
def lgamma_(input: Tensor) -> Tensor: """`lgamma`, in place."""
def linspace(start: Number | Tensor, end: Number | Tensor, steps: _int, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False, endpoint: _bool = True) -> Tensor: """`steps` numbers evenly spaced from start to end (without the end itself, if `endpoint=False`)."""
def load(f: str | PathLike[str] | Any, map_location: Any = None, pickle_module: Any = ..., *, weights_only: _bool = True, mmap: _bool | None = None, **pickle_load_args: Any) -> Any: ...
def lobpcg(A: Tensor, k: _int | None = None, B: Tensor | None = None, X: Tensor | None = None, n: _int | None = None, iK: Tensor | None = None, niter: _int | None = None, tol: _float | None = None, largest: _bool | None = None, method: str | None = None, tracker: Callable[[Any], object] | None = None, ortho_iparams: Any = None, ortho_fparams: Any = None, ortho_bparams: Any = None) -> tuple[Tensor, Tensor]: ...
def log(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The natural logarithm of each element."""
def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The logarithm to base 10."""
def log10_(input: Tensor) -> Tensor: """`log10`, in place."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor: """log(1 + input), exact near zero, too."""
def log1p_(input: Tensor) -> Tensor: """`log1p`, in place."""
def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The logarithm to base 2."""
def log2_(input: Tensor) -> Tensor: """`log2`, in place."""
def log_(input: Tensor) -> Tensor: """`log`, in place."""
def log_softmax(input: Tensor, dim: Dims, dtype: dtype | None = None, *, out: Tensor | None = None) -> Tensor: """log(softmax(x)) along `dim`, without overflow and underflow."""
def logaddexp(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """log(exp(input) + exp(other)), without overflow."""
def logaddexp2(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """log2(2 ** input + 2 ** other), without overflow."""
def logcumsumexp(input: Tensor, dim: Dims, *, out: Tensor | None = None) -> Tensor: """Running log(sum(exp(x))) along `dim`."""
def logdet(input: Tensor) -> Tensor: """The logarithm of the determinant; NaN where it is negative."""
def logical_and(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """True where both elements are not zero."""
def logical_and_(input: Tensor, other: Scalar) -> Tensor: """`logical_and`, in place."""
def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor: """True where the element is zero."""
def logical_not_(input: Tensor) -> Tensor: """`logical_not`, in place."""
def logical_or(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """True where at least one element is not zero."""
def logical_or_(input: Tensor, other: Scalar) -> Tensor: """`logical_or`, in place."""
def logical_xor(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """True where exactly one of the elements is not zero."""
def logical_xor_(input: Tensor, other: Scalar) -> Tensor: """`logical_xor`, in place."""
def logit(input: Tensor, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor: """log(input / (1 - input)), input limited to [eps, 1 - eps] where eps is given."""
def logit_(self: Tensor, eps: _float | None = None) -> Tensor: """`logit`, in place."""
def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor: """log(sigmoid(input)), without underflow."""
def logspace(start: Number, end: Number, steps: _int, base: Number = 10.0, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False) -> Tensor: """base ** linspace(start, end, steps)."""
def logsumexp(input: Tensor, dim: Dims, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor: """log(sum(exp(x))) along `dim`, computed stably."""
def lstm(input: Tensor, hx: Any, params: Any, has_biases: Any, num_layers: Any, dropout: _float, train: _bool, bidirectional: _bool, batch_first: _bool) -> tuple[Tensor, Tensor, Tensor]: """(outputs, h, c) of LSTM layers whose weights are in a list, as `nn.LSTM` has them in order."""
def lstm_cell(input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> tuple[Tensor, Tensor]: """One step of an LSTM: the states (h, c) after it. `nn.LSTMCell` does it with its weights."""
def lt(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """input < other, elementwise."""
def lt_(input: Tensor, other: Scalar) -> Tensor: """`lt`, in place."""
@overload
def lu(A: Tensor, pivot: _bool = True, get_infos: Literal[False] = False, *, out: Sequence[Tensor] | None = None) -> tuple[Tensor, Tensor]: """(factors, pivots) or (factors, pivots, infos): `whet.lu`."""
@overload
def lu(A: Tensor, pivot: _bool = True, *, get_infos: Literal[True], out: Sequence[Tensor] | None = None) -> tuple[Tensor, Tensor, Tensor]: """(factors, pivots) or (factors, pivots, infos): `whet.lu`."""
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor: """Solve A @ X = b, given the factors of A as `lu` packs them."""
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool = True, unpack_pivots: _bool = True, *, out: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]: """P, L, U from what `lu_factor` gives."""
def manual_seed(seed: _int) -> Generator: """Seed the default generator."""
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor: """max(0, -target * (input1 - input2) + margin)"""
def masked_fill(input: Tensor, mask: Tensor, value: Scalar) -> Tensor: """A copy of `input` with `value` where the mask is true."""
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor: """A copy of `input` whose elements where the mask is true are those of `source`, in order."""
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor: """The elements where the mask is true, as one dimension."""
def matmul(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """The matrix product, with NumPy's rules for vectors and batches."""
def matrix_exp(A: Tensor) -> Tensor: """The exponential of square matrices: a Taylor series of A / 2^k, squared k times."""
def matrix_power(A: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor: """A @ A @ ... n times; of the inverse where n is negative."""
def matrix_transpose(x: Tensor) -> Tensor: """The last two dimensions exchanged, as the array API standard has it."""
@overload
def max(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def max(input: Tensor, dim: _int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None) -> _max: ...
@overload
def max(input: Tensor, dim: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def max(input: Tensor, *, other: Tensor, out: Tensor | None = None) -> Tensor: ...
@overload
def max_pool1d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False) -> Tensor: """The largest value of each window, over 1 spatial dimension."""
@overload
def max_pool1d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: """The largest value of each window, over 1 spatial dimension."""
@overload
def max_pool1d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any: """The largest value of each window, over 1 spatial dimension."""
def max_pool1d_with_indices(input: Tensor, kernel_size: Ints, stride: Shape | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: _bool = False) -> tuple[Tensor, Tensor]: """(`max_pool1d`, the places of the maxima)."""
@overload
def max_pool2d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False) -> Tensor: """The largest value of each window, over 2 spatial dimensions."""
@overload
def max_pool2d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: """The largest value of each window, over 2 spatial dimensions."""
@overload
def max_pool2d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any: """The largest value of each window, over 2 spatial dimensions."""
@overload
def max_pool3d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False) -> Tensor: """The largest value of each window, over 3 spatial dimensions."""
@overload
def max_pool3d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: """The largest value of each window, over 3 spatial dimensions."""
@overload
def max_pool3d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any: """The largest value of each window, over 3 spatial dimensions."""
def maximum(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """The greater of two elements; NaN if either is."""
def mean(input: Tensor, dim: Dims | None = None, keepdim: _bool = False, *, dtype: dtype | None = None, axis: Dims | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor: """The mean of all elements, or along dimensions."""
@overload
def median(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The middle element (the lower of two): of all, or (values, indices) along a dimension."""
@overload
def median(input: Tensor, dim: _int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None) -> _median: """The middle element (the lower of two): of all, or (values, indices) along a dimension."""
def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str | None = None) -> tuple[Tensor, ...]: """Coordinates of a grid: one expanded view for each 1-d tensor."""
@overload
def min(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The least element; with a dimension (values, indices); with another tensor the elementwise minimum."""
@overload
def min(input: Tensor, dim: _int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None) -> _min: """The least element; with a dimension (values, indices); with another tensor the elementwise minimum."""
@overload
def min(input: Tensor, dim: Tensor, *, out: Tensor | None = None) -> Tensor: """The least element; with a dimension (values, indices); with another tensor the elementwise minimum."""
@overload
def min(input: Tensor, *, other: Tensor, out: Tensor | None = None) -> Tensor: """The least element; with a dimension (values, indices); with another tensor the elementwise minimum."""
def minimum(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """The lesser of two elements; NaN if either is."""
def mish(input: Tensor, *, out: Tensor | None = None) -> Tensor: """input * tanh(softplus(input)), elementwise."""
def mish_(input: Tensor) -> Tensor: """`mish`, in place."""
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor: """The product of two matrices."""
def mode(input: Tensor, dim: _int = -1, keepdim: _bool = False, *, out: Tensor | None = None) -> _mode: ...
def moveaxis(input: Tensor, source: Dims, destination: Dims) -> Tensor: """Dimensions moved to other places; the rest keep their order."""
def movedim(input: Tensor, source: Dims, destination: Dims) -> Tensor: """Dimensions moved to other places; the rest keep their order."""
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The elements in order along the first dimension."""
def mul(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """input * other, elementwise."""
def mul_(input: Tensor, other: Scalar) -> Tensor: """`mul`, in place."""
def multigammaln(input: Tensor, p: _float, *, out: Tensor | None = None) -> Tensor: """The logarithm of the multivariate gamma function of dimension p."""
def multinomial(input: Tensor, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor: """Indices drawn from the rows of (unnormalised) probabilities."""
def multiply(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """input * other, elementwise."""
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor: """A matrix times a vector."""
def mvlgamma(input: Tensor, p: _float, *, out: Tensor | None = None) -> Tensor: """The logarithm of the multivariate gamma function of dimension p."""
def nan_to_num(input: Tensor, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None, *, out: Tensor | None = None) -> Tensor: """NaN and the infinities replaced by numbers."""
def nan_to_num_(self: Tensor, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor: """`nan_to_num`, in place."""
def nanmean(input: Tensor, dim: Dims | None = None, keepdim: _bool = False, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor: """The mean of the elements that are not NaN."""
@overload
def nanmedian(input: Tensor, *, out: Tensor | None = None) -> Tensor: """`median` without the NaNs."""
@overload
def nanmedian(input: Tensor, dim: _int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None) -> _nanmedian: """`median` without the NaNs."""
def nanquantile(input: Tensor, q: _float | Tensor, dim: Dims | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', out: Tensor | None = None) -> Tensor: """`quantile` without the NaNs."""
def nansum(input: Tensor, dim: Dims | None = None, keepdim: _bool = False, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor: """The sum, NaNs counted as zero."""
def narrow(input: Tensor, dim: Dims, start: _int | Tensor, length: _int) -> Tensor: """A range of a dimension: `length` places from `start`."""
def narrow_copy(input: Tensor, dim: Dims, start: Number, length: _int, *, out: Tensor | None = None) -> Tensor: """`narrow`, copied."""
def native_batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: _bool, momentum: _float, eps: _float, *, out: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]: """(`batch_norm`, the means, 1 / the standard deviations of the batch: none but in training)."""
def native_channel_shuffle(input: Tensor, groups: _int) -> Tensor: """Channels dealt out over the groups."""
def native_dropout(input: Tensor, p: _float, train: _bool | None) -> tuple[Tensor, Tensor]: """(`dropout`, a mask of the elements that stay). All stay if `train` is False; None is True."""
def native_group_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, N: _int, C: _int, HxW: _int, group: _int, eps: _float) -> tuple[Tensor, Tensor, Tensor]: """(`group_norm`, the means, 1 / the standard deviations) of N examples with C channels."""
def native_layer_norm(input: Tensor, normalized_shape: Shape, weight: Tensor | None, bias: Tensor | None, eps: _float) -> tuple[Tensor, Tensor, Tensor]: """(`layer_norm`, the means, 1 / the standard deviations)."""
def ne(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """Do two elements differ?"""
def ne_(input: Tensor, other: Scalar) -> Tensor: """`ne`, in place."""
def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The elements with the opposite sign."""
def neg_(input: Tensor) -> Tensor: """`neg`, in place."""
def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The elements with the opposite sign."""
def negative_(input: Tensor) -> Tensor: """`neg`, in place."""
def nextafter(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """The number that follows input in the direction of other."""
def nextafter_(input: Tensor, other: Scalar) -> Tensor: """`nextafter`, in place."""
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, ignore_index: _int = -100, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor: """Minus the log-probability of the target class."""
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False] = False, out: Tensor | None = None) -> Tensor: """The indices of all elements that are not zero, as rows (or one tensor for each dimension)."""
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: """The indices of all elements that are not zero, as rows (or one tensor for each dimension)."""
def nonzero_static(input: Tensor, *, size: Shape, fill_value: Scalar = -1) -> Tensor: """`nonzero` with a given number of rows: cut, or filled up with `fill_value`."""
def norm(input: Tensor, p: _float | str | None = 'fro', dim: Dims | None = None, keepdim: _bool = False, dtype: dtype | None = None, *, out: Tensor | None = None) -> Tensor: """The norm of a tensor: `p` a number, "fro" or "nuc"."""
def norm_except_dim(v: Any, pow: _int = 2, dim: Dims = 0) -> Tensor: ...
def normal(mean: Tensor | _float, std: Tensor | _float = 1.0, size: Ints | None = None, *, generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor: """Normal numbers with given means and standard deviations."""
def not_equal(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """Do two elements differ?"""
def numel(input: Tensor) -> _int: """The number of elements."""
def one_hot(tensor: Tensor, num_classes: _int = -1) -> Tensor: """Each class number as a vector that is one at that place and zero elsewhere."""
def ones(*shape: Ints, size: Shape | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor: """A tensor of ones."""
def ones_like(input: Tensor, *, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False, memory_format: MemoryFormat = ..., pin_memory: _bool = False) -> Tensor: """Ones in the shape and type of `input`."""
def orgqr(A: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def ormqr(input: Tensor, tau: Tensor, other: Scalar, left: _bool = True, transpose: _bool = False, *, out: Tensor | None = None) -> Tensor: ...
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor: """All products of the elements of two vectors."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False) -> Tensor: """The p-norm of x1 - x2 + eps along the last dimension."""
def pca_lowrank(A: Tensor, q: _int | None = None, center: _bool = True, niter: _int = 2) -> tuple[Tensor, Tensor, Tensor]: """The principal components of rows: `svd_lowrank` after their mean is subtracted."""
def pdist(input: Tensor, p: _float = 2) -> Tensor: """p-norm distances between the rows, each pair once."""
def permute(input: Tensor, dims: Shape) -> Tensor: """The dimensions in another order."""
def permute_copy(input: Tensor, dims: Dims, *, out: Tensor | None = None) -> Tensor: """A copy of the result of `permute`, in memory of its own."""
def permute_dims(x: Tensor, axes: Shape) -> Tensor: """`permute`, as the array API standard has it."""
def pinverse(input: Tensor, rcond: _float = 1e-15) -> Tensor: """The Moore-Penrose inverse."""
def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor: """(C r^2, H, W) -> (C, H r, W r)"""
def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor: """(C, H r, W r) -> (C r^2, H, W)"""
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor: """Poisson numbers with the input as rates."""
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: _bool = True, full: _bool = False, size_average: _bool | None = None, eps: _float = 1e-08, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor: """The negative log likelihood of a Poisson variable."""
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor: """The complex numbers of the given absolute values and angles."""
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = None) -> Tensor: """The n-th derivative of `digamma`."""
def positive(input: Tensor) -> Tensor: """The input itself; of booleans an error."""
def pow(input: Scalar, exponent: Scalar, *, out: Tensor | None = None) -> Tensor: """input to the power of exponent."""
def pow_(self: Tensor, exponent: Scalar) -> Tensor: """`pow`, in place."""
def prelu(input: Tensor, weight: Tensor) -> Tensor: """x where positive, weight * x elsewhere; the weight is one number or one per channel."""
def prod(input: Tensor, dim: Dims | None = None, keepdim: _bool = False, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor: """The product of all elements, or along one dimension."""
def promote_types(type1: dtype, type2: dtype) -> dtype: """The smallest type to which both can be converted without losing their category."""
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor: """A copy with `source` written (or added) at places of the flattened tensor."""
def qr(input: Tensor, some: _bool = True, *, out: Tensor | None = None) -> _qr: """Q and R with A = Q @ R."""
def quantile(input: Tensor, q: _float | Tensor, dim: Dims | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', out: Tensor | None = None) -> Tensor: """The values below which the fractions `q` of the elements lie."""
def quantize_per_channel(input: Tensor, scales: Tensor, zero_points: Tensor, axis: Dims, dtype: dtype) -> Tensor: ...
def quantize_per_tensor(input: Tensor, scale: Tensor | _float, zero_point: Tensor | _float, dtype: dtype) -> Any: ...
def quantize_per_tensor_dynamic(input: Tensor, dtype: dtype, reduce_range: _bool) -> Tensor: ...
def quantized_batch_norm(input: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, var: Tensor, eps: _float, output_scale: _float, output_zero_point: _int) -> Tensor: """`batch_norm` by known statistics of a tensor of a quantised type, by another scale."""
def quantized_max_pool1d(input: Tensor, kernel_size: Ints, stride: Shape = (), padding: Ints = 0, dilation: Ints = 1, ceil_mode: _bool = False) -> Tensor: """`max_pool1d` of a tensor of a quantised type."""
def quantized_max_pool2d(input: Tensor, kernel_size: Ints, stride: Shape = (), padding: Ints = 0, dilation: Ints = 1, ceil_mode: _bool = False) -> Tensor: """`max_pool2d` of a tensor of a quantised type."""
def quantized_max_pool3d(input: Tensor, kernel_size: Ints, stride: Shape = (), padding: Ints = 0, dilation: Ints = 1, ceil_mode: _bool = False) -> Tensor: """`max_pool3d` of a tensor of a quantised type."""
def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor: """Radians as degrees."""
def rad2deg_(input: Tensor) -> Tensor: """`rad2deg`, in place."""
def rand(*shape: Ints, size: Shape | None = None, generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor: """Uniform numbers in [0, 1)."""
def rand_like(input: Tensor, *, generator: Generator | None = None, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False, memory_format: MemoryFormat | None = None) -> Tensor: """Uniform numbers in [0, 1), shaped like the input."""
def randint(low: Tensor | _float, high: Tensor | _float | None = None, size: Ints | None = None, *, generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor: """Whole numbers in [low, high)."""
def randint_like(input: Tensor, low: _float | None = None, high: Tensor | _float | None = None, *, generator: Generator | None = None, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False, memory_format: MemoryFormat | None = None, pin_memory: _bool = False) -> Tensor: """Whole numbers in [low, high), shaped like the input."""
def randn(*shape: Ints, size: Shape | None = None, generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor: """Numbers from the normal distribution."""
def randn_like(input: Tensor, *, generator: Generator | None = None, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False, memory_format: MemoryFormat | None = None) -> Tensor: """Numbers from the normal distribution, shaped like the input."""
def randperm(n: _int, *, generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor: """The numbers 0 .. n-1 in random order."""
def range(start: Number = 0, end: Number | None = None, step: Number = 1, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False) -> Tensor: """As `arange`, with `end` included, and floating point by default."""
def ravel(input: Tensor) -> Tensor: """The elements in row-major order as one dimension; a view where the memory allows it."""
def real(input: Tensor) -> Tensor: """The real part of a complex tensor, as a view; a real tensor itself."""
def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor: """1 / input, elementwise."""
def reciprocal_(input: Tensor) -> Tensor: """`reciprocal`, in place."""
def relu(input: Tensor, *, out: Tensor | None = None) -> Tensor: """max(input, 0), elementwise."""
def relu6(input: Tensor, *, out: Tensor | None = None) -> Tensor: """input limited to [0, 6]."""
def relu6_(input: Tensor) -> Tensor: """`relu6`, in place."""
def relu_(input: Tensor) -> Tensor: """`relu`, in place."""
def remainder(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """The remainder of the division rounded down; it has the sign of the divisor."""
def remainder_(self: Tensor, other: Scalar) -> Tensor: """`remainder`, in place."""
def renorm(input: Tensor, p: _float, dim: Dims, maxnorm: _float, *, out: Tensor | None = None) -> Tensor: """Every slice along `dim` whose p-norm is greater than `maxnorm` scaled down to it."""
def repeat(x: Tensor, repeats: Ints, /, *, axis: Dims | None = None) -> Tensor: """Each element several times."""
def repeat_interleave(input: Tensor, repeats: _int | Tensor | None = None, dim: Dims | None = None, *, output_size: Ints | None = None) -> Tensor: """Each element repeated, along one dimension or (with none) of the flattened tensor."""
def reshape(input: Tensor, shape: Shape) -> Tensor: """The tensor in another shape: a view where the memory allows it, else a copy."""
def resize_as_(self: Tensor, other: Scalar, *, memory_format: MemoryFormat | None = None) -> Tensor: """`resize_` to the shape of another tensor."""
def resolve_conj(input: Tensor) -> Tensor: """The tensor itself: conjugation is never lazy."""
def resolve_neg(input: Tensor) -> Tensor: """The tensor itself: negation is never lazy."""
def result_type(tensor1: Scalar, tensor2: Scalar) -> dtype: """The type of an arithmetic result of the two operands."""
def rms_norm(input: Tensor, normalized_shape: Ints, weight: Tensor | None = None, eps: _float | None = None) -> Tensor: """Root mean square 1 over the last dimensions, then weight."""
def rnn_relu(input: Tensor, hx: Any, params: Any, has_biases: Any, num_layers: Any, dropout: _float, train: _bool, bidirectional: _bool, batch_first: _bool) -> tuple[Tensor, Tensor]: """(outputs, state) of RNN layers with `relu` whose weights are in a list (see `lstm`)."""
def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor: """One step of an RNN with `relu`: the state after it."""
def rnn_tanh(input: Tensor, hx: Any, params: Any, has_biases: Any, num_layers: Any, dropout: _float, train: _bool, bidirectional: _bool, batch_first: _bool) -> tuple[Tensor, Tensor]: """(outputs, state) of RNN layers whose weights are in a list (see `lstm`)."""
def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor: """One step of an RNN: the state after it."""
def roll(input: Tensor, shifts: Dims, dims: Dims | None = None) -> Tensor: """Elements moved along dimensions; what leaves at one end comes in at the other."""
def rot90(input: Tensor, k: _int = 1, dims: Shape = (0, 1)) -> Tensor: """Two dimensions turned by k quarters, from the first towards the second."""
def round(input: Tensor, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor: """Round half to even, to `decimals` digits."""
def round_(self: Tensor, *, decimals: _int = 0) -> Tensor: """`round`, in place."""
def row_indices_copy(self: Tensor, *, out: Tensor | None = None) -> Tensor: """A copy of the result of `row_indices`, in memory of its own."""
def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor: """Tensors joined as rows."""
def rrelu(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False, inplace: _bool = False) -> Tensor: """Leaky ReLU whose slope is random in training."""
def rrelu_(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False) -> Tensor: """`rrelu`, in place."""
def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor: """1 / sqrt(input), elementwise."""
def rsqrt_(input: Tensor) -> Tensor: """`rsqrt`, in place."""
def rsub(input: Tensor, other: Scalar, *, alpha: Number = 1) -> Tensor: """other - alpha * input"""
def save(obj: Any, f: str | PathLike[str] | Any, pickle_module: Any = ..., pickle_protocol: _int = 2, _use_new_zipfile_serialization: _bool = True) -> None: """Write tensors, and lists, tuples, dicts, numbers and strings of them, to a path or a binary file."""
def scalar_tensor(s: Number, *, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor: """A 0-d tensor from a Python number, in the default type where none is given."""
def scan(combine_fn: Callable[..., Any], init: Any, xs: Any, *, dim: Dims = 0, reverse: _bool = False) -> Any: ...
def scatter(input: Tensor, dim: Dims, index: Tensor, src: Scalar | None = None, *, reduce: str | None = None, value: Number | None = None, out: Tensor | None = None) -> Tensor: ...
def scatter_add(self: Tensor, dim: Dims, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor: """`src` added at the places that `index` names along a dimension, in index order."""
def scatter_reduce(self: Tensor, dim: Dims, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor: """`src` combined (sum, prod, mean, amax, amin) into the places that `index` names along a dimension."""
def searchsorted(sorted_sequence: Tensor, values: Scalar | None = None, *, out_int32: _bool = False, right: _bool = False, side: str | None = None, sorter: Tensor | None = None, input: Tensor | None = None, out: Tensor | None = None) -> Tensor: """Where each value would be put in to keep the sequence (its last dimension) sorted."""
def seed() -> _int: """Seed the default generator from the system; returns the seed."""
def segment_reduce(data: Any, reduce: _bool, *, lengths: Tensor | None = None, indices: Tensor | None = None, offsets: Tensor | None = None, axis: Dims = 0, unsafe: _bool = False, initial: Number | None = None) -> Tensor: """Reduce each of the segments of `data` along `axis`."""
def select(input: Tensor, dim: Dims, index: Tensor) -> Tensor: """One place of a dimension, which disappears."""
def select_copy(input: Tensor, dim: Dims, index: Tensor, *, out: Tensor | None = None) -> Tensor: """A copy of the result of `select`, in memory of its own."""
def select_scatter(input: Tensor, src: Tensor, dim: Dims, index: Tensor) -> Tensor: """A copy of `input` with one place of a dimension replaced by `src`."""
def selu(input: Tensor, inplace: _bool = False) -> Tensor: """The self-normalising ELU."""
def selu_(input: Tensor) -> Tensor: """`selu`, in place."""
def set_default_device(device: Device | None) -> None: """Set the device of new tensors; None is the CPU."""
def set_default_dtype(d: _float) -> None: """Set the type of new floating point tensors, and of results where integers meet Python floats."""
def set_default_tensor_type(t: Any) -> None: """`set_default_dtype` by the older name of a type: `whet.DoubleTensor`, or that as a text."""
def set_deterministic_debug_mode(debug_mode: _int | str) -> None: ...
def set_float32_matmul_precision(precision: str) -> None: ...
def set_flush_denormal(mode: _bool) -> _bool: """PyTorch's switch for taking tiny numbers as 0."""
def set_num_interop_threads(n: _int) -> None: """PyTorch's number of operations that run beside each other."""
def set_num_threads(n: _int) -> None: """How many threads a launch may use, the caller's included. Results do not depend on it."""
def set_printoptions(precision: _int | None = None, threshold: _int | None = None, edgeitems: _int | None = None, linewidth: _int | None = None, profile: str | None = None, sci_mode: _bool | None = None) -> None: """Set how tensors are shown; `profile` ("default", "short", "full") sets several at once."""
def set_rng_state(new_state: Tensor) -> None: """Set the default generator's position."""
def set_warn_always(b: Tensor) -> None: """Let warnings that are said once in a process be said every time."""
def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor: """input / |input|, 0 at 0: the sign, of complex numbers, too."""
def sgn_(self: Tensor) -> Tensor: """`sgn`, in place."""
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor: """1 / (1 + exp(-input)), elementwise."""
def sigmoid_(input: Tensor) -> Tensor: """`sigmoid`, in place."""
def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor: """-1, 0 or 1, by the sign of each element."""
def sign_(self: Tensor) -> Tensor: """`sign`, in place."""
def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor: """Is the sign bit set? It is set in -0., too."""
def silu(input: Tensor, *, out: Tensor | None = None) -> Tensor: """input * sigmoid(input), elementwise."""
def silu_(input: Tensor) -> Tensor: """`silu`, in place."""
def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The sine of each element, in radians."""
def sin_(input: Tensor) -> Tensor: """`sin`, in place."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor: """sin(pi * input) / (pi * input), 1 at 0."""
def sinc_(input: Tensor) -> Tensor: """`sinc`, in place."""
def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The hyperbolic sine of each element."""
def sinh_(input: Tensor) -> Tensor: """`sinh`, in place."""
def slice_copy(input: Tensor, dim: Dims = 0, start: Number | None = None, end: Number | None = None, step: Number = 1, *, out: Tensor | None = None) -> Tensor: """A copy of the result of `slice`, in memory of its own."""
def slice_inverse(input: Tensor, src: Tensor, dim: Dims = 0, start: Number | None = None, end: Number | None = None, step: Number = 1) -> Tensor: """`src`, of which `input` is a slice: a view of it."""
def slice_scatter(input: Tensor, src: Tensor, dim: Dims = 0, start: _int | None = None, end: _int | None = None, step: _int = 1, *, out: Tensor | None = None) -> Tensor: """A copy of `input` with input[start:end:step] along `dim` replaced by `src`."""
def slogdet(input: Tensor) -> _slogdet: """Sign and logarithm of the determinant."""
def smm(input: Tensor, mat: Tensor) -> Tensor: """The product of a sparse matrix and a dense one, as a sparse one."""
def softmax(input: Tensor, dim: Dims, dtype: dtype | None = None, *, out: Tensor | None = None) -> Tensor: """exp(x) divided by its sum along `dim`."""
def softshrink(input: Tensor, lambd: Number = 0.5, *, out: Tensor | None = None) -> Tensor: """input nearer to zero by lambd, 0 where |input| <= lambd."""
def softsign(input: Tensor, *, out: Tensor | None = None) -> Tensor: """input / (1 + |input|), elementwise."""
def sort(input: Tensor, dim: Dims = -1, descending: _bool = False, *, axis: Dims | None = None, stable: _bool = True, out: Tensor | None = None) -> _sort: """(values, indices): the elements in order along a dimension, and where each was."""
def sparse_bsc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Shape | None = None, *, dtype: dtype | None = None, device: Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _bool | None = None) -> Tensor: """`sparse_compressed_tensor` of layout whet.sparse_bsc."""
def sparse_bsr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Shape | None = None, *, dtype: dtype | None = None, device: Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _bool | None = None) -> Tensor: """`sparse_compressed_tensor` of layout whet.sparse_bsr."""
def sparse_compressed_tensor(compressed_indices: Any, plain_indices: Any, values: Any, size: Shape | None = None, *, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _bool | None = None) -> Tensor: ...
def sparse_coo_tensor(indices: Any = None, values: Any = None, size: Shape | None = None, *, dtype: dtype | None = None, device: Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _bool | None = None, is_coalesced: _bool | None = None) -> Tensor: """A sparse tensor of the values at some places, (sparse dims, entries) of them; zero elsewhere."""
def sparse_csc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Shape | None = None, *, dtype: dtype | None = None, device: Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _bool | None = None) -> Tensor: """`sparse_compressed_tensor` of layout whet.sparse_csc."""
def sparse_csr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Shape | None = None, *, dtype: dtype | None = None, device: Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _bool | None = None) -> Tensor: """`sparse_compressed_tensor` of layout whet.sparse_csr."""
def special_airy_ai(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The Airy function Ai."""
def special_bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The Bessel function of the first kind of order 0."""
def special_bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The Bessel function of the first kind of order 1."""
def special_bessel_y0(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The Bessel function of the second kind of order 0."""
def special_bessel_y1(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The Bessel function of the second kind of order 1."""
def special_entr(input: Tensor, *, out: Tensor | None = None) -> Tensor: """-input * log(input): the entropy; minus infinity below 0."""
def special_erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor: """exp(input ** 2) * erfc(input), without overflow."""
def special_i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor: """exp(-|input|) * i0(input), elementwise."""
def special_i1(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The modified Bessel function of the first kind, of order 1."""
def special_i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor: """exp(-|input|) * i1(input), elementwise."""
def special_log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor: """log(ndtr(input)), exact in the lower tail, too."""
def special_modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The modified Bessel function of the second kind of order 0."""
def special_modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The modified Bessel function of the second kind of order 1."""
def special_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The distribution function of the standard normal distribution."""
def special_ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The inverse of `ndtr`."""
def special_scaled_modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The modified Bessel function of the second kind of order 0, times exp(input)."""
def special_scaled_modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The modified Bessel function of the second kind of order 1, times exp(input)."""
def special_spherical_bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor: """sin(input) / input, 1 at 0."""
def special_xlog1py(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """input * log1p(other), 0 where input is 0."""
def special_zeta(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """Elementwise special_zeta."""
def split(tensor: Tensor, split_size_or_sections: Ints, dim: Dims = 0) -> tuple[Tensor, ...]: """Views of pieces along a dimension: of one size (the last may be smaller), or of the given sizes."""
def split_copy(tensor: Tensor, split_size_or_sections: Ints, dim: Dims = 0, *, out: Tensor | None = None) -> tuple[Tensor, ...]: """A copy of the result of `split`, in memory of its own."""
def split_with_sizes(input: Tensor, split_sizes: Shape, dim: Dims = 0) -> tuple[Tensor, ...]: """`split` into pieces of the given sizes."""
def split_with_sizes_copy(input: Tensor, split_sizes: Shape, dim: Dims = 0, *, out: Tensor | None = None) -> tuple[Tensor, ...]: """A copy of the result of `split_with_sizes`, in memory of its own."""
def spmm(input: Tensor, mat2: Tensor) -> Tensor: """The product of two matrices, of which the first may be sparse."""
def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The square root of each element; NaN below zero."""
def sqrt_(input: Tensor) -> Tensor: """`sqrt`, in place."""
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor: """input * input, elementwise."""
def square_(input: Tensor) -> Tensor: """`square`, in place."""
def squeeze(input: Tensor, dim: Dims | None = None) -> Tensor: """A view without the dimensions of size one: all of them, or those among `dim`."""
def squeeze_copy(input: Tensor, dim: Dims | None = None, *, out: Tensor | None = None) -> Tensor: """A copy of the result of `squeeze`, in memory of its own."""
def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor: """beta times a sparse matrix and alpha times a product, as a sparse one."""
def stack(tensors: Sequence[Tensor], dim: Dims = 0, *, axis: Dims | None = None, out: Tensor | None = None) -> Tensor: """Tensors of one shape joined along a new dimension."""
def std(input: Tensor, dim: Dims | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None, out: Tensor | None = None) -> Tensor: """The standard deviation."""
def std_mean(input: Tensor, dim: Dims | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None, out: Tensor | None = None) -> tuple[Tensor, Tensor]: """(standard deviation, mean)"""
def stft(input: Tensor, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, pad_mode: str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> Tensor: ...
def sub(input: Tensor, other: Scalar, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor: """input - alpha * other."""
def sub_(self: Tensor, other: Scalar, *, alpha: Number = 1) -> Tensor: """`sub`, in place."""
def subtract(input: Tensor, other: Scalar, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor: """input - alpha * other."""
def subtract_(self: Tensor, other: Scalar, *, alpha: Number = 1) -> Tensor: """`sub`, in place."""
def sum(input: Tensor, dim: Dims | None = None, keepdim: _bool = False, *, dtype: dtype | None = None, axis: Dims | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor: """The sum of all elements, or along dimensions. Sums of integers are int64."""
def sum_to_size(self: Tensor, *size: Ints) -> Tensor: """Sum over broadcast dimensions so that the result has the given size."""
def summary(model: Module, *args: Any, **kwargs: Any) -> Any: ...
def svd(input: Tensor, some: _bool = True, compute_uv: _bool = True, *, out: Tensor | None = None) -> _svd: """U, S, V (not its transpose), as the older function gives them."""
def svd_lowrank(A: Tensor, q: _int = 6, niter: _int = 2, M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]: """U, S, V of a matrix of about rank q, found by multiplying it with random vectors."""
def swapaxes(input: Tensor, axis0: _int, axis1: _int) -> Tensor: """`transpose`, with NumPy's names."""
def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor: """Two dimensions exchanged."""
def sym_float(a: _float) -> _float: """A number as a `float`."""
def sym_fresh_size(expr: _int) -> _int: """A size that is not known to be another one: the number itself."""
def sym_int(a: _float) -> _int: """A number without its fraction."""
def sym_ite(b: Tensor, t: Any, f: Any) -> Any: """`t if b else f`."""
def sym_max(a: _float, b: Tensor) -> _float: """The larger number; a `float` where one is."""
def sym_min(a: _float, b: Tensor) -> _float: """The smaller number; a `float` where one is."""
def sym_not(a: _float) -> _bool: """`not a`."""
def sym_sqrt(a: _float) -> _float: """The square root of a number."""
def sym_sum(args: Any) -> _float: """The sum of numbers."""
def t(input: Tensor) -> Tensor: """A matrix transposed."""
def t_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor: """A copy of the result of `t`, in memory of its own."""
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor: """Elements at places of the flattened tensor."""
def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: Dims = -1) -> Tensor: """`take_along_dim`, as the array API standard has it."""
def take_along_dim(input: Tensor, indices: Tensor, dim: Dims | None = None, *, out: Tensor | None = None) -> Tensor: ...
def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The tangent of each element, in radians."""
def tan_(input: Tensor) -> Tensor: """`tan`, in place."""
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The hyperbolic tangent of each element."""
def tanh_(input: Tensor) -> Tensor: """`tanh`, in place."""
def tanhshrink(input: Tensor, *, out: Tensor | None = None) -> Tensor: """input - tanh(input), elementwise."""
def tensor(data: Any, *, dtype: dtype | None = None, device: Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor: """A tensor from numbers, nested lists, arrays or other tensors. The data are copied."""
def tensor_split(input: Tensor, indices_or_sections: Ints | Tensor, dim: Dims = 0) -> tuple[Tensor, ...]: """Views of pieces along a dimension: `sections` of almost equal size, or cut at the given indices."""
def tensordot(a: _float, b: Tensor, dims: _int | Sequence[Sequence[_int]] = 2, *, out: Tensor | None = None) -> Tensor: """Sum products over pairs of dimensions: the last `dims` of a with the first of b, or two lists."""
def thread_safe_generator() -> Generator | None: ...
def threshold(input: Tensor, threshold: Number, value: Number, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor: ...
def threshold_(input: Tensor, threshold: _float, value: Scalar) -> Tensor: """`threshold`, in place."""
def tile(input: Tensor, dims: Ints) -> Tensor: """`repeat`, where missing repeats of leading dimensions are one."""
def to_dlpack(tensor: Tensor) -> Any: """A DLPack capsule over the tensor's memory."""
def topk(input: Tensor, k: _int | Tensor, dim: Dims = -1, largest: _bool = True, sorted: _bool = True, *, out: Tensor | None = None) -> _topk: """(values, indices): the k largest (or smallest) elements along a dimension, in order."""
def trace(input: Tensor) -> Tensor: """The sum of the diagonal of a matrix."""
def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor: """Two dimensions exchanged."""
def transpose_copy(input: Tensor, dim0: _int, dim1: _int, *, out: Tensor | None = None) -> Tensor: """A copy of the result of `transpose`, in memory of its own."""
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: _float | None = None, dim: Dims = -1) -> Tensor: """The integral of y along `dim` by the trapezoidal rule."""
def trapz(y: Tensor, x: Tensor | None = None, *, dx: _float | None = None, dim: Dims = -1) -> Tensor: """The integral of y along `dim` by the trapezoidal rule."""
def triangular_solve(b: Tensor, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False, *, out: Tensor | None = None) -> _triangular_solve: """(X with A @ X = b, a copy of A): the older form of `linalg.solve_triangular`."""
def tril(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor: """Matrices with zeros above the given diagonal."""
def tril_indices(row: _int, col: _int, offset: _int = 0, *, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None) -> Tensor: """Row and column numbers of the lower triangle, as a (2, N) tensor."""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: _float = 1.0, p: _float = 2, eps: _float = 1e-06, swap: _bool = False, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor: """max(0, d(anchor, positive) - d(anchor, negative) + margin)"""
def triu(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor: """Matrices with zeros below the given diagonal."""
def triu_indices(row: _int, col: _int, offset: _int = 0, *, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None) -> Tensor: """Row and column numbers of the upper triangle, as a (2, N) tensor."""
def true_divide(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """input / other, of whole numbers, too."""
def true_divide_(self: Tensor, other: Scalar) -> Tensor: """`true_divide`, in place."""
def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The whole part of each element: rounded towards zero."""
def trunc_(input: Tensor) -> Tensor: """`trunc`, in place."""
def typename(obj: Any) -> str: """The name of an object's type; of a tensor that of its elements' type."""
def unbind(input: Tensor, dim: Dims = 0) -> tuple[Tensor, ...]: """The slices along a dimension, as a tuple."""
def unbind_copy(input: Tensor, dim: Dims = 0, *, out: Tensor | None = None) -> tuple[Tensor, ...]: """A copy of the result of `unbind`, in memory of its own."""
def unflatten(input: Tensor, dim: _int, sizes: Shape) -> Tensor: """One dimension as several."""
def unfold_copy(self: Tensor, dimension: _int, size: _int, step: _int, *, out: Tensor | None = None) -> Tensor: """A copy of the result of `unfold`, in memory of its own."""
@overload
def unique(input: Tensor, sorted: _bool = True, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None) -> Tensor: ...
@overload
def unique(input: Tensor, sorted: _bool = True, *, return_inverse: Literal[True], return_counts: Literal[True], dim: _int | None = None) -> tuple[Tensor, Tensor, Tensor]: ...
@overload
def unique(input: Tensor, sorted: _bool = True, *, return_inverse: Literal[True], return_counts: Literal[False] = False, dim: _int | None = None) -> tuple[Tensor, Tensor]: ...
@overload
def unique(input: Tensor, sorted: _bool = True, *, return_inverse: Literal[False] = False, return_counts: Literal[True], dim: _int | None = None) -> tuple[Tensor, Tensor]: ...
@overload
def unique(input: Tensor, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None) -> Any: ...
def unique_all(x: Tensor) -> _unique_all: ...
@overload
def unique_consecutive(input: Tensor, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None) -> Tensor: """`input` without repetitions of an element (or slice along `dim`) right after itself."""
@overload
def unique_consecutive(input: Tensor, *, return_inverse: Literal[True], return_counts: Literal[True], dim: _int | None = None) -> tuple[Tensor, Tensor, Tensor]: """`input` without repetitions of an element (or slice along `dim`) right after itself."""
@overload
def unique_consecutive(input: Tensor, *, return_inverse: Literal[True], return_counts: Literal[False] = False, dim: _int | None = None) -> tuple[Tensor, Tensor]: """`input` without repetitions of an element (or slice along `dim`) right after itself."""
@overload
def unique_consecutive(input: Tensor, *, return_inverse: Literal[False] = False, return_counts: Literal[True], dim: _int | None = None) -> tuple[Tensor, Tensor]: """`input` without repetitions of an element (or slice along `dim`) right after itself."""
@overload
def unique_consecutive(input: Tensor, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None) -> Any: """`input` without repetitions of an element (or slice along `dim`) right after itself."""
def unique_counts(x: Tensor) -> _unique_counts: """The distinct elements and how often each occurs."""
def unique_inverse(x: Tensor) -> _unique_inverse: """The distinct elements and which of them each element is."""
def unique_values(x: Tensor) -> Tensor: """The distinct elements."""
def unravel_index(indices: Tensor, shape: Ints) -> tuple[Tensor, ...]: """Places of a flattened tensor of `shape` as one index tensor for each dimension."""
def unsafe_chunk(input: Tensor, chunks: _int, dim: Dims = 0) -> tuple[Tensor, ...]: """`chunk` into pieces that may be written to."""
def unsafe_split(input: Tensor, split_size: _int, dim: Dims = 0) -> tuple[Tensor, ...]: """`split` into pieces that may be written to."""
def unsafe_split_with_sizes(input: Tensor, split_sizes: Shape, dim: Dims = 0) -> tuple[Tensor, ...]: """`split_with_sizes` into pieces that may be written to."""
def unsqueeze(input: Tensor, dim: Dims) -> Tensor: """A dimension of size one put in at `dim`."""
def unsqueeze_copy(input: Tensor, dim: Dims, *, out: Tensor | None = None) -> Tensor: """A copy of the result of `unsqueeze`, in memory of its own."""
def unstack(x: Tensor, *, axis: Dims = 0) -> tuple[Tensor, ...]: """`unbind`, as the array API standard has it."""
def use_deterministic_algorithms(mode: _bool, *, warn_only: _bool = False) -> None: """Ask for results that do not change from run to run."""
def values_copy(self: Tensor, *, out: Tensor | None = None) -> Tensor: """A copy of the result of `values`, in memory of its own."""
def vander(x: Tensor, N: _int | None = None, increasing: _bool = False) -> Tensor: """Powers of the elements of a 1-d tensor as columns, highest first unless `increasing`."""
def var(input: Tensor, dim: Dims | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None, out: Tensor | None = None) -> Tensor: """The variance (divided by n - correction)."""
def var_mean(input: Tensor, dim: Dims | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None, out: Tensor | None = None) -> tuple[Tensor, Tensor]: """(variance, mean)"""
def vdot(input: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor: """The inner product of two vectors, the first conjugated."""
def vecdot(x1: Tensor, x2: Tensor, /, *, axis: Dims = -1) -> Tensor: """The inner product of vectors along an axis, the first conjugated."""
def view_as_complex(input: Tensor) -> Tensor: """A real tensor whose last dimension is (real, imaginary) as a complex one; the same memory."""
def view_as_complex_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor: """A copy of the result of `view_as_complex`, in memory of its own."""
def view_as_real(input: Tensor) -> Tensor: """A complex tensor as a real one with a last dimension (real, imaginary); the same memory."""
def view_as_real_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor: """A copy of the result of `view_as_real`, in memory of its own."""
def view_copy(input: Tensor, size: Shape | None = None, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor: """A copy of the result of `view`, in memory of its own."""
def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = 'error', *, chunk_size: _int | None = None) -> Callable[..., R]: """`func` for every slice of its arguments along `in_dims`, the results stacked along `out_dims`."""
def vsplit(input: Tensor, indices_or_sections: Ints) -> tuple[Tensor, ...]: """`tensor_split` along dimension 0, into equal pieces where a number is given."""
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor: """Tensors joined as rows."""
@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...
@overload
def where(condition: Tensor, input: Scalar, other: Scalar, *, out: Tensor | None = None) -> Tensor: ...
def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Sequence[Any]) -> Any: ...
def xlogy(input: Scalar, other: Scalar, *, out: Tensor | None = None) -> Tensor: """input * log(other), 0 where input is 0."""
def xlogy_(input: Tensor, other: Scalar) -> Tensor: """`xlogy`, in place."""
def zero_(self: Tensor) -> Tensor: """Write zero to every element."""
def zeros(*shape: Ints, size: Shape | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor: """A tensor of zeros."""
def zeros_like(input: Tensor, *, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: _bool = False, memory_format: MemoryFormat = ..., pin_memory: _bool = False) -> Tensor: """Zeros in the shape and type of `input`."""

class BFloat16Storage:
    """Memory of bfloat16 on devices of cpu."""
    device_type: str

class BFloat16Tensor:
    """Tensors of bfloat16 on devices of cpu."""
    device_type: str

class BoolStorage:
    """Memory of bool on devices of cpu."""
    device_type: str

class BoolTensor:
    """Tensors of bool on devices of cpu."""
    device_type: str

class ByteStorage:
    """Memory of uint8 on devices of cpu."""
    device_type: str

class ByteTensor:
    """Tensors of uint8 on devices of cpu."""
    device_type: str

class CharStorage:
    """Memory of int8 on devices of cpu."""
    device_type: str

class CharTensor:
    """Tensors of int8 on devices of cpu."""
    device_type: str

class ComplexDoubleStorage:
    """Memory of complex128 on devices of cpu."""
    device_type: str

class ComplexDoubleTensor:
    """Tensors of complex128 on devices of cpu."""
    device_type: str

class ComplexFloatStorage:
    """Memory of complex64 on devices of cpu."""
    device_type: str

class ComplexFloatTensor:
    """Tensors of complex64 on devices of cpu."""
    device_type: str

class DoubleStorage:
    """Memory of float64 on devices of cpu."""
    device_type: str

class DoubleTensor:
    """Tensors of float64 on devices of cpu."""
    device_type: str

class FloatStorage:
    """Memory of float32 on devices of cpu."""
    device_type: str

class FloatTensor:
    """Tensors of float32 on devices of cpu."""
    device_type: str

class HalfStorage:
    """Memory of float16 on devices of cpu."""
    device_type: str

class HalfTensor:
    """Tensors of float16 on devices of cpu."""
    device_type: str

class IntStorage:
    """Memory of int32 on devices of cpu."""
    device_type: str

class IntTensor:
    """Tensors of int32 on devices of cpu."""
    device_type: str

class LongStorage:
    """Memory of int64 on devices of cpu."""
    device_type: str

class LongTensor:
    """Tensors of int64 on devices of cpu."""
    device_type: str

class ShortStorage:
    """Memory of int16 on devices of cpu."""
    device_type: str

class ShortTensor:
    """Tensors of int16 on devices of cpu."""
    device_type: str

class UInt16Tensor:
    """Tensors of uint16 on devices of cpu."""
    device_type: str

class UInt32Tensor:
    """Tensors of uint32 on devices of cpu."""
    device_type: str

class UInt64Tensor:
    """Tensors of uint64 on devices of cpu."""
    device_type: str
