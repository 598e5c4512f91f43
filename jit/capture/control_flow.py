"""`cond` and `while_loop` in a recording: one node that holds programs, which a replay runs by the
values that it finds.

    %3 = cond(%2, %0, %1)
      true:  %8 = mul(%0, 2.0)
      false: %9 = neg(%1)

The run that is recorded is eager's. The branch that is taken and each round are noted as any code
is, the predicate as a guard. If what was noted only computes, and gives tensors of its own, it can
be a program, and the node takes its place. Otherwise it stays as it is, and another branch or
another number of rounds becomes another recording.

Code that the run did not reach (the branch not taken, a body after no round) is *tried*. It runs on
the real operands, and is stopped before it does anything that eager would not have done
(`unreached_code.py`). What cannot be tried is no node. The nodes themselves are in
`control_nodes.py`.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from whet.ir.graph import OpNode, Ref
from whet.ir.value_keys import layout_key, value_key
from whet.ops import control_flow
from whet.ops.registry import is_tensor
from whet.tensor import Tensor, wants_gradient
from whet.tensor_base import Base

from ..refusals.recording_errors import Refused
from ..refusals.replay_miss import Miss
from ..values.same_bits import same_bits
from .control_nodes import Body, Cond, NextValue, While
from .unreached_code import Before, NotANode, attempt, unseen
from .user_lines import where

if TYPE_CHECKING:
    from whet.ir.graph import Node

    from .control_nodes import Control
    from .recorder import Recorder


def counting_nodes(function: Callable[..., Any]) -> Callable[..., Any]:
    """A context: code inside depends on the number of nodes so far, so no node may be inserted
    before these."""
    @functools.wraps(function)
    def counted(rec: Recorder, *args: Any) -> Any:
        rec.in_control_flow += 1
        try:
            return function(rec, *args)
        finally:
            rec.in_control_flow -= 1
    return counted


@counting_nodes
def cond(rec: Recorder, pred: Base, true_fn: Callable[..., Any], false_fn: Callable[..., Any],
         operands: Sequence[Any]) -> Any:
    """A `cond` that a recorder observes."""
    at = len(rec.nodes)
    answer = bool(pred)
    middle, before = len(rec.nodes), Before(true_fn if answer else false_fn, operands)
    out = (true_fn if answer else false_fn)(*operands)
    if rec.reason is None:
        taken = rec.nodes[middle:]
        try:
            before.compare()
            with rec.values.holding():
                results = own_values(rec, out, taken)
                other, nodes = attempt(rec, false_fn if answer else true_fn, operands)
                others = own_values(rec, other, nodes)
                if control_flow.structure(other) != control_flow.structure(out) or any(
                        layout_key(rec.values.arrays[a]) != layout_key(rec.values.arrays[b])
                        for a, b in zip(results, others)):
                    raise NotANode("the branches give other shapes, types or layouts")
                mine, theirs = build(rec, taken, results), build(rec, nodes, others)
                verify(rec, theirs)
            put(
                rec, at, [rec.value(pred)], results,
                Cond("cond", true=mine, false=theirs) if answer else Cond(
                    "cond", true=theirs, false=mine))
        except (NotANode, Refused, Miss):
            pass
    return out


@counting_nodes
def while_loop(rec: Recorder, cond_fn: Callable[..., Any], body_fn: Callable[..., Any],
               carried: tuple[Any, ...]) -> Any:
    """A `while_loop` that a recorder observes."""
    noted, before = NotedRounds(rec, carried), Before(body_fn, cond_fn, carried)
    out = control_flow.rounds(cond_fn, body_fn, carried, noted.done)
    if rec.reason is None:
        try:
            before.compare()
            with rec.values.holding():
                noted.become_a_node(body_fn, out)
        except (NotANode, Refused, Miss):
            pass
    return out


class NotedRounds:
    """The recorded rounds of a while_loop. `marks`: the number of nodes before each question and
    each body, and at the end. `states`: what was carried, at first and after each round. `answers`:
    to each question."""

    def __init__(self, rec: Recorder, carried: tuple[Any, ...]) -> None:
        self.rec, self.marks = rec, [len(rec.nodes)]
        self.states: list[tuple[Any, ...]] = [carried]
        self.answers: list[Any] = []

    def done(self, what: str, now: Any) -> None:
        """Note that a question was asked, or that a body has run."""
        self.marks.append(len(self.rec.nodes))
        (self.answers if what == "asked" else self.states).append(now)

    def become_a_node(self, body_fn: Callable[..., Any], out: Any) -> None:
        """Turn the rounds into one node."""
        if not all(is_tensor(x) for x in (*self.answers, *control_flow.leaves(self.states[0]))):
            raise NotANode("Python counts")
        rec, states = self.rec, self.states
        parts = [rec.nodes[a:b] for a, b in zip(self.marks, self.marks[1:])]
        # The first is the guard that the answer was.
        asks, bodies = parts[::2], [nodes[1:] for nodes in parts[1::2]]
        carried = [self.values_of(s) for s in states]
        asked = [own_values(rec, answer, nodes)[0] for nodes, answer in zip(asks, self.answers)]
        self.must_be_alike(asks, bodies, carried, asked)
        known = set(carried[0])
        for state, nodes in zip(states[1:], bodies):
            for t in control_flow.leaves(state):
                if rec.value(t) not in known:
                    known.update(own_values(rec, t, nodes))
        results, start = own_values(rec, out, None), carried[0]
        nodes, after = (bodies[0], carried[1]) if bodies else self.tried(body_fn, start)
        fresh = [n for n in dict.fromkeys(after) if n not in start]
        body, ask = build(rec, nodes, fresh), build(rec, asks[0], asked[:1])
        if not bodies:
            verify(rec, body)
        following = [NextValue(is_made=True, place=fresh.index(n)) if n in fresh
                     else NextValue(is_made=False, place=start.index(n)) for n in after]
        put(rec, self.marks[0], start, results, While("while_loop", following, ask=ask, body=body))

    def values_of(self, state: tuple[Any, ...]) -> list[int]:
        """The values that are carried in a state."""
        return [self.rec.value(t) for t in control_flow.leaves(state)]

    def must_be_alike(self, asks: Sequence[Sequence[Node]], bodies: Sequence[Sequence[Node]],
                      carried: Sequence[Sequence[int]], asked: Sequence[int]) -> None:
        """Raise NotANode if two rounds do different things."""
        rec = self.rec
        if any(len(set(c)) != len(c) for c in carried):
            raise NotANode("one tensor is carried twice")
        if any(self.layouts(c) != self.layouts(carried[0]) for c in carried[1:]):
            raise NotANode("what is carried has another layout in memory")
        questions = [form(rec, nodes, c, [n]) for nodes, c, n in zip(asks, carried, asked)]
        rounds = [form(rec, nodes, before, after)
                  for nodes, before, after in zip(bodies, carried, carried[1:])]
        if any(q != questions[0] for q in questions) or any(r != rounds[0] for r in rounds):
            raise NotANode("the rounds are not alike")

    def layouts(self, values: Iterable[int]) -> list[tuple[Any, ...]]:
        """The layouts of values."""
        return [layout_key(self.rec.values.arrays[n]) for n in values]

    def tried(self, body_fn: Callable[..., Any],
              start: Sequence[int]) -> tuple[list[Node], list[int]]:
        """The nodes of a body that no round ran, and what is carried after it."""
        rec, state = self.rec, self.states[0]
        made, nodes = attempt(rec, body_fn, state)
        made = tuple(made) if isinstance(made, tuple | list) else (made,)
        if control_flow.structure(made) != control_flow.structure(state):
            raise NotANode("what is carried has another structure")
        after = self.values_of(made)
        new = [t for t, n in zip(control_flow.leaves(made), after) if n not in start]
        own_values(rec, new, nodes)
        if self.layouts(after) != self.layouts(start) or len(set(after)) != len(after):
            raise NotANode("what is carried has another layout in memory, or carried twice")
        return nodes, after


def own_values(rec: Recorder, out: Any, nodes: Sequence[Node] | None) -> list[int]:
    """The values of results. These must be tensors without history, made by the given nodes (None:
    by any), each with memory of its own."""
    found = []
    for t in control_flow.leaves(out):
        if type(t) is not Tensor or wants_gradient(t) or t._base is not None or t._extra:
            raise NotANode("gradients flow through a result, or it is a view")
        n = rec.value(t)
        if n in found or nodes is not None and not any(n in node.outs for node in nodes):
            raise NotANode("a result was there before, or is given twice")
        found.append(n)
    return found


def build(rec: Recorder, nodes: Sequence[Node], results: Iterable[int]) -> Body:
    """Build a body's program, unwatched."""
    if rec.values.devices:
        raise NotANode("it works on a device")
    with unseen():
        return Body(rec.values.arrays, nodes, results)


