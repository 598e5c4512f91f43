"""Eager's autograd graph of a recorded call, kept without its tensors, so that it can be rebuilt
from what a replay saved.

A replayed call is one node (`backward.CallNode`) that runs a second program. That is a short cut,
right as long as no code looks at the graph that eager would have made. For second derivatives,
hooks, gradients of some inputs alone and the like, the engine opens it (`Shortcut.open`). Then the
very nodes of eager are made here: the same ops, edges, order and versions. They need no more than
the first derivative saved: what a backward of any order reads of the forward, the first backward
has read.
"""
from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from whet.autograd import engine, modes
from whet.autograd.function import FunctionNode
from whet.autograd.node import (
    RELEASED,
    Node,
    OutputOf,
    Packed,
    SavedOutput,
    is_saved,
    with_history,
)
from whet.tensor import wants_gradient, wrap
from whet.tensor_base import is_strided

from ..capture.followed_sizes import without_sizes
from ..refusals.reasons import PythonBackward
from ..refusals.recording_errors import Refused

if TYPE_CHECKING:
    from ..capture.recorder import Recorder

# value -> (a tensor, its version then)
Held: TypeAlias = Mapping[int | None, tuple[Any, int]]
# ((number of a node, of its edge), the gradient there), one by one
Found: TypeAlias = list[tuple[tuple[int, int], Any]]


def _rank(node: Any, start: int) -> Fraction:
    """Where a node stands among all nodes of the run, from its first one on. The number is a
    fraction where a short cut was opened in the run."""
    k: Fraction | int = node.seq - start + 1
    return Fraction(k) / (k + 1)


def flow_through(op: Any) -> PythonBackward:
    """Why gradients are not recorded that flow through an op whose backward is Python."""
    name = getattr(op, "called", op.name)
    return PythonBackward(f"its gradients flow through {name}, whose backward is Python")


class Output:
    """One of several outputs of the node with number `parent`."""
    __slots__ = ("rank", "parent", "index")

    def __init__(self, node: Any, start: int, parent: int) -> None:
        self.rank, self.parent, self.index = _rank(node, start), parent, node.index


class Spec:
    """A node: `inputs` and `outputs` are what it saved, with tensors as `Saved`; edges are
    numbers (see `History`). `inner`: the attribute that is a node itself."""
    inner: str | None = None
    inputs: list[Any]
    outputs: list[Any]

    def __init__(self, node: Any, start: int, edges: list[int | None]) -> None:
        self.rank = _rank(node, start)
        self.op, self.nout, self.outlines = node.op, node.nout, node.outlines
        self.released, self.edges = bool(node.released), edges
        self.attrs = without_sizes(node.attrs)
        self.versions = node.versions        # those of tensors differ in a replay

    @property
    def holds(self) -> bool:
        """Does it hold something that `release` drops?"""
        return bool(self.outputs) or any(
            type(x) is Saved or is_saved(x, v) for x, v in zip(self.inputs, self.versions))


class Saved:
    """A tensor that a node saved: its value, its edge, and what stands for it where no backward
    reads it."""
    __slots__ = ("value", "edge", "outside", "stand_in", "at")

    def __init__(self, value: int | None, edge: int | None, array: Any, outside: bool,
                 at: int = 0) -> None:
        self.value, self.edge, self.outside, self.at = value, edge, outside, at
        self.stand_in = stand_in(array.shape, array.dtype)


