"""Gradients that flow out of a traced call: the backward of its results is recorded with it, and runs as a second program.

The call becomes one node. Its edges are the *contributions* that eager's nodes would make, one by one and in their order, so that what
a leaf receives is summed as eager sums it. Second derivatives, and calls of which only some results are differentiated, are left to
eager: the recorded operations are done again on tensors.
"""
import itertools
import threading

import numpy as np
from whet.autograd import engine, modes
from whet.autograd.node import Node, OutputOf, changed, edge_of
from whet.ir.graph import Ref
from whet.ops import pointwise_family, registry
from whet.tensor import wrap
from whet.tensor_base import Base

from .program import Miss, Program
from .record import Refused

SUBSETS = 3                      # of so many results every choice has its own backward; of more, all together and each alone


class Backward:
    """What was learned of the backward of some results: the op of the node that a replay makes."""
    saves_output, nondiff_outputs, saves = False, frozenset(), None

    def __init__(self, rec, results, start, place_of_edge):
        """Run the backward of the results, and of some of them alone, under the recorder's eyes."""
        self.results = [rec.value(t) for t in results]
        self.name = _op(results[0]._node).name
        self.forward, rec.nodes = rec.nodes, []
        self.readers = {}
        rng = np.random.default_rng(0)
        n = len(results)
        every = tuple(range(n))
        wanted = [every, *((i,) for i in every if n > 1)]
        if n <= SUBSETS:
            wanted += [c for k in range(2, n) for c in itertools.combinations(every, k)]
        self.ways = {}                       # which results have a gradient -> how the edges get theirs
        keys = []
        for some in wanted:
            gradients = [wrap(rng.uniform(0.5, 1.5, results[i]._array.shape).astype(results[i]._array.dtype)) for i in some]
            given = [rec.define(g._array) for g in gradients]
            rec.nodes = []
            found = self.run(rec, [results[i] for i in some], gradients, start)
            if rec.reason:
                raise Refused(rec.reason)
            if some is every:
                self.places, keys = [place_of_edge(e) for _, e, _ in found], [key for key, _, _ in found]
                if None in self.places:
                    raise Refused("its gradients flow to a tensor that is not within reach")
            values = {key: rec.value(g) for key, _, g in found}
            if len(values) != len(found) or not set(keys).issuperset(values):
                raise Refused("its gradients flow in other ways for some of its results")
            self.ways[some] = _Way(rec, rec.nodes, given, [values.get(key) for key in keys])
        rec.nodes = self.forward
        self.saved = list(dict.fromkeys(n for way in self.ways.values() for n in way.saved))
        self.drawn = [o for n in self.forward if n.kind == "draw" for o in n.outs]

    def run(self, rec, results, gradients, start):
        """The engine's walk, keeping apart what it would add up at the border of the recording."""
        grads, out = {}, []
        roots = []
        for t, g in zip(results, gradients):
            e = edge_of(t)
            grads[e] = g if e not in grads else grads[e] + g
            roots.append(e)
        state = modes.state
        before = state.flags
        state.observers += (rec,)
        modes.set_flags(before & ~modes.GRAD)
        modes.refresh()
        try:
            for node in reversed(_inside(roots, start)):
                g = grads.pop(node, None)
                if g is None:
                    continue
                if node.pre_hooks or getattr(node, "post_hooks", None):
                    raise Refused("hooks see its gradients")
                if type(node) is OutputOf:
                    slots = grads.setdefault(node.parent, [None] * node.parent.nout)
                    slots[node.index] = g
                    continue
                at = len(rec.nodes)
                found = node.op.backward(node, g)
                for n in rec.nodes[at:]:
                    for x in n.refs():
                        self.readers.setdefault(int(x), node.op)
                for i, (e, r) in enumerate(zip(node.edges, found)):
                    if r is None or e is None:
                        continue
                    if isinstance(e, Base) or e.seq < start:
                        if isinstance(e, Base) and e._array.dtype is not r._array.dtype:
                            r = engine.cast_gradient(r, e)
                        out.append(((node.seq, i), e, r))
                    else:
                        have = grads.get(e)
                        grads[e] = r if have is None else have + r
        finally:
            state.observers = tuple(o for o in state.observers if o is not rec)
            modes.set_flags(before)
            modes.refresh()
        return out

    owner = staticmethod(lambda: None)       # a weak reference to the traced function
    root = None                              # value -> the memory it lies in, of the forward's program
    writes = False                           # does the forward write to tensors from outside?

    def slice(self, root, outside):
        """Keep of the forward what the results depend on; note if that reads what the call writes to from outside."""
        written = {root[n.ins[0]] for n in self.forward if n.kind == "write"} & set(outside)
        needed, kept = {root[n] for n in self.results}, []
        for n in reversed(self.forward):
            if n.kind in ("guard", "ask"):
                continue
            if n.kind == "write" and root[n.ins[0]] in needed or any(root[o] in needed for o in n.outs):
                kept.append(n)
                needed.update(root[x] for x in n.refs())
        self.forward, self.read = kept[::-1], needed & set(outside)
        self.writes = bool(needed & written)
        self.drawn = [o for n in self.forward if n.kind == "draw" for o in n.outs]

    def node(self, env, tensors, outside):
        """The node of a replayed call. `tensors`: what stands at each place, `outside`: value -> the tensor that it is."""
        node = Call(self, tuple([edge_of(t) for t in tensors]), {}, len(self.results))
        inputs, cells = [], {}
        for n in self.saved:
            t = outside.get(n)
            if t is None:
                t, r = wrap(env[n]), self.root[n]
                t._cell = outside[r]._shared() if r in outside else cells.setdefault(r, t._shared())
            inputs.append(t)
        node.inputs, node.versions = tuple(inputs), _versions(inputs)
        node.metadata = None
        outside = {n: t for n, t in outside.items() if n in self.read}
        node.again = (tensors, outside, [env[n] for n in self.drawn], _versions(outside.values()))
        return node, cells

    def backward(self, node, g):
        """Gradients for the edges."""
        gs = [g] if node.nout == 1 else g
        xs = node.saved_inputs()
        way = self.ways.get(tuple([i for i, x in enumerate(gs) if x is not None]))
        if way is None or modes.state.flags & modes.GRAD or modes.state.observers:
            self.unchanged(xs, node.versions, self.saved)
            return self.slowly(node, gs)
        self.unchanged(xs, node.versions, way.saved)
        try:
            return way(dict(zip(self.saved, xs)), [x for x in gs if x is not None])
        except Miss:
            return self.slowly(node, gs)

    def unchanged(self, xs, versions, saved):
        """Raise where something that the backward reads was written to."""
        if _versions(xs) == versions:
            return
        for n, x, v in zip(self.saved, xs, versions):
            if x._version != v and n in saved:
                raise changed(self.readers.get(n, self), x._array, x._version, v, x)

    def slowly(self, node, gs):
        """By eager: the forward's operations again, recorded, and the engine."""
        tensors, outside, drawn, versions = node.again
        owner = self.owner()
        if owner is not None:
            owner.differentiated_again()
        if self.writes or _versions(outside.values()) != versions:
            raise RuntimeError(f"{self.name}: this derivative of a traced call needs the call's operations again, but the call wrote to tensors "
                               "from outside, or some of what it read has been written to since. Call the function under jit.disable()")
        recording = bool(modes.state.flags & modes.GRAD)
        with modes.enable_grad():
            # names of their own for what came from outside: one may be a view of another
            names = {id(t): t.view_as(t) for t in outside.values() if t.requires_grad}
            found = self.repeat({n: names.get(id(t), t) for n, t in outside.items()}, dict(zip(self.drawn, drawn)))
            pairs = [(found[n], g) for n, g in zip(self.results, gs) if g is not None and found[n].requires_grad]
            wanted = [t for t in {id(t): t for t in tensors}.values() if id(t) in names]
            got = engine.grad([y for y, _ in pairs], [names[id(t)] for t in wanted], [g for _, g in pairs], create_graph=recording,
                              allow_unused=True) if pairs and wanted else ()
        got = {id(t): g for t, g in zip(wanted, got)}
        return [got.pop(id(t), None) for t in tensors]

    def repeat(self, outside, drawn):
        """The forward's values as tensors, by eager operations."""
        env = dict(outside)
        for node in self.forward:
            if node.kind == "draw":
                for o in node.outs:
                    env[o] = wrap(drawn[o])
                continue
            if node.kind in ("guard", "ask"):
                continue
            ins = [env[x] if type(x) is Ref else x for x in node.ins]
            if node.needs:
                # (only what has a history now and had none is cut off: a view must stay one of its base)
                ins = [x if need or type(r) is not Ref or not x.requires_grad or node.kind == "write" and r is node.ins[0] and any(node.needs)
                       else x.detach() for x, r, need in zip(ins, node.ins, node.needs)]
            with modes.set_grad_enabled(node.needs != ()):
                if node.kind == "write":
                    target = ins[0] if node.needs and any(node.needs) else ins[0].detach()
                    pointwise_family.inplace(node.op, target, tuple(ins[1:]), node.attrs)
                    continue
                made = registry.apply(node.op, tuple(ins), node.attrs)
            for o, t in zip(node.outs, made if type(made) is tuple else (made,)):
                env[o] = t
        return env


