"""Pruning: a parameter becomes `name_orig` times the buffer `name_mask`."""
import numbers
from collections.abc import Iterable

import whet

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured",
    "PruningContainer", "RandomStructured", "RandomUnstructured", "custom_from_mask",
    "global_unstructured", "identity", "is_pruned", "l1_unstructured", "ln_structured",
    "random_structured", "random_unstructured", "remove"]


def _hook(module, name):
    """(id, method) of the forward pre-hook by which a parameter is pruned, or None."""
    hooks = module.__dict__.get("_hooks")
    found = ([(i, h) for i, h in hooks.forward_pre.items()
              if isinstance(h, BasePruningMethod) and h._tensor_name == name] if hooks else [])
    return found[0] if found else None


def _with_mask(module, name, mask, method):
    """Prune by a mask, on top of what is pruned already."""
    if mask.shape != getattr(module, name).shape:
        raise AssertionError("the mask must have the shape of the parameter")
    method._tensor_name = name
    found = _hook(module, name)
    if found is None:
        original = module._parameters[name]
        delattr(module, name)
        module.register_parameter(f"{name}_orig", original)
        module.register_buffer(f"{name}_mask", mask)
        module.register_forward_pre_hook(method)
    else:
        setattr(module, f"{name}_mask", getattr(module, f"{name}_mask") * mask)
        i, before = found
        if not isinstance(before, PruningContainer):
            before = module.__dict__["_hooks"].forward_pre[i] = PruningContainer(before)
        before.add_pruning_method(method)
    method(module, None)
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


class BasePruningMethod:
    """A way to prune. A subclass says in `compute_mask` which entries stay; its `PRUNING_TYPE` says
    what it is shown of a tensor that is pruned already: the entries that are left ("unstructured"),
    the channels along `dim` in which any is left ("structured"), or all of it ("global").

    >>> import whet
    >>> from whet.nn.utils import prune
    >>> class EverySecond(prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         mask = default_mask.clone()
    ...         mask.view(-1)[::2] = 0
    ...         return mask
    >>> layer = whet.nn.Linear(4, 1)
    >>> _ = EverySecond.apply(layer, "weight")
    >>> layer.weight_mask
    tensor([[0., 1., 0., 1.]])
    """
    PRUNING_TYPE = "unstructured"
    dim = -1
    _tensor_name = None                      # of the parameter that is pruned

    def __call__(self, module, inputs):
        """The forward pre-hook: the pruned tensor is computed again."""
        module.__dict__[self._tensor_name] = self.apply_mask(module)

    def apply_mask(self, module):
        """The module's parameter with what is pruned set to 0."""
        if self._tensor_name is None:
            raise AssertionError("the method prunes no parameter: apply() it first")
        weight = getattr(module, f"{self._tensor_name}_orig")
        return getattr(module, f"{self._tensor_name}_mask").to(weight.dtype) * weight

    def remove(self, module):
        """Let the parameter be an ordinary one, with zeros in it. The hook stays."""
        name, pruned = self._tensor_name, self.apply_mask(module).detach()
        original = getattr(module, f"{name}_orig")
        original.data = pruned
        module.__dict__.pop(name, None)
        delattr(module, f"{name}_orig")
        delattr(module, f"{name}_mask")
        module.register_parameter(name, original)

    def compute_mask(self, t, default_mask):
        """The mask for a tensor, of which `default_mask` is the mask so far."""
        raise NotImplementedError

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prune the parameter `name` of a module. Returns the method."""
        method = cls(*args, **kwargs)
        value, alive = _state(module, name)
        scores = value if importance_scores is None else importance_scores
        if scores.shape != value.shape:
            raise AssertionError("importance_scores should have the same shape as parameter "
                                 f"{name} of {module}")
        _with_mask(module, name, method._mask(scores.detach(), alive), method)
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """A tensor with what is pruned set to 0."""
        alive = whet.ones_like(t) if default_mask is None else default_mask
        scores = t if importance_scores is None else importance_scores
        return t * self._mask(scores.detach(), alive).to(t.dtype)

    def _mask(self, scores, alive):
        """The mask by scores, on top of one."""
        shown = self._shown(alive)
        if shown is None:
            return self.compute_mask(scores, alive)
        out = alive.clone()
        out[shown] = self.compute_mask(scores[shown], alive[shown]).to(out.dtype)
        return out

    def _shown(self, alive):
        """The places of what is left, or None for all."""
        if self.PRUNING_TYPE == "unstructured":
            left = alive != 0
            return None if left.all() else left
        if self.PRUNING_TYPE == "structured":
            dim = self.dim % alive.ndim
            left = (alive != 0).movedim(dim, 0).reshape(alive.shape[dim], -1).any(1)
            return None if left.all() else (slice(None),) * dim + (left,)
        if self.PRUNING_TYPE == "global":
            return None
        raise ValueError(f"Unrecognized PRUNING_TYPE {self.PRUNING_TYPE}")


class PruningContainer(BasePruningMethod):
    """The methods by which one parameter was pruned in turn: what its module's hook becomes with
    the second of them.

    >>> import whet
    >>> from whet.nn.utils import prune
    >>> layer = prune.l1_unstructured(whet.nn.Linear(4, 2), "weight", amount=2)
    >>> _ = prune.ln_structured(layer, "weight", amount=1, n=2, dim=0)
    >>> [type(method).__name__ for hook in layer._forward_pre_hooks.values() for method in hook]
    ['L1Unstructured', 'LnStructured']
    """

    def __init__(self, *methods):
        self._pruning_methods: tuple = ()
        if methods:
            self._tensor_name = methods[0]._tensor_name
        for method in methods:
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """Add a method, which prunes the same parameter."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method._tensor_name != self._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to {self}. Found '{method._tensor_name}'")
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, i):
        return self._pruning_methods[i]

    def compute_mask(self, t, default_mask):
        """The mask of the latest method, on top of one."""
        return self._pruning_methods[-1]._mask(t, default_mask)


