"""Weights whose length and direction are parameters of their own, joined before each call."""
import whet

from ..module import Module
from ..parameter import Parameter

__all__ = ["remove_weight_norm", "weight_norm"]


class WeightNorm:
    """The hook that joins them."""

    def __init__(self, name, dim):
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module):
        """The weight, of a module's `_g` and `_v`."""
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return whet._weight_norm(v, g, self.dim)

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module))

    def remove(self, module):
        """Make the weight one parameter again."""
        weight = self.compute_weight(module).detach()
        for name in (self.name, self.name + "_g", self.name + "_v"):
            delattr(module, name)
        setattr(module, self.name, Parameter(weight))


def weight_norm(module, name="weight", dim=0):
    """Split a weight into its length (along `dim`; of all of it where that is None) and its
    direction: the parameters `weight_g` and `weight_v`.

    >>> import whet
    >>> m = whet.nn.utils.weight_norm(whet.nn.Linear(3, 2))
    >>> sorted(m.state_dict())
    ['bias', 'weight_g', 'weight_v']
    """
    if known_hook(module, WeightNorm, name) is not None:
        raise RuntimeError(
            f"Cannot register two weight_norm hooks on the same parameter {name}")
    hook, weight = WeightNorm(name, dim), getattr(module, name)
    length = whet.norm_except_dim(weight, 2, hook.dim)
    delattr(module, name)
    module.register_parameter(name + "_g", Parameter(length.detach()))
    module.register_parameter(name + "_v", Parameter(weight.detach()))
    hook(module, ())
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module, name="weight"):
    """Undo `weight_norm`.

    >>> import whet
    >>> layer = whet.nn.utils.weight_norm(whet.nn.Linear(2, 2))
    >>> sorted(layer.state_dict())
    ['bias', 'weight_g', 'weight_v']
    >>> sorted(whet.nn.utils.remove_weight_norm(layer).state_dict())
    ['bias', 'weight']
    """
    remove_hook(module, WeightNorm, name, "weight_norm")
    return module


def known_hook(module, kind, name):
    """The key of the hook of a kind that makes this attribute of a module; None where there is
    none."""
    if not isinstance(module, Module):
        raise TypeError(f"expected a module, got {type(module).__name__}")
    return next((k for k, hook in module._hook_lists().forward_pre.items()
                 if type(hook) is kind and hook.name == name), None)


def remove_hook(module, kind, name, what):
    """Undo what such a hook stands for."""
    key = known_hook(module, kind, name)
    if key is None:
        raise ValueError(f"{what} of '{name}' not found in {module}")
    module._hook_lists().forward_pre.pop(key).remove(module)
