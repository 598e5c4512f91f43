"""Ready-made parametrizations."""
import whet

from .. import functional as F
from ..module import Module
from . import parametrize

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def norm_except(v, dim):
    """The norm over all dimensions but one (all of them for -1), kept as a broadcastable shape."""
    if dim == -1:
        return v.norm()
    return v.norm(2, dim=[d for d in range(v.ndim) if d != dim], keepdim=True)


class _WeightNorm(Module):
    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return weight_v * (weight_g / norm_except(weight_v, self._dim(weight_v)))

    def right_inverse(self, weight):
        return norm_except(weight, self._dim(weight)), weight

    def _dim(self, v):
        return self.dim if self.dim == -1 else self.dim % v.ndim


def weight_norm(module, name="weight", dim=0):
    """Split a weight into its length (along `dim`) and its direction."""
    return parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


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
    """Q of the QR decomposition of what is stored, with a positive diagonal of R."""

    def forward(self, x):
        tall = x.shape[-2] >= x.shape[-1]
        q, r = whet.linalg.qr(x if tall else x.mT)
        q = q * whet.diagonal(r, dim1=-2, dim2=-1).sgn().unsqueeze(-2)
        return q if tall else q.mT

    def right_inverse(self, q):
        return q


def orthogonal(module, name="weight"):
    """Keep a weight's rows (or columns, whichever are fewer) orthonormal."""
    weight = getattr(module, name, None)
    if not isinstance(weight, whet.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    return parametrize.register_parametrization(module, name, _Orthogonal(), unsafe=True)
