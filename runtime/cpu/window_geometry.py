"""Where the windows of convolutions and pools lie: how many there are, which inputs each has, and
what an average is divided by. Shared by plans, kernels' callers and the reference in NumPy."""
import itertools

import numpy as np

from .window_columns import between, filled, indices, larger, smaller


def out_size(size, kernel, stride, padding, dilation=1, ceil_mode=False):
    """Windows along one axis; with `ceil_mode` the last may hang over, if it starts inside the
    input or its left padding."""
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    n = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (n - 1) * stride >= size + padding:
        n -= 1
    return max(0, n)


def out_sizes(spatial, kernel, stride, padding, dilation, ceil_mode=False):
    """`out_size` along every axis."""
    return tuple(out_size(*a, ceil_mode) for a in zip(spatial, kernel, stride, padding, dilation))


def _tap(k, n_in, n_out, stride, padding, dilation):
    """The outputs whose tap k falls inside the input, and where: (output slice, input slice)."""
    at = k * dilation - padding
    lo = max(0, -(at // stride))
    hi = min(n_out, (n_in - 1 - at) // stride + 1)
    if hi <= lo:
        return None
    return slice(lo, hi), slice(at + lo * stride, at + (hi - 1) * stride + 1, stride)


def taps(spatial, out, kernel, stride, padding, dilation):
    """(tap, output slices, input slices) of every tap that touches the input, in the order of
    the kernel's elements."""
    for t in itertools.product(*map(range, kernel)):
        cut = [_tap(*a) for a in zip(t, spatial, out, stride, padding, dilation)]
        if all(cut):
            yield t, tuple(c[0] for c in cut), tuple(c[1] for c in cut)


def wide(dtype):
    """The type in which sums of this type are formed: f32 for the 16-bit floats, else the type
    itself."""
    dtype = np.dtype(dtype)
    return np.dtype(np.float32) if dtype.itemsize <= 2 and dtype.kind in "fV" else dtype


def _windows(n_in, n_out, kernel, stride, padding):
    """Along one axis: first and one past last input of each window, and its size counting the
    padding."""
    lo = indices(n_out, n_in) * stride - padding
    hi = smaller(lo + kernel, n_in + padding)
    return between(lo, 0, n_in), between(hi, 0, n_in), hi - lo


def pool_divisors(spatial, out, kernel, stride, padding, count_include_pad, divisor_override):
    """What each window of an average pool is divided by, one array per axis (their product is
    the divisor)."""
    if divisor_override is not None:
        return [filled(n, divisor_override if a == 0 else 1) for a, n in enumerate(out)]
    per_axis = [_windows(*a) for a in zip(spatial, out, kernel, stride, padding)]
    return [full if count_include_pad else larger(hi - lo, 1) for lo, hi, full in per_axis]


def adaptive_bounds(n_in, n_out):
    """Window i of an adaptive pool covers floor(i * n_in / n_out) .. ceil((i + 1) * n_in /
    n_out)."""
    i = indices(n_out, n_in)
    return i * n_in // n_out, -(-(i + 1) * n_in // n_out) if n_out else i


def unfold_moves(cols, x, kernel, dilation, padding, stride):
    """What goes where in `unfold`: (part of the columns, what is copied to it), in order."""
    out = out_sizes(x.shape[2:], kernel, stride, padding, dilation)
    parts = cols.reshape(*x.shape[:2], *kernel, *out)
    return [(cols, 0), *(
        (parts[(slice(None), slice(None), *t, *o)], x[(..., *i)])
        for t, o, i in taps(x.shape[2:], out, kernel, stride, padding, dilation))]
