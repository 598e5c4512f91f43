"""Nodes that stand for a group of others, which becomes one kernel or one launch. The passes make
them; each pass shows its group.

    %5 = fused(%0, f32[](2.0)) : f32[4] { ... }        Fused      one pointwise kernel
    %6 = rows(%5, axes=(1,)) : f32[4] { ... }          Rows       one kernel of reductions
    %6 = parts(%4, %5) : f32[8] { ... }                Parts      moves, a kernel for each part
    %6 = picks(%4, %5) : f32[8] { ... }                Picks      gathers, and what reads them
    %7 = contract matmul(%0, %1) : f32[4,4] {...}      Contract   a product with its epilogue
    %8 = chain(%0, %1, %2) : f32[4,4] { ... }          Chain      products, and rows between them
    %4, %5 = many(%0, %1, %2, %3) : ... { ... }        Many       small kernels as one launch

A graph that was read from text has no kernels: its groups are lists of nodes.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from . import kernel as kernels
from .memory_spans import seen
from .nodes import NOTHING, SHOWN, Env, Node, Positions, Streams, Types, Write
from .op import KEYWORDS, Op, name_text
from .row_layout import Placed
from .scalar import Expr
from .text_reader import Reader, made_types, operands
from .value_keys import value_key
from .value_text import Table, types_text, value_text
from .values import Array, Ref, Type

G = TypeVar("G", bound="Group")


class Group(Node):
    """Several nodes that became one. Its results are some of theirs. Its operands are all that they
    read from outside. `into`: the values in whose memory results are put."""
    __slots__ = ("members", "into")
    attributes: ClassVar[frozenset[str]] = frozenset()       # that it has of its own
    kinds: ClassVar[dict[str, type[Group]]] = {}             # all groups, by their first words

    def __init_subclass__(cls) -> None:
        assert cls.kind in KEYWORDS
        Group.kinds[cls.kind] = cls

    def __init__(self, op: Op | None, ins: tuple[Any, ...], attrs: Mapping[str, Any],
                 outs: Sequence[int], line: str, members: Sequence[Node],
                 into: Mapping[int, int] = NOTHING) -> None:
        super().__init__(op, ins, {**attrs, "into": into} if into else attrs, outs, line)
        self.members, self.into = members, into

    # ---- others like it
    def made_of(self: G, members: Sequence[Node], into: Mapping[int, int],
                ins: tuple[Any, ...]) -> G:
        """A group like this one, with other nodes in it."""
        made = self.like()
        attrs = {k: v for k, v in self.attrs.items() if k != "into"}
        made.members, made.into, made.ins = members, into, ins
        made.attrs = {**attrs, "into": into} if into else attrs
        return made

    def of(self, ins: tuple[Any, ...]) -> Node:
        return self.made_of(self.members, self.into, ins)

    def putting(self: G, into: Mapping[int, int]) -> G:
        """A group like this one that puts some results into other memory: result -> value."""
        return self.made_of(self.members, into, self.ins)

    def renamed(self, new: Mapping[int, int]) -> Node:
        made = super().renamed(new)
        if made is self:
            return self
        return self.made_of([m.renamed(new) for m in self.members], self.into, made.ins)

    def numbered(self, new: Mapping[int, int]) -> Node:
        made = super().numbered(new)
        assert isinstance(made, Group)
        into = {new[x]: new[place] for x, place in self.into.items()}
        return made.made_of([m.numbered(new) for m in self.members], into, made.ins)

    def detached(self, streams: Streams) -> Node:
        into: dict[int, int] = {Ref(x): Ref(place) for x, place in self.into.items()}
        return self.made_of([m.detached(streams) for m in self.members], into, self.ins)

    def apart(self) -> list[Node]:
        """The nodes that this node was fused from, with copies of results to the places to which it
        writes them."""
        from whet.ops.registry import REGISTRY
        copies = [
            Write(REGISTRY["copy"], (place, Ref(o)), {}, self.line)
            for o, place in self.into.items()]
        return [*self.members, *copies]

    # ---- what it reads and makes
    def written(self) -> Sequence[int]:
        return list(self.into.values())

    def facts(self) -> tuple[Any, ...]:
        attrs = value_key(dict(self.attrs))
        members = tuple([m.facts() for m in self.members])
        return self.kind, self.op, value_key(self.ins), attrs, tuple(self.outs), self.line, members

    @property
    def value(self) -> Any:
        return self.members

    # ---- text
    def __str__(self) -> str:
        return f"{self.head(most=SHOWN)}{{{'; '.join(self.said())}}}"

    def said(self) -> list[str]:
        """The ops of its nodes, for a text of one line."""
        return [n.op.name for n in self.flat() if n.op is not None]

    def head(self, table: Table | None = None, most: int | None = None) -> str:
        said = ", ".join([*self.operands(table, most), *self.options(table)])
        into = ", ".join(f"%{int(x)} -> %{int(place)}" for x, place in self.into.items())
        return f"{self.made(most)}{self.title}({said})" + (f" into ({into})" if into else "")

    @property
    def title(self) -> str:
        """The first words of a line that prints the group."""
        return self.kind

    def options(self, table: Table | None) -> list[str]:
        return [
            f"{k}={value_text(v, table)}" for k, v in self.attrs.items() if k in self.attributes]

    def lines(self, types: Any = None, indent: str = "",
              table: Table | None = None) -> Iterator[str]:
        yield self.with_line(indent + self.head(table) + types_text(types, self.outs) + " {")
        for m in self.members:
            yield from m.lines(types, indent + "  ", table)
        yield indent + "}"

    @classmethod
    def parse(cls, reader: Reader, outs: list[int], types: dict[int, Type], node: Any) -> Node:
        """The group of some lines, after its results; `node` reads the lines in it."""
        reader.take()
        cls.parse_title(reader)
        reader.take("(")
        ins, attrs = operands(reader)
        if attrs.keys() - cls.attributes:
            reader.fail("a group of nodes has no attributes")
        into: dict[int, int] = dict(_into(reader))
        made_types(reader, outs, types)
        reader.take("{")
        line = reader.end_line()
        members = reader.inside(lambda: block(reader, lambda: node(reader, types)), "groups")
        reader.end_line()
        if not members:
            reader.fail("a group without nodes")
        return cls.parsed(reader, ins, attrs, outs, line, members, into)

    @classmethod
    def parse_title(cls, reader: Reader) -> None:
        """Read the text between the first word and the bracket."""

    @classmethod
    def parsed(cls, reader: Reader, ins: tuple[Any, ...], attrs: dict[str, Any], outs: list[int],
               line: str, members: list[Node], into: Mapping[int, int]) -> Node:
        """The group that was read from text. What passes found out about it is worked out again."""
        # a kind of group takes less than `Group`
        make = cast("Callable[..., Node]", cls)
        return make(ins, outs, line, members, into=into)

    # ---- checks
    def problem(self, known: set[int], types: Types, streams: int) -> str | None:
        missing = [x for x in self.refs() if x not in known]
        if missing:
            return f"{missing[0]!r} is used before it is made"
        inner = known.copy()
        for m in self.members:
            problem = m.problem(inner, types, streams)
            if problem:
                return f"{problem} (in {m})"
        new = inner - known
        if not set(self.outs) <= new:
            return f"%{min(set(self.outs) - new)} is not made by the nodes in it"
        read = {int(x) for m in self.members for x in m.refs()} & known
        if read != set(map(int, self.refs())):
            return f"its operands are not what the nodes in it read: {sorted(read)}"
        problem = self.misplaced(known, types)
        if problem is None:
            known.update(self.outs)
        return problem

    def misplaced(self, known: set[int], types: Types) -> str | None:
        """What is wrong with where results are put."""
        for x, place in self.into.items():
            if x not in self.outs or place not in known:
                return f"%{int(x)} cannot be put into %{int(place)}"
            a, b = types[x], types[place]
            if not a.fits(b):
                return f"%{int(x)} ({a}) does not fit into %{int(place)} ({b})"
        return None

    def run(self, env: Env, types: Any, positions: Positions) -> None:
        for m in self.members:
            m.run(env, types, positions)
        for x, place in self.into.items():
            np.copyto(env[place], env[x], casting="unsafe")
            env[x] = env[place]


def block(reader: Reader, one: Any) -> list[Any]:
    """Lines up to a closing bracket."""
    out = []
    while not reader.skip("}"):
        out.append(one())
    return out


def _into(reader: Reader) -> list[tuple[int, int]]:
    """The text of the places to which results are written, if there are any."""
    if not reader.skip("into", "name"):
        return []
    reader.take("(")

    def one() -> tuple[int, int]:
        x = reader.ref()
        reader.take("->")
        return x, reader.ref()
    return reader.many(")", one)


# ---- pointwise -----------------------------------------------------------------------------------
class Fused(Group):
    """Pointwise nodes as one kernel. `roots` are the expressions of its results."""
    __slots__ = ("exprs",)
    kind, what = "fused", "kernel"

    def __init__(self, ins: tuple[Any, ...], outs: Sequence[int], line: str,
                 members: Sequence[Node], roots: tuple[Expr, ...] = (),
                 into: Mapping[int, int] = NOTHING) -> None:
        super().__init__(None, ins, NOTHING, outs, line, members, into)
        self.exprs = roots

    @property
    def roots(self) -> tuple[Expr, ...]:
        return self.exprs

    @property
    def steady(self) -> bool:
        return True


class Many(Group):
    """Small kernels that do the same on tensors of different sizes, as one launch. `kernel` is
    that of one part."""
    __slots__ = ("kernel",)
    kind, what = "many", "row kernel"
    kernel: kernels.Pointwise | None

    def __init__(self, ins: tuple[Any, ...], outs: Sequence[int], line: str,
                 members: Sequence[Node], kernel: kernels.Pointwise | None = None,
                 into: Mapping[int, int] = NOTHING) -> None:
        super().__init__(None, ins, NOTHING, outs, line, members, into)
        self.kernel = kernel

    @property
    def roots(self) -> kernels.Pointwise | None:
        return self.kernel

    @property
    def steady(self) -> bool:
        return True


# ---- rows ----------------------------------------------------------------------------------------
class Rows(Group):
    """Reductions along `axes`, the nodes that compute their operands, and the nodes computed from
    their results, as one row program. `work`: the program, and the layouts of the operands in its
    shape."""
    __slots__ = ("work",)
    kind, what, attributes = "rows", "row kernel", frozenset(("axes",))
    work: Placed | None

    def __init__(self, ins: tuple[Any, ...], outs: Sequence[int], line: str,
                 members: Sequence[Node], axes: tuple[int, ...], work: Placed | None = None,
                 into: Mapping[int, int] = NOTHING) -> None:
        super().__init__(None, ins, {"axes": axes}, outs, line, members, into)
        self.work = work

    @property
    def roots(self) -> Placed | None:
        return self.work

    @property
    def placed(self) -> Placed:
        """The program of a group that has one, as all have that a pass made."""
        assert self.work is not None
        return self.work

    @property
    def steady(self) -> bool:
        return True

    @classmethod
    def parsed(cls, reader: Reader, ins: tuple[Any, ...], attrs: dict[str, Any], outs: list[int],
               line: str, members: list[Node], into: Mapping[int, int]) -> Node:
        return cls(ins, outs, line, members, attrs.get("axes", ()), None, into)


# ---- by parts ------------------------------------------------------------------------------------
View = tuple[int, tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Part:
    """One kernel of a group that moves or gathers elements.

    `box` has (first, last + 1, step) for each dimension of the results, `roots` their expressions.
    `operands`: for each argument the number of the node's operand, and None or (bytes from its
    first element, shape, strides) of what is read of it. `shared`: is it one kernel with other
    parts that have the same expressions, however their operands lie?"""
    box: tuple[tuple[int, int, int], ...]
    roots: tuple[Expr, ...]
    operands: tuple[tuple[int, View | None], ...]
    shared: bool = False

    def inputs(self, ins: Sequence[Array]) -> list[Array]:
        """The arrays that the kernel reads, given the node's operands."""
        return [ins[k] if view is None else _part_of(ins[k], *view) for k, view in self.operands]

    def of(self, out: Array) -> Array:
        """The part of a result."""
        return out[tuple([slice(*b) for b in self.box])]


