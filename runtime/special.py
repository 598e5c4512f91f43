"""Special functions (`whet.special`)."""
from math import inf as _inf

from .dtypes import FLOAT as _FLOAT
from .ops.argument_guards import guarded as _guarded
from .ops.docstrings import with_example as _with_example
from .ops.out_arguments import with_out as _with_out
from .ops.out_types import OutType as _OutType
from .ops.question_kernels import asked_of_all as _asked_of_all
from .ops.registry import ask as _ask
from .ops.registry import is_tensor as _is_tensor
from .ops.surface import FUNCTIONS as _F

# names that stand in `whet` too, and what is called otherwise there
_SHARED = {
    "digamma": "digamma", "psi": "digamma", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv",
    "exp2": "exp2", "expit": "sigmoid", "expm1": "expm1", "gammainc": "igamma",
    "gammaincc": "igammac", "gammaln": "lgamma", "i0": "i0", "log1p": "log1p",
    "log_softmax": "log_softmax", "logit": "logit", "logsumexp": "logsumexp",
    "modified_bessel_i0": "i0", "multigammaln": "mvlgamma", "polygamma": "polygamma",
    "round": "round", "sinc": "sinc", "softmax": "softmax", "xlogy": "xlogy"}
_OWN = ("entr", "erfcx", "i0e", "i1", "i1e", "log_ndtr", "ndtr", "ndtri", "xlog1py", "zeta",
        "spherical_bessel_j0", "modified_bessel_k0", "modified_bessel_k1",
        "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "bessel_j0", "bessel_j1",
        "bessel_y0", "bessel_y1", "airy_ai")

globals().update({name: _F[shared] for name, shared in _SHARED.items()},
                 **{name: _F[f"special_{name}"] for name in _OWN})
modified_bessel_i1 = _F["special_i1"]

# the polynomials of degree 2 at 0 and at 1, for their docstrings
_VALUES = {
    "chebyshev_polynomial_t": "[-1.,  1.]", "chebyshev_polynomial_u": "[-1.,  3.]",
    "chebyshev_polynomial_v": "[-1.,  1.]", "chebyshev_polynomial_w": "[-1.,  5.]",
    "hermite_polynomial_h": "[-2.,  2.]", "hermite_polynomial_he": "[-1.,  0.]",
    "laguerre_polynomial_l": "[ 1.0000, -0.5000]", "legendre_polynomial_p": "[-0.5000,  1.0000]",
    "shifted_chebyshev_polynomial_t": "[1., 1.]", "shifted_chebyshev_polynomial_u": "[3., 3.]",
    "shifted_chebyshev_polynomial_v": "[5., 1.]", "shifted_chebyshev_polynomial_w": "[1., 5.]"}


def _polynomial(name, first, step):
    """A family of polynomials, by the recurrence that makes each of the two before: `step(x, n,
    P(n-1), P(n-2))`."""
    def polynomial(input, n):
        if _is_tensor(n):
            return of_each(input, n)
        if not isinstance(n, int | float) or n != n or n in (_inf, -_inf):
            said = n if isinstance(n, float) else type(n).__name__
            raise TypeError(
                f"{name}(): argument 'n' (position 2) must be a number or Tensor, not {said}")
        n = int(n)
        if n > 10_000:
            raise RuntimeError(
                f"{name}: a degree of {n} takes as many steps; at most 10000 are made")
        x = input if input.is_floating_point() else input.to(_default())
        if n < 0:
            return x * 0
        before, now = _F["ones_like"](x), first(x)
        if n == 0:
            return before
        for k in range(2, n + 1):
            before, now = now, step(x, k, now, before)
        return now

    def of_each(input, n):
        """Every element has a degree of its own: all up to the highest are made."""
        if _is_tensor(input) and input.dtype.category > _FLOAT or n.dtype.category > _FLOAT:
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for complex numbers")
        dtype = _F["result_type"](input, n)
        dtype = dtype if dtype.is_floating_point else _default()
        if n.dtype.category == _FLOAT:      # no integer is that large: as if it were negative
            n = _F["where"](n.detach().abs() < 2.0 ** 63, n.detach().trunc(), -1)
        x, n = _F["broadcast_tensors"](_F["as_tensor"](input, dtype=dtype), n)
        most = _ask(_highest, n)
        if most > 10_000:
            raise RuntimeError(
                f"{name}: a degree of {most} takes as many steps; at most 10000 are made")
        before, now = _F["ones_like"](x), first(x)
        y = _F["where"](n == 0, before, _F["where"](n == 1, now, 0.0))
        for k in range(2, most + 1):
            before, now = now, step(x, k, now, before)
            y = _F["where"](n == k, now, y)
        return y
    polynomial.__name__ = polynomial.__qualname__ = name
    words, _, letter = name.rpartition("_")
    polynomial.__doc__ = _with_example(
        f"The {words.replace('_', ' ')} {letter.upper()} of degree n.",
        f"whet.special.{name}(whet.tensor([0., 1.]), 2)", f"tensor({_VALUES[name]})")
    return _with_out(polynomial, types=_OutType.CASTS)


@_asked_of_all
def _highest(a):
    a = a[a == a]
    return int(a.max()) if a.size else 0


def _default():
    from .dtypes import get_default_dtype
    return get_default_dtype()


def _chebyshev(x, n, now, before):
    return 2 * x * now - before


for _name, _first in {"t": lambda x: x, "u": lambda x: 2 * x, "v": lambda x: 2 * x - 1,
                      "w": lambda x: 2 * x + 1}.items():
    globals()[f"chebyshev_polynomial_{_name}"] = _polynomial(f"chebyshev_polynomial_{_name}",
                                                             _first, _chebyshev)
    globals()[f"shifted_chebyshev_polynomial_{_name}"] = _polynomial(
        f"shifted_chebyshev_polynomial_{_name}", lambda x, first=_first: first(2 * x - 1),
        lambda x, n, now, before: _chebyshev(2 * x - 1, n, now, before))
hermite_polynomial_h = (_polynomial("hermite_polynomial_h", lambda x: 2 * x,
                                    lambda x, n, now, before: 2 * x * now - (2 * (n - 1)) * before))
hermite_polynomial_he = (_polynomial("hermite_polynomial_he", lambda x: x * 1,
                                     lambda x, n, now, before: x * now - (n - 1) * before))
laguerre_polynomial_l = _polynomial("laguerre_polynomial_l", lambda x: 1 - x,
                                    lambda x, n, now,
                                    before: ((2 * n - 1 - x) * now - (n - 1) * before) / n)
legendre_polynomial_p = _polynomial("legendre_polynomial_p", lambda x: x * 1,
                                    lambda x, n, now,
                                    before: ((2 * n - 1) * x * now - (n - 1) * before) / n)

globals().update(
    _guarded({
        name: fn for name, fn in globals().items()
        if "polynomial" in name and not name.startswith("_")}, __name__))
