"""Products that follow each other, with what is done to rows between them, block by block of
rows: eager's bits, and less memory."""
import numpy as np
import pytest
import whet
from whet import jit
from whet.cpu import thread_pool
from whet.passes import chain_products

rng = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def of_any_size(monkeypatch):
    monkeypatch.setattr(chain_products, "LEAST", 0)


@pytest.fixture
def threads():
    before = thread_pool.get_num_threads()
    yield thread_pool.set_num_threads
    thread_pool.set_num_threads(before)


def numbers(*shape, dtype="f4", mix=False):
    """Numbers; `mix`: in an order of axes of their own."""
    x = rng.standard_normal(shape)
    if mix:
        order = rng.permutation(len(shape))
        return whet.tensor(np.ascontiguousarray(
            x.transpose(order)).astype(dtype)).permute(*np.argsort(order).tolist())
    return whet.tensor(x.astype(dtype))


def traced(f, *xs):
    """The replayed result and the trace; the result has eager's bits."""
    t = jit.trace(f)
    for _ in range(3):
        got = t(*xs)
    assert (np.asarray(got.detach()).tobytes() == np.asarray(f(*xs).detach()).tobytes()
            and not t._why)
    return got, t


def chained(t):
    return [n for n in t.graph.nodes if n.kind == "chain"]


def attention(q, k, v):
    return (q @ k.swapaxes(-1, -2) * 0.125).softmax(-1) @ v


def perceptron(x, a, b, c, d):
    return whet.nn.functional.gelu(x @ a + b, approximate="tanh") @ c + d


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(1, 65, 16), (3, 97, 33), (5, 300, 64), (2, 3, 130, 8)])
def test_attention_has_eager_bits(shape, dtype, count, threads):
    threads(count)
    *_, n, d = shape
    keys = (*shape[:-2], n + 7, d)
    xs = (numbers(*shape, dtype=dtype, mix=count
                  > 1), numbers(*keys, dtype=dtype), numbers(*keys, dtype=dtype, mix=count > 2))
    _, t = traced(attention, *xs)
    node, = chained(t)
    assert ([m.kind if m.kind == "rows" else "product"
             for m in node.members] == ["product", "rows", "product"])


@pytest.mark.parametrize("count", [1, 3])
def test_other_chains_have_eager_bits(count, threads):
    threads(count)
    x, a, b, c, d = numbers(203, 40), numbers(40, 300), numbers(300), numbers(300, 17), numbers(17)
    _, t = traced(perceptron, x, a, b, c, d)
    assert len(chained(t)) == 1
    mask = numbers(2, 1, 90, 90)
    q, k, v, w = (numbers(2, 3, 90, 16), numbers(2, 3, 90, 16), numbers(2, 3, 90, 16),
                  numbers(2, 3, 16, 24))
    _, t = traced(lambda q, k, v, mask: (q @ k.swapaxes(-1, -2) * 0.125 + mask).softmax(-1) @ v, q,
                  k, v, mask)
    assert len(chained(t)) == 1
    _, t = traced(lambda q, k, v, w: whet.nn.functional.layer_norm(attention(q, k, v), (16,)) @ w,
                  q, k, v, w)
    assert [len(n.members) for n in chained(t)] == [5]
    halves = [y.to(whet.bfloat16) for y in (q, k, v)]
    _, t = traced(attention, *halves)
    assert len(chained(t)) == 1
    _, t = traced(lambda x, a, c: (x @ a).exp().sum(-1, keepdim=True) + (x @ a) @ c, x * 0.1, a, c)


def test_a_chain_holds_a_few_rows_of_what_is_between(threads):
    threads(1)
    q, k, v = (numbers(4, 700, 16) for _ in range(3))
    _, t = traced(attention, q, k, v)
    with whet.passes.pipeline.without("chain_products"):
        _, apart = traced(attention, q, k, v)
    assert len(chained(t)) == 1 and not chained(apart)
    arena = [x.explain(data=True)["paths"][0]["memory"]["arena"] for x in (t, apart)]
    assert arena[0] < 1 << 21 and arena[1] > 4 * 700 * 700 * 4


def test_what_is_wanted_in_between_stays(threads):
    q, k, v = (numbers(2, 80, 16) for _ in range(3))

    def weights_too(q, k, v):
        p = (q @ k.swapaxes(-1, -2)).softmax(-1)
        return whet.cat([p @ v, p[..., :16]], -1)
    _, t = traced(weights_too, q, k, v)
    assert not chained(t)

    def written_between(q, k, v):
        p = (q @ k.swapaxes(-1, -2)).softmax(-1)
        total = k.sum()
        k.fill_(0.5)
        return p @ v + total
    _, t = traced(written_between, q, k, v)
    assert not chained(t)
    t = jit.trace(attention)
    for x in (q, k, v):
        x.requires_grad_(True)
    t(q, k, v).sum().backward()
    t(q, k, v).sum().backward()
    assert not t._why


def test_a_product_of_one_row_or_column_is_done_apart():
    for q, k, v in ((((2, 1, 16), (2, 80, 16), (2, 80, 16)), ((2, 80, 16), (2, 80, 16), (2, 80, 1)),
                     ((40, 2, 16), (40, 80, 16), (40, 80, 16)))):
        traced(attention, numbers(*q), numbers(*k), numbers(*v))
