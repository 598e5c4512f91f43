"""The derivatives of Bessel functions, in terms of those of the other order."""
from .surface import FUNCTIONS as F


def _f(name, x):
    return F["special_" + name](x)


def _j1(y, x):
    """At zero y / x is the head of its series, whose next derivatives are those of the function."""
    zero, square = x == 0, x * x
    series = 0.5 - square / 16 + square * square / 384
    return _f("bessel_j0", x) - F["where"](zero, series, y / F["where"](zero, 1.0, x))


SLOPES = {                                          # of what it is, and where
    "bessel_j0": lambda y, x: -_f("bessel_j1", x),
    "bessel_j1": _j1,
    "bessel_y0": lambda y, x: -_f("bessel_y1", x),
    "bessel_y1": lambda y, x: _f("bessel_y0", x) - y / x,
    "modified_bessel_k0": lambda y, x: -_f("modified_bessel_k1", x),
    "modified_bessel_k1": lambda y, x: -_f("modified_bessel_k0", x) - y / x,
    "scaled_modified_bessel_k0": lambda y, x: y - _f("scaled_modified_bessel_k1", x),
    "scaled_modified_bessel_k1":
        lambda y, x: y - _f("scaled_modified_bessel_k0", x) - y / x,
}
