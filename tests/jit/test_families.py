"""Recordings for sizes that were never seen, made without a run: the bits of eager mode, and a run
where it takes one."""
import math
import random

import pytest
import whet
import whet.nn.functional as F
from whet import jit
from whet.jit.policy import account
from whet.jit.program import sheets
from whet.jit.replay import families


@pytest.fixture(autouse=True)
def generous(monkeypatch):
    """All recordings are worth while."""
    monkeypatch.setattr(account, "GRACE", math.inf)
    monkeypatch.setattr(account, "SOUNDING", 1 << 30)


W, B = whet.linspace(-1, 1, 24 * 16).reshape(24, 16), whet.linspace(0, 1, 24)
NORM = whet.nn.LayerNorm(16)


@whet.no_grad()
def attention(x):
    return (x @ x.t() * 0.25).softmax(-1) @ x


@whet.no_grad()
def perceptron(x):
    return F.gelu(F.linear(NORM(x), W, B)).log_softmax(-1)


@whet.no_grad()
def joined(x):
    y = whet.cat([x, x * 2], 0)
    return y, y[:7].sum(0), y.t() * 2, x[:9] + 1, x[0]


@whet.no_grad()
def reduced(x):
    return x.sum(), x.mean(0), x.amax(1), (x - x.mean()).abs().max(0)[0]


@whet.no_grad()
def gathered(x):
    index = (x[:, 0] * 0).long()
    return whet.zeros_like(x).index_add(0, index, x * 2), x[index] + 1


@whet.no_grad()
def moved(x):
    return (
        x.view(-1, 4, 4).transpose(0, 1).reshape(4, -1),
        whet.zeros_like(x) + x,
        x.unsqueeze(0).expand(3, -1, -1) * 2,
    )


@whet.no_grad()
def halves(x):
    a, *b = x.split(4)
    return a * 2, [y + 1 for y in b]


def tensors(out):
    return [t for x in out for t in tensors(x)] if isinstance(out, tuple | list) else [out]


def same(a, b):
    a, b = tensors(a), tensors(b)
    assert len(a) == len(b)
    for x, y in zip(a, b):
        assert (x.shape, x.stride(), x.dtype) == (y.shape, y.stride(), y.dtype)
        assert x.numpy().tobytes() == y.numpy().tobytes()


EDGES = [
    2,
    3,
    4,
    7,
    8,
    9,
    12,
    13,
    15,
    16,
    17,
    28,
    29,
    31,
    32,
    33,
    47,
    48,
    63,
    64,
    65,
    100,
    127,
    128,
    129,
    300,
    1000,
    1,
    2049,
]


@pytest.mark.parametrize("first", [(20, 21), (3, 300)])
@pytest.mark.parametrize("fn", [attention, perceptron, joined, reduced, gathered, moved])
def test_each_size_gives_what_eager_gives(fn, first):
    f = jit.trace(fn)
    sizes = [*first, *random.Random(0).sample(EDGES, len(EDGES))]
    for n in sizes + sizes[:9]:
        x = whet.randn(n, 16)
        same(f(x), fn(x))
    ledger = f._calls.policy.summary()
    if first == (20, 21) or fn not in (joined, moved):       # (at 3 a slice of 9 is another one)
        assert (
            ledger.unseen > len(sizes) // 2 and ledger.recorded + ledger.resized <= len(sizes) // 3
        ), ledger


def test_a_library_function_that_looks_at_sizes_is_run():
    f = jit.trace(halves)
    for n in (3, 4, 8, 9, 20, 5):
        x = whet.randn(n, 16)
        for _ in range(2):
            same(f(x), halves(x))
    assert f._calls.policy.summary().unseen == 0


def test_a_function_that_is_told_a_size_is_run():
    runs = []

    @whet.no_grad()
    def fn(x):
        if x.shape[0] > 50:
            x = x * 2
        return x + 1
    f = jit.trace(fn)
    for n in (20, 30, 40, 60, 45, 70):
        x = whet.randn(n, 4)
        same(f(x), fn(x))
    assert f._calls.policy.summary().unseen == 0 and not runs


