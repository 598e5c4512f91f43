"""`whet.compile`, under the name and with the options that PyTorch programs use: a door to
`whet.jit.trace`."""
from .autograd import modes

__all__ = ["compile", "disable", "is_compiling", "reset"]


def compile(model=None, *, fullgraph=False, dynamic=None, backend="inductor", mode=None,
            options=None, disable=False):
    """`whet.jit.trace` of a function or module. `fullgraph=True` is its `strict=True`; `backend`,
    `mode`, `dynamic` and `options` change nothing: there is one compiler, and shapes are recorded
    as they come.

    >>> import whet
    >>> @whet.compile
    ... def f(x):
    ...     return x.sin() + 1
    >>> f(whet.zeros(2))
    tensor([1., 1.])
    """
    from . import jit
    if model is None:
        return lambda fn: compile(fn, fullgraph=fullgraph, dynamic=dynamic, backend=backend,
                                  mode=mode, options=options, disable=disable)
    return model if disable else jit.trace(model, strict=bool(fullgraph))


def is_compiling():
    """Is this run being recorded?"""
    return any(o.records for o in modes.state.observers)


def disable(fn=None, recursive=True, *, reason=None):
    """A function that is not recorded: here any may be, so it is the function itself."""
    return fn if fn is not None else lambda f: f


def reset():
    """Forget what was compiled: recordings go with their functions, so there is nothing to do."""


def _assert(condition, message):
    """`assert`, as programs write it where PyTorch's tracer is to see it."""
    if not condition:
        raise AssertionError(message)
