"""The kinds of nodes: how each is launched by machine code, and what Python does where it is not.

A kind gives the entries of a node's launches (`launches`), or None where Python does it (`run`).
A group that has no kernel as one `splits` into the nodes that it stands for.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import numpy as np
from whet.cpu.pointwise import Pointwise
from whet.dtypes import FROM_NUMPY
from whet.ir import graph
from whet.ir import scalar as S
from whet.ir.graph import Group as GroupNode
from whet.ir.graph import Node, Ref
from whet.ir.outline import broadcast_shapes
from whet.ops.pointwise_family import PointwiseOp
from whet.ops.write_to_each import WriteToEach
from whet.optim.update_ops import Update
from whet.passes.fuse_epilogues import CONTRACTIONS

from ..refusals.reasons import Shapes
from ..refusals.replay_miss import Miss, broken
from ..values.same_bits import template
from . import (
    contractions,
    kernel_groups,
    numpy_launches,
    optimizer_updates,
    product_chains,
    rolled_loops,
)
from .value_places import equivalent_layout

if TYPE_CHECKING:

    from .builder import ProgramBuilder
    from .launch_entries import Entries
    from .launch_program import LaunchProgram

N = TypeVar("N", bound=Node)
Outlines: TypeAlias = Mapping[int, Any] | Sequence[Any]  # of each value: its memory layout


class Kind(Generic[N]):
    """What is known of one kind of node. A node's operands are `ins`. For `launches` these are
    stand-ins, and it gets the builder. For `run` they are arrays, and it gets the program and the
    arrays of a call."""

    def launches(self, b: ProgramBuilder, node: N) -> Entries | None:
        """The entries of a node's launches, or None."""
        ins = [b.held[x] if type(x) is Ref else x for x in node.ins]
        if any(b.arrays[o].size == 0 for o in node.outs):
            return None
        return self.entries(b, node, ins)

    def entries(self, b: ProgramBuilder, node: N, ins: Sequence[Any]) -> Entries | None:
        """The entries of a node's launches, or None. Called only if kernels can read the operands
        and the results have elements."""
        raise NotImplementedError

    def run(self, node: N, ins: Sequence[Any], program: LaunchProgram,
            env: list[Any]) -> None:
        """Run the node in Python; put the results' arrays into `env`."""
        raise NotImplementedError

    def splits(self, node: N, arrays: Outlines, compiled: bool) -> bool:
        """Is the node run as its members if no launch computes it? `compiled`: are launches
        possible at all?"""
        return False


class Group(Kind[N]):
    """Nodes that one kernel computes. NumPy, run in its place, would give other bits."""

    def __init__(self,
                 entries: Callable[[ProgramBuilder, N, Sequence[Any]], Entries | None]) -> None:
        self.kernel = entries

    def entries(self, b: ProgramBuilder, node: N, ins: Sequence[Any]) -> Entries | None:
        return self.kernel(b, node, ins)

    def splits(self, node: N, arrays: Outlines, compiled: bool) -> bool:
        return True


class Fused(Group[graph.Fused]):
    """Pointwise nodes of one shape."""

    def splits(self, node: graph.Fused, arrays: Outlines, compiled: bool) -> bool:
        if compiled:
            return True
        ins = [arrays[x] if type(x) is Ref else x for x in node.ins]
        return not self.pointwise(node).has_kernel(ins, [arrays[o] for o in node.outs])

    def pointwise(self, node: graph.Fused) -> Pointwise:
        return Pointwise("fused", node.exprs, len(node.ins))

    def run(self, node: graph.Fused, ins: Sequence[Any], program: LaunchProgram,
            env: list[Any]) -> None:
        into = node.attrs.get("into", {})
        outs = [env[into[o]] if o in into else env[o] for o in node.outs]
        outs = [template(program.arrays[o]) if a is None else a for o, a in zip(node.outs, outs)]
        for o, r in zip(node.outs, self.pointwise(node)(ins, outs)):
            env[o] = r


class Roll(Kind[graph.Roll]):
    """A loop."""

    def splits(self, node: graph.Roll, arrays: Outlines, compiled: bool) -> bool:
        return True

    def launches(self, b: ProgramBuilder, node: graph.Roll) -> Entries | None:
        return rolled_loops.launches(b, node.value)


class Call(Kind[graph.OpNode]):
    """An op that makes values, defined by its `forward`."""

    def entries(self, b: ProgramBuilder, node: graph.OpNode, ins: Sequence[Any]) -> Entries | None:
        op = node.op
        if op.name in CONTRACTIONS:
            entries = contractions.launches(b, node, ins)
            if entries is not None or not (op.is_repeatable or op.launches):
                return entries
        if not ins and not op.random:
            return numpy_launches.constant(b, node)
        if numpy_launches.is_moved(op):
            return numpy_launches.moved(b, node, ins, b.places.memory(node.outs[0]))
        entries = self.taped(b, node, ins, op.forward) if op.is_repeatable or op.launches else None
        if entries is None and op.forward_without_numpy is not None:
            form = b.without_numpy(op.forward_without_numpy, ins[0], ins[1:])
            return None if form is None else self.taped(b, node, ins, form)
        return entries

    def taped(self, b: ProgramBuilder, node: graph.OpNode, ins: Sequence[Any],
              forward: Callable[..., Any]) -> Entries | None:
        """The launches that `forward` makes for a node."""
        op = node.op
        made: list[Any] = []
        if op.may_fail:
            b.as_indices(ins[1:])

        def run() -> None:
            r = forward(*ins, **node.attrs)
            made.extend(r if type(r) is tuple else (r,))
        return b.take(run, ins, made, node.outs, node)

    def run(self, node: graph.OpNode, ins: Sequence[Any], program: LaunchProgram,
            env: list[Any]) -> None:
        store_in_recorded_layout(node, node.op.forward(*ins, **node.attrs), program, env)


