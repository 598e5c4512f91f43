"""The scalar language: what one element of a pointwise result is, as an expression over elements of the operands.

An op states its formula once, with operators and the functions of this module:

    softsign = lambda x: x / (1 + abs(x))

Everything else is read off that expression: `evaluate` runs it with NumPy (the reference), `differentiate` gives its
derivatives as expressions, `str` prints it, and each target has a table from these primitives to its own code.

An expression is typed by its arguments: arithmetic keeps the type of its operands, comparisons give `bool`, a plain Python
number takes the type of what it meets. Casts are written out (`cast(x, "f32")`). Types are the short names of
`whet.dtypes`: bool, u8..u64, i8..i64, f16, bf16, f32, f64, c64, c128.
"""
# ruff: noqa: F821      (the functions that the table names are made from it)
import functools
import math

import numpy as np

__all__ = ["Expr", "arg", "args", "const", "differentiate", "evaluate", "replace", "substitute", "typeof", "types", "uses", "walk"]


class Expr:
    """One scalar operation. Equal expressions are the same object, so identity is a key and common parts are shared."""
    __slots__ = ("op", "args", "value", "key", "__weakref__")
    _made: dict = {}

    def __new__(cls, op, args=(), value=None):
        key = op, tuple([id(a) for a in args]), type(value), value if value == value else "nan", \
            math.copysign(1, value) if type(value) is float and value == 0 else 0
        found = cls._made.get(key)
        if found is None:
            found = object.__new__(cls)
            found.op, found.args, found.value, found.key = op, tuple(args), value, key
            cls._made[key] = found
        return found

    def __reduce__(self):
        return Expr, (self.op, self.args, self.value)

    def __str__(self):
        if self.op == "arg":
            return f"x{self.value}"
        if self.op == "const":
            return repr(self.value)
        inner = ", ".join(map(str, self.args))
        return f"{self.op}({inner}, {self.value})" if self.value is not None else f"{self.op}({inner})"

    __repr__ = __str__

    def __add__(a, b): return _make("add", a, b)
    def __radd__(a, b): return _make("add", b, a)
    def __sub__(a, b): return _make("sub", a, b)
    def __rsub__(a, b): return _make("sub", b, a)
    def __mul__(a, b): return _make("mul", a, b)
    def __rmul__(a, b): return _make("mul", b, a)
    def __truediv__(a, b): return _make("div", a, b)
    def __rtruediv__(a, b): return _make("div", b, a)
    def __neg__(a): return _make("neg", a)
    def __abs__(a): return _make("abs", a)
    def __lt__(a, b): return _make("lt", a, b)
    def __le__(a, b): return _make("le", a, b)
    def __gt__(a, b): return _make("gt", a, b)
    def __ge__(a, b): return _make("ge", a, b)
    def __and__(a, b): return _make("and", a, b)
    def __or__(a, b): return _make("or", a, b)
    def __xor__(a, b): return _make("xor", a, b)
    def __invert__(a): return _make("not", a)
    def __bool__(self):
        raise TypeError(f"the truth of the scalar expression {self} is not known when an op is defined: use where(c, a, b)")


def const(v):
    """A number that takes the type of what it meets."""
    return Expr("const", (), v)


def arg(i):
    return Expr("arg", (), i)


def args(n):
    return [arg(i) for i in range(n)]


def lift(x):
    return x if isinstance(x, Expr) else const(x)


def _make(op, *xs, value=None):
    return Expr(op, tuple(map(lift, xs)), value)


# ---- primitives ---------------------------------------------------------------------------------------------------
# name: (NumPy reference, derivative with respect to each argument as a function of (y, *args), or None where it is zero)
COMPARE = frozenset(("lt", "le", "gt", "ge", "eq", "ne", "isnan", "isinf", "isfinite", "signbit"))


