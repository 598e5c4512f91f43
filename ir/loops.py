"""A loop as a node: repeated steps of an unrolled loop, made one again (`passes/roll_loops.py`).

    %9 = roll 9 times(%0, %1) : f32[4] {
      %20 = carried %0 %2 : f32[4]      what the body reads: `same`, `carried`, or `along`
      %2 = add(%20, 1.0) : f32[4]
      %2 last as %9                     what it gives: the last one, or all, `kept`
    }
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .groups import block
from .nodes import NOTHING, SHOWN, Diverged, Env, Node, Positions, Streams, Types
from .notation import Table, by_bits, types_text
from .reader import Reader, made_types, operands
from .spans import seen
from .values import Array, Type

LARGEST = 1 << 20                # rounds, and steps of a body


class Loop:
    """What is done. `body` are the nodes of the first round with names of their own for what comes
    from outside; `inputs`: name -> what it is: ("same", value), ("carried", value, result) or
    ("along", value, bytes from there, bytes a round); `results`: what the body makes for outside or
    the next round: first round's value -> ("last", its last value) or ("kept", its values, the
    value that the memory of all begins with, how many lie before the first). `several`: steps that
    are alike in a body; what they keep lies in one piece of memory, in turn. `nodes`: those that it
    was made of; where they are not known, the body's in each round. `blocks`: values at the start
    of what an earlier loop keeps."""

    def __init__(self, rounds: int, several: int, body: list[Node], inputs: dict[int, Any],
                 results: dict[int, Any], nodes: Sequence[Node] | None = None,
                 blocks: frozenset[int] = frozenset()) -> None:
        self.rounds, self.several, self.body, self.inputs = rounds, several, body, inputs
        self.results = results
        self.nodes = body * rounds if nodes is None else nodes
        self.blocks = blocks

    @property
    def values(self) -> list[int]:
        """The values that it names: some have a meaning in the body only."""
        given = [int(value) for _, value, *_ in self.inputs.values()]
        return [*self.inputs, *given, *(v for m in self.body for v in m.values())]

    def facts(self) -> tuple[Any, ...]:
        """All that makes it what it is, in a form that can be compared."""
        given = [(name, kind, *map(int, more)) for name, (kind, *more) in self.inputs.items()]
        made = [(first,
                 kind,
                 *([list(map(int, more[0])), *more[1:]] if kind == "kept" else map(int, more)))
                for first, (kind, *more) in self.results.items()]
        return self.rounds, self.several, tuple([m.facts() for m in self.body]), given, made


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

    def values(self) -> list[int]:
        return [*self.named(), *self.loop.values]

    def facts(self) -> tuple[Any, ...]:
        return self.kind, by_bits(self.ins), tuple(self.outs), self.line, self.loop.facts()

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
        for name, (kind, value, *more) in self.loop.inputs.items():
            more = [f" %{x}" if kind == "carried" else f" {x}" for x in more]
            yield f"{indent}  %{name} = {kind} %{value}{''.join(more)}{types_text(types, [name])}"
        for m in self.loop.body:
            yield from m.lines(types, indent + "  ", table)
        for first, (kind, what, *more) in self.loop.results.items():
            given = (f"last as %{what}" if kind == "last" else
                     f"kept in %{more[0]} at {more[1]} as {', '.join(f'%{v}' for v in what)}")
            yield f"{indent}  %{first} {given}"
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
        """What is wrong with what the body reads; notes its names in `inner`."""
        for name, (kind, value, *_) in self.loop.inputs.items():
            if value not in known:
                return f"%{value} is used before it is made"
            if name not in types or value not in types:
                return f"%{name} has no type"
            if kind != "along" and not types[value].fits(types[name]):
                return f"%{name} is {types[name]}, not {types[value]} as %{value}"
            inner.add(name)
        return None

    def wrong_body(self, inner: set[int], types: Types, streams: int) -> str | None:
        """What is wrong with the body, and with what it carries."""
        for m in self.loop.body:
            problem = m.problem(inner, types, streams)
            if problem:
                return f"{problem} (in {m})"
        for name, (kind, _, *more) in self.loop.inputs.items():
            if kind == "carried" and (more[0] not in inner or not types[more[0]].fits(types[name])):
                return f"%{name} cannot be %{more[0]} of the round before"
        return None

    def wrong_results(self, inner: set[int], types: Types) -> str | None:
        """What is wrong with what it gives."""
        given: list[int] = []
        for first, (kind, what, *_) in self.loop.results.items():
            values = what if kind == "kept" else [what]
            wrong = [
                v for v in values
                if v not in types or first not in inner or not types[v].fits(types[first])]
            if wrong:
                return f"%{wrong[0]} is not %{first} of a round"
            given += values
        return (None if sorted(given) == sorted(self.outs) else
                "its results are not what its rounds give")

    # ---- what it means
    def run(self, env: Env, types: Any, positions: Positions) -> None:
        """What it keeps lies in one piece of memory, which a later loop may go along."""
        loop, blocks = self.loop, env.setdefault("blocks", {})
        self.keep(env, blocks, types)
        begins, before = self.begins(env, blocks, types), Env()
        for r in range(loop.rounds):
            inner = Env()
            for name, (kind, value, *more) in loop.inputs.items():
                if kind == "along":
                    inner[name] = _part(begins[value], more[0] + r * more[1], types[name])
                else:
                    inner[name] = before[more[0]] if kind == "carried" and r else env[value]
            for m in loop.body:
                m.run(inner, types, positions)
            for first, (kind, what, *_) in loop.results.items():
                if kind == "kept":
                    env[what[r]][...] = inner[first]
            before = inner
        env.update((what, before[first]) for first, (kind, what, *_) in loop.results.items()
                   if kind == "last")

    def keep(self, env: Env, blocks: dict[int, Array], types: Any) -> None:
        """Make the memory that the rounds' values are kept in."""
        loop, mine = self.loop, set()
        for first, (kind, what, *more) in loop.results.items():
            if kind == "kept":
                head, s = more
                if head not in mine:
                    mine.add(head)
                    blocks[head] = np.empty((loop.rounds * loop.several, *types[first].shape),
                                            types[first].dtype)
                for v, i in zip(what, range(s, loop.rounds * loop.several, loop.several)):
                    env[v] = blocks[head][i, ...]

    def begins(self, env: Env, blocks: dict[int, Array], types: Any) -> dict[int, Array]:
        """Where the values are that the rounds go along."""
        found: dict[int, Array] = {}
        for kind, value, *_ in self.loop.inputs.values():
            if kind == "along" and value not in found:
                a: Array = blocks[value] if value in blocks else env[value]
                lies = value in blocks or a.strides == types[value].strides
                found[value] = a if lies else _laid(a, types[value])
        return found


