"""Signals: Fourier transforms, windows, filters."""
import math
from typing import Any

import numpy as np
import whet

from ....tensor import Tensor
from ..definition import operator
from ..values import Int, Number
from .casts import cast_to


def pairs(x: Tensor) -> Tensor:
    """Complex numbers as pairs of real ones."""
    return whet.view_as_real(x)


def transformed(x: Tensor, length: int | None, axis: int, inverse: bool, onesided: bool) -> Tensor:
    """The Fourier transform of numbers whose last dimension is the real and imaginary part."""
    axis = axis % x.ndim
    wide = x if x.dtype in (whet.float32, whet.float64) else x.to(whet.float32)
    is_real = wide.shape[-1] == 1
    if inverse and onesided:
        count = length or 2 * (x.shape[axis] - 1)
        return whet.fft.irfft(whole(wide), count, axis).unsqueeze(-1).to(x.dtype)
    if inverse:
        return pairs(whet.fft.ifft(whole(wide), length, axis)).to(x.dtype)
    if onesided and is_real:
        return pairs(whet.fft.rfft(wide.squeeze(-1), length, axis)).to(x.dtype)
    found = pairs(whet.fft.fft(wide.squeeze(-1) if is_real else whole(wide), length, axis))
    if onesided:
        found = found.narrow(axis, 0, found.shape[axis] // 2 + 1)
    return found.to(x.dtype)


def whole(x: Tensor) -> Tensor:
    """Complex numbers of their parts."""
    if x.shape[-1] == 1:
        return whet.complex(x.squeeze(-1), whet.zeros_like(x.squeeze(-1)))
    return whet.complex(x[..., 0], x[..., 1])


@operator("DFT", since=20)
def dft(x: Tensor, dft_length: Int | None = None, axis: Int | None = None, *, inverse: int = 0,
        onesided: int = 0) -> Tensor:
    return transformed(x, dft_length, -2 if axis is None else axis, bool(inverse), bool(onesided))


@operator("DFT", since=17)
def dft_17(x: Tensor, dft_length: Int | None = None, *, axis: int = 1, inverse: int = 0,
           onesided: int = 0) -> Tensor:
    return transformed(x, dft_length, axis, bool(inverse), bool(onesided))


@operator("STFT")
def stft(signal: Tensor, frame_step: Int, window: Tensor | None = None,
         frame_length: Int | None = None, *, onesided: int = 1) -> Tensor:
    x = signal if signal.ndim == 3 else signal.unsqueeze(-1)
    length = frame_length or (x.shape[1] if window is None else window.shape[0])
    count = 1 + (x.shape[1] - length) // frame_step
    at = whet.arange(count).reshape(-1, 1) * frame_step + whet.arange(length).reshape(1, -1)
    frames = whet.index_select(x, 1, at.reshape(-1))
    frames = frames.reshape(x.shape[0], count, length, x.shape[2])
    if window is not None:
        frames = frames * window.reshape(1, 1, -1, 1)
    return transformed(frames, length, 2, False, bool(onesided))


def cosines(size: int, periodic: int, factors: list[float], code: int) -> Any:
    """A window that is a sum of cosines."""
    whole_turn = size if periodic else max(size - 1, 1)
    angle = np.arange(size) * (2 * math.pi / whole_turn)
    values = sum(f * np.cos(i * angle) for i, f in enumerate(factors))
    return cast_to(whet.tensor(np.asarray(values, np.float64)), code)


@operator("HannWindow")
def hann_window(size: Int, *, output_datatype: int = 1, periodic: int = 1) -> Any:
    return cosines(size, periodic, [0.5, -0.5], output_datatype)


@operator("HammingWindow")
def hamming_window(size: Int, *, output_datatype: int = 1, periodic: int = 1) -> Any:
    return cosines(size, periodic, [25 / 46, -21 / 46], output_datatype)


@operator("BlackmanWindow")
def blackman_window(size: Int, *, output_datatype: int = 1, periodic: int = 1) -> Any:
    return cosines(size, periodic, [0.42, -0.5, 0.08], output_datatype)


@operator("MelWeightMatrix")
def mel_weight_matrix(bins: Int, dft_length: Int, sample_rate: Int, lowest: Number,
                      highest: Number, *, output_datatype: int = 1) -> Any:
    low, high = (2595 * math.log10(1 + f / 700) for f in (lowest, highest))
    step = (high - low) / (bins + 2)
    edges = 700 * (10 ** ((np.arange(bins + 2) * step + low) / 2595) - 1)
    edges = ((dft_length + 1) * edges // sample_rate).astype(np.int64)
    found = np.zeros((dft_length // 2 + 1, bins))
    for i, (left, centre, right) in enumerate(zip(edges, edges[1:], edges[2:])):
        if centre == left:
            found[centre, i] = 1
        else:
            rise = np.arange(left, centre + 1)
            found[rise, i] = (rise - left) / (centre - left)
        if right > centre:
            fall = np.arange(centre, right)
            found[fall, i] = (right - fall) / (right - centre)
    return cast_to(whet.tensor(found), output_datatype)
