"""What a recording runs: lists of launches for machine code, the rest called in order.

Every value has a *root*: the memory that it lies in. Roots that change from call to call (what was there before, results, what Python
steps make) are passed at each call; the others are pieces of an arena, which a call takes from the allocator as a whole and gives back
(`arena.py`). What runs are the kernels of eager mode, in its order, on the same layouts: the bits are eager's. `builder.py` makes programs.
"""
import ctypes as C

import numpy as np
from whet.cpu import haste, memory
from whet.cpu.pointwise import Pointwise
from whet.ir.graph import Ref
from whet.ir.interpret import step
from whet.random import Position

from ..report.reasons import Branches, Explained, Raises, Shapes
from ..verify.same_bits import template
from .native_runner import machine

ARENA = -1                           # where a call keeps it among its arrays
NOTHING = False, 0, 0, ()            # an empty list of launches


class Miss(Explained):
    """A value or a shape is another than when it was recorded: the replay is given up, nothing outside has been changed.
    `line`: where Python read a number that is another."""

    def __init__(self, why="", line=None):
        super().__init__(why)
        self.line = line

class Program:
    """What to do with the arrays of a call. `results` are the numbers of the values to give back, `outside` those that are given.
    `ends`: (generator of random numbers, the Position where a call leaves it), of those that it does more with than draw.
    `shown`, where Python does nothing but show views: value -> (root, the bytes to its first element, how it lies)."""

    def __init__(self, b):
        """What a `ProgramBuilder` has made."""
        self.arrays, self.outside, self.results = b.arrays, b.outside, b.results
        self.recorded, self.origin, self.nodes, self.plan = b.recorded, b.origin, b.nodes, b.plan
        self.meaning, self.notes, self.lasting, self.derived = b.meaning, b.notes, b.lasting, b.derived        # of named rewrites; see `said`
        self.may_miss, self.kept, self.draws, self.ends = b.may_miss, b.kept, b.draws, b.ends
        self.drawn, self.seats, self.streams = b.drawn, b.seats, b.streams
        self.steps, self.called, self.launches, self.arena = b.steps, b.called, b.launches, b.arena
        self.env, self.local, self.fresh, self.shown = b.env, b.local, b.fresh, b.shown
        self.keep, self.guards, self.checks, self.stopped, self.hasty = b.keep, b.guards, b.checks, b.stopped, b.hasty
        self.inputs, self.needs = b.inputs, {}       # bytes; those that Python steps take, by node

    def said(self, given):
        """The values that the graph has after the named rewrites, by the interpreter: what the program's bits must be. `given`: the arrays
        of a call by value, which are written to."""
        env, streams = dict(given), {}
        for node in self.meaning:
            if node.kind == "draw":
                g = node.attrs["generator"]
                seed, offset = streams.get(id(g), node.value)
                streams[id(g)] = seed, offset + node.op.blocks(node.attrs["shape"])
                env[node.outs[0]] = node.op.forward(shape=node.attrs["shape"], seed=seed, offset=offset)
            else:
                step(node, env, self.arrays, ())
        return env

    def settle(self):
        """Have all its kernels compiled well: it is going to be called many times."""
        haste.settle(self.hasty)
        self.hasty = ()

    def forget(self):
        """What is kept of outside tensors is made anew: one of them has other memory."""
        for g in self.guards:
            g.forget()

    @property
    def alone(self):
        """The list of launches that it is; None where it is more."""
        return self.steps[0] if len(self.steps) == 1 and type(self.steps[0]) is tuple else None

    @property
    def plain(self):
        """The list of launches that it is but for views (`shown`); None where it is more."""
        lists = [step for step in self.steps if type(step) is tuple]
        return None if self.called or len(lists) > 1 else lists[0] if lists else NOTHING

    def footprint(self):
        """The bytes that a call holds at most, as the allocator counts them: what it is given, what the program keeps from call to call
        (weights in their kernels' order, constants), the arena, and what it makes: results, and what Python steps make and need
        meanwhile, as far as it is known from the first time that they ran."""
        own, programs = {}, [self]
        for p in programs:                   # (grows)
            for a in (*p.keep, *p.env):
                if type(a) is Program:
                    programs.append(a)
                elif type(a) is np.ndarray:
                    while type(a.base) is np.ndarray:
                        a = a.base
                    own[id(a if a.base is None else a.base)] = memory.taken(a.nbytes)
        made = most = sum(memory.taken(self.arrays[n].nbytes) for n in (*self.fresh, *self.kept))
        for node in self.called:
            most = max(most, made + self.needs.get(id(node), 0))
            if not (node.kind == "op" and node.op.is_view or node.kind == "write"):
                made += sum(memory.taken(self.arrays[o].nbytes) for o in node.outs)
        return {"inputs": self.inputs, "kept": sum(own.values()), "arena": memory.taken(self.arena), "made": max(most, made)}

    # ---- running -----------------------------------------------------------------------------------------------------
    def take_numbers(self):
        """Give each draw its numbers, and leave the generators where the recorded run left them."""
        ends, froms = [(g, p.now()) for g, p in self.ends], [s.now() if type(s) is Position else None for s, *_ in self.streams]
        ended = {id(g): (g._seed, g._offset) for g, _ in ends}
        for (s, places, starts, total), start in zip(self.streams, froms):
            seed, at = start or ended.get(id(s)) or s.take(total)
            self.drawn[places, 0], self.drawn[places, 1] = seed, starts + np.uint64(at)
        for g, (seed, at) in ends:
            g._seed, g._offset = seed, at

    def __call__(self, given):
        """Run with the arrays of the outside values. Gives the environment: the array of each value that a step or a caller wants."""
        env = self.env.copy()
        if self.arena:
            env[ARENA] = memory.empty(self.arena, np.uint8)
        for n, a in zip(self.outside, given):
            env[n] = a
        for n in self.fresh:
            if self.arrays[n] is not None:
                env[n] = template(self.arrays[n])
        if self.draws:
            self.take_numbers()
        before = [(env[n], env[n].copy()) for n in self.kept]
        try:
            for step in self.steps:
                if type(step) is tuple:
                    machine()[1](step[1], step[2], step[0], *[env[r] for r in step[3]])
                    if self.stopped.value:
                        self.stop()
                elif id(step) in self.needs:
                    self.do(step, env)
                else:
                    self.needs[id(step)] = memory.growth(lambda step=step: self.do(step, env))
        except Exception as e:               # eager will raise it where the function can see it
            for a, b in before:
                a[...] = b
            if type(e) is Miss:
                raise
            raise Miss(f"an error was raised: {e}") from None
        return env

    def stop(self):
        """A list ended at a check."""
        word = C.c_int64.from_address(self.stopped.value)
        node, word.value, self.stopped.value = self.checks[self.stopped.value], 0, 0
        raise Miss(self.broken(node), node.line if node.kind == "guard" else None)

    @staticmethod
    def broken(node):
        """What is otherwise than it was at a guard, a question, or an op that refuses its data."""
        if node.kind == "guard":
            return Branches("the number of a tensor that Python goes on from is another", node.line)
        if node.kind == "ask":
            return Branches("a question about a tensor's numbers has another answer", node.line)
        return Raises(f"{node.op.name} raises an error", node.line)

    def do(self, node, env):
        """A step that Python does."""
        for n in self.local.keys() & {*node.refs(), *node.attrs.get("into", {}).values()}:
            if env[n] is None:
                offset, t = self.local[n]
                env[n] = np.ndarray(t.shape, t.dtype, env[ARENA], offset, t.strides)
        ins = [env[x] if type(x) is Ref else x for x in node.ins]
        if node.kind == "guard":
            if ins[0].tobytes() != node.value.tobytes():
                raise Miss(self.broken(node), node.line)
        elif node.kind == "ask":
            if node.attrs["question"](*ins) != node.value:
                raise Miss(self.broken(node))
        elif node.kind == "write":
            self.write(node, ins)
        elif node.kind == "fused":
            into = node.attrs.get("into", {})
            outs = [env[into[o]] if o in into else env[o] if env[o] is not None else template(self.arrays[o]) for o in node.outs]
            for o, r in zip(node.outs, Pointwise("fused", node.roots, len(ins))(ins, outs)):
                env[o] = r
        else:
            if node.kind == "draw":
                seed, offset = map(int, self.drawn[self.seats[id(node)]])
                made = node.op.forward(shape=node.attrs["shape"], seed=seed, offset=offset)
            else:
                made = node.op.forward(*ins, **node.attrs)
            for o, r in zip(node.outs, made if type(made) is tuple else (made,)):
                r, like = np.asarray(r), self.arrays[o]
                if not lies_as(r, like):
                    raise Miss(Shapes(f"what {node.op.name} gives has another shape", node.line))
                env[o] = r if r.strides == like.strides else np.lib.stride_tricks.as_strided(r, r.shape, like.strides)

    @staticmethod
    def write(node, ins):
        op, a = node.op, ins[0]
        if op.write is not None:
            op.write(*ins, **node.attrs)
        else:
            np.copyto(a, op.forward(*ins, **node.attrs), casting="unsafe")


def lies_as(a, b):
    """Do two arrays' elements lie alike? (The stride of a dimension of size one leads nowhere, and depends on how it was made.)"""
    return a.shape == b.shape and a.dtype == b.dtype and (not a.size or all(s == t or n == 1 for n, s, t in zip(a.shape, a.strides, b.strides)))
