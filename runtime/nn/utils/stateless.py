"""Calling a module with other tensors in place of its own."""
import contextlib

from ...ops.argument_guards import guard
from ...tensor import Tensor

_ABSENT = object()      # what a module had at a name that it does not have


def _tie(own, wanted):
    """Give a parameter that has several names one value under all of them."""
    for name in list(wanted):
        same = own.get(name)
        tied = [other for other in own if same is not None and own[other] is same]
        if any(wanted.get(other, wanted[name]) is not wanted[name] for other in tied):
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(tied)}, which are tied. "
                "Consider using tie_weights=False")
        for other in tied:
            wanted.setdefault(other, wanted[name])


@contextlib.contextmanager
def _reparametrize_module(module, tensors, tie_weights=False, strict=False):
    """The named parameters and buffers replaced for the while. Libraries of flows and of Bayesian
    networks know it by this name of PyTorch's."""
    own = {}
    for name, value in [
            *module.named_parameters(remove_duplicate=False),
            *module.named_buffers(remove_duplicate=False)]:
        own[name] = value
    wanted = dict(tensors)
    if tie_weights:
        _tie(own, wanted)
    if strict:
        missing = [n for n in own if n not in wanted]
        unexpected = [n for n in wanted if n not in own]
        words = [f"{what} key(s): {', '.join(map(repr, names))}."
                 for what, names in (("Unexpected", unexpected), ("Missing", missing)) if names]
        if words:
            raise RuntimeError("Error(s) in reparametrizing for {}:\n\t{}".format(
                module._get_name(), "\n\t".join(words)))
    places = []
    try:
        for name, value in wanted.items():
            path, _, leaf = name.rpartition(".")
            try:
                owner = module.get_submodule(path)
            except AttributeError:
                if strict or name in own:
                    raise
                continue
            if not isinstance(value, Tensor):
                raise TypeError(f"{value} is not an instance of whet.Tensor")
            places.append((owner, leaf, owner.__dict__.get(leaf, _ABSENT), value))
            owner.__dict__[leaf] = value
        yield
    finally:
        for owner, leaf, before, replacement in reversed(places):
            now = owner.__dict__.get(leaf)
            # the call assigned it again: a result for the caller
            if now is not replacement and isinstance(tensors, dict):
                prefix = next((n for n, v in tensors.items() if v is replacement), None)
                if prefix is not None:
                    tensors[prefix] = now
            if before is _ABSENT:
                owner.__dict__.pop(leaf, None)
            else:
                owner.__dict__[leaf] = before


@guard
def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True,
                    strict=False):
    """`module(*args, **kwargs)` with the given tensors, by name, in place of its parameters and
    buffers.

    The module is unchanged afterwards. A tuple of dicts counts as their union.
    """
    if isinstance(parameters_and_buffers, list | tuple):
        merged: dict = {}
        for part in parameters_and_buffers:
            twice = merged.keys() & part.keys()
            if twice:
                raise ValueError(
                    f"{sorted(twice)} appeared in multiple dictionaries; behavior of functional "
                    "call is ambiguous")
            merged.update(part)
        parameters_and_buffers = merged
    elif not isinstance(parameters_and_buffers, dict):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameters_and_buffers)}")
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights, strict):
        return module(*args, **(kwargs or {}))
