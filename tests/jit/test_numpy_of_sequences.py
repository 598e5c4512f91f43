"""What NumPy makes of lists of numbers that calls compute, and arrays that it shuffles."""
import collections

import numpy as np
import pytest
import whet
from whet import jit

from tests.jit.ledgers import served
from tests.jit.table_calls import compiled

CALLS = 24


pytestmark = pytest.mark.usefixtures("replays_count_as_faster")


def losses(x):
    return [part.square().sum().item() for part in x]


def means(last=4):
    seen = collections.deque(maxlen=last)
    def f(x):
        seen.append(x.sum().item())
        return np.mean(losses(x)), np.std([1.0, *losses(x)]), np.median(seen)
    return f


def largest():
    best = whet.zeros(())
    def f(x):
        best.copy_(whet.maximum(best, whet.tensor(np.max(losses(x)))))
        return best.clone(), x[np.argmin(losses(x))]
    return f


def shuffled_outside():
    order, rows = np.arange(6), np.arange(12, dtype=np.float32).reshape(6, 2)
    def f(x):
        np.random.shuffle(order)
        np.random.shuffle(rows)
        return x[order[:3] // 2], order.copy(), whet.from_numpy(rows[1:]) * x[0, 0]
    return f


def shuffled_within():
    def f(x):
        order, total = np.arange(len(x)), 0.0
        for _ in range(2):
            np.random.shuffle(order)
            for start in range(0, len(x), 2):
                total = total * 0.5 + x[order[start:start + 2]].sum()
        return total, order
    return f


def by_a_generator():
    generator, order = np.random.default_rng(3), np.arange(6, dtype=np.int32)
    def f(x):
        generator.shuffle(order)
        return x[order // 2], generator.random()
    return f


@compiled
@pytest.mark.parametrize("build", [means, largest, shuffled_outside, shuffled_within, by_a_generator])
def test_later_calls_are_replayed(build):
    results = []
    for trace in (lambda f: f, jit.trace):
        np.random.seed(1)
        f = trace(build())
        results.append([repr(f(whet.arange(8.0).reshape(4, 2).sin() * k)) for k in range(CALLS)])
        results[-1].append(np.random.rand())
    assert results[0] == results[1]
    assert served(f) >= CALLS - 8
