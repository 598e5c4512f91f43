"""What Python asks of a tensor's elements, as expressions that kernels can compute: see
`registry.ask`."""
import numpy as np

from ..ir import scalar

# Any Python number that a fact compares with means the same in these. Narrow integers are asked as
# wide ones for that reason.
FACTS = frozenset(np.dtype(t) for t in ("f2", "f4", "f8", "i8"))
WIDENED = frozenset(np.dtype(t) for t in ("i1", "i2", "i4", "u1", "u2", "u4"))
_wide = np.dtype("i8")


def asked(*facts):
    """Give a question its facts, as functions of an element (a scalar expression) and its dtype. A
    batch is asked as a whole: what follows where a fact is true of some element must be right for
    the examples of which it is not."""
    def expressions(a):
        x, dtype = scalar.arg(0), a.dtype
        if dtype in WIDENED:
            x, dtype = scalar.cast(x, "i64"), _wide
        return [scalar.lift(fact(x, dtype)) for fact in facts] if dtype in FACTS else ()

    def give(question):
        question.facts = expressions
        return question
    return give


def asked_of_all(question):
    """Mark a question whose answer for many elements is right for each of them, such as for the
    largest: a batch is asked as a whole."""
    question.serves_each = True
    return question
