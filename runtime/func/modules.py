"""Modules as functions of their parameters."""
from ..nn.utils import stateless


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *,
                    tie_weights=True, strict=False):
    """`module(*args, **kwargs)` with the given tensors, by name, in place of its parameters and
    buffers. Of several dicts it is all that they have.

    >>> import whet
    >>> layer = whet.nn.Linear(2, 1, bias=False)
    >>> whet.func.functional_call(layer, {"weight": whet.ones(1, 2)}, whet.ones(2))
    tensor([2.])
    """
    return stateless.functional_call(module, parameter_and_buffer_dicts, args, kwargs,
                                     tie_weights=tie_weights, strict=strict)


def stack_module_state(models):
    """(parameters, buffers) of modules that are built alike, each stacked over the modules: for
    `vmap` over an ensemble.

    >>> import whet
    >>> from whet import nn
    >>> from whet import nn
    >>> params, buffers = whet.func.stack_module_state([nn.Linear(3, 2) for _ in range(4)])
    >>> params["weight"].shape
    whet.Size([4, 2, 3])
    """
    from ..ops import stack
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )

    def together(states):
        return {
            k: stack([s[k] for s in states]).detach().requires_grad_(states[0][k].requires_grad)
            for k in states[0]
        }
    return together([dict(m.named_parameters()) for m in models]), together(
        [dict(m.named_buffers()) for m in models]
    )


def replace_all_batch_norm_modules_(root):
    """Let the batch norms of a module, and it itself, keep no statistics: they write to none
    where they run beneath `vmap`. Returns the module.

    >>> import whet
    >>> whet.func.replace_all_batch_norm_modules_(whet.nn.BatchNorm1d(2)).running_mean is None
    True
    """
    from ..nn.norm import _BatchNorm
    for m in root.modules():
        if isinstance(m, _BatchNorm):
            m.running_mean = m.running_var = m.num_batches_tracked = None
            m.track_running_stats = False
    return root
