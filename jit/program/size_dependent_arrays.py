"""The arrays that belong to a program for certain sizes.

A constant may depend on sizes, such as a causal mask, or one divided by a number of elements. Eager
mode computes it from sizes alone, so the same ops compute it when the program for new sizes is
made. Random draws need counters, one for each block of a draw, and a place for each draw's position
in its stream."""

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

from .numbers_from_sizes import OPERATORS
from .random_draws import Draws
from .size_expressions import equal, same_number

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
    """The stand-in for the array with this number among a program's own arrays."""
    __slots__ = ("which",)

    def __init__(self, which: int) -> None:
        self.which = which


class Address:
    """A word of a list: the address of one of these arrays, plus an offset in bytes."""
    __slots__ = ("which", "offset")

    def __init__(self, which: int, offset: Size) -> None:
        self.which, self.offset = which, offset


# ---- how one is made ----------------------------------------------------------------------------
class Constant(NamedTuple):
    """A constant that depends on sizes. `outline` is the layout that it must have."""

    value: int
    outline: Outline

    def make(self, at: Mapping[str, Any], constants: Mapping[int, Array]) -> Array | None:
        """Compute the array; None if its layout is not the planned one."""
        a, t = constants[self.value], self.outline
        is_planned = a.shape == filled(t.shape, at) and a.strides == filled(t.strides, at)
        return a if is_planned and a.dtype == t.dtype else None


class Counters(NamedTuple):
    """0, 1, ...: one counter for each block of a draw."""

    draw: Any  # how its random numbers are made, see `ir/op.py`
    count: Size  # type: ignore[assignment]  # tuples have a method of this name

    def make(self, at: Mapping[str, Any], constants: Mapping[int, Array]) -> Array:
        """Make the array."""
        made: Array = self.draw.counters(filled(self.count, at))
        return made


class Positions(NamedTuple):
    """The seed and the position of each draw; a call writes them."""

    draws: int

    def make(self, at: Mapping[str, Any], constants: Mapping[int, Array]) -> Array:
        """Make the array."""
        return np.zeros((self.draws, 2), np.uint64)


