"""Special functions: pointwise ops where a formula will do, NumPy loops that converge where it will not. `whet.special` publishes them."""
import math

import numpy as np

from .. import dtypes
from ..dtypes import FLOAT
from ..ir import scalar as s
from ..ir.scalar import absolute, eq, erfc, exp, ge, gt, isnan, le, log, log1p, lt, sqrt, where
from .pointwise_family import PointwiseOp
from .registry import Op, apply, is_tensor
from .samples import Sample, reals
from .surface import FUNCTIONS as F
from .surface import METHODS, function
from .surface import pointwise_function as f

R, POSITIVE, AWAY = reals(-3, 3), reals(0.2, 4), reals(-3, 3, avoid=(0,))

# Chebyshev series of exp(-x) I(x) over 0..8 (of I1 divided by x), and of that times sqrt(x) in 1/x beyond
I0_SMALL = (
    0.33839763720473803, -0.3046826723431984, 0.17162090152220877, -0.09490109704804764, 0.04930528423967071, -0.02373741480589947,
    0.010546460394594998, -0.004324309995050576, 0.0016394756169413357, -0.0005763755745385824, 0.00018850288509584165, -5.754195010082104e-05,
    1.6448448070728896e-05, -4.4167383584587505e-06, 1.1173875391201037e-06, -2.670793853940612e-07, 6.046995022541919e-08, -1.300025009986248e-08,
    2.6598237246823866e-09, -5.189795601635263e-10, 9.675809035373237e-11, -1.726826291441556e-11, 2.95505266312964e-12, -4.856446783111929e-13,
    7.676185498604936e-14, -1.1685332877993451e-14, 1.715391285555133e-15, -2.431279846547955e-16, 3.3307945188222384e-17)
I0_LARGE = (
    0.4022452055070544, 0.0033691164782556943, 6.889758346916825e-05, 2.8913705208347567e-06, 2.0489185894690638e-07, 2.266668990498178e-08,
    3.3962320257083865e-09, 4.94060238822497e-10, 1.1889147107846439e-11, -3.1499165279632416e-11, -1.3215811840447713e-11,
    -1.7941785315068062e-12, 7.180124451383666e-13, 3.8527783827421426e-13, 1.54008621752141e-14, -4.150569347287222e-14, -9.554846698828307e-15,
    3.8116806693526224e-15, 1.7725601330565263e-15, -3.425485619677219e-16, -2.8276239805165836e-16, 3.461222867697461e-17, 4.46562142029676e-17)
I1_SMALL = (
    0.12629359322181682, -0.17641651835783406, 0.1026436586898471, -0.05294598120809499, 0.024726449030626516, -0.010564084894626197,
    0.004156422944312888, -0.0015135724506312532, 0.0005122859561685758, -0.00016176081582589674, 4.781565107550054e-05, -1.3273163656039436e-05,
    3.4702513081376785e-06, -8.568720264695455e-07, 2.0032947535521353e-07, -4.445059128796328e-08, 9.381537386495773e-09, -1.8872497517228294e-09,
    3.625590281552117e-10, -6.663489723502027e-11, 1.1736186298890901e-11, -1.9839743977649436e-12, 3.223793365945575e-13, -5.042185504727912e-14,
    7.600684294735408e-15, -1.1055969477353862e-15, 1.5536319577362005e-16, -2.111421214358166e-17)
I1_LARGE = (
    0.38928811750914005, -0.009761097491361469, -0.00011058893876262371, -3.882564808877691e-06, -2.512236237870209e-07, -2.6314688468895196e-08,
    -3.835380385964237e-09, -5.589743462196584e-10, -1.8974958123505413e-11, 3.2526035830154884e-11, 1.4125807436613782e-11,
    2.0356285441470896e-12, -7.198551776245908e-13, -4.0835511110921974e-13, -2.1015418427726643e-14, 4.272440016711951e-14,
    1.0420276984128802e-14, -3.8144030724370075e-15, -1.8803547755107825e-15, 3.3082023109209285e-16, 2.96262899764595e-16, -3.209525921993424e-17,
    -4.6503053684893586e-17)


def _chebyshev(t, c):
    """The sum of c[k] T_k(t), by Clenshaw's recurrence."""
    a, b = s.const(c[-1]) + t * 0, t * 0
    for k in range(len(c) - 2, 0, -1):
        a, b = 2 * t * a - b + c[k], a
    return t * a - b + c[0]


