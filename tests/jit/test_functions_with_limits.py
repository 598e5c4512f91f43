"""A size or a number that eager mode refuses is refused in a traced function, too.

A check may stand in a public function while the op beside it serves any sizes. A program for other
sizes runs the op alone, so the check must be one that the op makes, or a guard. What is held here
is that a traced call comes to eager's result or error, on both sides of a limit.
"""
import pytest
import whet
from whet import jit
from whet.jit.policy import many_sizes

from tests.fuzz_harness import generous
from tests.observed import Raised, first_difference, observed, outcome

from .functions_with_limits import FUNCTIONS

# Each of them comes several times, so that it is recorded, and replayed, before others come.
NUMBERS = (2, 2, 3, 4, 3, 2, 3, 5, 6, 5, 1, 1, 0, 0, -1, -1, -2, -2, 4, 6, 6, 12, 12, 7, 2, 3,
           -3, -3, -6, -6, 20, 20)
LONGER = (0, 0, 2, 5, 9, 14)    # how much longer a dimension is, before it becomes shorter
LENGTHS = (6, 5, 4, 3, 2, 1, 0)
USUAL = 2                       # the number where sizes differ


def other_numbers(shape):
    """(shape, number) of calls of one shape."""
    yield [(shape, n) for n in NUMBERS]


def other_sizes(shape):
    """For each dimension, (shape, number) of calls in which it is longer, then shorter."""
    for d, length in enumerate(shape):
        if length > 1:
            lengths = [length + more for more in LONGER]
            lengths += [n for n in LENGTHS for _ in range(2)] + [length, 30, length + 2]
            yield [((*shape[:d], n, *shape[d + 1:]), USUAL) for n in lengths]


def came_of(f, shape, n, has_gradient):
    """What a call comes to, with its gradient and the random numbers that come next."""
    whet.manual_seed(len(shape) + n)
    x = whet.randn(shape, requires_grad=has_gradient)

    def called():
        y = f(x, n)
        made = [t for t in (y if isinstance(y, tuple | list) else [y])
                if isinstance(t, whet.Tensor) and t.requires_grad]
        if made:
            sum((t.abs() if t.is_complex() else t).double().sum() for t in made).backward()
        return y
    y = outcome(called)
    if isinstance(y, Raised):       # what follows in a traced function's text is the user's line
        return y.kind, y.text.split("\n")[0]
    return observed(y, x.grad), whet.rand(()).item()


@pytest.mark.drawn(12)
@pytest.mark.parametrize("has_gradient", [False, True], ids=["values", "gradients"])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("calls", [other_numbers, other_sizes])
def test_what_eager_refuses_is_refused(calls, name, has_gradient, monkeypatch):
    monkeypatch.setattr(many_sizes, "SOUNDING", 1 << 30)
    f, shape = FUNCTIONS[name]
    with generous():
        for in_turn in calls(shape):
            traced = jit.trace(lambda x, n: f(x, n))
            for k, (at, n) in enumerate(in_turn):
                wanted = came_of(f, at, n, has_gradient)
                got = came_of(traced, at, n, has_gradient)
                assert got == wanted, (k, at, n, first_difference(wanted, got))


def test_most_of_these_calls_are_replayed():
    """So that programs are what is compared: padding at other sizes, which the first hunt found."""
    f, shape = FUNCTIONS['F.pad(x, (n, 1), "reflect") at 1, 2, 5']
    with generous():
        for in_turn in other_sizes(shape):
            traced = jit.trace(lambda x, n: f(x, n))
            for at, n in in_turn:
                came_of(traced, at, n, False)
            assert traced._calls.policy.summary().replayed > len(in_turn) / 2
