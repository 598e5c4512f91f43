"""Bessel functions of both kinds, the modified ones of the second kind, and Airy's function.

Each is a scalar expression: polynomials near zero, and further out what is left of the function
when its waves or its decay are divided out, which is a polynomial of the inverse of the argument.
`fit_bessel.py` makes the coefficients. What float64 computes is wrong by some units of the last
place of the function, or, where waves cross zero, of their height.
"""
import math

from ..ir.primitives import series
from ..ir.scalar import absolute, cos, eq, exp, fma, gt, isinf, le, log, lt, sin, sqrt, where
from . import bessel_coefficients as C
from .sample_inputs import reals
from .surface import pointwise_function

# where a wave's polynomials of the argument end, and those of the inverse begin
WAVES_END, SECOND_KIND_END, AIRY_LOW, AIRY_HIGH = 6.0, 1.5, -4.0, 1.0


# of J, over x for order 1, in x^2: enough terms up to x = 1
POWER_SERIES = [[(-1) ** k / (4 ** k * 2 ** order * math.factorial(k) * math.factorial(k + order))
                 for k in range(10)] for order in (0, 1)]


def _near_and_far(x, end):
    """x where it is at most `end`, and its size where that is more; `end` elsewhere. As a choice,
    so that the slope at the end is that of the side that is taken."""
    size = absolute(x)
    near = le(size, end)
    return where(near, x, end), where(near, end, size)


def _less_square(size, zero):
    """x^2 less the square of a zero, which has two parts."""
    high, low = zero
    return (size - high - low) * (size + high)


class _Waves:
    """J and Y of order 0 or 1."""

    def __init__(self, x, order):
        self.x, self.order = x, order
        self.near, self.far = _near_and_far(x, WAVES_END)
        self.t = self.near * self.near * (2 / WAVES_END ** 2) - 1
        p, q = ((C.WAVE0_P, C.WAVE0_Q), (C.WAVE1_P, C.WAVE1_Q))[order]
        t = (2 * WAVES_END ** 2) / (self.far * self.far) - 1
        self.even, self.odd = series(t, *p), series(t, *q) / self.far
        # the sine and the cosine of x - pi / 4, both times sqrt(2)
        sine, cosine = sin(self.far), cos(self.far)
        self.sine, self.cosine = sine - cosine, sine + cosine
        self.size = 1 / sqrt(self.far * math.pi)

    def choose(self, near, far):
        """What belongs to x. At infinity waves have no value."""
        return where(le(absolute(self.x), WAVES_END), near, where(isinf(self.x), math.nan, far))

    def near_first_over_powers(self):
        """J near zero, over x for order 1."""
        zeros, coefficients = ((C.J0_ZEROS, C.J0_NEAR), (C.J1_ZEROS, C.J1_NEAR))[self.order]
        y = series(self.t, *coefficients)
        for zero in zeros:
            y = y * _less_square(absolute(self.near), zero)
        tiny = series(self.near * self.near, *POWER_SERIES[self.order])
        return where(lt(absolute(self.near), 1), tiny, y)

    def far_first(self):
        """J far from zero."""
        if self.order:
            return (self.even * self.sine + self.odd * self.cosine) * self.size
        return (self.even * self.cosine - self.odd * self.sine) * self.size

    def first_over_powers(self):
        """J, over x for order 1."""
        far = self.far_first()
        return self.choose(self.near_first_over_powers(), far / self.far if self.order else far)

    def second(self):
        """Y."""
        near, j = self.near, self.near_first_over_powers()
        rest, logarithm = series(self.t, *(C.Y0_NEAR, C.Y1_NEAR)[self.order]), log(near)
        if self.order:
            # where the logarithm is infinite, so is the pole
            y = ((2 / math.pi) * where(eq(near, 0), 0.0, logarithm) * j + rest) * near
            y = y - (2 / math.pi) / absolute(near)        # of both zeros
            far = self.odd * self.sine - self.even * self.cosine
        else:
            y = (2 / math.pi) * logarithm * j + rest
            far = self.even * self.sine + self.odd * self.cosine
        return where(lt(self.x, 0), math.nan, self.choose(y, far * self.size))


def _j0(x):
    return _Waves(x, 0).first_over_powers()


def _j1(x):
    return _Waves(x, 1).first_over_powers() * x


def _j1_slope(x):
    return _j0(x) - _Waves(x, 1).first_over_powers()


def _y0(x):
    return _Waves(x, 0).second()


def _y1(x):
    return _Waves(x, 1).second()


def _times_exp(y, x):
    """y exp(x), in two steps, so that nothing underflows where the result does not."""
    half = exp(0.5 * x)
    return y * half * half


