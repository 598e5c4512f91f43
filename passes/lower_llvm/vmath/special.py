"""The error function and its inverse, the gamma family."""
from . import coefficients as C
from .core import function, poly


@function("erf", "float")
def erf_f32(f, x):
    """|x| < 1.1: x + x p(x^2); above: 1 - p(|x|)^4 (the root of erfc needs few terms), flat from 3.93 on."""
    a = f.fabs(x)
    small = f.fma(x, poly(f, x * x, C.ERF_SMALL_F32), x)
    b = f.sel(f.cmp("ogt", a, 3.93), 3.93, a)
    p = poly(f, b - 2.5, C.ERF_LARGE_F32)
    p = p * p
    big = f.copysign(f.fma(-p, p, 1.0), x)
    return f.sel(f.cmp("olt", a, 1.1), small, big)
