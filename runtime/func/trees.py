"""Tensors in tuples, lists and dicts."""
from ..tensor import Tensor


def mapped(f, value):
    """The value with f(tensor) for each tensor in it; tuples, lists and dicts are gone through."""
    if isinstance(value, Tensor):
        return f(value)
    if isinstance(value, dict):
        return type(value)((k, mapped(f, x)) for k, x in value.items())
    if isinstance(value, tuple | list):
        parts = [mapped(f, x) for x in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def tensors(value):
    """The tensors in a value, in order."""
    found: list = []
    mapped(found.append, value)
    return found


def other_leaves(value):
    """What is in a value beside tensors, and beside the containers that are gone through."""
    if isinstance(value, Tensor):
        return []
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, tuple | list):
        return [x for part in value for x in other_leaves(part)]
    return [value]


def structure(value):
    """How the tensors of a value are held, as text: {'a': *, 'b': (*, *)}."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {structure(x)}" for k, x in value.items()) + "}"
    if isinstance(value, tuple | list):
        parts = ", ".join(map(structure, value))
        if isinstance(value, list):
            return f"[{parts}]"
        return f"({parts},)" if len(value) == 1 else f"({parts})"
    return "*"


def like(value, others):
    """The structure of `value` with other tensors in it."""
    in_order = iter(others)
    return mapped(lambda _: next(in_order), value)