def _table():
    zero = None
    t = {
        "add": (np.add, lambda y, a, b: (1, 1)),
        "sub": (np.subtract, lambda y, a, b: (1, -1)),
        "mul": (np.multiply, lambda y, a, b: (b, a)),
        "div": (np.true_divide, lambda y, a, b: (1 / b, -y / b)),
        "floordiv": (np.floor_divide, zero),
        "truncdiv": (_truncdiv, zero),
        "mod": (np.remainder, lambda y, a, b: (1, -floor(a / b))),
        "fmod": (np.fmod, lambda y, a, b: (1, -trunc(a / b))),
        "neg": (np.negative, lambda y, a: (-1,)),
        "abs": (np.abs, lambda y, a: (sign(a),)),
        "sign": (_sign, zero), "floor": (np.floor, zero), "ceil": (np.ceil, zero), "trunc": (np.trunc, zero),
        "rint": (np.rint, zero),
        "sqrt": (np.sqrt, lambda y, a: (0.5 / y,)),
        "rsqrt": (lambda a: 1 / np.sqrt(a), lambda y, a: (-0.5 * (y / a),)),
        "cbrt": (np.cbrt, lambda y, a: (1 / (3 * (y * y)),)),
        "fma": (_fma, lambda y, a, b, c: (b, a, 1)),
        "min": (np.minimum, lambda y, a, b: (_share(a < b, a, b), _share(b < a, a, b))),
        "max": (np.maximum, lambda y, a, b: (_share(a > b, a, b), _share(b > a, a, b))),
        "fmin": (np.fmin, lambda y, a, b: (_pick(le(a, b) | isnan(b)), _pick(~(le(a, b) | isnan(b))))),
        "fmax": (np.fmax, lambda y, a, b: (_pick(ge(a, b) | isnan(b)), _pick(~(ge(a, b) | isnan(b))))),
        "lt": (np.less, zero), "le": (np.less_equal, zero), "gt": (np.greater, zero), "ge": (np.greater_equal, zero),
        "eq": (np.equal, zero), "ne": (np.not_equal, zero), "isnan": (np.isnan, zero), "isinf": (np.isinf, zero),
        "isfinite": (np.isfinite, zero), "signbit": (np.signbit, zero),
        "and": (np.bitwise_and, zero), "or": (np.bitwise_or, zero), "xor": (np.bitwise_xor, zero), "not": (np.bitwise_not, zero),
        "shl": (np.left_shift, zero), "shr": (np.right_shift, zero), "gcd": (np.gcd, zero),
        "copysign": (np.copysign, lambda y, a, b: (where(eq(a, 0), 0, where(eq(signbit(a), signbit(b)), 1, -1)), 0)),
        "nextafter": (np.nextafter, lambda y, a, b: (1, 0)),
        "hypot": (np.hypot, lambda y, a, b: (a / y, b / y)),
        "exp": (np.exp, lambda y, a: (y,)), "exp2": (np.exp2, lambda y, a: (y * math.log(2),)),
        "expm1": (np.expm1, lambda y, a: (y + 1,)),
        "log": (np.log, lambda y, a: (1 / a,)), "log2": (np.log2, lambda y, a: (1 / (a * math.log(2)),)),
        "log10": (np.log10, lambda y, a: (1 / (a * math.log(10)),)), "log1p": (np.log1p, lambda y, a: (1 / (a + 1),)),
        "sin": (np.sin, lambda y, a: (cos(a),)), "cos": (np.cos, lambda y, a: (-sin(a),)),
        "tan": (np.tan, lambda y, a: (1 + y * y,)),
        "asin": (np.arcsin, lambda y, a: (rsqrt(1 - a * a),)), "acos": (np.arccos, lambda y, a: (-rsqrt(1 - a * a),)),
        "atan": (np.arctan, lambda y, a: (1 / (a * a + 1),)),
        "atan2": (np.arctan2, lambda y, a, b: (b / (a * a + b * b), -a / (a * a + b * b))),
        "sinh": (np.sinh, lambda y, a: (cosh(a),)), "cosh": (np.cosh, lambda y, a: (sinh(a),)),
        "tanh": (np.tanh, lambda y, a: (1 - y * y,)),
        "asinh": (np.arcsinh, lambda y, a: (rsqrt(a * a + 1),)), "acosh": (np.arccosh, lambda y, a: (rsqrt(a * a - 1),)),
        "atanh": (np.arctanh, lambda y, a: (1 / (1 - a * a),)),
        "sigmoid": (_sigmoid, lambda y, a: (y * (1 - y),)),
        "logit": (_wide(_logit), lambda y, a: (1 / (a * (1 - a)),)),
        "softplus": (_wide(lambda a: np.logaddexp(0, a)), lambda y, a: (sigmoid(a),)),
        "silu": (_wide(_silu), lambda y, a: (_silu_slope(a),)),
        "mish": (_wide(_mish), lambda y, a: (_mish_slope(a),)),
        "gelu": (_wide(lambda a: a * _ndtr(a)), lambda y, a: (ndtr(a) + a * bell(a),)),
        "gelu_tanh": (_wide(_gelu_tanh), lambda y, a: (_gelu_tanh_slope(a),)),
        "tanhshrink": (_wide(_tanhshrink), lambda y, a: (square(tanh(a)),)),
        "pow": (_pow, lambda y, a, b: (where(eq(b, 0), 0, b * pow(a, b - 1)), where(eq(a, 0) & ge(b, 0), 0, y * log(a)))),
        "erf": (_each(math.erf), lambda y, a: (2 / math.sqrt(math.pi) * _exp_of_square(a, -1),)),
        "erfc": (_each(math.erfc), lambda y, a: (-2 / math.sqrt(math.pi) * _exp_of_square(a, -1),)),
        "erfcx": (_wide(_erfcx), lambda y, a: (_erfcx_slope(a),)),
        "ndtr": (_wide(_ndtr), lambda y, a: (bell(a),)),
        "sinc": (_wide(_sinc), lambda y, a: (_sinc_slope(a),)),
        "erfinv": (_erfinv, lambda y, a: (math.sqrt(math.pi) / 2 * exp(y * y),)),
        "lgamma": (_each(_lgamma), lambda y, a: (digamma(a),)),
        "digamma": (_digamma, lambda y, a: (trigamma(a),)),
        "trigamma": (_trigamma, lambda y, a: (polygamma2(a),)),
        "polygamma2": (_polygamma2, None),
        "conj": (np.conjugate, lambda y, a: (1,)),
    }
    return t


