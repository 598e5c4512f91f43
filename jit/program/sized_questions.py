"""Questions about values whose conditions depend on sizes, such as whether an index is within
bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.ir.expressions import Expr, arg
from whet.ir.outline import Outline, numeral
from whet.ir.symbolic_size import Unsized
from whet.passes.compare_nodes import Likeness, likeness

if TYPE_CHECKING:
    from whet.ir.graph import Ask
    from whet.ir.symbolic_size import Size

    from .size_expressions import SizeExpressions


class _Facts:
    """What is asked about the elements of `x`. Numbers that depend on sizes become operands after
    it."""

    def __init__(self, x: Outline, sizes: SizeExpressions) -> None:
        self.x, self.sizes = x, sizes
        self.numbers: list[Size] = []

    def of(self, a: Expr, b: Expr) -> Expr:
        """A fact, which is `a` in one list and `b` in the other."""
        if a is b:
            return a
        if a.op != b.op or len(a.args) != len(b.args):
            raise Unsized("what is asked is another thing")
        if a.op == "const" and type(a.value) is type(b.value) is int:
            self.numbers.append(self.sizes.natural(a.value, b.value, [self.x.shape]))
            return arg(len(self.numbers))
        if not a.args or a.value != b.value:
            raise Unsized("what is asked depends on more than sizes")
        return Expr(a.op, tuple(map(self.of, a.args, b.args)), a.value)

    def operands(self) -> list[Outline]:
        """The numbers."""
        if self.x.dtype.kind not in "iu" or self.x.itemsize < 4:
            raise Unsized("numbers of sizes are compared with short ones")
        made = [numeral(n, self.x.dtype) for n in self.numbers]
        return [n for n in made if type(n) is Outline]


def resized(node: Ask, other: Ask, x: Outline, sizes: SizeExpressions) -> Ask:
    """A question about `x` at symbolic sizes: `node` and `other` are the question in the two
    lists."""
    if likeness(node, other) is Likeness.SAME:
        return node
    if not node.asks or not other.asks or len(node.asks) != len(other.asks):
        raise Unsized("a question depends on sizes")
    facts = _Facts(x, sizes)
    asks = [(facts.of(a, b), answer) for (a, answer), (b, _) in zip(node.asks, other.asks)]
    made = node.of((*node.ins, *facts.operands()))
    made.asks = asks
    return made
