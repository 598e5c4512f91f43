"""Nodes: the events of a recorded run, with a small class for each kind.

    %2 = mul(%0, 2.0) : f32[4]                              OpNode   an op makes values of values
    write add(%1, %2)                                       Write    operand 0 is changed in place
    %3 = draw random_uniform32(shape=(4,)) : f32[4]         Draw     new numbers at each replay
    guard %3 == f32[1](0.25)                                Guard    Python saw this value
    ask "whet.ops.embedding:..."(%1) == None                Ask      Python asked this of a value

Nodes that stand for several others are in `ir/groups.py`. A node is not changed once it is made:
passes make others. It knows how it is written and read (`head`, `parse`), checked (`problem`), run
(`run`) and given other operands (`renamed`).
"""
from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from . import question_names
from .op import Op, name_text
from .result_types import ask
from .text_reader import Reader, made_types, operands
from .value_keys import value_key
from .value_text import Table, question_text, types_text, value_text
from .values import Array, Ref, Type

SHOWN = 40                       # operands or results of a node, where it is told in a line
NOTHING: Mapping[Any, Any] = {}

Types = Mapping[int, Type]
Env = dict[Any, Any]             # the values of a run, by number
Positions = Sequence[list[int]]  # of generators: seed and offset
N = TypeVar("N", bound="Node")


class Diverged(ValueError):
    """The graph does not apply to these inputs: a value on which Python decided, or a shape, is
    another one."""


