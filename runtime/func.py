"""Functions that make functions: `whet.func`."""
from functools import wraps

from .autograd.modes import enable_grad
from .nn.utils.stateless import functional_call
from .tensor import Tensor

__all__ = ["functional_call", "grad", "grad_and_value"]


def _map(f, value):
    """The value with f(tensor) for each tensor in it; tuples, lists and dicts are gone through."""
    if isinstance(value, Tensor):
        return f(value)
    if isinstance(value, dict):
        return type(value)((k, _map(f, x)) for k, x in value.items())
    if isinstance(value, tuple | list):
        parts = [_map(f, x) for x in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def _tensors(value):
    found: list = []
    _map(found.append, value)
    return found


def _fresh(t):
    """A tensor to be differentiated by: over the same memory, and a function of `t` where that has a history."""
    if t.dtype.kind < 2:
        raise RuntimeError(f"grad: only Tensors of floating point and complex dtype can be differentiated, got {t.dtype}")
    return t.view_as(t) if t.requires_grad else t.detach().requires_grad_()


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that computes (gradient, value): the gradient of `func`, which returns one number, for its argument(s) `argnums`."""
    from .autograd import engine

    @wraps(func)
    def compute(*args, **kwargs):
        which = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        recorded = any(t.requires_grad for t in _tensors((args, kwargs)))          # differentiated again, by whoever calls
        with enable_grad():
            args = list(args)
            for i in which:
                args[i] = _map(_fresh, args[i])
            value = func(*args, **kwargs)
            value, aux = value if has_aux else (value, None)
            if not isinstance(value, Tensor):
                raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a tensor, got {type(value)}")
            if value.ndim:
                raise RuntimeError("grad_and_value(f)(*args): Expected f(*args) to return a scalar tensor, got tensor with "
                                   f"{value.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?")
            by = [args[i] for i in which]
            found = _tensors(by)
            gs = engine.grad(value, found, create_graph=recorded, allow_unused=True, materialize_grads=True) if value.requires_grad else \
                [t.new_zeros(t.shape) for t in found]
        in_order = iter(gs)
        result = _map(lambda _: next(in_order), by[0] if isinstance(argnums, int) else tuple(by))
        value = value if recorded else value.detach()
        return (result, (value, aux)) if has_aux else (result, value)
    return compute


def grad(func, argnums=0, has_aux=False):
    """A function that computes the gradient of `func`, which returns one number, for its argument(s) `argnums`.

    >>> import whet
    >>> slope = whet.func.grad(lambda x: x ** 3)
    >>> slope(whet.tensor(2.0)), whet.func.grad(slope)(whet.tensor(2.0))
    (tensor(12.), tensor(12.))
    """
    @wraps(func)
    def compute(*args, **kwargs):
        result, value = grad_and_value(func, argnums, has_aux)(*args, **kwargs)
        return (result, value[1]) if has_aux else result
    return compute
