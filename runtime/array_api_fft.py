"""The `fft` extension of the array API standard."""
from . import fft as _fft
from .array_api_object import keeps_arrays, makes_arrays
from .array_api_wrappers import _named


class fft:                                          # noqa: N801
    """The standard's `fft`."""
    __module__ = "whet.array_api"


def _frequencies(name):
    call = getattr(_fft, name)

    def fn(n, /, *, d=1.0, dtype=None, device=None):
        return call(n, d, dtype=dtype, device=device)
    return staticmethod(makes_arrays(_named(name, fn)))


def _shift(name):
    call = getattr(_fft, name)

    def fn(x, /, *, axes=None):
        return call(x, axes)
    return staticmethod(keeps_arrays(_named(name, fn)))


def _transform(name, many):
    call = getattr(_fft, name)
    if many:
        def fn(x, /, *, s=None, axes=None, norm="backward"):
            return call(x, s, axes, norm)
    else:
        def fn(x, /, *, n=None, axis=-1, norm="backward"):
            return call(x, n, axis, norm)
    return staticmethod(keeps_arrays(_named(name, fn)))


for _n in "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft".split():
    setattr(fft, _n, _transform(_n, _n.endswith("n")))
for _n in ("fftfreq", "rfftfreq"):
    setattr(fft, _n, _frequencies(_n))
for _n in ("fftshift", "ifftshift"):
    setattr(fft, _n, _shift(_n))
