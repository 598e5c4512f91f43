"""Separates the nodes of a run on a device into those of the host and those of the device, and
orders them.

What the host computes from its own numbers (learning rates, step counts) comes first. The rest
stays in order, as lists of the device's nodes. Between the lists are the host's nodes that read the
device's results, one by one, and copies from one to the other."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from whet.ir.graph import Draw, Node, OpNode, Ref, Write
from whet.ir.values import Array
from whet.passes.value_uses import memories

MOVE = "to_device"               # the op that brings elements elsewhere
Homes: TypeAlias = Mapping[int, int]     # value on a device -> the device's number


class Parted(NamedTuple):
    """`before`: the nodes that the host runs first. `stages`: lists of the device's nodes, and
    single nodes."""
    before: list[Node]
    stages: list[list[Node] | Node]


def made_there(nodes: Sequence[Node], homes: Homes, wanted: Iterable[int]) -> list[Node]:
    """The nodes, with constants created on the device directly if they are only moved there."""
    uses: dict[int, int] = dict.fromkeys(wanted, 1)
    for n in nodes:
        for x in n.touched():
            uses[x] = uses.get(x, 0) + 1
    makers = {n.outs[0]: n for n in nodes if isinstance(n, OpNode | Draw) and not n.refs()
              and len(n.outs) == 1 and n.outs[0] not in homes}
    there: dict[int, OpNode | Draw] = {}     # what is made -> the node that makes it there
    moved: set[int] = set()
    for n in nodes:
        if is_move(n) and n.outs[0] in homes and n.ins[0] in makers and uses[n.ins[0]] == 1:
            maker = makers[n.ins[0]]
            there[maker.outs[0]] = (
                OpNode(maker.op, maker.ins, maker.attrs, n.outs, maker.line)
                if isinstance(maker, OpNode)
                else Draw(maker.op, maker.attrs, n.outs, maker.line, maker.position))
            moved.add(n.outs[0])
    return [there.get(n.outs[0], n) if n.outs else n
            for n in nodes if not (is_move(n) and n.outs[0] in moved)]


def is_move(node: Node) -> bool:
    """Does a node copy elements between devices?"""
    return isinstance(node, OpNode) and node.op.name == MOVE


def is_of_device(node: Node, homes: Homes, arrays: Sequence[Array]) -> bool:
    """Does a kernel of the device compute this node, reading nothing from the host but single
    numbers?"""
    made = [*node.outs, *node.written()]
    if not made or any(x not in homes for x in made) or getattr(node.op, "python", False):
        return False
    if hasattr(node.op, "bodies"):
        return False
    of_host = [x for x in node.refs() if x not in homes]
    return not (is_move(node) and of_host) and all(arrays[x].ndim == 0 for x in of_host)


def parted(nodes: Sequence[Node], root: Mapping[int, int], homes: Homes,
           arrays: Sequence[Any]) -> Parted:
    """Separate the nodes. The host's nodes come first, unless they depend on later ones or later
    ones must precede them."""
    memory = memories(nodes, root, arrays)
    before: list[Node] = []
    stages: list[list[Node] | Node] = []
    late: set[int] = set()           # values of the host that later stages make
    used: set[int] = set()           # memories that stages have read or written
    written: set[int] = set()        # those that they have written
    for n in nodes:
        named = [memory[x] for x in (*n.refs(), *n.outs)]
        targets = {memory[x] for x in n.written()}
        is_early = (
            not isinstance(n, Draw) and not hasattr(n.op, "bodies")
            and not any(x in homes or x in late for x in (*n.refs(), *n.outs))
            and used.isdisjoint(targets) and written.isdisjoint(named))
        if is_early:
            before.append(n)
            continue
        used.update(named)
        written.update(targets)
        if not is_of_device(n, homes, arrays):
            late.update(o for o in n.outs if o not in homes)
            stages.append(n)
        elif stages and isinstance(stages[-1], list):
            stages[-1].append(n)
        else:
            stages.append([n])
    return Parted(before, stages)


def reads(nodes: Iterable[Node]) -> list[int]:
    """The values that nodes read and do not make, in order."""
    nodes = list(nodes)
    made = {o for n in nodes for o in n.outs}
    return list(dict.fromkeys(
        int(x) for n in nodes for x in n.named() if x not in made))


def passes_number(node: Node, x: int) -> bool:
    """Does a kernel take this number of the host as a parameter, whatever its value?"""
    if isinstance(node, Write | OpNode):
        return bool(node.op.kernels_take_numbers or isinstance(node, Write) and node.copies
                    and node.ins[1] == Ref(x))
    return node.kind in ("fused", "rows", "contract")
