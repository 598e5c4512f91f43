"""Nested tensors in traced functions: they are taken apart into the tensors they are made of."""
import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import nested, nn, optim


def nt_of(seed=0, lengths=(3, 1, 5), width=4):
    rng = np.random.default_rng(seed)
    return nested.nested_tensor([rng.standard_normal((n, width)).astype("f4") for n in lengths])


def bits(x):
    if isinstance(x, tuple | list):
        return tuple(map(bits, x))
    if x.is_nested:
        return "nested", x._ragged, bits(x.values()), bits(x.offsets())
    return tuple(x.shape), x.detach().numpy().tobytes()


def replays(traced):
    return traced.explain(data=True)["calls"]["replayed"]


def heads_of(x):
    return x.unflatten(-1, (2, 2)).transpose(1, 2)


FUNCTIONS = {
    "elements": lambda x: (x * 2 + 1).sin(),
    "with a dense operand": lambda x: x * whet.arange(3.).reshape(3, 1, 1),
    "of two": lambda x: x + x.exp(),
    "linear": lambda x: F.linear(x, whet.ones(2, 4)),
    "sum": lambda x: x.sum(1), "largest": lambda x: x.amax(1), "mean": lambda x: x.mean(),
    "softmax": lambda x: x.softmax(1), "transposed": lambda x: x.mT,
    "padded": lambda x: x.to_padded_tensor(0.), "parts": lambda x: x.unbind(),
    "a part": lambda x: x[1], "two": lambda x: (x, x * 2),
    "attention": lambda x: F.scaled_dot_product_attention(*[heads_of(x)] * 3, is_causal=True),
    "attention to all": lambda x: F.scaled_dot_product_attention(*[heads_of(x)] * 3),
    "made inside": lambda x: nested.nested_tensor_from_jagged(x.values() * 2, x.offsets()) + x}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_argument_is_replayed_by_what_it_holds(name):
    f = FUNCTIONS[name]
    traced = whet.jit.trace(f)
    for seed in (0, 0, 1, 2, 3, 3):
        x = nt_of(seed)                          # another object each time
        assert bits(traced(x)) == bits(f(x))
    assert replays(traced) >= 4


@pytest.mark.parametrize("name", FUNCTIONS)
def test_other_lengths(name):
    f = FUNCTIONS[name]
    traced = whet.jit.trace(f)
    for i, lengths in enumerate([(3, 1, 5), (3, 1, 5), (1, 3, 5), (2, 2, 2), (7, 0, 1), (4, 4, 4),
                                 (3, 1, 5), (1, 3, 5), (9, 2, 2), (2, 2, 3), (1, 1, 1)] * 2):
        x = nt_of(i, lengths)
        assert bits(traced(x)) == bits(f(x)), (i, lengths)


def test_results_share_the_offsets_of_arguments():
    traced = whet.jit.trace(lambda x: (x.exp(), x * 2))
    for seed in range(5):
        x = nt_of(seed)
        a, b = traced(x)
        assert a.shape == b.shape == x.shape
        assert bits(a + b - x) == bits(x.exp() + x * 2 - x)
    assert replays(traced) >= 3


def test_arguments_that_share_offsets_and_others():
    traced = whet.jit.trace(lambda a, b: a + b)
    for seed in range(4):
        x = nt_of(seed)
        assert bits(traced(x, x.exp())) == bits(x + x.exp())
    with pytest.raises(RuntimeError, match="cannot call binary pointwise function add"):
        traced(nt_of(0), nt_of(1))
    x = nt_of(7)
    assert bits(traced(x, x * 3)) == bits(x + x * 3)


def test_made_of_parts_inside():
    def f(a, b):
        x = nested.as_nested_tensor([a, b])
        return x.softmax(1), x.sum(1)
    traced = whet.jit.trace(f)
    for seed in (0, 0, 1, 2):
        a, b = nt_of(seed, (3, 2)).unbind()
        assert bits(traced(a, b)) == bits(f(a, b))
    assert replays(traced) >= 2
    a, b = nt_of(5, (4, 6)).unbind()
    assert bits(traced(a, b)) == bits(f(a, b))


def test_gradients_of_values_and_of_weights():
    weight = whet.randn(4, 2)

    def f(x, weight):
        x, weight = x.detach().requires_grad_(), weight.detach().requires_grad_()
        (x @ weight).softmax(1).square().sum().backward()
        return x.grad, weight.grad
    traced = whet.jit.trace(f)
    for seed in (0, 0, 1, 2):
        x = nt_of(seed)
        assert bits(traced(x, weight)) == bits(f(x, weight))
    assert replays(traced) >= 2


def test_gradients_that_leave_a_trace():
    x = nt_of().requires_grad_()
    traced = whet.jit.trace(lambda d: (x * d).square())
    seen = []
    for f in (traced, traced, traced, lambda d: (x * d).square()):
        x.grad = None
        f(whet.arange(4.)).sum().backward()
        seen.append(bits(x.grad))
    assert len(set(seen)) == 1 and replays(traced) == 2


def test_an_attribute_that_is_exchanged_or_written_to_is_noticed():
    class Holder:
        pass
    held = Holder()
    held.x = nt_of()
    traced = whet.jit.trace(lambda: held.x.sum(1))
    changes = {3: lambda: setattr(held, "x", nt_of(5)), 5: lambda: held.x.values().mul_(2),
               7: lambda: held.x.mul_(3), 9: lambda: setattr(held, "x", nt_of(5, (2, 2, 5))),
               11: lambda: setattr(held, "x", held.x.mT)}
    for i in range(13):
        changes.get(i, lambda: None)()
        if i < 11:
            assert bits(traced()) == bits(held.x.sum(1)), i
    assert replays(traced) >= 5


class Model(nn.Module):
    def __init__(self, width=8, heads=2):
        super().__init__()
        self.table, self.heads = nn.Embedding(20, width), heads
        self.norm, self.qkv = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.up, self.out = nn.Linear(width, width), nn.Linear(width, 3)

    def forward(self, ids):
        x = self.table(ids)
        q, k, v = (y.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for y in self.qkv(self.norm(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(-2)
        x = x + F.dropout(F.gelu(self.up(y)), 0.1, self.training)
        return self.out(x.mean(1))


def trained(traced):
    whet.manual_seed(0)
    model = Model()
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(ids, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(ids), y)
        loss.backward()
        optimizer.step()
        return loss
    f = whet.jit.trace(step) if traced else step
    rng, losses = np.random.default_rng(0), []
    for lengths in [(3, 1, 5)] * 6 + [(2, 6, 4), (3, 1, 5), (2, 6, 4)]:
        ids = nested.nested_tensor([rng.integers(0, 20, n) for n in lengths])
        losses.append(f(ids, whet.tensor([0, 2, 1])).item())
    if traced:
        assert replays(f) >= 3, f
    return losses, [bits(p) for p in model.parameters()]


def test_a_model_trains_with_eagers_bits():
    assert trained(True) == trained(False)
