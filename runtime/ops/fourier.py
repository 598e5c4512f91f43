"""Discrete Fourier transforms: ops with stated gradients. `whet.fft` publishes
them; `stft` and `istft` are made of them.

A transform is linear, so its gradient is its adjoint: the transform in the other direction,
unscaled where this one is scaled.
"""
from .. import dtypes
from ..cpu import fourier
from ..dtypes import COMPLEX, FLOAT, FROM_NUMPY
from ..ir.outline import Outline
from .argument_errors import checked_input
from .argument_guards import check_flag
from .autocast_to_float32 import precise, widened
from .batching import shifted
from .onnx import fourier as in_onnx
from .pad import pad
from .registry import Op, apply, is_tensor
from .sample_inputs import Sample
from .surface import FUNCTIONS as F
from .surface import function

# the scaling of the adjoint
ADJOINT = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _c2c_vjp(g, _y, _x, *, dims, inverse, norm):
    return [apply(c2c_op, (g,), {"dims": dims, "inverse": not inverse, "norm": ADJOINT[norm]})]


def _complex_samples(make):
    for shape, dims in (((5,), (0,)), ((2, 4), (1,)), ((3, 4), (0, 1))):
        for inverse in (False, True):
            yield Sample(F["view_as_complex"](make(*shape, 2)), dims=dims, inverse=inverse,
                         norm="backward")
    yield Sample(F["view_as_complex"](make(2, 3, 2)), dims=(0,), inverse=False, norm="ortho")


c2c_op = Op("fft_c2c", fourier.complex_to_complex, _c2c_vjp, samples=_complex_samples, linear=(0,),
            batch=shifted("dims"))


def _r2c_vjp(g, _y, _x, *, dim, norm):
    # half of each frequency that the inverse transform counts twice, with its mirror image
    half = g / _times_counted(g, dim, _x.shape[dim])
    return [apply(c2r_op, (half,), {"dim": dim, "n": _x.shape[dim], "norm": ADJOINT[norm]})]


def _times_counted(half, dim, n):
    """How often each of the first frequencies of n numbers occurs: once, or, with its mirror image,
    twice. A vector along a dimension of `half`."""
    k = F["arange"](half.shape[dim], device=half.device)
    times = F["where"]((k == 0) | (2 * k == n), 1.0, 2.0).to(half.dtype.to_real())
    return times.reshape([-1 if i == dim else 1 for i in range(half.ndim)])


r2c_op = Op(
    "fft_r2c", fourier.real_to_complex, _r2c_vjp,
    samples=lambda make: [
        Sample(make(5), dim=0, norm="backward"),
        Sample(make(2, 4), dim=1, norm="ortho"),
        Sample(make(4, 3), dim=0, norm="forward")], linear=(0,), batch=shifted("dim"))


def _c2r_vjp(g, _y, _x, *, dim, n, norm):
    half = apply(r2c_op, (g,), {"dim": dim, "norm": ADJOINT[norm]})
    return [half * _times_counted(half, dim, n)]


c2r_op = Op(
    "fft_c2r", fourier.complex_to_real, _c2r_vjp,
    samples=lambda make: [
        Sample(F["view_as_complex"](make(*shape, 2)), dim=dim, n=n, norm=norm)
        for shape, dim, n, norm in (((3,), 0, 5, "backward"), ((2, 3), 1, 4, "ortho"),
                                    ((4, 2), 0, 6, "forward"))], linear=(0,), batch=shifted("dim"))


def _outlined(dtype_of):
    """The outline of what a transform makes: `n` samples along a dimension, or half of those that
    there are."""
    def makes(x, dims=None, dim=None, n=None, **_):
        shape = list(x.shape)
        if dim is not None:
            shape[dim] = shape[dim] // 2 + 1 if n is None else n
        return (Outline(shape, dtype_of(FROM_NUMPY[x.dtype]).np),)
    return makes


for _o in (c2c_op, r2c_op, c2r_op):
    _o.launches = _o.any_sizes = True
c2c_op.makes, r2c_op.makes = (_outlined(lambda t: t.to_complex()),) * 2
c2r_op.makes, c2r_op.size_attrs = _outlined(lambda t: t.to_real()), frozenset(("n",))
c2c_op.onnx_complex, r2c_op.onnx_complex = in_onnx.transformed, in_onnx.half
c2r_op.onnx_complex = in_onnx.from_half


