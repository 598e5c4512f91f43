"""`einops` on tensors: its functions give what they give on arrays, its layers are modules, and
both are replayed in traced functions."""
import copy
import random
import subprocess
import sys

import einops
import numpy as np
import pytest
import whet
from einops.layers.whet import EinMix, Rearrange, Reduce
from whet import jit, nn

REDUCTIONS = ["sum", "mean", "min", "max", "prod"]


def pattern(rng, may_drop=False, may_add=False):
    """A pattern of up to five axes, some of them composed, and the axes' sizes. On the right axes
    come in another order; if allowed, some are left out, or others are new."""
    sizes = {name: rng.randint(1, 3) for name in "abcde"[:rng.randint(2, 5)]}
    left, right = list(sizes), list(sizes)
    rng.shuffle(right)
    if may_drop:
        right = right[:rng.randint(0, len(right))]
    if may_add:
        sizes["n"] = rng.randint(1, 3)
        right.insert(rng.randint(0, len(right)), "n")
    return f"{composed(rng, left)} -> {composed(rng, right)}", sizes, left


def composed(rng, names):
    """Axes as one side of a pattern, with neighbours in parentheses now and then."""
    out, i = [], 0
    while i < len(names):
        n = rng.randint(1, 2)
        out.append(names[i] if n == 1 else f"({' '.join(names[i:i + n])})")
        i += n
    return " ".join(out)


def given(text, sizes, names):
    """An array for the left side of a pattern, and a tensor of the same numbers."""
    whole = np.random.default_rng(len(text)).standard_normal([sizes[n] for n in names])
    x = einops.rearrange(whole, f"{' '.join(names)} -> {text.split(' -> ')[0]}")
    return x, whet.tensor(x)


@pytest.mark.parametrize("seed", range(40))
def test_functions_give_what_they_give_on_arrays(seed):
    rng = random.Random(seed)
    for name, options in [("rearrange", {}), ("repeat", {"may_add": True}),
                          ("reduce", {"may_drop": True})]:
        text, sizes, names = pattern(rng, **options)
        x, t = given(text, sizes, names)
        more = [rng.choice(REDUCTIONS)] if name == "reduce" else []
        expected = getattr(einops, name)(x, text, *more, **sizes)
        got = getattr(einops, name)(t, text, *more, **sizes)
        assert isinstance(got, whet.Tensor) and got.shape == expected.shape, text
        assert np.allclose(got.numpy(), expected), (text, more)


def test_lists_packs_and_sums():
    parts = [whet.full((2, 3), float(i)) for i in range(4)]
    assert einops.rearrange(parts, "n a b -> a (n b)").tolist() == whet.cat(parts, 1).tolist()
    packed, shapes = einops.pack([whet.ones(2, 3), whet.zeros(2, 4, 5)], "a *")
    assert packed.shape == (2, 23)
    assert [x.shape for x in einops.unpack(packed, shapes, "a *")] == [(2, 3), (2, 4, 5)]
    x, y = whet.randn(2, 3, 4), whet.randn(2, 4, 5)
    assert whet.allclose(einops.einsum(x, y, "b i j, b j k -> b i k"), x @ y)
    assert einops.parse_shape(x, "a _ c") == {"a": 2, "c": 4}
    assert einops.reduce(x > 0, "a b c -> a", "any").tolist() == (x > 0).any(2).any(1).tolist()


def test_errors_are_its_own():
    with pytest.raises(einops.EinopsError, match="can't divide axis of length 5"):
        einops.rearrange(whet.ones(5), "(a b) -> a b", b=2)


def network():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), Reduce("b c (h p) (w q) -> b c h w", "max", p=2, q=2),
        Rearrange("b c h w -> b (h w) c"), EinMix("b t c -> b t d", "c d", "d", c=4, d=3),
        Rearrange("b t d -> b (t d)"), nn.Linear(48, 2))


def test_layers_train_and_are_replayed():
    whet.manual_seed(0)
    model = network()
    twin = copy.deepcopy(model)
    assert [*model.state_dict()] == [*twin.state_dict()] and "3.weight" in model.state_dict()

    def stepper(net):
        optimizer = whet.optim.SGD(net.parameters(), 0.1)

        def step(x, y):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            return loss.item()
        return step
    eager, traced = stepper(model), jit.trace(stepper(twin))
    for _ in range(6):
        x, y = whet.randn(5, 1, 8, 8), whet.randint(2, (5,))
        assert eager(x, y) == traced(x, y)
    assert traced.explain(data=True)["calls"]["replayed"] == 4


@pytest.mark.parametrize("imports", ["import whet, einops", "import einops, whet"])
def test_either_may_be_imported_first(imports):
    """Neither imports the other."""
    program = f"""
import sys
{imports.split(', ')[0]}
assert {imports.split(', ')[1]!r} not in sys.modules
{imports}
assert einops.rearrange(whet.ones(2, 3), "a b -> b a").shape == (3, 2)
from einops.layers.whet import Rearrange
assert Rearrange("a b -> (a b)")(whet.ones(2, 3)).shape == (6,)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