class Streams:
    """The random number generators of a list of nodes, and where each was at the start: (seed,
    offset)."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        self.positions: list[tuple[int, int]] = []

    def number(self, generator: object, position: tuple[int, int]) -> int:
        """The number of a generator, which is at this place when it is first met."""
        i = self.numbers.setdefault(id(generator), len(self.positions))
        if i == len(self.positions):
            self.positions.append(position)
        return i


class Node:
    """One thing that happened in a run. Operands are `Ref`s or Python values, results are numbers
    of values. `line`: the user's line. `source`: the recorded node that it replaces, if a pass made
    it."""
    __slots__ = ("op", "ins", "attrs", "outs", "line", "source")
    kind: ClassVar[str]
    between: ClassVar[str] = ""              # its name where it parts others
    what: ClassVar[str] = ""                 # what a box for it says
    members: Sequence[Node] = ()             # the nodes that it stands for
    into: Mapping[int, int] = NOTHING        # value -> the value in whose memory a kernel puts it

    def __init__(self, op: Op | None, ins: tuple[Any, ...], attrs: Mapping[str, Any],
                 outs: Sequence[int], line: str, source: Node | None = None) -> None:
        self.op, self.ins, self.attrs, self.outs = op, ins, attrs, outs
        self.line, self.source = line, source

    # ---- what it reads and makes
    def refs(self) -> list[Ref]:
        """The values among the operands."""
        return [x for x in self.ins if type(x) is Ref]

    def written(self) -> Sequence[int]:
        """The values that it writes in place."""
        return ()

    def touched(self) -> list[int]:
        """The values that it reads, or writes in place."""
        return [*self.refs(), *self.into.values()]

    def named(self) -> list[int]:
        """The values that it reads, writes or makes."""
        return [*map(int, self.refs()), *self.outs, *map(int, self.into.values())]

    def flat(self) -> list[Node]:
        """The primitive nodes that a fused node was made of; [self] for a primitive node."""
        return [x for m in self.members for x in m.flat()] if self.members else [self]

    def walk(self) -> Iterator[Node]:
        """The node and the nodes in it."""
        yield self
        for m in self.members:
            yield from m.walk()

    def values(self) -> list[int]:
        """All values that it and the nodes in it name."""
        return [v for m in self.walk() for v in m.named()]

    @property
    def is_view(self) -> bool:
        """Does the result share the operand's memory?"""
        return False

    @property
    def steady(self) -> bool:
        """Is the type of its result independent of the data, and is Python not asked?"""
        return False

    @property
    def names(self) -> list[str]:
        """What is done: a word for each op."""
        found = dict.fromkeys(m.op.name for m in self.flat() if m.op is not None)
        return list(found) or [self.op.name if self.op is not None else self.kind]

    # ---- others like it
    def of(self, ins: tuple[Any, ...]) -> Node:
        """A node like this one, with other operands."""
        raise NotImplementedError

    def renamed(self, new: Mapping[int, int]) -> Node:
        """A node like this one that reads other values in place of some operands; itself if it
        reads none of them."""
        if not any([type(x) is Ref and x in new for x in self.ins]):
            return self
        return self.of(tuple([Ref(new[x]) if type(x) is Ref and x in new else x for x in self.ins]))

    def numbered(self, new: Mapping[int, int]) -> Node:
        """A node like this one, for a list in which values have these numbers."""
        made = self.by_itself()
        made.ins = tuple([Ref(new[x]) if type(x) is Ref else x for x in self.ins])
        made.outs = [new[o] for o in self.outs]
        if self.op is not None and not self.op.value_attrs.isdisjoint(self.attrs):
            made.attrs = {k: new[x] if k in self.op.value_attrs else x
                          for k, x in self.attrs.items()}
        return made

    def like(self: N) -> N:
        """A node with all that this one has."""
        made = object.__new__(type(self))
        for c in type(self).__mro__:
            for name in getattr(c, "__slots__", ()):
                setattr(made, name, getattr(self, name))
        return made

    def by_itself(self) -> Node:
        """A copy of this node that corresponds to no recorded node."""
        made = self.like()
        made.source = None
        return made

    def detached(self, streams: Streams) -> Node:
        """This node without references to the run: its generators become numbers of `streams`."""
        return self

    def facts(self) -> tuple[Any, ...]:
        """Everything that distinguishes this node, in a form that can be compared: numbers by type
        and bits."""
        attrs = value_key(dict(self.attrs))
        where = tuple(self.outs), self.line
        return self.kind, self.op, value_key(self.ins), attrs, *where, value_key(self.fact)

    @property
    def fact(self) -> Any:
        """What distinguishes nodes of this kind beside operands and attributes."""
        return None

    @property
    def value(self) -> Any:
        """State of this kind of node, beside operands and attributes, that belongs to the recorded
        run."""
        return self.fact

    @property
    def roots(self) -> Any:
        """What a kernel computes for it: expressions, or a program."""
        return None

    # ---- text
    def __str__(self) -> str:
        return self.head(most=SHOWN)

    def head(self, table: Table | None = None, most: int | None = None) -> str:
        """The node as text, without types and without the nodes inside of it. At most `most`
        operands and results are written."""
        assert self.op is not None
        said = ", ".join([*self.operands(table, most), *self.options(table)])
        return f"{self.made(most)}{self.prefix}{name_text(self.op)}({said})"

    prefix: ClassVar[str] = ""

    def made(self, most: int | None) -> str:
        """The results, as text before the equals sign."""
        said = ", ".join([*(f"%{o}" for o in self.outs[:most]), *_more(self.outs, most)])
        return said and f"{said} = "

    def operands(self, table: Table | None, most: int | None) -> list[str]:
        """The operands as text."""
        return [*(value_text(x, table) for x in self.ins[:most]), *_more(self.ins, most)]

    def options(self, table: Table | None) -> list[str]:
        """The attributes as text."""
        return [f"{k}={value_text(v, table)}" for k, v in self.attrs.items()]

    def lines(self, types: Any = None, indent: str = "",
              table: Table | None = None) -> Iterator[str]:
        """Its lines, and those of the nodes in it."""
        yield self.with_line(indent + self.head(table) + types_text(types, self.outs))

    def with_line(self, said: str) -> str:
        """Text followed by the user's line."""
        line = self.line
        if not line:
            return said
        fits = line == line.strip() and line.isprintable() and not line.startswith('"')
        return f"{said:<90}  # {line if fits else json.dumps(line)}"

    # ---- checks
    def problem(self, known: set[int], types: Types, streams: int) -> str | None:
        """What is wrong with it where these values exist; adds the values that it makes to
        `known`."""
        missing = [x for x in self.refs() if x not in known]
        if missing:
            return f"{missing[0]!r} is used before it is made"
        again = [o for o in self.outs if o in known]
        return f"%{again[0]} is made twice" if again else self.wrong(known, types, streams)

    def wrong(self, known: set[int], types: Types, streams: int) -> str | None:
        """What is wrong with it, apart from the names of values."""
        return None

    def run(self, env: Env, types: Any, positions: Positions) -> None:
        """Run it. `env` has the values so far."""
        raise NotImplementedError

    def values_of(self, env: Env) -> list[Any]:
        """The operands."""
        return [env[x] if type(x) is Ref else x for x in self.ins]


def _more(xs: Sequence[Any], most: int | None) -> list[str]:
    return [f"... {len(xs) - most} more"] if most is not None and len(xs) > most else []