# ---- all of a program ---------------------------------------------------------------------------
class OwnArrays:
    """The arrays of a program that depend on sizes. `values`: values that depend on sizes alone and
    that nothing writes to. `nodes` and `others`: the two lists that were recorded."""

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
        """Does a value depend on anything that differs at the second sizes?"""
        node, other = self.known[n], self.others[n]
        pairs = zip(node.ins, other.ins, strict=True)
        if any(type(x) is not Ref and not same_number(x, y) for x, y in pairs):
            return True
        if (not all(equal(x, other.attrs[k]) for k, x in node.attrs.items())
                or expressions_in(list(self.sizes.read_numbers.attributes(node).values()), {})):
            return True
        return any(map(self.differ, node.refs()))

    def add(self, maker: Constant | Counters | Positions, shape: Sequence[Size],
            dtype: type[Any] | np.dtype[Any], strides: Sequence[Size] | None = None) -> Outline:
        """Add an array; returns the outline that stands for it."""
        room = Room(None, OwnArray(len(self.makers)))
        self.makers.append(maker)
        return Outline(shape, dtype, strides, room)

    def constant(self, n: int, types: Mapping[int, Outline]) -> Outline:
        """The outline that stands for a constant, whose type is in `types`."""
        self.compute(n, types)
        t = types[n]
        expressions_in([t.shape, t.strides], self.texts)
        return self.add(Constant(n, t), t.shape, t.dtype, t.strides)

    def compute(self, n: int, types: Mapping[int, Outline]) -> None:
        """Note how a value is computed."""
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
        """Compare two constants whenever they are made."""
        self.compute(a, types)
        self.compute(b, types)
        self.merged.append((a, b))

    def guard(self, guard: Guard, types: Mapping[int, Outline]) -> None:
        """Check a constant that Python continued from whenever it is made."""
        n = int(guard.refs()[0])
        self.compute(n, types)
        self.guards.append((n, guard.expected))

    def settled(self) -> OwnArrays:
        """A copy of these that later additions do not change."""
        made = copy.copy(self)
        made.steps, made.makers, made.texts = [*self.steps], [*self.makers], dict(self.texts)
        made.merged, made.guards = [*self.merged], [*self.guards]
        return made

    def number(self, maker: Constant | Counters | Positions) -> Quantity | None:
        """An own array as an expression of 64-bit floats; None if it is not a single such number. A
        number of a shorter type is a 64-bit one that was rounded."""
        if type(maker) is not Constant or maker.outline.shape:
            return None
        try:
            if maker.outline.dtype == np.float32:
                return self.short_number(maker.value)
            whole = maker.outline.dtype in (np.int64, np.float64)
            return self.sizes.read_numbers[maker.value] if whole else None
        except Unsized:
            return None

    def short_number(self, n: int) -> Quantity | None:
        """A 32-bit float as an expression: a rounded 64-bit number, or the result of an op on two
        such floats. The op is exact in 64 bits up to the final rounding."""
        node = self.known[n]
        if node.op is CASTS[float32]:
            return self.sizes.read_numbers[int(node.ins[0])]
        operands = next((ins for _, ins, attrs, outs in self.steps if n in outs and not attrs), ())
        exact = [self.exact(x) for x in operands]
        if node.op is None or node.op.name not in SHORT_OPS or None in exact:
            return None
        made: Quantity = OPERATORS[node.op.name](*exact)
        return made * 1.0

    def exact(self, x: Any) -> Quantity | None:
        """An operand as a number, if a 32-bit float represents it exactly; else None."""
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
        """The counters for a draw of n numbers."""
        expressions_in([n], self.texts)
        return self.add(Counters(draw, n), (-(-n // draw.per),), np.uint64)

    @property
    def expressions(self) -> list[Symbolic]:
        """The expressions whose values `arrays` needs."""
        return list(self.texts.values())

    def arrays(self, values: Iterable[Any]) -> list[Array] | None:
        """The arrays for these values of the expressions. None if a layout differs from the plan,
        they are too large to keep, merged constants differ, or Python would take another way."""
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
    """The draws of a program whose sizes are symbols; the counterpart of `Draws`."""

    def __init__(self, like: Draws, nodes: Iterable[Node], own: OwnArrays) -> None:
        if like.ends or not all(type(g) is Generator for g, *_ in like.streams):
            raise Unsized("random numbers are drawn from where the call puts a generator")
        self.nodes, self.own = [n for n in nodes if isinstance(n, Draw)], own
        self.seats = {id(n): i for i, n in enumerate(self.nodes)}
        self.outs = [n.outs[0] for n in self.nodes]
        self.which = len(own.makers)
        self.numbers = own.add(Positions(len(self.nodes)), (len(self.nodes), 2), np.uint64)

    def of(self, node: Node) -> Outline:
        """The seed and the position of a draw."""
        return self.numbers[self.outs.index(node.outs[0])]

    def counters(self, draw: Any, n: Size) -> Any:
        """The counters that a draw's kernel reads."""
        return self.own.counters(draw, n) if type(n) is SymbolicSize else draw.counters(n)

    def at(self, own: Sequence[Array], arrays: Sequence[Any]) -> Draws:
        """The draws of the program for certain sizes, which has these own arrays."""
        nodes = []
        for node in self.nodes:
            made = node.like()
            made.attrs = {**node.attrs, "shape": arrays[node.outs[0]].shape}
            nodes.append(made)
        return Draws(nodes, (), own[self.which])


# ---- expressions --------------------------------------------------------------------------------
def expressions_in(x: Any, known: dict[str, Symbolic]) -> dict[str, Symbolic]:
    """Collect the expressions in something into `known`, by their texts; returns it."""
    if type(x) in SYMBOLIC:
        known[text(x)] = x
    elif type(x) is Outline and type(x.room.owner) is Numeral:
        expressions_in(x.room.owner.number, known)
    elif type(x) in (tuple, list):
        for y in x:
            expressions_in(y, known)
    return known


def filled(x: Any, at: Mapping[str, Any]) -> Any:
    """Replace the expressions in something by their values."""
    if type(x) in SYMBOLIC:
        return at[text(x)]
    if type(x) is Outline and type(x.room.owner) is Numeral:
        return np.asarray(filled(x.room.owner.number, at), x.dtype)
    if type(x) in (tuple, list):
        return type(x)([filled(y, at) for y in x])
    return x
