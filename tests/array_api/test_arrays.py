"""Arrays of the standard are tensors: what differs, what stays, and what others make of them."""
import copy
import pickle

import numpy as np
import pytest
import whet

xp = whet.array_api


def test_a_number_of_another_width_counts_when_types_meet():
    narrow, wide = xp.ones(2, dtype=xp.float32), xp.asarray(1.0, dtype=xp.float64)
    assert (narrow + wide).dtype is (wide - narrow).dtype is xp.float64
    assert xp.multiply(narrow, wide).dtype is xp.float64
    plain = whet.ones(2) + whet.tensor(1.0, dtype=whet.float64)
    assert plain.dtype is whet.float32 and type(plain) is whet.Tensor


def test_products_of_two_types():
    assert (xp.ones((2, 2), dtype=xp.float32) @ xp.ones(
        (2, 2), dtype=xp.float64)).dtype is xp.float64


def test_slices_run_backwards():
    x = np.arange(24).reshape(2, 3, 4)
    for key in (np.s_[::-1], np.s_[:, ::-2], np.s_[..., 2:0:-1], np.s_[1, None, ::-1,
                                                                       3], np.s_[::-1, ..., ::-3]):
        assert np.array_equal(np.asarray(xp.asarray(x)[key]), x[key])
        ours, theirs = xp.asarray(x, copy=True), x.copy()
        ours[key], theirs[key] = xp.asarray(x[key] * 2), x[key] * 2
        assert np.array_equal(np.asarray(ours), theirs)


def test_size_counts_elements_and_still_gives_sizes():
    x = xp.ones((2, 3))
    assert x.size == 6 and x.size(1) == 3 and tuple(x.size()) == (2, 3)


def test_functions_keep_what_they_are_given():
    assert type(xp.sum(whet.ones(2))) is whet.Tensor
    assert type(xp.sum(xp.ones(2))) is xp.Array
    assert all(type(x) is xp.Array for x in xp.unique_all(xp.ones(2)))


def test_gradients_flow():
    w = whet.ones(2, 2, requires_grad=True)
    xp.sum(xp.asarray([[1.0, 2.0], [3.0, 4.0]]) * w).backward()
    assert w.grad.tolist() == [[1, 2], [3, 4]]


def test_copies_are_arrays():
    x = xp.ones(2)
    assert type(copy.deepcopy(x)) is type(pickle.loads(pickle.dumps(x))) is xp.Array


def test_writes_in_place_keep_the_array():
    x = y = xp.ones(2)
    y += 1
    assert x is y and type(y) is xp.Array and x.tolist() == [2, 2]


def test_array_api_compat():
    compat = pytest.importorskip("array_api_compat")
    for x in (xp.ones(2), whet.ones(2)):
        assert compat.is_array_api_obj(x) and compat.array_namespace(x) is xp
        assert compat.size(x) == 2 and compat.device(x) == x.device
        assert compat.to_device(x, "cpu").shape == (2,)


def test_other_libraries():
    """In a process of its own: scipy asks once whether it may."""
    pytest.importorskip("scipy", "1.14")
    pytest.importorskip("array_api_compat")
    import os
    import subprocess
    import sys
    lines = """
import whet, numpy as np
from scipy import special, stats, fft, signal
xp = whet.array_api
x = xp.asarray(np.linspace(0.1, 2, 16))
for f in (special.logsumexp, special.expit, stats.skew, stats.zscore, fft.rfft, signal.detrend):
    y = f(x)
    assert type(y) is xp.Array, f
    np.testing.assert_allclose(np.asarray(y), f(np.asarray(x)), atol=1e-12)
"""
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", lines],
                         env={
                             **os.environ, "SCIPY_ARRAY_API": "1"
                         },
                         capture_output=True,
                         text=True)
    assert run.returncode == 0, run.stderr


def test_arrays_stay_arrays_in_numpys_functions():
    x = xp.asarray([3.0, 1.0, 2.0])
    for y in (np.argsort(x), np.sort(x), np.unique(x), np.add(x, 1), np.concatenate([x, x])):
        assert type(y) is xp.Array
    assert np.argsort(x)[::-1].tolist() == [0, 2, 1] and np.unique(x).size == 3
    assert type(np.sort(whet.ones(2))) is whet.Tensor


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="it does not ask")
def test_numpy_takes_types_for_its_own():
    assert np.dtype(xp.float32) == np.float32 and np.zeros(2, dtype=whet.int8).dtype == np.int8
    assert np.ones(2).astype(xp.complex64).dtype == np.complex64
    assert np.can_cast(whet.int32, whet.float64)


def test_types_of_numpys_are_understood():
    assert xp.astype(xp.ones(2), np.dtype("int32")).dtype is xp.int32


def test_products_over_axes_that_are_not_there_are_errors():
    x = xp.reshape(xp.arange(6), (2, 3))
    assert xp.prod(x + 1, axis=(0, -1), keepdims=True).tolist() == [[720]]
    assert xp.prod(x, axis=()) is not x and xp.prod(x, axis=()).tolist() == x.tolist()
    for axis, error in ((2, IndexError), ((0, -3), IndexError), ((0, -2), ValueError)):
        with pytest.raises(error):
            xp.prod(x, axis=axis)
