"""Builds a recording from a run: its program, and everything that a replay compares, writes and
returns."""
import contextlib
from collections.abc import Iterator
from typing import Any

from whet.autograd import modes
from whet.autograd.node import OutputOf
from whet.cpu import memory, ordered_kernels
from whet.tensor import wants_gradient

from ..gradient.backward import Backward
from ..gradient.eager_graph import flow_through, inside
from ..guards.tensor_guards import TensorGuards
from ..program import build_program
from ..program.builder import Options
from ..program.program import Program
from ..refusals.reasons import Prints, PythonBackward
from ..refusals.recording_errors import Refused
from ..refusals.replay_miss import Miss
from ..values.tensor_sources import GradientOf, Outside
from ..verify.program_check import ProgramCheck
from . import build_in_parts, families
from .inputs import Inputs, Overlaps
from .recording import AmongSizes, Recorded, Recording
from .replay import Replay
from .sized_calls import AtThese, Run

# what a run of the backward may raise that the call itself did not
UNRECORDED = Miss, RuntimeError, ArithmeticError, LookupError, TypeError, ValueError


def build(session: Any, found: Any, like: Any) -> Recording:
    """Build the recording of a run, and verify its program. Raises Refused if there can be none.
    Raises Unready if a later call should be recorded instead, because kernels have to be compiled
    first or a program is in use. `like`: a recording that may have the same nodes at other sizes,
    or None."""
    rec = session.rec
    with modes.own_types():                  # The caller's autocast is not the backward's.
        back = _backward(found, like)
    values = [
        *found.values,
        *((n for n in back.saved if n not in rec.outside) if back is not None else ())]
    found.nothing_escaped()
    found.account()
    program = _program(session, found, back, values, like)
    inputs, overlaps = _inputs(found, program)
    guards = _guards(session, found, program, inputs)
    if rec.guarded.settings:
        session.world.watch(rec.guarded.settings)
    is_doubtful = bool(found.left) and not session.run.alone()
    session.run.release(rec)
    rec.run_memory.ceiling.make_room(memory.taken(program.arena))
    sizes = AmongSizes.of(session.call.flat)

    is_unproven = rec.originals.are_lost and session.subject.verify != "off"
    if not is_unproven:
        run = Run(
            program, back, inputs.types, sizes.shapes,
            rec.followed.at if rec.variation.sizes else None, rec.acts)
        _family(session, found, like, run, overlaps, values)
    check = ProgramCheck(session.subject, rec, overlaps, program, found.outside)
    made = None
    if not is_unproven:
        with in_turn(program), trusted(program):
            made = check.run(found.draws, {n: n for n in values})
    if back is not None:
        with trusted(program):
            back.check(rec, made, back.runs)
            build_in_parts.check_backward(program, rec, made, back)
        back.runs = {}
    _version_cells(found, back)
    replay = _replay(found, program, inputs, overlaps, back)
    r = Recording(session.world, session.run.settings, guards, replay,
                  Recorded(overlaps, found.positions), sizes, found.results.returns_a_box)
    r.doubtful, r.unproven = is_doubtful or is_unproven, is_unproven
    if rec.originals.are_lost:
        r.recorded.lull = rec.run_memory.lull.at
    if back is not None:
        back.trial = r.trial
    rec.originals.clear()
    return r


def _family(session: Any, found: Any, like: Any, run: Run, overlaps: Overlaps,
            values: list[int]) -> None:
    """Try to plan recordings of other sizes, which need no run. First the plan is compared with
    this run."""
    def compare(those: AtThese) -> None:
        check = ProgramCheck(session.subject, found.rec, overlaps, those.program, found.outside)
        with in_turn(those.program):
            made = check.run(found.draws, {n: n for n in values}, last=False)
        if run.backward is not None and those.backward is not None:
            those.backward.check(found.rec, made, run.backward.runs)
    if not any(r is like for r in session.in_this_state):
        return                               # Numbers may be those of another state, and no sizes.
    if families.may_grow(like, run):
        if session.affords_family():
            families.grow(like, run, compare)
            session.family_grown()
    elif families.has_backwards(like, run):  # else the family's own program is what was made
        families.check(like, run, compare)


@contextlib.contextmanager
def in_turn(program: Program) -> Iterator[None]:
    """Inside, no other call works in the program's memory, which a family shares. Raises Unready if
    one does."""
    if not program.lock.acquire(False):
        raise ordered_kernels.Unready(ordered_kernels.Order())
    try:
        yield
    finally:
        program.lock.release()


