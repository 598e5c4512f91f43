"""What kernels ask in the place of a question, in an archive: expressions, and whether each was
true of any element.

An expression is its operations in order, operands first: `["x", 0, "lt", "x", 12, "ge", "or"]` is
or(lt(x, 0), ge(x, 12)). Only comparisons and what combines them are written; a question with others
has no facts in the file, and is asked in Python.
"""

from __future__ import annotations

from typing import Any

from whet.dtypes import FROM_NUMPY
from whet.ir import expressions as E
from whet.ir import scalar as S
from whet.ir.graph import Ask, Graph

ONE = {"isnan", "isinf", "isfinite", "signbit", "not"}  # operand
TWO = {"lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor"}
X = "x"  # an element of what is asked of


def said_facts(g: Graph) -> list[Any]:
    """The facts of each question in a graph, as plain data."""
    return [facts_as_data(n) for n in g.nodes if isinstance(n, Ask)]


def facts_as_data(n: Ask) -> Any:
    """A question's facts; None where they cannot be written, or there are none."""
    facts = [(postfix(fact), answer) for fact, answer in n.asks or ()]
    return None if not facts or any(words is None for words, _ in facts) else facts


def postfix(root: Any) -> list[Any] | None:
    """An expression as a list; None where it has operations of other kinds."""
    out: list[Any] = []
    stack: list[Any] = [root]
    while stack:
        e = stack.pop()
        if isinstance(e, str):
            out.append(e)
        elif e.op == "arg" and e.value == 0:
            out.append(X)
        elif e.op == "const" and type(e.value) in (bool, int, float):
            out.append(e.value)
        elif e.op in ONE | TWO:
            stack += [e.op, *reversed(e.args)]
        else:
            return None
    return out


def give_facts(g: Graph, found: Any) -> None:
    """Give the questions of a graph the facts that an archive has for them. Raises ValueError for
    what are none."""
    asks = [n for n in g.nodes if isinstance(n, Ask)]
    if found is None:  # an archive of an earlier whet
        return
    if not isinstance(found, list) or len(found) != len(asks):
        raise ValueError("there is not one list of facts for each question")
    for n, facts in zip(asks, found):
        if facts is not None:
            n.asks = [(read(words, g.types[n.ins[0]].dtype), yes(answer))
                      for words, answer in facts]


def yes(answer: Any) -> bool:
    """An answer."""
    if type(answer) is not bool:
        raise ValueError("an answer is true or false")
    return answer


def read(words: Any, dtype: Any) -> Any:
    """The expression of a list."""
    stack: list[Any] = []
    for w in words:
        if w == X:
            stack.append(E.arg(0))
        elif type(w) in (bool, int, float):
            stack.append(E.const(w))
        elif isinstance(w, str) and w in ONE | TWO:
            n = 1 if w in ONE else 2
            if len(stack) < n:
                raise ValueError(f"{w} lacks an operand")
            stack[-n:] = [E.make(w, *stack[-n:])]
        else:
            raise ValueError(f"{w!r} is no part of a fact")
    if len(stack) != 1 or S.typeof(stack[0], [FROM_NUMPY[dtype].short]) != "bool":
        raise ValueError("a fact is one expression that is true or false")
    return stack[0]
