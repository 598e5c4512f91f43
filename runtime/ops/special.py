"""Special functions: pointwise ops where a formula will do, NumPy loops that converge where it
will not. `whet.special` publishes them."""
import math
from fractions import Fraction

import numpy as np

from .. import dtypes
from ..autograd.modes import is_grad_enabled
from ..dtypes import FLOAT
from ..ir import scalar as s
from ..ir.scalar import absolute, eq, exp, gt, isnan, le, log, log1p, lt, sqrt, where
from ..size_arguments import broadcast_shapes
from .batching import broadcast
from .join import common_type
from .out_types import OutType
from .pointwise_family import PointwiseOp
from .registry import Op, apply, check_tensors, is_tensor
from .sample_inputs import Sample, reals
from .surface import FUNCTIONS as F
from .surface import METHODS, function
from .surface import pointwise_function as f

R, POSITIVE, AWAY = reals(-3, 3), reals(0.2, 4), reals(-3, 3, avoid=(0,))

# polynomials for exp(-x) I(x) over 0..8 (of I1 divided by x), in x / 4 - 1, and for that times
# sqrt(x) beyond, in 16 / x - 1
I0_SMALL = (0.2070019212239867, -0.11300432688620536, 0.09451562853995103, -0.08904344136077755,
            0.08734341617552313, -0.08496338091541732, 0.07927522590716347, -0.06954119563168235,
            0.05677703201991695, -0.0429859492954222, 0.030177912022978357, -0.019682655791721182,
            0.011960077907026221, -0.006792394790940051, 0.003617126448897043,
            -0.0018119030567637056, 0.0008563152748272306, -0.00038286526498299526,
            0.00016240542162878106, -6.556805964401791e-05, 2.520232727107692e-05,
            -9.183742586936203e-06, 3.2293390826404927e-06, -1.142045323881917e-06,
            3.675842926555429e-07, -8.591406444264668e-08, 2.6265363151970112e-08,
            -1.6316042856792757e-08, 4.470516727511741e-09)
I0_LARGE = (0.4021765094450081, 0.0033605519836677504, 0.00013621607438984735,
            1.1143033800708978e-05, 1.4838476651250266e-06, 2.973596046562712e-07,
            8.872034383314144e-08, 3.932889375114634e-08, 2.1566251453104354e-08,
            7.534355843803342e-09, -6.8493381882867694e-09, -1.3326094405766387e-08,
            -5.0381064879032845e-09, 7.3359687108161536e-09, 6.560138746917057e-09,
            -3.1346276429240787e-09, -4.575553424534973e-09, 1.1050558794424347e-09,
            2.1968921378829006e-09, -2.8033819978869995e-10, -6.633287112547084e-10,
            3.629355229718733e-11, 9.36508689281819e-11)
I1_SMALL = (0.04468770987560883, -0.061124338029666284, 0.06805759990951268, -0.06848260620582691,
            0.06376740371333643, -0.055280039226991644, 0.04467457262306667, -0.03367135552108536,
            0.02368601693352639, -0.015571309243980052, 0.009583962344356725, -0.005534567847563678,
            0.003005761416447221, -0.00153887456203039, 0.0007445158727006065,
            -0.0003411760289073331, 0.00014841259927108295, -6.142360299099794e-05,
            2.42486684188831e-05, -9.136543922789093e-06, 3.2758438130588964e-06,
            -1.1327072698408053e-06, 3.9094375480236725e-07, -1.2424759932738304e-07,
            2.987385645901576e-08, -8.984420960424589e-09, 5.2131237878886215e-09,
            -1.41695079121077e-09)
I1_LARGE = (0.38939845902587233, -0.009749577193235635, -0.0002192357638317243,
            -1.5038547209501858e-05, -1.8349102358955385e-06, -3.4838534380376333e-07,
            -1.000109565963654e-07, -4.313196489977733e-08, -2.339250374801858e-08,
            -8.409182040442918e-09, 6.8401389977069586e-09, 1.3958551001385955e-08,
            5.59337010179061e-09, -7.44444147719727e-09, -6.983839624895866e-09,
            3.086886736722725e-09, 4.810597405089944e-09, -1.0594544160443166e-09,
            -2.297004161885201e-09, 2.6340771095136483e-10, 6.917089294193807e-10,
            -3.365431853180176e-11, -9.752397204138195e-11)


