"""NumPy's functions that recordings have ops in place of: to the bit what NumPy gives, with its
warnings, for numbers that no run had."""
import warnings

import numpy as np
import pytest
from whet import jit

EXPRESSIONS = [
    "x + y", "x - y", "x * y", "x / y", "x + 2", "3 - x", "x * 0.1", "0.3 / x", "x / 255.0",
    "np.add(x, y)", "np.multiply(x, 0.5)", "np.true_divide(x, 3)", "x ** 2", "np.square(x)",
    "np.sqrt(np.abs(x))", "np.sqrt(x)", "-x", "abs(x)", "np.negative(x)", "x > y", "x <= 0.1",
    "0.1 < x", "x == 0.1", "np.not_equal(x, y)", "x.clip(-0.1, 0.1)", "np.clip(x, -1, 2)",
    "x.clip(0, 1)", "x.flatten()", "x.T.flatten()", "x.T.copy()", "np.array(x)", "x.copy()",
    "np.array(x, dtype=np.float32)", "x.astype(np.float32)", "x.astype(np.float64)",
    "np.asarray(x, dtype=np.float32)", "np.ascontiguousarray(x.T)", "np.concatenate([x, y])",
    "np.concatenate((x, y), axis=1)", "np.stack([x, y], axis=-1)", "np.array([x, y])", "x[0, 1]",
    "x[-1, -1] + 1", "x.argmax()", "np.argmin(x, axis=1)", "np.isnan(x).any()",
    "np.isfinite(x).all(axis=0)", "np.where(x > 0, x, y)", "np.where(x > 0, x, 0.5)",
    "(x > 0).any()", "x - np.float64(0.1)", "x * np.float32(0.1)",
    "(x - x.mean()) / (x.std() + 1e-8)",
    "x * x[0, 0]", "x + y[0]", "x[:, ::-1] * 2", "np.where(x > y, x, y)[0]", "x[x > 0.0].sum()"]
KINDS = [np.float32, np.float64, np.float16, np.int64, np.int32, np.uint8, np.bool_]
BEYOND = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, -3e38, 1e308, 0.1, 1.0, 6e4, 255]


def data(kind, seed, is_beyond):
    """An array; numbers that operations go wrong for are among some of them."""
    rng = np.random.default_rng(seed)
    if np.dtype(kind).kind != "f":
        return rng.integers(0, 2 if kind is np.bool_ else 200, (3, 4)).astype(kind)
    a = rng.standard_normal((3, 4))
    if is_beyond:
        a[rng.random((3, 4)) < 0.3] = rng.choice(BEYOND)
    with np.errstate(all="ignore"):
        return a.astype(kind)


def outcome(f, *args):
    """What a call gives, with its warnings and errors."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            out = f(*args)
        except Exception as e:
            return type(e), str(e)
    words = sorted({str(w.message) for w in said if issubclass(w.category, RuntimeWarning)
                    and "runs eagerly" not in str(w.message)})
    a = np.asarray(out)
    bits = np.where(np.isnan(a), np.nan, a) if a.dtype.kind == "f" else a
    return type(out), a.dtype, a.shape, a.strides, bits.tobytes(), words


@pytest.mark.drawn(3)
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_as_numpy_computes_it(expression, kind):
    f = eval(f"lambda x, y: {expression}", {"np": np})
    traced = jit.trace(f)
    for seed in range(12):
        x, y = (data(kind, 2 * seed + k, seed > 4) for k in (0, 1))
        if seed == 9:
            x = x[:, :1] if "[0, 1]" not in expression else x
            y = y[:, :1] if "[0, 1]" not in expression else y
        assert outcome(traced, x, y) == outcome(f, x, y), seed


@pytest.mark.parametrize("expression", [
    "x + y", "x / 255.0", "x.clip(-1, 1)", "x.astype(np.float32)", "np.concatenate([x, y])",
    "x[0, 1]", "x.argmax()", "np.where(x > 0, x, y)", "x.flatten()"])
def test_no_call_of_numpys_is_left(expression):
    f = eval(f"lambda x, y: {expression}", {"np": np})
    traced = jit.trace(f)
    for seed in range(4):
        traced(*(data(np.float64, seed + k, False) for k in (0, 9)))
    (r,) = traced._calls.policy.held
    assert r.program.recorded and all(n.op is None or n.op.name != "numpy_call"
                                      for n in r.program.recorded)


def test_settings_for_errors_are_guarded():
    """A replay that was recorded where NumPy keeps quiet is none for where it warns."""
    import whet

    def f(x):
        return x.numpy() / 3
    for way in ("ignore", "raise", "warn"):
        traced = jit.trace(f)
        x, huge = whet.tensor([1.0, 2.0]), whet.tensor([np.inf, np.nan])
        with np.errstate(all=way, under="ignore"):
            for _ in range(4):
                assert outcome(traced, x) == outcome(f, x)
        for other in ("ignore", "raise", "warn"):
            with np.errstate(all=other):
                for y in (x, huge, x):
                    assert outcome(traced, y) == outcome(f, y)
