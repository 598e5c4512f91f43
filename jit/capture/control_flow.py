"""`cond` and `while_loop` in a recording: one node that holds programs, which a replay runs by the values that it finds.

    %3 = cond(%2, %0, %1)
      true:  %8 = mul(%0, 2.0)
      false: %9 = neg(%1)

The run that is recorded is eager's: the branch that is taken and each round are noted as any code is, the predicate as a guard. If what was
noted can be a program (it computes, and gives tensors of its own), the node takes its place; else it stays as it is, and another branch
or another number of rounds becomes another recording.

The code that the run did not come to (the branch not taken, a body after no round) is *tried*: it runs on the real operands with
everything stopped that eager would not have done, see `Trial`. What cannot be tried is no node.
"""
import sys
import warnings

import numpy as np
from whet import dtypes
from whet.autograd import modes
from whet.cpu import pool
from whet.cpu.memory import empty
from whet.ir.graph import OpNode, Ref
from whet.ir.spans import address
from whet.ops import control
from whet.ops.registry import Op, is_tensor
from whet.tensor import Tensor

from ..guards.origin import ours
from ..guards.outside_state import world_of
from ..guards.visitors import Unwatchable
from ..program import builder
from ..program.launch_lists import ARENA
from ..program.loops import Rounds
from ..program.misses import Miss
from ..report.reasons import Calls
from ..verify.same_bits import same_bits, template
from .purity import Watch, resume
from .refused import Refused
from .user_lines import where

# what code that is tried may call of ours: functions of these files, but of modules only their calls, and nothing of these names
HARMLESS = ("<whet>", "/ops/", "/tensor.py", "/tensor_base.py", "/nn/", "/autograd/modes.py")
OF_MODULES = frozenset("__call__ __getattr__ __getitem__ __iter__ __len__ __contains__ forward items keys values".split())
HARMFUL = frozenset("requires_grad_ detach_ retain_grad register_hook register_post_accumulate_grad_hook backward set_ share_memory_ "
                    "__setstate__".split())


class No(Exception):
    """What was noted cannot be a node."""


class Stop(BaseException):
    """Code that is tried was about to do more than compute."""


# ---- nodes -------------------------------------------------------------------------------------------------------------
class Body:
    """Some nodes as a program: from the values of a node's operands (`given`, by their places) to results."""

    def __init__(self, rec, nodes, results):
        inside = {o for n in nodes for o in n.outs}
        self.nodes, self.results = nodes, list(results)
        self.given = list(dict.fromkeys(int(x) for n in nodes for x in n.refs() if x not in inside))
        self.program = builder.build(nodes, rec.arrays, self.given, self.results)
        origin = self.program.origin
        if any(n not in inside or origin[n] != n for n in self.results):
            raise No("a result is a view, or an operand")
        if any(n.kind == "draw" or n.kind == "op" and n.op.random or n.kind == "write" and origin[n.ins[0]] not in inside for n in nodes):
            raise No("it writes to tensors from outside, or draws random numbers")

    def place(self, operands):
        """Note where among some operands those are that it needs."""
        self.at = [operands.index(n) for n in self.given]

    def launches(self):
        """The one list of launches that it is, with what that works on: places of operands, ("made", place of a result), and `ARENA`."""
        alone = self.program.only_launches
        if alone is None or self.program.checks:
            return None
        operands, made = dict(zip(self.given, self.at)), {ARENA: ARENA, **{n: ("made", i) for i, n in enumerate(self.results)}}
        return alone.address, alone.words, [operands[n] if n in operands else made[n] for n in alone.values]

    def __call__(self, arrays):
        env = self.program([arrays[i] for i in self.at])
        return [env[n] for n in self.results]


class Control(Op):
    """A node's op. `bodies`: name -> Body."""
    family = "control"

    def __init__(self, name, **bodies):
        super().__init__(name, register=False)
        self.bodies = bodies

    def join(self):
        """Called when the bodies know where their operands are."""

    @property
    def may_fail(self):
        return any(b.program.may_miss for b in self.bodies.values())


class Cond(Control):
    """The results of one of two bodies."""

    def forward(self, *arrays):
        return tuple(self.bodies["true" if arrays[0].item() else "false"](arrays))