def _polynomial(t, c):
    """c[0] + c[1] t + ..., by Horner's scheme."""
    y = c[-1]
    for a in reversed(c[:-1]):
        y = y * t + a
    return y


def _scaled_bessel(x, small, large):
    """exp(-x) I(x) for x >= 0 (over x where that is small), of which the two polynomials are
    given."""
    near, far = s.minimum(x, 8), s.maximum(x, 8)
    return _polynomial(near / 4 - 1, small), _polynomial(16 / far - 1, large) / sqrt(far)


def _i0e(input):
    a = absolute(input)
    near, far = _scaled_bessel(a, I0_SMALL, I0_LARGE)
    return where(le(a, 8), near, far)


def _i1e(input):
    a = absolute(input)
    near, far = _scaled_bessel(a, I1_SMALL, I1_LARGE)
    return where(le(a, 8), near * input, where(lt(input, 0), -far, far))


def _special(name, fn, samples, **kw):
    """A function of `whet.special` alone."""
    return f("special_" + name, fn, promote="float", kinds="bif", samples=samples, method=False,
             inplace=False, **kw)


def _grown(x, y):
    """y exp(x), in two steps, so that nothing overflows where the result does not."""
    half = exp(0.5 * x)
    return y * half * half


i0e_op = _special("i0e", _i0e, R, wide=True,
                  vjp=lambda g, y, x: [g * (_i1e(x) - s.sign(x) * _i0e(x))],
                  doc="exp(-|input|) * i0(input), elementwise.",
                  example="[0., 1.] -> [1.0000, 0.4658]")
i0 = f("i0", lambda input: _grown(absolute(input), _i0e(input)), promote="float", kinds="bif",
       samples=R, wide=True, vjp=lambda g, y, x: [g * _grown(absolute(x), _i1e(x))],
       doc="The modified Bessel function of the first kind, of order 0.",
       example="[0., 1.] -> [1.0000, 1.2661]")


def _slope_of_i1(x, i0, i1):
    """I0 - I1 / x, which is half of I0 at 0."""
    return where(lt(absolute(x), 1e-9), 0.5 * i0, i0 - i1 / where(lt(absolute(x), 1e-9), 1, x))


i1 = _special("i1", lambda input: _grown(absolute(input), _i1e(input)), AWAY, wide=True,
              vjp=lambda g, y, x: [g * _slope_of_i1(x, _grown(absolute(x), _i0e(x)), y)],
              doc="The modified Bessel function of the first kind, of order 1.",
              example="[0., 1.] -> [0.0000, 0.5652]")
i1e = _special("i1e", _i1e, AWAY, wide=True,
               vjp=lambda g, y, x: [g * (_slope_of_i1(x, _i0e(x), y) - where(lt(x, 0), -y, y))],
               doc="exp(-|input|) * i1(input), elementwise.",
               example="[0., 1.] -> [0.0000, 0.2079]")

entr = _special(
    "entr",
    lambda input: where(isnan(
        input), input, where(gt(input, 0), -input * log(input), where(eq(input, 0), 0, -math.inf))),
    POSITIVE, vjp=lambda g, y, x: [g * (-log(x) - 1)],
    doc="-input * log(input): the entropy; minus infinity below 0.",
    example="[0., 0.5, -1.] -> [0.0000, 0.3466, -inf]")


erfcx = _special("erfcx", lambda input: s.erfcx(input), R, wide=True,
                 doc="exp(input ** 2) * erfc(input), without overflow.",
                 example="[0., 30.] -> [1.0000, 0.0188]")