def _second_kind(x, order, scaled):
    """K, or exp(x) K."""
    near, far = _near_and_far(x, SECOND_KIND_END)
    t = near * near * (2 / SECOND_KIND_END ** 2) - 1
    first = series(t, *(C.I0_NEAR, C.I1_NEAR)[order])
    rest, logarithm = series(t, *(C.K0_NEAR, C.K1_NEAR)[order]), log(0.5 * near)
    if order:
        # where the logarithm is infinite, so is the pole
        small = (where(eq(near, 0), 0.0, logarithm) * first + rest) * near + 1 / absolute(near)
    else:
        small = rest - logarithm * first
    large = series(2 * SECOND_KIND_END / far - 1, *(C.K0_FAR, C.K1_FAR)[order]) / sqrt(far)
    if scaled:
        small = small * exp(near)
    else:
        large = _times_exp(large, -far)
    return where(lt(x, 0), math.nan, where(le(x, SECOND_KIND_END), small, large))


def _k0(x, scaled=False):
    return _second_kind(x, 0, scaled)


def _k1(x, scaled=False):
    return _second_kind(x, 1, scaled)


def _exponent(x):
    """2/3 x^(3/2), and what its rounding lost; with the root of x."""
    root = sqrt(x)
    root_lost = fma(-root, root, x) / (2 * root)
    product = x * root
    product_lost = fma(x, root, -product) + x * root_lost
    third = product / 1.5
    return third, (fma(third, -1.5, product) + product_lost) / 1.5, root


# an argument whose square root's cube is still a number of float64
AIRY_LARGEST = 1e200


def _airy(x):
    """Ai: a polynomial around its first zero, decay above, waves below."""
    above, below = gt(x, AIRY_HIGH), lt(x, AIRY_LOW)
    middle = where(above | below, 0.0, x)
    high, low = C.AIRY_ZERO[0]
    half = (AIRY_HIGH - AIRY_LOW) / 2
    near = series((middle - (AIRY_HIGH - half)) / half, *C.AIRY_NEAR) * (middle - high - low)

    size = where(above, x, where(below, -x, AIRY_HIGH))
    size = where(gt(size, AIRY_LARGEST), AIRY_LARGEST, size)
    zeta, lost, root = _exponent(size)
    inverse, quarter = 1 / zeta, sqrt(root)
    # both less than 1
    ratio = where(below, AIRY_HIGH ** 1.5 / 1.5, inverse * (AIRY_HIGH ** 1.5 / 1.5))
    decay = series(2 * ratio - 1, *C.AIRY_DECAY) * (1 - lost) / quarter
    ratio = where(below, inverse * ((-AIRY_LOW) ** 1.5 / 1.5), 1.0)
    t = 2 * ratio * ratio - 1
    even, odd = series(t, *C.AIRY_P), series(t, *C.AIRY_Q) * inverse
    sine, cosine = sin(zeta), cos(zeta)
    sine, cosine = sine + lost * cosine, cosine - lost * sine
    wave = (even * (sine + cosine) - odd * (cosine - sine)) / (math.sqrt(2 * math.pi) * quarter)
    wave = where(lt(x, -AIRY_LARGEST), 0.0, wave)
    found = where(above, _times_exp(decay, -zeta), where(below, wave, near))
    return where(isinf(x), math.nan, found)  # as SciPy and PyTorch say on both sides


def _function(name, expression, doc, example, slope=None):
    """Publish a function. `example`: its values at 1 and 2. `slope`: its derivative, from its
    result and its argument, if it is not that of the expression."""
    return pointwise_function(
        "special_" + name, lambda input: expression(input), promote="float", kinds="bif",
        samples=reals(0.3, 6), method=False, inplace=False, wide=True,
        vjp=slope and (lambda g, y, x: [g * slope(y, x)]), doc=doc,
        example=f"[1., 2.] -> {example}")


for _kind, _expression, _slope, _example in (
        ("first kind of order 0", _j0, lambda y, x: -_j1(x), "[0.7652, 0.2239]"),
        ("first kind of order 1", _j1, lambda y, x: _j1_slope(x), "[0.4401, 0.5767]"),
        ("second kind of order 0", _y0, lambda y, x: -_y1(x), "[0.0883, 0.5104]"),
        ("second kind of order 1", _y1, lambda y, x: _y0(x) - y / x, "[-0.7812, -0.1070]")):
    _function(f"bessel{_expression.__name__}", _expression, f"The Bessel function of the {_kind}.",
              _example, _slope)
for _order, _scaled, _expression, _slope, _example in (
        (0, "", _k0, lambda y, x: -_k1(x), "[0.4210, 0.1139]"),
        (1, "", _k1, lambda y, x: -_k0(x) - y / x, "[0.6019, 0.1399]"),
        (0, "scaled_", lambda x: _k0(x, True), lambda y, x: y - _k1(x, True), "[1.1445, 0.8416]"),
        (1, "scaled_", lambda x: _k1(x, True), lambda y, x: y - _k0(x, True) - y / x,
         "[1.6362, 1.0335]")):
    _function(f"{_scaled}modified_bessel_k{_order}", _expression,
              "The modified Bessel function of the second kind of order "
              f"{_order}{', times exp(input)' if _scaled else ''}.", _example, _slope)
_function("airy_ai", _airy, "The Airy function Ai.", "[0.1353, 0.0349]")
