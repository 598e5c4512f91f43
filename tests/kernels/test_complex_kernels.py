"""Kernels of complex numbers beside NumPy: the functions that they have, on special values and on
all ways in which elements lie."""
import cmath
import os

import numpy as np
import pytest
import whet
from whet.cpu.pointwise import Pointwise
from whet.ir import scalar as s
from whet.ir.complex_parts import FAITHFUL, Inseparable, in_parts

TYPES = np.complex64, np.complex128
SPECIAL = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e-30, 1e30, 85.0, -90.0]
FUNCTIONS = {
    "add": (s.add, 2), "sub": (s.sub, 2), "mul": (s.mul, 2), "div": (s.div, 2),
    "neg": (s.neg, 1), "conj": (s.conj, 1), "exp": (s.exp, 1), "eq": (s.eq, 2), "ne": (s.ne, 2),
    "isnan": (s.isnan, 1), "isinf": (s.isinf, 1), "isfinite": (s.isfinite, 1),
    "real_part": (s.real_part, 1), "imag_part": (s.imag_part, 1),
    "abs": (lambda x: s.real_part(abs(x)), 1),
    "select": (lambda x, y: s.where(s.ne(x, 0), y, x), 2),
    "fma": (lambda x, y: s.fma(x, y, x), 2)}


def numbers(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


def computed(name, *arrays):
    """(by the kernel, by the reference)"""
    function, n = FUNCTIONS[name]
    op = Pointwise(name, (function(*s.args(n)),), n)
    assert os.environ.get("WHET_CPU") == "numpy" or op.has_kernel(arrays, None)
    wanted = s.evaluate(op.roots, arrays, np.dtype)[0]
    return op(arrays)[0], np.asarray(wanted)


def test_all_functions_that_kernels_have_are_looked_at():
    assert FAITHFUL <= {*FUNCTIONS, "arg", "const", "cast", "from_parts"}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_ordinary_numbers(name, dtype):
    for n in (1, 7, 64, 1001):
        arrays = [numbers(n, dtype, k) for k in range(FUNCTIONS[name][1])]
        got, wanted = computed(name, *arrays)
        assert got.dtype == wanted.dtype
        # a difference that cancels has the digits of what it is of
        np.testing.assert_allclose(got, wanted, rtol=8 * np.finfo(dtype).eps,
                                   atol=8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", sorted({*FUNCTIONS} - {"mul", "fma", "div"}))
def test_special_values(name, dtype):
    """As NumPy has them, whose products and quotients of infinities go by the order of its sums."""
    parts = np.array(SPECIAL, dtype(0).real.dtype)
    x = np.empty((len(parts), len(parts)), dtype)
    x.real, x.imag = parts[:, None], parts
    arrays = [x.ravel(), x.T.ravel()][:FUNCTIONS[name][1]]
    got, wanted = computed(name, *arrays)
    if got.dtype.kind != "c":
        got, wanted = got + 0j, wanted + 0j
    for part in ("real", "imag"):
        a, b = getattr(got, part), getattr(wanted, part)
        np.testing.assert_allclose(a, b, rtol=16 * np.finfo(dtype).eps, err_msg=f"{name}: {part}")


@pytest.mark.parametrize("dtype", TYPES)
def test_quotients_of_large_and_small_numbers(dtype):
    """No square overflows or vanishes on the way."""
    top = np.finfo(dtype).max / 4
    x, y = np.array([1 + 1j, top + top * 1j, 1e-30j, 3], dtype), np.array(
        [top * (1 + 1j), top * (1 - 1j), 1e-30 + 2e-30j, 1e-30j], dtype)
    np.testing.assert_allclose(computed("div", x, y)[0], x / y, rtol=8 * np.finfo(dtype).eps)
    got = computed("div", np.array([1 + 2j, -1, 0], dtype), np.zeros(3, dtype))[0]
    assert np.isinf(got[0]) and np.isinf(got[1].real) and np.isnan(got[2])


def test_an_exponential_beyond_the_largest_number_may_have_parts_within():
    z = np.complex64(89 + 0.7854j)
    got = whet.tensor(z).exp().item()
    assert abs(got - cmath.exp(complex(z))) < 1e-4 * abs(got) and np.isfinite(got)


LAYOUTS = {
    "every second": lambda x: x[:, ::2], "far apart": lambda x: x[:, ::11], "turned": lambda x: x.T,
    "backwards": lambda x: x[::-1, ::-1], "one row": lambda x: x[:1],
    "one column": lambda x: x[:, :1], "one": lambda x: x[3:4, 5:6]}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", LAYOUTS)
def test_elements_lie_in_any_way(name, dtype):
    x = LAYOUTS[name](numbers((70, 134), dtype))
    y = numbers(np.broadcast_shapes(x.shape, (1, 1)), dtype, 1)
    op = Pointwise("product", (s.mul(*s.args(2)),), 2)
    np.testing.assert_allclose(op([x, y])[0], x * y, rtol=1e-5)
    out = LAYOUTS[name](np.zeros((70, 134), dtype))
    if 0 not in out.strides:
        op([x, y], [out])
        np.testing.assert_allclose(out, x * y, rtol=1e-5)


@pytest.mark.parametrize("source, to", [
    ("f4", "c8"), ("i4", "c16"), ("?", "c8"), ("c8", "c16"), ("c16", "c8"), ("c8", "f8"),
    ("c16", "i8"), ("c8", "?")])
def test_numbers_change_their_type(source, to):
    x = (numbers(37, np.complex128) * 3)
    x = x.astype(source) if source[0] == "c" else (x.real * 3).astype(source)
    got = whet.from_numpy(x).to(whet.from_numpy(np.zeros(1, to)).dtype).numpy()
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got, x.real.astype(to) if to[0] in "fi" else x.astype(to))


def test_what_has_no_parts_is_for_numpy():
    with pytest.raises(Inseparable, match="log"):
        in_parts((s.log(s.arg(0)),), ("c64",))
    assert in_parts((s.log(s.arg(0)),), ("f32",)) is None
    x = numbers(9, np.complex64)
    np.testing.assert_allclose(whet.from_numpy(x).log().numpy(), np.log(x), rtol=1e-6)


def test_python_numbers_are_operands_of_calls_that_machine_code_makes():
    x, y = whet.randn(40, dtype=whet.complex64), whet.randn(40)
    for k in range(8):
        c = complex(k, -k / 2)
        for got, wanted in ((x * c, x.numpy() * np.complex64(c)), (c + y, y.numpy() + c),
                            (x * k, x.numpy() * k), (x - (k + 0.5), x.numpy() - (k + 0.5)),
                            (y.double() * c, y.double().numpy() * c)):
            np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-6)
        z = x.clone()
        z *= c
        np.testing.assert_allclose(z.numpy(), x.numpy() * np.complex64(c), rtol=1e-6)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("m, k, n, batch", [
    (3, 4, 5, ()), (1, 30, 1, ()), (33, 64, 17, ()), (4, 16, 16, (6,)), (0, 3, 2, ()),
    (3, 0, 2, ())])
