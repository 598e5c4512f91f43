"""Sizes that no run had, of arguments that are parts of larger tensors, or turned: how far apart
their elements lie goes by sizes, too."""
import random

import pytest
import whet
import whet.nn.functional as F
from whet import jit, nn

from .ledgers import unrun

LAYOUTS = {
    "all but the last column": lambda n: whet.randn(3, n + 1)[:, :-1],
    "columns past the second": lambda n: whet.randn(3, n + 2)[:, 2:],
    "turned": lambda n: whet.randn(n, 3).t(),
    "a part, turned": lambda n: whet.randn(n, 5)[:, 1:4].t(),
    "of three dimensions": lambda n: whet.randn(3, 2, n + 4)[:, 1, 1:-3],
    "every other": lambda n: whet.randn(3, 2 * n)[:, ::2],
    "from one of pairs": lambda n: whet.randn(3, n, 2)[..., 1],
    "one row for all": lambda n: whet.randn(1, n).expand(3, n),
}


pytestmark = pytest.mark.usefixtures("never_sounded")


def scaled(x):
    return (x * 2 + 1).softmax(-1)


def products(x):
    return x @ x.t(), (x.t() @ x).sum(0)


def moved(x):
    return x.flip(1), x[:, 1:] - x[:, :-1], x.contiguous()


@pytest.mark.parametrize("fn", [scaled, products, moved])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_bits_at_sizes_that_no_run_had(layout, fn):
    f = jit.trace(fn)
    for n in (20, 21, 22, 35, 7, 40, 64, 65, 12):
        x = LAYOUTS[layout](n)
        got, want = f(x), fn(x)
        for a, b in zip(got, want) if type(want) is tuple else [(got, want)]:
            assert a.stride() == b.stride() and a.equal(b), n
    assert unrun(f) >= 4


@pytest.mark.parametrize("seed", range(6))
def test_layouts_that_change_from_call_to_call(seed):
    """A plan for one kind of gaps is not taken for another."""
    rng = random.Random(seed)
    f = jit.trace(products)
    names = rng.sample([*LAYOUTS], 2)
    for k in range(40):
        x = LAYOUTS[names[k % 3 == 2] if k < 12 else rng.choice([*LAYOUTS])](rng.randint(2, 40))
        assert all(a.equal(b) for a, b in zip(f(x), products(x)))


def test_gradients_to_a_part():
    w = whet.linspace(-1, 1, 9).reshape(3, 3).requires_grad_()

    def fn(x):
        return (w @ x).tanh()
    f = jit.trace(fn)

    def gradients(call, whole):
        w.grad = None
        whole = whole.clone().requires_grad_()
        call(whole[:, :-1]).square().sum().backward()
        return w.grad, whole.grad
    for n in (20, 21, 22, 35, 7, 40):
        whole = whet.randn(3, n)
        assert all(a.equal(b) for a, b in zip(gradients(f, whole), gradients(fn, whole)))
    assert unrun(f) >= 3


def test_a_language_model_trained_on_texts_of_any_length():
    """`model(text[:, :-1])`, and all that follows outside of the traced call."""
    def losses(traced):
        whet.manual_seed(0)
        model = nn.Sequential(nn.Embedding(11, 8), nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 11))
        f = jit.trace(model) if traced else model
        optimizer, found, rng = whet.optim.Adam(model.parameters(), lr=0.01), [], random.Random(0)
        for _ in range(40):
            text = whet.randint(0, 11, (4, rng.randint(4, 30)))
            loss = F.cross_entropy(f(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found, f
    want, _ = losses(False)
    got, f = losses(True)
    assert got == want
    tally = f.explain(data=True)["calls"]
    assert unrun(f) >= 10 and tally["recorded"] <= 6, tally