class History:
    """The nodes of a recording between some roots and what was there before, oldest first, by
    number. An edge is such a number, None, or ~k. The latter is edge k of `borders`, the edges that
    leave the recording, in the order in which the engine comes to them."""

    def __init__(self, rec: Recorder, roots: Sequence[Any], start: int) -> None:
        self.order, self.start = inside(roots, start), start
        self.number = {n: i for i, n in enumerate(self.order)}
        self.roots = [self.number[r] for r in roots]
        # edges; (number of a node, of its edge) -> which
        self.borders: list[Any] = []
        self.keys: dict[tuple[int, int], int] = {}
        for i, k, e in leaving(self.order):
            self.keys[i, k] = len(self.borders)
            self.borders.append(e)
        # value -> the nodes that saved it, as bits; the cell that counts its versions
        self.holders: dict[int | None, int] = {}
        self.cells: dict[int | None, Any] = {}
        # value -> how often it was written to after it was saved; is that a different number for
        # different nodes?
        self.behind: dict[int | None, int] = {}
        self.saved_twice = False
        self.specs = [self.output_of(n) if type(n) is OutputOf else self.spec(rec, i, n)
                      for i, n in enumerate(self.order)]
        self.holding = sum(1 << i for i, s in enumerate(self.specs)
                           if isinstance(s, Spec) and s.holds)

    def output_of(self, n: Any) -> Output:
        """One of several outputs of a node."""
        if n.pre_hooks:
            raise Refused(PythonBackward("hooks see its gradients"))
        return Output(n, self.start, self.number[n.parent])

    def spec(self, rec: Recorder, i: int, n: Any, outer: Any = None) -> Spec:
        """A node with this number, or one that the node `outer` keeps beside its edges."""
        if n.pre_hooks or n.post_hooks:
            raise Refused(PythonBackward("hooks see its gradients"))
        if isinstance(n, FunctionNode):
            raise Refused(flow_through(n.op))
        # (what wrote to a view has edges of its own, those from outside among those of the base's
        # node)
        edges = [
            None if e is None else self.number[e] if e in self.number else
            ~self.keys[i, k] if outer is None else ~self.keys[i, outer.edges.index(e)]
            for k, e in enumerate(n.edges)]
        if any(type(x) is Packed for x in (*n.inputs, *n.outputs)):
            raise Refused(PythonBackward("what its graph saved was packed by hooks"))
        s = Spec(n, self.start, edges)
        for k, v in s.attrs.items():
            if isinstance(v, Node):
                s.inner, s.attrs[k] = k, self.spec(rec, i, v, n)
            elif is_strided(v):
                raise Refused(PythonBackward(f"{n.op.name} keeps a tensor of its own"))
        s.inputs = [
            self.saved(rec, i, x, edges[k], v) if is_strided(x) else x
            for k, (x, v) in enumerate(zip(n.inputs, n.versions))]
        s.outputs = [
            x and self.note(
                i, Saved(rec.values.number(x.array), None, x.array, outside=False, at=x.index),
                x.cell, x.version)
            for x in n.outputs]
        return s

    def saved(self, rec: Recorder, i: int, x: Any, edge: int | None, version: int | None) -> Saved:
        n = rec.values.number(x._array)
        return self.note(
            i, Saved(n, edge if wants_gradient(x) else None, x._array,
                      outside=n is not None and rec.outside.get(n) is x), x._shared(), version)

    def note(self, i: int, saved: Saved, cell: Any, version: int | None) -> Saved:
        behind = 0 if version is None else cell.v - version
        self.saved_twice |= self.behind.setdefault(saved.value, behind) != behind
        self.cells[saved.value] = cell
        self.holders[saved.value] = self.holders.get(saved.value, 0) | 1 << i
        return saved

    def forget(self) -> None:
        """Let go of the recorded graph itself."""
        self.order, self.number, self.borders = [], {}, []

    def make(self, held: Held, borders: Sequence[Any], exits: dict[int, Any], number: Any,
             gone: int = 0) -> list[Any]:
        """The nodes, oldest first. `held`: value -> (tensor, its version then), `exits`: number ->
        an object that is to be that node, `number`: the call's place among all nodes, `gone`: nodes
        that were released, as bits."""
        made: list[Any] = []
        for i, s in enumerate(self.specs):
            node = exits.get(i)
            if isinstance(s, Output):
                node = OutputOf(made[s.parent], s.index) if node is None else node
                node.parent, node.index = made[s.parent], s.index
            else:
                node = self.fill(node, s, held, made, borders, gone >> i & 1)
                if s.inner is not None:
                    node.attrs[s.inner].seq = number - 1 + s.attrs[s.inner].rank
            node.seq = number - 1 + s.rank
            made.append(node)
        return made

    def fill(self, node: Any, s: Spec, held: Held, made: Sequence[Any], borders: Sequence[Any],
             released: int) -> Any:
        edges = tuple([None if e is None else made[e] if e >= 0 else borders[~e] for e in s.edges])
        attrs = (s.attrs if s.inner is None else {
            **s.attrs, s.inner: self.fill(None, s.attrs[s.inner], held, made, borders, released)})
        if node is None:
            node = Node(s.op, edges, attrs, s.nout)
        else:
            node.op, node.edges, node.attrs, node.nout = s.op, edges, attrs, s.nout
        node.inputs = node.outputs = node.versions = ()
        node.outlines, node.released = s.outlines, s.released or bool(released and s.holds)
        if not node.released:
            found = [
                self.tensor(x, e, held) if type(x) is Saved else (x, v)
                for x, e, v in zip(s.inputs, edges, s.versions)]
            node.inputs, node.versions = tuple([x for x, _ in found]), tuple([v for _, v in found])
            node.outputs = tuple([x and self.output(x, held) for x in s.outputs])
        return node

    def tensor(self, saved: Saved, edge: Any, held: Held) -> tuple[Any, int]:
        x, version = held.get(saved.value) or (wrap(saved.stand_in), 0)
        if saved.outside:
            return x, version
        t = wrap(x._array)
        t._cell = x._shared()
        return t if saved.edge is None else with_history(t, edge), version

    def output(self, saved: Saved, held: Held) -> Any:
        x, version = held.get(saved.value) or (wrap(saved.stand_in), 0)
        return SavedOutput.of(x._array, x._shared(), version, saved.at)


