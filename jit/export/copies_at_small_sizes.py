"""Copies that a run at a size of 0 or 1 has no need of.

`x.transpose(1, 2).contiguous()` copies in the example's run. If a dimension is 1, the elements are
in the wanted order already, and the run has no such node. The graph that copies gives the same
there, as long as nothing writes to the memory that would be shared.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Container, Sequence
from typing import Any

from whet.ir.graph import Node, OpNode, Ref
from whet.ops.convert import copy_to_format_op
from whet.passes.compare_nodes import is_one_node

from .recording import Recorded


def with_copies(base: Recorded, run: Recorded) -> Recorded:
    """`run`, with the copies that only `base` makes, and with the numbers of values of `base`. If
    the two differ in more than copies, it is `run` itself."""
    aligned = Aligned(base.nodes, run)
    return aligned.recorded() if aligned.copies and not aligned.failed else run


class Aligned:
    """`nodes` are those of `run`, with copies among them. `copies`: what is copied, by the copy."""

    def __init__(self, wanted: list[Node], run: Recorded) -> None:
        self.run, self.nodes = run, list[Node]()
        self.names, self.copies = dict[int, int](), dict[int, int]()
        rest = list(run.nodes)
        for a in wanted:
            b = self.named_as(a, rest[0]) if rest else None
            if b is not None and is_alike(a, b):
                self.names.update(zip(rest.pop(0).outs, a.outs))
            elif isinstance(a, OpNode) and a.op is copy_to_format_op:
                self.copies[a.outs[0]] = int(a.ins[0])
                b = a
            else:
                break
            self.nodes.append(b)
        self.failed = len(self.nodes) < len(wanted) or bool(rest) or self.writes_to_copied()

    def named_as(self, a: Node, b: Node) -> Node | None:
        """A node of the run that reads and makes the values of the other run's node."""
        if type(a) is not type(b) or len(a.ins) != len(b.ins) or len(a.outs) != len(b.outs):
            return None
        for x, y in zip(a.ins, b.ins):
            if type(y) is Ref and type(x) is Ref and y not in self.names:
                self.names[y] = self.original(x)
        new = {**self.names, **dict(zip(b.outs, a.outs))}
        if not new.keys() >= set(b.named()):
            return None
        made = b.numbered(new)
        made.outs = a.outs
        made.ins = tuple([
            x if type(x) is Ref and type(y) is Ref and self.original(x) == y else y
            for x, y in zip(a.ins, made.ins)])
        return made

    def original(self, value: int) -> int:
        """What a value is a copy of; itself if it is none."""
        while value in self.copies:
            value = self.copies[value]
        return value

    def writes_to_copied(self) -> bool:
        """Does a node write to memory that a copy would not share?"""
        return any(is_written_after(self.nodes, n, n.outs[0], self.copies)
                   for n in self.nodes if n.outs and n.outs[0] in self.copies)

    def recorded(self) -> Recorded:
        """The run with these nodes."""
        arrays: dict[int, Any] = {new: self.run.arrays[old] for old, new in self.names.items()}
        arrays.update({new: arrays[self.original(new)] for new in self.copies})
        nothing: Any = None
        made = copy.copy(self.run)
        made.nodes = self.nodes
        made.arrays = [arrays.get(n, nothing) for n in range(max(arrays) + 1)]
        made.values = [self.names.get(v, v) for v in self.run.values]
        return made


def is_alike(a: Node, b: Node) -> bool:
    """Are two nodes one, or do both give the elements of one operand in their order?"""
    return is_one_node(a, b) or (
        isinstance(a, OpNode) and isinstance(b, OpNode) and a.ins == b.ins
        and a.op.keeps_elements and b.op.keeps_elements)


def is_written_after(
    nodes: Sequence[Node], node: Node, value: int, shared: Container[int] = ()
) -> bool:
    """Do nodes that come after one write to the memory of a value? Views share their operand's
    memory, and so do the values in `shared`."""
    roots = dict[int, int]()
    for n in nodes:
        if isinstance(n, OpNode) and (n.is_view or n.outs[0] in shared):
            roots.update((o, roots.get(n.ins[0], n.ins[0])) for o in n.outs)
    later = itertools.islice(itertools.dropwhile(lambda n: n is not node, nodes), 1, None)
    root = roots.get(value, value)
    return any(roots.get(x, x) == root for n in later for x in n.written())
