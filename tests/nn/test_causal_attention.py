"""Causal attention of many queries, which is computed by panels of them."""
import math
import random

import pytest
import whet
from whet import jit
from whet.autograd import modes
from whet.jit.policy import account
from whet.nn.functional import scaled_dot_product_attention as attention
from whet.ops.attention import PANEL

LENGTHS = [2 * PANEL, 2 * PANEL + 1, 300, 383, 511, 512, 640, 777, 1024, 1025]


def of_all_at_once(q, k, v):
    """The same without panels, as it is exported."""
    modes.state.exports = True
    try:
        return attention(q, k, v, is_causal=True)
    finally:
        modes.state.exports = False


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", [whet.float32, whet.float64, whet.bfloat16])
def test_the_bits_are_those_of_all_at_once(length, dtype):
    rng = random.Random(length)
    batch, width, out = rng.choice([(), (1,), (2, 3)]), rng.choice([1, 7, 16, 64]), 5
    q, k = (whet.randn(*batch, length, width).to(dtype) for _ in range(2))
    v = whet.randn(*batch, length, out).to(dtype)
    assert attention(q, k, v, is_causal=True).equal(of_all_at_once(q, k, v))


def test_it_is_right():
    q, k, v = (whet.randn(2, 400, 8, dtype=whet.float64) for _ in range(3))
    scores = (q @ k.mT / math.sqrt(8)).masked_fill(~whet.ones(400, 400, dtype=whet.bool).tril(),
                                                  -math.inf)
    wanted = scores.softmax(-1) @ v
    assert whet.allclose(attention(q, k, v, is_causal=True), wanted, rtol=1e-12, atol=1e-12)
    for t in (q, k, v):
        t.requires_grad_()
    assert attention(q, k, v, is_causal=True).equal(attention(*(t.detach() for t in (q, k, v)),
                                                             is_causal=True))


def test_one_recording_serves_many_lengths(monkeypatch):
    monkeypatch.setattr(account, "GRACE", math.inf)

    def fn(x):
        return attention(x, x * 0.5, x * 2, is_causal=True)
    f, rng = jit.trace(fn), random.Random(0)
    for length in [300, 300, 310, 320, *(rng.randrange(260, 1300) for _ in range(10))]:
        x = whet.randn(2, length, 8)
        assert f(x).equal(fn(x)), length
    assert f._calls.policy.summary().unseen > 5
