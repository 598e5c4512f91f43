"""Packs weights of bytes in the order of their kernels, which is the same for all machines.

A panel has 16 columns; for each four steps the four bytes of a column are adjacent. For a product a
step is an element of a row, padded to the size of an AMX tile. For a depthwise convolution a column
is a channel and a step is a tap."""

from typing import NamedTuple

import numpy as np
from whet.passes.lower_llvm.quantised import dots


class Window(NamedTuple):
    """The window of a convolution: kernel size, stride and so on, (height, width) each, and the
    byte that represents zero."""

    taps: tuple
    stride: tuple
    padding: tuple
    dilation: tuple
    groups: int
    blank: int

    def by_channel(self, channels, features):
        """Is it a depthwise convolution?"""
        return 1 < self.groups == channels == features

    def out_size(self, size):
        """(height, width) of the result."""
        sides = zip(size, self.taps, self.stride, self.padding, self.dilation, strict=True)
        return tuple((n + 2 * p - d * (t - 1) - 1) // s + 1 for n, t, s, p, d in sides)

    def packed(self, channels, features):
        """The shape of the packed weights."""
        ky, kx = self.taps
        if self.by_channel(channels, features):
            return packed_shape(1, features, ky * kx, 4)
        return packed_shape(self.groups, features // self.groups, ky * kx * channels // self.groups)


def padded(n, most):
    """n, rounded up to a multiple."""
    return -(-n // most) * most


def packed_shape(groups, n, k, steps=dots.TILE):
    """(groups, panels, K / 4, 16, 4) for weights (groups, N, K) with K padded to `steps`."""
    return groups, padded(n, dots.WIDE) // dots.PANEL, padded(k, steps) // 4, dots.PANEL, 4


def pack(w, steps=dots.TILE):
    """Weights (groups, N, K) in the order of the kernels, with zeros where N or K ends."""
    groups, n, k = w.shape
    _, panels, fours, *_ = packed_shape(groups, n, k, steps)
    whole = np.zeros((groups, panels * dots.PANEL, fours * 4), np.int8)
    whole[:, :n, :k] = w
    apart = whole.reshape(groups, panels, dots.PANEL, fours, 4)
    return np.ascontiguousarray(apart.transpose(0, 1, 3, 2, 4))


def unpacked(w, n, k):
    """The weights (groups, N, K) that `pack` was given."""
    groups, panels, fours = w.shape[:3]
    return w.transpose(0, 1, 3, 2, 4).reshape(groups, panels * dots.PANEL, fours * 4)[:, :n, :k]


def pack_window(w, window):
    """Weights (O, C / groups, height, width) of a convolution, packed."""
    features, each = w.shape[:2]
    rows = np.moveaxis(w, 1, -1).reshape(features, -1)
    if window.by_channel(each * window.groups, features):
        return pack(rows[None], 4)
    return pack(rows.reshape(window.groups, features // window.groups, -1))


def unpacked_window(w, window, channels, features):
    """The weights that `pack_window` packed, with the channels at the end: (O, height, width, C /
    groups)."""
    each, n = channels // window.groups, features // len(w)
    rows = unpacked(w, n, window.taps[0] * window.taps[1] * each)
    return rows.reshape(features, *window.taps, each)


def by_feature(p, packed):
    """Parameters (features,) in the form that kernels with such weights read: (groups, room),
    padded with zeros."""
    groups, room = packed.shape[0], packed.shape[1] * dots.PANEL
    found = np.zeros((groups, room), p.dtype)
    found[:, : p.size // groups] = p.reshape(groups, -1)
    return found


def of_features(p, features):
    """The parameters (features,) again."""
    return p[:, : features // len(p)].reshape(-1)
