"""Gradients that flow out of a traced call: the backward of its results is recorded with it, and runs as a second program.

The call becomes one node. Its edges are the *contributions* that eager's nodes would make, one by one and in their order, so that what
a leaf receives is summed as eager sums it. It is a short cut through eager's graph (`eager_graph.py`), which takes its place where somebody
wants more than the gradients of the results: a second derivative, those of some inputs alone, hooks, or a look at the graph.
"""
import itertools
import threading
import weakref

import numpy as np
from whet.autograd import modes
from whet.autograd.inplace import edge_of
from whet.autograd.node import RELEASED, Node, OutputOf, Shortcut
from whet.ir.graph import Draw, Guard, OpNode, Ref, Type, Write
from whet.ir.interpret import step
from whet.ops.registry import REGISTRY
from whet.passes import pipeline
from whet.passes.partition import NOTHING
from whet.tensor_base import Base, wrap

from ..capture.refused import Refused, Wrong
from ..capture.tensor_sources import Search
from ..program import builder
from ..program.program import Miss
from ..report.reasons import PythonBackward
from ..verify.same_bits import digest, roughly_equal, template
from .eager_graph import History, walk

ADD = REGISTRY["add"]
LAYOUTS = 16                     # of gradients that are kept, of each backward
SUBSETS = 3                      # of so many results every choice has its own backward; of more, all together and each alone


