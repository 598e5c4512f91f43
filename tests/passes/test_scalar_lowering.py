"""Every primitive on every type, compiled, against the NumPy reference."""
import contextlib
import itertools

import ml_dtypes
import numpy as np
import pytest
import whet
from whet.cpu import native, pointwise
from whet.cpu.pointwise import Pointwise
from whet.dtypes import SHORT
from whet.ir import scalar as S
from whet.ir.expressions import PARTS
from whet.passes.lower_llvm import scalar as lower
from whet.passes.lower_llvm import vmath
from whet.passes.lower_llvm.builder import vec

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

INTS = ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"]
FLOATS = ["f16", "bf16", "f32", "f64"]
TYPES = ["bool", *INTS, *FLOATS]
TERNARY = {"fma"}
BINARY = {
    "add", "sub", "mul", "div", "floordiv", "truncdiv", "mod", "fmod", "min", "max", "fmin", "fmax",
    "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor", "shl", "shr", "gcd", "copysign",
    "nextafter", "hypot", "atan2", "pow"}
MATH = {
    "cbrt", "hypot", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan",
    "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sigmoid",
    "logit", "softplus", "silu", "mish", "gelu", "gelu_tanh", "tanhshrink", "erf", "erfc", "erfcx",
    "erfinv", "ndtr", "ndtri", "sinc", "lgamma", "digamma", "trigamma", "polygamma2"}


def numpy_type(t):
    return SHORT[t].np


def values(t, seed=0):
    """Boundary values of a type, and random ones."""
    rng = np.random.default_rng(seed)
    dt = numpy_type(t)
    if t == "bool":
        return np.array([False, True, True], dt)
    if t in INTS:
        i = np.iinfo(dt)
        edge = [
            0, 1, 2, 3, 7, i.max, i.max - 1, i.min, i.min + 1, i.max // 2,
            *([-1, -2, -7] if i.min else [])]
        spread = rng.integers(i.min, i.max, 9, dt, endpoint=True)
        return np.concatenate([np.array(edge, dt), spread, rng.integers(0, 20, 5).astype(dt)])
    f = ml_dtypes.finfo(dt)
    most, tiny, least = (float(v) for v in (f.max, f.tiny, f.smallest_subnormal))
    edge = [
        0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, 1e-3, np.inf, -np.inf, np.nan, most, -most,
        tiny, -tiny, least, -3 * least, 100.25, -255.75, 2.0 ** 15, 2.0 ** 31, -2.0 ** 31,
        2.0 ** 63]
    spread = rng.standard_normal(12) * 2.0 ** rng.integers(-10, 10, 12)
    return np.concatenate([np.array(edge, np.float64).astype(dt), spread.astype(dt)])


def grid(t, n):
    """Every combination of n values, as n flat arrays."""
    return [
        np.ascontiguousarray(g.ravel())
        for g in np.meshgrid(*[values(t, k) for k in range(n)], indexing="ij")]


def same(got, want):
    """Equal bits, any NaN for any NaN."""
    assert got.dtype == want.dtype and got.shape == want.shape
    if got.dtype.kind in "fV":
        nan = np.isnan(want)
        np.testing.assert_array_equal(np.isnan(got), nan)
        bits = f"u{got.dtype.itemsize}"
        got, want = np.where(nan, 0, got.view(bits)), np.where(nan, 0, want.view(bits))
    np.testing.assert_array_equal(got, want)


def compiled(f, xs):
    """The op's result, which must come from a kernel."""
    ys = f(xs)
    assert all(p.addr for p in f._plans.values()), f"{f.name} on {xs[0].dtype} has no compiled form"
    return ys


def reference(roots, xs):
    return S.evaluate(roots, xs, numpy_type)


def arity(op):
    return 3 if op in TERNARY else 2 if op in BINARY else 1


EXACT = sorted({*S.PRIMITIVES} - MATH - {"fma", "select", "cast", *PARTS})


def test_what_has_one_value_by_ieee_is_tested_to_the_bit():
    assert S.FIXED_BY_IEEE - {"arg", "const", "select"} <= set(EXACT)


def test_expressions_with_functions_of_floats_have_a_value_for_each_target():
    x, y = S.args(2)
    assert S.has_one_value([S.cast(x, "f32") * y + 1, S.where(x < y, -x, x)], ["f64", "f32"])
    assert S.has_one_value([S.cast(x, "f32") / 7], ["i64"])
    assert not S.has_one_value([S.exp(x) * 2], ["f32"])
    assert not S.has_one_value([S.cast(x, "i64")], ["f32"])
    assert S.has_one_value([S.pow(x, y)], ["i64", "i64"])
    assert not S.has_one_value([S.pow(x, y)], ["f32", "f32"])


