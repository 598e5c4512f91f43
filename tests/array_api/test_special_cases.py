"""Signed zeros, infinities and what is not a number, as the array API standard says."""
import itertools
import math

import pytest
import whet

xp = whet.array_api
inf, nan = math.inf, math.nan
VALUES = (0.0, -0.0, inf, -inf, nan, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0)


def sign(x):
    return math.copysign(1, x)


def python(fn):
    """A Python function `math`, not a number where it has no answer."""
    def call(*xs):
        try:
            return fn(*xs)
        except (ValueError, ZeroDivisionError):
            return nan
    return call


def floor_divide(a, b):
    if math.isnan(a) or math.isnan(b) or math.isinf(a) and math.isinf(b) or a == b == 0:
        return nan
    if b == 0 or math.isinf(a):
        return math.copysign(inf, sign(a) * sign(b))
    if a == 0:
        return math.copysign(0.0, sign(a) * sign(b))
    if math.isinf(b):
        return 0.0 if sign(a) == sign(b) else -1.0
    return math.copysign(float(math.floor(a / b)), sign(a) * sign(b))


def power(a, b):
    try:
        return math.pow(a, b)
    except ValueError:
        if a == 0:
            odd = b == int(b) and int(b) % 2
            return math.copysign(inf, a) if odd else inf
        return nan


def remainder(a, b):
    return nan if b == 0 else a % b if not math.isinf(a) else nan


def divide(a, b):
    if b == 0 and a and not math.isnan(a):
        return math.copysign(inf, sign(a) * sign(b))
    return python(lambda: a / b)()


def logaddexp(a, b):
    if math.isnan(a) or math.isnan(b):
        return nan
    high, low = max(a, b), min(a, b)
    return high if math.isinf(high) else high + math.log1p(math.exp(low - high))


TWO = {
    "floor_divide": floor_divide, "pow": power, "remainder": remainder, "divide": divide,
    "atan2": math.atan2, "hypot": math.hypot, "copysign": math.copysign, "logaddexp": logaddexp,
    "nextafter": math.nextafter, "add": lambda a, b: a + b, "multiply": lambda a, b: a * b,
    "subtract": lambda a, b: a - b}
ONE = {
    "acos": math.acos,
    "acosh": math.acosh,
    "asin": math.asin,
    "asinh": math.asinh,
    "atan": math.atan,
    "atanh": lambda x: math.copysign(inf, x) if abs(x) == 1 else math.atanh(x),
    "cos": math.cos,
    "cosh": math.cosh,
    "exp": math.exp,
    "expm1": math.expm1,
    "sin": math.sin,
    "sinh": math.sinh,
    "tan": math.tan,
    "tanh": math.tanh,
    "sqrt": math.sqrt,
    "abs": abs,
    "log": lambda x: -inf if x == 0 else math.log(x),
    "log2": lambda x: -inf if x == 0 else math.log2(x),
    "log10": lambda x: -inf if x == 0 else math.log10(x),
    "log1p": lambda x: -inf if x == -1 else math.log1p(x),
    "ceil": lambda x: x if not math.isfinite(x) else math.copysign(float(math.ceil(x)), x),
    "floor": lambda x: x if not math.isfinite(x) else math.copysign(float(math.floor(x)), x),
    "trunc": lambda x: x if not math.isfinite(x) else math.copysign(float(math.trunc(x)), x),
    "round": lambda x: x if not math.isfinite(x) else math.copysign(float(round(x)), x),
    "sign": lambda x: x if math.isnan(x) else 0.0 if x == 0 else sign(x),
    "reciprocal": lambda x: math.copysign(inf, x) if x == 0 else 1 / x,
    "square": lambda x: x * x
}
OPERATORS = {
    "floor_divide": "__floordiv__",
    "pow": "__pow__",
    "remainder": "__mod__",
    "divide": "__truediv__",
    "add": "__add__",
    "multiply": "__mul__",
    "subtract": "__sub__"
}


def same(got, want, name):
    if math.isnan(want):
        return math.isnan(got)
    if got == want:
        return name in ("sign",) or sign(got) == sign(want)
    return math.isclose(got, want, rel_tol=1e-12)


@pytest.mark.parametrize("name", ONE)
def test_special_values_of_one(name):
    for x in VALUES:
        got, want = float(getattr(xp, name)(xp.asarray(x, dtype=xp.float64))), python(ONE[name])(x)
        assert same(got, want, name), f"{name}({x}) is {want}, not {got}"


@pytest.mark.parametrize("name", TWO)
def test_special_values_of_two(name):
    pairs = list(itertools.product(VALUES, VALUES))
    a, b = (xp.asarray(v, dtype=xp.float64) for v in zip(*pairs))
    given = [getattr(xp, name)(a, b)]
    if name in OPERATORS:
        given.append(getattr(a, OPERATORS[name])(b))
        given.append(getattr(xp.asarray(a, copy=True), OPERATORS[name].replace("__", "__i", 1))(b))
    for result in given:
        for (x, y), got in zip(pairs, result.tolist()):
            want = python(TWO[name])(x, y)
            assert same(got, want, name), f"{name}({x}, {y}) is {want}, not {got}"


@pytest.mark.parametrize("name,want", [("sum", 0.0), ("prod", 1.0), ("mean", nan), ("std", nan),
                                       ("var", nan), ("all", 1.0), ("any", 0.0)])
def test_reductions_of_nothing(name, want):
    for shape, axis in (((0,), None), ((2, 0), 1), ((0, 3), 0)):
        got = getattr(xp, name)(xp.ones(shape), axis=axis)
        assert all(same(float(g), want, name) for g in got.reshape(-1).tolist())


def test_spreads_with_too_few_values_are_not_numbers():
    x = xp.asarray([1.0, 2.0])
    assert math.isnan(float(xp.var(x, correction=2))) and math.isnan(
        float(xp.std(xp.asarray(1.0), correction=1)))
