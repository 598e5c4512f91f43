"""Makes the table of a recording: what it compares and does, as data for machine code.

If a recording is one list of launches, the table has all of it: guards, launches, the steps that
build the result, and where new values of Python's state are put. Such a call enters no Python at
all. Otherwise the table has the guards alone, and a Python function made for the recording does the
rest. `passes/lower_llvm/calls/traced_calls.py` has the code that goes through tables. A call that
no table fits is made by `dispatch`.
"""
from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from whet.cpu.recipe_words import row_major

from ..machine_code.native_entry import L, enter
from ..machine_code.table_rows import Leaves, NotInTable, Rows, Table
from ..values.numbers_as_sizes import length_of
from .argument_rows import arguments, like, sizes
from .outside_rows import outside
from .rest_in_python import Handed, after_table
from .result_steps import launch

if TYPE_CHECKING:
    from ..guards.signature import FlatArguments
    from ..program.program import Program
    from ..replay.recording import Recording

# words of a tensor's row before its sizes and strides, of that of a number before this
SIZES, VALUE = 11, 3


# the parts of a table after its header, in order; "keys" have no address of their own: they come
# before "build", whose steps for dicts point to them
SECTIONS = ("opening", "rows", "slots", "zeros", "words", "soft", "held", "bare", "always", "dicts",
            "lists", "known", "moving", "fresh", "left", "apart", "writes", "views", "sources",
            "build")


def table(r: Recording, args: Sequence[Any], kwargs: Mapping[str, Any],
          flat: FlatArguments) -> Table | None:
    """(the table as an array, what it points to) for calls like this one; None where a table does
    not do, or the world has moved on. Of arguments that machine code does not go through, such as
    objects of data, it is given the leaves.

    To be made when `r` fits."""
    if not _can_have_one(r, flat):
        return None
    reached = r.reach(flat.leaves)
    if reached is None or not r.world.accept_equal_objects():
        return None
    ready = None
    if _distinguishes_containers(r, flat):
        ready = _build_table(r, args, kwargs, flat, reached)
    if ready is None and (flat.boxes or flat.arrays):
        leaves, of_leaves = flat.by_leaves()
        return _build_table(r, leaves, {}, of_leaves, reached, by_leaves=True)
    return ready


def _build_table(r: Recording, args: Sequence[Any], kwargs: Mapping[str, Any], flat: FlatArguments,
          reached: Sequence[Any], by_leaves: bool = False) -> Table | None:
    """The table for these arguments, and what is `reached` from them; None where they cannot be
    compared."""
    slots = reached[len(flat.leaves):]
    numbers = ({id(x) for x in flat.numbers.values()}
               | {id(x) for s, x in zip(r.world.slots, slots) if s.is_number})
    numpys = {flat.met[i]: x for i, x in (flat.arrays or {}).items()}
    numbers |= {id(flat.leaves[i]) for i, x in numpys.items() if type(x) is not np.ndarray}
    of_numpy = {*numpys, *(i for i, s in enumerate(r.world.slots, len(flat.leaves)) if s.is_array)}
    t, leaves = Rows(), Leaves(reached, slots, numbers, flat.lengths.values(), of_numpy)
    try:
        described = arguments(t, r, args, kwargs, flat, leaves)
        header = dict(flags=r.settings.flags, nargs=len(args), names=len(kwargs),
                      leaves=leaves.tensors, numbers=len(numbers), slots=len(t["slots"]) // 4,
                      **described, **outside(t, r))
        known = {id(x): a for x, a in zip(r.guards.tensors, r.guards.arrays)}
        handed = Handed(leaves.order, leaves.number, leaves.numpy, leaves.lengths, known, by_leaves,
                        r.wants_boxes)
        done = None if r.wants_boxes else launch(t, r, leaves)
        header.update(done or dict(kind=L.PYTHON, finish=t.id(after_table(r, handed))))
    except NotInTable:
        return None
    words = _words_of_table(t, header)
    return np.array([w if w < 1 << 63 else w - (1 << 64) for w in words], np.int64), [
        r, handed, *t.owned]