def _share(mine, a, b):
    """The part of the gradient an extremum sends to one side: all, none, or half at a tie."""
    return where(mine, 1, where(eq(a, b), 0.5, 0))


def _pick(c):
    return where(c, 1, 0)


def _function(name):
    def f(*xs):
        return _make(name, *xs)
    f.__name__ = name
    return f


def _each(f):
    """A function of one Python float as a NumPy function (the reference where NumPy has none)."""
    g = np.frompyfunc(f, 1, 1)

    def run(a):
        a = np.asarray(a)
        wide = a.astype(np.float64, copy=False)
        return g(wide).astype(np.float64).astype(a.dtype) if a.ndim else a.dtype.type(f(float(a)))
    return run


def _wide(f):
    """A NumPy function of one operand, computed in float64."""
    def run(a):
        a = np.asarray(a)
        return np.asarray(f(a.astype(np.float64, copy=False)), a.dtype)
    return run


def _logistic_times(a, t):
    """a / (1 + e^-t)"""
    e = np.exp(-np.abs(t))
    return a * np.where(t < 0, e, 1.0) / (1 + e)


def _logit(a):
    """Near a half, where the logarithm vanishes, from the distance to it, which is exact."""
    return np.where(np.abs(a - 0.5) < 0.25, np.log1p((a + a - 1) / (1 - a)), np.log(a / (1 - a)))


def _silu(a):
    return _logistic_times(a, a)


def _gelu_tanh(a):
    return _logistic_times(a, math.sqrt(8 / math.pi) * a * (1 + 0.044715 * a * a))


def _mish(a):
    m = np.exp(-np.abs(a))
    return a * np.where(a < 0, m * (2 + m) / (2 + m * (2 + m)), (1 + 2 * m) / (1 + 2 * m * (1 + m)))


def _tanhshrink(a):
    z = a * a
    series = a * z * (1 / 3 - z * (2 / 15 - z * (17 / 315 - z * (62 / 2835 - z * (1382 / 155925 - z * 21844 / 6081075)))))
    return np.where(np.abs(a) < 0.1, series, a - np.tanh(a))


def _erfcx(a):
    z = 1 / np.maximum(a, 25) ** 2
    far = 1 - z * (1 / 2 - z * (3 / 4 - z * (15 / 8 - z * (105 / 16 - z * 945 / 32))))
    return np.where(a > 25, far / math.sqrt(math.pi) / a, np.exp(a * a) * _each(math.erfc)(a))


def _ndtr(a):
    return 0.5 * _each(math.erfc)(a * -math.sqrt(0.5))


def _sinc(a):
    n = np.rint(a)
    s = np.sin(math.pi * (a - n)) * np.where(np.remainder(n, 2) == 1, -1, 1)
    return np.where(a == 0, 1, s / (math.pi * a))


