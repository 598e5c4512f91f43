"""The `fft` extension of the array API standard."""
from . import fft as _fft
from .array_api_wrappers import _named


class fft:                                          # noqa: N801
    """The standard's `fft`."""
    __module__ = "whet.array_api"
    fftfreq, rfftfreq = staticmethod(_fft.fftfreq), staticmethod(_fft.rfftfreq)

    @staticmethod
    def fftshift(x, /, *, axes=None):
        """Frequency zero in the middle."""
        return _fft.fftshift(x, axes)

    @staticmethod
    def ifftshift(x, /, *, axes=None):
        """Frequency zero at the start again."""
        return _fft.ifftshift(x, axes)


def _transform(name, many):
    call = getattr(_fft, name)
    if many:
        def fn(x, /, *, s=None, axes=None, norm="backward"):
            return call(x, s, axes, norm)
    else:
        def fn(x, /, *, n=None, axis=-1, norm="backward"):
            return call(x, n, axis, norm)
    return staticmethod(_named(name, fn))


for _n in "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft".split():
    setattr(fft, _n, _transform(_n, _n.endswith("n")))
