"""`batch`: a function of one example, for many that differ in structure."""
import gc
from contextlib import contextmanager
from functools import wraps

from .deferred_ops import PendingLevel
from .trees import like, tensors


def batch(func):
    """A function of many examples: `func` of each, where equal ops of all are run at once.

    `batch(func)(examples, *shared, **kwargs)` is the list of `func(example, *shared, **kwargs)`,
    with gradients to whatever requires them. What the function does may follow the example: a
    tree, a graph, a sentence. Results are what the loop gives but for rounding, since the product
    of many rows adds up in another order than that of one.

    >>> import whet
    >>> def total(tree):
    ...     return tree if whet.is_tensor(tree) else whet.tanh(total(tree[0]) + total(tree[1]))
    >>> a, b = whet.tensor(0.5), whet.tensor(-0.5)
    >>> whet.func.batch(total)([(a, b), ((a, a), b), b])
    [tensor(0.), tensor(0.2558), tensor(-0.5000)]

    Ops are noted, and run when the function has returned for all examples, or when Python asks for
    numbers (`item`, `bool`, `tolist`): examples that come later are not among those groups. Errors
    that numbers are the reason of are raised then, too. Writes in place give what they give in the
    loop. Random numbers are drawn for each example in turn. `autograd.Function` and ops whose
    results have other shapes for other numbers run for each example.

    A result may require grad where that of the loop does not, and have a gradient of zeros: it
    goes by all of its group. Results may be views of common memory: `clone` what is written to.

    To note an op takes some microseconds. `func.cell` makes one of many.
    """
    @wraps(func)
    def over(examples, *shared, **kwargs):
        with _no_collections(), PendingLevel() as level:
            made = [func(example, *shared, **kwargs) for example in examples]
            found = [tensors(result) for result in made]
            ours = [t for ts in found for t in ts if level.owns(t)]
            results = [level.current(t) for t in ours]
            level.let_go()
            known = dict(zip(map(id, ours), level.tensors_of(results)))
            return [like(result, [known.get(id(t), t) for t in ts])
                    for result, ts in zip(made, found)]
    return over


@contextmanager
def _no_collections():
    """Python's search for cycles waits. It would go through all that is noted again and again,
    which took 40 % of the time of a tree-LSTM."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
