"""Writes graphs as text. `ir/parse.py` reads it back: `parse(str(g)) == g`.

    graph "step":
      stream 0 = (42, 0)
      %0 = input "argument 0" "x" : f32[64,10]
      %1 = input "outside" "model.weight" : f32[20,10]
      %2 = linear(%0, %1, None) : f32[64,20]                       # train.py:12
      write add_scaled(%1, %2, -0.1)                               # train.py:14
      return %2, %1 "gradient of model.bias"

A type is its letters, its sizes and, where they are not those of C order, its strides in bytes:
`f32[4,3]@(4,16)`. How values are written is in `ir/value_text.py`, and each kind of node writes
itself.
"""
from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .nodes import Node
from .value_text import Table
from .values import Input


def lines(nodes: Iterable[Node], types: Any = None, indent: str = "",
          table: Table | None = None) -> Iterator[str]:
    """The lines of nodes; `types` are those of values, or arrays. Large constants go to `table`."""
    for n in nodes:
        yield from n.lines(types, indent, table)


def text(nodes: Iterable[Node], types: Any = None) -> str:
    """The nodes as text, with types where these are known."""
    return "\n".join(lines(nodes, types))


def input_line(x: Input, types: Any) -> str:
    """The line of an input."""
    return (
        f"%{x.value} = input {json.dumps(x.place)} {json.dumps(x.name)} : "
        f"{types[x.value] if x.value in types else '?'}")


def return_line(results: Sequence[tuple[int, str]]) -> str:
    """The last line of a graph."""
    wanted = ", ".join(f"%{v}" + (f" {json.dumps(name)}" if name else "") for v, name in results)
    return f"return {wanted}".rstrip()
