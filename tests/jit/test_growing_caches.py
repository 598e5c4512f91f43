"""Objects among the arguments whose tensors grow from call to call: caches of keys and values."""
import abc
import dataclasses

import pytest
import whet
import whet.nn.functional as F
from whet import nn

from tests.jit.ledgers import calls_of, served
from tests.jit.table_calls import compiled, hits, never_slow

STEPS, PROMPTS = 20, 4


pytestmark = pytest.mark.usefixtures("replays_count_as_faster")


class Lists:
    """A list of keys and one of values, with a tensor for each layer."""
    def __init__(self):
        self.keys, self.values, self.seen = [], [], 0

    def update(self, k, v, layer):
        if layer == 0:
            self.seen += k.shape[-2]
        if layer == len(self.keys):
            self.keys.append(k)
            self.values.append(v)
        else:
            self.keys[layer] = whet.cat([self.keys[layer], k], -2)
            self.values[layer] = whet.cat([self.values[layer], v], -2)
        return self.keys[layer], self.values[layer]

    def length(self):
        return self.seen

    def held(self):
        return [*self.keys, *self.values]


class AnyLayer(abc.ABC):
    """What layers of a cache have in common."""
    def __init__(self):
        self.keys = self.values = None

    @abc.abstractmethod
    def update(self, k, v):
        """The keys and values with these."""


class GrowingLayer(AnyLayer):
    """A layer's keys and values, which begin empty."""
    def update(self, k, v):
        if self.keys is None:
            self.dtype, self.device = k.dtype, k.device
            self.keys = self.values = whet.tensor([], dtype=k.dtype)
        self.keys = whet.cat([self.keys, k], -2)
        self.values = whet.cat([self.values, v], -2)
        return self.keys, self.values


class Layers:
    """A cache whose layers are objects of a class that it is given."""
    def __init__(self, kind=GrowingLayer):
        self.layers, self.kind = [], kind

    def update(self, k, v, layer):
        while len(self.layers) <= layer:
            self.layers.append(self.kind())
        return self.layers[layer].update(k, v)

    def length(self):
        return self.layers[0].keys.shape[-2] if self.layers else 0

    def held(self):
        return [t for layer in self.layers for t in (layer.keys, layer.values)]


@dataclasses.dataclass
class Output:
    """What the model gives: fields are found by their names."""
    logits: whet.Tensor | None = None
    past: object | None = None

    def parts(self):
        return [getattr(self, f.name) for f in dataclasses.fields(self)]


class Attention(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer, self.qkv, self.out = layer, nn.Linear(16, 48), nn.Linear(16, 16)

    def forward(self, x, past):
        shape = *x.shape[:2], 3, 2, 8
        q, k, v = self.qkv(x).view(shape).permute(2, 0, 3, 1, 4)
        k, v = past.update(k, v, self.layer)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=q.shape[2] > 1)
        return self.out(y.transpose(1, 2).reshape(x.shape))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(20, 16), nn.Embedding(64, 16)
        self.layers = nn.ModuleList([Attention(i) for i in range(2)])
        self.head = nn.Linear(16, 20)

    def forward(self, ids, past):
        n = past.length()
        x = self.embed(ids) + self.place(whet.arange(n, n + ids.shape[1]))
        for layer in self.layers:
            x = x + layer(x, past)
        return Output(self.head(x[:, -1]), past)


def pair(model):
    def step(ids, past):
        out = model(ids, past)
        return out.logits, out.past
    return step


def only_logits(model):
    return lambda ids, past: model(ids, past).logits


def by_fields(model):
    def step(ids, past):
        return model(ids, past).parts()
    return step


def generated(make, kind, trace):
    """All that some prompts lead to, the traced function, and whether caches are given back."""
    whet.manual_seed(0)
    f, found = trace(make(Model().eval())), []
    with whet.no_grad():
        for n in range(PROMPTS):
            past, ids = kind(), whet.randint(20, (1, 4 + n % 2))
            for _ in range(STEPS):
                out = f(ids, past)
                logits = out if whet.is_tensor(out) else out[0]
                assert logits is out or out[1] is past
                found.append([x.numpy().tobytes() for x in (logits, *past.held())])
                ids = logits.argmax(-1, keepdim=True)
    return found, f


@pytest.mark.parametrize("make", [pair, only_logits, by_fields])
@pytest.mark.parametrize("kind", [Lists, Layers])
def test_a_cache_that_grows(make, kind):
    want, _ = generated(make, kind, lambda f: f)
    got, traced = generated(make, kind, whet.jit.trace)
    assert want == got
    assert served(traced) >= 0.8 * STEPS * PROMPTS and calls_of(traced)["recorded"] <= 12
    assert kind.__name__ in str(traced._calls.learned.arguments.objects.records)
    assert traced.explain() and traced.explain(full=True)


@compiled
def test_calls_that_write_to_what_they_are_given_are_compared_by_tables(monkeypatch):
    never_slow(monkeypatch)
    _, traced = generated(pair, Lists, whet.jit.trace)
    assert hits(traced) >= 0.3 * STEPS * PROMPTS