def _scaled_bessel(x, small, large):
    """exp(-x) I(x) for x >= 0 (over x where that is small), of which the two series are given."""
    near = s.minimum(x, 8)
    far = s.maximum(x, 8)
    return _chebyshev(near / 4 - 1, small), _chebyshev(16 / far - 1, large) / sqrt(far)


def _i0e(x):
    a = absolute(x)
    near, far = _scaled_bessel(a, I0_SMALL, I0_LARGE)
    return where(le(a, 8), near, far)


def _i1e(x):
    a = absolute(x)
    near, far = _scaled_bessel(a, I1_SMALL, I1_LARGE)
    return where(le(a, 8), near * x, where(lt(x, 0), -far, far))


def _special(name, fn, samples, **kw):
    """A function of `whet.special` alone."""
    return f("special_" + name, fn, promote="float", kinds="bif", samples=samples, method=False, inplace=False, **kw)


i0e_op = _special("i0e", _i0e, R, vjp=lambda g, y, x: [g * (_i1e(x) - where(lt(x, 0), -y, where(gt(x, 0), y, 0)))])
i0 = f("i0", lambda input: _i0e(input) * exp(absolute(input)), promote="float", kinds="bif", samples=R,
       vjp=lambda g, y, x: [g * (_i1e(x) * exp(absolute(x)))])


def _slope_of_i1(x, i0, i1):
    """I0 - I1 / x, which is half of I0 at 0."""
    return where(lt(absolute(x), 1e-6), 0.5 * i0, i0 - i1 / where(lt(absolute(x), 1e-6), 1, x))


i1 = _special("i1", lambda input: _i1e(input) * exp(absolute(input)), AWAY,
              vjp=lambda g, y, x: [g * _slope_of_i1(x, _i0e(x) * exp(absolute(x)), y)])
i1e = _special("i1e", _i1e, AWAY, vjp=lambda g, y, x: [g * (_slope_of_i1(x, _i0e(x), y) - where(lt(x, 0), -y, y))])

entr = _special("entr", lambda input: where(isnan(input), input, where(gt(input, 0), -input * log(input), where(eq(input, 0), 0, -math.inf))),
                POSITIVE, vjp=lambda g, y, x: [g * (-log(x) - 1)])


def _erfcx(x):
    """exp(x^2) erfc(x): as it stands up to 5, a continued fraction beyond."""
    far, low = s.maximum(x, 5), s.minimum(x, 5)
    c = far
    for k in range(40, 0, -1):
        c = far + (k / 2) / c
    return where(gt(x, 5), 1 / (math.sqrt(math.pi) * c), exp(low * low) * erfc(low))


erfcx = _special("erfcx", lambda input: _erfcx(input), R, vjp=lambda g, y, x: [g * (2 * x * y - 2 / math.sqrt(math.pi))])
ndtr = _special("ndtr", lambda input: 0.5 * erfc(input * -math.sqrt(0.5)), R,
                vjp=lambda g, y, x: [g * (exp(-0.5 * (x * x)) * (1 / math.sqrt(2 * math.pi)))])


def _log_ndtr(x):
    low = s.minimum(x, -1)
    return where(lt(x, -1), log(_erfcx(low * -math.sqrt(0.5)) * 0.5) - 0.5 * (low * low), log1p(-0.5 * erfc(x * math.sqrt(0.5))))


log_ndtr = _special("log_ndtr", lambda input: _log_ndtr(input), R,
                    vjp=lambda g, y, x: [g * exp(-0.5 * (x * x) - y - 0.5 * math.log(2 * math.pi))])


def _ndtri(p):
    """Through erfinv in the middle; Newton's steps on the logarithm in the tails."""
    q = s.minimum(p, 1 - p)
    l = log(s.minimum(q, 0.1))
    r = -2 * l - math.log(2 * math.pi)
    x = -sqrt(s.maximum(r - log(s.maximum(r, 1)), 0.5))
    for _ in range(4):
        v = _log_ndtr(x)
        x = x - (v - l) * exp(v + 0.5 * (x * x) + 0.5 * math.log(2 * math.pi))
    tail = where(eq(q, 0), -math.inf, x)
    return where(gt(q, 0.1), math.sqrt(2) * s.erfinv(2 * p - 1), where(lt(p, 0.5), tail, -tail))


ndtri = _special("ndtri", lambda input: where(ge(input, 0) & le(input, 1), _ndtri(input), math.nan), reals(0.02, 0.98),
                 vjp=lambda g, y, x: [g * (exp(0.5 * (y * y)) * math.sqrt(2 * math.pi))])