class Made(Node):
    """A node whose op makes values."""
    __slots__ = ()
    op: Op

    def forward(self, env: Env, positions: Positions) -> Any:
        """What the op makes."""
        raise NotImplementedError

    def run(self, env: Env, types: Any, positions: Positions) -> None:
        made = self.forward(env, positions)
        for o, a in zip(self.outs, made if type(made) is tuple else (made,)):
            if isinstance(a, np.generic | int | float | complex):
                a = np.asarray(a)
            if (a.dtype, a.shape) != (types[o].dtype, types[o].shape):
                raise Diverged(f"the shape of what {self.op.name} gives at {self.line} is another: "
                               f"{Type.of(a)}, not {types[o]}")
            env[o] = a

    def asked(self, types: Types) -> tuple[list[Type] | None, str | None]:
        """What the op says that it makes."""
        raise NotImplementedError

    def wrong(self, known: set[int], types: Types, streams: int) -> str | None:
        problem = self.differs(types)
        known.update(self.outs)
        return problem

    def differs(self, types: Types) -> str | None:
        """Does the op make what the graph says?"""
        made, problem = self.asked(types)
        if problem or made is None:
            return problem
        if len(made) != len(self.outs):
            return f"{self.op.name} makes {len(made)} results, not {len(self.outs)}"
        for t, o in zip(made, self.outs):
            have = types.get(o)
            if have is None:
                return f"%{o} has no type"
            same = t.shape == have.shape and (t.dtype == have.dtype or self.default(t, have, types))
            if not same or self.op.is_view and have.size and not _same_walk(t, have):
                return f"{self.op.name} makes {t}, not {have}"
        return None

    def default(self, a: Type, b: Type, types: Types) -> bool:
        """Is the type the default one of another time? Where no operand is a float, a float result
        has the default type."""
        floats = all(t.dtype.kind in "fV" for t in (a, b))
        return floats and not any(types[x].dtype.kind in "fVc" for x in self.refs())


def _same_walk(a: Type, b: Type) -> bool:
    return all(s == t for s, t, n in zip(a.strides, b.strides, a.shape) if n > 1)


class OpNode(Made):
    """An op makes values of values."""
    __slots__ = ()
    kind = "op"

    def of(self, ins: tuple[Any, ...]) -> OpNode:
        return self.to(ins, self.outs)

    def to(self, ins: tuple[Any, ...], outs: Sequence[int]) -> OpNode:
        """A node like this one, with other operands and results."""
        return OpNode(self.op, ins, self.attrs, outs, self.line, self.source or self)

    @property
    def is_view(self) -> bool:
        return self.op.is_view

    @property
    def steady(self) -> bool:
        return not self.op.may_fail

    def forward(self, env: Env, positions: Positions) -> Any:
        return self.op.compute(*self.values_of(env), **self.attrs)

    def asked(self, types: Types) -> tuple[list[Type] | None, str | None]:
        if getattr(self.op, "bodies", None):
            # To run a loop on zeros might never end: its bodies say what it makes.
            bodies: Any = self.op
            return bodies.makes([types[x] for x in self.refs()]), None
        return ask(self.op, self.ins, self.attrs, _types_of(self, types))

    def lines(self, types: Any = None, indent: str = "",
              table: Table | None = None) -> Iterator[str]:
        yield self.with_line(indent + self.head(table) + types_text(types, self.outs))
        # programs, of a `cond` or `while_loop`
        bodies: Mapping[str, Any] = getattr(self.op, "bodies", NOTHING)
        for name, body in bodies.items():
            yield f"{indent}  {name}:"
            for n in body.program.nodes:
                yield from n.lines(body.program.arrays, indent + "    ", table)
            yield f"{indent}    return {', '.join(f'%{x}' for x in body.results)}"

    @classmethod
    def parse(cls, reader: Reader, outs: list[int], types: dict[int, Type]) -> Node:
        """The node of a line, after its results."""
        draws = reader.skip("draw", "name")
        token = reader.next
        op = reader.op()
        reader.take("(")
        ins, attrs = operands(reader)
        if draws and (not op.random or type(attrs.get("generator")) is not int
                      or type(attrs.get("shape")) is not tuple or ins):
            reader.fail("a draw has a shape and the number of a generator's stream", token)
        made_types(reader, outs, types)
        if draws:
            return Draw(op, attrs, outs, reader.end_line())
        return OpNode(op, ins, attrs, outs, reader.end_line())


