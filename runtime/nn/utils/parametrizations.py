"""Ready-made parametrizations."""
import functools

import whet

from .. import functional as F
from ..module import Module
from . import parametrize

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return whet._weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        return whet.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """Split a weight into its length (along `dim`) and its direction."""
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(functools.partial(_rename_parts, name))
    return module


def _rename_parts(name, state, prefix, *rest):
    """Give the two parts of a weight, in a state of `nn.utils.weight_norm`, their names here."""
    old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
    if all(key in state for key in old):
        for i, key in enumerate(old):
            state[f"{prefix}parametrizations.{name}.original{i}"] = state.pop(key)


class _SpectralNorm(Module):
    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{weight.ndim}, "
                f"{weight.ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}")
        self.dim, self.eps, self.n_power_iterations = dim % weight.ndim, eps, n_power_iterations
        if weight.ndim > 1:
            m = self._matrix(weight)
            self.register_buffer("_u",
                                 F.normalize(whet.randn(m.shape[0], dtype=m.dtype, device=m.device),
                                             dim=0, eps=eps))
            self.register_buffer("_v",
                                 F.normalize(whet.randn(m.shape[1], dtype=m.dtype, device=m.device),
                                             dim=0, eps=eps))
            self._iterate(m.detach(), 15)

    def _matrix(self, weight):
        return weight.movedim(self.dim, 0).flatten(1)

    def _iterate(self, m, times):
        """Go on with the power method, in place."""
        with whet.no_grad():
            for _ in range(times):
                self._u.copy_(F.normalize(whet.mv(m, self._v), dim=0, eps=self.eps))
                self._v.copy_(F.normalize(whet.mv(m.t(), self._u), dim=0, eps=self.eps))

    def forward(self, weight):
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        m = self._matrix(weight)
        if self.training:
            self._iterate(m.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()             # the buffers may change before backward
        return weight / whet.dot(u, whet.mv(m, v))

    def right_inverse(self, value):
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divide a weight by its largest singular value, estimated by the power method."""
    weight = getattr(module, name, None)
    if not isinstance(weight, whet.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if getattr(module, "transposed", False) else 0
    return parametrize.register_parametrization(module, name,
                                                _SpectralNorm(weight, n_power_iterations, dim, eps))


class _Orthogonal(Module):
    """A matrix with orthonormal rows or columns, whichever are fewer, from one without a condition.
    `base`: an orthogonal matrix around which the map is, so that weights begin at the identity."""

    def __init__(self, weight, orthogonal_map, use_trivialization):
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x):
        wide = x.shape[-2] < x.shape[-1]
        x = x.mT if wide else x
        q = self._by_reflections(x) if self.orthogonal_map == "householder" else self._by_skew(x)
        q = self.base @ q if hasattr(self, "base") else q
        return q.mT if wide else q

    def _by_skew(self, x):
        """An orthogonal matrix by the exponential, or the Cayley map, of a matrix that is minus its
        transpose."""
        n, k = x.shape[-2:]
        x = x.tril()
        if n != k:
            x = whet.cat([x, x.new_zeros(n, n - k).expand(*x.shape[:-2], -1, -1)], dim=-1)
        a = x - x.mH
        if self.orthogonal_map == "matrix_exp":
            return whet.matrix_exp(a)[..., :k]
        one = whet.eye(n, dtype=a.dtype, device=a.device)
        return whet.linalg.solve(one.add(a, alpha=-0.5), one.add(a, alpha=0.5))[..., :k]

    @staticmethod
    def _by_reflections(x):
        """An orthogonal matrix by a product of Householder's reflections; signs are in the
        diagonal."""
        a = x.tril(-1)
        q = whet.linalg.householder_product(a, 2.0 / (1.0 + (a * a).sum(dim=-2)))
        return q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    @whet.no_grad()
    def right_inverse(self, q):
        if q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. "
                             f"Got a tensor of shape {q.shape}.")
        if hasattr(self, "base"):
            self.base = _completed(q.mT if q.shape[-2] < q.shape[-1] else q)
            # The diagonal holds the signs of reflections: with -1 they give the identity.
            minus = whet.zeros_like(q)
            minus.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return minus
        if self.orthogonal_map != "householder":
            raise NotImplementedError("It is not possible to assign to the matrix exponential or "
                                      "the Cayley parametrizations when use_trivialization=False.")
        wide = q.shape[-2] < q.shape[-1]
        a, tau = whet.geqrf(q.mT if wide else q)
        diagonal = a.diagonal(dim1=-2, dim2=-1)
        diagonal.sign_()
        diagonal[tau == 0.0] *= -1
        return a.mT if wide else a


def _completed(q):
    """An orthogonal matrix that begins with the columns of one that is nearly so."""
    n, k = q.shape[-2:]
    if n != k:
        more = whet.randn(*q.shape[:-2], n, n - k, dtype=q.dtype, device=q.device)
        return _made_orthogonal(whet.cat([q, more], dim=-1))
    one = whet.eye(k, dtype=q.dtype, device=q.device)
    is_orthogonal = whet.allclose(q.mH @ q, one, atol=10.0 * n * whet.finfo(q.dtype).eps)
    return q.clone() if is_orthogonal else _made_orthogonal(q)


def _made_orthogonal(a):
    """Q of the QR decomposition with a positive diagonal of R."""
    q, r = whet.linalg.qr(a)
    return q * whet.diagonal(r, dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Keep a weight's rows (or columns, whichever are fewer) orthonormal, by a map: "matrix_exp",
    "cayley" or "householder". A trivialization begins at the weight that is there."""
    weight = getattr(module, name, None)
    if not isinstance(weight, whet.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError('orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
                         f"Got: {orthogonal_map}")
    how = _Orthogonal(weight, orthogonal_map, use_trivialization)
    return parametrize.register_parametrization(module, name, how, unsafe=True)
