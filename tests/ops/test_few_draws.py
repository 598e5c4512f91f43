"""Draws of a few numbers, which machine code makes: the numbers are those of any other draw."""
import threading

import numpy as np
import pytest
import whet
from whet.ops.multinomial import _picked
from whet.ops.random import DRAWS, FEW, OPS, draw_op

SEED = (1 << 63) + 12345         # more than a double, or an int64, can hold


@pytest.mark.parametrize("kind", OPS)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 7, 64, FEW - 1, FEW, FEW + 4])
def test_the_numbers_are_those_of_any_draw(kind, n):
    for i in range(4):                       # the second one is remembered
        g = whet.Generator().manual_seed(SEED + i)
        g.take(7 * i)
        drawn = draw_op(g, OPS[kind], (n,))
        right = DRAWS[kind](n, SEED + i, 7 * i)
        assert drawn.numpy().dtype == right.dtype and np.array_equal(drawn.numpy(), right)
        assert g.take(0)[1] == 7 * i + OPS[kind].blocks((n,))
        assert not drawn.requires_grad and drawn.is_leaf


def test_a_position_may_be_far_on():
    for far in ((1 << 53) + 1, (1 << 62) + 5):
        for _ in range(3):
            g = whet.Generator().manual_seed(3)
            g.take(far)
            assert np.array_equal(whet.rand(8, generator=g).numpy(), DRAWS["uniform32"](8, 3, far))


def test_draws_of_one_stream_follow_each_other():
    g = whet.Generator().manual_seed(1)
    parts = whet.cat([whet.randn(4, generator=g) for _ in range(8)])
    g.manual_seed(1)
    again = [whet.randn(4, generator=g) for _ in range(8)]
    assert parts.equal(whet.cat(again)) and len({x[0].item() for x in again}) == 8


def test_sizes_of_as_many_numbers_are_told_apart():
    for _ in range(4):
        assert whet.rand(2, 8).shape == (2, 8) and whet.rand(8, 2).shape == (8, 2)
        with whet.inference_mode():
            assert whet.rand(16).is_inference()
    many = OPS["uniform32"].makers
    for n in range(4, 4 * 300, 4):
        assert whet.rand(n).shape == (n,)
    assert len(many) <= 256


def test_threads_with_generators_of_their_own():
    right, failures = {k: DRAWS["normal32"](16, k, 0) for k in range(4)}, []

    def work(k):
        for _ in range(300):
            if not np.array_equal(
                    whet.randn(16, generator=whet.Generator().manual_seed(k)).numpy(), right[k]):
                failures.append(k)
    threads = [threading.Thread(target=work, args=(k,)) for k in right]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


@pytest.mark.parametrize("dtype", [whet.float32, whet.float64, whet.bfloat16])
def test_indices_are_drawn_where_uniform_numbers_fall_between_running_sums(dtype):
    weights = whet.tensor([[0.0, 1.0, 0.0, 3.0, 0.0], [2.0, 0.0, 0.0, 0.0, 0.0]], dtype=dtype)
    drawn = whet.multinomial(weights, 50, replacement=True,
                             generator=whet.Generator().manual_seed(7)).numpy()
    u = whet.rand(2, 50, dtype=whet.float64, generator=whet.Generator().manual_seed(7)).numpy()
    assert np.array_equal(drawn[0], np.where(u[0] * 4 < 1, 1, 3)) and not drawn[1].any()


def test_a_number_that_is_rounded_to_the_sum_draws_what_has_a_weight():
    edges = whet.tensor([[0.5, 1.0, 1.0, 1.0]], dtype=whet.float64)
    u = whet.tensor([[1.0, 0.5, 0.25]], dtype=whet.float64)
    assert _picked(edges, edges[:, -1:], u).tolist() == [[1, 1, 0]]


def test_rows_of_no_weights_are_named():
    for shape in ((0,), (2, 0)):
        with pytest.raises(RuntimeError, match="sum of probabilities <= 0"):
            whet.multinomial(whet.zeros(shape), 1, replacement=True)
