"""Gradients that flow out of a traced call: the backward of its results is recorded with it, and runs as a second program.

The call becomes one node. Its edges are the *contributions* that eager's nodes would make, one by one and in their order, so that what
a leaf receives is summed as eager sums it. Second derivatives, and calls of which only some results are differentiated, are left to
eager: the recorded operations are done again on tensors.
"""
import numpy as np
from whet.ir.graph import Ref

from ..autograd import engine, modes
from ..autograd.node import Node, OutputOf, changed, edge_of
from ..ops import pointwise_family, registry
from ..tensor import wrap
from ..tensor_base import Base
from .program import Program
from .record import Refused


class Backward:
    """What was learned of the backward of some results: the op of the node that a replay makes."""
    saves_output, nondiff_outputs, saves = False, frozenset(), None

    def __init__(self, rec, results, start, place_of_edge):
        """Run the backward of the results once, under the recorder's eyes."""
        self.results = [rec.value(t) for t in results]
        self.names = [_op(t._node) for t in results]
        self.name = self.names[0].name
        self.forward, rec.nodes = rec.nodes, []
        rng = np.random.default_rng(0)
        gradients = []
        for t in results:
            a = rng.uniform(0.5, 1.5, t._array.shape).astype(t._array.dtype)
            gradients.append(wrap(a))
        self.given = [rec.define(g._array) for g in gradients]
        self.readers = {}
        contributions = self.run(rec, results, gradients, start)
        self.nodes, rec.nodes = rec.nodes, self.forward
        if rec.reason:
            raise Refused(rec.reason)
        places, values = [], []
        for e, g in contributions:
            place = place_of_edge(e)
            if place is None:
                raise Refused("its gradients flow to a tensor that is not within reach")
            places.append(place)
            values.append(rec.value(g))
        self.places, self.values = places, values
        inside = {o for n in self.nodes for o in n.outs} | set(self.given)
        self.saved = list(dict.fromkeys([int(x) for n in self.nodes for x in n.refs() if x not in inside]
                                        + [n for n in values if n not in inside]))
        self.program = Program(self.nodes, rec.arrays, [*self.saved, *self.given], values)
        if any(n.kind in ("write", "draw", "guard") for n in self.nodes if n.kind != "write" or self.program.root[n.ins[0]] not in inside):
            raise Refused("its backward writes to tensors, or depends on values")
        self.check(rec)
        self.drawn = [o for n in self.forward if n.kind == "draw" for o in n.outs]
        self.operands = None

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
                for e, r in zip(node.edges, found):
                    if r is None or e is None:
                        continue
                    if isinstance(e, Base) or e.seq < start:
                        if isinstance(e, Base) and e._array.dtype is not r._array.dtype:
                            r = engine.cast_gradient(r, e)
                        out.append((e, r))
                    else:
                        have = grads.get(e)
                        grads[e] = r if have is None else have + r
        finally:
            state.observers = tuple(o for o in state.observers if o is not rec)
            modes.set_flags(before)
            modes.refresh()
        return out

    root = None                              # value -> the memory it lies in, of the forward's program

    def check(self, rec):
        """The backward's program against what the engine found."""
        env = self.program([rec.arrays[n] for n in (*self.saved, *self.given)])
        for n in self.values:
            if env[n].tobytes() != rec.arrays[n].tobytes():
                raise Refused("a replay of its backward gives other bits: please report this")

    def node(self, env, tensors, outside):
        """The node of a replayed call. `tensors`: what stands at each place, `outside`: value -> the tensor that it is."""
        node = Call(self, tuple([edge_of(t) for t in tensors]), {}, len(self.results))
        inputs, versions, cells = [], [], {}
        for n in self.saved:
            t = outside.get(n)
            if t is None:
                t, r = wrap(env[n]), self.root[n]
                t._cell = outside[r]._shared() if r in outside else cells.setdefault(r, t._shared())
            inputs.append(t)
            versions.append(t._version)
        node.inputs, node.versions = tuple(inputs), tuple(versions)
        node.metadata = None
        node.again = (tensors, outside, [env[n] for n in self.drawn])
        return node, cells

    def backward(self, node, g):
        """Gradients for the edges."""
        gs = [g] if node.nout == 1 else g
        xs = node.saved_inputs()
        if modes.state.flags & modes.GRAD or any(x is None for x in gs) or modes.state.observers:
            return self.slowly(node, gs)
        given = [x._array for x in xs]
        for x, n in zip(gs, self.given):
            a = x._array
            want = self.program.arrays[n]
            if a.strides != want.strides or a.dtype != want.dtype:
                a = np.ascontiguousarray(a, want.dtype)
            given.append(a)
        env = self.program(given)
        return [wrap(env[n]) for n in self.values]

    def slowly(self, node, gs):
        """By eager: the forward's operations again, recorded, and the engine."""
        tensors, outside, drawn = node.again
        recording = bool(modes.state.flags & modes.GRAD)
        with modes.enable_grad():
            found = self.repeat(outside, dict(zip(self.drawn, drawn)))
            pairs = [(found[n], g) for n, g in zip(self.results, gs) if g is not None]
            wanted = list({id(t): t for t in tensors}.values())
            got = engine.grad([y for y, _ in pairs], wanted, [g for _, g in pairs], create_graph=recording, allow_unused=True)
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
            ins = [env.get(x) if type(x) is Ref else x for x in node.ins]
            if any(type(x) is Ref and env.get(x) is None for x in node.ins):
                continue                     # it depends on what the call wrote outside
            if node.kind == "write":
                if int(node.ins[0]) in outside:
                    for x in [k for k in env if k == node.ins[0]]:
                        env[x] = None
                else:
                    pointwise_family.inplace(node.op, ins[0], tuple(ins[1:]), node.attrs)
                continue
            made = registry.apply(node.op, tuple(ins), node.attrs)
            for o, t in zip(node.outs, made if type(made) is tuple else (made,)):
                env[o] = t
        return env


class Call(Node):
    """The node of a traced call."""
    __slots__ = ("again",)

    def saved_inputs(self):
        if self.released:
            return Node.saved_inputs(self)
        for n, x, v in zip(self.op.saved, self.inputs, self.versions):
            if x._version != v:
                raise changed(self.op.readers.get(n, self.op), x._array, x._version, v, x)
        return self.inputs

    def release(self):
        self.inputs, self.again, self.released = (), None, True


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