class Draw(Kind[graph.Draw]):
    """Random numbers."""

    def entries(self, b: ProgramBuilder, node: graph.Draw, ins: Sequence[Any]) -> Entries | None:
        return numpy_launches.drawn(b, node)

    def run(self, node: graph.Draw, ins: Sequence[Any], program: LaunchProgram,
            env: list[Any]) -> None:
        draws: Any = program.draws           # there are draws, so this is set
        seed, offset = map(int, draws.of(node))
        made = node.op.forward(shape=node.attrs["shape"], seed=seed, offset=offset)
        store_in_recorded_layout(node, made, program, env)


class Write(Kind[graph.Write]):
    """An op that writes to its first operand; some ops write to several."""

    def entries(self, b: ProgramBuilder, node: graph.Write, ins: Sequence[Any]) -> Entries | None:
        if isinstance(node.op, Update):
            return optimizer_updates.launches(b, node.op, node)
        if isinstance(node.op, WriteToEach):
            return kernel_groups.written_to_each(b, node.op, node)
        others = [x for x in node.ins[1:] if type(x) is Ref]
        if numpy_launches.is_moved(node.op):
            if node.op.write is None:        # What it moves makes a new value, of all operands.
                return None
            entwined = any(b.places.overlap(node.ins[0], x) for x in others)
            return None if entwined else numpy_launches.moved(b, node, ins[1:], ins[0])
        others = [x for x in others if x != node.ins[0]]
        if ins[0].size == 0 or not ins[0].flags.aligned:
            return None
        if any(b.places.overlap(node.ins[0], x) for x in others):
            return None
        return self.one_kernel(b, node, ins)

    def one_kernel(self, b: ProgramBuilder, node: graph.Write,
                   ins: Sequence[Any]) -> Entries | None:
        """A copy, or a pointwise op whose result has the sizes of the first operand. It is stored
        in the type of that operand, whatever type it is computed in."""
        a, op, wanted = ins[0], node.op, FROM_NUMPY[ins[0].dtype].short
        if node.attrs:
            return None
        others = [x for x in ins[1:] if isinstance(x, np.ndarray)]
        if op.name == "copy":
            (src,) = others
            root = S.arg(0) if FROM_NUMPY[src.dtype].short == wanted else S.cast(S.arg(0), wanted)
            kernel = Pointwise("copy", (root,), 1)
            return b.take(lambda: kernel([src], [a]), ins)
        if not isinstance(op, PointwiseOp) or op.gives_real:
            return None
        if broadcast_shapes(a.shape, *[x.shape for x in others]) != a.shape:
            return None
        kernel, number, t = op.plan(ins)
        if (op.result or t.short) != wanted:
            kernel = Pointwise(op.name, (S.cast(kernel.roots[0], wanted),), kernel.nin)
        xs = [x if isinstance(x, np.ndarray) else op._number(x, number, t) for x in ins]
        return b.take(lambda: kernel(xs, [a]), xs)

    def run(self, node: graph.Write, ins: Sequence[Any], program: LaunchProgram,
            env: list[Any]) -> None:
        if node.op.write is not None:
            node.op.write(*ins, **node.attrs)
        else:
            np.copyto(ins[0], node.op.forward(*ins, **node.attrs), casting="unsafe")


class Guard(Kind[graph.Guard]):
    """Check that a value that Python continued from is the same."""

    def entries(self, b: ProgramBuilder, node: graph.Guard, ins: Sequence[Any]) -> Entries | None:
        return numpy_launches.same(b, node, ins[0])

    def run(self, node: graph.Guard, ins: Sequence[Any], program: LaunchProgram,
            env: list[Any]) -> None:
        if ins[0].tobytes() != node.value.tobytes():
            raise Miss(broken(node))


class Ask(Kind[graph.Ask]):
    """Check that a question about values has the same answer."""

    def entries(self, b: ProgramBuilder, node: graph.Ask, ins: Sequence[Any]) -> Entries | None:
        return numpy_launches.asked(b, node, *ins)

    def run(self, node: graph.Ask, ins: Sequence[Any], program: LaunchProgram,
            env: list[Any]) -> None:
        if node.attrs["question"](*ins) != node.value:
            raise Miss(broken(node))


KINDS: dict[str, Kind[Any]] = {
    "op": Call(),
    "write": Write(),
    "draw": Draw(),
    "guard": Guard(),
    "ask": Ask(),
    "fused": Fused(kernel_groups.fused),
    "rows": Group(kernel_groups.row_program),
    "parts": Group(kernel_groups.parts),
    "picks": Group(kernel_groups.gathers),
    "many": Group(lambda b, node, ins: kernel_groups.many(b, node)),
    "contract": Group(contractions.launches),
    "chain": Group(lambda b, node, ins: product_chains.launches(b, node)),
    "roll": Roll(),
}


def members(node: Node) -> list[Node]:
    """The nodes that a group consists of."""
    return node.apart() if isinstance(node, GroupNode) else list(node.members)


def store_in_recorded_layout(node: graph.OpNode | graph.Draw, made: Any, program: LaunchProgram,
         env: list[Any]) -> None:
    """An op's result in the layout that was recorded. A counted result may have any size."""
    for o, r in zip(node.outs, made if type(made) is tuple else (made,)):
        r, like = np.asarray(r), program.arrays[o]
        if o in program.counted:
            env[o] = np.ascontiguousarray(r)
            continue
        if not equivalent_layout(r, like):
            raise Miss(Shapes(f"what {node.op.name} gives has another shape", node.line))
        if r.strides != like.strides:
            r = np.lib.stride_tricks.as_strided(r, r.shape, like.strides)
        env[o] = r