def _lgamma(v):
    if v != v or v == -math.inf:
        return math.inf if v == v else v
    if v <= 0 and v == math.floor(v):
        return math.inf
    try:
        return math.lgamma(v)
    except OverflowError:
        return math.inf


def _sign(a):
    return np.sign(a)


def _truncdiv(a, b):
    if np.issubdtype(np.asarray(a).dtype, np.integer):
        q = np.floor_divide(a, b)
        return q + ((q < 0) & (q * b != a)).astype(q.dtype)
    return np.trunc(np.true_divide(a, b))


def _fma(a, b, c):
    """In the next wider type: once more rounded than the fused operation, which is seldom seen."""
    t = np.result_type(a, b, c)
    wide = {np.dtype(np.float32): np.float64, np.dtype(np.float64): np.longdouble}.get(t, t)
    a, b, c = (np.asarray(x, wide) for x in (a, b, c))
    return (a * b + c).astype(t)


def _sigmoid(a):
    a = np.asarray(a)
    if a.dtype.kind == "c":
        return 1 / (1 + np.exp(-a))
    e = np.exp(-np.abs(a))
    return np.where(a >= 0, 1 / (1 + e), e / (1 + e)).astype(a.dtype)


def _pow(a, b):
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind in "iu" and b.dtype.kind == "i":        # PyTorch: a negative power of an integer truncates towards zero
        neg = b < 0
        r = np.power(a, np.where(neg, 0, b).astype(b.dtype))
        odd = (b & 1).astype(bool)
        low = np.where(a == 1, 1, np.where(a == -1 if a.dtype.kind == "i" else False, np.where(odd, -1, 1), 0))
        return np.where(neg, low, r).astype(np.result_type(a, b))
    return np.power(a, b)


def _erfinv(a):
    """Newton steps on erf from a rational start; the reference only."""
    a64 = np.asarray(a, np.float64)
    w = -np.log1p(-a64 * a64)
    c = 2 / (math.pi * 0.147) + np.log1p(-a64 * a64) / 2
    x = np.copysign(np.sqrt(np.sqrt(c * c + w / 0.147) - c), a64)
    erf, erfc = _each(math.erf), _each(math.erfc)
    with np.errstate(all="ignore"):
        for _ in range(4):
            err = np.where(np.abs(a64) < 0.5, erf(x) - a64, np.sign(a64) * ((1 - np.abs(a64)) - erfc(np.abs(x))))
            step = err / (2 / math.sqrt(math.pi) * np.exp(-x * x))
            x = np.where(np.isfinite(step), x - step / (1 + x * step), x)
    x = np.where(np.abs(a64) == 1, np.copysign(np.inf, a64), np.where(np.abs(a64) > 1, np.nan, np.where(a64 == 0, a64, x)))
    return x.astype(np.asarray(a).dtype)


def _shifted_series(x, shift, series, reflect):
    """Evaluate at x + n, n bringing x to at least 10, with the recurrence undone; reflection below zero."""
    a = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        low = a < 0.5
        z = np.where(low, 1 - a, a)
        acc = np.zeros_like(z)
        for _ in range(10):
            small = z < 10
            acc = acc + np.where(small, shift(z), 0)
            z = np.where(small, z + 1, z)
        r = series(z) + acc
        r = np.where(low, reflect(a, r), r)
    return r.astype(np.asarray(x).dtype)


def _digamma(x):
    def series(z):
        w = 1 / (z * z)
        tail = 1 / 240 - w * (1 / 132 - w * (691 / 32760 - w / 12))
        return np.log(z) - 0.5 / z - w * (1 / 12 - w * (1 / 120 - w * (1 / 252 - w * tail)))
    r = _shifted_series(x, lambda z: -1 / z, series, lambda a, r: r - math.pi / np.tan(math.pi * a))
    a = np.asarray(x)
    return np.where(a == 0, np.copysign(np.inf, -a), np.where((a < 0) & (a == np.floor(a)), np.nan, r)).astype(a.dtype)


def _trigamma(x):
    def series(z):
        w = 1 / (z * z)
        tail = 1 / 30 - w * (5 / 66 - w * (691 / 2730 - w * 7 / 6))
        return 1 / z + 0.5 * w + w / z * (1 / 6 - w * (1 / 30 - w * (1 / 42 - w * tail)))
    r = _shifted_series(x, lambda z: 1 / (z * z), series, lambda a, r: (math.pi / np.sin(math.pi * a)) ** 2 - r)
    a = np.asarray(x)
    return np.where((a <= 0) & (a == np.floor(a)) & np.isfinite(a), np.inf, r).astype(a.dtype)