class Backward:
    """What was learned of the backward of some results: the op of the node that a replay makes."""
    name, saves_output, nondiff_outputs, saves = "traced_call", False, frozenset(), None
    trial = None                             # the rounds in which the recording's calls are timed (see timing.py)

    def __init__(self, rec, results, values, start, source_of_edge, like=None):
        """Run the backward of the results, and of some of them alone, under the recorder's eyes. `values`: all that the call returns, `like`:
        the backward of another recording, whose programs may be of the same nodes."""
        roots = list(dict.fromkeys(edge_of(t) for t in results))
        self.exit = [roots.index(edge_of(t)) for t in results]         # result -> which of the node's outputs it is
        self.history = h = History(rec, roots, start)
        self.sources = Search([source_of_edge(e) for e in h.borders])
        if None in self.sources.sources:
            raise Refused(PythonBackward("its gradients flow to a tensor that is not within reach"))
        self.plain = [type(r) is not OutputOf for r in roots]
        forward, rng = rec.nodes, np.random.default_rng(0)
        seeds = [next(t for t, e in zip(results, self.exit) if e == k) for k in range(len(roots))]
        gradients = [wrap(rng.uniform(0.5, 1.5, t._array.shape).astype(t._array.dtype)) for t in seeds]
        n = len(roots)
        every = tuple(range(n))
        wanted = [every, *((i,) for i in every if n > 1)]
        if n <= SUBSETS:
            wanted += [c for k in range(2, n) for c in itertools.combinations(every, k)]
        runs = {}                            # which outputs have a gradient -> the run of their backward
        for some in wanted:
            run = self.run(rec, {roots[i]: gradients[i] for i in some})
            if run is not None:
                runs[some] = run
                if some != every:
                    run.single.clear()       # (those of all together are proved by a second derivative)
        rec.nodes = forward
        self.saved = list(dict.fromkeys(n for run in runs.values() for n in run.reads()))
        if not set(h.holders).issuperset(self.saved):
            raise Refused(PythonBackward("its backward reads more than was saved for it"))
        # what eager saved in vain counts too where it can be written to: its backward says so
        within = {rec.memory.get(n, n) for n in (*values, *rec.outside)}
        partly = len(runs) < len(wanted)
        asked = partly or any(run.may_miss() for run in runs.values())       # a backward may read anything
        self.saved += [n for n in h.holders if n is not None and n not in self.saved and (asked or rec.memory.get(n, n) in within)]
        self.divide(rec, values, runs, like)
        # which outputs have a gradient -> how the edges get theirs
        self.ways = {some: _Way(rec, run, self.part, like and like.ways.get(some)) for some, run in runs.items()}
        known = like is not None and all(some in like.ways and way.program.plan is like.ways[some].program.plan for some, way in self.ways.items())
        held = [*self.saved, *self.dropped]
        if (partly or not known) and not set(held).issuperset(h.holders):
            if partly:
                raise Refused(PythonBackward("its graph is used up in part, and holds what the recorder cannot see"))
            self.prove(rec, roots, gradients, held, runs[every].single)
        for run in runs.values():
            run.single.clear()
        self.runs = runs                     # until they are compared with their programs
        # the edges that lead to different places; those of which several lead to one
        first = {id(e): k for k, e in reversed([*enumerate(h.borders)])}
        self.apart = list(first.values())
        self.several = [k for e, k in first.items() if sum(id(x) == e for x in h.borders) > 1]
        h.forget()

    def run(self, rec, grads):
        """The backward from some outputs, run under the recorder's eyes; None where the call has used up what it needs."""
        seeds, rec.nodes, ran, h = {rec.values.made(g._array): g._array for g in grads.values()}, [], [], self.history
        try:
            found = self.record(rec, grads, ran)
        except RuntimeError as e:
            if e.args != (RELEASED,):
                raise
            found = None                     # eager's nodes will say so
        if rec.reason:
            raise Refused(rec.reason)
        return None if found is None else _Run(rec, seeds, [(h.keys[key], g) for key, g in found], _bits(ran), h.borders)

    def divide(self, rec, values, runs, like):
        """Choose what is kept for the backward of what it reads, and what is computed again."""
        given_on = {n for run in runs.values() for n in run.values.values()}
        self.part = part = pipeline.divided(rec.nodes, [run.nodes for run in runs.values()], rec.arrays, list(rec.outside), values,
                                            self.saved, given_on, rec.values.copied, like and like.choice)
        self.choice = NOTHING if part is None else part.choice
        self.dropped, self.again, self.keepers = [], [], self.history.holders
        if part is not None:
            # (a kept value is released with the last of the nodes for whose sake it is kept)
            self.saved, self.dropped, self.again = part.kept, part.dropped, part.all()
            self.keepers = part.keepers(self.history.holders)
            self.types = {o: Type.of(rec.arrays[o]) for n in self.again for o in n.outs}

    def check(self, rec, made):
        """The programs against the runs. `made`: the results of the forward's program, or None where nothing is to be compared."""
        runs, self.runs = self.runs, None
        if made is None:
            return
        saved = {n: made[n] if n in made else rec.arrays[n] for n in self.saved}
        for some, run in runs.items():
            try:
                self.ways[some].check(rec, run, saved)
            except Miss as e:
                raise Refused(f"its backward cannot be recorded: {e}") from None

    def record(self, rec, grads, ran):
        """The engine's walk, seen by the recorder."""
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

    def prove(self, rec, roots, gradients, values, wanted):
        """Some of what nodes saved is read by no first derivative, and is not kept: is it by none where a graph of the gradients is made?"""
        h, held = self.history, {}
        for n in values:
            a = rec.values.array(n)
            if a is not None:                # (what eager did not save either is read by nobody here)
                t = rec.outside[n] if n in rec.outside else wrap(a)
                held[n] = t, t._version
        nodes = h.make(held, h.borders, {}, 1)
        with modes.enable_grad():
            found = walk(nodes, {nodes[r]: g for r, g in zip(h.roots, gradients)}, [])
        if {h.keys[key] for key, _ in found} != wanted.keys() or not all(roughly_equal(g._array, wanted[h.keys[key]]) for key, g in found):
            raise Refused(PythonBackward("a second derivative would read what the first does not"))

    def settle(self, outside, cells):
        """Note how a replay comes by what is saved. `outside`: the values that the forward's program is given, in order, `cells`: value ->
        the cell that counts its versions."""
        at = {n: i for i, n in enumerate(outside)}
        self.saving = [(n, at.get(n), cells.get(n)) for n in self.saved]
        self.history.cells = None

    def begin(self, making, tensors):
        """Make the node of a replayed call. `tensors`: those that the forward's program was given."""
        node = Call(self, tuple([edge_of(t) for t in self.sources.find(making.leaves)]), {}, len(self.plain))
        inputs, versions = [], []
        for n, given, cell in self.saving:
            if given is not None:
                t = tensors[given]
            else:
                t = wrap(making.env[n])
                if cell is not None:
                    cell.tie(t, making)
            inputs.append(t)
            versions.append(t._version)
        node.inputs, node.versions, node.gone, node.ran = inputs, versions, 0, 0
        making.ends, making.number = self.ends(node), node.seq

    def ends(self, node):
        """The edge of each result. That of a plain one is an object that can become eager's node."""
        if self.plain == [True]:
            return [node] * len(self.exit)
        outs = [OutputOf(node, k) for k in range(len(self.plain))]
        outs = [Door(node, o) if plain else o for o, plain in zip(outs, self.plain)]
        node.doors = [weakref.ref(o) for o in outs]
        return [outs[k] for k in self.exit]

    def backward(self, node, g):
        """Gradients for the edges."""
        return self.gradients(node, g) if not self.trial.running else self.trial.back(self.gradients, node, g)

    def gradients(self, node, g):
        """The same, not timed."""
        gs = g if type(g) is list else [g]
        way = self.ways.get(tuple([i for i, x in enumerate(gs) if x is not None]))
        xs = node.inputs
        if way is not None and not node.gone & way.ran and (not self.several or self.alone(node)) \
                and [None if x is None else x._version for x in xs] == node.versions:
            got = way(dict(zip(self.saved, xs)), [x for x in gs if x is not None], len(node.edges))
            if got is not None:
                node.ran = way.ran
                return got
        else:
            way = None
        h = self.history
        nodes = h.make(self.held(node), node.edges, {}, node.seq, node.gone)
        ran: list = []
        try:
            found = {h.keys[key]: g for key, g in walk(nodes, {nodes[h.roots[k]]: x for k, x in enumerate(gs) if x is not None}, ran)}
        finally:
            node.ran = _bits(ran)
        if way is not None:
            way.learn([x for x in gs if x is not None], found)
        return [found.get(k) for k in range(len(node.edges))]

    def alone(self, node):
        """Is what the programs have added up for an edge all that there is for it so far, so that eager would add it up as they do?"""
        edges, before = node.edges, modes.state.pending
        if before is None or len({id(edges[k]) for k in self.apart}) < len(self.apart):
            return False
        grads, leaves = before
        return not any(edges[k] in grads or id(edges[k]) in leaves for k in self.several)

    def held(self, node):
        """What a call has saved and not released: {value: (tensor, its version then)}."""
        held = {n: (x, v) for n, x, v in zip(self.saved, node.inputs, node.versions) if x is not None}
        if self.again:
            env = {n: x._array for n, (x, _) in held.items()}
            with np.errstate(all="ignore"):
                for n in self.again:
                    if all(x in env for x in n.refs()):
                        step(n, env, self.types, {})
            held.update((n, (wrap(env[n]), 0)) for n in self.dropped if n in env and self.history.holders[n] & ~node.gone)
        return held

    def release(self, node):
        """Drop what the nodes that ran saved, and no other needs."""
        h = self.history
        gone = node.gone = node.gone | node.ran & h.holding
        node.released = gone == h.holding != 0
        node.inputs = [x if self.keepers[n] & ~gone else None for n, x in zip(self.saved, node.inputs)]
        node.versions = [None if x is None else v for x, v in zip(node.inputs, node.versions)]

    def open(self, node):
        """Put eager's graph in the place of the node and its outputs."""
        h = self.history
        outs = [node] if self.plain == [True] else [d() for d in node.doors]
        h.make(self.held(node), node.edges, {r: o for r, o in zip(h.roots, outs) if o is not None}, node.seq, node.gone)
        if outs != [node]:                   # nothing leads to it any more
            node.op, node.edges, node.inputs = _through, (), ()


