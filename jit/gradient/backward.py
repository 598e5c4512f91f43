"""Gradients that flow out of a traced call: the backward of its results is recorded with it, and
runs as a second program.

The call becomes one node. Its edges are the *contributions* that eager's nodes would make, one by
one and in their order, so that what a leaf receives is summed as eager sums it.

The node is a short cut through eager's graph. If more than the gradients of the results is wanted,
eager's graph takes its place (`eager_graph.py`). That is so for a second derivative, for gradients
of some inputs alone, for hooks, and if code looks at the graph.
"""
from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from whet.autograd import modes
from whet.autograd.inplace import edge_of
from whet.autograd.node import CHANGED, RELEASED, Node, OutputOf, Shortcut, without_base
from whet.ir.graph import Type
from whet.passes import pipeline
from whet.passes.partition import NOTHING, Choice, Forward, Partition
from whet.tensor_base import wrap

from ..refusals.reasons import PythonBackward
from ..refusals.recording_errors import Refused
from ..refusals.replay_miss import Miss
from ..values.tensor_sources import MadeLeaf, Search, Source
from . import second_derivatives
from .backward_program import BackwardProgram, BackwardRun
from .eager_graph import Found, History, walk
from .example_gradients import beside, unlike
from .graph_maker import GraphMaker

if TYPE_CHECKING:
    from ..capture.recorder import Recorder
    from ..effects.recipes import Making
    from ..effects.tensor_recipes import VersionCell
    from .sized_eager_graph import GraphAtSizes

# of so many results every choice has its own backward; of more, all together and each alone
SUBSETS = 3
Some = tuple[int, ...]           # which outputs have a gradient


def choices(n: int) -> list[Some]:
    """Which of n outputs a backward is made for, all of them first."""
    every = tuple(range(n))
    found: list[Some] = [every, *((i,) for i in every if n > 1)]
    if n <= SUBSETS:
        found += [c for k in range(2, n) for c in itertools.combinations(every, k)]
    return found