def _line(reader: Reader, loop: Loop, types: dict[int, Type], node: Any) -> None:
    """Read a line of a loop into it."""
    words = [t.text for t in reader.tokens[reader.at:reader.at + 5]]
    if (words[0] == "%" and words[2:3] == ["="] and words[4:] == ["%"]
            and words[3] in ("same", "carried", "along")):
        name = int(reader.ref())
        reader.take("=")
        kind, value = reader.take().text, int(reader.ref())
        more = [int(reader.ref())] if kind == "carried" else []
        more += [reader.integer(), reader.integer()] if kind == "along" else []
        loop.inputs[name] = kind, value, *more
        made_types(reader, [name], types)
        reader.end_line()
    elif words[0] == "%" and words[2:3] in (["last"], ["kept"]):
        first, kind = int(reader.ref()), reader.take().text
        loop.results[first] = _of_rounds(reader, kind, loop.rounds, loop.several)
    else:
        loop.body.append(node(reader, types))


def _of_rounds(reader: Reader, kind: str, rounds: int, several: int) -> tuple[Any, ...]:
    """What a loop gives of a value that its rounds make."""
    found: tuple[Any, ...]
    if kind == "last":
        reader.take("as")
        found = kind, int(reader.ref())
    else:
        reader.take("in")
        head = int(reader.ref())
        reader.take("at")
        token = reader.next
        at = reader.integer()
        reader.take("as")
        values = [int(x) for x in reader.listed(reader.ref)]
        if len(values) != rounds or not 0 <= at < several:
            reader.fail("a value of each round is kept, in turn", token)
        found = kind, values, head, at
    reader.end_line()
    return found


def _laid(a: Array, t: Type) -> Array:
    """The same numbers, laid out as the type says."""
    low, high = t.span
    out: Array = np.ndarray(t.shape, t.dtype, bytearray(high - low), -low, t.strides)
    np.copyto(out, a)
    return out


def _part(a: Array, offset: int, t: Type) -> Array:
    """A value that lies some bytes after the beginning of an array."""
    (low, high), (first, last) = Type.of(a).span, t.span
    if offset + first < low or offset + last > high:
        raise Diverged("a round reads what lies outside of its operand")
    return seen(a, offset, t)