class Identity(BasePruningMethod):
    """Prunes nothing (but adds the mask).

    >>> import whet
    >>> from whet.nn.utils import prune
    >>> layer = whet.nn.Linear(2, 1)
    >>> _ = prune.Identity.apply(layer, "weight")
    >>> layer.weight_mask.tolist()
    [[1.0, 1.0]]
    """

    def compute_mask(self, t, default_mask):
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes entries at random.

    >>> import whet
    >>> from whet.nn.utils import prune
    >>> mask = prune.RandomUnstructured(amount=3).compute_mask(whet.ones(8), whet.ones(8))
    >>> mask.sum().item()
    5.0
    """

    def __init__(self, amount):
        _amount(amount, amount)
        self.amount = amount

    def _scores(self, t):
        """The lowest of them are pruned."""
        return whet.rand(t.shape)

    def compute_mask(self, t, default_mask):
        return _lowest(self._scores(t), default_mask, _amount(self.amount, t.numel()))


class L1Unstructured(RandomUnstructured):
    """Prunes the entries of least magnitude.

    >>> import whet
    >>> from whet.nn.utils import prune
    >>> weight = whet.tensor([3., -1., 2., .5])
    >>> prune.L1Unstructured(2).compute_mask(weight, whet.ones(4)).tolist()
    [1.0, 0.0, 1.0, 0.0]
    """

    def _scores(self, t):
        return t.abs()


class RandomStructured(BasePruningMethod):
    """Prunes whole channels along `dim`, at random.

    >>> import whet
    >>> from whet.nn.utils import prune
    >>> mask = prune.RandomStructured(1, dim=0).compute_mask(whet.ones(3, 2), whet.ones(3, 2))
    >>> mask.sum(0).tolist()
    [2.0, 2.0]
    """
    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1):
        _amount(amount, amount)
        self.amount, self.dim = amount, dim

    def _scores(self, t):
        """One for each channel. The lowest are pruned."""
        return whet.rand(t.shape[self.dim])

    def compute_mask(self, t, default_mask):
        if t.ndim < 2:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor "
                f"of shape {t.shape} with {t.ndim} dims")
        if not -t.ndim <= self.dim < t.ndim:
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        channels = t.shape[self.dim]
        keep = _lowest(self._scores(t), whet.ones(channels), _amount(self.amount, channels))
        shape = [1] * t.ndim
        shape[self.dim] = channels
        return default_mask * keep.reshape(shape).to(default_mask.dtype)


class LnStructured(RandomStructured):
    """Prunes the channels along `dim` of least n-norm.

    >>> import whet
    >>> from whet.nn.utils import prune
    >>> weight = whet.tensor([[1., 1.], [3., 4.]])
    >>> prune.LnStructured(1, n=2, dim=0).compute_mask(weight, whet.ones(2, 2)).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """

    def __init__(self, amount, n, dim=-1):
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, t):
        return t.movedim(self.dim, 0).reshape(t.shape[self.dim], -1).norm(self.n, dim=1)


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask of one's own.

    >>> import whet
    >>> from whet.nn.utils import prune
    >>> prune.CustomFromMask(whet.tensor([1., 0.])).prune(whet.tensor([4., 5.])).tolist()
    [4.0, 0.0]
    """
    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.own = mask

    def compute_mask(self, t, default_mask):
        if default_mask.shape != self.own.shape:
            raise AssertionError(f"default_mask shape {default_mask.shape} must match self.mask "
                                 f"shape {self.own.shape}")
        return default_mask * self.own.to(default_mask.dtype)