class While(Control):
    """What rounds of a body carry. `ways`: for each of what is carried (the first operands), (True, its place among the body's results) or
    (False, which of what was carried it is). Where the body and the question are launches alone, machine code goes round."""

    def __init__(self, name, ways, **bodies):
        super().__init__(name, **bodies)
        self.ways, self.rounds = ways, None

    def join(self):
        """Find out whether machine code can do it, when the bodies know their operands."""
        ask, body = self.bodies["ask"], self.bodies["body"]
        parts = [b.launches() for b in (ask, body)]
        self.depths = [self.depth(k) for k in range(len(self.ways))]
        if None in parts or None in self.depths or ask.program.arrays[ask.results[0]].dtype != bool:
            return
        # a result is read for as many rounds as it is handed on: so many pieces of memory, and one to write to, take turns
        self.turns = [1 + max(d for r, d in self.depths if d and r == i) for i in range(len(body.results))]
        moves = {k: ((i, 0) if new else i, 0) for k, (new, i) in enumerate(self.ways) if self.depths[k][1]}
        moves.update({(i, t): ((i, (t + 1) % n), 0) for i, n in enumerate(self.turns) for t in range(n)})
        (*question, read), (*work, used) = parts             # (results are known by their place among them, and whose turn it is)
        self.rounds = Rounds((*question, ["pred" if type(x) is tuple else "asking" if x == ARENA else x for x in read]),
                             (*work, [(x[1], 0) if type(x) is tuple else x for x in used]), moves, "pred")

    def depth(self, k):
        """Which result something that is carried was, and how many rounds before; 0 rounds where it stays. None where it goes in circles."""
        rounds = 1
        while rounds <= len(self.ways):
            new, i = self.ways[k]
            if new:
                return i, rounds
            if i == k:
                return i, 0
            k, rounds = i, rounds + 1
        return None

    def forward(self, *arrays):
        ask, body = self.bodies["ask"], self.bodies["body"]
        now, n = list(arrays), len(self.ways)
        if self.rounds is not None:
            memory = {(i, t): template(body.program.arrays[body.results[i]]) for i, n in enumerate(self.turns) for t in range(n)}
            given = {**dict(enumerate(arrays)), **memory, "pred": template(ask.program.arrays[ask.results[0]])}
            given.update({"asking": empty(ask.program.arena, np.uint8), ARENA: empty(body.program.arena, np.uint8)})
            rounds = self.rounds(lambda name: address(given[name]))
            for k, (i, depth) in enumerate(self.depths):
                if 0 < depth <= rounds:
                    now[k] = memory[i, (rounds - depth) % self.turns[i]]
                elif depth:                  # it has not come through yet
                    at = k
                    for _ in range(rounds):
                        at = self.ways[at][1]
                    now[k] = arrays[at]
        else:
            while ask(now)[0].item():
                made = body(now)
                now[:n] = [made[i] if new else now[i] for new, i in self.ways]
        return tuple([a.copy(order="K") if any(a is x for x in arrays) else a for a in now[:n]])


# ---- recording ---------------------------------------------------------------------------------------------------------
def cond(rec, pred, true_fn, false_fn, operands):
    """A cond under a recorder."""
    at = len(rec.nodes)
    answer = bool(pred)
    middle, before = len(rec.nodes), Before(true_fn if answer else false_fn, operands)
    out = (true_fn if answer else false_fn)(*operands)
    if rec.reason is None:
        taken = rec.nodes[middle:]
        try:
            before.compare()
            with rec.values.holding():
                results = plain(rec, out, taken)
                other, nodes = attempt(rec, false_fn if answer else true_fn, operands)
                others = plain(rec, other, nodes)
                if control.structure(other) != control.structure(out) or any(
                        layout(rec.arrays[a]) != layout(rec.arrays[b]) for a, b in zip(results, others)):
                    raise No("the branches give other shapes, types or layouts")
                mine, theirs = build(rec, taken, results), build(rec, nodes, others)
                verify(rec, theirs)
            put(rec, at, [rec.value(pred)], results, Cond("cond", true=mine, false=theirs) if answer else Cond("cond", true=theirs, false=mine))
        except (No, Refused, Miss):
            pass
    return out


def while_loop(rec, cond_fn, body_fn, carried):
    """A while_loop under a recorder."""
    marks, states, answers, before = [len(rec.nodes)], [carried], [], Before(body_fn, cond_fn, carried)

    def done(what, now):
        marks.append(len(rec.nodes))
        (answers if what == "asked" else states).append(now)
    out = control.rounds(cond_fn, body_fn, carried, done)
    if rec.reason is None:
        try:
            before.compare()
            with rec.values.holding():
                loop(rec, marks, states, answers, body_fn, out)
        except (No, Refused, Miss):
            pass
    return out


