"""The arrays that each program for certain sizes has for itself.

Constants may go by sizes, such as a causal mask, or one divided by a number of elements. Eager
mode computes them of nothing but sizes, so they are computed by the very ops when the program for
new sizes is made. Random numbers want counters, as many as a draw has blocks, and a place where
each draw is told where its stream is.
"""

from __future__ import annotations

import copy
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from whet.dtypes import float32
from whet.ir.graph import Draw, Ref
from whet.ir.outline import Numeral, Outline, Room
from whet.ir.symbolic_size import SYMBOLIC, Symbolic, SymbolicSize, Unsized, text
from whet.ops.casting import CASTS
from whet.passes.fold_constants import content
from whet.random import Generator

from .random_draws import Draws
from .size_expressions import equal, same_number
from .told_numbers import OPERATORS

if TYPE_CHECKING:
    from whet.ir.graph import Guard, Node
    from whet.ir.op import Op
    from whet.ir.outline import Array
    from whet.ir.symbolic_size import Quantity, Size

    from .size_expressions import SizeExpressions

LARGEST = 1 << 24  # bytes of the constants of a program
EXACT = 1 << 24  # whole numbers up to this are floats of 32 bits
SMALL = 2.0**-100  # divided by these, others give floats that have fewer bits
# what these give for two floats of 32 bits is, computed with 64 and made short, what 32 bits give
SHORT_OPS = "add", "sub", "mul", "div"


class OwnArray:
    """What stands for the memory of the array with this number among a program's own."""
    __slots__ = ("which",)

    def __init__(self, which: int) -> None:
        self.which = which


class Address:
    """A word of a list: so many bytes from where an own array begins."""
    __slots__ = ("which", "offset")

    def __init__(self, which: int, offset: Size) -> None:
        self.which, self.offset = which, offset


# ---- how one is made ----------------------------------------------------------------------------
class Constant(NamedTuple):
    """A constant that goes by sizes; `outline` says how it must lie."""

    value: int
    outline: Outline

    def make(self, at: Mapping[str, Any], constants: Mapping[int, Array]) -> Array | None:
        """The array; None where it lies otherwise than it was planned."""
        a, t = constants[self.value], self.outline
        lies = a.shape == filled(t.shape, at) and a.strides == filled(t.strides, at)
        return a if lies and a.dtype == t.dtype else None


class Counters(NamedTuple):
    """0, 1, ... for each block of a draw of so many numbers."""

    draw: Any  # how its random numbers are made, see `ir/op.py`
    count: Size  # type: ignore[assignment]  # tuples have a method of this name

    def make(self, at: Mapping[str, Any], constants: Mapping[int, Array]) -> Array:
        """The array."""
        made: Array = self.draw.counters(filled(self.count, at))
        return made


class Positions(NamedTuple):
    """The seed and the position of each draw, which a call writes."""

    draws: int

    def make(self, at: Mapping[str, Any], constants: Mapping[int, Array]) -> Array:
        """The array."""
        return np.zeros((self.draws, 2), np.uint64)


