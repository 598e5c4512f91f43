"""Builds the program of a run in which data decides sizes that were seen to vary."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from whet.ir.graph import Guard
from whet.ir.symbolic_size import Unsized
from whet.passes.compare_nodes import is_one_node

from ..capture.new_data import is_new_data
from ..gradient.backward_by_counts import BackwardByCounts
from ..guards import sizes
from ..program import parts_builder
from ..program.cut_at_counts import is_counted
from ..program.needed_values import NumberOrigins

if TYPE_CHECKING:
    from whet.ir.graph import Node

    from ..capture.recorder import Recorder
    from ..gradient.backward import Backward
    from ..program.builder import Options
    from ..program.program_in_parts import ProgramInParts
    from .recording import Recording


def built(session: Any, nodes: Sequence[Node], outside: Sequence[int], values: Sequence[int],
          options: Options, like: Recording | None, back: Backward | None) -> ProgramInParts | None:
    """The program in parts, all but the first planned for sizes that data decides. None if there
    are no such parts, or if Python has read sizes that are not followed."""
    rec, learned = session.rec, session.learned
    known = [*session.recordings.of(session.call.key), *([] if like is None else [like])]
    for r in known:
        learned.counting |= set(other_numbers(r.program.recorded, rec.nodes))
    if (options.rewrites or rec.values.devices or session.watch.size_read_at is not None
            or rec.followed.is_incomplete or rec.originals.are_lost
            or not (learned.counts_vary or learned.counting or counts_new_data(rec, nodes))):
        return None
    model = next((r for r in session.in_this_state
                  if r.program.depends_on_counts and sizes.has_nodes_of(r, rec.nodes)), None)
    options = dataclasses.replace(options, like=model and model.program)
    read_numbers = rec.followed.at if rec.variation.sizes else None
    origins = NumberOrigins(rec.followed.values, read_numbers, rec.followed.rests,
                            rec.calls_behind_gradients.found)
    made = parts_builder.build_in_parts(
        nodes, rec.values.arrays, outside, values, options, origins,
        [r.program for r in known if r.program.depends_on_counts])
    if made is None or back is None:
        return made
    shared = model and model.program.backwards
    try:
        if shared is not None:
            shared.grow(back, made)
    except Unsized:
        shared = None
    return dataclasses.replace(made, backwards=BackwardByCounts(back, made, read_numbers, shared))


def counts_new_data(rec: Recorder, nodes: Sequence[Node]) -> bool:
    """Does an argument that differs at each call decide a size?"""
    return any(is_counted(node, rec.values.arrays) and is_new_data(rec, x)
               for node in nodes for x in node.refs())


def other_numbers(nodes: Sequence[Node], others: Sequence[Node]) -> Iterator[str]:
    """The user's line at which Python decided on another number, if that is the first difference
    between two lists of nodes."""
    for a, b in zip(nodes, others, strict=False):
        if not is_one_node(a, b):
            if isinstance(a, Guard) and isinstance(b, Guard) and a.ins == b.ins:
                yield a.line
            return


def check_backward(program: Any, rec: Any, made: Any, back: Backward) -> None:
    """Raise Refused if the backward that is planned for a run's sizes differs from the run's own.
    Runs of other sizes led to the plan. `made`: see `Backward.check`."""
    planned = program.depends_on_counts and program.backwards.planned(program.sizes_of_run)
    if planned:
        planned.check(rec, made, back.runs)
