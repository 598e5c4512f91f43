"""Nested tensors to test with, and how they are compared with lists of their parts."""
import numpy as np
import whet
from whet import nested

LENGTHS = 3, 1, 5, 2
WIDTH = 4


def parts(seed=0, lengths=LENGTHS, width=WIDTH, requires_grad=False):
    rng = np.random.default_rng(seed)
    return [whet.tensor(rng.standard_normal((n, width)), requires_grad=requires_grad)
            for n in lengths]


def nt_of(seed=0, lengths=LENGTHS, width=WIDTH):
    return nested.as_nested_tensor(parts(seed, lengths, width))


def same(x, ys):
    """Is a nested tensor of such parts?"""
    assert x.is_nested and len(x) == len(ys)
    for a, b in zip(x, ys, strict=True):
        assert a.shape == b.shape and a.dtype is b.dtype, (a.shape, b.shape)
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-12, atol=1e-12)


def near(x, y):
    assert not x.is_nested and x.shape == y.shape and x.dtype is y.dtype
    np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), rtol=1e-12, atol=1e-12)


def with_gaps():
    """Parts that do not fill the values, and the same as a list."""
    x = whet.tensor(np.random.default_rng(3).standard_normal((3, 6, WIDTH)))
    nt = nested.narrow(x, 1, whet.tensor([0, 2, 1]), whet.tensor([4, 1, 5]))
    return nt, [x[0, :4], x[1, 2:3], x[2, 1:]]
