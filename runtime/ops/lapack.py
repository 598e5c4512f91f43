"""Ops of linear algebra, each a LAPACK call with a stated gradient. `whet.linalg` publishes
them."""

import numpy as np

from .. import return_types
from ..autograd.modes import is_grad_enabled
from ..cpu import factorisations
from ..dtypes import COMPLEX, FLOAT, FROM_NUMPY, bool_
from ..ir.outline import Outline, like_first
from . import failed_matrices
from .batching import broadcast
from .contract import _h
from .determinant_gradients import MOST_ROWS, cofactors, inverse_or_infinite
from .host_family import host, matrix, square
from .number_questions import has_zero
from .onnx import matrices as in_onnx
from .registry import ask, check_one_type, is_tensor, sizes_of
from .sample_inputs import Sample
from .surface import FUNCTIONS as F


def _good(make):
    """Samples of well-conditioned matrices."""
    n = 3
    yield Sample(make(n, n) + 3 * F["eye"](n, dtype=make.dtype))
    yield Sample(make(2, n, n) + 3 * F["eye"](n, dtype=make.dtype))


def _leaf(x):
    return x.detach().requires_grad_() if x.dtype.category >= FLOAT else x


def well_conditioned(make):
    """Samples of well-conditioned matrices, as leaves that want a gradient."""
    for s in _good(make):
        yield Sample(_leaf(s.args[0]) if make.grad else s.args[0].detach())


def tall(make):
    yield Sample(make(4, 3))
    yield Sample(make(2, 3, 3))


def _det_vjp(g, y, a):
    g = g.unsqueeze(-1).unsqueeze(-1)
    if a.shape[-1] <= MOST_ROWS and ask(has_zero, y):
        return [g * cofactors(a).conj()]
    return [g * y.conj().unsqueeze(-1).unsqueeze(-1) * _h(inv(a))]


_inv = host("inv", factorisations.inverse, infer=square("inv"), samples=well_conditioned,
           vjp=lambda g, y, _a: [-(_h(y) @ g @ _h(y))], onnx=in_onnx.inverse,
           failed=failed_matrices.no_inverse)
_det = host("det", factorisations.determinant, infer=square("det"), samples=well_conditioned,
           vjp=_det_vjp, onnx=in_onnx.determinant)


_inv.op.outlined = like_first
_det.op.outlined = lambda a: Outline(a.shape[:-2], a.dtype)