# ---- what users call -----------------------------------------------------------------------------
def operand(name, x, real=False):
    """The tensor to transform: integers become floats."""
    checked_input(name, x)
    x = widened(x)
    if x.dtype.category == FLOAT and x.dtype.itemsize == 2:
        raise RuntimeError(f"{name}: Unsupported dtype {x.dtype.letter}")
    if real and x.dtype.category == COMPLEX:
        raise RuntimeError(f"{name} expects a real input tensor, but got {x.dtype.letter}")
    return x if x.dtype.category >= FLOAT else x.to(dtypes.get_default_dtype())


def scaling(name, norm):
    """A norm by its name; None is "backward"."""
    if norm not in (None, *ADJOINT):
        raise RuntimeError(f'{name}: Invalid normalization mode: "{norm}"')
    return norm or "backward"


def axis(name, x, dim):
    """A dimension as an index >= 0."""
    if not isinstance(dim, int) or isinstance(dim, bool):
        raise TypeError(f"{name}(): argument 'dim' must be int, not {dim.__class__.__name__}")
    if x.ndim == 0:
        raise IndexError(f"{name}: Dimension specified as {dim} but tensor has no dimensions")
    if not -x.ndim <= dim < x.ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-x.ndim}, {x.ndim - 1}], but "
            f"got {dim})")
    return dim % x.ndim


def size_of(name, n):
    """A number of samples: at least one."""
    if not isinstance(n, int) or isinstance(n, bool):
        raise TypeError(f"{name}(): a signal size must be int, not {n.__class__.__name__}")
    if n < 1:
        raise RuntimeError(f"{name}: Invalid number of data points ({n}) specified")
    if n >= 1 << 48:
        raise RuntimeError(f"{name}: a signal of {n} numbers does not fit in memory")
    return n


def resized(x, dim, n):
    """x cut, or filled up with zeros, to n along a dimension."""
    have = x.shape[dim]
    if have > n:
        return x.narrow(dim, 0, n)
    if have < n:
        more = [n - have if i == dim else s for i, s in enumerate(x.shape)]
        return F["cat"]([x, x.new_zeros(more)], dim)
    return x


def c2c(name, x, sizes, dims, *, inverse, norm):
    """The complex transform along dimensions, of `sizes` (None: as they are)."""
    norm = scaling(name, norm)
    x = x if x.dtype.category == COMPLEX else x.to(x.dtype.to_complex())
    for d, n in zip(dims, sizes):
        x = resized(x, d, size_of(name, x.shape[d] if n is None else n))
    return apply(c2c_op, (x,), {"dims": tuple(dims), "inverse": inverse, "norm": norm})


def r2c(name, x, n, dim, norm):
    """The half of the transform of real numbers that is not the mirror image of the other half."""
    n = size_of(name, x.shape[dim] if n is None else n)
    return apply(r2c_op, (resized(x, dim, n),), {"dim": dim, "norm": scaling(name, norm)})


