"""Other elements over the same memory: reinterpreted, and the parts of complex numbers."""

import builtins
import math

import numpy as np

from .. import dtypes, size_arguments, strided_memory
from ..autograd.inplace import CopySlicesOp
from ..cpu.complex_matrices import pairs
from ..dtypes import COMPLEX, FLOAT
from ..ir import scalar as s
from ..size_arguments import sizes
from ..strided_memory import index_of_part
from .batching import native
from .creation import finish
from .out_types import OutType
from .pointwise_family import PointwiseOp
from .registry import apply, check_one_type, check_tensors, is_tensor
from .sample_inputs import Sample, reals
from .strided_views import as_strided_op, element_strides, extent, strided_sum_op, touched_span
from .surface import FUNCTIONS, METHODS, function, method
from .view import ViewOp, view_op
from .view_parts import slice_op


# ---- other element types over the same memory ----------------------------------------------------
def _reinterpret(a, dtype):
    if a.itemsize == dtype.itemsize or not a.ndim:
        return a.view(dtype.np)
    if a.flags.c_contiguous:
        return a.view(dtype.np)
    size = a.shape[-1] * a.itemsize // dtype.itemsize
    return np.ndarray((*a.shape[:-1], size), dtype.np, _bytes_from(a), 0,
                      (*a.strides[:-1], dtype.itemsize))


def _bytes_from(a):
    """The memory from the first element on, as bytes."""
    item = a.itemsize
    low, high = extent(a.shape, element_strides(a))
    if low < 0:
        raise RuntimeError(
            "view(dtype): negative strides are not supported for an element type of another size")
    return strided_memory.strided(a, (high + 1,), (1,)).view(np.uint8) if item else a


view_dtype_op = ViewOp("view_dtype",
                       _reinterpret,
                       samples=lambda make: [Sample(make(2, 4), dtype=dtypes.int32)],
                       batch=native)


def _check_strides(t, dtype):
    """Raise where elements of another size don't lie one after the other, as parts of those of
    `dtype` or as a whole number of them."""
    def check(holds, what, must, got):
        if not holds:
            raise RuntimeError(f"self.{what} must be {must} to view {t.dtype.letter} as "
                               f"{dtype.letter} (different element sizes), but got {got}")
    strides = t.stride()
    ratio = dtype.itemsize // t.dtype.itemsize
    if ratio and t._array.size:
        offset = t.storage_offset()
        check(offset % ratio == 0, "storage_offset()", f"divisible by {ratio}", offset)
    if t._array.size and t._array.shape[-1] != 1:
        check(strides[-1] == 1, "stride(-1)", "1", strides[-1])
    if ratio:
        for d, step in enumerate(strides[:-1]):
            check(step % ratio == 0 or t._array.shape[d] == 1, f"stride({d})",
                  f"divisible by {ratio}", step)


def view_as_type(self, dtype):
    a, item = self._array, self._array.itemsize
    if dtype.itemsize != item:
        if not a.ndim:
            raise RuntimeError(
                f"self.dim() cannot be 0 to view {self.dtype.letter} as {dtype.letter} (different "
                "element sizes)")
        if a.shape[-1] * item % dtype.itemsize:
            raise RuntimeError(f"self.size(-1) must be divisible by {dtype.itemsize // item} to "
                               f"view {self.dtype.letter} as {dtype.letter} (different element "
                               f"sizes), but got {a.shape[-1]}")
        _check_strides(self, dtype)
    return (self.view_as(self) if dtype is self.dtype
            else apply(view_dtype_op, (self,), {"dtype": dtype}))


_complex_samples = lambda make: [
    Sample(make(2, 3).to(dtypes.complex128)), Sample(make().to(dtypes.complex128))]    # noqa: E731


def _as_complex(a):
    dtype = np.result_type(a.dtype, np.complex64)
    return (a.view(dtype).reshape(a.shape[:-1]) if a.flags.c_contiguous
            else np.ndarray(a.shape[:-1], dtype, _bytes_from(a), 0, a.strides[:-1]))


def _put_real(b, base, part):
    return b.pair(part, base.imag)


def _put_imag(b, base, part):
    return b.pair(base.real, part)


def _real_vjp(g, _y, _x):
    return [apply(complex_op, (g, FUNCTIONS["zeros_like"](g)), {})]


def _imag_vjp(g, _y, _x):
    return [apply(complex_op, (FUNCTIONS["zeros_like"](g), g), {})]