def stand_in(shape: Sequence[int], dtype: Any) -> Any:
    """An array of this shape and type with next to no memory, in place of one that is not read."""
    return np.broadcast_to(np.array(np.nan if dtype.kind in "fcV" else 0).astype(dtype), shape)


def walk(order: Sequence[Any], grads: dict[Any, Any], ran: list[int]) -> Found:
    """The engine's walk over nodes of one call (oldest first), keeping apart what it would add up
    outside. `grads`: node -> its gradient. Gives [((number of a node, of its edge), gradient)] for
    the edges that lead out; appends the numbers of the nodes that ran to `ran`."""
    number, out = {n: i for i, n in enumerate(order)}, []
    for i in reversed(range(len(order))):
        node = order[i]
        g = grads.pop(node, None)
        if g is None:
            continue
        if node.pre_hooks:
            raise Refused(PythonBackward("hooks see its gradients"))
        if type(node) is OutputOf:
            slots = grads.setdefault(node.parent, [None] * node.parent.nout)
            have = slots[node.index]
            slots[node.index] = g if have is None else have + g
            continue
        for n in (node, *_inner(node)):
            if getattr(n.op, "python", False) or any(type(x) is Packed for x in n.inputs):
                raise Refused(flow_through(n.op))
        found = node.op.backward(node, g)
        ran.append(i)
        for k, (e, r) in enumerate(zip(node.edges, found)):
            if r is None or e is None:
                continue
            if e not in number:
                if is_strided(e) and e._array.dtype is not r._array.dtype:
                    r = engine.cast_gradient(r, e)
                out.append(((i, k), r))
            else:
                have = grads.get(e)
                grads[e] = r if have is None else have + r
    return out


def used_up(t: Any, start: int) -> bool:
    """Is it certain that a gradient of this result comes to a node that was differentiated and
    freed, and is all freed that was saved? Else another error may come first, or a part of the
    graph is alive."""
    order = inside([t._node], start)
    nodes = [n for n in order if type(n) is not OutputOf]
    nodes += [v for n in nodes for v in _inner(n)]
    if (not any(n.released for n in nodes)
            or any(not n.released
                   and (n.outputs or any(map(is_saved, n.inputs, n.versions)))
                   for n in nodes)):
        return False
    try:
        with modes.no_grad():
            walk(order, {t._node: wrap(np.ones(t._array.shape, t._array.dtype))}, [])
    except Refused:
        raise
    except Exception as e:
        return e.args == (RELEASED,)
    return False


def leaving(order: Sequence[Any]) -> list[tuple[int, int, Any]]:
    """The edges that leave some nodes, in the order in which the engine's walk comes to them:
    (number of the node, of the edge, edge)."""
    within = set(order)
    return [(i, k, e) for i in reversed(range(len(order))) for k, e in enumerate(order[i].edges)
            if e is not None and e not in within]


def leaves_of(roots: Iterable[Any], start: int) -> dict[int, int]:
    """How often used-up graphs hold tensors, by the tensors' ids. They hold the leaves that they
    lead to, the gradients of these, and what a Function's forward put on its context."""
    nodes = inside(roots, start)
    ends = {r.parent if type(r) is OutputOf else r for r in roots}
    held = collections.Counter(
        id(e) for n in nodes for v in (n, *_inner(n)) for e in v.edges if is_strided(e))
    # Who is given the end of a graph can ask that node for them.
    contexts = [n.ctx for n in nodes if isinstance(n, FunctionNode) and n not in ends]
    attributes = [x for ctx in contexts for x in vars(ctx).values() if is_strided(x)]
    held.update([id(x) for x in attributes])
    held.update([id(x._base) for x in attributes if x._base is not None])
    leaves = {
        id(e): e for n in nodes for v in (n, *_inner(n)) for e in v.edges if is_strided(e)}
    held.update([id(e._grad) for e in leaves.values() if e._grad is not None])
    return held


def inside(roots: Iterable[Any], start: int) -> list[Any]:
    """The nodes of the recording that roots lead to, oldest first. A write to a view leads to the
    nodes that it found there as well."""
    seen, stack = set(roots), list(roots)
    while stack:
        n = stack.pop()
        for e in (*n.edges, *(e for v in _inner(n) for e in v.edges)):
            if e is not None and not is_strided(e) and e.seq >= start and e not in seen:
                seen.add(e)
                stack.append(e)
    return sorted(seen, key=lambda n: n.seq)


def _inner(node: Any) -> Sequence[Any]:
    """The nodes that a node keeps beside its edges."""
    return () if type(node) is OutputOf else [v for v in node.attrs.values() if isinstance(v, Node)]


def saved_by(roots: Iterable[Any], start: int) -> list[Any]:
    """The tensors that the recorded graph holds, and those that they are views of."""
    nodes = [n for n in inside(roots, start) if type(n) is not OutputOf and not n.released]
    nodes += [v for n in nodes for v in _inner(n)]
    held = [x for n in nodes for x in n.inputs if is_strided(x)]
    return held + [x._base for x in held if x._base is not None]
