"""`functionalize`, and what a tensor of a transform stands for."""
import functools

from ..autograd.levels import LevelTensor


def functionalize(func, *, remove="mutations"):
    """A function that means the same as `func`, and may be recorded without writes in place.

    In whet that is so of every function. What it computes does not depend on whether an
    intermediate is written to, and the graph that a trace runs has new values in the place of
    writes to intermediates. So the function is called as it is, and writes to its arguments are
    seen by its caller. `remove` is "mutations" or "mutations_and_views".

    >>> import whet
    >>> f = whet.func.functionalize(lambda x: x.clone().add_(1))
    >>> f(whet.zeros(2))
    tensor([1., 1.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            "functionalize(f, remove='mutations'): valid options for inplace are 'mutations' and "
            f"'mutations_and_views', got {remove!r}")

    @functools.wraps(func)
    def same(*args, **kwargs):
        return func(*args, **kwargs)
    return same


def debug_unwrap(tensor, *, recurse=True):
    """The tensor that one of a transform stands for, to look at in a debugger: all examples of a
    batch, say. With `recurse=False` one transform is looked through.

    >>> import whet
    >>> seen = []
    >>> _ = whet.vmap(lambda x: seen.append(whet.func.debug_unwrap(x)) or x)(whet.arange(2))
    >>> seen
    [tensor([0, 1])]
    """
    while isinstance(tensor, LevelTensor):
        tensor = getattr(tensor, "value")
        if not recurse:
            break
    return tensor