# ---- all of a program ---------------------------------------------------------------------------
class OwnArrays:
    """`values`: those that depend on sizes alone, and that nobody writes to; `nodes` and `others`:
    the two lists that were recorded."""

    def __init__(self, values: Container[int], nodes: Sequence[Node], others: Sequence[Node],
                 sizes: SizeExpressions) -> None:
        self.known, self.others = (
            {o: m for m in recorded for o in m.outs if o in values} for recorded in (nodes, others)
        )
        self.sizes = sizes
        # how constants are computed: (op, operands, attributes, results)
        self.steps: list[tuple[Op, list[Any], Mapping[str, Any], Sequence[int]]] = []
        self.computed: set[int] = set()
        self.makers: list[Constant | Counters | Positions] = []
        self.merged: list[tuple[int, int]] = []  # constants of which one stands for both
        self.guards: list[tuple[int, Array]] = []  # constants, and what Python found them to be
        self.texts: dict[str, Symbolic] = {}  # of an expression -> the expression

    def __contains__(self, n: int) -> bool:
        return n in self.known and n in self.others

    def differ(self, n: int) -> bool:
        """Is anything that a value is made of another of the second sizes?"""
        node, other = self.known[n], self.others[n]
        pairs = zip(node.ins, other.ins, strict=True)
        if any(type(x) is not Ref and not same_number(x, y) for x, y in pairs):
            return True
        if (not all(equal(x, other.attrs[k]) for k, x in node.attrs.items())
                or expressions_in(list(self.sizes.told.attributes(node).values()), {})):
            return True
        return any(map(self.differ, node.refs()))

    def add(self, maker: Constant | Counters | Positions, shape: Sequence[Size],
            dtype: type[Any] | np.dtype[Any], strides: Sequence[Size] | None = None) -> Outline:
        """An outline that stands for one more array."""
        room = Room(None, OwnArray(len(self.makers)))
        self.makers.append(maker)
        return Outline(shape, dtype, strides, room)

    def constant(self, n: int, types: Mapping[int, Outline]) -> Outline:
        """What stands for a constant: its type is in `types`."""
        self.compute(n, types)
        t = types[n]
        expressions_in([t.shape, t.strides], self.texts)
        return self.add(Constant(n, t), t.shape, t.dtype, t.strides)

    def compute(self, n: int, types: Mapping[int, Outline]) -> None:
        """Note how a value is made."""
        if n in self.computed:
            return
        node, other = self.known[n], self.others[n]
        for x in node.refs():
            self.compute(x, types)
        shapes = [types[x].shape for x in node.refs()]
        ins = [x if type(x) is Ref or same_number(x, y) else self.sizes.number(x, y, shapes)
               for x, y in zip(node.ins, other.ins, strict=True)]
        attrs = self.sizes.attributes(node, other, [types[x] for x in node.refs()])
        expressions_in([ins, *attrs.values()], self.texts)
        assert node.op is not None
        self.computed.update(node.outs)
        self.steps.append((node.op, ins, attrs, node.outs))

    def be_equal(self, a: int, b: int, types: Mapping[int, Outline]) -> None:
        """Let two constants be compared wherever they are made."""
        self.compute(a, types)
        self.compute(b, types)
        self.merged.append((a, b))

    def guard(self, guard: Guard, types: Mapping[int, Outline]) -> None:
        """Let a constant that Python went on from be looked at wherever it is made."""
        n = int(guard.refs()[0])
        self.compute(n, types)
        self.guards.append((n, guard.expected))

    def settled(self) -> OwnArrays:
        """These as they are now, whatever is added later."""
        made = copy.copy(self)
        made.steps, made.makers, made.texts = [*self.steps], [*self.makers], dict(self.texts)
        made.merged, made.guards = [*self.merged], [*self.guards]
        return made

    def number(self, maker: Constant | Counters | Positions) -> Quantity | None:
        """What is made, as an expression of Python's floats of 64 bits; None where it is no single
        number of these. A shorter one is a number that is made short."""
        if type(maker) is not Constant or maker.outline.shape:
            return None
        try:
            if maker.outline.dtype == np.float32:
                return self.short_number(maker.value)
            whole = maker.outline.dtype in (np.int64, np.float64)
            return self.sizes.told[maker.value] if whole else None
        except Unsized:
            return None

    def short_number(self, n: int) -> Quantity | None:
        """The same of a float of 32 bits: one that is made short, or what ops on two such floats
        give, which is exact but for that."""
        node = self.known[n]
        if node.op is CASTS[float32]:
            return self.sizes.told[int(node.ins[0])]
        operands = next((ins for _, ins, attrs, outs in self.steps if n in outs and not attrs), ())
        exact = [self.exact(x) for x in operands]
        if node.op is None or node.op.name not in SHORT_OPS or None in exact:
            return None
        made: Quantity = OPERATORS[node.op.name](*exact)
        return made * 1.0

    def exact(self, x: Any) -> Quantity | None:
        """An operand that floats of 32 bits have as it is, as a number; None for another."""
        if type(x) is Ref:
            if int(x) not in self.known or self.known[int(x)].ins or self.differ(int(x)):
                return None
            node = self.known[int(x)]
            assert node.op is not None
            x = node.op.forward(**node.attrs).item()
        if type(x) is SymbolicSize:
            return x if -EXACT <= x <= EXACT else None
        is_normal = type(x) in (int, float) and (not x or abs(x) >= SMALL)
        return x if is_normal and float(np.float32(x)) == x else None

    def counters(self, draw: Any, n: SymbolicSize) -> Outline:
        """Counters for a draw of n numbers."""
        expressions_in([n], self.texts)
        return self.add(Counters(draw, n), (-(-n // draw.per),), np.uint64)

    @property
    def expressions(self) -> list[Symbolic]:
        """What `arrays` wants to know."""
        return list(self.texts.values())

    def arrays(self, values: Iterable[Any]) -> list[Array] | None:
        """The arrays where the expressions have these values; None where one lies otherwise, they
        are too large to keep, one no longer stands for another, or Python would go another way."""
        at, total = dict(zip(self.texts, values, strict=True)), 0
        constants: dict[int, Array] = {}
        for op, ins, attrs, outs in self.steps:
            operands = [constants[x] if type(x) is Ref else filled(x, at) for x in ins]
            try:
                made = op.forward(*operands, **{k: filled(x, at) for k, x in attrs.items()})
            except (ArithmeticError, ValueError):    # Eager mode gets to that, and raises it.
                return None
            made = [np.asarray(a) for a in (made if type(made) is tuple else (made,))]
            total += sum(a.nbytes for a in made)
            if total > LARGEST:
                return None
            constants.update(zip(outs, made, strict=True))
        if any(content(constants[a]) != content(constants[b]) for a, b in self.merged):
            return None
        if any(content(constants[n]) != content(expected) for n, expected in self.guards):
            return None
        found = [maker.make(at, constants) for maker in self.makers]
        known = [a for a in found if a is not None]
        return known if len(known) == len(found) else None


class SizedDraws:
    """The draws of a program whose sizes are not known: as `Draws`, of outlines."""

    def __init__(self, like: Draws, nodes: Iterable[Node], own: OwnArrays) -> None:
        if like.ends or not all(type(g) is Generator for g, *_ in like.streams):
            raise Unsized("random numbers are drawn from where the call puts a generator")
        self.nodes, self.own = [n for n in nodes if isinstance(n, Draw)], own
        self.seats = {id(n): i for i, n in enumerate(self.nodes)}
        self.outs = [n.outs[0] for n in self.nodes]
        self.which = len(own.makers)
        self.numbers = own.add(Positions(len(self.nodes)), (len(self.nodes), 2), np.uint64)

    def of(self, node: Node) -> Outline:
        """The two numbers of a draw."""
        return self.numbers[self.outs.index(node.outs[0])]

    def counters(self, draw: Any, n: Size) -> Any:
        """What a kernel counts by."""
        return self.own.counters(draw, n) if type(n) is SymbolicSize else draw.counters(n)

    def at(self, own: Sequence[Array], arrays: Sequence[Any]) -> Draws:
        """The draws of a program for certain sizes, whose own arrays these are."""
        nodes = []
        for node in self.nodes:
            made = node.like()
            made.attrs = {**node.attrs, "shape": arrays[node.outs[0]].shape}
            nodes.append(made)
        draws = Draws(nodes, ())
        draws.numbers = own[self.which]
        return draws


# ---- expressions --------------------------------------------------------------------------------
def expressions_in(x: Any, known: dict[str, Symbolic]) -> dict[str, Symbolic]:
    """Put the expressions in something into `known`, by their texts; gives it back."""
    if type(x) in SYMBOLIC:
        known[text(x)] = x
    elif type(x) is Outline and type(x.room.owner) is Numeral:
        expressions_in(x.room.owner.number, known)
    elif type(x) in (tuple, list):
        for y in x:
            expressions_in(y, known)
    return known


def filled(x: Any, at: Mapping[str, Any]) -> Any:
    """Something with the numbers in the place of expressions."""
    if type(x) in SYMBOLIC:
        return at[text(x)]
    if type(x) is Outline and type(x.room.owner) is Numeral:
        return np.asarray(filled(x.room.owner.number, at), x.dtype)
    if type(x) in (tuple, list):
        return type(x)([filled(y, at) for y in x])
    return x
