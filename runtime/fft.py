"""Discrete Fourier transforms (`whet.fft`)."""
import functools as _functools

from . import dtypes
from .ops import fourier as _f
from .ops.argument_guards import guarded as _guarded
from .ops.out_arguments import with_out as _puts_results
from .ops.out_types import OutType as _OutType
from .ops.registry import sizes_of as _sizes_of
from .ops.surface import FUNCTIONS as _F
from .size_arguments import sizes as _sizes
from .tensor import Tensor as Tensor

_with_out = _functools.partial(_puts_results, types=_OutType.KIND)

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2",
    "ifftn", "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2",
    "rfftfreq", "rfftn"]


def _places(name, x, s, dim):
    """(sizes, dimensions) of a transform of several dimensions."""
    s = None if s is None else tuple(s) if isinstance(s, tuple | list) else _sizes((s,), name, "s")
    if dim is None:
        if s is not None and len(s) > x.ndim:
            raise RuntimeError(
                f"{name}: Got shape with {len(s)} values but input tensor only has {x.ndim} "
                "dimensions.")
        dims = tuple(range(x.ndim - (x.ndim if s is None else len(s)), x.ndim))
    else:
        dims = tuple(_f.axis(name, x, d) for d in ((dim,) if isinstance(dim, int) else dim))
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"{name}: FFT dims must be unique")
    if s is not None and len(s) != len(dims):
        raise RuntimeError(f"{name}: When given, dim and shape arguments must have the same length")
    return tuple(None if n in (None, -1) else n for n in s or (None,) * len(dims)), dims


