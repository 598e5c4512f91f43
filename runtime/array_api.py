"""The names of the Python array API standard (2024.12), with its signatures and meanings:
`Tensor.__array_namespace__()`.

Most names of the standard are in `whet` itself, where some have PyTorch's meaning (`equal`, `max`,
`sort`, `std`, ...). Here each has the standard's, so that code written against the standard runs on
tensors."""
import builtins as _b
import inspect as _inspect
import math as _math

from .array_api_examples import add_examples as _add_examples
from .array_api_fft import fft as fft
from .array_api_linalg import linalg as linalg
from .array_api_object import Array as Array
from .array_api_object import keeps_arrays as _keeps_arrays
from .array_api_object import makes_arrays as _makes_arrays
from .array_api_products import matmul as matmul
from .array_api_products import matrix_transpose as matrix_transpose
from .array_api_products import tensordot as tensordot
from .array_api_products import vecdot as vecdot
from .array_api_types import astype as astype
from .array_api_types import can_cast as can_cast
from .array_api_types import finfo as finfo
from .array_api_types import iinfo as iinfo
from .array_api_types import isdtype as isdtype
from .array_api_types import result_type as result_type
from .array_api_wrappers import (
    _floor_divide,
    _named,
    _number_as_tensor,
    _of_one_tensor,
    _of_two_operands,
    _operands_of_one_type,
    _rounding,
)
from .devices import get_default_device as _default_device
from .dtypes import COMPLEX as _COMPLEX
from .dtypes import FLOAT as _FLOAT
from .dtypes import INT as _INT
from .dtypes import bool_ as bool  # noqa: A004
from .dtypes import (
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .dtypes import get_default_dtype as _get_default_dtype
from .ops.surface import FUNCTIONS as _F
from .tensor import Tensor as _Tensor

__array_api_version__ = "2024.12"
e, inf, nan, pi, newaxis = _math.e, _math.inf, _math.nan, _math.pi, None


# ---- what is here --------------------------------------------------------------------------------
class _Info:
    """What `__array_namespace_info__()` gives."""

    def capabilities(self):
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self):
        return _default_device()

    def devices(self):
        return [self.default_device()]

    def default_dtypes(self, *, device=None):
        real = _get_default_dtype()
        return {"real floating": real, "complex floating": real.to_complex(), "integral": int64,
                "indexing": int64}

    def dtypes(self, *, device=None, kind=None):
        return {name: t for name, t in _DTYPES.items() if kind is None or isdtype(t, kind)}


_DTYPES = {"bool": bool, "int8": int8, "int16": int16, "int32": int32, "int64": int64,
           "uint8": uint8, "uint16": uint16, "uint32": uint32, "uint64": uint64, "float32": float32,
           "float64": float64, "complex64": complex64, "complex128": complex128}


def __array_namespace_info__():
    """What this namespace can do, which types it has and which it takes by default."""
    return _Info()


for _n in ("abs acos acosh asin asinh atan atanh conj cos cosh exp expm1 imag isfinite isinf isnan "
           "log log1p log2 log10 logical_not negative "
           "positive real reciprocal sign signbit sin sinh square sqrt tan tanh").split():
    globals()[_n] = _of_one_tensor(_n)
bitwise_invert = _of_one_tensor("bitwise_invert", "bitwise_not")
ceil, floor, trunc, _round = map(_rounding, ("ceil", "floor", "trunc", "round"))


def round(x, /):
    """The nearest whole numbers (the even one of two), of complex numbers for each part."""
    if x.dtype.category == _COMPLEX:
        return _F["complex"](_round(x.real), _round(x.imag))
    return _round(x)


for _n in ("add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor "
           "copysign greater greater_equal hypot "
           "less less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply "
           "nextafter not_equal pow remainder "
           "subtract").split():
    globals()[_n] = _of_two_operands(_n)
divide, equal = _of_two_operands("divide", "true_divide"), _of_two_operands("equal", "eq")


def sign(x, /):
    """-1, 0 or 1, of complex numbers the direction; not a number where `x` is not."""
    r = _F["sgn"](x)
    return _F["where"](x != x, x, r) if x.dtype.category == _FLOAT else r


def floor_divide(x1, x2, /):
    """The quotient rounded down; of infinities and finite numbers an infinity."""
    return _floor_divide(*_operands_of_one_type(x1, x2))