real_op = ViewOp("real", lambda a: a.real, _real_vjp, samples=_complex_samples, batch=native)
imag_op = ViewOp("imag", lambda a: a.imag, _imag_vjp, samples=_complex_samples, batch=native)
view_as_real_op = ViewOp("view_as_real", pairs, lambda g, _y, _x: [_complex_from(g)],
                         samples=_complex_samples, batch=native)
view_as_complex_op = ViewOp(
    "view_as_complex", _as_complex, lambda g, _y, _x: [view_as_real(g)],
    samples=lambda make: [Sample(make(3, 2)), Sample(make(2))], batch=native)


for _op in (real_op, imag_op, view_as_real_op, view_as_complex_op):
    _op.any_sizes = True
real_op.onnx_complex, real_op.onnx_write = lambda b, z: z.real, _put_real
imag_op.onnx_complex, imag_op.onnx_write = lambda b, z: z.imag, _put_imag
view_as_real_op.onnx_complex = lambda b, z: b.joined(z)
view_as_real_op.onnx_write = lambda b, base, part: b.split(part)
view_as_complex_op.onnx_complex = lambda b, x: b.split(x)
view_as_complex_op.onnx_write = lambda b, base, part: b.joined(part)


def _complex_from(g):
    return view_as_complex(g if g._array.flags.c_contiguous else g.contiguous())


@function(method=False)
def view_as_real(input):
    """A complex tensor as a real one with a last dimension (real, imaginary); the same memory.

    >>> import whet
    >>> whet.view_as_real(whet.tensor([1 + 2j, 3 + 4j]))
    tensor([[1., 2.],
            [3., 4.]])
    """
    if input.dtype.category != COMPLEX:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return apply(view_as_real_op, (input,), {})


@function(method=False)
def view_as_complex(input):
    """A real tensor whose last dimension is (real, imaginary) as a complex one; the same memory.

    >>> import whet
    >>> whet.view_as_complex(whet.tensor([[1., 2.], [3., 4.]]))
    tensor([1.+2.j, 3.+4.j])
    """
    a = input._array
    if input.dtype.category != FLOAT or a.itemsize < 4:
        raise RuntimeError(
            "view_as_complex is only supported for floating point tensors, but got a tensor of "
            f"scalar type: {input.dtype.letter}")
    if not a.ndim:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if a.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if a.size and a.strides[-1] != a.itemsize:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if a.size and any(s % (2 * a.itemsize) for s, n in zip(a.strides[:-1], a.shape) if n > 1):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    return apply(view_as_complex_op, (input,), {})


@function(method=False)
def real(input):
    """The real part of a complex tensor, as a view; a real tensor itself.

    >>> import whet
    >>> whet.real(whet.tensor([1 + 2j, 3 - 1j]))
    tensor([1., 3.])
    """
    return apply(real_op, (input,), {}) if input.dtype.category == COMPLEX else input


@function(method=False)
def imag(input):
    """The imaginary part of a complex tensor, as a view.

    >>> import whet
    >>> whet.imag(whet.tensor([1 + 2j, 3 - 1j]))
    tensor([ 2., -1.])
    """
    if input.dtype.category != COMPLEX:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return apply(imag_op, (input,), {})


def _set_part(get):
    def setter(self, value):
        get(self).copy_(value)
    return setter


METHODS["real"], METHODS["imag"] = property(real, _set_part(real)), property(imag, _set_part(imag))


# ---- complex numbers -----------------------------------------------------------------------------
complex_op = PointwiseOp(
    "complex", lambda real, imag: s.from_parts(real, imag), kinds="f", samples=reals(-3, 3),
    complex_vjp=lambda g, y, real, imag: [s.real_part(g), s.imag_part(g)])
complex_op.linear = 0, 1


@function(method=False)
def complex(real, imag, *, out=None):
    """The complex numbers real + i imag.

    >>> import whet
    >>> whet.complex(whet.tensor([1.0]), whet.tensor([2.0]))
    tensor([1.+2.j])
    """
    for x in (real, imag):
        if not is_tensor(x):
            raise TypeError(f"complex(): expected two Tensors, got {x.__class__.__name__}")
    if real.dtype is not imag.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {real.dtype.letter} but got scalar type "
            f"{imag.dtype.letter} for second argument")
    if real.dtype.category != FLOAT or real.dtype is dtypes.bfloat16:
        raise RuntimeError("Expected both inputs to be Half, Float or Double tensors but got "
                           f"{real.dtype.letter} and {imag.dtype.letter}")
    made = apply(complex_op, (real, imag), {})
    if out is not None:
        OutType.RESULT.fit("view_as_complex", made, out)
    return finish(made, "complex", out, requires_grad=False)


