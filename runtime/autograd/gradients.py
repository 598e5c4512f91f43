"""`whet.autograd.grad`: gradients as values, also for a batch of gradients of the outputs."""
from . import engine

__all__ = ["grad"]


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False,
         only_inputs=True, allow_unused=None, is_grads_batched=False, materialize_grads=False):
    """The gradients of the sum of the outputs with respect to each input, as a tuple.

    >>> import whet
    >>> x = whet.tensor(3.0, requires_grad=True)
    >>> whet.autograd.grad(x ** 2, x)
    (tensor(6.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False.")
    differentiate = _batched if is_grads_batched else _plain
    return differentiate(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused,
                         materialize_grads)


def _plain(outputs, inputs, grad_outputs, keep, create, allow_unused, materialize):
    """One backward. Zeros for what is not used may be differentiated where the gradients may."""
    allow_unused = materialize if allow_unused is None else allow_unused
    found = engine.grad(outputs, inputs, grad_outputs, keep, create, allow_unused)
    if not materialize:
        return found
    return tuple([engine.later.zeros_like(t, requires_grad=create) if g is None else g
                  for t, g in zip(engine.as_tuple(inputs), found)])


def _batched(outputs, inputs, grad_outputs, keep, create, allow_unused, materialize):
    """One backward for all rows of the batched grad_outputs."""
    from ..func import vmap
    gs = engine.as_tuple(grad_outputs)
    used: list[bool] = []

    def row(*some):
        in_order = iter(some)
        found = engine.grad(
            outputs, inputs, tuple([None if g is None else next(in_order) for g in gs]),
            keep, create, allow_unused, materialize)
        used[:] = [g is not None for g in found]
        return tuple([g for g in found if g is not None])
    found = iter(vmap(row)(*[g for g in gs if g is not None]))
    return tuple([next(found) if u else None for u in used])