def clip(x, /, min=None, max=None):
    """Elements between two bounds, in the type of `x`."""
    # a bound beyond the type is its end, not what is left of it in so many bits
    if x.dtype.category == _INT:
        low, high = iinfo(x.dtype).min, iinfo(x.dtype).max
        min, max = (_b.min(_b.max(b, low), high) if isinstance(b, int) else b for b in (min, max))
    bounds = [b if b is None or isinstance(b, _Tensor) else _number_as_tensor(x, b)
              for b in (min, max)]
    if bounds == [None, None]:
        return x.clone()
    return _F["clamp"](x, *bounds).to(x.dtype)


# ---- reductions ----------------------------------------------------------------------------------
def _axes(x, axis):
    return (tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int)
            else tuple(axis))


def _reduce(name, x, axis, keepdims, **kw):
    axes = _axes(x, axis)
    return None if not axes else _F[name](x, axes, keepdims, **kw)


def _summed(x, dtype):
    if dtype is None and x.dtype.category == _INT:
        dtype = (int64 if x.dtype.is_signed else uint64) if x.dtype.itemsize < 8 else x.dtype
    return x if dtype is None or dtype is x.dtype else x.to(dtype)


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """The sum; whole numbers in the widest type of their sign."""
    x = _summed(x, dtype)
    r = _reduce("sum", x, axis, keepdims, dtype=x.dtype if x.dtype is not bool else int64)
    return x.clone() if r is None else r


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """The product; whole numbers in the widest type of their sign."""
    x = _summed(x, dtype)
    axes = [_checked(a, x.ndim, "prod") for a in _axes(x, axis)]
    if len({*axes}) < len(axes):
        raise ValueError(f"prod: an axis appears twice in {axis}")
    for d in sorted(axes, reverse=True):
        x = _F["prod"](x, d, keepdims, dtype=x.dtype)
    return x if axes else x.clone()


def _extremum(name, ours):
    def fn(x, /, *, axis=None, keepdims=False):
        r = _reduce(ours, x, axis, keepdims)
        return x.clone() if r is None else r
    return _named(name, fn)


max, min = _extremum("max", "amax"), _extremum("min", "amin")


def mean(x, /, *, axis=None, keepdims=False):
    """The mean."""
    r = _reduce("mean", x, axis, keepdims)
    return x.clone() if r is None else r


def _spread(name):
    call = _F[name]

    def fn(x, /, *, axis=None, correction=0.0, keepdims=False):
        axes = _axes(x, axis)
        r = (call(x, axes, correction=correction, keepdim=keepdims) if axes else
             call(x.unsqueeze(-1), -1, correction=correction))
        enough = _math.prod(x.shape[a] for a in axes) > correction
        return r if enough else _F["full_like"](r, nan)
    return _named(name, fn)


std, var = _spread("std"), _spread("var")


def _truth(name):
    def fn(x, /, *, axis=None, keepdims=False):
        r = _reduce(name, x, axis, keepdims)
        return x.to(bool) if r is None else r.to(bool)
    return _named(name, fn)


all, any = _truth("all"), _truth("any")


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """The number of elements that are not zero."""
    return sum((x != 0).to(int64), axis=axis, keepdims=keepdims)


def _place(name):
    def fn(x, /, *, axis=None, keepdims=False):
        r = _F[name](x, axis, keepdims)
        return r.reshape((1,) * x.ndim) if axis is None and keepdims else r
    return _named(name, fn)


argmax, argmin = _place("argmax"), _place("argmin")


def _running(name, ours):
    def fn(x, /, *, axis=None, dtype=None, include_initial=False):
        if axis is None:
            if x.ndim > 1:
                raise ValueError(f"{name}: axis is needed for more than one dimension")
            axis = 0
        x = _summed(x, dtype)
        r = _F[ours](x, axis, dtype=x.dtype)
        if include_initial:
            shape = list(x.shape)
            shape[axis] = 1
            r = _F["cat"]([_F["full"](shape, 0 if ours == "cumsum" else 1, dtype=r.dtype), r], axis)
        return r
    return _named(name, fn,
                  f"The running {ours[3:]} along an axis, from its start value if "
                  f"`include_initial`.")


