"""Fits the polynomials of `bessel.py` and writes `bessel_coefficients.py`:  python -m
whet.ops.fit_bessel

Run by hand when a polynomial changes (needs mpmath); nothing here runs when the package is
imported. Each polynomial has an argument between -1 and 1, and as few terms as keep its error below
a quarter of a unit of the last place of float64.
"""
from pathlib import Path

import mpmath as mp

mp.mp.prec = 250
# the ends of the intervals of `bessel.py`
WAVES_END, SECOND_KIND_END, AIRY_LOW, AIRY_HIGH = 6, mp.mpf(3) / 2, -4, 1
MAX_ERROR = mp.mpf(2) ** -55


def zero_of(f, start):
    """A zero as two numbers of float64, whose sum has twice their digits."""
    root = mp.findroot(f, start)
    return float(root), float(root - mp.mpf(float(root)))


def of_order(f, order):
    return lambda x: f(order, x)


ZEROS = {
    "J0_ZEROS": [zero_of(of_order(mp.besselj, 0), x) for x in (2.4, 5.5)],
    "J1_ZEROS": [zero_of(of_order(mp.besselj, 1), x) for x in (3.8,)],
    "AIRY_ZERO": [zero_of(mp.airyai, -2.338)],
}


def without_zeros(x, name):
    """x^2 less the square of each of the zeros, multiplied."""
    return mp.fprod(x * x - (mp.mpf(high) + low) ** 2 for high, low in ZEROS[name])


def near_wave(order, second):
    """J without its zeros, or what Y is beside its logarithm, as a function of t = x^2 / 18 - 1."""
    def f(t):
        x = mp.sqrt((t + 1) * WAVES_END ** 2 / 2)
        x = x if x else mp.mpf(10) ** -40
        j = mp.besselj(order, x)
        if not second:
            return j / (x ** order * without_zeros(x, f"J{order}_ZEROS"))
        y = mp.bessely(order, x) - 2 / mp.pi * mp.log(x) * j
        return (y + 2 / (mp.pi * x)) / x if order else y
    return f


def far_wave(order, odd):
    """Hankel's P, or Q times x, as a function of t = 72 / x^2 - 1."""
    def f(t):
        x = mp.sqrt(2 * WAVES_END ** 2 / (t + 1)) if t > -1 else mp.mpf(10) ** 12
        x = min(x, mp.mpf(10) ** 12)
        j, y = mp.besselj(order, x), mp.bessely(order, x)
        turn, size = x - (2 * order + 1) * mp.pi / 4, mp.sqrt(mp.pi * x / 2)
        if odd:
            return size * (y * mp.cos(turn) - j * mp.sin(turn)) * x
        return size * (j * mp.cos(turn) + y * mp.sin(turn))
    return f


def near_first_kind(order):
    """I, over x for order 1, of t = x^2 / 1.125 - 1."""
    def f(t):
        x = mp.sqrt((t + 1) * SECOND_KIND_END ** 2 / 2)
        x = x if x else mp.mpf(10) ** -40
        return mp.besseli(order, x) / x ** order
    return f


def near_second_kind(order):
    """What K, times x for order 1, is beside its logarithm, of t = x^2 / 1.125 - 1."""
    def f(t):
        x = mp.sqrt((t + 1) * SECOND_KIND_END ** 2 / 2)
        x = x if x else mp.mpf(10) ** -40
        k, i = mp.besselk(order, x), mp.besseli(order, x)
        if order:
            return ((k - mp.log(x / 2) * i) * x - 1) / (x * x)
        return k + mp.log(x / 2) * i
    return f


def far_second_kind(order):
    """exp(x) sqrt(x) K(x), as a function of t = 3 / x - 1."""
    def f(t):
        x = min(2 * SECOND_KIND_END / (t + 1) if t > -1 else mp.mpf(10) ** 12, mp.mpf(10) ** 12)
        return mp.exp(x) * mp.sqrt(x) * mp.besselk(order, x)
    return f


def near_airy(t):
    """Ai without its first zero, as a function of t = (x + 1.5) / 2.5."""
    x = (AIRY_LOW + AIRY_HIGH) / mp.mpf(2) + t * (AIRY_HIGH - AIRY_LOW) / 2
    high, low = ZEROS["AIRY_ZERO"][0]
    return mp.airyai(x) / (x - high - low)


