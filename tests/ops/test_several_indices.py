"""tensor[i, j] and tensor[i, :, j]: indices beside each other, and with a dimension between
them."""
import numpy as np
import pytest
import whet


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "c8", "c16", "i1", "i8", "?"])
@pytest.mark.parametrize("layout", [lambda a: a, lambda a: a[::-1, :, ::2], np.asfortranarray])
def test_several_indices_beside_each_other_and_apart(dtype, layout):
    a = layout(np.arange(6 * 5 * 8).reshape(6, 5, 8).astype(dtype))
    i, j = np.array([[0, -1, 3], [5, -6, 2]]), np.array([4, -5, 0])
    t = whet.tensor(a)
    for key in ((i, j), (slice(None), i % 5, j % 4), (i, slice(None), j % 4), (i, j, 0),
                (i, np.arange(2)[:, None], j % 4), (i[:0], j[:0, None])):
        asked = tuple([whet.tensor(k) if isinstance(k, np.ndarray) else k for k in key])
        for _ in range(3):                             # the second call may be machine code's
            got = t[asked].numpy()
            assert got.dtype == a.dtype and got.shape == a[key].shape
            assert got.tobytes() == a[key].tobytes()
    for key in ((i, j + 1), (i - 1, j), (i, slice(None), j + 12)):
        with pytest.raises(IndexError, match="out of bounds"):
            t[tuple([whet.tensor(k) if isinstance(k, np.ndarray) else k for k in key])]


@pytest.mark.parametrize("named", [3, 40, 700])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "c8"])
def test_few_and_many_elements_by_indices_with_a_dimension_between(named, dtype):
    """Many are read, and summed in the gradient, as slices of a table in another order."""
    rng = np.random.default_rng(named)
    a = rng.integers(-9, 9, (5, 6, 7, 3)).astype(dtype)
    i, j = rng.integers(-5, 5, (named, 2)), rng.integers(-7, 7, 2)
    t = whet.tensor(a, requires_grad=True)
    at = whet.tensor(i), slice(None), whet.tensor(j)
    want = a[i, :, j]
    weights = rng.integers(-3, 3, want.shape).astype(dtype)
    summed = np.zeros_like(a)
    np.add.at(summed, (i, slice(None), j), weights)
    for _ in range(4):
        got = t[at]
        assert np.array_equal(got.detach().numpy(), want)
        grad, = whet.autograd.grad(got, t, whet.tensor(weights))
        assert grad.is_contiguous() and np.array_equal(grad.numpy(), summed)
    at[0][-1, 0] = 5
    with pytest.raises(IndexError, match="index 5 is out of bounds for dimension 0 with size 5"):
        t[at]