class Call(Shortcut):
    """The node of a traced call, until it is opened."""
    __slots__ = ("gone", "ran", "doors")     # the eager nodes that were released, that ran last (as bits); the outputs, weakly

    def open(self):
        if type(self.op) is Backward:
            self.op.open(self)

    def stale(self):
        return type(self.op) is Backward and [None if x is None else x._version for x in self.inputs] != self.versions

    def shares(self):
        return type(self.op) is Backward and any(way.shared for way in self.op.ways.values())

    def release(self):
        if type(self.op) is Backward:
            self.op.release(self)
        else:
            Node.release(self)

    def broke_off(self):
        if type(self.op) is Backward:
            self.op.release(self)


class Door(Shortcut):
    """One of several outputs of a traced call: leads there, until it is opened and becomes the node that made this output."""
    __slots__ = ()

    def __init__(self, call, out):
        super().__init__(_through, (out,), {})

    def open(self):
        if self.op is _through:
            self.edges[0].parent.open()

    def stale(self):
        return False


class _Through:
    name, saves_output, nondiff_outputs = "traced_call", False, frozenset()

    @staticmethod
    def backward(node, g):
        return [g]


_through = _Through()


class _Run:
    """The backward from some of the outputs, as it was recorded. `seeds`: the gradients of the outputs by value, `found`: [(edge, what it gets)],
    one by one and in eager's order, `ran`: the eager nodes that ran, `edges`: where the edges lead."""

    def __init__(self, rec, seeds, found, ran, edges):
        self.nodes, self.seeds, self.ran = rec.nodes, seeds, ran
        self.single = {k: g._array for k, g in found}
        self.values = {k: rec.value(g) for k, g in found}    # those that lead to one place together
        self.sums: dict = {}                 # the first of those -> the others
        made = dict(zip(self.values.values(), self.single.values()))
        self.add_up(rec, edges, made)
        self.digests = {n: digest(made[n]) for n in self.values.values()}

    def reads(self):
        """The values of the forward that it reads or gives on."""
        inside = {o for n in self.nodes for o in n.outs} | set(self.seeds)
        return [n for n in (*(int(x) for n in self.nodes for x in n.refs()), *self.values.values()) if n not in inside]

    def add_up(self, rec, edges, made):
        """Let edges that lead to one place have one gradient, as the engine adds them up. `made`: the gradients by value, which gets the sums."""
        groups = {}
        for k in sorted(self.values):
            groups.setdefault(id(edges[k]), []).append(k)
        for first, *others in groups.values():
            arrays, leaf = [made[self.values[k]] for k in (first, *others)], edges[first]
            wanted = leaf._array.dtype if isinstance(leaf, Base) else arrays[0].dtype
            if any(a.dtype != wanted or a.shape != arrays[0].shape for a in arrays):
                continue                     # (the engine casts what a leaf gets)
            for k in others:
                have, more = self.values[first], self.values.pop(k)
                with np.errstate(all="ignore"):
                    total = ADD.forward(made[have], made[more])
                n = rec.values.made(total)
                made[n] = total
                self.nodes.append(OpNode(ADD, (Ref(have), Ref(more)), {}, [n], ""))
                self.values[first] = n
            self.sums[first] = others

    def may_miss(self):
        """May a call of it be another than this one was?"""
        return any(not (n.steady or isinstance(n, Draw)) for n in self.nodes)


