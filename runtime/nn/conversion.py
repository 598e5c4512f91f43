"""What parameters become when a module is converted (`Module.to`, `.half()`, ...). How is a matter
of two settings, see `whet.__future__`."""
import importlib

import whet

from ..utils.swapping import swap_tensors
from .parameter import Parameter

# A name that the statement `import` has another meaning for.
settings = importlib.import_module("whet.__future__")


def convert(module, fn):
    """Put `fn` of them in the place of a module's own parameters, their gradients, and buffers."""
    attrs = module.__dict__
    swaps = settings.get_swap_module_params_on_conversion()
    overwrites = settings.get_overwrite_module_params_on_conversion()
    become = _swapped if swaps else _new if overwrites else _moved
    for name in attrs["_parameter_names"]:
        if attrs[name] is not None:
            with whet.no_grad():
                attrs[name] = become(attrs[name], fn)
    for name in attrs["_buffer_names"]:
        if attrs[name] is not None:
            attrs[name] = fn(attrs[name])


def _moved(p, fn):
    """The parameter with other memory."""
    p.data = fn(p)
    if p.grad is not None:
        p.grad = fn(p.grad)
    return p


def _new(p, fn):
    """What `fn` makes of `p`, as another parameter."""
    made = Parameter(fn(p), p.requires_grad)
    if p.grad is not None:
        made.grad = fn(p.grad).requires_grad_(p.grad.requires_grad)
    return made


def _swapped(p, fn):
    """`p` itself, which has become what `fn` makes of it."""
    made, grad = fn(p), p.grad
    if made is p:
        return p
    if grad is not None:
        new = fn(grad)
        if new is not grad:
            swap_tensors(grad, new)
    become(p, made)
    p.grad = grad
    return p


def become(p, made):
    """Let a parameter or buffer be what another tensor is; it stays a parameter."""
    if isinstance(p, Parameter) and not isinstance(made, Parameter):
        made = Parameter(made, p.requires_grad)
    swap_tensors(p, made)


def load(mine, loaded, assign):
    """Assign a loaded tensor to a parameter or buffer, converted by `module_load`."""
    made = mine.module_load(loaded, assign=assign)
    if made is mine or made is loaded:
        raise RuntimeError("module_load must return a tensor of its own: detach() what it returns")
    grad = mine.grad
    become(mine, made)
    mine.grad = grad
