"""Traced convolutions, pools and products: eager's bits, with nothing left to Python."""

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import jit
from whet.cpu import native



def same(a, b):
    assert a.dtype is b.dtype and a.shape == b.shape
    a, b = a.detach().numpy(), b.detach().numpy()
    assert a.tobytes() == b.tobytes(), np.abs(a.astype("f8") - b.astype("f8")).max()


def paths(f):
    return f.explain(data=True)["paths"]


def check(fn, *args, launches=None):
    """Trace fn, compare replays on new values with eager; no step may be Python's."""
    f = jit.trace(fn)
    for _ in range(5):
        same(f(*args), fn(*args))
        for a in args:
            with whet.no_grad():
                a.normal_()
    if native.enabled():
        found, = paths(f)
        assert found["calls"] >= 2 and not found["python"], found["python"]
        if launches is not None:
            assert found["launches"] == launches, f.explain()
    return f


CONVOLUTIONS = [
    ((2, 5, 9, 7), (6, 5, 3, 2), dict(stride=(2, 1), padding=(1, 0), dilation=(1, 2))),
    ((1, 24, 11, 10), (40, 24, 1, 1), dict()),
    ((1, 24, 11, 10), (40, 24, 1, 1), dict(stride=2)),
    ((2, 16, 13, 12), (17, 16, 3, 3), dict(padding=1)),                       # Winograd's method
    ((1, 32, 9, 9), (32, 16, 3, 3), dict(padding=1, groups=2)),
    ((1, 40, 8, 9), (40, 1, 3, 3), dict(padding=1, groups=40)),               # depthwise
    ((3, 2, 20, 9), (4, 1, 5, 3), dict(padding=2, groups=2, stride=(1, 2))),
    ((1, 300, 7, 7), (20, 300, 1, 1), dict()),                                # more than a block of steps
    ((1, 70, 3, 3), (33, 70, 3, 3), dict(padding=1)),
    ((2, 3, 50), (4, 3, 7), dict(stride=3, padding=2)),
    ((1, 2, 5, 6, 7), (3, 2, 2, 3, 2), dict(padding=1)),
]


def conv(n):
    return {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[n]


@pytest.mark.parametrize("x, w, at", CONVOLUTIONS)
@pytest.mark.parametrize("bias", [False, True])
def test_convolutions_are_launches(x, w, at, bias):
    args = [whet.randn(x), whet.randn(w)] + [whet.randn(w[0])] * bias
    check(lambda *a: conv(len(x))(*a, **at), *args)


@pytest.mark.parametrize("x, w, at", CONVOLUTIONS)
def test_gradients_of_convolutions(x, w, at):
    def fn(x, w, b):
        y = conv(len(x.shape))(x, w, b, **at)
        return whet.autograd.grad((y * y).sum(), (x, w, b))
    f = jit.trace(fn)
    for _ in range(3):
        args = [whet.randn(s, requires_grad=True) for s in (x, w, w[0])]
        for a, b in zip(f(*args), fn(*args)):
            same(a, b)
    if native.enabled():
        assert not any(p["python"] for p in paths(f)), f.explain()


POOLS = [lambda x: F.max_pool2d(x, 3, 2, 1), lambda x: F.max_pool2d(x, 2, dilation=2), lambda x: F.avg_pool2d(x, 3, 1, 1),
         lambda x: F.avg_pool2d(x, (2, 3), ceil_mode=True, count_include_pad=False), lambda x: F.adaptive_avg_pool2d(x, (3, 2)),
         lambda x: F.adaptive_avg_pool2d(x, 1), lambda x: F.adaptive_max_pool2d(x, (2, 5))]


@pytest.mark.parametrize("fn", POOLS)
@pytest.mark.parametrize("shape", [(1, 3, 8, 9), (2, 20, 13, 14)])
def test_pools_are_launches(fn, shape):
    check(fn, whet.randn(shape))


@pytest.mark.parametrize("fn", POOLS)
def test_gradients_of_pools(fn):
    def grad(x):
        y = fn(x)
        return whet.autograd.grad((y * y).sum(), x)[0]
    f = jit.trace(grad)
    for _ in range(3):
        x = whet.randn(2, 5, 9, 11, requires_grad=True)
        same(f(x), grad(x))
    if native.enabled():
        assert not any(p["python"] for p in paths(f)), f.explain()