class Backward:
    """What was learned of the backward of some results: the op of the node that a replay makes."""
    name, saves_output, nondiff_outputs, saves = "traced_call", False, frozenset[int](), None
    # the rounds in which the recording's calls are timed (see timing.py)
    trial: Any = None

    def __init__(self, rec: Recorder, results: Sequence[Any], values: Sequence[int], start: int,
                 source_of_edge: Callable[[Any], Source | None],
                 like: Backward | None = None) -> None:
        """Run the backward of the results, and of some of them alone, under the recorder's eyes.
        `values`: all that the call returns, `like`: the backward of another recording, whose
        programs may be of the same nodes."""
        roots = list(dict.fromkeys(edge_of(t) for t in results))
        # result -> which of the node's outputs it is
        self.output_of = [roots.index(edge_of(t)) for t in results]
        self.history = h = History(rec, roots, start)
        self.find_borders(source_of_edge)
        # of each output: was it made by a node of its own? Else it is one of several of a node.
        self.are_nodes = [type(r) is not OutputOf for r in roots]
        self.is_stale = False                # is what it reads written to, once it is saved?
        seeds = [next(t for t, e in zip(results, self.output_of) if e == k)
                 for k in range(len(roots))]
        numbers = unlike([t._array.shape for t in seeds])
        gradients = [beside(t, some) for t, some in zip(seeds, numbers, strict=True)]
        # the values that gradients are of: results, and what borders lead to
        self.ends_of = [rec.values.number(t._array) for t in seeds]
        outside = {id(t._node or t): n for n, t in rec.outside.items()}
        self.leads_to = [outside.get(id(e)) for e in h.borders]
        self.runs = self.run_all(rec, roots, gradients)      # until they are compared with programs
        is_partial = len(self.runs) < len(choices(len(roots)))
        self.choose_saved(rec, values, self.runs, is_partial)
        self.divide(rec, values, self.runs, like)
        known = {} if like is None else like.ways
        self.ways: dict[Some, BackwardProgram] = {
            some: BackwardProgram(rec, run, self.part, known.get(some))
            for some, run in self.runs.items()}
        if is_partial or not self.is_known(like):
            self.prove_that_enough_is_saved(rec, roots, gradients, is_partial)
        for run in self.runs.values():
            run.single.clear()
        self.sort(h.borders)
        h.forget()

    def run_all(self, rec: Recorder, roots: Sequence[Any],
                gradients: Sequence[Any]) -> dict[Some, BackwardRun]:
        """Record the backward from each choice of outputs, without those that come to freed parts
        of the graph."""
        forward, runs = rec.nodes, {}
        for some in choices(len(roots)):
            run = self.run(rec, {roots[i]: gradients[i] for i in some})
            if run is not None:
                runs[some] = run
                if len(some) < len(roots):
                    run.single.clear()       # a second derivative proves all at once
        rec.nodes = forward
        return runs

    def prove_that_enough_is_saved(self, rec: Recorder, roots: Sequence[Any],
                                   gradients: Sequence[Any], is_partial: bool) -> None:
        """Raise Refused where a second derivative would read values that nodes saved and no first
        derivative reads: a replay does not keep these."""
        held = [*self.saved, *self.dropped]
        if set(held).issuperset(self.history.holders):
            return
        if is_partial:
            raise Refused(PythonBackward(
                "its graph is used up in part, and holds what the recorder cannot see"))
        first = self.runs[tuple(range(len(roots)))].single
        if not second_derivatives.read_only(held, rec, self.history, gradients, first):
            raise Refused(PythonBackward("a second derivative would read what the first does not"))

    def find_borders(self, source_of_edge: Callable[[Any], Source | None]) -> None:
        """Find where edges lead that leave the graph. Some lead to tensors that the call makes."""
        self.sources = Search([source_of_edge(e) for e in self.history.borders])
        if None in self.sources.sources:
            raise Refused(PythonBackward("its gradients flow to a tensor that is not within reach"))
        self.made = [(i, s.recipe) for i, s in enumerate(self.sources.sources)
                     if isinstance(s, MadeLeaf)]

    def sort(self, edges: Sequence[Any]) -> None:
        """Note which edges lead to different places, and which places several edges lead to."""
        first = {id(e): k for k, e in reversed([*enumerate(edges)])}
        # the first edge to each place, and of these the ones that others lead to as well
        self.distinct = list(first.values())
        self.shared = [k for e, k in first.items() if sum(id(x) == e for x in edges) > 1]

    def is_known(self, like: Backward | None) -> bool:
        """Do its programs share the plans of another recording's backward?"""
        return like is not None and all(
            some in like.ways and way.program.plan is like.ways[some].program.plan
            for some, way in self.ways.items())

    def run(self, rec: Recorder, grads: dict[Any, Any]) -> BackwardRun | None:
        """Record the backward from some outputs. None where it needs something that the call has
        freed or written to."""
        seeds = {rec.values.made(g._array): g._array for g in grads.values()}
        rec.nodes, h, acts = [], self.history, len(rec.acts)
        ran: list[int] = []
        found: Found | None = None
        try:
            found = self.record(rec, grads, ran)
        except RuntimeError as e:            # eager's nodes will say so
            stale = str(e).startswith(CHANGED)
            if stale and h.saved_twice:
                raise Refused(PythonBackward(
                    "it saved a tensor for its gradients both before and after it wrote to it"
                )) from None
            if e.args != (RELEASED,) and not stale:
                raise
            self.is_stale |= stale
        if rec.reason:
            raise Refused(rec.reason)
        if any(c.args for c in rec.acts[acts:]):
            raise Refused(PythonBackward("its backward warns"))
        if found is None:
            return None
        return BackwardRun(
            rec, seeds, [(h.keys[key], g) for key, g in found], _bits(ran), h.borders)

    def choose_saved(self, rec: Recorder, values: Sequence[int], runs: dict[Some, BackwardRun],
                     is_partial: bool) -> None:
        """Choose the values of the forward that are kept for the backward. `is_partial`: some of
        its runs came to freed parts of the graph."""
        holders = self.history.holders
        self.saved = list(dict.fromkeys(n for run in runs.values() for n in run.reads()))
        if not set(holders).issuperset(self.saved):
            raise Refused(PythonBackward("its backward reads more than was saved for it"))
        # what eager saved in vain counts too where it can be written to: its backward says so
        within = {rec.values.root(n) for n in (*values, *rec.outside)}
        # a backward may read anything
        asked = is_partial or any(run.may_miss() for run in runs.values())
        self.saved += [n for n in holders if n is not None and n not in self.saved
                       and (asked or rec.values.root(n) in within)]

    def divide(self, rec: Recorder, values: Sequence[int], runs: dict[Some, BackwardRun],
               like: Backward | None) -> None:
        """Choose which values that the backward reads are kept, and which are computed again."""
        given_on = {n for run in runs.values() for n in run.values.values()}
        # what was written to later cannot be computed with again
        forward = Forward(
            rec.nodes, rec.values.arrays, list(rec.outside), values, self.saved, given_on)
        self.part: Partition | None = None if self.is_stale else pipeline.divided(
            forward, [run.nodes for run in runs.values()], rec.values.copied,
            None if like is None else like.choice)
        part = self.part
        self.choice: Choice = NOTHING if part is None else part.choice
        self.dropped: Sequence[int] = []
        self.keepers = self.history.holders
        again: list[Any] = []
        if part is not None:
            # A saved value is released with the last of the nodes that need it.
            self.saved, self.dropped, again = part.kept, part.dropped, part.recomputation()
            self.keepers = part.keepers(self.history.holders)
        self.computed_again = len(again)     # operations
        types = {o: Type.of(rec.values.arrays[o]) for n in again for o in n.outs}
        self.graph: GraphMaker | GraphAtSizes = GraphMaker(
            self.history, self.saved, self.dropped, again, types)

    def check(self, rec: Recorder, made: dict[int, Any] | None,
              runs: Mapping[Some, BackwardRun]) -> None:
        """Compare the programs with the recorded runs. `made`: the results of the forward's
        program, or None where nothing is compared."""
        if made is None:
            return
        saved = {n: made[n] if n in made else rec.originals.real(n) for n in self.saved}
        for some, run in runs.items():
            try:
                self.ways[some].check(rec, run, saved)
            except Miss as e:
                raise Refused(f"its backward cannot be recorded: {e}") from None

    def record(self, rec: Recorder, grads: dict[Any, Any], ran: list[int]) -> Found:
        """Record the engine's walk."""
        state = modes.state
        before = state.flags
        state.observers += (rec,)
        modes.set_flags(before & ~modes.GRAD)
        modes.refresh()
        try:
            return walk(self.history.order, grads, ran)
        finally:
            state.observers = tuple(o for o in state.observers if o is not rec)
            modes.set_flags(before)
            modes.refresh()

    def locate_saved(self, outside: Iterable[int], cells: dict[int, VersionCell]) -> None:
        """Note where a replay finds what is saved. `outside`: the values of the forward's inputs,
        in order; `cells`: value -> its version cell."""
        at = {n: i for i, n in enumerate(outside)}
        behind = self.history.behind if self.is_stale else {}
        self.saving = [(n, at.get(n), cells.get(n), behind.get(n, 0)) for n in self.saved]
        self.history.cells.clear()

    def begin(self, making: Making, tensors: Sequence[Any]) -> None:
        """Make the node of a replayed call. `tensors`: those that the forward's program was
        given."""
        found = self.sources.find(making.leaves)
        for i, recipe in self.made:
            found[i] = recipe.build(making)
        edges = tuple([edge_of(t) for t in found])
        node = CallNode(self, edges, {}, len(self.are_nodes))
        inputs, versions = [], []
        for n, position, cell, behind in self.saving:
            if position is not None:
                t = without_base(tensors[position])
            else:
                t = wrap(making.env[n])
                if cell is not None:
                    cell.tie(t, making)
            inputs.append(t)
            versions.append(t._version - behind)
        node.inputs, node.versions, node.gone, node.ran = inputs, versions, 0, 0
        making.ends, making.number = self.ends(node), node.seq

    def ends(self, node: CallNode) -> list[Any]:
        """The edge of each result. Where the output was made by a node of its own, it is an object
        that can become eager's node."""
        if self.are_nodes == [True]:
            return [node] * len(self.output_of)
        outs = [OutputOf(node, k) for k in range(len(self.are_nodes))]
        outs = [OutputNode(o) if is_node else o for o, is_node in zip(outs, self.are_nodes)]
        node.output_nodes = [weakref.ref(o) for o in outs]
        return [outs[k] for k in self.output_of]

    def backward(self, node: CallNode, g: Any) -> list[Any]:
        """Gradients for the edges."""
        if not self.trial.running:
            return self.gradients(node, g)
        found: list[Any] = self.trial.back(self.gradients, node, g)
        return found

    def gradients(self, node: CallNode, g: Any) -> list[Any]:
        """Gradients for the edges, not timed."""
        gs = g if type(g) is list else [g]
        way = self.ways.get(tuple([i for i, x in enumerate(gs) if x is not None]))
        xs = node.inputs
        if way is not None and not node.gone & way.ran \
                and (not self.shared or self.nothing_to_add_to(node)) \
                and [None if x is None else x._version for x in xs] == node.versions:
            got = way(dict(zip(self.saved, xs)), [x for x in gs if x is not None], len(node.edges))
            if got is not None:
                node.ran = way.ran
                return got
        else:
            way = None
        h = self.history
        nodes = self.graph.nodes(node, {})
        seeds = {nodes[h.roots[k]]: x for k, x in enumerate(gs) if x is not None}
        ran: list[int] = []
        try:
            found = {h.keys[key]: g for key, g in walk(nodes, seeds, ran)}
        finally:
            node.ran = _bits(ran)
        if way is not None:
            way.learn([x for x in gs if x is not None], found)
        return [found.get(k) for k in range(len(node.edges))]

    def nothing_to_add_to(self, node: CallNode) -> bool:
        """Has no place that several edges lead to a gradient so far? Then eager would sum theirs in
        the same order as the programs."""
        edges, before = node.edges, modes.state.pending
        if before is None or len({id(edges[k]) for k in self.distinct}) < len(self.distinct):
            return False
        grads, leaves = before
        return not any(edges[k] in grads or id(edges[k]) in leaves for k in self.shared)

    def release(self, node: CallNode) -> None:
        """Drop what the nodes that ran saved, unless another node needs it."""
        h = self.history
        gone = node.gone = node.gone | node.ran & h.holding
        node.released = gone == h.holding != 0
        node.inputs = [x if self.keepers[n] & ~gone else None
                       for n, x in zip(self.saved, node.inputs)]
        node.versions = [None if x is None else v for x, v in zip(node.inputs, node.versions)]

    def open(self, node: CallNode) -> None:
        """Put eager's graph in the place of the node and its outputs."""
        h = self.history
        outs = [node] if self.are_nodes == [True] else [d() for d in node.output_nodes]
        self.graph.nodes(node, {r: o for r, o in zip(h.roots, outs) if o is not None})
        if outs != [node]:                   # nothing leads to it any more
            node.op, node.edges, node.inputs = _through, (), ()


