"""Fractional max pools: windows of one size at pseudo-random distances, so that any output size
can be had."""
import math

from ..dtypes import int64
from ..size_arguments import tuple_of
from .argument_guards import guard
from .creation import zeros
from .docstrings import with_example
from .pools import check_channels, with_batch
from .public_functions import compile_function
from .ranges import arange
from .surface import FUNCTIONS

AXES = {2: ("height", "width"), 3: ("time", "height", "width")}


def _starts(sample, size, count, kernel):
    """Where the windows of each plane begin along an axis: the steps are one fraction, rounded down
    from a random start, and the last window ends where the plane does."""
    last = zeros(*sample.shape, min(count, 1), dtype=int64, device=sample.device) + (size - kernel)
    if count < 2:
        return last
    step, sample = (size - kernel) / (count - 1), sample.unsqueeze(-1)
    number = arange(count - 1, device=sample.device)
    begin = ((number + sample) * step).long() - (sample * step).long()
    return FUNCTIONS["cat"]([begin, last], -1)


def _places(samples, spatial, out, kernel):
    """The places in their planes that each window holds: (N, C, *out, taps)."""
    n, apart = len(out), 1
    total = zeros((), dtype=int64, device=samples.device)
    for d in reversed(range(n)):
        # of two numbers the first is for the width
        sample = samples[..., d if n == 3 else 1 - d]
        tap = arange(kernel[d], device=samples.device)
        at = _starts(sample, spatial[d], out[d], kernel[d]).unsqueeze(-1) + tap
        shape = [*at.shape[:2], *[1] * (2 * n)]
        shape[2 + d], shape[2 + n + d] = out[d], kernel[d]
        total = total + at.reshape(shape) * apart
        apart *= spatial[d]
    return total.reshape(*total.shape[:2], *out, math.prod(kernel))


def _output_size(name, x, n, size, ratio):
    if size is None and ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if size is not None:
        return tuple_of(size, n, name, "output_size")
    ratios = tuple(ratio) if isinstance(ratio, tuple | list) else (ratio,) * n
    if len(ratios) != n:
        raise ValueError(
            f"{name} requires output_ratio to either be a single number or a tuple of {n}, but "
            f"got {ratio}")
    return tuple([int(s * r) for s, r in zip(x.shape[-n:], ratios)])


def _check_sizes(name, n, spatial, out, kernel):
    for axis, size, count, k in zip(AXES[n], spatial, out, kernel):
        if k <= 0 or count < 0:
            raise RuntimeError(
                f"{name}(): kernel_size must be positive and output_size not negative, but got "
                f"{kernel} and {out}")
        if count + k - 1 > size:
            raise RuntimeError(
                f"{name}(): pool {axis} {k} too large relative to input {axis} {size} for {count} "
                "outputs")


def _drawn(name, samples, x, n):
    """One number in [0, 1) for each plane and axis."""
    if samples is None:
        return FUNCTIONS["rand"](*x.shape[:2], n, dtype=x.dtype, device=x.device)
    if samples.dtype is not x.dtype:
        raise RuntimeError(
            f"{name}: Expect _random_samples to have the same dtype as input, but got "
            f"{samples.dtype} and {x.dtype}")
    if (samples.ndim != 3 or samples.shape[0] < x.shape[0] or samples.shape[1] != x.shape[1]
            or samples.shape[2] != n):
        raise RuntimeError(
            f"{name}: Expect _random_samples of sizes {[*x.shape[:2], n]}, but got "
            f"{list(samples.shape)}")
    return samples[:x.shape[0]]


def fractional_max_pool(input, kernel, size, ratio, samples, n):
    """(the largest of each window, its place in the plane)"""
    name = f"fractional_max_pool{n}d"
    x, batched = with_batch(name, input, n)
    check_channels(name, x, n)
    spatial, kernel = tuple(x.shape[2:]), tuple_of(kernel, n, name, "kernel_size")
    out = _output_size(name, x, n, size, ratio)
    _check_sizes(name, n, spatial, out, kernel)
    places = _places(_drawn(name, samples, x, n), spatial, out, kernel)
    taps = x.flatten(2).gather(2, places.flatten(2)).reshape(places.shape)
    best, tap = taps.max(-1)
    place = places.gather(-1, tap.unsqueeze(-1)).squeeze(-1)
    return (best, place) if batched else (best.squeeze(0), place.squeeze(0))


def _publish():
    """{name: function} in two and three dimensions, with and without the places."""
    params = (
        "input, kernel_size, output_size=None, output_ratio=None, return_indices=False, "
        "_random_samples=None")
    found = {}
    for n in (2, 3):
        call = (
            "fractional_max_pool(input, kernel_size, output_size, output_ratio, _random_samples, "
            f"{n})")
        for name, result in ((f"fractional_max_pool{n}d",
                              f"{call} if return_indices else {call}[0]"),
                             (f"fractional_max_pool{n}d_with_indices", call)):
            f = compile_function(name,
                                 f"def {name}({params}):\n    return {result}",
                                 {"fractional_max_pool": fractional_max_pool})
            f.__doc__ = with_example(
                f"The largest value of each window, over {n} spatial dimensions; windows are at "
                "pseudo-random distances.",
                f"whet.nn.functional.{name}(whet.ones(1, 3{', 5' * n}), 2, output_size=2)"
                f"{'[1]' if 'indices' in name else ''}.shape",
                f"whet.Size([1, 3{', 2' * n}])")
            found[name] = guard(f)
    return found


POOLS = _publish()