def _polygamma2(x):
    def series(z):
        w = 1 / (z * z)
        return -w - w / z - w * w * (0.5 - w * (1 / 6 - w * (1 / 6 - w * (3 / 10 - w * (5 / 6 - w * 691 / 210)))))
    return _shifted_series(x, lambda z: -2 / z**3, series,
                           lambda a, r: r - 2 * math.pi**3 * np.cos(math.pi * a) / np.sin(math.pi * a) ** 3)


def where(c, a, b):
    """c ? a : b"""
    return _make("select", c, a, b)


def cast(x, dtype):
    """x as another type (`"f32"` ...)."""
    return _make("cast", x, value=dtype)


PRIMITIVES = {}
for _name in ("add sub mul div floordiv truncdiv mod fmod neg sign floor ceil trunc rint sqrt rsqrt cbrt fma min max fmin fmax "
              "lt le gt ge eq ne isnan isinf isfinite signbit shl shr gcd copysign nextafter hypot exp exp2 expm1 log log2 log10 "
              "log1p sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh sigmoid logit softplus silu mish gelu "
              "gelu_tanh tanhshrink pow erf erfc erfcx erfinv ndtr sinc lgamma digamma trigamma polygamma2 conj").split():
    globals()[_name] = _function(_name)
    __all__.append(_name)