def test_products_of_matrices(m, k, n, batch, dtype):
    a, b = numbers((*batch, m, k), dtype), numbers((*batch, k, n), dtype, 1)
    tolerance = 20 * np.finfo(dtype).eps
    for x, y in ((a, b), (a, b.swapaxes(-1, -2).copy().swapaxes(-1, -2)),
                 (a.swapaxes(-1, -2).copy().swapaxes(-1, -2), b), (a[..., ::-1], b[..., ::-1, :])):
        got = (whet.from_numpy(x.copy(order="A")) @ whet.from_numpy(y.copy(order="A"))).numpy()
        np.testing.assert_allclose(got, x @ y, rtol=tolerance, atol=tolerance * (k + 1))
    bias, w = numbers(n, dtype, 2), np.ascontiguousarray(b.swapaxes(-1, -2))
    if not batch:
        got = whet.nn.functional.linear(*map(whet.from_numpy, (a, w, bias))).numpy()
        np.testing.assert_allclose(got, a @ b + bias, rtol=tolerance, atol=tolerance * (k + 1))


@pytest.mark.parametrize("dtype", TYPES)
def test_sums_and_means(dtype):
    x = numbers((5, 6, 7), dtype)
    t = whet.from_numpy(x)
    for dims in (0, 1, 2, (0, 2), None):
        for f in ("sum", "mean"):
            got = getattr(t, f)() if dims is None else getattr(t, f)(dims)
            np.testing.assert_allclose(got.numpy(), getattr(x, f)(dims), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(t.transpose(0, 2).sum(1, keepdim=True).numpy(),
                               x.transpose(2, 1, 0).sum(1, keepdims=True), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(t.cumsum(1).numpy(), x.cumsum(1), rtol=1e-5, atol=1e-6)


def test_traced_functions_of_complex_numbers_are_kernels():
    """Mandelbrot's steps in one kernel, and equal bits."""
    def steps(c):
        z, n = c * 0, whet.zeros(c.shape)
        for _ in range(5):
            z = whet.where(z.abs() <= 2, z * z + c, z)
            n = n + (z.abs() <= 2)
        return n, z

    f = whet.jit.trace(steps)
    c = whet.randn(20, 30, dtype=whet.complex64)
    for _ in range(4):
        for got, wanted in zip(f(c), steps(c)):
            assert got.numpy().tobytes() == wanted.numpy().tobytes()
    assert "in Python" not in f.explain().split("a replay")[1].split("memory")[0]
