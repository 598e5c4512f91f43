"""Gradients of functions that write to parts of what they compute, and memory that they leave
unset, at sizes that no run had."""

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import jit

from .ledgers import served

SIZES = range(41, 61)
CALLS = 24


pytestmark = pytest.mark.usefixtures("never_sounded")


def first_column(x):
    y = x * 2
    y[:, 0] = 1.0
    return y


def last_column(x):
    y = x * 2
    y[..., -1] += 1e-3
    return y * y


def later_rows(x):
    y = x * 2
    y[1:] *= x[:-1]
    return y * y


def into_zeros(x):
    y = whet.zeros(x.shape[0] + 1, 3)
    y[:-1] = x
    return y * y


def columns_in_turn(x):
    y = whet.zeros_like(x)
    for i in range(3):
        y[:, i] = x[:, i] * (y[:, i - 1].clone() if i else 1)
    return y * y


def turns_of_two(x):
    y = x.new_empty(2 * x.shape[0], 3)
    y[::2], y[1::2] = x, x + 1
    return y * 2


FUNCTIONS = [first_column, last_column, later_rows, into_zeros, columns_in_turn,
             turns_of_two]


def gradient(function, x):
    x = x.clone().requires_grad_()
    (function(x) * 3).sum().backward()
    return x.grad


@pytest.mark.parametrize("function", FUNCTIONS)
def test_sizes_that_no_run_had_are_replayed(function):
    traced = jit.trace(lambda x: gradient(function, x))
    for n in SIZES:
        x = whet.tensor(np.random.default_rng(n).normal(size=(n, 3)).astype("f"))
        assert traced(x).numpy().tobytes() == gradient(function, x).numpy().tobytes()
    ledger = traced._calls.policy.summary()
    assert ledger.unseen + ledger.sized >= len(SIZES) - 12, ledger


def knots(x):
    """The knots of a spline for each number within its bounds, as normalising flows make them."""
    inside = x.abs() < 1
    chosen = x[inside]
    k = F.pad(whet.cumsum(chosen[:, None] * whet.ones(4), -1), (1, 0))
    k[..., 0], k[..., -1] = -1.0, 1.0
    out = whet.zeros_like(x)
    out[~inside] = x[~inside]
    out[inside] = (k[:, 1:] - k[:, :-1]).square().sum(-1)
    return out


def test_numbers_of_rows_that_no_run_had_are_replayed():
    traced = jit.trace(lambda x: gradient(knots, x))
    for n in range(CALLS):
        x = whet.tensor(np.random.default_rng(n).normal(size=(60, 1)).astype("f"))
        assert traced(x).numpy().tobytes() == gradient(knots, x).numpy().tobytes()
    assert served(traced) >= CALLS - 6
