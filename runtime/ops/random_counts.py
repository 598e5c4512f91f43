"""Random counts: Poisson and binomial numbers, from streams of NumPy's that random words name."""
import threading

import numpy as np

from .. import dtypes
from ..ir.outline import like_first
from .batching import by_rows
from .question_kernels import asked
from .random import draw
from .registry import Op, apply, ask, check_tensors
from .sample_inputs import Sample
from .surface import FUNCTIONS, function
from .zero_gradients import attached

_ZEROS = np.zeros(4, np.uint64)
_of_thread = threading.local()


def _stream(key):
    """The stream of a key, at its beginning. Each thread has one whose state is set: to make a
    stream takes ten times as long."""
    stream = getattr(_of_thread, "stream", None)
    if stream is None:
        stream = _of_thread.stream = np.random.Generator(np.random.Philox(key=key))
    stream.bit_generator.state = {
        "bit_generator": "Philox", "state": {"counter": _ZEROS, "key": key}, "buffer": _ZEROS,
        "buffer_pos": 4, "has_uint32": 0, "uinteger": 0}
    return stream


@function(method=False)
def poisson(input, generator=None):
    """Poisson numbers with the input as rates.

    >>> import whet
    >>> whet.poisson(whet.zeros(2))
    tensor([0., 0.])
    """
    rates = input.detach()
    ask(_are_rates, rates)
    return attached(apply(poisson_op, (rates, draw("u64", (2,), generator, rates.device)), {}),
                    input)


@asked(lambda x, _: x < 0)
def _are_rates(a):
    if (a < 0).any():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")


def _poisson(rates, key):
    # of a single rate it is a Python number
    return np.asarray(_stream(key).poisson(rates.astype(np.float64))).astype(rates.dtype)


@function(method=False)
def binomial(count, prob, generator=None):
    """How many of `count` tries succeed, each with the probability `prob`.

    >>> import whet
    >>> whet.binomial(whet.tensor([3.0, 5.0]), whet.tensor([0.0, 1.0]))
    tensor([0., 5.])
    """
    check_tensors("binomial", 2, count=count, prob=prob)
    if count.dtype is not prob.dtype or count.dtype.category != dtypes.FLOAT:
        raise RuntimeError(
            "binomial: expected count and prob of one floating point type, got "
            f"{count.dtype} and {prob.dtype}")
    tries, chance = FUNCTIONS["broadcast_tensors"](count.detach(), prob.detach())
    return apply(binomial_op, (tries, chance, draw("u64", (2,), generator, tries.device)), {})


def _binomial(tries, chance, key):
    """(tries below zero are none; of what is no probability nothing can be said)"""
    n = np.maximum(np.floor(tries.astype(np.float64)), 0).astype(np.int64)
    p = chance.astype(np.float64)
    known = (p >= 0) & (p <= 1)
    drawn = _stream(key).binomial(n, np.where(known, p, 0.0))
    return np.where(known, drawn, np.nan).astype(tries.dtype)


def _key():
    return FUNCTIONS["tensor"]([3, 2 ** 63], dtype=dtypes.uint64)


poisson_op = Op("random_poisson", _poisson, samples=lambda make: [
    Sample(make(*shape, low=0.5, high=9, grad=False), _key()) for shape in ((5,), (2, 3))])
binomial_op = Op("random_binomial", _binomial, samples=lambda make: [
    Sample(make(*shape, low=1, high=9, grad=False), make(*shape, low=0, high=1, grad=False), _key())
    for shape in ((5,), (2, 3))])
poisson_op.outlined = binomial_op.outlined = like_first
poisson_op.any_sizes = binomial_op.any_sizes = True
by_rows(poisson_op)
by_rows(binomial_op)