class CallNode(Shortcut):
    """The node of a traced call, until it is opened. `gone` and `ran`: the eager nodes that were
    released, and that ran last, as bits; `output_nodes`: the nodes of the outputs, weakly."""
    __slots__ = ("gone", "ran", "output_nodes")

    def open(self) -> None:
        if type(self.op) is Backward:
            self.op.open(self)

    def stale(self) -> bool:
        return type(self.op) is Backward \
            and [None if x is None else x._version for x in self.inputs] != self.versions

    def shares(self) -> bool:
        return type(self.op) is Backward and any(way.shared for way in self.op.ways.values())

    def release(self) -> None:
        if type(self.op) is Backward:
            self.op.release(self)
        else:
            Node.release(self)

    def broke_off(self) -> None:
        if type(self.op) is Backward:
            self.op.release(self)


class OutputNode(Shortcut):
    """One of several outputs of a traced call: leads there, until it is opened and becomes the
    node that made this output."""
    __slots__ = ()

    def __init__(self, out: Any) -> None:
        super().__init__(_through, (out,), {})

    def open(self) -> None:
        if self.op is _through:
            self.edges[0].parent.open()

    def stale(self) -> bool:
        return False


class _Through:
    name, saves_output, nondiff_outputs = "traced_call", False, frozenset[int]()

    @staticmethod
    def backward(node: Any, g: Any) -> list[Any]:
        return [g]


_through = _Through()


def _bits(numbers: Iterable[int]) -> int:
    return sum(1 << i for i in numbers)