def identity(module, name):
    """Prune nothing (but add the mask).

    >>> import whet
    >>> layer = whet.nn.utils.prune.identity(whet.nn.Linear(2, 1), "weight")
    >>> layer.weight_mask
    tensor([[1., 1.]])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prune elements at random.

    >>> import whet
    >>> layer = whet.nn.Linear(4, 2)
    >>> layer = whet.nn.utils.prune.random_unstructured(layer, "weight", amount=0.25)
    >>> int((layer.weight == 0).sum())
    2
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prune the elements of least magnitude.

    >>> import whet
    >>> layer = whet.nn.Linear(2, 1)
    >>> with whet.no_grad():
    ...     _ = layer.weight.copy_(whet.tensor([[0.1, 0.5]]))
    >>> _ = whet.nn.utils.prune.l1_unstructured(layer, "weight", amount=1)
    >>> layer.weight_mask
    tensor([[0., 1.]])
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prune whole channels along `dim` at random.

    >>> import whet
    >>> layer = whet.nn.Linear(4, 2)
    >>> layer = whet.nn.utils.prune.random_structured(layer, "weight", amount=1, dim=0)
    >>> int((layer.weight == 0).all(1).sum())
    1
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prune the channels along `dim` of least n-norm.

    >>> import whet
    >>> layer = whet.nn.Linear(2, 2)
    >>> with whet.no_grad():
    ...     _ = layer.weight.copy_(whet.tensor([[3., 4.], [0.1, 0.2]]))
    >>> layer = whet.nn.utils.prune.ln_structured(layer, "weight", amount=1, n=2, dim=0)
    >>> layer.weight_mask
    tensor([[1., 1.],
            [0., 0.]])
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module, name, mask):
    """Prune by a mask of one's own.

    >>> import whet
    >>> layer = whet.nn.Linear(2, 1)
    >>> mask = whet.tensor([[1., 0.]])
    >>> layer = whet.nn.utils.prune.custom_from_mask(layer, "weight", mask)
    >>> (layer.weight == 0).tolist()
    [[False, True]]
    """
    CustomFromMask.apply(module, name, mask)
    return module


# A function that prunes may stand for its method.
_METHODS = {random_unstructured: RandomUnstructured, l1_unstructured: L1Unstructured}


def global_unstructured(parameters, pruning_method=L1Unstructured, importance_scores=None,
                        **kwargs):
    """Prune the least of several (module, name) pairs, taken together.

    >>> import whet
    >>> a, b = whet.nn.Linear(2, 2), whet.nn.Linear(2, 2)
    >>> whet.nn.utils.prune.global_unstructured([(a, "weight"), (b, "weight")], amount=0.5)
    >>> int((a.weight == 0).sum() + (b.weight == 0).sum())
    4
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    parameters = list(parameters)
    method = _METHODS.get(pruning_method, pruning_method)(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}")
    states = [_state(module, name) for module, name in parameters]
    scores = [(importance_scores or {}).get(pair, value).detach()
              for pair, (value, _) in zip(parameters, states)]
    mask = method._mask(whet.cat([s.reshape(-1) for s in scores]),
                       whet.cat([alive.reshape(-1) for _, alive in states]))
    at = 0
    for (module, name), (value, _) in zip(parameters, states):
        part = mask[at:at + value.numel()].reshape(value.shape)
        _with_mask(module, name, part, CustomFromMask(part))
        at += value.numel()


def is_pruned(module):
    """Is any parameter of the module, or of one below it, pruned?

    >>> import whet
    >>> layer = whet.nn.Linear(2, 1)
    >>> whet.nn.utils.prune.is_pruned(layer)
    False
    >>> whet.nn.utils.prune.is_pruned(whet.nn.utils.prune.identity(layer, "weight"))
    True
    """
    return any(isinstance(h, BasePruningMethod)
               for m in module.modules() if m.__dict__.get("_hooks")
               for h in m.__dict__["_hooks"].forward_pre.values())


def remove(module, name):
    """Make the pruning permanent: the parameter is again an ordinary one, with zeros in it.

    >>> import whet
    >>> layer = whet.nn.utils.prune.identity(whet.nn.Linear(2, 1), "weight")
    >>> sorted(whet.nn.utils.prune.remove(layer, "weight").state_dict())
    ['bias', 'weight']
    """
    found = _hook(module, name)
    if found is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    i, hook = found
    hook.remove(module)
    del module.__dict__["_hooks"].forward_pre[i]
    return module