def inv(A):
    """The inverse of a square matrix, or of each of a batch.

    >>> import whet
    >>> whet.linalg.inv(whet.tensor([[2., 0.], [0., 4.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return _inv(A)


def det(A):
    """The determinant of a square matrix, or of each of a batch.

    >>> import whet
    >>> whet.linalg.det(whet.tensor([[1., 2.], [3., 4.]]))
    tensor(-2.0000)
    """
    return _det(A)


def _slogdet_vjp(g, y, a):
    by_sign, slope = g
    if slope is None and (by_sign is None or a.dtype.category != COMPLEX):
        return [F["zeros_like"](a)]
    inverse = _h(inverse_or_infinite(inv, a, y[0]))
    if a.dtype.category != COMPLEX:                    # the sign is the same all around
        return [slope.unsqueeze(-1).unsqueeze(-1) * inverse]
    if by_sign is not None:
        turn = 1j * (by_sign * y[0].conj()).imag
        slope = turn if slope is None else slope + turn
    return [slope.unsqueeze(-1).unsqueeze(-1).to(a.dtype) * inverse]


_slogdet = host("slogdet", factorisations.log_determinant,
                infer=square("slogdet"),
                samples=well_conditioned,
                vjp=_slogdet_vjp, onnx=in_onnx.sign_and_logarithm)
_slogdet.op.outlined = lambda a: (Outline(a.shape[:-2], a.dtype),
                                  Outline(a.shape[:-2], FROM_NUMPY[a.dtype].to_real().np))


def slogdet(A):
    """(sign, log of the absolute value) of the determinant.

    >>> import whet
    >>> sign, logabsdet = whet.linalg.slogdet(whet.tensor([[1., 2.], [3., 4.]]))
    >>> sign, logabsdet
    (tensor(-1.), tensor(0.6931))
    """
    return return_types.linalg_slogdet(_slogdet(A))


def _same_rows(a, b):
    square("solve")(a)
    vector = b.ndim == 1 or (a.ndim - 1 == b.ndim and tuple(b.shape) == tuple(a.shape[:-1]))
    if b.shape[-1 if vector else -2] != a.shape[-1]:
        raise RuntimeError(
            "linalg.solve: Incompatible shapes of A and B for the equation AX = B "
            f"({a.shape[-2]}x{a.shape[-1]} and {tuple(b.shape)})")


def _solve_samples(make):
    for s in well_conditioned(make):
        yield Sample(s.args[0], make(3, 2))


def _solve_vjp(g, y, a, _b):
    gb = _solve(_h(a), g)
    ga = -(gb @ _h(y))
    return [ga.sum_to_size(a.shape), gb.sum_to_size(_b.shape)]


_solve = host("solve", factorisations.solve, infer=_same_rows, samples=_solve_samples,
              vjp=_solve_vjp, onnx=in_onnx.solution, failed=failed_matrices.no_solution)
_solve.op.batch_rule = broadcast


def solve(A, B, *, left=True):
    """X with A @ X = B (or X @ A = B).

    >>> import whet
    >>> whet.linalg.solve(whet.tensor([[2., 0.], [0., 4.]]), whet.tensor([2., 4.]))
    tensor([1., 1.])
    """
    check_one_type("linalg.solve", A=A, B=B)
    if not B.ndim:
        raise RuntimeError("linalg.solve: The input tensor B must have at least 2 dimensions.")
    if not left:
        return solve(A.mT, B.mT).mT
    if B.ndim == 1 or (A.ndim - 1 == B.ndim and tuple(sizes_of(B)) == tuple(sizes_of(A)[:-1])):
        return _solve(A, B.unsqueeze(-1)).squeeze(-1)
    return _solve(A, B)


def _triangular_vjp(g, y, a, _b, *, upper, unit):
    gb = solve_triangle(_h(a), g, upper=not upper, unit=unit)
    ga = -(gb @ _h(y))
    ga = ga.triu(int(unit)) if upper else ga.tril(-int(unit))
    return [ga.sum_to_size(a.shape), gb.sum_to_size(_b.shape)]


def _triangular_samples(make):
    for s in well_conditioned(make):
        for upper, unit in ((False, False), (True, False), (False, True)):
            yield Sample(_leaf(s.args[0]) if make.grad else s.args[0], make(3, 2), upper=upper,
                         unit=unit)


solve_triangle = host("solve_triangular", factorisations.triangular, infer=_same_rows,
                      samples=_triangular_samples, vjp=_triangular_vjp,
                      onnx=in_onnx.triangular_solution)
solve_triangle.op.batch_rule = broadcast


def _phi(x):
    """The lower triangle, its diagonal halved."""
    return x.tril() - 0.5 * x.diagonal(0, -2, -1).diag_embed()


def _cholesky_vjp(g, y, _a):
    m = _phi(_h(y) @ g.tril())
    left = solve_triangle(_h(y), m, upper=True, unit=False)
    s = _h(solve_triangle(_h(y), _h(left), upper=True, unit=False))
    return [0.5 * (s + _h(s))]


def _positive(make):
    for s in _good(make):
        a = s.args[0].detach()
        p = (a @ a.mT + F["eye"](3, dtype=make.dtype)).detach()
        yield Sample(p.requires_grad_() if make.grad else p)


_cholesky = host("cholesky", factorisations.cholesky, infer=square("cholesky"), samples=_positive,
                 vjp=_cholesky_vjp, onnx=in_onnx.cholesky, failed=lambda a:
                 failed_matrices.not_positive(failed_matrices.leading_minors(a)))


def cholesky(A, *, upper=False):
    """L with A = L @ L.mH (or the upper U with A = U.mH @ U).

    >>> import whet
    >>> whet.linalg.cholesky(whet.tensor([[4., 2.], [2., 5.]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    y = _cholesky(A)
    return _h(y) if upper else y


def _try_cholesky(a):
    """The factors, and the order of the minor at which each failed."""
    try:
        return factorisations.cholesky(a), np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        flat = ((a + np.conj(np.swapaxes(a, -1, -2))) / 2).reshape(-1, *a.shape[-2:])
        info = failed_matrices.leading_minors(a)
        made = np.stack([
            np.tril(x) if failed else np.linalg.cholesky(x) for x, failed in zip(flat, info.flat)])
        return made.reshape(a.shape), info


# small matrices have kernels
for _with_kernels in (_inv, _det, _slogdet, _solve, solve_triangle, _cholesky):
    _with_kernels.op.is_repeatable = True
_cholesky_ex = host("cholesky_ex", _try_cholesky, infer=square("cholesky_ex"), samples=_positive,
                    vjp=lambda g, y, _a: _cholesky_vjp(g[0], y[0], _a))
_cholesky.op.outlined = like_first
_cholesky_ex.op.outlined = lambda a: (like_first(a), Outline(a.shape[:-2], np.int32))


# ---- the pseudo-inverse --------------------------------------------------------------------------
def _pinv_run(a, atol, rtol, *, hermitian):
    if hermitian:
        w, v = np.linalg.eigh(a)
        s, left, right = np.abs(w), v, np.conj(np.swapaxes(v, -1, -2))
    else:
        left, w, right = np.linalg.svd(a, False)
        s, left, right = w, np.conj(np.swapaxes(right, -1, -2)), np.conj(np.swapaxes(left, -1, -2))
    most = s.max(-1, keepdims=True, initial=0)
    keep = (s > np.maximum(
        np.asarray(atol, s.dtype)[..., None],
        np.asarray(rtol, s.dtype)[..., None] * most))
    return (left * np.where(keep, 1 / np.where(keep, w, 1), 0)[..., None, :]) @ right


def _pinv_vjp(g, y, a, _atol, _rtol, *, hermitian):
    """The gradient of the pseudo-inverse, of any rank as long as that does not change."""
    yh, gh = _h(y), _h(g)
    m, n = sizes_of(a)[-2:]
    if m <= n:
        k = gh @ y
        ky = k @ yh
        return [ky - _h(y @ k) - (a @ y) @ ky + (yh @ y) @ (gh - k @ a), None, None]
    k = y @ gh
    yk = yh @ k
    return [yk - _h(k @ y) + (gh - a @ k) @ y @ yh - (yk @ y) @ a, None, None]


def _pinv_samples(make):
    for s in tall(make):
        yield Sample(*s.args, 0.0, 1e-6, hermitian=False)
    yield Sample(make(2, 3), 0.0, 1e-6, hermitian=False)


pinv = host("pinv", _pinv_run, infer=lambda a, *_: matrix("pinv", a), vjp=_pinv_vjp,
            samples=_pinv_samples)


def _qr_outlined(a, *, mode):
    m, n = a.shape[-2:]
    k = m if mode == "complete" else min(m, n)
    return tuple([Outline((*a.shape[:-2], *sizes), a.dtype)
                  for sizes in (((0,) if mode == "r" else (m, k)), (k, n))])


def _qr_vjp(g, y, a, *, mode):
    q, r = y
    m, n = sizes_of(a)[-2:]
    if mode != "reduced" and not (mode == "complete" and m <= n):
        raise RuntimeError(
            f"linalg.qr: the derivative is not defined for mode={mode!r} of a {m}x{n} matrix")
    gq, gr = g
    # the square part decides Q, the rest of R is Q.mH @ the rest of A
    if m < n:
        square_part, rest = a[..., :m], a[..., m:]
        gq = F["zeros_like"](q) if gq is None else gq
        gr = F["zeros_like"](r) if gr is None else gr
        first = _qr_full(gq + rest @ _h(gr[..., m:]), gr[..., :m], q, r[..., :m])
        return [F["cat"]([first, q @ gr[..., m:]], -1)] if square_part is not None else None
    return [_qr_full(gq, gr, q, r)]


def _qr_full(gq, gr, q, r):
    m = None
    if gr is not None:
        m = r @ _h(gr)
    if gq is not None:
        part = _h(gq) @ q
        m = -part if m is None else m - part
    lower = m.tril(-1)
    inner = q @ (lower + _h(lower) + m.diagonal(0, -2, -1).real.to(m.dtype).diag_embed())
    if gq is not None:
        inner = gq + inner
    return _h(solve_triangle(r, _h(inner), upper=True, unit=False))


_qr_op = host("qr", factorisations.orthogonal, infer=lambda a: matrix("qr", a), vjp=_qr_vjp,
              samples=lambda make: [Sample(*s.args, mode="reduced") for s in tall(make)])

_qr_op.op.outlined, _qr_op.op.is_repeatable = _qr_outlined, True
_geqrf = host("geqrf", lambda a: (np.swapaxes((r := np.linalg.qr(a, "raw"))[0], -1, -2), r[1]),
              infer=lambda a: matrix("geqrf", a),
              samples=lambda make: [Sample(s.args[0].detach()) for s in tall(make)])


def qr(A, mode="reduced"):
    """Q with orthonormal columns and the upper R with A = Q @ R.

    >>> import whet
    >>> A = whet.tensor([[1., 2.], [3., 4.]])
    >>> Q, R = whet.linalg.qr(A)
    >>> whet.allclose(Q @ R, A, atol=1e-5)
    True
    """
    if not isinstance(mode, str):
        raise TypeError(
            f"linalg.qr(): argument 'mode' must be str, not {mode.__class__.__name__}")
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), "
            "'r', or 'complete'")
    q, r = _qr_op(A, mode=mode)
    return return_types.linalg_qr((A.new_empty(0) if mode == "r" else q, r))


def _svd_run(a, *, full_matrices):
    u, s, v = np.linalg.svd(a, full_matrices)
    return u, s, v


def _svd_outlined(a, *, full_matrices):
    *batch, m, n = a.shape
    k = min(m, n)
    left, right = ((m, m), (n, n)) if full_matrices else ((m, k), (k, n))
    return (Outline((*batch, *left), a.dtype), _values_outlined(a),
            Outline((*batch, *right), a.dtype))


def _values_outlined(a):
    return Outline((*a.shape[:-2], min(a.shape[-2:])), FROM_NUMPY[a.dtype].to_real().np)


def _svd_vjp(g, y, a, *, full_matrices):
    u, s, vh = y
    gu, gs, gvh = g
    k = sizes_of(s)[-1]
    u, vh = u[..., :k], vh[..., :k, :]
    v, uh = _h(vh), _h(u)
    inner = (gs.diag_embed().to(u.dtype)
             if gs is not None else F["zeros"](*s.shape, k, dtype=u.dtype, device=u.device))
    e = s.unsqueeze(-2) ** 2 - s.unsqueeze(-1) ** 2
    e = e + F["eye"](k, dtype=e.dtype, device=e.device)
    off = 1 - F["eye"](k, dtype=e.dtype, device=e.device)
    result = None
    if gu is not None:
        gu = gu[..., :k]
        skew = uh @ gu
        inner = inner + ((skew - _h(skew)) / e * off) * s.unsqueeze(-2)
        result = (gu - u @ skew) / s.unsqueeze(-2) @ vh
    if gvh is not None:
        gv = _h(gvh[..., :k, :])
        skew = vh @ gv
        inner = inner + s.unsqueeze(-1) * ((skew - _h(skew)) / e * off)
        part = u @ (_h(gv - v @ skew) / s.unsqueeze(-1))
        result = part if result is None else result + part
    # the phase that a pair of vectors has in common
    if a.dtype.category == COMPLEX and gu is not None and gvh is not None:
        turn = (uh @ gu).diagonal(0, -2, -1).imag / s
        inner = inner + (turn * 1j).to(u.dtype).diag_embed()
    core = u @ inner @ vh
    return [core if result is None else core + result]


_svd = host("svd", _svd_run, infer=lambda a: matrix("svd", a), vjp=_svd_vjp,
            failed=failed_matrices.not_finite)
_svd.op.outlined = _svd_outlined
# U and Vh have a free sign: its gradient is tested through functions of them
_svd.op.inner = True
_svdvals = host(
    "svdvals", lambda a: np.linalg.svd(a, compute_uv=False), failed=failed_matrices.not_finite,
    infer=lambda a: matrix("svdvals", a),
    samples=tall,
    vjp=lambda g, _y, a: [
        _svd_vjp((None, g, None), tuple(_svd(a, full_matrices=False)), a, full_matrices=False)[0]])


_svdvals.op.outlined = _values_outlined


def svdvals(A, *, driver=None):
    """The singular values, the largest first.

    >>> import whet
    >>> whet.linalg.svdvals(whet.tensor([[0., 2.], [3., 0.]]))
    tensor([3., 2.])
    """
    return _svdvals(A)


def svd(A, full_matrices=True, *, driver=None):
    """U, S, Vh with A = U @ diag(S) @ Vh.

    >>> import whet
    >>> U, S, Vh = whet.linalg.svd(whet.tensor([[0., 2.], [3., 0.]]))
    >>> S
    tensor([3., 2.])
    """
    return return_types.linalg_svd(_svd(A, full_matrices=bool(full_matrices)))


def _eigh_vjp(g, y, _a, *, upper):
    w, v = y
    gw, gv = g
    n = w.shape[-1]
    inner = (gw.diag_embed().to(v.dtype)
             if gw is not None else F["zeros"](*w.shape, n, dtype=v.dtype, device=v.device))
    if gv is not None:
        gap = w.unsqueeze(-2) - w.unsqueeze(-1) + F["eye"](n, dtype=w.dtype, device=w.device)
        inner = inner + (_h(v) @ gv) / gap * (1 - F["eye"](n, dtype=w.dtype, device=w.device))
    full = v @ inner @ _h(v)
    return [(full + _h(full)) / 2]               # the matrix is symmetric, and so is its gradient


_eigh = host("eigh", lambda a, *, upper: tuple(np.linalg.eigh(a, "U" if upper else "L")),
             infer=square("eigh"),
             vjp=_eigh_vjp)
_eigh.op.inner = True


def _upper(UPLO):
    """Is it the upper triangle that is read?"""
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"linalg.eigh: Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO.upper() == "U"


def eigh(A, UPLO="L"):
    """Eigenvalues (ascending) and eigenvectors of a symmetric matrix, of which one triangle is
    read.

    >>> import whet
    >>> values, vectors = whet.linalg.eigh(whet.tensor([[2., 1.], [1., 2.]]))
    >>> values
    tensor([1., 3.])
    """
    return return_types.linalg_eigh(_eigh(A, upper=_upper(UPLO)))


_eigvalsh = host("eigvalsh", lambda a, *, upper: np.linalg.eigvalsh(a, "U" if upper else "L"),
                 infer=square("eigvalsh"),
                 vjp=lambda g, _y, a, *, upper: _eigh_vjp(
                     (g, None), tuple(_eigh(a, upper=upper)), a, upper=upper))
_eigvalsh.op.inner = True         # one triangle is read, and both get a gradient
_eigvalsh.op.outlined = lambda a, *, upper: Outline(
    a.shape[:-1], FROM_NUMPY[a.dtype].to_real().np)


def eigvalsh(A, UPLO="L"):
    """Eigenvalues (ascending) of a symmetric matrix.

    >>> import whet
    >>> whet.linalg.eigvalsh(whet.tensor([[2., 1.], [1., 2.]]))
    tensor([1., 3.])
    """
    if is_tensor(A) and A.requires_grad and is_grad_enabled():
        return eigh(A, UPLO).eigenvalues           # the gradient wants the vectors
    return _eigvalsh(A, upper=_upper(UPLO))


def _pinv_outlined(a, _atol, _rtol, *, hermitian):
    *batch, m, n = a.shape
    return Outline((*batch, n, m), a.dtype)


pinv.op.outlined = _pinv_outlined
_eigh.op.outlined = lambda a, *, upper: (
    Outline(a.shape[:-1], FROM_NUMPY[a.dtype].to_real().np), like_first(a))
for _of in (_inv, _det, _slogdet, _solve, solve_triangle, _cholesky, _cholesky_ex, pinv, _qr_op,
            _svd, _svdvals, _eigh, _eigvalsh):
    _of.op.any_sizes = True


# ---- eigenvalues of any matrix -------------------------------------------------------------------
def _complex_of(a):
    return a.astype({"f": "F", "d": "D"}.get(a.dtype.char, a.dtype))


def _eig_vjp(g, y, a):
    w, v = y
    gw, gv = g
    vh = _h(v)
    inner = F["zeros_like"](v)
    if gv is not None:
        overlap = vh @ gv
        real = (overlap.diagonal(0, -2, -1).real + 0j).to(v.dtype)
        inner = overlap - (vh @ v) * real.unsqueeze(-2)
        gap = (w.unsqueeze(-2) - w.unsqueeze(-1)).conj()
        eye = F["eye"](w.shape[-1], dtype=bool_, device=w.device)
        inner = F["where"](eye, 0.0, inner / F["where"](eye, 1.0, gap))
    if gw is not None:
        inner = inner + gw.diag_embed()
    r = _solve(vh, inner @ vh)
    return [r if a.dtype.category == COMPLEX else r.real]


_eig = host("eig", lambda a: tuple(_complex_of(np.asarray(x)) for x in np.linalg.eig(a)),
            infer=square("eig"),
            vjp=_eig_vjp)
_eig.op.inner = True                               # the vectors have a free phase


def eig(A):
    """Eigenvalues and eigenvectors of a square matrix, complex always.

    >>> import whet
    >>> values, vectors = whet.linalg.eig(whet.tensor([[2., 0.], [0., 3.]]))
    >>> values
    tensor([2.+0.j, 3.+0.j])
    """
    return return_types.linalg_eig(_eig(A))
