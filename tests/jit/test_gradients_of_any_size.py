"""Gradients that flow out of calls whose sizes no run had are eager's, to the bit."""
import math

import pytest
import whet
from whet import jit
from whet.jit.policy import account, many_sizes
from whet.jit.program.size_expressions import SizeExpressions

from .functions_of_any_size import FUNCTIONS, common

SIZES = range(41, 55)
# two recordings and a plan come first; ranges of sizes have plans of their own, and ways their own
LEAST = 4
# what has no gradient; what writes to parts; what goes one way at even and another at odd sizes
OTHERS = {"onehot_", "scatter_", "gridp", "bow", "fill_diag", "write_", "up_like", "up_bilin",
          "half", "fft_", "unf", "windows2", "bins", "histogram", "members", "bessel", "halves",
          "thirds", "bags", "slopes", "one_hot_by_scatter", "rows_but_the_first", "unpooled",
          "places", "distinct", "counts_drawn"}
PARAMETERS = [p for m in vars(common).values() if isinstance(m, whet.nn.Module)
              for p in m.parameters()]


def of_sum(out, x):
    """Gradients that are spread over all elements."""
    out.abs().sum().backward()


def weighted(out, x):
    """A gradient for each element."""
    out.backward(whet.cos(whet.arange(out.numel(), dtype=out.dtype)).view(out.shape))


def twice(out, x):
    """Eager's graph is asked for what it saved once more."""
    out.abs().mean().backward(retain_graph=True)
    out.abs().sum().backward()


def second(out, x):
    """Eager's graph takes the place of the program."""
    if x.requires_grad:
        g, = whet.autograd.grad(out.abs().sum(), x, create_graph=True, allow_unused=True)
        if g is not None and g.requires_grad:
            g.square().sum().backward()


def hooked(out, x):
    """Hooks see what comes to the result."""
    out.register_hook(lambda g: g * 2)
    out.abs().sum().backward()


def gradients(fn, x, differentiate):
    """The result, as bits, and the gradients of all that has some."""
    out = fn(x)
    if out.requires_grad:
        differentiate(out, x)
    found = [t.grad for t in (x, *PARAMETERS)]
    for t in (x, *PARAMETERS):
        t.grad = None
    return out.requires_grad, out.detach().numpy().tobytes(), [
        None if g is None else (g.numpy().tobytes(), g.stride()) for g in found]


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in OTHERS])
def test_gradients_of_sizes_that_no_run_had(name, monkeypatch):
    monkeypatch.setattr(account, "GRACE", math.inf)
    monkeypatch.setattr(many_sizes, "SOUNDING", 1 << 30)
    fn, make = FUNCTIONS[name]
    traced = jit.trace(fn)
    for k, n in enumerate(SIZES):
        x = make(n)
        x.requires_grad_(x.is_floating_point())
        before = whet.get_rng_state()
        plain = x.dtype is whet.float32 and not fn(x).is_complex()
        ways = (of_sum, weighted if plain else of_sum, twice, second, hooked)
        seen = []
        for f in (fn, traced):
            whet.set_rng_state(before)
            seen.append(gradients(f, x, ways[k % len(ways)]))
        assert seen[0][0]
        assert seen[1] == seen[0], (n, ways[k % len(ways)].__name__)
    ledger = traced._calls.policy.summary()
    assert ledger.unseen + ledger.sized >= LEAST, ledger


def test_a_wrong_number_in_a_backward_is_found_by_the_next_run(monkeypatch):
    """It is right for the two runs that it was inferred from."""
    monkeypatch.setattr(account, "GRACE", math.inf)
    monkeypatch.setattr(many_sizes, "SOUNDING", 3)
    number, planted = SizeExpressions.number, []

    def wrong(self, x, y, *args):
        found = number(self, x, y, *args)
        if (round(float(x), 5), round(float(y), 5)) == (0.10526, 0.1):       # 2 / (n - 1)
            n, = self.facts.symbols
            planted.append(n)
            return found + (n - 20) * (n - 21) * 1.0
        return found
    monkeypatch.setattr(SizeExpressions, "number", wrong)

    def fn(x):
        return x / x.std(0)
    traced = jit.trace(fn)
    for n in (20, 21, 22, 23, 24, 25, 26):
        x = whet.randn(n, 8).requires_grad_()
        y = x.detach().clone().requires_grad_()
        traced(x).square().sum().backward()
        fn(y).square().sum().backward()
        if traced._calls.policy.summary().failed:
            break
    assert planted and traced._calls.policy.summary().failed == 1
    assert not any(m.sizes.family for ms in traced._calls.recordings.models.values() for m in ms)