cumulative_sum, cumulative_prod = (_running("cumulative_sum", "cumsum"),
                                   _running("cumulative_prod", "cumprod"))


# ---- order, sets, places -------------------------------------------------------------------------
def sort(x, /, *, axis=-1, descending=False, stable=True):
    """The elements in order along an axis."""
    return _F["sort"](x, axis, descending, stable=stable).values


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The places of the elements in order along an axis."""
    return _F["argsort"](x, axis, descending, stable=stable)


def nonzero(x, /):
    """The indices of the elements that are not zero, one tensor for each dimension."""
    if not x.ndim:
        raise ValueError("nonzero: a tensor of no dimension has no places")
    return tuple(_F["nonzero"](x).unbind(1))


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """The places at which elements would keep `x1` sorted."""
    return _F["searchsorted"](x1, x2, side=side, sorter=sorter)


def where(condition, x1, x2, /):
    """Elements of `x1` where the condition holds, of `x2` elsewhere."""
    return _F["where"](condition, *_operands_of_one_type(x1, x2))


def isin(x1, x2, /, *, invert=False):
    """Which elements of `x1` are among those of `x2`?"""
    return _F["isin"](x1, x2, invert=invert)


unique_all, unique_counts, unique_inverse, unique_values = map(_of_one_tensor,
                                                               ("unique_all", "unique_counts",
                                                                "unique_inverse", "unique_values"))


def take(x, indices, /, *, axis=None):
    """Slices along an axis."""
    if axis is None and x.ndim != 1:
        raise ValueError("take: axis is needed for more than one dimension")
    axis = 0 if axis is None else axis
    return _F["index_select"](x, axis, _F["where"](indices < 0, indices + x.shape[axis], indices))


def take_along_axis(x, indices, /, *, axis=-1):
    """An element for each index along an axis, all else broadcast."""
    return _F["take_along_dim"](x, indices.to(int64), axis)


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """The n-th difference along an axis."""
    return _F["diff"](x, n, axis, prepend, append)


# ---- shapes --------------------------------------------------------------------------------------
def concat(arrays, /, *, axis=0):
    """Tensors one after the other along an axis; flattened if that is None."""
    arrays = [a.reshape((a.numel(),)) for a in arrays] if axis is None else list(arrays)
    return _F["cat"](arrays, 0 if axis is None else axis)


def stack(arrays, /, *, axis=0):
    """Join tensors along a new axis."""
    return _F["stack"](list(arrays), axis)


def unstack(x, /, *, axis=0):
    """The slices along an axis."""
    return tuple(x.unbind(axis))


def expand_dims(x, /, axis=0):
    """A dimension of size one more (or several)."""
    if isinstance(axis, int):
        return x.unsqueeze(axis)
    n = x.ndim + len(axis)
    for d in sorted(_checked(a, n, "expand_dims") for a in axis):
        x = x.unsqueeze(d)
    return x


def _checked(axis, n, name):
    if not -n <= axis < n:
        raise IndexError(f"{name}: axis {axis} is out of range for {n} dimensions")
    return axis % n


def squeeze(x, /, axis):
    """Without dimensions of size one."""
    axes = [_checked(a, x.ndim, "squeeze") for a in _axes(x, axis)]
    if _b.any(x.shape[a] != 1 for a in axes):
        raise ValueError(f"squeeze: the dimensions {axis} of {tuple(x.shape)} are not all of size "
                         f"1")
    return _F["squeeze"](x, tuple(axes)) if axes else x


def flip(x, /, *, axis=None):
    """In reversed order along axes."""
    return _F["flip"](x, _axes(x, axis))


def roll(x, /, shift, *, axis=None):
    """Elements moved on along axes, those that leave enter again."""
    if axis is None:
        return _F["roll"](x, shift)
    if axis == ():
        return x.clone()
    axes, shifts = _axes(x, axis), (shift,) if isinstance(shift, int) else tuple(shift)
    return _F["roll"](x, shifts * len(axes) if len(shifts) == 1 else shifts, axes)


def permute_dims(x, /, axes):
    """The dimensions in another order."""
    return _F["permute"](x, axes)


def moveaxis(x, source, destination, /):
    """Dimensions moved to other places."""
    return _F["movedim"](x, source, destination)


def reshape(x, /, shape, *, copy=None):
    """The same elements in another shape: a view if that can be (or `copy=False`), else a copy."""
    if copy is False:
        return x.view(shape)
    return x.reshape(shape).clone() if copy else x.reshape(shape)


def repeat(x, repeats, /, *, axis=None):
    """Each element several times."""
    return _F["repeat_interleave"](x, repeats, axis)


def tile(x, repetitions, /):
    """The whole several times along each dimension."""
    return _F["tile"](x, tuple(repetitions))


def broadcast_to(x, /, shape):
    """A view in which dimensions of size one are repeated."""
    return _F["broadcast_to"](x, shape)


def broadcast_arrays(*arrays):
    """Views of one shape."""
    return list(_F["broadcast_tensors"](*arrays))


broadcast_shapes, _meshgrid = _F["broadcast_shapes"], _F["meshgrid"]


def meshgrid(*arrays, indexing="xy"):
    """Coordinates as grids."""
    return list(_meshgrid(*arrays, indexing=indexing)) if arrays else []


def tril(x, /, *, k=0):
    """The lower triangles, zero above the k-th diagonal."""
    return _F["tril"](x, k)


def triu(x, /, *, k=0):
    """The upper triangles, zero below the k-th diagonal."""
    return _F["triu"](x, k)


# ---- making tensors ------------------------------------------------------------------------------
def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """start, start + step, ... up to but without `stop`."""
    start, stop = (0, start) if stop is None else (start, stop)
    if (stop - start) * step <= 0:
        dtype = (dtype
                 or (int64 if _b.all(isinstance(v, int) for v in (start, stop, step))
                     else _get_default_dtype()))
        return _F["empty"](0, dtype=dtype, device=device)
    return _F["arange"](start, stop, step, dtype=dtype, device=device)


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """The object as a tensor, sharing its memory if possible."""
    return _F["asarray"](obj, dtype=dtype, device=device, copy=copy)


def empty(shape, *, dtype=None, device=None):
    """A tensor whose elements are whatever lay there."""
    return _F["empty"](shape, dtype=dtype, device=device)


def zeros(shape, *, dtype=None, device=None):
    """Zeros."""
    return _F["zeros"](shape, dtype=dtype, device=device)


def ones(shape, *, dtype=None, device=None):
    """Ones."""
    return _F["ones"](shape, dtype=dtype, device=device)


def full(shape, fill_value, *, dtype=None, device=None):
    """One number everywhere."""
    return _F["full"]((shape,) if isinstance(shape, int) else shape, fill_value, dtype=dtype,
                      device=device)


def _as_one(name):
    call = _F[name]

    def fn(x, /, *, dtype=None, device=None):
        return call(x, dtype=dtype, device=device)
    return _named(name, fn)


empty_like, zeros_like, ones_like = map(_as_one, ("empty_like", "zeros_like", "ones_like"))


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """One number everywhere, in the shape and type of another tensor."""
    return _F["full_like"](x, fill_value, dtype=dtype, device=device)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """Ones on the k-th diagonal, zeros elsewhere."""
    n_cols = n_rows if n_cols is None else n_cols
    r = _F["zeros"]((n_rows, n_cols), dtype=dtype, device=device)
    if -n_rows < k < n_cols:
        r.diagonal(k).fill_(1)
    return r


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """`num` numbers evenly spaced from start to stop."""
    return _F["linspace"](start, stop, num, dtype=dtype, device=device, endpoint=endpoint)


def from_dlpack(x, /, *, device=None, copy=None):
    """A tensor over the memory of another library's."""
    r = _F["from_dlpack"](x)
    return r.clone() if copy else r


# ---- arrays of the standard ----------------------------------------------------------------------
def _publish():
    """Creation functions make arrays of the standard; the others give them where they are given
    them."""
    creating = ("arange asarray empty empty_like eye from_dlpack full full_like linspace ones "
                "ones_like zeros zeros_like").split()
    for name, fn in list(globals().items()):
        if _inspect.isfunction(fn) and not name.startswith("_"):
            made = _makes_arrays(fn) if name in creating else _keeps_arrays(fn)
            made.__module__ = __name__       # where pickles find it
            globals()[name] = made


__all__ = [_n for _n in dir() if not _n.startswith("_")]
_add_examples(globals())
_publish()
