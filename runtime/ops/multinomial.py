"""Draws of places by their weights."""
import math

from .. import dtypes
from .number_questions import all_between
from .question_kernels import asked
from .random import draw
from .registry import about_numbers, ask
from .surface import FUNCTIONS, function


@function(out=True)
def multinomial(input, num_samples, replacement=False, *, generator=None):
    """Indices drawn from the rows of (unnormalised) probabilities.

    >>> import whet
    >>> whet.multinomial(whet.tensor([0., 1., 0.]), 1)
    tensor([1])
    """
    if input.dtype.category != dtypes.FLOAT:
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {input.dtype.letter}")
    if input.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    weights = input.detach() if input.requires_grad else input
    p = weights.to(dtypes.float64)
    n = p.shape[-1]
    if not replacement and num_samples > n:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    # Types that NumPy does not know are compared as doubles.
    if not ask(_are_weights, weights if input.dtype in COMPARED else p):
        raise about_numbers(RuntimeError(
            "probability tensor contains either `inf`, `nan` or element < 0"))
    edges = p.cumsum(-1) if replacement else None
    sums = p.sum(-1, keepdim=True) if edges is None or not n else edges[..., -1:]
    if not ask(_are_positive, sums):
        raise about_numbers(RuntimeError(
            "invalid multinomial distribution (sum of probabilities <= 0)"))
    if edges is not None:
        return _picked(edges, sums, draw("uniform64", (*p.shape[:-1], num_samples), generator,
                                         p.device))
    if num_samples > 1 and not p.is_meta and ask(_choices, p) < num_samples:
        raise RuntimeError(
            "invalid multinomial distribution (with replacement=False, not enough non-negative "
            "category to sample)")
    return _first(p, draw("uniform64", p.shape, generator, p.device), num_samples)


COMPARED = dtypes.float16, dtypes.float32, dtypes.float64
LARGEST, SMALLEST = 1.7976931348623157e308, 5e-324               # positive numbers of float64


@asked(lambda x, _: ~((x >= 0) & (x < math.inf)))
def _are_weights(a):
    """Can all elements be weights?"""
    return all_between(a, 0, LARGEST)


@asked(lambda x, _: ~(x > 0))
def _are_positive(a):
    return all_between(a, SMALLEST, math.inf)


def _choices(a):
    return int((a > 0).sum(-1).min(initial=a.shape[-1]))


def _picked(edges, sums, u):
    """The places where uniform numbers, times the sums of the rows, fall between the running sums
    of the rows."""
    search = FUNCTIONS["searchsorted"]
    # Rounded, a number may reach the sum. The place that brings the sum about has a weight.
    return search(edges, u * sums, right=True).minimum(search(edges, sums))


def _first(weights, u, count):
    """The places of the `count` that arrive first in each row, each after an exponential time of
    this rate."""
    times = (-(-u).log1p()).clamp_min(1e-300) / weights
    times = times.masked_fill(weights == 0, math.inf)
    if count == 1:
        return times.argmin(-1, keepdim=True)
    return times.topk(count, largest=False).indices