def exponent(x):
    return 2 * mp.sqrt(x) ** 3 / 3


def from_exponent(zeta):
    return (3 * zeta / 2) ** (mp.mpf(2) / 3)


def decaying_airy(t):
    """exp(zeta) x^(1/4) Ai(x), as a function of t = 2 zeta(1) / zeta - 1."""
    zeta = 2 * exponent(AIRY_HIGH) / (t + 1) if t > -1 else mp.mpf(10) ** 12
    zeta = min(zeta, mp.mpf(10) ** 12)
    x = from_exponent(zeta)
    return mp.exp(zeta) * mp.sqrt(mp.sqrt(x)) * mp.airyai(x)


def waving_airy(odd):
    """P, or Q times zeta, of Ai(-x), as a function of t = 2 (zeta(4) / zeta)^2 - 1."""
    def f(t):
        zeta = exponent(-AIRY_LOW) * mp.sqrt(2 / (t + 1)) if t > -1 else mp.mpf(10) ** 12
        zeta = min(zeta, mp.mpf(10) ** 12)
        x = from_exponent(zeta)
        a, b, size = mp.airyai(-x), mp.airybi(-x), mp.sqrt(mp.pi) * mp.sqrt(mp.sqrt(x))
        turn = zeta + mp.pi / 4
        if odd:
            return size * (b * mp.sin(turn) - a * mp.cos(turn)) * zeta
        return size * (a * mp.sin(turn) + b * mp.cos(turn))
    return f


POLYNOMIALS = {
    **{f"{'JY'[second]}{order}_NEAR": near_wave(order, second)
       for order in (0, 1) for second in (False, True)},
    **{f"WAVE{order}_{'PQ'[odd]}": far_wave(order, odd)
       for order in (0, 1) for odd in (False, True)},
    **{f"I{order}_NEAR": near_first_kind(order) for order in (0, 1)},
    **{f"K{order}_NEAR": near_second_kind(order) for order in (0, 1)},
    **{f"K{order}_FAR": far_second_kind(order) for order in (0, 1)},
    "AIRY_NEAR": near_airy, "AIRY_DECAY": decaying_airy,
    "AIRY_P": waving_airy(False), "AIRY_Q": waving_airy(True),
}


def fitted(f):
    """The coefficients in rising powers: sums of Chebyshev's polynomials, cut off where the rest
    is too small to be seen."""
    count = 64
    angles = [(2 * k + 1) * mp.pi / (2 * count) for k in range(count)]
    values = [f(mp.cos(a)) for a in angles]
    chebyshev = [2 * mp.fsum(v * mp.cos(n * a) for v, a in zip(values, angles, strict=True)) / count
                 for n in range(count)]
    chebyshev[0] /= 2
    scale = min(abs(v) for v in values) if min(values) * max(values) > 0 else max(map(abs, values))
    terms = count
    while terms > 1 and mp.fsum(map(abs, chebyshev[terms - 1:])) < MAX_ERROR * scale:
        terms -= 1
    before, now = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]
    total = [mp.mpf(0)] * terms
    for n in range(terms):
        power = before if n == 0 else now
        for k, c in enumerate(power):
            total[k] += chebyshev[n] * c
        if n > 0:
            doubled = [mp.mpf(0), *(2 * c for c in now)]
            before, now = now, [a - b for a, b in zip(
                doubled, before + [mp.mpf(0)] * (len(doubled) - len(before)), strict=True)]
    return [float(c) for c in total]


def tuple_text(name, numbers):
    """An assignment whose lines have at most 100 columns."""
    lines, line = [], ""
    for text in map(repr, numbers):
        if len(line) + len(text) > 94:
            lines.append(line.rstrip())
            line = ""
        line += text + ", "
    return "\n    ".join([f"{name} = (", *lines, line.rstrip()]) + "\n)"


def main():
    parts = ['"""Zeros in two parts, and coefficients in rising powers, written by '
             '`fit_bessel.py`."""']
    parts += [tuple_text(name, zeros) for name, zeros in ZEROS.items()]
    for name, f in POLYNOMIALS.items():
        coefficients = fitted(f)
        print(f"{name:12} {len(coefficients)} terms", flush=True)
        parts.append(tuple_text(name, coefficients))
    Path(__file__).with_name("bessel_coefficients.py").write_text("\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
