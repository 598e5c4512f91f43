"""Weights that are divided by their largest singular value before each call."""
import whet

from .. import functional as F
from ..parameter import Parameter
from .weight_norm import known_hook, remove_hook

__all__ = ["remove_spectral_norm", "spectral_norm"]


class SpectralNorm:
    """The hook that divides; in training it goes on with the power method first."""

    def __init__(self, name, n_power_iterations, dim, eps):
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def matrix(self, weight):
        """The weight as a matrix of `dim` by all others."""
        return weight.movedim(self.dim, 0).flatten(1)

    def compute_weight(self, module, goes_on):
        """The weight, of a module's `_orig`. `goes_on`: make steps of the power method."""
        weight, u, v = (getattr(module, self.name + end) for end in ("_orig", "_u", "_v"))
        m = self.matrix(weight)
        if goes_on:
            with whet.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(whet.mv(m.t(), u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(whet.mv(m, v), dim=0, eps=self.eps))
            u, v = u.clone(), v.clone()      # the buffers may change before the backward
        return weight / whet.dot(u, whet.mv(m, v))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module, module.training))

    def remove(self, module):
        """Make the weight a parameter again, as it is now."""
        with whet.no_grad():
            weight = self.compute_weight(module, False)
        for name in (self.name, *(self.name + end for end in ("_orig", "_u", "_v"))):
            delattr(module, name)
        module.register_parameter(self.name, Parameter(weight.detach()))


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divide a weight by its largest singular value, estimated by the power method: the parameter
    `weight_orig`, with the buffers `weight_u` and `weight_v`.

    >>> import whet
    >>> m = whet.nn.utils.spectral_norm(whet.nn.Linear(3, 2))
    >>> sorted(m.state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    if known_hook(module, SpectralNorm, name) is not None:
        raise RuntimeError(
            f"Cannot register two spectral_norm hooks on the same parameter {name}")
    if n_power_iterations <= 0:
        raise ValueError(
            "Expected n_power_iterations to be positive, but got "
            f"n_power_iterations={n_power_iterations}")
    weight = module._parameters.get(name)
    if weight is None:
        raise ValueError(f"`spectral_norm`: `{name}` is no parameter of {module}")
    if dim is None:
        dim = 1 if getattr(module, "transposed", False) else 0
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    rows, columns = hook.matrix(weight).shape
    with whet.no_grad():
        u, v = (F.normalize(weight.new_empty(n).normal_(0, 1), dim=0, eps=eps)
                for n in (rows, columns))
    delattr(module, name)
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, weight.data)       # until the first call
    module.register_buffer(name + "_u", u)
    module.register_buffer(name + "_v", v)
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module, name="weight"):
    """Undo `spectral_norm`.

    >>> import whet
    >>> layer = whet.nn.utils.spectral_norm(whet.nn.Linear(2, 2))
    >>> layer = whet.nn.utils.remove_spectral_norm(layer)
    >>> sorted(layer.state_dict())
    ['bias', 'weight']
    """
    remove_hook(module, SpectralNorm, name, "spectral_norm")
    return module
