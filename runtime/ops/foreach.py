"""Functions of lists of tensors: `whet._foreach_mul_(parameters, 0.9)` calls the method for each.

They are PyTorch's, where optimizers and averages of weights are written with them.
"""
from typing import Any

from .. import declared_for_tracing
from ..tensor import Tensor

PREFIX = "_foreach_"
# Methods of two tensors that are asked for with numbers as well: the method for numbers.
_WITH_NUMBERS = {"maximum": "clamp_min", "minimum": "clamp_max"}
_SCALED = ("addcdiv", "addcmul")
# Options that have another name in the function of lists than in the method.
_OPTIONS = {"norm": {"ord": "p"}}


def _listed(name, entries):
    """How many tensors there are in a list of them."""
    if not isinstance(entries, list | tuple):
        raise TypeError(f"{name}(): argument 'self' (position 1) must be tuple of Tensors, not "
                        f"{entries.__class__.__name__}")
    if not entries:
        raise RuntimeError("Tensor list must have at least one tensor.")
    for i, x in enumerate(entries):
        if not isinstance(x, Tensor):
            raise TypeError(
                f"expected Tensor as element {i} in argument 0, but got {x.__class__.__name__}")
    return len(entries)


def _each(entries, n, name):
    """An argument for each of `n` tensors: a list has one for each, anything else is for all."""
    if not isinstance(entries, list | tuple):
        return [entries] * n
    if len(entries) != n:
        raise RuntimeError(
            f"{name}: the lists must have as many entries: got {n} tensors and {len(entries)}")
    return entries


def _scaled(name, method, tensors, first, second, value=1, *, scalars=None):
    value = value if scalars is None else scalars
    if isinstance(value, Tensor) and value.ndim:
        value = value.tolist()
    rows = zip(tensors, *(_each(x, len(tensors), name) for x in (first, second, value)),
               strict=True)
    return [getattr(t, method)(a, b, value=v) for t, a, b, v in rows]


def _call(method, tensor, args, options):
    other: Any = args[0] if args else None
    plain = method.rstrip("_")
    if plain in _WITH_NUMBERS and not isinstance(other, Tensor):
        method = method.replace(plain, _WITH_NUMBERS[plain])
    if not hasattr(Tensor, method):                        # there is no such method in place
        return tensor.copy_(getattr(tensor, plain)(*args, **options))
    if not isinstance(tensor, Tensor):                     # a number to the power of each
        return other.new_tensor(tensor).pow(other)
    return getattr(tensor, method)(*args, **options)


def function(name):
    """The function of lists with PyTorch's name, or None where there is no such method.

    >>> import whet
    >>> whet._foreach_add([whet.ones(2), whet.zeros(1)], [1.0, 2.0])
    (tensor([2., 2.]), tensor([2.]))
    """
    method = name.removeprefix(PREFIX)
    plain = method.rstrip("_")
    if not (hasattr(Tensor, method) or hasattr(Tensor, plain)):
        return None

    renamed = _OPTIONS.get(plain, {})

    def foreach(self, *args, **options):
        options = {renamed.get(option, option): value for option, value in options.items()}
        powers_of_number = plain == "pow" and not isinstance(self, list | tuple)
        n = _listed(name, args[0] if powers_of_number and args else self)
        if plain in _SCALED:
            out = _scaled(name, method, self, *args, **options)
        else:
            columns = [_each(x, n, name) for x in (self, *args)]
            out = [_call(method, t, rest, options) for t, *rest in zip(*columns, strict=True)]
        return self if method.endswith("_") else tuple(out)
    foreach.__name__ = foreach.__qualname__ = name
    foreach.__doc__ = f"`Tensor.{method}` of each tensor of a list."
    return foreach


declared_for_tracing.only_computes(globals())