@pytest.mark.parametrize("op", EXACT)
def test_exact_primitives_give_the_bits_of_numpy(op):
    tested = 0
    for t in TYPES:
        if op == "pow" and t in FLOATS:
            continue
        xs = grid(t, arity(op))
        root = S.Expr(op, tuple(S.args(len(xs))))
        try:
            want, = reference([root], xs)
        except (TypeError, ValueError):
            # NumPy has no such function on this type
            continue
        if want.dtype != numpy_type(S.typeof(root, [t] * len(xs))):
            # integer division and the like: ops cast first
            continue
        got, = compiled(Pointwise(op, [root], len(xs)), xs)
        if op in ("min", "max", "fmin", "fmax") and t in FLOATS or op == "nextafter" and t == "f16":
            # of two zeros NumPy gives either
            want, got = (np.where(v == 0, numpy_type(t).type(0), v) for v in (want, got))
        same(got, want)
        tested += 1
    assert tested


@pytest.mark.parametrize("op", sorted(set(S.PRIMITIVES) - {"fma"}))
def test_one_element_has_its_kernels_bits_in_a_run_that_is_recorded(op, monkeypatch):
    """Where NumPy computes it, for there is no kernel yet, and where not."""
    from whet.cpu import tiered_compilation
    monkeypatch.setattr(pointwise.native, "at_hand", lambda key: False)
    roots, n = [S.Expr(op, tuple(S.args(arity(op))))], arity(op)
    for t in ("f32", "i64"):
        with contextlib.suppress(TypeError, ValueError):
            xs = grid(t, n)
            if reference(roots, xs)[0].dtype != numpy_type(S.typeof(roots[0], [t] * n)):
                continue                     # ops cast first
            want, = Pointwise(op, roots, n)(xs)
            some = range(0, len(want), max(1, len(want) // 60))
            with tiered_compilation.numbers():
                got = [Pointwise(op, roots, n)([x[i:i + 1] for x in xs])[0] for i in some]
            same(np.concatenate(got), want[some])


def test_extrema_of_equal_values_are_the_second():
    x, y = S.args(2)
    a, b = np.array([0.0, -0.0], np.float32), np.array([-0.0, 0.0], np.float32)
    for op in ("min", "max", "fmin", "fmax"):
        got, = compiled(Pointwise(op, [S.Expr(op, (x, y))], 2), [a, b])
        same(got, b)


@pytest.mark.drawn(2)
@pytest.mark.parametrize("src,dst", list(itertools.product(TYPES, TYPES)))
def test_casts(src, dst):
    x = values(src)
    # what does not fit depends on the place in NumPy's vectors
    if dst == "u32" and src in FLOATS:
        x = x[(x.astype(np.float64) < 2.0**32) & (x.astype(np.float64) > -2.0**31)]
    got, = compiled(Pointwise("cast", [S.cast(S.arg(0), dst)], 1), [x])
    same(got, x.astype(numpy_type(dst)))


def test_halves_are_rounded_to_nearest_even_from_every_bit_pattern():
    high = np.arange(2**16, dtype=np.uint32) << 16
    low = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0x0FFF, 0x1000, 0x1001, 0x3000, 0xFFFF],
                   np.uint32)
    x = (high[:, None] | low).ravel().view(np.float32)
    for t in ("f16", "bf16"):
        got, = compiled(Pointwise("cast", [S.cast(S.arg(0), t)], 1), [x])
        same(got, x.astype(numpy_type(t)))
    for t in ("f16", "bf16"):
        h = np.arange(2**16, dtype=np.uint16).view(numpy_type(t))
        for wide in ("f32", "f64"):
            got, = compiled(Pointwise("cast", [S.cast(S.arg(0), wide)], 1), [h])
            same(got, h.astype(numpy_type(wide)))


def test_halves_without_the_machines_conversions(monkeypatch):
    monkeypatch.setattr(lower, "_has_f16c", lambda: False)
    monkeypatch.setattr(
        pointwise.native,
        "kernel", lambda key, emit, real=pointwise.native.kernel: real(key + "/no f16c", emit))
    test_halves_are_rounded_to_nearest_even_from_every_bit_pattern()


def test_f64_to_f16_is_rounded_once():
    x = np.array([
        1 + 2.0 ** -11 + 2.0 ** -40, 1 + 2.0 ** -11, 1 + 2.0 ** -11 - 2.0 ** -40, 65519.99999999,
        65520, 2.0 ** -25 * (1 + 2.0 ** -40)])
    got, = compiled(Pointwise("cast", [S.cast(S.arg(0), "f16")], 1), [np.concatenate([x, -x])])
    same(got, np.concatenate([x, -x]).astype(np.float16))


