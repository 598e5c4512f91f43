"""`batch`: a function of one example, for many that differ in structure."""
from functools import wraps

from .pending import PendingLevel
from .trees import like, tensors


def batch(func):
    """A function of many examples: `func` of each, where equal ops are run at once.

    `batch(func)(examples, *shared, **kwargs)` gives the list of `func(example, *shared, **kwargs)`.
    What the function does may follow the example: a tree, a graph, a sentence.

    >>> import whet
    >>> def total(tree):
    ...     return tree if whet.is_tensor(tree) else whet.tanh(total(tree[0]) + total(tree[1]))
    >>> a, b = whet.tensor(0.5), whet.tensor(-0.5)
    >>> whet.func.batch(total)([(a, b), ((a, a), b), b])
    [tensor(0.), tensor(0.2552), tensor(-0.5000)]
    """
    @wraps(func)
    def over(examples, *shared, **kwargs):
        with PendingLevel() as level:
            made = [func(example, *shared, **kwargs) for example in examples]
            found = [tensors(result) for result in made]
            ours = [t for ts in found for t in ts if level.owns(t)]
            results = [level.current(t) for t in ours]
            level.let_go()
            known = dict(zip(map(id, ours), level.tensors_of(results)))
            return [like(result, [known.get(id(t), t) for t in ts])
                    for result, ts in zip(made, found)]
    return over