xlog1py = _special("xlog1py", lambda input, other: where(isnan(other), other, where(eq(input, 0), 0, input * log1p(other))), (R, reals(-0.8, 3)),
                   vjp=lambda g, y, x, z: [where(eq(x, 0) & le(z, -1), 0, g * log1p(z)), g * (x / (z + 1))])
spherical_bessel_j0 = _special("spherical_bessel_j0", lambda input: where(eq(input, 0), 1, s.sin(input) / where(eq(input, 0), 1, input)), AWAY,
                               differentiable=False)

# Euler and Maclaurin's corrections of a sum that was cut off: B(2k) / (2k)!
_BERNOULLI = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600)


def _zeta(x, q):
    """The sum of (q + k)^-x over k >= 0: nine terms, the integral of the others, and what that is short of."""
    total = s.pow(q, -x)
    for k in range(1, 9):
        total = total + s.pow(q + k, -x)
    w = q + 9
    power = s.pow(w, -x)
    total = total + power * w / (x - 1) + 0.5 * power
    factor, power = x, power / w
    for j, b in enumerate(_BERNOULLI):
        total = total + b * factor * power
        factor, power = factor * (x + (2 * j + 1)) * (x + (2 * j + 2)), power / (w * w)
    whole = le(q, 0) & eq(q, s.floor(q))
    return where(eq(x, 1), math.inf, where(lt(x, 1), math.nan, where(whole, math.inf, where(le(q, 0) & ~eq(x, s.floor(x)), math.nan, total))))


zeta = _special("zeta", lambda input, other: _zeta(input, other), (reals(1.5, 5, grad=False), reals(0.5, 4)),
                vjp=lambda g, y, x, q: [None, g * (-x * _zeta(x + 1, q))])
trigamma_op = PointwiseOp("trigamma", lambda input: s.trigamma(input), promote="float", kinds="bif", samples=POSITIVE,
                          vjp=lambda g, y, x: [g * where(gt(x, 0), -2 * _zeta(s.const(3.0), s.maximum(x, 1e-30)), s.polygamma2(x))])


@function("polygamma", method=False, out=True)
def _polygamma(n, input):
    """The n-th derivative of `digamma`.

    >>> import whet
    >>> whet.polygamma(1, whet.tensor([1., 0.5]))
    tensor([1.6449, 4.9348])
    """
    if not is_tensor(input):
        raise TypeError(f"polygamma(): argument 'input' (position 2) must be Tensor, not {type(input).__name__}")
    if not isinstance(n, int):
        raise TypeError(f"polygamma(): argument 'n' (position 1) must be int, not {type(n).__name__}")
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n > 170:
        raise RuntimeError(f"polygamma(n, x): n must be at most 170, got {n}")
    if n < 2:
        return F["digamma"](input) if n == 0 else apply(trigamma_op, (input,), {})
    x = input if input.dtype.kind >= FLOAT else input.to(dtypes.get_default_dtype())
    return F["special_zeta"](F["full_like"](x, n + 1.0).detach(), x) * float((-1) ** (n + 1) * math.factorial(n))


METHODS["polygamma"] = lambda self, n: _polygamma(n, self)
METHODS["polygamma_"] = lambda self, n: self.copy_(_polygamma(n, self))
METHODS["igamma_"] = lambda self, other: self.copy_(igamma(self, other))
METHODS["igammac_"] = lambda self, other: self.copy_(igammac(self, other))


# ---- incomplete gamma functions --------------------------------------------------------------------------------------
def _log_gamma(a):
    return s.PRIMITIVES["lgamma"][0](a)