def c2r(name, x, n, dim, norm):
    """The real numbers whose transform has this half."""
    n = size_of(name, 2 * (x.shape[dim] - 1) if n is None else n)
    x = x if x.dtype.category == COMPLEX else x.to(x.dtype.to_complex())
    return apply(c2r_op, (resized(x, dim, n // 2 + 1),),
                 {"dim": dim, "n": n, "norm": scaling(name, norm)})


# ---- short-time transforms -----------------------------------------------------------------------
def _framing(name, x, n_fft, hop_length, win_length, window):
    """The distance of frames, and the window of each."""
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    _positive(name, n_fft=n_fft, hop_length=hop_length, win_length=win_length)
    return hop_length, _window(name, window, win_length, n_fft, x)


def _window(name, window, win_length, n_fft, x):
    if not 0 < win_length <= n_fft:
        raise RuntimeError(
            f"{name}: expected 0 < win_length <= n_fft, but got win_length={win_length}")
    if window is None:
        window = F["ones"](win_length, dtype=x.dtype.to_real(), device=x.device)
    if not is_tensor(window):
        raise TypeError(
            f"{name}(): argument 'window' must be Tensor, not {window.__class__.__name__}")
    if tuple(window.shape) != (win_length,):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={win_length}, but "
            f"got window with size {list(window.shape)}")
    left = (n_fft - win_length) // 2
    return pad(window, (left, n_fft - win_length - left)) if win_length < n_fft else window


def _positive(name, **numbers):
    for what, n in numbers.items():
        if not isinstance(n, int) or n <= 0:
            raise RuntimeError(f"{name}: expected {what} > 0, but got {n}")


@function()
@precise
def stft(input, n_fft, hop_length=None, win_length=None, window=None, center=True,
         pad_mode="reflect", normalized=False, onesided=None, return_complex=None,
         align_to_window=None):
    """The short-time Fourier transform: of windows of `n_fft` samples, `hop_length` apart; (...,
    frequencies, frames).

    >>> import whet
    >>> whet.stft(whet.ones(16), 4, window=whet.hann_window(4), return_complex=True).shape
    whet.Size([3, 17])
    """
    for what, v in (("onesided", onesided), ("return_complex", return_complex)):
        if v is not None:
            check_flag("stft", what, v)
    x = operand("stft", input)
    if input.dtype.category < FLOAT:
        raise RuntimeError("stft: expected a tensor of floating point or complex values, but got "
                           f"{input.dtype}")
    hop_length, window = _framing("stft", x, n_fft, hop_length, win_length, window)
    if x.ndim not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, but got {list(x.shape)}")
    if return_complex is None and x.dtype.category != COMPLEX and window.dtype.category != COMPLEX:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will "
            "further require that return_complex=True in a future PyTorch release.")
    batch = x if x.ndim == 2 else x.unsqueeze(0)
    if center:
        batch = pad(batch.unsqueeze(1), (n_fft // 2, n_fft // 2), mode=pad_mode).squeeze(1)
    if n_fft > batch.shape[-1]:
        raise RuntimeError(f"stft: expected 0 < n_fft < {batch.shape[-1]}, but got n_fft={n_fft}")
    frames = batch.unfold(-1, n_fft, hop_length) * window
    onesided = frames.dtype.category != COMPLEX if onesided is None else onesided
    if onesided and frames.dtype.category == COMPLEX:
        raise RuntimeError("stft: Cannot have onesided output if window or input is complex")
    norm = "ortho" if normalized else "backward"
    y = (r2c("stft", frames, None, 2, norm)
         if onesided else c2c("stft", frames, (None,), (2,), inverse=False, norm=norm))
    y = y.mT if x.ndim == 2 else y.mT.squeeze(0)
    return F["view_as_real"](y.contiguous()) if return_complex is False else y


@function()
def istft(input, n_fft, hop_length=None, win_length=None, window=None, center=True,
          normalized=False, onesided=None, length=None, return_complex=False):
    """The signal of which `input` is the short-time Fourier transform, where windows overlap
    their weighted mean.

    >>> import whet
    >>> whet.istft(whet.ones(9, 5, dtype=whet.complex64), 16, window=whet.ones(16)).shape
    whet.Size([16])
    """
    x = operand("istft", input)
    if x.dtype.category != COMPLEX:
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True.")
    hop_length, window = _framing("istft", x, n_fft, hop_length, win_length, window)
    if x.ndim not in (2, 3):
        raise RuntimeError(
            f"istft: expected a tensor with 2 or 3 dimensions, but got {list(x.shape)}")
    batch = (x if x.ndim == 3 else x.unsqueeze(0)).mT
    onesided = batch.shape[-1] != n_fft if onesided is None else onesided
    if batch.shape[-1] != (n_fft // 2 + 1 if onesided else n_fft):
        raise RuntimeError(
            f"istft: expected the frequency dimension to match n_fft={n_fft} with "
            f"onesided={onesided}, but got {batch.shape[-1]}")
    norm = "ortho" if normalized else "backward"
    if return_complex:
        if onesided:
            raise RuntimeError("istft: cannot have onesided output if window or input is complex")
        frames = c2c("istft", batch, (None,), (2,), inverse=True, norm=norm)
    else:
        # a real signal is told by half of its frequencies
        frames = c2r("istft", batch[..., :n_fft // 2 + 1], n_fft, 2, norm)
    count = frames.shape[1]
    total = n_fft + hop_length * (count - 1)
    first, tap = (F["arange"](n, device=frames.device) for n in (count, n_fft))
    at = (first.unsqueeze(1) * hop_length + tap).reshape(-1)
    weight = (window * window).expand(count, n_fft).reshape(-1)
    y = (frames * window).reshape(batch.shape[0], -1)
    y = y.new_zeros((batch.shape[0], total)).index_add(1, at, y)
    weight = weight.new_zeros(total).index_add(0, at, weight)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - (n_fft // 2 if center else 0)
    y, weight = y[:, start:min(end, total)], weight[start:min(end, total)]
    if bool((weight.abs() < 1e-11).any()):
        raise RuntimeError("istft: window overlap add min: 1: the windows leave a gap")
    y = y / weight
    if end > total:
        y = F["cat"]([y, y.new_zeros((y.shape[0], end - total))], 1)
    return y if x.ndim == 3 else y.squeeze(0)