minimum, maximum, absolute = _function("min"), _function("max"), _function("abs")
logical_and, logical_or, logical_xor, logical_not = _function("and"), _function("or"), _function("xor"), _function("not")
bitwise_and, bitwise_or, bitwise_xor, bitwise_not = logical_and, logical_or, logical_xor, logical_not
__all__ += ["where", "cast", "minimum", "maximum", "absolute", "logical_and", "logical_or", "logical_xor", "logical_not",
            "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "square", "reciprocal", "bell", "PRIMITIVES"]
PRIMITIVES.update(_table())


def square(x):
    return x * x


def reciprocal(x):
    return 1 / x


def pick(table, places, size, wrong, *step, wrap=False):
    """The element of a table at a place along a dimension, which is an i64. `table` is an argument that lies as it does at place 0; `size`, the
    places that there are, and `step`, the bytes from one to the next where elements do not lie side by side, are the same everywhere. `wrap`:
    do negative places count from the end? What is at a place that there is not has no meaning, and 1 is written to the argument `wrong`.

    Only kernels that are made for it have it (`passes/fuse_gathers.py`); it has no derivative, and no form in NumPy."""
    return Expr("pick", (table, places, size, wrong, *step), wrap)


def one_place(index, sizes):
    """The place along several dimensions taken as one, of places along each (negative ones count from the end); -1 where one of them has no
    such place, which is to be no place then."""
    at, fine = const(0), None
    for i, n in zip(index, sizes, strict=True):
        i = where(lt(i, 0), i + n, i)
        inside = ge(i, 0) & lt(i, n)
        at, fine = (at * n + i, fine & inside) if fine is not None else (i, inside)
    return where(fine, at, -1)


# ---- slopes that the plain formula would lose ----------------------------------------------------------------------
def _exp_of_square(x, c):
    """exp(c x^2), c < 0 a power of two; the square with what its rounding lost."""
    a = minimum(absolute(x), 40)
    square = a * a
    e = exp(c * square)
    return fma(e, c * fma(a, a, -square), e)


def bell(x):
    """The density of the normal distribution."""
    return _exp_of_square(x, -0.5) * (1 / math.sqrt(2 * math.pi))


def _mish_slope(x):
    """N / D + x s (1 - (N / D)^2), s the sigmoid; N, D and m as `vmath` has them, 1 - (N / D)^2 = (D - N) (D + N) / D^2."""
    below = lt(x, 0)
    m = exp(-absolute(x))
    n = where(below, m * (m + 2), 1 + 2 * m)
    d = where(below, n + 2, n + 2 * m * m)
    return (n + x * (4 * where(below, m, m * m) * (m + 1) / d)) / d


def _slope_of_logistic_times(x, least, slope):
    """Of x s(t), s the sigmoid: s + x s (1 - s) t'. `least` is s(-|t|), from which both s and 1 - s are got without loss."""
    up = gt(x, 0)
    s, other = where(up, 1 - least, least), where(up, least, 1 - least)
    return s + s * (x * other * slope)


def _silu_slope(x):
    return _slope_of_logistic_times(x, sigmoid(-absolute(x)), 1)


def _gelu_tanh_slope(x):
    """Of which the sigmoid is gelu_tanh(x) / x."""
    x = minimum(maximum(x, -30), 30)
    a, c = -absolute(x), math.sqrt(8 / math.pi)
    return _slope_of_logistic_times(x, where(eq(a, 0), 0.5, gelu_tanh(a) / a), c + 3 * 0.044715 * c * (a * a))


def series(x, *cs):
    """cs[0] + cs[1] x + ..., by Horner's rule."""
    y = const(cs[-1])
    for c in cs[-2::-1]:
        y = y * x + c
    return y


def _sinc_slope(x):
    """(cos(pi x) - sinc(x)) / x, which cancels near zero: there from its power series."""
    near = lt(absolute(x), 0.5)
    n = rint(x)
    c = cos((x - n) * math.pi)
    c = where(eq(floor(n * 0.5) * 2, n), c, -c)
    terms = [(-1) ** k * 2 * k * math.pi ** (2 * k) / math.factorial(2 * k + 1) for k in range(1, 13)]
    a = where(near, x, 0)
    return where(near, a * series(a * a, *terms), (c - sinc(x)) / where(near, 1, x))


def _erfcx_slope(x):
    """2 x erfcx(x) - 2 / sqrt(pi), which cancels for large x: there from its series in 1 / x^2."""
    far = gt(x, 10)
    z = 1 / square(where(far, x, 10))
    terms, t = [], 1.0
    for k in range(16):
        terms.append(t)
        t *= -(2 * k + 3) / 2
    return where(far, z * series(z, *terms) * (-1 / math.sqrt(math.pi)), 2 * x * erfcx(x) - 2 / math.sqrt(math.pi))


# ---- reading an expression -----------------------------------------------------------------------------------------
@functools.lru_cache(1024)
def walk(*roots):
    """Every expression under the roots once, operands before their users."""
    seen, order, stack = set(), [], [*reversed(roots)]
    while stack:
        e = stack.pop()
        if e is None:                        # what lies below: its operands are done
            order.append(stack.pop())
        elif id(e) not in seen:
            seen.add(id(e))
            if e.args:
                stack += e, None
                stack += [a for a in reversed(e.args) if id(a) not in seen]
            else:
                order.append(e)
    return tuple(order)


def uses(*roots):
    """The indices of the arguments that the expressions read."""
    return sorted({e.value for e in walk(*roots) if e.op == "arg"})


def substitute(root, by):
    """The expression with argument i replaced by `by[i]` (arguments not in `by` stay)."""
    done = {}
    for e in walk(root):
        if e.op == "arg":
            done[id(e)] = lift(by[e.value]) if e.value in by else e
        else:
            done[id(e)] = Expr(e.op, tuple(done[id(a)] for a in e.args), e.value) if e.args else e
    return done[id(root)]


def replace(root, old, new):
    """The expression with the part `old` replaced by `new`."""
    done = {}
    for e in walk(root):
        done[id(e)] = new if e is old else Expr(e.op, tuple(done[id(a)] for a in e.args), e.value) if e.args else e
    return done[id(root)]


def types(roots, dtypes):
    """The type of every expression under the roots by `id`, given the arguments' types; None for a bare number."""
    known = {}
    for e in walk(*roots):
        if e.op == "arg":
            t = dtypes[e.value]
        elif e.op == "const":
            t = None
        elif e.op == "cast":
            t = e.value
        elif e.op in COMPARE:
            t = "bool"
        elif e.op == "select":
            t = known[id(e.args[1])] or known[id(e.args[2])]
        else:
            t = next((known[id(a)] for a in e.args if known[id(a)]), None)
        known[id(e)] = t
    return known


def typeof(root, dtypes):
    """The type of an expression, given its arguments' types; None for a bare number."""
    return types([root], dtypes)[id(root)]


def simplify(op, *xs):
    """x*1, x+0 from differentiation (where nothing can be lost): keeps derived expressions short."""
    a, b = xs
    av, bv = (x.value if x.op == "const" else None for x in xs)
    if op == "mul":
        if av == 1:
            return b
        if bv == 1:
            return a
        if av == -1:
            return -b
        if bv == -1:
            return -a
    return _make(op, a, b)


def _complex_slope(e, g, d):
    """The gradient that `g` of a complex expression sends to an operand: to what is conjugated its conjugate, to what an absolute value is
    taken of its real part in the operand's direction, and g * conj(d) through whatever has a complex derivative d."""
    if e.op == "conj":
        return _make("conj", g)
    if e.op == "abs":
        x = e.args[0]
        return (g + _make("conj", g)) * 0.5 * where(_make("eq", x, 0), 0, x / e)
    return simplify("mul", g, d if d.op == "const" else _make("conj", d))


def differentiate(root, g, wrt, complex=False):
    """For each argument in `wrt`: g * d root / d arg as an expression, or None where it does not depend on it.

    `g` is an expression (the incoming gradient). Parts that only pick (`where`) send the gradient through the pick, so that an
    infinity in the branch not taken cannot become a NaN. complex: of complex numbers, where the expression may conjugate.
    """
    order = walk(root)
    grads = {id(root): g}
    live = {id(e) for e in order if e.op == "arg" and e.value in wrt}
    for e in order:
        if any(id(a) in live for a in e.args):
            live.add(id(e))
    for e in reversed(order):
        g_e = grads.get(id(e))
        if g_e is None or id(e) not in live or e.op == "arg":
            continue
        if e.op == "select":
            c, a, b = e.args
            parts = (None, where(c, g_e, 0), where(c, 0, g_e))
        elif e.op == "cast":
            parts = (g_e,)
        else:
            rule = PRIMITIVES[e.op][1]
            if rule is None:
                continue
            slope = functools.partial(_complex_slope, e) if complex else functools.partial(simplify, "mul")
            parts = [None if isinstance(d, int | float) and d == 0 else slope(g_e, lift(d)) for d in rule(e, *e.args)]
        for a, p in zip(e.args, parts):
            if p is not None and id(a) in live:
                grads[id(a)] = p if id(a) not in grads else grads[id(a)] + p
    return [grads.get(id(arg(i))) if id(arg(i)) in live else None for i in wrt]


@functools.lru_cache(4096)
def _program(roots):
    """The expression as a flat list of NumPy steps; an operand that is a bare number is marked, to take the type of the others."""
    order = walk(*roots)
    at = {id(e): k for k, e in enumerate(order)}
    bare = set()
    for e in order:
        operands = e.args[1:] if e.op == "select" else e.args
        if e.op not in COMPARE and e.op not in ("arg", "cast") and all(id(a) in bare for a in operands):
            bare.add(id(e))
    return [(e.op, e.value, tuple((at[id(a)], id(a) in bare) for a in e.args)) for e in order], [at[id(r)] for r in roots]


def _is_half(dtype):
    return dtype.itemsize == 2 and dtype.kind in "fV"


def evaluate(roots, inputs, to_numpy_dtype):
    """Run expressions with NumPy on arrays (or scalars of a NumPy type): slow and sure, the reference for every target.

    f16 and bf16 are computed in f32 and rounded where the expression casts and at its end, as every target does.
    """
    steps, at = _program(tuple(roots))
    vals, halves = [], []
    with np.errstate(all="ignore"):
        for op, value, operands in steps:
            half = None
            if op == "arg":
                r = inputs[value]
                half = r.dtype if _is_half(r.dtype) else None
            elif op == "const":
                r = value
            elif op == "cast":
                r = np.asarray(vals[operands[0][0]]).astype(to_numpy_dtype(value))
                half = r.dtype if _is_half(r.dtype) else None
            elif op == "pick":
                raise NotImplementedError("what a kernel gathers has no form in NumPy")
            else:
                kept = operands[1:] if op == "select" else operands
                typed = [i for i, bare in kept if not bare]
                xs = [np.asarray(vals[i]).astype(vals[typed[0]].dtype) if bare and typed else vals[i] for i, bare in kept]
                half = halves[typed[0]] if typed and op not in COMPARE else None
                if op == "select":
                    r = np.where(vals[operands[0][0]], *xs)
                elif op == "nextafter" and half:                # the only function whose result depends on the spacing of its type
                    r = np.nextafter(*(x.astype(half) for x in xs))
                else:
                    r = PRIMITIVES[op][0](*xs)
            vals.append(r if half is None else r.astype(np.float32))
            halves.append(half)
        return [vals[i] if halves[i] is None else vals[i].astype(halves[i]) for i in at]
