"""Calls of sizes that were never seen, replayed without a run: training steps, numbers that vary,
random numbers, slices. Each call is compared with eager mode's, with all that it leaves behind."""


import pytest
import whet
import whet.nn.functional as F
from whet import jit
from whet.jit.tables import native_table

from tests import fuzz_harness, fuzz_sizes

SIZES = [20, 31, 40, 33, 16, 15, 17, 64, 65, 127, 3, 255, 257, 2, 1, 40, 300]


pytestmark = pytest.mark.usefixtures("never_sounded")


def bits(*tensors):
    return [(tuple(t.shape), t.stride(), t.detach().numpy().tobytes()) for t in tensors]


class Twice:
    """One program on two models, eager and traced; `make` gives (function, tensors that it may
    change)."""

    def __init__(self, make):
        (self.eager, self.mine), (fn, self.theirs) = (self.made(make) for _ in range(2))
        self.traced = jit.trace(fn)

    @staticmethod
    def made(make):
        whet.manual_seed(0)
        return make()

    def __call__(self, *args):
        state = whet.default_generator.get_state()
        a, after = self.eager(*args), whet.default_generator.get_state()
        whet.default_generator.set_state(state)
        b = self.traced(*args)
        assert bits(a, *self.mine) == bits(b, *self.theirs)
        assert bits(after) == bits(whet.default_generator.get_state())

    @property
    def unseen(self):
        return self.traced._calls.policy.summary().unseen


def language():
    """A step of a small language model, with a schedule that goes on at each step."""
    class Model(whet.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.norm = whet.nn.Embedding(32, 16), whet.nn.LayerNorm(16)
            self.qkv, self.head = whet.nn.Linear(16, 48), whet.nn.Linear(16, 32)

        def forward(self, tokens):
            x = self.embed(tokens)
            q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
            x = x + F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.head(F.dropout(x, 0.1))
    model = Model()
    optimizer = whet.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = whet.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=100)

    def fn(tokens):
        loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss.detach()
    return fn, list(model.parameters())


def masked():
    """A step of a transformer layer over padded batches."""
    layer = whet.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    optimizer = whet.optim.SGD(layer.parameters(), lr=1e-3, momentum=0.9)

    def fn(x, mask):
        loss = layer(x, src_key_padding_mask=mask).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()
    return fn, list(layer.parameters())


@pytest.mark.skipif(native_table.enter is None, reason="there is no machine code for calls")
def test_one_table_is_the_pattern_of_those_of_all_sizes(monkeypatch):
    """Weights that lie elsewhere meanwhile are found: then a table is made in full."""
    gathered, made = native_table.table, []

    def table(*args):
        made.append(args)
        return gathered(*args)
    monkeypatch.setattr(native_table, "table", table)
    step = Twice(masked)
    for n in range(40, 64):
        step(whet.randn(3, n, 16), whet.arange(n).expand(3, n) > n - 3)
    assert len(made) <= 6 and step.unseen >= 15
    for weights in (step.mine, step.theirs):
        weights[0].data = weights[0].data.clone() * 0.5
    for n in (41, 45, 70, 71, 45, 41, 46):
        step(whet.randn(3, n, 16), whet.arange(n).expand(3, n) > n - 3)


def test_a_step_of_a_language_model_with_a_schedule():
    step = Twice(language)
    for n in SIZES[:12]:
        step(whet.randint(32, (3, n + 1)))
    assert step.unseen > 4


