"""Ways through a function, and states, whose programs are alike but for numbers that are no sizes:
each has its own."""
import numpy as np
import pytest
import whet
import whet.nn.functional as F

from .ledgers import calls_of

pytestmark = pytest.mark.usefixtures("whatever_it_costs")


def expanded(a, k):
    return (a.exp().sum().expand(k) * 2,)


def zeros(a, k):
    return ((a.exp().sum(0)[:1] + whet.zeros(k)).cos(), a.new_zeros(len(a), k) + a[:, :1])


def viewed(a, k):
    b = a.sin()[:, :k]
    return b.reshape(k, -1).sum(1), b.reshape(-1, k).sum(0), a.flatten().unflatten(0, (-1, 4))


def repeated(a, k):
    return a.repeat(k, 1).cumsum(0), a.exp().tile((1, k)), F.pad(a, (0, k)).cos()


def counted(a, k):
    return whet.arange(k) * a.sum(), whet.linspace(0, 1, k) + a.mean(), F.one_hot(
        (a[:, 0] > 0).long(), k)


def differentiated(a, k):
    w = whet.ones(4, requires_grad=True)
    b = a * w
    y = b.sum(0)[:1].expand(k).exp().sum() + b.exp().unsqueeze(0).expand(k, -1, -1).sum()
    return (y.detach(), *whet.autograd.grad(y, [w]))


FUNCTIONS = expanded, zeros, viewed, repeated, counted, differentiated


def by_a_branch(of):
    return lambda x: of(x[x[:, 1] > 0], 3 if bool(x[0, 0] > 0) else 4)


def by_turns(of):
    return lambda x: sum((of(x[x[:, d] > 0], k) for d, k in ((1, 3), (2, 4), (3, 3))), ())


@pytest.mark.parametrize("ways", (by_a_branch, by_turns))
@pytest.mark.parametrize("of", FUNCTIONS)
@pytest.mark.parametrize("seed", (0, 1))
def test_numbers_that_are_no_sizes_stay_those_of_their_way(of, ways, seed):
    function, rng = ways(of), np.random.default_rng(seed)
    traced = whet.jit.trace(function)
    for k in range(60):
        x = rng.standard_normal((int(rng.choice((8, 9, 12))) if seed else 8, 4)).astype("f")
        x[:, 1:] = 1
        for d in (1, 2, 3):                  # as many rows as a number is large, now and then
            x[:int(rng.integers(0, 6)), d] = -1
        x[0, 0] = 1 if k < 4 or k % 2 else -1
        x = whet.from_numpy(x)
        made, known = traced(x), function(x)
        assert [(a.shape, a.numpy().tobytes()) for a in made] == [
            (a.shape, a.numpy().tobytes()) for a in known], k
    assert ways is by_turns or calls_of(traced)["replayed"] >= 20


class State:
    """What a function reads, and others write."""
    k = 3


STATE = State()


def of_all(of):
    return lambda x: of(x, STATE.k)


def of_some(of):
    return lambda x: of(x[x[:, 0] > 0], STATE.k)


# which number and how many rows come first: sizes are as large as numbers, or twice
FIRST = [[(3, 3), (4, 4)], [(4, 4), (3, 3)], [(3, 6), (4, 8)], [(3, 4), (4, 3)]]


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("which", (of_all, of_some))
@pytest.mark.parametrize("of", FUNCTIONS)
def test_numbers_of_a_state_that_changes_as_sizes_do(of, which, first):
    function, rng = which(of), np.random.default_rng(0)
    traced = whet.jit.trace(function)
    later = [(int(rng.choice((3, 4))), int(rng.integers(3, 12))) for _ in range(40)]
    for k, n in [*first * 2, *later]:
        STATE.k, x = k, rng.standard_normal((n, 4)).astype("f")
        x[:, 0] = abs(x[:, 0])
        x = whet.from_numpy(x)
        made, known = traced(x), function(x)
        assert [(a.shape, a.numpy().tobytes()) for a in made] == [
            (a.shape, a.numpy().tobytes()) for a in known], (k, n)
    assert calls_of(traced)["replayed"] >= 4
