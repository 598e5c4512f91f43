"""The stages that make a program of nodes that work on a device, in order.

1. What is alive, and in which order questions and writes come, as for the CPU.
2. What the host does is separated from what the device does (`host_and_device.py`).
3. The passes see what the device does between two waits; what the host computes first is a program
   of the CPU.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from whet.ir.graph import Draw, OpNode, Type
from whet.passes.pipeline import ON_DEVICES, optimize
from whet.passes.repeat_for_sizes import Plan

from ..refusals.reasons import SeveralDevices
from ..refusals.recording_errors import Refused
from .builder import Options, build, reached
from .device_node_kinds import Work
from .device_program import DeviceProgram, OnHost, Single, Stage
from .host_and_device import Homes, made_there, parted, reads
from .liveness import Roots, seen_nodes
from .random_draws import Draws
from .writes_and_questions import may_miss, order_of, ordered

if TYPE_CHECKING:
    from whet.ir.graph import Node
    from whet.ir.values import Array


def build_there(nodes: Sequence[Node], arrays: Sequence[Array], outside: Iterable[int],
                results: Iterable[int], homes: Homes, options: Options) -> DeviceProgram:
    """Build a program that computes `results` from `outside`, as `builder.build` does, where some
    values are on a device (`homes`)."""
    index = the_one(homes)
    outside, results = list(outside), list(dict.fromkeys(results))
    recorded = list(nodes if options.recorded is None else options.recorded)
    nodes = made_there(nodes, homes, results)
    roots = Roots(nodes, outside, results)
    nodes = seen_nodes(nodes, roots.root, outside, results)
    nodes, _ = ordered(nodes, roots.root, outside, arrays)
    plan = Plan(nodes, roots.root, arrays, set(results))
    maker = DeviceBuilder(nodes, list(arrays), roots, set(results), homes, index)
    maker.make()
    first, nodes = maker.first, maker.nodes
    # what the host writes first comes before questions that it came after
    undone = order_of(maker.in_order, roots.root, set(outside)).undone
    is_drawn_from = options.ends or any(isinstance(n, Draw) for n in nodes)
    draws = Draws(nodes, options.ends) if is_drawn_from else None
    return DeviceProgram(
        recorded=recorded, nodes=nodes, plan=plan,
        origin=roots.recorded, arrays=maker.work.types, outside=outside, results=results,
        notes=list(options.notes), rewritten=None, steps=list(nodes), called=nodes,
        undone=undone, draws=draws, may_miss=any(map(may_miss, nodes)), launches=len(nodes),
        hasty=set() if first is None else first.program.hasty,
        inputs=reached(arrays[n] for n in outside), is_on_device=True, first=first,
        stages=maker.stages)


def the_one(homes: Homes) -> int:
    """The one device that values are on."""
    found = {*homes.values()}
    if len(found) > 1:
        raise Refused(SeveralDevices())
    return found.pop()


class DeviceBuilder:
    """Builds a program for a device. `make` leaves what the host computes `first`, the `stages`,
    and the `nodes` of all of them."""

    def __init__(self, nodes: Sequence[Node], arrays: list[Array], roots: Roots, results: set[int],
                 homes: Homes, index: int) -> None:
        self.before, self.arrays, self.roots, self.results = nodes, arrays, roots, results
        self.homes, self.index, self.value_count = homes, index, len(arrays)
        self.first: OnHost | None = None
        self.stages: list[Stage] = []
        self.nodes: list[Node] = []
        self.in_order: list[Node] = []       # the nodes from before, as they are done

    def make(self) -> None:
        """Make the stages."""
        parts = parted(self.before, self.roots.root, self.homes, self.arrays)
        self.in_order = [*parts.before, *(
            n for s in parts.stages for n in (s if isinstance(s, list) else [s]))]
        wanted = self.wanted(parts.stages)
        if parts.before:
            self.first = self.on_host(parts.before, wanted[0])
            self.nodes += parts.before
        lists: list[list[Node] | Node] = [
            self.passed(s, later) if isinstance(s, list) else s
            for s, later in zip(parts.stages, wanted[1:], strict=True)]
        for s in lists:
            self.nodes += s if isinstance(s, list) else [s]
        types = [Type.of(a) for a in self.arrays]
        there = {*self.homes, *range(self.value_count, len(types))}  # passes see nothing else
        self.work = Work(self.index, types, there, self.lasting(wanted))
        self.stages = [
            Stage(self.index, s, later, self.work) if isinstance(s, list)
            else Single(self.index, [s], later, self.work)
            for s, later in zip(lists, wanted[1:], strict=True)]

    def wanted(self, stages: Sequence[list[Node] | Node]) -> list[set[int]]:
        """The values that are needed after the host's part, and after each stage."""
        found = [set(self.results)]
        for s in reversed(stages):
            found.append(found[-1].union(reads(s if isinstance(s, list) else [s])))
        return found[::-1]

    def on_host(self, nodes: list[Node], wanted: set[int]) -> OnHost | None:
        """The host's part, as a program of its own."""
        made = {o for n in nodes for o in n.outs}
        ins, outs = reads(nodes), sorted(made & wanted)
        return OnHost(build(nodes, self.arrays, ins, outs, Options(lends=False)), ins, outs)

    def passed(self, nodes: list[Node], wanted: set[int]) -> list[Node]:
        """The nodes of a stage after the passes."""
        root = self.roots.root
        ins = reads(nodes)
        visible = {*wanted, *(root[x] for x in wanted if x in root), *ins, *(root[x] for x in ins)}
        return optimize(nodes, root, self.arrays, visible, only=ON_DEVICES)

    def lasting(self, wanted: Sequence[set[int]]) -> set[int]:
        """The constants that all calls may share: made without operands, never written to, and not
        visible outside their stage."""
        root = self.roots.root
        seen = {root.get(x, x) for values in wanted for x in values}
        seen.update(root.get(x, x) for n in self.nodes for x in (*n.written(), *n.into.values()))
        return {o for n in self.nodes if isinstance(n, OpNode) and not n.refs() for o in n.outs
                if root.get(o, o) not in seen}