ndtr = _special("ndtr", lambda input: s.ndtr(input), R,
                doc="The distribution function of the standard normal distribution.",
                example="[0., 1.] -> [0.5000, 0.8413]")


def _log_ndtr(x):
    low = s.minimum(x, -1)
    return where(lt(x, -1),
                 log(s.erfcx(low * -math.sqrt(0.5)) * 0.5) - 0.5 * low * low,
                 log1p(-s.ndtr(-x)))


def _log_ndtr_slope(x):
    """The density over the distribution, of which both vanish in the lower tail."""
    return where(lt(x, 0),
                 math.sqrt(2 / math.pi) / s.erfcx(s.minimum(x, 0) * -math.sqrt(0.5)),
                 s.bell(x) / s.ndtr(x))


log_ndtr = _special("log_ndtr", lambda input: _log_ndtr(input),
                    R,
                    wide=True,
                    vjp=lambda g, y, x: [g * _log_ndtr_slope(x)],
                    doc="log(ndtr(input)), exact in the lower tail, too.",
                    example="[0., -10.] -> [ -0.6931, -53.2313]")


ndtri = _special("ndtri", lambda input: s.ndtri(input), reals(0.02, 0.98),
                 doc="The inverse of `ndtr`.", example="[0.5, 0.9] -> [0.0000, 1.2816]")
xlog1py = _special("xlog1py", lambda input,
                   other: where(isnan(other), other, where(eq(input, 0), 0, input * log1p(other))),
                   (R, reals(-0.8, 3)), wide=True, vjp=lambda g, y, x,
                   z: [where(eq(x, 0) & le(z, -1), 0, g * log1p(z)), g * (x / (z + 1))],
                   doc="input * log1p(other), 0 where input is 0.",
                   example="[0., 2.], [-1., 1.] -> [0.0000, 1.3863]")
spherical_bessel_j0 = _special("spherical_bessel_j0",
                               lambda input: where(s.isinf(input), 0,
                                                   where(eq(input, 0), 1, s.sin(input) / input)),
                                                   AWAY, differentiable=False, wide=True,
                               doc="sin(input) / input, 1 at 0.",
                               example="[0., 1.] -> [1.0000, 0.8415]")

# Euler and Maclaurin's corrections of a sum that was cut off: B(2k) / (2k)!
_BERNOULLI = ((1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000,
               1 / 74724249600))


def _zeta(x, q):
    """The sum of (q + k)^-x over k >= 0: nine terms, the integral of the others, and what that
    is short of."""
    total = s.pow(q, -x)
    for k in range(1, 9):
        total = total + s.pow(q + k, -x)
    w = q + 9
    power = s.pow(w, -x)
    total = total + power * w / (x - 1) + 0.5 * power
    factor, power = x, power / w
    for j, b in enumerate(_BERNOULLI):
        # where the factors may have overflowed
        total = total + where(eq(power, 0), 0, b * factor * power)
        factor, power = factor * (x + (2 * j + 1)) * (x + (2 * j + 2)), power / (w * w)
    whole = le(q, 0) & eq(q, s.floor(q))
    return where(
        eq(x, 1), math.inf,
        where(lt(x, 1), math.nan,
              where(whole, math.inf, where(le(q, 0) & ~eq(x, s.floor(x)), math.nan, total))))


zeta = _special("zeta", lambda input, other: _zeta(input, other),
                (reals(1.5, 5, grad=False), reals(0.5, 4)),
                wide=True,
                vjp=lambda g, y, x, q: [None, g * (-x * _zeta(x + 1, q))])
trigamma_op = PointwiseOp(
    "trigamma", lambda input: s.trigamma(input), promote="float", kinds="bif", samples=POSITIVE,
    vjp=lambda g, y, x: [
        g * where(gt(x, 0), -2 * _zeta(s.const(3.0), s.maximum(x, 1e-30)), s.polygamma2(x))])


