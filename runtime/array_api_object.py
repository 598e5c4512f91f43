"""Arrays of the array API standard: tensors whose operators follow the standard where PyTorch's do
not.

`whet.array_api` makes them, and its functions give them where they are given them. A tensor without
dimensions counts fully when types meet, `@` takes operands of two types, slices may run backwards,
and `size` is the number of elements.
"""
import functools
import operator
from typing import Any

from . import function_protocol
from .array_api_wrappers import _floor_divide, _in_common_type, _named, _operands_of_one_type
from .tensor import Tensor

# whose methods the ops bring
PLAIN: Any = Tensor


class ElementCount(int):
    """The number of elements. Called, it gives sizes as `Tensor.size` does."""
    _of: Tensor

    def __new__(cls, array):
        count = int.__new__(cls, array.numel())
        count._of = array
        return count

    def __call__(self, dim=None):
        return PLAIN.size(self._of, dim)


class Array(PLAIN):
    """A tensor whose operators follow the array API standard.

    >>> import whet
    >>> xp = whet.array_api
    >>> (xp.ones(2, dtype=xp.float32) + xp.asarray(1.0, dtype=xp.float64)).dtype
    whet.float64
    >>> xp.arange(4)[::-1]
    Array([3, 2, 1, 0])
    """
    __slots__ = ()
    __module__ = "whet.array_api"
    __torch_function__ = staticmethod(function_protocol.disabled)
    __hash__ = Tensor.__hash__

    @property
    def size(self):
        """The number of elements."""
        return ElementCount(self)

    def __getitem__(self, key, /):
        key, reversed_dims = _forwards(self, key)
        r = PLAIN.__getitem__(self, key)
        return as_array(r.flip(reversed_dims) if reversed_dims else r)

    def __setitem__(self, key, value, /):
        key, reversed_dims = _forwards(self, key)
        if reversed_dims and isinstance(value, PLAIN):
            value = value.expand(PLAIN.__getitem__(self, key).shape).flip(reversed_dims)
        PLAIN.__setitem__(self, key, value)

    def __ifloordiv__(self, other, /):
        if not self.dtype.is_floating_point:
            return PLAIN.__ifloordiv__(self, other)
        return self.copy_(self // other)

    def to_device(self, device, /, *, stream=None):
        """The array on a device: there is one."""
        return as_array(PLAIN.to_device(self, device, stream=stream))


def as_array(x):
    """A tensor, or each of several, as an array of the standard."""
    if isinstance(x, list | tuple):
        made = map(as_array, x)
        return type(x)(*made) if hasattr(x, "_fields") else type(x)(made)
    return x._as(Array) if type(x) is Tensor else x


def makes_arrays(fn):
    """A function whose results are arrays of the standard."""
    @functools.wraps(fn)
    def call(*args, **kwargs):
        return as_array(fn(*args, **kwargs))
    return call


def keeps_arrays(fn):
    """A function whose results are arrays of the standard where one of its arguments is one."""
    @functools.wraps(fn)
    def call(*args, **kwargs):
        r = fn(*args, **kwargs)
        return as_array(r) if _has_array(args) or kwargs and _has_array(kwargs.values()) else r
    return call


def _has_array(values):
    for x in values:
        if isinstance(x, Array) or isinstance(x, list | tuple) and _has_array(x):
            return True
    return False


# ---- indices -------------------------------------------------------------------------------------
def _forwards(x, key):
    """A key without slices that run backwards, and the dimensions to reverse in what it selects."""
    parts = key if isinstance(key, tuple) else (key,)
    if not any(
            isinstance(p, slice) and p.step is not None and operator.index(p.step) < 0
            for p in parts):
        return key, ()
    taken = sum(p is not None and p is not Ellipsis for p in parts)
    made, reversed_dims, dim, out = [], [], 0, 0
    for p in parts:
        if isinstance(p, slice):
            if p.step is not None and operator.index(p.step) < 0:
                p = _mirrored(range(x.shape[dim])[p])
                reversed_dims.append(out)
            dim, out = dim + 1, out + 1
        elif p is Ellipsis:
            dim, out = dim + x.ndim - taken, out + x.ndim - taken
        elif p is None:
            out += 1
        else:
            dim += 1
        made.append(p)
    return tuple(made), tuple(reversed_dims)


def _mirrored(places):
    """The slice that takes the same places in rising order."""
    return slice(places[-1], places[0] + 1, -places.step) if places else slice(0, 0)


# ---- operators -----------------------------------------------------------------------------------
OTHERWISE = {
    "__floordiv__": _floor_divide,
    "__rfloordiv__": lambda self, other: _floor_divide(other, self)
}


def _operator(name, meet):
    theirs = OTHERWISE.get(name) or getattr(Tensor, name)

    def fn(self, other, /):
        if not isinstance(other, Tensor):
            return as_array(theirs(self, other))
        return as_array(theirs(*meet(self, other)))
    fn = _named(name, fn, getattr(Tensor, name).__doc__)
    fn.__qualname__ = f"Array.{name}"
    return fn


for _n in "add sub mul truediv floordiv mod pow and or xor lshift rshift".split():
    for _m in (f"__{_n}__", f"__r{_n}__"):
        setattr(Array, _m, _operator(_m, _operands_of_one_type))
for _n in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"):
    setattr(Array, _n, _operator(_n, _operands_of_one_type))
for _n in ("__matmul__", "__rmatmul__"):
    setattr(Array, _n, _operator(_n, _in_common_type))
for _n in ("__abs__", "__neg__", "__pos__", "__invert__", "__array_function__", "__array_ufunc__",
           "__array_wrap__"):
    setattr(Array, _n, makes_arrays(getattr(Tensor, _n)))
for _n in ("T", "mT"):
    setattr(Array, _n, property(makes_arrays(getattr(Tensor, _n).fget)))