def is_given_leaves(ready: Table) -> bool:
    """Is a table given the leaves of a call in place of its arguments?"""
    handed: Handed = ready[1][1]
    return handed.by_leaves


def _can_have_one(r: Recording, flat: FlatArguments) -> bool:
    """Can a table compare all that there is to compare for such a call, and make it?"""
    return enter is not None and not r.guards.is_in_python \
        and r.replay.inputs.are_arguments_like(flat.looks)


def _distinguishes_containers(r: Recording, flat: FlatArguments) -> bool:
    """Does machine code tell the containers among a call's arguments apart, as far as a replay
    makes use of them? It does not compare whether one is reached from outside, too."""
    return not r.wants_boxes and not any(
        like(x, y) for x, y in itertools.product(flat.boxes, r.world.seen.values()))


def _words_of_table(t: Rows, header: dict[str, Any]) -> list[int]:
    """The words of a table: its header, which gets the addresses of the parts, then these."""
    words = [0] * L.HEADER
    for name in SECTIONS:
        if name == "build" and "keys" in t.sections:
            first = 8 * len(words)
            words += t["keys"]
            for k in range(0, len(t["build"]), 3):
                if t["build"][k] == L.TABLE:
                    t["build"][k + 2] = first + 8 * t["build"][k + 2]
        header[f"{name}_at"] = 8 * len(words)
        words += t[name]
    header["mask"] = len(t["known"]) - 1
    for name, v in header.items():
        words[L.H[name] // 8] = v
    return words


def resized(ready: Table, r: Recording, flat: FlatArguments) -> Table | None:
    """The table of a recording that differs from that of another one in sizes alone: of what is
    compared only the arguments' sizes are others, and what is done is its own. None where that may
    not be."""
    words, owned, at, looks = ready[0].copy(), ready[1], L.H, flat.looks
    handed: Handed = owned[1]
    if not r.replay.inputs.are_arguments_like(looks):
        return None
    row = words[at["rows_at"] // 8] // 8
    for _ in range(words[at["rows"] // 8]):
        if words[row] in (L.TENSOR, L.ARRAY) and (k := handed.order[words[row + 3]]) < len(looks):
            words[row + SIZES:row + words[row + 2]] = sizes(looks[k])
        row += words[row + 2]
    for leaf, row in handed.lengths.items():
        words[words[at["rows_at"] // 8] // 8 + row + VALUE] = length_of(flat.leaves[leaf])
    words[at["count"] // 8] = words[at["until"] // 8] = 0
    if words[at["kind"] // 8] == L.PYTHON:
        finish = after_table(r, handed)
        words[at["finish"] // 8] = id(finish)
        return words, [r, *owned[1:], finish]
    if (words[at["kind"] // 8] != L.LAUNCH or words[at["numbers"] // 8] or r.program.shown
            or words[at["writes"] // 8] or words[at["apart"] // 8]):
        return None
    _resize_launches(words, r.program)
    return words, [r, *owned[1:]]


def _resize_launches(words: np.ndarray, p: Program) -> None:
    """What a table has of a program, as it is for others."""
    at = L.H
    row = words[at["fresh_at"] // 8] // 8
    for n in p.fresh:
        a = p.arrays[n]
        words[row + 2] = row_major(a)
        words[row + 3:row + 3 + a.ndim] = a.shape
        words[row + 3 + L.MAX_DIMS:row + 3 + L.MAX_DIMS + a.ndim] = a.strides
        row += L.FRESH_WORDS
    launches = p.launches_and_views
    assert launches is not None
    header = dict(list=launches.address, length=launches.words, away=int(launches.long),
                  arena=p.arena)
    for name, v in header.items():
        words[at[name] // 8] = v