def _cotangent_slopes(n):
    """The n-th derivative of cot(u), over n!: coefficients of its polynomial in cot(u), lowest
    first."""
    p = [0, 1]
    for _ in range(n):                                       # cot' = -(1 + cot^2)
        slope = [k * c for k, c in enumerate(p)][1:]
        p = [-(a + b) for a, b in zip([*slope, 0, 0], [0, 0, *slope])]
    return [float(Fraction(c, math.factorial(n))) for c in p]


@function("polygamma", method=False, out=True, out_type=OutType.CASTS)
def polygamma(n, input):
    """The n-th derivative of `digamma`.

    >>> import whet
    >>> whet.polygamma(1, whet.tensor([1., 0.5]))
    tensor([1.6449, 4.9348])
    """
    if not is_tensor(input):
        raise TypeError(
            "polygamma(): argument 'input' (position 2) must be Tensor, not "
            f"{input.__class__.__name__}"
        )
    if not isinstance(n, int):
        raise TypeError(
            f"polygamma(): argument 'n' (position 1) must be int, not {n.__class__.__name__}")
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n > 170:
        raise RuntimeError(f"polygamma(n, x): n must be at most 170, got {n}")
    if n < 2:
        return F["digamma"](input) if n == 0 else apply(trigamma_op, (input,), {})
    x = input if input.dtype.category >= FLOAT else input.to(dtypes.get_default_dtype())
    # below zero by reflection: the sum that zeta is would pass the poles term by term
    below = (x < 0) & (x != x.floor())
    wide = F["where"](below, x, -0.25).double()
    turn = wide - wide.detach().round()
    cot, poles = ((0.5 - turn.abs()) * math.pi).sin() / (turn * math.pi).sin(), 0.0
    for c in reversed(_cotangent_slopes(n)):
        poles = cot * poles + c
    sums = F["special_zeta"](F["full_like"](x, n + 1.0).detach(), F["where"](below, 1 - x, x))
    return (F["where"](below, (-math.pi ** (n + 1) * poles - sums.double()).to(x.dtype),
                       sums * float((-1) ** (n + 1))) * float(math.factorial(n)))




def _into(t, r):
    """A result computed of a copy (which the backward may read), as the tensor's own."""
    if not dtypes.can_cast(r.dtype, t.dtype):
        raise RuntimeError(
            f"result type {r.dtype.letter} can't be cast to the desired output type "
            f"{t.dtype.letter}")
    return t.copy_(r)


METHODS["polygamma"] = lambda self, n: polygamma(n, self)
METHODS["polygamma_"] = lambda self, n: _into(self, polygamma(n, self.clone()))
METHODS["igamma_"] = lambda self, other: _into(self, igamma(self.clone(), other))
METHODS["igammac_"] = lambda self, other: _into(self, igammac(self.clone(), other))


# ---- incomplete gamma functions ------------------------------------------------------------------
def _log_gamma(a):
    return s.PRIMITIVES["lgamma"][0](a)


# Both below go on with those elements alone that have not converged, so that none waits for
# another, nor depends on it. An element takes some multiples of the root of `a`, where what is
# summed up is not multiplied by 0 anyway.
STEPS, LARGE = 20_000, 1e7


def _series(a, x, front):
    """P(a, x) for x below a + 1, given x^a exp(-x) / gamma(a)."""
    result, live = np.zeros(a.shape), np.flatnonzero((front > 0) & (a <= LARGE))
    n, z = a[live], x[live]
    term = 1 / n
    total = term
    for _ in range(STEPS):
        if not live.size:
            break
        n = n + 1
        term = term * (z / n)
        total = total + term
        done = ~(term >= total * 1e-17)
        if done.any():
            result[live[done]] = total[done]
            live, n, z, term, total = (v[~done] for v in (live, n, z, term, total))
    result[live] = total
    return front * result