def loop(rec, marks, states, answers, body_fn, out):
    """Make one node of the rounds that were noted."""
    if not all(is_tensor(x) for x in (*answers, *control.leaves(states[0]))):
        raise No("Python counts")
    parts = [rec.nodes[a:b] for a, b in zip(marks, marks[1:])]
    asks, bodies = parts[::2], [nodes[1:] for nodes in parts[1::2]]           # (the first is the guard that the answer was)
    carried = [[rec.value(t) for t in control.leaves(s)] for s in states]
    asked = []
    for nodes, answer in zip(asks, answers):
        asked.append(plain(rec, answer, nodes)[0])
    if any(len(set(c)) != len(c) for c in carried):
        raise No("one tensor is carried twice")
    for c in carried[1:]:
        if [layout(rec.arrays[n]) for n in c] != [layout(rec.arrays[n]) for n in carried[0]]:
            raise No("what is carried is laid out in another way")
    questions = [form(rec, nodes, c, [n]) for nodes, c, n in zip(asks, carried, asked)]
    rounds = [form(rec, nodes, before, after) for nodes, before, after in zip(bodies, carried, carried[1:])]
    if any(q != questions[0] for q in questions) or any(r != rounds[0] for r in rounds):
        raise No("the rounds are not alike")
    known = set(carried[0])
    for state, nodes in zip(states[1:], bodies):
        for t in control.leaves(state):
            if rec.value(t) not in known:
                known.update(plain(rec, t, nodes))
    results = plain(rec, out, None)
    start = carried[0]
    if bodies:
        nodes, after = bodies[0], carried[1]
    else:
        made, nodes = attempt(rec, body_fn, states[0])
        made = tuple(made) if isinstance(made, tuple | list) else (made,)
        if control.structure(made) != control.structure(states[0]):
            raise No("what is carried has another structure")
        after = [rec.value(t) for t in control.leaves(made)]
        plain(rec, [t for t, n in zip(control.leaves(made), after) if n not in start], nodes)
        if [layout(rec.arrays[n]) for n in after] != [layout(rec.arrays[n]) for n in start] or len(set(after)) != len(after):
            raise No("what is carried is laid out in another way, or carried twice")
    fresh = [n for n in dict.fromkeys(after) if n not in start]
    body, ask = build(rec, nodes, fresh), build(rec, asks[0], asked[:1])
    if not bodies:
        verify(rec, body)
    ways = [(True, fresh.index(n)) if n in fresh else (False, start.index(n)) for n in after]
    put(rec, marks[0], start, results, While("while_loop", ways, ask=ask, body=body))


def plain(rec, out, nodes):
    """The values of results, which must be tensors without history that some nodes (None: any) made, each with memory of its own."""
    found = []
    for t in control.leaves(out):
        if type(t) is not Tensor or t.requires_grad or t._base is not None or t._extra:
            raise No("gradients flow through a result, or it is a view")
        n = rec.value(t)
        if n in found or nodes is not None and not any(n in node.outs for node in nodes):
            raise No("a result was there before, or is given twice")
        found.append(n)
    return found


def build(rec, nodes, results):
    """A body, made while nobody watches."""
    with unseen():
        return Body(rec, nodes, results)


def verify(rec, body):
    """The program of what was tried, against what that gave."""
    with unseen():
        body.place(body.given)
        made = body([rec.values.array(n) for n in body.given])
    if not all(same_bits(a, rec.values.array(n)) for a, n in zip(made, body.results)):
        raise No("a replay of what was tried gives other bits")


def put(rec, at, first, results, op):
    """Put a node in the place of what was noted since. `first` are its operands beside what the bodies read."""
    operands = list(dict.fromkeys([*first, *(n for b in op.bodies.values() for n in b.given)]))
    made = {o for nodes in (rec.nodes[at:], *(b.nodes for b in op.bodies.values())) for n in nodes for o in n.outs}
    if any(c.after >= at for c in rec.acts):
        raise No("it acts outside of Python's state")
    if not made.isdisjoint(operands):
        raise No("a part of it needs what another made")
    for b in op.bodies.values():
        b.place(operands)
    op.join()
    del rec.nodes[at:]
    rec.nodes.append(OpNode(op, tuple(map(Ref, operands)), {}, list(results), where()))
    rec.forget(made.difference(results))


def layout(a):
    return a.shape, a.strides, a.dtype


