"""A recording is made of a run: its program, and all that a replay compares, writes and gives back."""
from typing import Any

from whet.autograd.node import OutputOf
from whet.cpu import memory
from whet.ir.graph import Type

from ..capture.refused import Refused
from ..gradient.backward import Backward
from ..gradient.eager_graph import inside
from ..program import builder
from ..program.program import Miss, Program
from ..report.reasons import Memory, Prints, PythonBackward
from ..verify.program_check import ProgramCheck
from .recording import Recording

# what a run of the backward may raise that the call itself did not
UNRECORDED = Miss, RuntimeError, ArithmeticError, LookupError, TypeError, ValueError


def build(session: Any, found: Any, like: Any) -> Recording:
    """The recording of a run, its program verified; raises Refused where there is none. `like`: a recording
    that may be of the same nodes on other sizes, or None."""
    rec = session.rec
    back = _backward(found, like)
    values = [*found.values, *((n for n in back.saved if n not in rec.outside) if back is not None else ())]
    found.nothing_escaped()
    found.account()
    program = _program(session, found, back, values, like)
    r = _recording(session, found, program)
    r.expect([a for _, a in r.given])
    r.given = [(place, Type.of(a)) for place, a in r.given]
    session.run.release(rec)
    rec.ceiling.make_room(memory.taken(program.arena))
    made = ProgramCheck(session.subject, rec, r, program, found.outside).run(found.draws, {n: n for n in values})
    if back is not None:
        back.check(rec, made)
    r.backward = back
    _acts(r, found)
    _cells(r, found)
    rec.originals.clear()
    return r


def _backward(found: Any, like: Any) -> Backward | None:
    """The backward of the results through which gradients flow; None where there are none."""
    rec, results, first = found.rec, found.results, found.run.first
    if not results.alive:
        return None
    nodes = inside([t._node for t in results.alive], first)
    python = (n.op.name for n in nodes if type(n) is not OutputOf and getattr(n.op, "python", False))
    name = next(python, None)
    if name is not None:
        raise Refused(PythonBackward(f"its gradients flow through {name}, whose backward is Python of the user's"))
    try:
        return Backward(rec, results.alive, results.values, first, results.place_of_edge, like and like.backward)
    except UNRECORDED as e:
        raise Refused(PythonBackward(f"its backward cannot be recorded: {e}")) from None


def _program(session: Any, found: Any, back: Any, values: list[int], like: Any) -> Program:
    """The program of a run, which makes these values."""
    rec, world, place_of = session.rec, session.world, found.place_of
    steady = {n: t for n, t in rec.outside.items()
              if place_of(t)[0] == "object" and world.tensors.get(id(t)) is t}
    nodes = rec.nodes if back is None or back.part is None else back.part.forward(rec.nodes)
    rewrites = session.subject.rewrites
    notes: list[str] = []
    if back is not None:
        notes = [f"{name} left it alone: gradients flow through its results" for name in rewrites]
        back.part, rewrites = None, ()
    return builder.build(
        nodes, rec.arrays, found.outside, values, steady=steady, rewrites=rewrites,
        like=like and like.program, ends=rec.streams.ends(), recorded=rec.nodes, notes=notes)


def _recording(session: Any, found: Any, program: Program) -> Recording:
    """What a replay compares, and how it makes what the run made."""
    rec, run, world, place_of = session.rec, session.run, session.world, found.place_of
    given = [(place_of(rec.outside[n]), rec.arrays[n]) for n in found.outside]
    if any(place is not None and place[0] == "grad" and rec.outside[n].requires_grad
           for n, (place, _) in zip(found.outside, given)):
        raise Refused(PythonBackward("it reads a gradient that has a gradient of its own"))
    before = {id(t): g for t, g in zip(run.tensors, run.grads)}
    world.let_go(run.leaves)
    if rec.settings:
        world.watch(rec.settings)
    reached = [(t, before.get(id(t))) for t in world.tensors.values()]
    r = Recording(world, program, reached, given, found.result, found.grads, found.bumps, found.draws, found.left)
    r.positions, r.settings = found.positions, run.settings
    r.marks = [(place_of(t), t._rg) for t in run.marks]
    if any(place is None for place, _ in r.marks):
        raise Refused(Memory("it changes whether a gradient requires one"))
    flags = {id(t): look[1] for t, look in zip(run.tensors, run.looks)}
    r.flags = [flags.get(id(t), t._rg) for t in r.tensors]
    r.doubtful = any(found.left) and not run.alone()
    r.identity = [world.tensors.get(id(t)) for t in run.leaves]
    r.inputs = [world.inputs.get(id(t._array)) for t in run.leaves]
    r.without = [before[id(t)] is None for t in run.leaves]
    r.within = [world.seen.get(id(x)) for x in run.boxes]
    r.shared = found.sharing()
    written = {program.origin[n.ins[0]] for n in rec.nodes if n.kind == "write"}
    r.written = [i for i, n in enumerate(found.outside) if n in written]
    r.writes = bool(r.written)               # Some of these bump no version.
    return r


def _acts(r: Recording, found: Any) -> None:
    """What is done outside of Python's state."""
    r.boxed, r.acts = found.results.boxed, found.rec.acts
    r.only_acts = not (r.writes or r.bumps or r.grads or any(found.left) or found.draws)
    if found.outward.watch.foreign and not r.only_acts:
        raise Refused(Prints("code of the user's runs where it prints, logs or warns, and could see what else "
                             "the call does"))


def _cells(r: Recording, found: Any) -> None:
    """What counts the versions of the results, and of what is saved for the backward."""
    back, outside, saved = r.backward, found.rec.outside, {}
    if back is not None:
        back.trial = r.trial
        cells = back.history.cells
        saved = {n: cells[n] for n in back.saved if n in cells and n not in outside}
    r.cell_of, saved, r.cells = found.results.cells(outside, found.place_of, saved)
    if back is not None:
        back.cells, back.history.cells = saved, None
