"""Special functions (`whet.special`)."""
from .ops.surface import FUNCTIONS as _F
from .ops.surface import guarded as _guarded

# names that stand in `whet` too, and what is called otherwise there
_SHARED = {"digamma": "digamma", "psi": "digamma", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "exp2": "exp2", "expit": "sigmoid",
           "expm1": "expm1", "gammainc": "igamma", "gammaincc": "igammac", "gammaln": "lgamma", "i0": "i0", "log1p": "log1p",
           "log_softmax": "log_softmax", "logit": "logit", "logsumexp": "logsumexp", "modified_bessel_i0": "i0", "multigammaln": "mvlgamma",
           "polygamma": "polygamma", "round": "round", "sinc": "sinc", "softmax": "softmax", "xlogy": "xlogy"}
_OWN = ("entr", "erfcx", "i0e", "i1", "i1e", "log_ndtr", "ndtr", "ndtri", "xlog1py", "zeta", "spherical_bessel_j0", "modified_bessel_k0",
        "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1")

globals().update({name: _F[shared] for name, shared in _SHARED.items()}, **{name: _F[f"special_{name}"] for name in _OWN})
modified_bessel_i1 = _F["special_i1"]


def _polynomial(name, first, step):
    """A family of polynomials, by the recurrence that makes each of the two before: `step(x, n, P(n-1), P(n-2))`."""
    def polynomial(input, n):
        if not isinstance(n, int):
            raise NotImplementedError(f"{name}: the degree must be an int, got {type(n).__name__}")
        if n > 10_000:
            raise RuntimeError(f"{name}: a degree of {n} takes as many steps; at most 10000 are made")
        x = input if input.is_floating_point() else input.to(_default())
        if n < 0:
            return x * 0
        before, now = _F["ones_like"](x), first(x)
        if n == 0:
            return before
        for k in range(2, n + 1):
            before, now = now, step(x, k, now, before)
        return now
    polynomial.__name__ = polynomial.__qualname__ = name
    polynomial.__doc__ = f"The {name.rpartition('_')[0].replace('_', ' ')} {name.rpartition('_')[2].upper()} of degree n."
    return polynomial


def _default():
    from .dtypes import get_default_dtype
    return get_default_dtype()


def _chebyshev(x, n, now, before):
    return 2 * x * now - before


for _name, _first in {"t": lambda x: x, "u": lambda x: 2 * x, "v": lambda x: 2 * x - 1, "w": lambda x: 2 * x + 1}.items():
    globals()[f"chebyshev_polynomial_{_name}"] = _polynomial(f"chebyshev_polynomial_{_name}", _first, _chebyshev)
    globals()[f"shifted_chebyshev_polynomial_{_name}"] = _polynomial(
        f"shifted_chebyshev_polynomial_{_name}", lambda x, first=_first: first(2 * x - 1),
        lambda x, n, now, before: _chebyshev(2 * x - 1, n, now, before))
hermite_polynomial_h = _polynomial("hermite_polynomial_h", lambda x: 2 * x, lambda x, n, now, before: 2 * x * now - (2 * (n - 1)) * before)
hermite_polynomial_he = _polynomial("hermite_polynomial_he", lambda x: x * 1, lambda x, n, now, before: x * now - (n - 1) * before)
laguerre_polynomial_l = _polynomial("laguerre_polynomial_l", lambda x: 1 - x,
                                    lambda x, n, now, before: ((2 * n - 1 - x) * now - (n - 1) * before) / n)
legendre_polynomial_p = _polynomial("legendre_polynomial_p", lambda x: x * 1,
                                    lambda x, n, now, before: ((2 * n - 1) * x * now - (n - 1) * before) / n)

globals().update(_guarded({name: fn for name, fn in globals().items() if "polynomial" in name and not name.startswith("_")}))