def _part_of(a: Array, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """A view of an array's memory."""
    return seen(a, offset, Type(a.dtype, shape, strides))


class Parts(Group):
    """Tensors that are moved together and computed on: `parts` are the kernels, one for each
    part of the result."""
    __slots__ = ("parts",)
    kind, what = "parts", "kernel by parts"

    def __init__(self, ins: tuple[Any, ...], outs: Sequence[int], line: str,
                 members: Sequence[Node], parts: tuple[Part, ...] = (),
                 into: Mapping[int, int] = NOTHING) -> None:
        super().__init__(None, ins, NOTHING, outs, line, members, into)
        self.parts = parts

    @property
    def roots(self) -> tuple[Part, ...]:
        return self.parts

    @property
    def steady(self) -> bool:
        return True


class Picks(Parts):
    """Gathers along one dimension, with the nodes that compute their indices and the nodes computed
    from their results, as one kernel."""
    __slots__ = ()
    kind, what = "picks", "gathering kernel"

    @property
    def steady(self) -> bool:
        return False


# ---- products ------------------------------------------------------------------------------------
class Contract(Group):
    """A product or a convolution, with a pointwise kernel that is applied to each element as it is
    stored. Argument 0 of the kernel is the contraction's result; the others are the operands after
    the contraction's own."""
    __slots__ = ("exprs",)
    kind, what = "contract", "row kernel"
    op: Op

    def __init__(self, ins: tuple[Any, ...], outs: Sequence[int], line: str, first: Node,
                 then: Node, roots: tuple[Expr, ...] = (),
                 into: Mapping[int, int] = NOTHING) -> None:
        super().__init__(first.op, ins, first.attrs, outs, line, [first, then], into)
        self.exprs = roots

    @property
    def roots(self) -> tuple[Expr, ...]:
        return self.exprs

    @property
    def first(self) -> Node:
        """The product or convolution."""
        return self.members[0]

    @property
    def title(self) -> str:
        return f"contract {name_text(self.op)}"

    def said(self) -> list[str]:
        return super().said()[1:]

    @classmethod
    def parse_title(cls, reader: Reader) -> None:
        reader.take()                        # the name of the first node in it

    @classmethod
    def parsed(cls, reader: Reader, ins: tuple[Any, ...], attrs: dict[str, Any], outs: list[int],
               line: str, members: list[Node], into: Mapping[int, int]) -> Node:
        if len(members) != 2 or members[0].op is None:
            reader.fail("a contraction with an epilogue is two nodes")
        return cls(ins, outs, line, members[0], members[1], (), into)


class Chain(Group):
    """Consecutive matrix products and the pointwise work between them, computed for a few rows at a
    time."""
    __slots__ = ()
    kind, what = "chain", "row kernel"

    def __init__(self, ins: tuple[Any, ...], outs: Sequence[int], line: str,
                 members: Sequence[Node], into: Mapping[int, int] = NOTHING) -> None:
        super().__init__(None, ins, NOTHING, outs, line, members, into)
