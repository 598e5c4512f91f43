"""Random calls of the extensions of the array API standard: `linalg.NAME`, `fft.NAME`."""
import numpy as np

from .calls import CALLS, _matmul, _matrix_transpose, _tensordot, _vecdot, of
from .draws import ALL, COMPLEX, FLOATS, NUMERIC, REALS, DType

for _name, _fn in (("matmul", _matmul), ("tensordot", _tensordot), ("vecdot", _vecdot),
                   ("matrix_transpose", _matrix_transpose)):
    CALLS[f"linalg.{_name}"] = _fn


def square(d, t, sides=(0, 1, 2, 3)):
    """Matrices that are far from singular."""
    n = d.one_of(*sides)
    return d.array(t, (*d.shape(most=2), n, n), False) + 9 * np.eye(n, dtype=t)


def positive(d, t):
    a = square(d, t)
    return ((a + np.conj(np.swapaxes(a, -1, -2))) / 2).astype(t)


def of_square(make, *allowed):
    return lambda d: ([make(d, d.one_of(*allowed))], {})


for _name in ("det", "inv", "slogdet"):
    CALLS[f"linalg.{_name}"] = of_square(square, *FLOATS)
for _name in ("eigh", "eigvalsh"):
    CALLS[f"linalg.{_name}"] = of_square(positive, *FLOATS)


@of("linalg.cholesky")
def _cholesky(d):
    return [positive(d, d.one_of(*FLOATS))], {"upper": d.sometimes()}


@of("linalg.cross")
def _cross(d):
    t, shapes = d.dtypes(NUMERIC), d.shapes()
    axis = -d.choice.randint(1, 1 + min(map(len, shapes)))
    def put(s):
        at = len(s) + 1 + axis
        return (*s[:at], 3, *s[at:])
    return [d.array(u, put(s), False, 0, 4) for u, s in zip(t, shapes)], {"axis": axis}


@of("linalg.diagonal")
def _diagonal(d):
    return [d.array(d.one_of(*ALL), d.shape(2))], {"offset": d.choice.randint(-5, 5)}


@of("linalg.trace")
def _trace(d):
    return [d.array(d.one_of(*NUMERIC), d.shape(2), False)], {
        "offset": d.choice.randint(-2, 2),
        **({"dtype": DType("complex128")} if d.sometimes(0.2) else {})}


@of("linalg.outer")
def _outer(d):
    t = d.dtypes(NUMERIC)
    return [d.array(u, (d.one_of(0, 1, 3),), False) for u in t], {}


@of("linalg.matrix_norm")
def _matrix_norm(d):
    x = d.array(d.one_of(*FLOATS), (*d.shape(most=2), d.one_of(1, 2, 3), d.one_of(1, 2, 3)), False)
    return [x], {
        "keepdims": d.sometimes(),
        "ord": d.one_of("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    }


@of("linalg.vector_norm")
def _vector_norm(d):
    x = d.array(d.one_of(*FLOATS), d.shape(sides=(1, 2, 3)), False)
    return [x], {
        "axis": d.axes(x.ndim),
        "keepdims": d.sometimes(),
        "ord": d.one_of(0, 1, -1, 2, -2, 3.5, np.inf, -np.inf)
    }


@of("linalg.matrix_power")
def _matrix_power(d):
    return [square(d, d.one_of(*FLOATS)), d.choice.randint(-2, 5)], {}


@of("linalg.matrix_rank")
def _matrix_rank(d):
    x = d.array(d.one_of(*FLOATS), (*d.shape(most=2), d.one_of(1, 2, 3), d.one_of(1, 2, 3)), False)
    return [x], {"rtol": 1e-3} if d.sometimes() else {}


@of("linalg.pinv")
def _pinv(d):
    x = d.array(d.one_of(*FLOATS), (*d.shape(most=2), d.one_of(0, 1, 2, 3), d.one_of(0, 1, 2, 3)),
                False)
    return [x], {"rtol": 1e-3} if d.sometimes() else {}


@of("linalg.solve")
def _solve(d):
    t = d.dtypes(FLOATS)
    n, batch = d.one_of(0, 1, 2, 3), d.shapes()
    a = d.array(t[0], (*batch[0], n, n), False) + 9 * np.eye(n, dtype=t[0])
    b = d.array(t[1], (n,) if d.sometimes(0.3) else (*batch[1], n, d.one_of(0, 1, 2)), False)
    return [a, b], {}


def _svd_input(d):
    return d.array(d.one_of(*FLOATS), (*d.shape(most=2), d.one_of(1, 2, 3), d.one_of(1, 2, 3)),
                   False)


CALLS["linalg.svdvals"] = lambda d: ([_svd_input(d)], {})
CALLS["linalg.svd"] = lambda d: ([_svd_input(d)], {"full_matrices": d.sometimes()})
CALLS["linalg.qr"] = lambda d: ([_svd_input(d)], {"mode": d.one_of("reduced", "complete")})


# ---- fft -----------------------------------------------------------------------------------------
def _one_axis(*allowed):
    def call(d):
        x = d.array(d.one_of(*allowed), d.shape(1, sides=(1, 2, 3, 4)), False)
        kw = {"axis": d.axis(x.ndim), "norm": d.one_of("backward", "ortho", "forward")}
        if d.sometimes():
            kw["n"] = d.choice.randint(2, 6)
        elif x.shape[kw["axis"]] == 1:
            kw["n"] = 4
        return [x], kw
    return call


def _axes(*allowed):
    def call(d):
        x = d.array(d.one_of(*allowed), d.shape(1, sides=(2, 3, 4)), False)
        axes = tuple(d.choice.sample(range(x.ndim), d.choice.randint(1, x.ndim)))
        kw = {"norm": d.one_of("backward", "ortho", "forward")}
        if d.sometimes():
            kw["axes"] = axes
            if d.sometimes():
                kw["s"] = tuple(d.choice.randint(2, 5) for _ in axes)
        return [x], kw
    return call


for _name in ("fft", "ifft"):
    CALLS[f"fft.{_name}"], CALLS[f"fft.{_name}n"] = _one_axis(*COMPLEX), _axes(*COMPLEX)
CALLS["fft.rfft"], CALLS["fft.rfftn"], CALLS["fft.ihfft"] = _one_axis(*REALS), _axes(
    *REALS), _one_axis(*REALS)
CALLS["fft.irfft"], CALLS["fft.irfftn"], CALLS["fft.hfft"] = _one_axis(*COMPLEX), _axes(
    *COMPLEX), _one_axis(*COMPLEX)


def _frequencies(d):
    return [d.choice.randint(1, 6)], {
        "d": d.one_of(1.0, 0.5),
        **({
            "dtype": DType(d.one_of(*REALS))
        } if d.sometimes() else {})
    }


def _shifted(d):
    x = d.array(d.one_of(*FLOATS), d.shape(1, sides=(1, 2, 3)), False)
    return [x], {"axes": d.axes(x.ndim)}


for _name in ("fftfreq", "rfftfreq"):
    CALLS[f"fft.{_name}"] = _frequencies
for _name in ("fftshift", "ifftshift"):
    CALLS[f"fft.{_name}"] = _shifted