def _types_of(n: Node, types: Types) -> tuple[Type | None, ...]:
    return tuple([types[x] if type(x) is Ref else None for x in n.ins])


class Write(Node):
    """An op changes its first operand in place, or the first few (`Op.targets`). `counted`: is that
    a change of the tensors' versions? In a recorded run `cells` are the counters of these."""
    __slots__ = ("cells", "counted")
    kind, prefix, between = "write", "write ", "a write"
    op: Op

    def __init__(self, op: Op, ins: tuple[Any, ...], attrs: Mapping[str, Any], line: str,
                 cells: tuple[Any, ...] = (), counted: bool = True,
                 source: Node | None = None) -> None:
        super().__init__(op, ins, attrs, (), line, source)
        self.cells, self.counted = cells, counted

    def of(self, ins: tuple[Any, ...]) -> Write:
        return Write(self.op, ins, self.attrs, self.line, self.cells, self.counted,
                     self.source or self)

    def as_value(self, out: int) -> OpNode:
        """An operation that makes the value it would write."""
        return OpNode(self.op, self.ins, {}, [out], self.line, self.source or self)

    def detached(self, streams: Streams) -> Write:
        return Write(self.op, self.ins, self.attrs, self.line, (), self.counted)

    def written(self) -> Sequence[int]:
        return self.ins[:self.op.targets(self.attrs)]

    @property
    def steady(self) -> bool:
        return not self.op.may_fail

    @property
    def copies(self) -> bool:
        """Does it only copy a value there?"""
        return self.op.name == "copy" and not self.attrs and type(self.ins[1]) is Ref

    @property
    def fact(self) -> bool:
        return self.counted

    def head(self, table: Table | None = None, most: int | None = None) -> str:
        return super().head(table, most) + ("" if self.counted else " uncounted")

    @classmethod
    def parse(cls, reader: Reader, types: dict[int, Type]) -> Write:
        """The node of a line, after its first word."""
        op = reader.op()
        token = reader.take("(")
        ins, attrs = operands(reader)
        if not ins or type(ins[0]) is not Ref:
            reader.fail("a write changes its first operand, a value", token)
        counted = not reader.skip("uncounted", "name")
        return cls(op, ins, attrs, reader.end_line(), (), counted)

    def wrong(self, known: set[int], types: Types, streams: int) -> str | None:
        if not self.ins or type(self.ins[0]) is not Ref or self.outs:
            return "a write changes its first operand, and makes nothing"
        if not all(type(x) is Ref for x in self.written()):
            return f"{self.op.name} writes to what is no value"
        if self.op.write is not None:
            return None
        made, problem = ask(self.op, self.ins, self.attrs, _types_of(self, types))
        if problem or made is None:
            return problem
        target = types[self.ins[0]].shape
        try:
            fits = np.broadcast_shapes(made[0].shape, target) == target
        except ValueError:
            fits = False
        if len(made) == 1 and fits:
            return None
        return f"{made[0]} does not fit into {types[self.ins[0]]}"

    def run(self, env: Env, types: Any, positions: Positions) -> None:
        ins = self.values_of(env)
        if self.op.write is not None:
            self.op.write(*ins, **self.attrs)
        else:
            np.copyto(ins[0], self.op.forward(*ins, **self.attrs), casting="unsafe")


class Draw(Made):
    """New random numbers at each replay, from a generator or, in a graph of its own, the stream of
    this number. `position`, (seed, offset), is where the recorded run found the generator."""
    __slots__ = ("position",)
    kind, prefix = "draw", "draw "

    def __init__(self, op: Op, attrs: Mapping[str, Any], outs: Sequence[int], line: str,
                 position: tuple[int, int] | None = None, source: Node | None = None) -> None:
        super().__init__(op, (), attrs, outs, line, source)
        self.position = position

    def of(self, ins: tuple[Any, ...]) -> Draw:
        return self

    def detached(self, streams: Streams) -> Draw:
        number = streams.number(self.attrs["generator"], self.value)
        return Draw(self.op, {**self.attrs, "generator": number}, self.outs, self.line)

    @property
    def fact(self) -> Any:
        return self.position

    def options(self, table: Table | None) -> list[str]:
        return [f"{k}={value_text(v, table)}" for k, v in self.attrs.items()
                if k != "generator" or type(v) is int]

    def wrong(self, known: set[int], types: Types, streams: int) -> str | None:
        if not 0 <= self.attrs["generator"] < streams:
            return f"there is no stream {self.attrs['generator']}"
        return super().wrong(known, types, streams)

    def asked(self, types: Types) -> tuple[list[Type] | None, str | None]:
        return ask(self.op, (), dict(shape=self.attrs["shape"], seed=0, offset=0), ())

    def forward(self, env: Env, positions: Positions) -> Any:
        place, shape = positions[self.attrs["generator"]], self.attrs["shape"]
        seed, offset = place
        place[1] = offset + self.op.blocks(shape)
        return self.op.forward(shape=shape, seed=seed, offset=offset)


