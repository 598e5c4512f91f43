"""Sparse gradients of parameters: an update of the rows (or, where each dimension is sparse, the
elements) that they have, by the same formula.

That is the same update where the formula leaves an element alone whose gradient is zero. The
formula is asked: of `Adam` moments decay at every step, so it does not.
"""
import functools

import numpy as np
from whet.ir import scalar as S

from ..composite import Composite


def is_sparse(g):
    """Is a gradient a sparse tensor?"""
    return issubclass(type(g), Composite)


@functools.lru_cache(256)
def leaves_alone(cls, kind):
    """Does a formula leave an element, and its states, as they are where its gradient is zero?"""
    try:
        numbers = cls.numbers(S, kind, *(S.arg(i) for i in range(_hypers(cls))))
    except TypeError:
        return False
    states = len(cls.states(kind))
    p, g, *rest = (S.arg(i) for i in range(2 + states + len(numbers)))
    made = cls.elements(S, kind, p, g, rest[:states], rest[states:])
    row = [np.float64(x) for x in (1.25, 0, *[2.5] * states, *[0.75] * len(numbers))]
    found = S.evaluate(tuple(map(S.lift, made)), row, np.dtype)
    return [float(x) for x in found] == [1.25, *[2.5] * states]


def _hypers(cls):
    code = cls.numbers.__code__
    return code.co_argcount - 2


def refused(optimizer):
    """The error of an optimizer that needs dense gradients."""
    name = type(optimizer).__name__
    more = ", please consider SparseAdam instead" if name in ("Adam", "AdamW") else ""
    return RuntimeError(f"{name} does not support sparse gradients{more}")


def update_rows(form, p, states, numbers, g):
    """The new rows of a parameter and of its states, put where they were."""
    g = g.coalesce()
    at, held = tuple(g.indices()), [p, *states]
    values = [x[at] for x in held]
    made = form.update(values[0], g.values(), values[1:], numbers)
    for t, x in zip(held, made):
        t[at] = x
