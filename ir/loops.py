"""A loop as a node: the repeated steps of an unrolled loop, rolled up again
(`passes/roll_loops.py`).

    %9 = roll 9 times(%0, %1) : f32[4] {
      %20 = carried %0 %2 : f32[4]      what the body reads: `same`, `carried`, or `along`
      %2 = add(%20, 1.0) : f32[4]
      %2 last as %9                     what it gives: the last one, or all, `kept`
    }
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from .groups import block
from .memory_spans import seen
from .nodes import NOTHING, SHOWN, Diverged, Env, Node, Positions, Streams, Types
from .text_reader import Reader, made_types, operands
from .value_keys import value_key
from .value_text import Table, types_text
from .values import Array, Type

LARGEST = 1 << 20                # rounds, and steps of a body


@dataclass(frozen=True, slots=True)
class Same:
    """An input of the body: `value`, in all rounds."""
    value: int
    word: ClassVar[str] = "same"

    def numbered(self, new: Mapping[int, int]) -> Same:
        """This input, for a list of nodes in which values have other numbers."""
        return Same(new[self.value])

    def __str__(self) -> str:
        return f"same %{self.value}"

    @classmethod
    def parse(cls, reader: Reader) -> Same:
        return cls(int(reader.ref()))

    def in_round(self, r: int, t: Type, rounds: Rounds) -> Array:
        """The array of round r."""
        a: Array = rounds.env[self.value]
        return a


@dataclass(frozen=True, slots=True)
class Carried:
    """An input of the body: `value` in the first round, then `result` of the round before."""
    value: int
    result: int
    word: ClassVar[str] = "carried"

    def numbered(self, new: Mapping[int, int]) -> Carried:
        """This input, for a list of nodes in which values have other numbers."""
        return Carried(new[self.value], new[self.result])

    def __str__(self) -> str:
        return f"carried %{self.value} %{self.result}"

    @classmethod
    def parse(cls, reader: Reader) -> Carried:
        return cls(int(reader.ref()), int(reader.ref()))

    def in_round(self, r: int, t: Type, rounds: Rounds) -> Array:
        """The array of round r."""
        a: Array = rounds.before[self.result] if r else rounds.env[self.value]
        return a


@dataclass(frozen=True, slots=True)
class Along:
    """An input of a loop's body that moves through memory: in the first round it is `start` bytes
    behind `value`, and `step` bytes further in each later round."""
    value: int
    start: int
    step: int
    word: ClassVar[str] = "along"

    def numbered(self, new: Mapping[int, int]) -> Along:
        """This input, for a list of nodes in which values have other numbers."""
        return Along(new[self.value], self.start, self.step)

    def __str__(self) -> str:
        return f"along %{self.value} {self.start} {self.step}"

    @classmethod
    def parse(cls, reader: Reader) -> Along:
        return cls(int(reader.ref()), reader.integer(), reader.integer())

    def in_round(self, r: int, t: Type, rounds: Rounds) -> Array:
        """The array of round r."""
        return _part(rounds.begins[self.value], self.start + r * self.step, t)


@dataclass(frozen=True, slots=True)
class Last:
    """A result of the body. `value` is that of the last round; the others are dropped."""
    value: int
    word: ClassVar[str] = "last"

    def numbered(self, new: Mapping[int, int]) -> Last:
        """This result, for a list of nodes in which values have other numbers."""
        return Last(new[self.value])

    def __str__(self) -> str:
        return f"last as %{self.value}"

    @property
    def values(self) -> tuple[int, ...]:
        """The values that it becomes."""
        return (self.value,)

    @classmethod
    def parse(cls, reader: Reader, loop: Loop) -> Last:
        reader.take("as")
        return cls(int(reader.ref()))


@dataclass(frozen=True, slots=True)
class Stacked:
    """A result of the body that is kept of every round, as `values`. They lie in one piece of
    memory, which begins with the value `head`: before the first of them lie `at` others."""
    values: tuple[int, ...]
    head: int
    at: int
    word: ClassVar[str] = "kept"

    def numbered(self, new: Mapping[int, int]) -> Stacked:
        """This result, for a list of nodes in which values have other numbers."""
        return Stacked(tuple([new[v] for v in self.values]), new[self.head], self.at)

    def __str__(self) -> str:
        return f"kept in %{self.head} at {self.at} as {', '.join(f'%{v}' for v in self.values)}"

    @classmethod
    def parse(cls, reader: Reader, loop: Loop) -> Stacked:
        reader.take("in")
        head = int(reader.ref())
        reader.take("at")
        token = reader.next
        at = reader.integer()
        reader.take("as")
        values = tuple([int(x) for x in reader.listed(reader.ref)])
        if len(values) != loop.rounds or not 0 <= at < loop.several:
            reader.fail("a value of each round is kept, in turn", token)
        return cls(values, head, at)


BodyInput: TypeAlias = Same | Carried | Along
BodyResult: TypeAlias = Last | Stacked
INPUTS: dict[str, type[BodyInput]] = {kind.word: kind for kind in (Same, Carried, Along)}
RESULTS: dict[str, type[BodyResult]] = {kind.word: kind for kind in (Last, Stacked)}


@dataclass(slots=True)
class Rounds:
    """The running of a loop by the interpreter."""
    env: Env                         # the values outside of the loop
    begins: Mapping[int, Array]      # value -> the memory that inputs go along
    before: Env                      # the values of the round before


class Loop:
    """What is done. `body` are the nodes of the first round with names of their own for what comes
    from outside; `inputs`: name -> what it is; `results`: value of the first round -> what becomes
    of it, for all that the body makes for outside or the next round. `several`: steps that are
    alike in a body; what they keep lies in one piece of memory, in turn. `nodes`: those that it was
    made of; where they are not known, the body's in each round. `blocks`: values at the start of
    what an earlier loop keeps."""

    def __init__(self, rounds: int, several: int, body: list[Node],
                 inputs: dict[int, BodyInput], results: dict[int, BodyResult],
                 nodes: Sequence[Node] | None = None,
                 blocks: frozenset[int] = frozenset()) -> None:
        self.rounds, self.several, self.body, self.inputs = rounds, several, body, inputs
        self.results = results
        self.nodes = body * rounds if nodes is None else nodes
        self.blocks = blocks

    @property
    def values(self) -> list[int]:
        """The values that it names. Some have a meaning in the body only."""
        read = [int(x.value) for x in self.inputs.values()]
        return [*self.inputs, *read, *(v for m in self.body for v in m.values())]

    def numbered(self, new: Mapping[int, int]) -> Loop:
        """This loop, for a list of nodes in which values have other numbers."""
        return Loop(
            self.rounds, self.several, [m.numbered(new) for m in self.body],
            {new[name]: x.numbered(new) for name, x in self.inputs.items()},
            {new[first]: y.numbered(new) for first, y in self.results.items()},
            [m.numbered(new) for m in self.nodes], frozenset(new[v] for v in self.blocks))

    def facts(self) -> tuple[Any, ...]:
        """Everything that distinguishes this loop, in a form that can be compared."""
        return (self.rounds, self.several, tuple([m.facts() for m in self.body]),
                [*self.inputs.items()], [*self.results.items()])


class Roll(Node):
    """A body that is run round after round."""
    __slots__ = ("loop",)
    kind, what = "roll", "row kernel"

    def __init__(self, ins: tuple[Any, ...], outs: Sequence[int], line: str, loop: Loop) -> None:
        super().__init__(None, ins, NOTHING, outs, line)
        self.loop = loop

    @property
    def members(self) -> Sequence[Node]:     # type: ignore[override]
        return self.loop.nodes

    @property
    def value(self) -> Loop:
        return self.loop

    def of(self, ins: tuple[Any, ...]) -> Roll:
        return Roll(ins, self.outs, self.line, self.loop)

    def numbered(self, new: Mapping[int, int]) -> Roll:
        made = super().numbered(new)
        assert isinstance(made, Roll)
        made.loop = self.loop.numbered(new)
        return made

    def values(self) -> list[int]:
        return [*self.named(), *self.loop.values]

    def facts(self) -> tuple[Any, ...]:
        return self.kind, value_key(self.ins), tuple(self.outs), self.line, self.loop.facts()

    def detached(self, streams: Streams) -> Node:
        return Roll(self.ins, self.outs, self.line, self.loop)

    # ---- text
    def head(self, table: Table | None = None, most: int | None = None) -> str:
        by = f" by {self.loop.several}" if self.loop.several > 1 else ""
        return (
            f"{self.made(most)}roll {self.loop.rounds} "
            f"times{by}({', '.join(self.operands(table, most))})")

    def __str__(self) -> str:
        return self.head(most=SHOWN)

    def lines(self, types: Any = None, indent: str = "",
              table: Table | None = None) -> Iterator[str]:
        yield self.with_line(indent + self.head(table) + types_text(types, self.outs) + " {")
        for name, x in self.loop.inputs.items():
            yield f"{indent}  %{name} = {x}{types_text(types, [name])}"
        for m in self.loop.body:
            yield from m.lines(types, indent + "  ", table)
        for first, y in self.loop.results.items():
            yield f"{indent}  %{first} {y}"
        yield indent + "}"

    @classmethod
    def parse(cls, reader: Reader, outs: list[int], types: dict[int, Type], node: Any) -> Node:
        """The loop of some lines, after its results; `node` reads the lines in it."""
        reader.at += 1
        token = reader.next
        rounds = reader.integer()
        reader.take("times")
        several = reader.integer() if reader.skip("by", "name") else 1
        if not 0 < rounds < LARGEST or not 0 < several < LARGEST:
            reader.fail("a loop has a number of rounds", token)
        reader.take("(")
        ins, attrs = operands(reader)
        if attrs:
            reader.fail("a loop has no attributes")
        made_types(reader, outs, types)
        reader.take("{")
        line = reader.end_line()
        loop = Loop(rounds, several, [], {}, {}, ())
        reader.inside(lambda: block(reader, lambda: _line(reader, loop, types, node)), "groups")
        reader.end_line()
        if not loop.body:
            reader.fail("a loop without nodes")
        return cls(ins, outs, line, Loop(rounds, several, loop.body, loop.inputs, loop.results))

    # ---- checks
    def problem(self, known: set[int], types: Types, streams: int) -> str | None:
        missing = [x for x in self.refs() if x not in known]
        if missing:
            return f"{missing[0]!r} is used before it is made"
        inner: set[int] = set()              # a body knows its own names only
        wrong = self.wrong_inputs(known, inner, types) or self.wrong_body(inner, types, streams) \
            or self.wrong_results(inner, types)
        if wrong:
            return wrong
        again = [o for o in self.outs if o in known]
        if again:
            return f"%{again[0]} is made twice"
        known.update(self.outs)
        return None

    def wrong_inputs(self, known: set[int], inner: set[int], types: Types) -> str | None:
        """What is wrong with the body's inputs; adds their names to `inner`."""
        for name, x in self.loop.inputs.items():
            if x.value not in known:
                return f"%{x.value} is used before it is made"
            if name not in types or x.value not in types:
                return f"%{name} has no type"
            if not isinstance(x, Along) and not types[x.value].fits(types[name]):
                return f"%{name} is {types[name]}, not {types[x.value]} as %{x.value}"
            inner.add(name)
        return None

    def wrong_body(self, inner: set[int], types: Types, streams: int) -> str | None:
        """What is wrong with the body, and with the values that it carries."""
        for m in self.loop.body:
            problem = m.problem(inner, types, streams)
            if problem:
                return f"{problem} (in {m})"
        for name, x in self.loop.inputs.items():
            if isinstance(x, Carried) and (
                    x.result not in inner or not types[x.result].fits(types[name])):
                return f"%{name} cannot be %{x.result} of the round before"
        return None

    def wrong_results(self, inner: set[int], types: Types) -> str | None:
        """What is wrong with its results."""
        covered: list[int] = []
        for first, y in self.loop.results.items():
            wrong = [
                v for v in y.values
                if v not in types or first not in inner or not types[v].fits(types[first])]
            if wrong:
                return f"%{wrong[0]} is not %{first} of a round"
            covered += y.values
        return (None if sorted(covered) == sorted(self.outs) else
                "its results are not what its rounds give")

    # ---- what it means
    def run(self, env: Env, types: Any, positions: Positions) -> None:
        """What it keeps lies in one piece of memory, which a later loop may go along."""
        loop, blocks = self.loop, env.setdefault("blocks", {})
        self.keep(env, blocks, types)
        rounds = Rounds(env, self.begins(env, blocks, types), Env())
        for r in range(loop.rounds):
            inner = Env()
            for name, x in loop.inputs.items():
                inner[name] = x.in_round(r, types[name], rounds)
            for m in loop.body:
                m.run(inner, types, positions)
            for first, y in loop.results.items():
                if isinstance(y, Stacked):
                    env[y.values[r]][...] = inner[first]
            rounds.before = inner
        env.update((y.value, rounds.before[first]) for first, y in loop.results.items()
                   if isinstance(y, Last))

    def keep(self, env: Env, blocks: dict[int, Array], types: Any) -> None:
        """Make the memory that the rounds' values are kept in."""
        loop, mine = self.loop, set()
        for first, y in loop.results.items():
            if isinstance(y, Stacked):
                if y.head not in mine:
                    mine.add(y.head)
                    blocks[y.head] = np.empty((loop.rounds * loop.several, *types[first].shape),
                                              types[first].dtype)
                places = range(y.at, loop.rounds * loop.several, loop.several)
                for v, i in zip(y.values, places):
                    env[v] = blocks[y.head][i, ...]

    def begins(self, env: Env, blocks: dict[int, Array], types: Any) -> dict[int, Array]:
        """Where the values are that the rounds go along."""
        found: dict[int, Array] = {}
        for x in self.loop.inputs.values():
            if isinstance(x, Along) and x.value not in found:
                a: Array = blocks[x.value] if x.value in blocks else env[x.value]
                lies = x.value in blocks or a.strides == types[x.value].strides
                found[x.value] = a if lies else _laid(a, types[x.value])
        return found