def test_a_half_expression_is_rounded_once():
    x, y = S.args(2)
    for t in ("f16", "bf16"):
        a, b = grid(t, 2)
        got, = compiled(Pointwise("e", [x * y + x - y], 2), [a, b])
        wide, w = a.astype(np.float32), b.astype(np.float32)
        same(got, (wide * w + wide - w).astype(a.dtype))
        got, = compiled(Pointwise("e", [S.cast(x * y, t) + x], 2), [a, b])
        same(got, ((wide * w).astype(a.dtype).astype(np.float32) + wide).astype(a.dtype))


def test_fma_rounds_once():
    x, y, z = S.args(3)
    f = Pointwise("fma", [S.fma(x, y, z)], 3)
    a = np.array([1 + 2.0**-23, 3.0], np.float32)
    got, = compiled(f, [a, a, -(a * a)])
    same(got, (a.astype(np.float64) ** 2 - (a * a)).astype(np.float32))


def test_products_and_sums_are_not_contracted():
    x, y = S.args(2)
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 4096)).astype(np.float32)
    got, = compiled(Pointwise("e", [x * y + x], 2), [a, b])
    same(got, a * b + a)


def test_numbers_take_the_type_of_what_they_meet():
    x, = S.args(1)
    for t in ("i32", "u8", "f32", "f64", "bf16"):
        a = np.array([0, 1, 2, 100], numpy_type(t))
        for e in (x + 3, 3 - x, x * (S.lift(2) + 1), S.where(x > 1, 7, x), x + S.where(x > 1, 1, 2),
                  S.where(x > 1, 1, 0) * x, S.where(S.lift(2) > 1, x, 0), x *
                  (S.where(x > 1, 1, 2) + S.where(x > 1, 4, 5))):
            got, = compiled(Pointwise("e", [e], 1), [a])
            same(got, reference([e], [a])[0])
    assert S.typeof(S.where(x > 1, 1, 0) * x, ["f32"]) == "f32"


def test_conditions_of_any_type():
    c, x, y = S.args(3)
    for t in TYPES:
        v = values(t)
        a, b = np.arange(len(v), dtype=np.float32), -np.arange(len(v), dtype=np.float32)
        got, = compiled(Pointwise("where", [S.where(c, x, y)], 3), [v, a, b])
        same(got, np.where(v, a, b))


def test_shifts_past_the_width():
    x, y = S.args(2)
    for t in INTS:
        a, b = (g.ravel()
                for g in np.meshgrid(values(t),
                                     np.array([0, 1, 7, 8, 31, 63, 64, 100]).astype(numpy_type(t))))
        for op in (S.shl, S.shr):
            got, = compiled(Pointwise("shift", [op(x, y)], 2), [a, b])
            same(got, reference([op(x, y)], [a, b])[0])