@contextlib.contextmanager
def trusted(program: Program) -> Iterator[None]:
    """Inside, a program is compared with a run. If it gives other bits, it no longer shares
    anything with other programs."""
    try:
        yield
    except Refused:
        program.distrust()
        raise


def _backward(found: Any, like: Any) -> Backward | None:
    """The backward of the results through which gradients flow; None if there are none."""
    rec, results, first = found.rec, found.results, found.run.first
    if not results.alive:
        return None
    nodes = inside([t._node for t in results.alive], first)
    for n in nodes:
        if type(n) is not OutputOf and getattr(n.op, "python", False):
            raise Refused(flow_through(n.op))
    try:
        return Backward(rec, results.alive, results.values, first, results.source_of_border,
                        like and like.backward)
    except UNRECORDED as e:
        raise Refused(PythonBackward(f"its backward cannot be recorded: {e}")) from None


def _program(session: Any, found: Any, back: Any, values: list[int], like: Any) -> Program:
    """The program of a run, which computes these values."""
    rec, world, source_of = session.rec, session.world, found.source_of
    steady = {n: t for n, t in rec.outside.items()
              if type(source_of(t)) is Outside and world.tensors.get(id(t)) is t}
    nodes = rec.nodes if back is None or back.part is None else back.part.forward(rec.nodes)
    rewrites = session.subject.rewrites
    notes: list[str] = []
    if back is not None:
        notes = [f"{name} left it alone: gradients flow through its results" for name in rewrites]
        back.part, rewrites = None, ()
    affords = session.affords_kernels if back is None else None
    if session.is_of_the_family:
        def of_family() -> Program | None:
            return families.program(like, nodes, rec.nodes, found.outside, values,
                                    session.call.flat.leaves, rec.values.arrays)
        made = of_family() if affords is None else ordered_kernels.once_ready(of_family, affords)
        if made is not None:
            return made
    options = Options(
        steady=steady, rewrites=rewrites, like=like and like.program,
        ends=rec.stand_ins.streams.ends(), recorded=rec.nodes, notes=notes,
        released=found.released(), affords=affords)
    in_parts = build_in_parts.built(session, nodes, found.outside, values, options, like, back)
    if in_parts is not None:
        return in_parts
    return build_program.build(nodes, rec.values, found.outside, values, options)


def _guards(session: Any, found: Any, program: Program, inputs: Inputs) -> TensorGuards:
    """What is compared of tensors before each replay."""
    asks = bool(session.gradients or found.grads) or any(
        isinstance(source, GradientOf) for source in inputs.sources)
    return TensorGuards(
        found.run, program, found.sharing(), found.places(), session.gradients, asks)


def _inputs(found: Any, program: Program) -> tuple[Inputs, Overlaps]:
    """Where a replay finds the program's inputs, and which of them overlap."""
    rec = found.rec
    arrays = [rec.originals.real(n) for n in found.outside]
    homes = [rec.values.devices.get(n, -1) + 1 for n in found.outside]
    inputs = Inputs([found.source_of(rec.outside[n]) for n in found.outside], arrays, homes)
    if any(isinstance(source, GradientOf) and wants_gradient(rec.outside[n])
           for n, source in zip(found.outside, inputs.sources)):
        raise Refused(PythonBackward("it reads a gradient that has a gradient of its own"))
    # Some bump no version.
    written = {program.origin[x] for n in rec.nodes for x in n.written()}
    return (inputs,
            Overlaps(arrays, [i for i, n in enumerate(found.outside) if n in written], inputs))


def _version_cells(found: Any, back: Any) -> None:
    """Note the version cells of the results, and of what is saved for the backward."""
    saved, outside = {}, found.rec.outside
    if back is not None:
        cells = back.history.cells
        saved = {n: cells[n] for n in back.saved if n in cells and n not in outside}
    known = found.results.cells(saved)
    if back is not None:
        back.locate_saved(found.outside, known)


def _replay(found: Any, program: Program, inputs: Inputs, overlaps: Overlaps, back: Any) -> Replay:
    """The stages of a replay."""
    replay = Replay(program, inputs, overlaps if overlaps.written else None, found.effects,
                    found.rec.acts, found.draws, back, found.rec.stand_ins.draws.made)
    if found.outward.watch.foreign and not replay.does_nothing_but_acts:
        raise Refused(
            Prints(
                "user code runs where it prints, logs or warns, and could see what else "
                "the call does"))
    return replay