@function(method=False)
def polar(abs, angle, *, out=None):
    """The complex numbers of the given absolute values and angles.

    >>> import whet
    >>> whet.polar(whet.tensor([1., 2.]), whet.tensor([0., 0.]))
    tensor([1.+0.j, 2.+0.j])
    """
    check_tensors("polar", abs=abs, angle=angle)
    if abs.dtype.category != FLOAT or angle.dtype.category != FLOAT:
        raise RuntimeError("Expected both inputs to be Half, Float or Double tensors but got "
                           f"{abs.dtype.letter} and {angle.dtype.letter}")
    check_one_type("polar", abs=abs, angle=angle)
    return finish(complex(abs * angle.cos(), abs * angle.sin()), "polar", out, requires_grad=False)


@method()
def view(self, *shape, size=None, dtype=None):
    """The same memory in another shape, or (given a dtype) as elements of another type.

    >>> import whet
    >>> whet.arange(6).view(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    if size is not None or dtype is not None:
        shape = (dtype if size is None else size,)
    if len(shape) == 1 and (type(shape[0]) is dtypes.dtype or isinstance(shape[0], builtins.type)):
        return view_as_type(self, dtypes.as_dtype(shape[0]))
    if not shape:
        raise TypeError(
            "view() received an invalid combination of arguments - got (), but expected a shape "
            "or a dtype")
    return apply(view_op, (self,),
                 {"size": size_arguments.infer_size(sizes(shape, "view"), self._array.size)})


# ---- a view's region in the gradient of its base, for in-place writes to views -------------------
def region_of_copy(g, where):
    """(a copy of g, laid out as the base of a view was; the view's region of it). For gradients
    of in-place writes to views."""
    base, stride = where["base_shape"], where["base_stride"]
    size, offset = where["size"], where["offset"]
    index = None if where["via"] else index_of_part(base, stride, size, where["stride"], offset)
    if index is not None:                    # a plan for any sizes can be made of that
        whole = g.new_empty(base).copy_(g)
        return whole, apply(slice_op, (whole,), {"index": index})
    before, n = touched_span(base, stride, size, where["stride"], offset)
    memory = g.new_empty(max(n, 0), dtype=g.dtype.to_real() if where["via"] == "real" else g.dtype)
    inner = apply(as_strided_op, (memory,),
                  {"size": base, "stride": stride, "offset": before, "base_stride": (1,)})
    region = apply(
        as_strided_op, (memory,),
        {"size": size, "stride": where["stride"], "offset": before + offset, "base_stride": (1,)})
    whole = view_as_complex(inner) if where["via"] == "real" else inner
    whole.copy_(g)
    return whole, view_as_complex(region) if where["via"] == "complex" else region


def with_region(g, where, part):
    """A tensor with another part (None: zeros) in a view's region, without writing in place:
    either may be of a batch that the other has not."""
    whole, region = region_of_copy(g, where)
    region.zero_()
    if part is None:
        return whole
    part = view_as_real(part) if where["via"] == "complex" else part
    alone = apply(
        strided_sum_op, (part,), {
            "shape": where["base_shape"], "size": where["size"], "stride": where["stride"],
            "offset": where["offset"], "base_stride": where["base_stride"]})
    return whole + (view_as_complex(alone) if where["via"] == "real" else alone)


CopySlicesOp.region_of_copy = staticmethod(region_of_copy)
CopySlicesOp.with_region = staticmethod(with_region)


@function()
def isreal(input):
    """Where the imaginary part is zero.

    >>> import whet
    >>> whet.isreal(whet.tensor([1 + 0j, 1j]))
    tensor([ True, False])
    """
    check_tensors("isreal", input=input)
    if input.dtype.category != COMPLEX:
        return FUNCTIONS["ones_like"](input, dtype=dtypes.bool_)
    return input.imag == 0


@function(out=True, out_type=OutType.CASTS)
def angle(input):
    """The angle of a complex number in the plane; of a real number 0 or pi.

    >>> import whet
    >>> whet.angle(whet.tensor([1j, -1 + 0j]))
    tensor([1.5708, 3.1416])
    """
    check_tensors("angle", input=input)
    if input.dtype.category == COMPLEX:
        return FUNCTIONS["atan2"](input.imag, input.real)
    x = input if input.dtype.category == FLOAT else input.to(dtypes.get_default_dtype())
    half_turns = FUNCTIONS["where"](x < 0, math.pi, 0.0 * x.new_ones(()))
    return FUNCTIONS["where"](FUNCTIONS["isnan"](x), x, half_turns).to(x.dtype)