def _fraction(a, x, front):
    """1 - P(a, x) for x from a + 1 on, given x^a exp(-x) / gamma(a)."""
    result, live = np.zeros(a.shape), np.flatnonzero((front > 0) & (a <= LARGE))
    e = a[live]
    b = x[live] + 1 - e
    c, d = np.full(b.shape, 1e300), 1 / b
    h = d
    for i in range(1, STEPS):
        if not live.size:
            break
        an = -i * (i - e)
        b = b + 2
        d = 1 / np.where(np.abs(an * d + b) < 1e-300, 1e-300, an * d + b)
        c = np.where(np.abs(b + an / c) < 1e-300, 1e-300, b + an / c)
        step = d * c
        h = h * step
        done = ~(np.abs(step - 1) >= 1e-16)
        if done.any():
            result[live[done]] = h[done]
            live, e, b, c, d, h = (v[~done] for v in (live, e, b, c, d, h))
    result[live] = h
    return front * result


def _far_out(a, x, upper):
    """P(a, x), or 1 - P, for large a: Temme's uniform expansion, whose later terms are below the
    precision."""
    mu = (x - a) / a
    near = np.abs(mu) < 1e-3
    small = mu * mu * (1 / 2 - mu * (1 / 3 - mu * (1 / 4 - mu * (1 / 5 - mu / 6))))
    half_square = np.where(near, small, mu - np.log1p(mu))                  # of eta
    eta = np.copysign(np.sqrt(2 * half_square), mu)
    sign = 1 if upper else -1
    tail = 0.5 * s.PRIMITIVES["erfc"][0](sign * eta * np.sqrt(a / 2))
    rest = (np.exp(-a * half_square) / np.sqrt(2 * np.pi * a) *
            (-1 / 3 + eta * (1 / 12 - eta * (2 / 135 - eta * (1 / 864 + eta / 2835)))))
    return tail + sign * np.where(np.isfinite(rest), rest, 0)


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
        p = _series(a[low], x[low], front[low])
        result[low] = 1 - p if upper else p
        q = _fraction(a[high], x[high], front[high])
        result[high] = q if upper else 1 - q
        far = (low | high) & (a > LARGE)
        result[far] = _far_out(a[far], x[far], upper)
        zero, one = (1.0, 0.0) if upper else (0.0, 1.0)
        result[(x == 0) & (a > 0)] = zero
        result[(a == 0) & (x > 0)] = one
        result[(a == np.inf) & np.isfinite(x) & (x >= 0)] = zero
        result[np.isinf(x) & (x > 0) & np.isfinite(a) & (a >= 0)] = one
    return result.reshape(shape)


def _incomplete_op(name, upper):
    def forward(a, x):
        kind = np.result_type(a, x) if a.dtype.kind == x.dtype.kind == "f" else a.dtype
        return np.asarray(_incomplete(a, x, upper), kind)

    def vjp(g, _y, a, x):
        slope = F["exp"]((a - 1) * x.log() - x - F["lgamma"](a))
        return [None, ((-g if upper else g) * slope).sum_to_size(x.shape)]
    op = Op(
        name, forward, vjp, samples=lambda make: [
            Sample(make(*shape, low=0.3, high=6, grad=False), make(*shape, low=0.3, high=6))
            for shape in ((5,), (2, 3))], batch=broadcast)

    def call(input, other):
        check_tensors(name, 2, input=input, other=other)
        if input.requires_grad and is_grad_enabled():
            raise NotImplementedError(f"the derivative for '{name}: input' is not implemented.")
        broadcast_shapes(input.shape, other.shape)
        input, other = common_type([input, other])
        if input.dtype.category != FLOAT:
            raise NotImplementedError(f"\"{name}\" not implemented for '{input.dtype.letter}'")
        return apply(op, (input, other), {})
    call.__name__ = call.__qualname__ = name
    call.__doc__ = (
        f"The regularised {'upper' if upper else 'lower'} incomplete gamma function of shape "
        f"`input` at `other`.\n\n>>> import whet\n>>> whet.{name}(whet.ones(1), whet.ones(1))\n"
        f"tensor([{0.3679 if upper else 0.6321}])")
    return function(out=True, out_type=OutType.CASTS)(call)


igamma = _incomplete_op("igamma", upper=False)
igammac = _incomplete_op("igammac", upper=True)
