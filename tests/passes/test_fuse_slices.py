"""Slices of what kernels compute, which the kernels that read them compute themselves."""
import pytest
import whet
from whet import jit
from whet.cpu import native
from whet.ir.interpret import interpret
from whet.ir.parse import parse
from whet.passes import fuse_slices, pipeline

from tests.together import bits, path_of

compiled = pytest.mark.skipif(not native.enabled(),
                              reason="without machine code every step is Python's")


def flux(u):
    f, a = u * u * 0.5, u.abs() + 0.1
    g = 0.5 * (f[1:] + f[:-1]) - 0.5 * whet.maximum(a[1:], a[:-1]) * (u[1:] - u[:-1])
    return u[1:-1] - 0.1 * (g[1:] - g[:-1])


def gated(x, b):
    a, c = (x * 1.5 + b).chunk(2, -1)
    return a * c.relu()


def turned(x, c, s):
    x = x * 0.125 + 1
    a, b = x[..., ::2], x[..., 1::2]
    return a * c - b * s


def laplace(u):
    w = u * u + u
    return w[1:-1, 1:-1] + 0.25 * (w[2:, 1:-1] + w[:-2, 1:-1] + w[1:-1, 2:] + w[1:-1, :-2])


# function -> the shapes of its operands: all of it is one kernel
JOINED = {
    "differences of two kernels": (flux, [(300,)]), "of columns": (flux, [(30, 40)]),
    "halves": (gated, [(6, 64), (64,)]), "three dimensions": (gated, [(2, 6, 64), (6, 64)]),
    "elements in turns": (turned, [(6, 64), (6, 32), (32,)]), "planes": (laplace, [(40, 50)]),
    "slices of slices": (lambda x: (lambda y: y[2:][1:-1] - y[:-4])(x * 2 + 1), [(300,)]),
    "one row of several": (lambda x: (lambda y: y[0] * y[1])(x + 1), [(4, 50)]),
    "another shape": (lambda x, y: (x * 2).view(60) * y, [(3, 20), (60,)]),
    "numbers of tensors": (lambda x, s: (lambda y: y[1:] - y[:-1])(x * s + s), [(300,), ()]),
}


@compiled
@pytest.mark.parametrize("name", list(JOINED))
@pytest.mark.parametrize("dtype", [whet.float32, whet.float64, whet.bfloat16, whet.int32])
def test_what_reads_slices_computes_them(name, dtype):
    fn, shapes = JOINED[name]
    path = path_of(fn, *[(whet.randn(s) * 5).to(dtype) for s in shapes])
    if dtype in (whet.float32, whet.float64):       # others may take longer than memory does
        assert path["launches"] == 1 and "= parts(" in path["graph"], path["graph"]


def written_in_between(x, y):
    z = x * 2
    x[1:].copy_(y[1:])
    return (z[1:] - z[:-1]) * x[1:]


def slices_written_to(x, y):
    z = x * 2
    z[1:].add_(y[1:])
    return z[1:] - z[:-1]


@compiled
@pytest.mark.parametrize("fn", [
    written_in_between, slices_written_to,
    lambda x, y: [z := x * 2, (z, z[1:] - z[:-1])][1],                       # it is a result
    lambda x, y: [z := x * 2, (z[1:], z[1:] - z[:-1])][1],                   # a slice is
    lambda x, y: [z := x * 2, (z[1:] - z[:-1], z.cumsum(0))][1],             # others read it
    lambda x, y: [z := x.sin() * y.exp(), z[1:] - z[:-1]][1],                # it takes long
    lambda x, y: (lambda z: z[:, :5] - z[:, 5:10])(x * 2),                   # few side by side
    lambda x, y: (lambda z: z.T + y[:, :6].T)(x[:, :6] * 2 + y[:, :6]),     # in another order
    lambda x, y: (x[:1] * 2)[0] * y,                                         # read many times
    lambda x, y: x[:, :10].abs().view(60) * 2,       # what was given cannot be seen so
])
@pytest.mark.parametrize("left_out", [
    (), ("fuse_pointwise",), ("write_through",), ("writes_to_values", "in_place_to_new")])
def test_what_is_stored_all_the_same(fn, left_out):
    with pipeline.without(*left_out):
        path = path_of(fn, whet.randn(6, 20), whet.randn(6, 20))
    if not left_out and fn is not written_in_between:       # the write can wait
        assert "= parts(" not in path["graph"], path["graph"]


def test_half_types_keep_signalling_nans():
    x = (whet.arange(64).to(whet.int16) + 0x7C00).view(whet.float16)
    path_of(lambda x: (lambda z: whet.where(x[1:] > 0, z[1:], z[:-1]))(-x), x)


@compiled
def test_other_sizes_are_made_of_the_same_plan(monkeypatch):
    f, made = jit.trace(flux), []
    was = fuse_slices.fuse_slices
    monkeypatch.setattr(pipeline, "PASSES", [
        (n, (lambda *a: made.append(1) or was(*a)) if n == "fuse_slices" else p)
        for n, p in pipeline.PASSES])
    for n in (200, 300, 450, 300, 33):
        for k in range(3):
            u = whet.randn(n) + k
            assert bits(f(u)) == bits(flux(u))
    assert len(made) == 1


@compiled
def test_steps_that_read_slices_are_a_loop():
    def f(u):
        for _ in range(60):
            v = u * u
            u = u + whet.nn.functional.pad(v[1:] - v[:-1], (0, 1)) * 0.1
        return u
    assert "= roll " in path_of(f, whet.randn(500) * 0.1)["graph"]


@compiled
def test_long_chains_of_slices_are_several_kernels():
    def f(u):
        for _ in range(12):
            v = u * u
            u = u[1:-1] + 0.1 * (v[2:] - 2 * v[1:-1] + v[:-2])
        return u
    assert 2 < path_of(f, whet.randn(5000) * 0.1)["launches"] < 12


@compiled
def test_gradients_and_threads():
    def f(u):
        u = u.detach().requires_grad_()
        y = flux(u)
        y.square().sum().backward()
        return y.detach(), u.grad
    was = whet.get_num_threads()
    try:
        for threads in (1, 3):
            whet.set_num_threads(threads)
            path_of(f, whet.randn(70000))
    finally:
        whet.set_num_threads(was)


@compiled
def test_the_graph_is_read_back_and_means_the_same():
    f, u = jit.trace(flux), whet.randn(300)
    for _ in range(2):
        y = f(u)
    assert interpret(parse(str(f.graph)), u)[0].tobytes() == y.numpy().tobytes()