class _Way:
    """The backward from some of the results, as a program. `values` are what the edges get, None for those that get nothing."""

    def __init__(self, rec, nodes, given, values):
        self.values, self.given, self.lock = values, given, threading.Lock()
        got = [n for n in values if n is not None]
        inside = {o for n in nodes for o in n.outs} | set(given)
        self.saved = list(dict.fromkeys([int(x) for n in nodes for x in n.refs() if x not in inside] + [n for n in got if n not in inside]))
        self.program = Program(nodes, rec.arrays, [*self.saved, *given], got)
        if any(n.kind in ("draw", "guard") or n.kind == "write" and self.program.origin[n.ins[0]] not in inside for n in nodes):
            raise Refused("its backward writes to tensors, or depends on values")
        env = self.program([rec.arrays[n] for n in (*self.saved, *given)])
        if not all(same_bits(env[n], rec.arrays[n]) for n in got):
            raise Refused("a replay of its backward gives other bits: please report this")

    def __call__(self, saved, gradients):
        given = [saved[n]._array for n in self.saved]
        for x, n in zip(gradients, self.given):
            a, like = x._array, self.program.arrays[n]
            given.append(a if a.strides == like.strides and a.dtype == like.dtype else np.ascontiguousarray(a, like.dtype).reshape(like.shape))
        with self.lock:                      # one call at a time works in the program's memory
            env = self.program(given)
        return [None if n is None else wrap(env[n]) for n in self.values]