class Guard(Node):
    """Python saw a value and decided by it. A replay must find the `expected` value again."""
    __slots__ = ("expected",)
    kind, between, what = "guard", "a value that Python reads", "value is read"

    def __init__(self, ref: Ref, expected: Array, line: str, source: Node | None = None) -> None:
        super().__init__(None, (ref,), NOTHING, (), line, source)
        self.expected = expected

    def of(self, ins: tuple[Any, ...]) -> Guard:
        return Guard(ins[0], self.expected, self.line, self.source or self)

    @property
    def fact(self) -> Array:
        return self.expected

    def head(self, table: Table | None = None, most: int | None = None) -> str:
        return f"guard {self.operands(table, most)[0]} == {value_text(self.expected, table)}"

    @classmethod
    def parse(cls, reader: Reader, types: dict[int, Type]) -> Guard:
        """The node of a line, after its first word."""
        x = reader.ref()
        reader.take("==")
        token = reader.next
        expected = reader.value()
        if not isinstance(expected, np.ndarray):
            reader.fail("a guard compares with an array", token)
        return cls(x, expected, reader.end_line())

    def wrong(self, known: set[int], types: Types, streams: int) -> str | None:
        x, = self.ins
        fits = type(x) is Ref and types[x].fits(Type.of(self.expected))
        return None if fits else "a guard compares a value with an array of its type"

    def run(self, env: Env, types: Any, positions: Positions) -> None:
        if env[self.ins[0]].tobytes() != self.expected.tobytes():
            raise Diverged(f"the value that Python reads at {self.line} is another: {self}")


class Ask(Node):
    """Python asked something about values and decided by the answer. A replay must get the same
    answer. `facts_of`: expressions, each with whether it was true of any element, where a kernel
    can answer."""
    __slots__ = ("answer", "asks")
    kind, between, what = "ask", "a question about values", "is checked"

    def __init__(self, question: Callable[..., Any], ins: tuple[Any, ...], answer: Any, line: str,
                 asks: list[tuple[Any, bool]] | None = None, source: Node | None = None) -> None:
        super().__init__(None, ins, {"question": question}, (), line, source)
        self.answer, self.asks = answer, asks

    @property
    def question(self) -> Callable[..., Any]:
        """What is asked, as a function of arrays."""
        found: Callable[..., Any] = self.attrs["question"]
        return found

    def of(self, ins: tuple[Any, ...]) -> Ask:
        return Ask(self.question, ins, self.answer, self.line, self.asks, self.source or self)

    @property
    def fact(self) -> Any:
        return self.answer

    @property
    def roots(self) -> list[tuple[Any, bool]] | None:
        return self.asks

    def head(self, table: Table | None = None, most: int | None = None) -> str:
        question, ins = question_text(self.question, table), ", ".join(self.operands(table, most))
        return f"ask {question}({ins}) == {value_text(self.answer, table)}"

    @classmethod
    def parse(cls, reader: Reader, types: dict[int, Type]) -> Ask:
        """The node of a line, after its first word."""
        token = reader.next
        name, cells, defaults = reader.string(), {}, []

        def held() -> None:
            if reader.next.kind == "name" and reader.after.text == "=":
                key = reader.take().text
                reader.at += 1
                cells[key] = reader.value()
            else:
                defaults.append(reader.value())
        if reader.skip("{"):
            reader.many("}", held)
        try:
            question = question_names.find(name, cells, defaults)
        except question_names.Unknown as e:
            reader.fail(str(e), token)
        reader.take("(")
        ins, _ = operands(reader)
        reader.take("==")
        answer = reader.value()
        return cls(question, ins, answer, reader.end_line())

    def run(self, env: Env, types: Any, positions: Positions) -> None:
        if self.question(*self.values_of(env)) != self.answer:
            raise Diverged(f"what the values are asked at {self.line} has another answer: {self}")
