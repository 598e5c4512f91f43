"""What Fourier transforms are in ONNX: the `onnx_complex` of ops in fourier.py. `b` writes nodes
(`onnx/write/builder.py`).

The operator `DFT` has a last dimension of parts, and divides by the length where it is inverse.
"""


def transformed(b, x, dims, *, inverse, norm):
    """The op `fft_c2c`."""
    y = b.joined(x)
    for dim in dims:
        y = _scaled(b, _dft(b, y, dim, inverse=int(inverse)), x.shape[dim], inverse, norm)
    return b.split(y)


def half(b, x, *, dim, norm):
    """The op `fft_r2c`: the half of the transform of real numbers that is no mirror image."""
    y = _dft(b, b.Unsqueeze(x, b.ints((-1,))), dim, onesided=1)
    return b.split(_scaled(b, y, x.shape[dim], inverse=False, norm=norm))


def from_half(b, x, *, dim, n, norm):
    """The op `fft_c2r`: the other half is the mirror image of this one, conjugate."""
    mirrored = n - x.shape[dim]
    real, imag = x.real, x.imag
    if mirrored != 0:
        image = [b.slice(part, dim, mirrored, 0, -1) for part in (real, imag)]
        real = b.Concat(real, image[0], axis=dim)
        imag = b.Concat(imag, b.Neg(image[1]), axis=dim)
    y = _dft(b, b.joined(b.pair(real, imag)), dim, inverse=1)
    y = _scaled(b, y, n, inverse=True, norm=norm)
    return b.split(y).real


def _dft(b, x, dim, **attributes):
    """The operator along a dimension, which is an operand from opset 20 on."""
    if b.opset >= 20:
        return b.DFT(x, None, b.number(dim, "i64"), **attributes)
    return b.DFT(x, axis=dim, **attributes)


def _scaled(b, y, n, inverse, norm):
    """A transform with the scale that is asked for. `n`: the length."""
    power = {"backward": 0, "ortho": 0.5, "forward": 1}[norm] * (1 if inverse else -1)
    if not power:
        return y
    if isinstance(n, int):
        return b.Mul(y, float(n) ** power)
    return b.Mul(y, b.Pow(b.number(n, y.dtype), b.number(power, y.dtype)))