class Call(Node):
    """The node of a traced call."""
    __slots__ = ("again",)

    def saved_inputs(self):
        return self.inputs if not self.released else Node.saved_inputs(self)

    def release(self):
        self.inputs, self.again, self.released = (), None, True


def _versions(tensors):
    return tuple([0 if (c := t._cell) is None else c.v for t in tensors])


def same_bits(a, b):
    """Are two arrays equal to the bit? (All NaNs are one.)"""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.tobytes() == b.tobytes():
        return True
    if a.dtype.kind not in "fcV":
        return False
    none = np.isnan(a)
    return bool((none == np.isnan(b)).all()) and a[~none].tobytes() == b[~none].tobytes()


def _op(node):
    return node.parent.op if type(node) is OutputOf else node.op


def _inside(roots, start):
    """The nodes of the recording under the roots, oldest first."""
    seen, stack = set(roots), list(roots)
    while stack:
        for e in stack.pop().edges:
            if e is not None and not isinstance(e, Base) and e.seq >= start and e not in seen:
                seen.add(e)
                stack.append(e)
    return sorted(seen, key=lambda n: n.seq)


def saved_by(roots, start):
    """The tensors that the recorded graph holds, and those that they are views of."""
    held = [x for n in _inside(roots, start) for x in (n.inputs if type(n) is not OutputOf and not n.released else ()) if isinstance(x, Base)]
    return held + [x._base for x in held if x._base is not None]


