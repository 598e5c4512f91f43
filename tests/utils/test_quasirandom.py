"""Sobol sequences: the published points, evenly in each part, scrambled or not."""
import copy

import numpy as np
import pytest
import whet
from whet.quasirandom import SobolEngine

pytest.importorskip("scipy")


def test_the_first_points():
    engine = SobolEngine(3)
    assert engine.draw(4).tolist() == [[0, 0, 0], [0.5, 0.5, 0.5], [0.75, 0.25, 0.25],
                                       [0.25, 0.75, 0.75]]
    assert engine.fast_forward(2).draw(2).tolist() == [[0.625, 0.125, 0.875],
                                                       [0.125, 0.625, 0.375]]
    assert engine.num_generated == 8 and engine.reset().draw().tolist() == [[0, 0, 0]]


def test_points_of_many_dimensions_are_scipys():
    from scipy.stats.qmc import Sobol
    wanted = Sobol(300, scramble=False, bits=30).random(128)
    engine = SobolEngine(300)
    parts = [engine.draw(n, dtype=whet.float64).numpy() for n in (5, 59, 64)]
    assert (np.concatenate(parts) == wanted).all()


@pytest.mark.parametrize("scramble", [False, True])
def test_points_are_in_balance(scramble):
    points = SobolEngine(4, scramble=scramble, seed=5).draw_base2(8, dtype=whet.float64).numpy()
    assert (0 <= points).all() and (points < 1).all()
    for k in range(4):
        assert (np.bincount((points[:, k] * 256).astype(int), minlength=256) == 1).all()
    cells = (points[:, 0] * 16).astype(int) * 16 + (points[:, 1] * 16).astype(int)
    assert (np.bincount(cells, minlength=256) == 1).all()


def test_scrambled_sequences_go_by_their_seed():
    a, b, c = (SobolEngine(2, scramble=True, seed=s).draw(8) for s in (1, 1, 2))
    assert whet.equal(a, b) and not whet.equal(a, c)
    assert repr(SobolEngine(2, True, 3)) == "SobolEngine(dimension=2, scramble=True, seed=3)"


def test_state_arguments_and_errors():
    engine = SobolEngine(2)
    engine.draw(3)
    assert whet.equal(copy.deepcopy(engine).draw(2), engine.draw(2))
    out = whet.empty(0)
    assert SobolEngine(2).draw(3, out=out) is out and out.shape == (3, 2)
    with pytest.raises(ValueError, match="power of 2"):
        engine.draw_base2(2)
    for dimension in 0, 21202:
        with pytest.raises(ValueError, match="dimensionality"):
            SobolEngine(dimension)
    traced = whet.jit.trace(lambda x: x + SobolEngine(2).draw(2)[1])
    for _ in range(3):
        assert traced(whet.zeros(2)).tolist() == [0.5, 0.5]