def test_a_recording_that_was_made_without_a_run_is_compared_later(monkeypatch):
    f = jit.trace(attention)
    for n in (20, 30, 31, 33):
        f(whet.randn(n, 16))
    r, = f._calls.recordings.by_key[f._calls.learned.key((whet.randn(33, 16),), {})[0]]
    assert r.unseen
    r.checks.at = 0
    r.limit()
    x = whet.randn(33, 16)
    same(f(x), attention(x))
    r, = f._calls.recordings.by_key[f._calls.learned.key((x,), {})[0]]
    assert not r.unseen and f._calls.policy.ledger.checked == 1


def test_a_wrong_plan_is_not_used(monkeypatch):
    evaluate = sheets.Sheet.program

    def wrong(self, values, recorded=None):
        p = evaluate(self, values, recorded)
        p.keep[0][1] -= 1                    # one unit of work less
        return p
    monkeypatch.setattr(sheets.Sheet, "program", wrong)
    f = jit.trace(perceptron)
    for n in (20, 30, 40, 50):
        x = whet.randn(n, 16)
        same(f(x), perceptron(x))
    families = [
        r.family for rs in f._calls.recordings.models.values() for r in rs if r.family is not None
    ]
    assert f._calls.policy.summary().unseen == 0 and families == [False]


def test_a_part_that_is_not_there_is_an_error_as_in_eager_mode():
    for fn in (lambda x: x[6] * 2, lambda x: x.narrow(0, 2, 8) + 1, lambda x: x.select(0, 5).exp()):
        f = jit.trace(whet.no_grad()(fn))
        for n in (20, 30, 31, 40):
            same(f(whet.ones(n, 4)), fn(whet.ones(n, 4)))
        assert f._calls.policy.summary().unseen
        with pytest.raises((IndexError, RuntimeError)):
            f(whet.ones(4, 4))


def test_what_is_cut_to_size_is_run():
    @whet.no_grad()
    def fn(x):
        return x[:8] * 2, x[-2:] + 1
    f = jit.trace(fn)
    for n in (5, 7, 6, 9, 12, 8):
        x = whet.randn(n, 4)
        same(f(x), fn(x))


def test_sizes_that_differ_apart_have_a_symbol_each():
    @whet.no_grad()
    def fn(q, k):
        return (q @ k.t()).softmax(-1) @ k
    f = jit.trace(fn)
    rng = random.Random(1)
    for n, m in [
        (20, 30),
        (21, 33),
        *[(rng.randrange(2, 90), rng.randrange(2, 90)) for _ in range(40)],
        (50, 50),
        (51, 51),
    ]:
        q, k = whet.randn(n, 8), whet.randn(m, 8)
        same(f(q, k), fn(q, k))
    assert f._calls.policy.summary().unseen > 30


def test_weights_that_are_written_to_are_packed_again_for_all_sizes():
    w = whet.randn(40, 16)

    @whet.no_grad()
    def fn(x):
        return F.linear(x, w)
    f = jit.trace(fn)
    for n in (50, 60, 70, 80, 70, 80, 90):
        x = whet.randn(n, 16)
        same(f(x), fn(x))
        w.mul_(0.5)
        same(f(x), fn(x))
    assert f._calls.policy.summary().unseen >= 2


def test_what_cannot_be_planned_says_why():
    f = jit.trace(lambda x: x.cumsum(0) * 2)
    for n in (20, 30, 40):
        x = whet.randn(n, 4)
        same(f(x), x.cumsum(0) * 2)
    reasons = [
        r.unsized for rs in f._calls.recordings.models.values() for r in rs if r.family is not None
    ]
    assert any(r and "cumsum" in r for r in reasons)
    assert not any(families.serves(r) for rs in f._calls.recordings.models.values() for r in rs)


def test_explain_of_a_program_for_sizes_that_never_ran():
    """Its graphs are those of the run that was recorded: types and attributes of one size."""
    def f(x, y):
        x = whet.cat([x - x.sum(-1, keepdim=True), y], 1)[:, :16]
        return x - x.mean(0, keepdim=True)
    t = jit.trace(f)
    for n in (9, 149, 237, 50):
        t(whet.ones(n, 16), whet.ones(n, 16))
    assert t.explain(data=True)["paths"]