class _Way:
    """The same as a program."""

    def __init__(self, rec, run, part, like=None):
        nodes = run.nodes if part is None else part.backward(run.nodes)
        self.given, self.values, self.sums, self.ran, self.lock = list(run.seeds), run.values, run.sums, run.ran, threading.Lock()
        given, got = self.given, list(run.values.values())
        inside = {o for n in nodes for o in n.outs} | set(given)
        self.saved = list(dict.fromkeys([int(x) for n in nodes for x in n.refs() if x not in inside] + [n for n in got if n not in inside]))
        self.program = builder.build(nodes, rec.arrays, [*self.saved, *given], got, like=like and like.program)
        origin = self.program.origin
        writes = {origin[n.ins[0]] for n in nodes if isinstance(n, Write)}
        if writes - inside or any(isinstance(n, (Draw, Guard)) for n in nodes):
            raise Refused(PythonBackward("its backward writes to tensors, or depends on values"))
        # memory that something else holds too must not become a leaf's gradient
        roots = [origin[n] for n in dict.fromkeys(got)]
        self.shared = {n for n in got if origin[n] in self.program.outside or roots.count(origin[n]) > 1}
        # how eager lays what it gives: that depends on how the gradients lie that it is given
        self.layouts = {tuple([rec.arrays[n].strides for n in given]): {}}

    def check(self, rec, run, saved):
        """The program against the run that it was made of. `saved`: value -> its array."""
        given = {**{n: saved[n] for n in self.saved}, **run.seeds}
        env = self.program(given.values())
        if not all(digest(env[n]) == d for n, d in run.digests.items()):
            from ..verify.reproducer import report  # (seldom needed)
            raise Wrong(f"a replay of its backward gives other bits: {report(self.program.recorded, rec.arrays, given, run.digests)}")

    def learn(self, gradients, found):
        """Note how eager laid the gradients that it found: {edge: gradient}."""
        layout = {}
        for k, n in self.values.items():
            if n not in self.given and k in found:
                a = found[k]._array
                for other in self.sums.get(k, ()):
                    with np.errstate(all="ignore"):
                        a = ADD.forward(a, found[other]._array)
                if a.strides != self.program.arrays[n].strides:
                    layout[n] = Type.of(a)
        if len(self.layouts) < LAYOUTS:
            self.layouts[tuple([x._array.strides for x in gradients])] = layout

    def __call__(self, saved, gradients, count):
        """The gradients of the edges; None where the program is not for these, or in use."""
        layout = self.layouts.get(tuple([x._array.strides for x in gradients]))
        if layout is None:
            return None
        given = [saved[n]._array for n in self.saved]
        for x, n in zip(gradients, self.given):
            a, like = x._array, self.program.arrays[n]
            if a.dtype != like.dtype:
                return None
            given.append(a if a.strides == like.strides else np.ascontiguousarray(a).reshape(like.shape))
        if not self.lock.acquire(False):     # another thread works in the program's memory
            return None
        try:
            env = self.program(given)
        except Miss:
            return None
        finally:
            self.lock.release()
        passed = {n: x._array for n, x in zip(self.given, gradients)}        # (as they lie)
        made = {n: wrap(passed.get(n, env[n])) for n in self.values.values()}
        for n, like in layout.items():
            made[n] = wrap(template(like))
            np.copyto(made[n]._array, env[n])
        for n in self.shared:
            made[n]._shared()
        out = [None] * count
        for k, n in self.values.items():
            out[k] = made[n]
        return out


def _bits(numbers):
    return sum(1 << i for i in numbers)
