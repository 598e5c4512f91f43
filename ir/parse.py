"""Text as a graph: the inverse of `ir/text.py`, which says what the text looks like. Nothing
that is read is run or imported."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .graph import Graph
from .groups import Group
from .loops import Roll
from .nodes import Ask, Guard, Node, OpNode, Write
from .op import Op, find_op
from .text_reader import ParseError, Reader, made_types
from .values import Array, Input, Type

__all__ = ["ParseError", "find_op", "parse"]


def parse(source: str, constants: Sequence[Array] = (),
          ops: Mapping[str, Op] | None = None) -> Graph:
    """The graph of a text; `constants` are the arrays that `Graph.text` put into its table, `ops`
    are found by their names before those that whet defines.

    >>> import whet
    >>> from whet.ir.parse import parse
    >>> g = parse('''graph "double":
    ...   %0 = input "argument 0" "x" : f32[3]
    ...   %1 = mul(%0, 2) : f32[3]
    ...   return %1''')
    >>> parse(str(g)) == g
    True
    """
    reader, types = Reader(source, list(constants), ops), dict[int, Type]()
    while reader.next.kind == "line":
        reader.at += 1
    reader.take("graph", "name")
    name = reader.string()
    reader.take(":")
    reader.end_line()
    streams = _streams(reader)
    inputs, nodes = _body(reader, types)
    results = _results(reader)
    reader.take(kind="end", what="the end")
    return Graph(nodes, types, inputs, results, name, streams)


def node(reader: Reader, types: dict[int, Type]) -> Node:
    """A line that is a node, with the lines in it."""
    if reader.skip("guard", "name"):
        return Guard.parse(reader, types)
    if reader.skip("ask", "name"):
        return Ask.parse(reader, types)
    if reader.skip("write", "name"):
        return Write.parse(reader, types)
    outs = [int(x) for x in reader.listed(reader.ref)]
    reader.take("=")
    group = Group.kinds.get(reader.next.text) if reader.next.kind == "name" else None
    if group is not None:
        return group.parse(reader, outs, types, node)
    if reader.sees("roll", "name") and reader.after.kind == "number":
        return Roll.parse(reader, outs, types, node)
    return OpNode.parse(reader, outs, types)


def _streams(reader: Reader) -> list[Any]:
    """The positions of the generators."""
    streams: list[Any] = []
    while reader.skip("stream", "name"):
        token = reader.next
        if reader.integer() != len(streams):
            reader.fail(f"this is stream {len(streams)}", token)
        reader.take("=")
        position = reader.value()
        if (type(position) is not tuple or len(position) != 2
                or any(type(p) is not int for p in position)):
            reader.fail("a stream has a seed and an offset", token)
        streams.append(position)
        reader.end_line()
    return streams


def _body(reader: Reader, types: dict[int, Type]) -> tuple[list[Input], list[Node]]:
    """The inputs and the nodes, up to the return."""
    inputs, nodes = [], []
    while not reader.skip("return", "name"):
        if reader.next.kind == "end":
            reader.fail("the graph ends without a return")
        start = reader.at
        if reader.sees("%"):
            x = reader.ref()
            if reader.skip("=") and reader.skip("input", "name"):
                inputs.append(Input(int(x), reader.string(), reader.string()))
                made_types(reader, [int(x)], types)
                reader.end_line()
                continue
            reader.at = start
        nodes.append(node(reader, types))
    return inputs, nodes


def _results(reader: Reader) -> list[tuple[int, str]]:
    """What is returned, and the names of it."""
    results: list[tuple[int, str]] = []
    while reader.skip(",") if results else reader.sees("%"):
        v = int(reader.ref())
        results.append((v, reader.string() if reader.next.kind == "string" else ""))
    reader.end_line()
    return results
