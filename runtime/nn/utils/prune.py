"""Pruning: a parameter becomes `name_orig` times the buffer `name_mask`."""
import numbers

import whet

__all__ = [
    "custom_from_mask", "global_unstructured", "identity", "is_pruned", "l1_unstructured",
    "ln_structured", "random_structured", "random_unstructured", "remove"]


class _Apply:
    """The forward pre-hook that recomputes the pruned tensor."""

    def __init__(self, name):
        self.name = name

    def __call__(self, module, inputs):
        module.__dict__[self.name] = self.value(module)

    def value(self, module):
        mask, weight = getattr(module, f"{self.name}_mask"), getattr(module, f"{self.name}_orig")
        return mask.to(weight.dtype) * weight


def _hook(module, name):
    hooks = module.__dict__.get("_hooks")
    found = ([(i, h) for i, h in hooks.forward_pre.items()
              if isinstance(h, _Apply) and h.name == name] if hooks else [])
    return found[0] if found else None


def _with_mask(module, name, mask):
    """Prune by a mask, on top of what is pruned already."""
    if mask.shape != getattr(module, name).shape:
        raise AssertionError("the mask must have the shape of the parameter")
    if _hook(module, name) is None:
        original = module._parameters[name]
        delattr(module, name)
        module.register_parameter(f"{name}_orig", original)
        module.register_buffer(f"{name}_mask", mask)
        module.register_forward_pre_hook(_Apply(name))
    else:
        setattr(module, f"{name}_mask", getattr(module, f"{name}_mask") * mask)
    _hook(module, name)[1](module, None)
    return module


def _amount(amount, size):
    """How many of `size` an amount (a fraction, or a number) is."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (not isinstance(amount, numbers.Integral) and amount > 1):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0.0, 1.0] or a non-negative "
            "integer")
    if isinstance(amount, numbers.Integral):
        if amount > size:
            raise ValueError(
                f"amount={amount} should be smaller than the number of parameters to prune={size}")
        return int(amount)
    return round(amount * size)


def _lowest(scores, alive, k):
    """A mask that drops the k lowest-scored of those that are alive."""
    mask = alive.clone().reshape(-1)
    if k:
        at = alive.reshape(-1).nonzero().squeeze(1)
        drop = at[whet.topk(scores.reshape(-1)[at], k, largest=False).indices]
        mask[drop] = 0
    return mask.reshape(alive.shape)


def _state(module, name):
    """(the tensor as it is now, its mask)"""
    value = getattr(module, name).detach()
    mask = getattr(module, f"{name}_mask", None)
    return value, whet.ones_like(value) if mask is None else mask


def identity(module, name):
    """Prune nothing (but add the mask)."""
    return _with_mask(module, name, whet.ones_like(getattr(module, name).detach()))


def random_unstructured(module, name, amount):
    """Prune elements at random."""
    value, alive = _state(module, name)
    n = int(alive.sum().item())
    return _with_mask(module, name, _lowest(whet.rand(value.shape), alive, _amount(amount, n)))


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prune the elements of least magnitude."""
    value, alive = _state(module, name)
    scores = value if importance_scores is None else importance_scores
    n = int(alive.sum().item())
    return _with_mask(module, name, _lowest(scores.abs(), alive, _amount(amount, n)))


def _structured(module, name, amount, dim, score):
    value, alive = _state(module, name)
    if value.ndim < 2:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of "
            f"shape {tuple(value.shape)} with {value.ndim} dims")
    dim %= value.ndim
    rest = [d for d in range(value.ndim) if d != dim]
    channels = (alive != 0).any(dim=rest[0], keepdim=True) if len(rest) == 1 else \
        (alive != 0).movedim(dim, 0).reshape(value.shape[dim], -1).any(1)
    keep = _lowest(score(value, dim),
                   channels.reshape(-1).to(value.dtype),
                   _amount(amount, int(channels.sum().item())))
    shape = [1] * value.ndim
    shape[dim] = value.shape[dim]
    return _with_mask(module, name, alive * keep.reshape(shape))


def random_structured(module, name, amount, dim):
    """Prune whole channels along `dim` at random."""
    return _structured(module, name, amount, dim, lambda v, d: whet.rand(v.shape[d]))


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prune the channels along `dim` of least n-norm."""
    def score(value, d):
        scores = value if importance_scores is None else importance_scores
        return scores.movedim(d, 0).reshape(scores.shape[d], -1).norm(n, dim=1)
    return _structured(module, name, amount, dim, score)


def custom_from_mask(module, name, mask):
    """Prune by a mask of one's own."""
    return _with_mask(module, name, mask.to(getattr(module, name).dtype))


def global_unstructured(parameters,
                        pruning_method=l1_unstructured,
                        importance_scores=None,
                        **kwargs):
    """Prune the least of several (module, name) pairs, taken together."""
    parameters = list(parameters)
    states = [_state(module, name) for module, name in parameters]
    scores = [(importance_scores or {}).get(pair, value).abs()
              for pair, (value, _) in zip(parameters, states)]
    if pruning_method is random_unstructured:
        scores = [whet.rand(s.shape) for s in scores]
    elif pruning_method is not l1_unstructured:
        raise TypeError(
            "global_unstructured: pruning_method must be l1_unstructured or random_unstructured")
    alive = whet.cat([a.reshape(-1) for _, a in states])
    mask = _lowest(whet.cat([s.reshape(-1) for s in scores]),
                   alive,
                   _amount(kwargs["amount"], int(alive.sum().item())))
    at = 0
    for (module, name), (value, _) in zip(parameters, states):
        _with_mask(module, name, mask[at:at + value.numel()].reshape(value.shape))
        at += value.numel()


def is_pruned(module):
    """Is any parameter of the module, or of one below it, pruned?"""
    return any(isinstance(h, _Apply) for m in module.modules() if m.__dict__.get("_hooks")
               for h in m.__dict__["_hooks"].forward_pre.values())


def remove(module, name):
    """Make the pruning permanent: the parameter is again an ordinary one, with zeros in it."""
    found = _hook(module, name)
    if found is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    i, hook = found
    original = getattr(module, f"{name}_orig")
    with whet.no_grad():
        original.data = hook.value(module).detach()
    del module.__dict__["_hooks"].forward_pre[i]
    module.__dict__.pop(name, None)
    delattr(module, f"{name}_orig")
    delattr(module, f"{name}_mask")
    module.register_parameter(name, original)
    return module