def _incomplete(a, x, upper):
    """P(a, x), or 1 - P: a series below the mean, a continued fraction above it."""
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    flat, shape = (a.ravel(), x.ravel()), a.shape
    a, x = flat
    with np.errstate(all="ignore"):
        front = np.exp(a * np.log(x) - x - _log_gamma(a))
        low = (x < a + 1) & (x > 0) & (a > 0) & np.isfinite(x) & np.isfinite(a)
        high = (x >= a + 1) & (a > 0) & np.isfinite(x)
        result = np.full(a.shape, np.nan)
        if low.any():
            n, z = a[low].copy(), x[low]
            term = total = 1 / n
            for _ in range(20_000):
                n = n + 1
                term = term * (z / n)
                total = total + term
                if (term < total * 1e-17).all():
                    break
            p = front[low] * total
            result[low] = 1 - p if upper else p
        if high.any():
            b = x[high] + 1 - a[high]
            c, d = np.full(b.shape, 1e300), 1 / b
            h = d
            for i in range(1, 20_000):
                an = -i * (i - a[high])
                b = b + 2
                d = 1 / np.where(np.abs(an * d + b) < 1e-300, 1e-300, an * d + b)
                c = np.where(np.abs(b + an / c) < 1e-300, 1e-300, b + an / c)
                step = d * c
                h = h * step
                if (np.abs(step - 1) < 1e-16).all():
                    break
            q = front[high] * h
            result[high] = q if upper else 1 - q
        zero, one = (1.0, 0.0) if upper else (0.0, 1.0)
        result[(x == 0) & (a > 0)] = zero
        result[(a == 0) & (x > 0)] = one
        result[np.isinf(a) & np.isfinite(x) & (x >= 0)] = zero
        result[np.isinf(x) & (x > 0) & np.isfinite(a) & (a >= 0)] = one
    return result.reshape(shape)


def _incomplete_op(name, upper):
    def forward(a, x):
        kind = np.result_type(a, x) if a.dtype.kind == x.dtype.kind == "f" else a.dtype
        return np.asarray(_incomplete(a, x, upper), kind)

    def vjp(g, _y, a, x):
        slope = F["exp"]((a - 1) * x.log() - x - F["lgamma"](a))
        return [None, ((-g if upper else g) * slope).sum_to_size(x.shape)]
    op = Op(name, forward, vjp, samples=lambda make: [
        Sample(make(*shape, low=0.3, high=6, grad=False), make(*shape, low=0.3, high=6)) for shape in ((5,), (2, 3))])

    def call(input, other):
        for what, t in (("input", input), ("other", other)):
            if not is_tensor(t):
                raise TypeError(f"{name}(): argument '{what}' must be Tensor, not {type(t).__name__}")
            if t.dtype.kind != FLOAT:
                raise NotImplementedError(f"\"{name}\" not implemented for '{t.dtype.letter}'")
        if input.requires_grad:
            raise NotImplementedError(f"the derivative for '{name}: input' is not implemented.")
        t = dtypes.promote_types(input.dtype, other.dtype)
        return apply(op, (input.to(t), other.to(t)), {})
    call.__name__ = call.__qualname__ = name
    call.__doc__ = (f"The regularised {'upper' if upper else 'lower'} incomplete gamma function of shape `input` at `other`.")
    return function(out=True)(call)


igamma = _incomplete_op("igamma", False)
igammac = _incomplete_op("igammac", True)


# ---- modified Bessel functions of the second kind ------------------------------------------------------------------------
def _second_kind(x, order, scaled):
    """exp(x) K(x) is the integral of exp(x (1 - cosh t)) cosh(order t) over t > 0, to which sums converge at once."""
    a = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        t = np.arange(0, 12, 1 / 16)
        weight = np.where(t == 0, 0.5, 1.0) / 16 * np.cosh(order * t)
        y = np.zeros(a.shape)
        for k, w in zip(np.cosh(t) - 1, weight):
            y += w * np.exp(-a * k)
        y = y if scaled else y * np.exp(-a)
        y = np.where(a == 0, np.inf, np.where(a < 0, np.nan, y))
    return y.astype(np.asarray(x).dtype)


def _second_kind_op(name, order, scaled):
    op = Op("special_" + name, lambda x: _second_kind(x, order, scaled), samples=lambda make: [Sample(make(5, low=0.3, high=6, grad=False))])

    def call(input):
        if not is_tensor(input):
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
        if input.dtype.kind > FLOAT:
            raise NotImplementedError(f"\"{name}\" not implemented for '{input.dtype.letter}'")
        if input.requires_grad:
            raise NotImplementedError(f"the derivative for '{name}' is not implemented.")
        return apply(op, (input if input.dtype.kind == FLOAT else input.to(dtypes.get_default_dtype()),), {})
    call.__name__ = call.__qualname__ = "special_" + name
    call.__doc__ = f"The modified Bessel function of the second kind of order {order}{', times exp(x)' if scaled else ''}."
    return function(method=False, out=True)(call)


for _order in (0, 1):
    _second_kind_op(f"modified_bessel_k{_order}", _order, False)
    _second_kind_op(f"scaled_modified_bessel_k{_order}", _order, True)