def _line(reader: Reader, loop: Loop, types: dict[int, Type], node: Any) -> None:
    """Read a line of a loop into it."""
    words = [t.text for t in reader.tokens[reader.at:reader.at + 5]]
    if (words[0] == "%" and words[2:3] == ["="] and words[4:] == ["%"]
            and words[3] in INPUTS):
        name = int(reader.ref())
        reader.take("=")
        loop.inputs[name] = INPUTS[reader.take().text].parse(reader)
        made_types(reader, [name], types)
        reader.end_line()
    elif words[0] == "%" and len(words) > 2 and words[2] in RESULTS:
        first, kind = int(reader.ref()), RESULTS[reader.take().text]
        loop.results[first] = kind.parse(reader, loop)
        reader.end_line()
    else:
        loop.body.append(node(reader, types))


def _laid(a: Array, t: Type) -> Array:
    """The numbers of an array, laid out as the type says."""
    low, high = t.span
    out: Array = np.ndarray(t.shape, t.dtype, bytearray(high - low), -low, t.strides)
    np.copyto(out, a)
    return out


def _part(a: Array, offset: int, t: Type) -> Array:
    """A value that begins some bytes after the beginning of an array."""
    (low, high), (first, last) = Type.of(a).span, t.span
    if offset + first < low or offset + last > high:
        raise Diverged("a round reads what is outside of its operand")
    return seen(a, offset, t)