def test_remainders_with_a_long_quotient():
    """Operands whose exponents are far apart, subnormals among them."""
    rng = np.random.default_rng(1)
    x, y = S.args(2)
    for t, span in (("f32", 140), ("f64", 1060)):
        a, b = (np.ldexp(rng.standard_normal(3000),
                         rng.integers(-span, span // 1.1, 3000)).astype(numpy_type(t))
                for _ in range(2))
        for op in ("fmod", "mod", "floordiv"):
            e = S.Expr(op, (x, y))
            got, = compiled(Pointwise(op, [e], 2), [a, b])
            same(got, reference([e], [a, b])[0])


def test_integer_powers():
    x, y = S.args(2)
    for t in INTS:
        a, b = grid(t, 2)
        got, = compiled(Pointwise("pow", [S.pow(x, y)], 2), [a, b])
        same(got, reference([S.pow(x, y)], [a, b])[0])


@pytest.mark.parametrize("op", sorted(MATH | {"pow"}))
def test_math_within_two_ulp(op):
    if op not in vmath.FUNCTIONS:
        pytest.skip("runs on the reference")
    n = arity(op)
    root = S.Expr(op, tuple(S.args(n)))
    for t in ("f32", "bf16", "f16"):
        xs = grid(t, n)
        got, = compiled(Pointwise(op, [root], n), xs)
        want, = reference([root], [x.astype(np.float64) for x in xs])
        want = want.astype(got.dtype)
        if op == "polygamma2":                              # no value at its poles
            want, got = (np.where((xs[0] <= 0) & (xs[0] == np.floor(xs[0])), 0, v).astype(got.dtype)
                         for v in (want, got))
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
        bits = f"i{got.dtype.itemsize}"
        step = [np.where(np.isnan(want), 0, v.view(bits)).astype(np.int64) for v in (got, want)]
        step = [np.where(s < 0, -(s & (2 ** (8 * got.dtype.itemsize - 1) - 1)), s) for s in step]
        assert np.abs(step[0] - step[1]).max() <= 2, (op, t)


def test_no_compiled_form_runs_the_reference():
    x, y = S.args(2)
    a = np.array([1 + 2j, 3 - 1j], np.complex64)
    f = Pointwise("mul", [x * y], 2)
    got, = f([a, a])
    same(got.view(np.float32), (a * a).view(np.float32))
    with pytest.raises(TypeError):
        Pointwise("sub", [x - y], 2)([np.array([True]), np.array([False])])


@pytest.mark.parametrize("t", ["bool", "u8", "i32", "i64", "f16", "bf16", "f32", "f64"])
def test_every_number_of_lanes_gives_the_same_bits(t):
    """`emit` in a loop of our own, one value at a time and by vectors."""
    x, y = S.args(2)
    n = 1024
    a, b = (np.resize(v, n) for v in grid(t, 2))
    roots = [x & y, x ^ y, ~x]
    if t != "bool":
        roots = [x + y, x * y - x, S.maximum(x, y), S.mod(x, y), S.cast(x, "u8"), S.cast(x, "f16")]
    roots += ([S.exp(x), S.pow(x, y), x / y,
               S.nextafter(x, y), S.erf(x)] if t in FLOATS else [x < y, S.cast(x, "f32")])
    kinds = S.types(roots, [t, t])
    results = [kinds[id(r)] for r in roots]

    def write(lanes):
        def emit(module, symbol):
            f = module.kernel(symbol)
            at = [f.load("ptr", f.at(f.args[0], k, "i64")) for k in range(2 + len(roots))]
            memory = [lower.MEMORY[k] for k in (t, t, *results)]

            def step(i):
                inputs = [
                    f.load(vec(m, lanes), f.at(p, i, m))
                    for p, m in zip(at[:2], memory, strict=False)]
                for p, m, v in zip(at[2:], memory[2:], lower.emit(f, roots, inputs, [t, t], lanes),
                                   strict=True):
                    f.store(v, f.at(p, i, m))
            f.loop(f.args[1], f.args[2], max(1, lanes), step)
        return emit

    def run(lanes):
        outs = [np.empty(n, numpy_type(k)) for k in results]
        native.launch(native.kernel(f"test/lanes{lanes}/{t}", write(lanes)), n, n, a, b, *outs)
        return outs
    first = run(0)
    for lanes in (4, 16):
        for r, got, want in zip(roots, run(lanes), first, strict=True):
            np.testing.assert_array_equal(got.view(np.uint8), want.view(np.uint8), str(r))


@pytest.mark.parametrize("op", sorted(MATH | {"pow"}))
def test_math_in_f64(op):
    """Against the reference, whose own error counts here; the bounds are tested where the
    functions are made."""
    n = arity(op)
    root = S.Expr(op, tuple(S.args(n)))
    xs = grid("f64", n)
    got, = compiled(Pointwise(op, [root], n), xs)
    want, = reference([root], xs)
    hard = (np.abs(xs[0]) > 1e15) | (xs[0] <= 0) & (xs[0] == np.floor(xs[0]))
    # the reference is rough near poles and far from zero
    if op in ("lgamma", "digamma", "trigamma", "polygamma2"):
        got, want = got[~hard], want[~hard]
    np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-322)


@pytest.mark.parametrize("dtype", ["i8", "i4", "i2", "u1"])
@pytest.mark.parametrize("most", [100, 2**31, 2**52, 2**53, 2**63 - 1])
def test_quotients_and_remainders_of_whole_numbers_large_and_small(dtype, most):
    rng, info = np.random.default_rng(0), np.iinfo(dtype)
    low, high = max(info.min, -most), min(info.max, most)
    a = rng.integers(low, high, 300, dtype=np.int64, endpoint=True)
    a[:3] = low, high, 0
    many = rng.integers(low, high, 300, dtype=np.int64, endpoint=True)
    powers = 1 << rng.integers(0, 6, 300)
    divisors = [np.where(many == 0, 1, many), powers, np.where(rng.random(300) < 0.5, powers, 7)]
    divisors += [
        np.full(300, d) for d in (1, 2, 3, 8, -3, -8, -1, 1000003, 2 ** 40, 2 ** 52 - 1,
                                  2 ** 52 + 1, 2 ** 62, info.min, info.max)
        if info.min <= d <= info.max and d]
    for d in divisors:
        x, y = a.astype(dtype), d.astype(dtype)
        s, t = whet.tensor(x), whet.tensor(y)
        with np.errstate(all="ignore"):
            assert (((s % t).numpy() == x % y).all()
                    and (whet.fmod(s, t).numpy() == np.fmod(x, y)).all())
            assert ((s // t).numpy()
                    == np.where(y == np.array(-1).astype(dtype), -x if info.min else x // y,
                                x // y)).all()