def form(rec, nodes, carried, results):
    """What some nodes do, with names that do not depend on the round."""
    names = {n: ("carried", i) for i, n in enumerate(carried)}
    out = []

    def name(x):
        return names.get(x, int(x)) if type(x) is Ref else said(x)
    for k, n in enumerate(nodes):
        out.append((n.kind, n.op, tuple(map(name, n.ins)), tuple((a, said(v)) for a, v in n.attrs.items()), said(n.value),
                    tuple(layout(rec.arrays[o]) for o in n.outs)))
        names.update((o, (k, i)) for i, o in enumerate(n.outs))
    return out, [names.get(n, n) for n in results]


def said(x):
    """A value as something that compares by bits and type."""
    if isinstance(x, np.ndarray):
        return "array", x.dtype, x.shape, x.strides, x.tobytes()
    if isinstance(x, tuple | list):
        return type(x), tuple(map(said, x))
    return type(x), repr(x) if isinstance(x, float | complex) else x


class unseen:
    """Inside, nobody records or watches."""

    def __enter__(self):
        self.profile, self.observers = sys.getprofile(), modes.state.observers
        sys.setprofile(None)
        modes.state.observers = ()
        modes.refresh()

    def __exit__(self, *exc):
        modes.state.observers = self.observers
        modes.refresh()
        resume(self.profile)


# ---- Python's state ------------------------------------------------------------------------------------------------------
class Before:
    """What some functions reach, as it is before they run (`why`: why that cannot be said)."""

    def __init__(self, *objects):
        self.world, self.why = None, None
        try:
            self.world = world_of(objects[0], objects[1:])
        except Unwatchable as e:
            self.why = str(e)
        self.settings = modes.state.flags, dtypes.get_default_dtype(), pool._threads
        self.looks = [] if self.world is None else [(t, t._array, t._grad, t._rg, t._node) for t in self.world.tensors.values()]

    def compare(self):
        """Raise No where something is another now: the other branch, or another number of rounds, would not have done it."""
        if self.world is None:
            raise No(self.why)
        if any(t._array is not a or t._grad is not g or t._rg != rg or t._node is not node for t, a, g, rg, node in self.looks):
            raise No("it changes what a tensor is")
        if self.world.changes():
            raise No("it changes Python's state")
        if (modes.state.flags, dtypes.get_default_dtype(), pool._threads) != self.settings:
            raise No("it changes a setting")

    def restore(self):
        """Put all back, where it can be; what was another, in words."""
        found = []
        for t, a, g, rg, node in self.looks:
            if t._array is not a or t._grad is not g or t._rg != rg or t._node is not node:
                t._array, t._grad, t._rg, t._node = a, g, rg, node
                found.append("it changes what a tensor is")
        if self.world.restore():
            found.append("it changes Python's state")
        if (modes.state.flags, dtypes.get_default_dtype(), pool._threads) != self.settings:
            modes.set_flags(self.settings[0])
            dtypes.set_default_dtype(self.settings[1])
            pool.set_num_threads(self.settings[2])
            found.append("it changes a setting")
        return found


# ---- trying ------------------------------------------------------------------------------------------------------------
class Careful(Watch):
    """A watch that stops what it would refuse, before it happens."""

    def called(self, frame):
        code, by = frame.f_code, frame.f_back.f_code
        if ours(code) and (by in self.codes or by is run.__code__) and (
                code.co_name in HARMFUL or not any(x in code.co_filename for x in HARMLESS)
                or "/nn/" in code.co_filename and "self" in code.co_varnames[:1] and code.co_name not in OF_MODULES):
            self.refuse(Calls(code.co_name))
        super().called(frame)


def run(fn, operands):
    """Call it from a place that `Careful` knows."""
    return fn(*operands)


def attempt(rec, fn, operands):
    """What a function gives that eager does not come to, and the nodes of it. It runs on the real operands, and is stopped before it writes
    to what was there before, draws random numbers, starts a backward or calls what a recording may not call; Python's state is put back."""
    before, stopped = Before(fn, operands), []
    if before.world is None:
        raise No(before.why)

    def stop(reason):
        stopped.append(str(reason))
        raise Stop(reason)
    at = len(rec.nodes)
    around = rec.trying, rec.since           # (code that is tried may come to another cond)
    rec.trying, rec.since = stop, len(rec.arrays)
    try:
        with warnings.catch_warnings(record=True) as warned, Careful(before.world.codes, stop):
            warnings.simplefilter("always")
            out = run(fn, operands)
    except (Stop, Exception) as e:
        stopped.append(str(e))
    finally:
        rec.trying, rec.since = around
        nodes = rec.nodes[at:]
        del rec.nodes[at:]
    stopped += before.restore()
    if stopped or warned:
        raise No(stopped[0] if stopped else "it warns")
    return out, nodes