def _halves(name, x, s, dim):
    """(sizes, dimensions) of a transform whose last dimension is halved: there must be one."""
    s, dims = _places(name, x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    return s, dims


@_with_out
def fft(input, n=None, dim=-1, norm=None):
    """The transform along a dimension, cut or filled up with zeros to `n`.

    >>> import whet
    >>> whet.fft.fft(whet.tensor([1., 0., 0., 0.])).abs()
    tensor([1., 1., 1., 1.])
    """
    x = _f.operand("fft", input)
    return _f.c2c("fft", x, (n,), (_f.axis("fft", x, dim),), inverse=False, norm=norm)


@_with_out
def ifft(input, n=None, dim=-1, norm=None):
    """The inverse of `fft`.

    >>> import whet
    >>> whet.fft.ifft(whet.fft.fft(whet.tensor([1., 2.]))).real
    tensor([1., 2.])
    """
    x = _f.operand("ifft", input)
    return _f.c2c("ifft", x, (n,), (_f.axis("ifft", x, dim),), inverse=True, norm=norm)


@_with_out
def rfft(input, n=None, dim=-1, norm=None):
    """The transform of real numbers: its first half, of which the other is the mirror image.

    >>> import whet
    >>> whet.fft.irfft(whet.fft.rfft(whet.tensor([1., 2., 3., 4.])))
    tensor([1., 2., 3., 4.])
    """
    x = _f.operand("rfft", input, real=True)
    return _f.r2c("rfft", x, n, _f.axis("rfft", x, dim), norm)


@_with_out
def irfft(input, n=None, dim=-1, norm=None):
    """The inverse of `rfft`; `n` is the number of real numbers.

    >>> import whet
    >>> whet.fft.irfft(whet.fft.rfft(whet.tensor([1., 2., 3., 4.])))
    tensor([1., 2., 3., 4.])
    """
    x = _f.operand("irfft", input)
    return _f.c2r("irfft", x, n, _f.axis("irfft", x, dim), norm)


@_with_out
def hfft(input, n=None, dim=-1, norm=None):
    """The real transform of a signal of which `input` is the first half, the other being its
    mirror image.

    >>> import whet
    >>> whet.fft.hfft(whet.tensor([1. + 0j, 0.5 + 0j]))
    tensor([1.5000, 0.5000])
    """
    x = _f.operand("hfft", input)
    return (_f.c2r("hfft", x.conj(), n, _f.axis("hfft", x, dim),
                   _f.ADJOINT[_f.scaling("hfft", norm)]))


@_with_out
def ihfft(input, n=None, dim=-1, norm=None):
    """The inverse of `hfft`.

    >>> import whet
    >>> whet.fft.ihfft(whet.tensor([1., 2., 3., 2.])).real
    tensor([ 2.0000, -0.5000,  0.0000])
    """
    x = _f.operand("ihfft", input, real=True)
    return _f.r2c("ihfft", x, n, _f.axis("ihfft", x, dim),
                  _f.ADJOINT[_f.scaling("ihfft", norm)]).conj()


@_with_out
def fftn(input, s=None, dim=None, norm=None):
    """The transform along several dimensions (all).

    >>> import whet
    >>> whet.fft.fftn(whet.ones(2, 2)).real
    tensor([[4., 0.],
            [0., 0.]])
    """
    x = _f.operand("fftn", input)
    return _f.c2c("fftn", x, *_places("fftn", x, s, dim), inverse=False, norm=norm)


@_with_out
def ifftn(input, s=None, dim=None, norm=None):
    """The inverse of `fftn`.

    >>> import whet
    >>> whet.fft.ifftn(whet.fft.fftn(whet.eye(2))).real
    tensor([[1., 0.],
            [0., 1.]])
    """
    x = _f.operand("ifftn", input)
    return _f.c2c("ifftn", x, *_places("ifftn", x, s, dim), inverse=True, norm=norm)


@_with_out
def rfftn(input, s=None, dim=None, norm=None):
    """The transform of real numbers along several dimensions, the last one halved.

    >>> import whet
    >>> whet.fft.rfftn(whet.ones(4, 4)).shape
    whet.Size([4, 3])
    """
    x = _f.operand("rfftn", input, real=True)
    s, dims = _halves("rfftn", x, s, dim)
    y = _f.r2c("rfftn", x, s[-1], dims[-1], norm)
    return _f.c2c("rfftn", y, s[:-1], dims[:-1], inverse=False, norm=norm) if dims[:-1] else y


@_with_out
def irfftn(input, s=None, dim=None, norm=None):
    """The inverse of `rfftn`.

    >>> import whet
    >>> whet.fft.irfftn(whet.fft.rfftn(whet.eye(2)))
    tensor([[1., 0.],
            [0., 1.]])
    """
    x = _f.operand("irfftn", input)
    s, dims = _halves("irfftn", x, s, dim)
    y = _f.c2c("irfftn", x, s[:-1], dims[:-1], inverse=True, norm=norm) if dims[:-1] else x
    return _f.c2r("irfftn", y, s[-1], dims[-1], norm)


@_with_out
def hfftn(input, s=None, dim=None, norm=None):
    """`hfft` along several dimensions, the last one being the half.

    >>> import whet
    >>> whet.fft.hfftn(whet.ones(2, 3, dtype=whet.complex64)).shape
    whet.Size([2, 4])
    """
    x = _f.operand("hfftn", input)
    s, dims = _halves("hfftn", x, s, dim)
    norm = _f.ADJOINT[_f.scaling("hfftn", norm)]
    y = x.conj()
    if dims[:-1]:
        y = _f.c2c("hfftn", y, s[:-1], dims[:-1], inverse=True, norm=norm)
    return _f.c2r("hfftn", y, s[-1], dims[-1], norm)


@_with_out
def ihfftn(input, s=None, dim=None, norm=None):
    """The inverse of `hfftn`.

    >>> import whet
    >>> whet.fft.ihfftn(whet.ones(2, 4)).shape
    whet.Size([2, 3])
    """
    x = _f.operand("ihfftn", input, real=True)
    s, dims = _halves("ihfftn", x, s, dim)
    norm = _f.ADJOINT[_f.scaling("ihfftn", norm)]
    y = _f.r2c("ihfftn", x, s[-1], dims[-1], norm)
    if dims[:-1]:
        y = _f.c2c("ihfftn", y, s[:-1], dims[:-1], inverse=False, norm=norm)
    return y.conj()


@_with_out
def fft2(input, s=None, dim=(-2, -1), norm=None):
    """`fftn` along two dimensions.

    >>> import whet
    >>> whet.fft.fft2(whet.ones(2, 2)).real
    tensor([[4., 0.],
            [0., 0.]])
    """
    return fftn(input, s, dim, norm)


@_with_out
def ifft2(input, s=None, dim=(-2, -1), norm=None):
    """`ifftn` along two dimensions.

    >>> import whet
    >>> whet.fft.ifft2(whet.fft.fft2(whet.eye(2))).real
    tensor([[1., 0.],
            [0., 1.]])
    """
    return ifftn(input, s, dim, norm)


@_with_out
def rfft2(input, s=None, dim=(-2, -1), norm=None):
    """`rfftn` along two dimensions.

    >>> import whet
    >>> whet.fft.rfft2(whet.ones(4, 4)).shape
    whet.Size([4, 3])
    """
    return rfftn(input, s, dim, norm)


@_with_out
def irfft2(input, s=None, dim=(-2, -1), norm=None):
    """`irfftn` along two dimensions.

    >>> import whet
    >>> whet.fft.irfft2(whet.fft.rfft2(whet.eye(2)))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return irfftn(input, s, dim, norm)


@_with_out
def hfft2(input, s=None, dim=(-2, -1), norm=None):
    """`hfftn` along two dimensions.

    >>> import whet
    >>> whet.fft.hfft2(whet.ones(2, 2, dtype=whet.complex64)).shape
    whet.Size([2, 2])
    """
    return hfftn(input, s, dim, norm)


@_with_out
def ihfft2(input, s=None, dim=(-2, -1), norm=None):
    """`ihfftn` along two dimensions.

    >>> import whet
    >>> whet.fft.ihfft2(whet.ones(2, 4)).shape
    whet.Size([2, 3])
    """
    return ihfftn(input, s, dim, norm)


def _frequencies(n, count, d, first, dtype, device, requires_grad):
    dtype = dtypes.get_default_dtype() if dtype is None else dtypes.as_dtype(dtype)
    if dtype.category < dtypes.FLOAT:
        raise RuntimeError("fftfreq requires a floating point or complex dtype")
    k = _F["arange"](count, device=device)
    k = k if first is None else _F["where"](k < first, k, k - n)
    return (k.to(dtype) * (1.0 / (n * d))).requires_grad_(requires_grad)


@_with_out
def fftfreq(n, d=1.0, *, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequencies that `fft` of n samples, d apart, has in its places.

    >>> import whet
    >>> whet.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    return _frequencies(_f.size_of("fftfreq", n), n, d, (n + 1) // 2, dtype, device,
                        requires_grad)


@_with_out
def rfftfreq(n, d=1.0, *, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequencies that `rfft` of n samples, d apart, has in its places.

    >>> import whet
    >>> whet.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    return _frequencies(_f.size_of("rfftfreq", n), n // 2 + 1, d, None, dtype, device,
                        requires_grad)


def _shifted(name, x, dim, by):
    dims = _places(name, x, None, dim)[1]
    shape = _sizes_of(x)
    return x.roll([by(shape[d]) for d in dims], dims) if dims else x.clone()


def fftshift(input, dim=None):
    """The zero frequency moved to the middle.

    >>> import whet
    >>> whet.fft.fftshift(whet.arange(5))
    tensor([3, 4, 0, 1, 2])
    """
    return _shifted("fftshift", input, dim, lambda n: n // 2)


def ifftshift(input, dim=None):
    """The inverse of `fftshift`.

    >>> import whet
    >>> whet.fft.ifftshift(whet.fft.fftshift(whet.arange(5)))
    tensor([0, 1, 2, 3, 4])
    """
    return _shifted("ifftshift", input, dim, lambda n: -(n // 2))


globals().update(_guarded({n: globals()[n] for n in ("fftshift", "ifftshift")}, __name__))
