"""The backward from some results of a call: as it was recorded, and as a program."""
from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from whet.ir.graph import Draw, Guard, Node, OpNode, Ref, Type
from whet.ops.registry import REGISTRY, execute
from whet.passes.partition import Partition
from whet.tensor_base import is_strided, wrap

from ..program import build_program
from ..program.builder import Options
from ..program.program import Program
from ..refusals.reasons import PythonBackward
from ..refusals.recording_errors import Refused, Wrong
from ..refusals.replay_miss import Miss
from ..values.same_bits import copy_with_layout, digest

if TYPE_CHECKING:
    from ..capture.recorder import Recorder

ADD = REGISTRY["add"]
LAYOUTS = 16                     # of gradients that are kept, of each backward
Strides: TypeAlias = tuple[Any, ...]     # of the gradients that a backward is given


def added(a: Any, b: Any) -> Any:
    """The sum of two arrays, as the engine adds gradients up."""
    with np.errstate(all="ignore"):
        return execute(ADD, (wrap(a), wrap(b)), {})._array


def spread(gradients: Sequence[Any]) -> tuple[bool, ...] | None:
    """Which gradients are a single number broadcast to all elements. None where one of the others
    is not dense."""
    arrays = [g._array for g in gradients]
    which = tuple([a.ndim > 0 and not any(a.strides) for a in arrays])
    dense = all(one or a.flags.c_contiguous for one, a in zip(which, arrays))
    return which if dense else None


class BackwardRun:
    """The backward from some of the outputs, as it was recorded. `seeds`: the gradients of the
    outputs by value. `found`: [(edge, what it gets)], one by one and in eager's order. `ran`: how
    many eager nodes ran. `edges`: where the edges lead."""

    def __init__(self, rec: Recorder, seeds: dict[int, Any], found: Sequence[tuple[int, Any]],
                 ran: int, edges: Sequence[Any]) -> None:
        self.nodes: list[Node] = rec.nodes
        self.seeds, self.ran = seeds, ran
        self.single = {k: g._array for k, g in found}
        # those that lead to one place together
        self.values: dict[int, int] = {k: rec.value(g) for k, g in found}
        self.sums: dict[int, list[int]] = {}         # the first of those -> the others
        made = dict(zip(self.values.values(), self.single.values()))
        self.add_up(rec, edges, made)
        self.digests = {n: digest(made[n]) for n in self.values.values()}

    def reads(self) -> list[int]:
        """The values of the forward that it reads or passes on."""
        inside = {o for n in self.nodes for o in n.outs} | set(self.seeds)
        read = (int(x) for n in self.nodes for x in n.refs())
        return [n for n in (*read, *self.values.values()) if n not in inside]

    def add_up(self, rec: Recorder, edges: Sequence[Any], made: dict[int, Any]) -> None:
        """Let edges that lead to one place have one gradient, as the engine adds them up. `made`:
        the gradients by value, which gets the sums."""
        groups: dict[int, list[int]] = {}
        for k in sorted(self.values):
            groups.setdefault(id(edges[k]), []).append(k)
        for first, *others in groups.values():
            arrays, leaf = [made[self.values[k]] for k in (first, *others)], edges[first]
            wanted = leaf._array.dtype if is_strided(leaf) else arrays[0].dtype
            if any(a.dtype != wanted or a.shape != arrays[0].shape for a in arrays):
                continue                     # the engine casts what a leaf gets
            for k in others:
                have, more = self.values[first], self.values.pop(k)
                total = added(made[have], made[more])
                n = rec.values.made(total)
                made[n] = total
                self.nodes.append(OpNode(ADD, (Ref(have), Ref(more)), {}, [n], ""))
                self.values[first] = n
            self.sums[first] = others

    def may_miss(self) -> bool:
        """May another call have to go another way?"""
        return any(not (n.steady or isinstance(n, Draw)) for n in self.nodes)