def of_optimizer(name):
    """A step of two layers by an optimizer of this name."""
    def make():
        layers = whet.nn.Sequential(whet.nn.Linear(6, 8, bias=False), whet.nn.Tanh(),
                                    whet.nn.Linear(8, 3, bias=False))
        optimizer = getattr(whet.optim, name)(layers.parameters())

        def fn(x):
            optimizer.zero_grad()
            loss = layers(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach()
        return fn, list(layers.parameters())
    return make


@pytest.mark.parametrize("name", """ASGD Adadelta Adafactor Adagrad Adam AdamW Adamax Muon NAdam
                                    RAdam RMSprop Rprop SGD""".split())
def test_a_step_of_each_optimizer(name):
    step = Twice(of_optimizer(name))
    for n in SIZES[:10]:
        step(whet.randn(n, 6))
    assert step.unseen > 3


def phases():
    """A step that goes another way from its 25th call on, as a schedule of phases does."""
    layer = whet.nn.Linear(8, 8)
    optimizer = whet.optim.SGD(layer.parameters(), lr=1e-3)
    calls = 0

    def fn(x):
        nonlocal calls
        calls += 1
        y = layer(x)
        loss = (y.tanh() if calls < 25 else y * y).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()
    return fn, list(layer.parameters())


def test_another_way_of_sizes_that_are_known_is_recorded_once_for_all():
    step = Twice(phases)
    for _ in range(4):
        for n in range(20, 30):
            step(whet.randn(n, 8))
    book = step.traced._calls.policy.summary()
    assert book.recorded + book.resized <= 7 and book.unseen >= 12


def test_a_step_over_padded_batches():
    step = Twice(masked)
    for n in SIZES[:12]:
        mask = whet.zeros(3, n + 1, dtype=whet.bool)
        mask[0, -1] = True
        step(whet.randn(3, n + 1, 16), mask)
    assert step.unseen > 4


def convolutional():
    """A step of a small network for images."""
    model = whet.nn.Sequential(
        whet.nn.Conv2d(1, 4, 3, padding=1), whet.nn.BatchNorm2d(4), whet.nn.ReLU(),
        whet.nn.MaxPool2d(2), whet.nn.Conv2d(4, 6, 3, stride=2, padding=1), whet.nn.ReLU(),
        whet.nn.ConvTranspose2d(6, 5, 2), whet.nn.AdaptiveAvgPool2d(1), whet.nn.Flatten())
    optimizer = whet.optim.SGD(model.parameters(), lr=0.1)

    def fn(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()
    return fn, [*model.parameters(), *model.buffers()]


def test_a_convolutional_step_over_batches_of_any_size():
    step = Twice(convolutional)
    for n in SIZES[:14]:
        step(whet.randn(n, 1, 12, 14), whet.randint(0, 5, (n,)))
    assert step.unseen > 6


@pytest.mark.parametrize("draw", [
    lambda x: F.dropout(x, 0.4),
    lambda x: x + whet.rand(5),
    lambda x: F.dropout(x[:, 0], 0.5) + whet.randn_like(x[:, 1]),
])
def test_random_numbers_are_eagers_at_each_size(draw):
    f = Twice(lambda: (whet.no_grad()(draw), []))
    for n in SIZES:
        f(whet.randn(n, 5))
    assert f.unseen > 6


def test_numbers_that_vary_with_sizes():
    f = Twice(lambda: (whet.no_grad()(lambda x, s: (x * s).softmax(-1) + s), []))
    for i, n in enumerate(SIZES):
        f(whet.randn(n, 4), i * 0.25)
    assert f.unseen > 6


@pytest.mark.parametrize("part", [
    lambda x: x[:40] * 2,
    lambda x: x[30:].sum(0),
    lambda x: x[-3:] + 1,
    lambda x: x[2:-2:3].exp(),
    lambda x: x[-1] * x[0],
    lambda x: whet.cat([x[1:], x[:1]]) * 2,
])
def test_slices_mean_the_same_at_each_size(part):
    f = Twice(lambda: (whet.no_grad()(part), []))
    for n in (36, 37, 38, 39, 40, 41, 42, 20, 31, 30, 29, 3, 2, 4, 5, 100, 1):
        f(whet.randn(n, 3))


def test_a_mask_that_goes_by_sizes_alone():
    def attention(q):
        return F.scaled_dot_product_attention(q[None], q[None], q[None], is_causal=True)
    f = Twice(lambda: (whet.no_grad()(attention), []))
    for n in (20, 30, 40, 300, 255, 256, 257, 17, 600):
        f(whet.randn(n, 8))
    assert f.unseen > 3


def test_a_bad_index_is_an_error_at_a_size_that_never_ran():
    w = whet.randn(8, 4)
    f = jit.trace(whet.no_grad()(lambda i: F.embedding(i, w) * 2))
    for n in (10, 11, 12, 13):
        f(whet.arange(n) % 8)
    assert f._calls.policy.summary().unseen
    with pytest.raises(IndexError):
        f(whet.arange(14))


def test_drawn_programs_over_drawn_sizes():
    found = fuzz_harness.search(fuzz_sizes.Program, 11, 6, seconds=60)
    assert found.programs == 6 and not found.wrong and found.counts["replayed"]


def averaged():
    """A step whose backward divides a product by a size, and that keeps some of its losses."""
    first, last = whet.nn.Linear(8, 8), whet.nn.Linear(8, 2)
    parameters = [*first.parameters(), *last.parameters()]
    state, log = {"step": 0}, []

    def fn(x):
        for p in parameters:
            p.grad = None
        loss = last(first(x).tanh().mean(1)).square().sum()
        loss.backward()
        state["step"] += 1
        if state["step"] % 10 == 0:
            log.append(loss.item())
        return whet.stack([loss.detach(), *(p.grad.sum() for p in parameters)])
    return fn, []


def test_a_product_that_is_divided_by_a_size_after_which_a_list_may_grow():
    step = Twice(averaged)
    for n in range(20, 45):
        step(whet.randn(3, n, 8))
    assert step.unseen > 12


MASK = whet.ones(24, 24).tril().bool()


def check_growing(step):
    """A step of something new and a cache of keys, which it gives at last, one longer: most calls
    replay."""
    f, keys = jit.trace(step), whet.ones(1, 1, 4)
    for k in range(20):
        x = whet.full((1, 1, 4), k / 8)
        now = f(x, keys)
        assert bits(*now) == bits(*step(x, keys))
        keys = now[-1]
    assert f._calls.policy.summary().replayed > 10


@pytest.mark.parametrize("mask", [MASK[None], MASK.view(1, 24, 24), MASK.expand(1, 24, 24)])
def test_a_mask_that_is_a_view_with_a_dimension_of_one_element(mask):
    """A cache of keys that grows, under a mask as GPT-2 keeps it: the stride along the one element
    is what the view made it."""
    def step(x, keys):
        keys = whet.cat((keys, x), 1)
        n = keys.size(1)
        seen = whet.where(mask[:, n - 1:n, :n], x @ keys.mT, -1e9)
        return seen.softmax(-1) @ keys, keys

    check_growing(step)


def test_an_argument_with_a_stride_of_its_own_along_one_element():
    def step(x):
        return x * 2, x.softmax(-1), x.mT @ x, x.sum(-1), x.argmax(-1)
    f = jit.trace(step)
    for n in (*range(2, 20), 40, 1, 0, 5):
        x = whet.arange(4.0 * n).view(n, 4)[None]
        found, wanted = f(x), step(x)
        assert bits(*found) == bits(*wanted)
        assert [y.stride() for y in found] == [y.stride() for y in wanted]
    assert f._calls.policy.summary().replayed > 10


def test_positions_that_go_on_from_a_cache():
    """Of what is new: they begin at a size."""
    def step(x, keys):
        past = keys.size(1)
        places = whet.arange(past, past + x.size(1))
        keys = whet.cat((keys, x * places[:, None].sin()), 1)
        return keys.sum(1), whet.arange(keys.size(1) - 1, -1, -1), keys

    check_growing(step)