def verify(rec: Recorder, body: Body) -> None:
    """Compare the program of tried code with what the code returned."""
    with unseen():
        body.place(body.inputs)
        inputs = [a for n in body.inputs if (a := rec.values.array(n)) is not None]
        made = body(inputs)
    if not all(same_bits(a, rec.values.array(n)) for a, n in zip(made, body.results)):
        raise NotANode("a replay of what was tried gives other bits")


def put(rec: Recorder, at: int, first: Sequence[int], results: Sequence[int], op: Control) -> None:
    """Replace the nodes recorded since `at` by one node. Its operands are `first` and what the
    bodies read."""
    operands = list(dict.fromkeys([*first, *(n for b in op.bodies.values() for n in b.inputs)]))
    made = {
        o for nodes in (rec.nodes[at:], *(b.nodes for b in op.bodies.values())) for n in nodes
        for o in n.outs}
    if any(c.after >= at for c in rec.acts):
        raise NotANode("it acts outside of Python's state")
    if not made.isdisjoint(operands):
        raise NotANode("a part of it needs what another made")
    for b in op.bodies.values():
        b.place(operands)
    op.join()
    del rec.nodes[at:]
    rec.nodes.append(OpNode(op, tuple(map(Ref, operands)), {}, list(results), where()))
    rec.forget(made.difference(results))


def form(rec: Recorder, nodes: Sequence[Node], carried: Sequence[int],
         results: Sequence[int]) -> tuple[list[Any], list[Any]]:
    """What some nodes do, in names that do not depend on the round."""
    names: dict[int, tuple[str | int, int]] = {n: ("carried", i) for i, n in enumerate(carried)}
    out = []

    def name(x: Any) -> Any:
        return names.get(x, int(x)) if type(x) is Ref else value_key(x)
    for k, n in enumerate(nodes):
        out.append(
            (n.kind, n.op, tuple(map(name, n.ins)),
             value_key(dict(n.attrs)),
             value_key(n.value), tuple(layout_key(rec.values.arrays[o]) for o in n.outs)))
        names.update((o, (k, i)) for i, o in enumerate(n.outs))
    return out, [names.get(n, n) for n in results]