class BackwardProgram:
    """The backward from some of the outputs as a program, which works for one call at a time."""

    def __init__(self, rec: Recorder, run: BackwardRun, part: Partition | None,
                 like: BackwardProgram | None = None) -> None:
        nodes = run.nodes if part is None else part.backward(run.nodes)
        self.incoming, self.values, self.sums, self.ran = (
            list(run.seeds), run.values, run.sums, run.ran)
        self.lock = threading.Lock()
        got = list(run.values.values())
        inside = {o for n in nodes for o in n.outs} | set(self.incoming)
        read = (int(x) for n in nodes for x in n.refs())
        self.saved = list(dict.fromkeys(n for n in (*read, *got) if n not in inside))
        self.program: Program = build_program.build(
            nodes, rec.values, [*self.saved, *self.incoming], got,
            Options(like=None if like is None else like.program))
        origin = self.program.origin
        writes = {origin[x] for n in nodes for x in n.written()}
        if writes - inside or any(isinstance(n, (Draw, Guard)) for n in nodes):
            raise Refused(PythonBackward("its backward writes to tensors, or depends on values"))
        # memory that something else holds too must not become a leaf's gradient
        roots = [origin[n] for n in dict.fromkeys(got)]
        self.shared = {n for n in got
                       if origin[n] in self.program.outside or roots.count(origin[n]) > 1}
        # The layout of eager's results follows the layout of the incoming gradients.
        self.layouts: dict[Strides, dict[int, Type]] = {
            tuple([rec.values.arrays[n].strides for n in self.incoming]): {}}
        # Gradients that are spread over all elements, as a sum's is, have strides of 0. Where eager
        # lays what it finds of some as the program does, it does so at any sizes.
        self.spread: set[tuple[bool, ...]] = set()

    def at(self, program: Program) -> BackwardProgram:
        """This backward for other sizes, which are those of `program`."""
        made = copy.copy(self)
        made.program = program
        made.layouts = {tuple([program.arrays[n].strides for n in self.incoming]): {}}
        return made

    def check(self, rec: Recorder, run: BackwardRun, saved: dict[int, Any]) -> None:
        """Compare the program with the run that it was made from. `saved`: value -> its array."""
        inputs = {**{n: saved[n] for n in self.saved}, **run.seeds}
        env = self.program(list(inputs.values()))
        if not all(digest(env[n]) == d for n, d in run.digests.items()):
            from ..program.reproducer import report  # seldom needed
            small = report(self.program.recorded, rec.values.arrays, inputs, run.digests)
            raise Wrong(f"a replay of its backward gives other bits: {small}")

    def learn(self, gradients: Sequence[Any], found: dict[int, Any]) -> None:
        """Note the layout in which eager made each gradient: {edge: gradient}."""
        layout: dict[int, Type] = {}
        for k, n in self.values.items():
            if n not in self.incoming and k in found:
                a = found[k]._array
                for other in self.sums.get(k, ()):
                    a = added(a, found[other]._array)
                if a.strides != self.program.arrays[n].strides:
                    layout[n] = Type.of(a)
        which = spread(gradients)
        if which and not layout:
            self.spread.add(which)
        if len(self.layouts) < LAYOUTS:
            self.layouts[tuple([x._array.strides for x in gradients])] = layout

    def __call__(self, saved: dict[int, Any], gradients: Sequence[Any],
                 count: int) -> list[Any] | None:
        """The gradients of the edges. None where the program does not fit, or is in use."""
        layout = self.layouts.get(tuple([x._array.strides for x in gradients]))
        if layout is None:
            if spread(gradients) not in self.spread:
                return None
            layout = {}
        inputs = [saved[n]._array for n in self.saved]
        for x, n in zip(gradients, self.incoming):
            a, like = x._array, self.program.arrays[n]
            if a.dtype != like.dtype:
                return None
            inputs.append(a if a.strides == like.strides else copy_with_layout(a, like))
        if not self.lock.acquire(False):     # another thread works in the program's memory
            return None
        try:
            env = self.program(inputs)
        except Miss:
            return None
        finally:
            self.lock.release()
        passed = {n: x._array for n, x in zip(self.incoming, gradients)}     # in their layouts
        made = {n: wrap(passed.get(n, env[n])) for n in self.values.values()}
        for n, kind in layout.items():
            made[n] = wrap(copy_with_layout(env[n], kind))
        for n in self.shared:
            made[n]._shared()
        out: list[Any] = [None] * count
        for k, n in self.values.items():
            out[k] = made[n]
        return out
