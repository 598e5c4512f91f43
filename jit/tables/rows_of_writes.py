"""The rows of a table for launches that write to tensors which were there before: which arrays must
not overlap, and whose versions count the write."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from whet.tensor import Tensor

from ..machine_code.native_entry import L
from ..values.tensor_sources import Argument, InPython, Outside

if TYPE_CHECKING:
    from ..machine_code.table_rows import Rows
    from ..replay.recording import Recording
    from ..replay.replay import Replay
    from .result_steps import Pair, Steps


def written_in_python(does: Replay, p: Any) -> bool:
    """Does a replay, whose program is one list of launches, write to tensors in a way that machine
    code does not know? It compares that arrays overlap nowhere. It puts nothing back, so no check
    may end the list."""
    if does.overlaps is None:
        return bool(does.bumps)
    return bool(p.checks) or not does.overlaps.moving_overlap_nothing


def rows_apart(r: Recording, values: Sequence[int],
               pairs: Sequence[Pair]) -> list[tuple[int, int, int, int]]:
    """The pairs of arrays that may not overlap, one of which is written to: which of the call's
    addresses they have, and between which distances they would overlap. Outside tensors have the
    arrays that they had, which is compared before: two of them need no row."""
    if r.replay.overlaps is None:
        return []
    p = r.program
    written = {p.outside[i] for i in r.replay.overlaps.written}
    known = {id(x) for x in r.guards.tensors}
    spans = [_span(p.arrays[n]) for n in values]
    rows, held = [], (L.LEAF, L.ARRAY_LEAF, L.OBJECT)
    for i, n in enumerate(values):
        if pairs[i][0] == L.OBJECT and pairs[i][1] not in known:
            raise InPython
        for j, other in enumerate(values) if n in written else ():
            both_outside = pairs[i][0] == pairs[j][0] == L.OBJECT
            seen_before = j < i and other in written
            if i == j or both_outside or seen_before or pairs[j][0] not in held:
                continue
            (low, high), (low_other, high_other) = spans[i], spans[j]
            if low < high and low_other < high_other:
                rows.append((i, j, low - high_other, high - low_other))
    return rows


def _span(a: Any) -> tuple[int, int]:
    """Where an array's elements begin and end, from the address of its first element on."""
    steps = [(n - 1) * stride for n, stride in zip(a.shape, a.strides)]
    if 0 in a.shape:
        return 0, 0
    return sum(s for s in steps if s < 0), sum(s for s in steps if s > 0) + a.dtype.itemsize


def rows_of_writes(t: Rows, r: Recording, steps: Steps) -> list[tuple[int, int, int]]:
    """The tensors that are written to, as pairs, and the writers that their versions note."""
    rows = []
    for source, writer in r.replay.bumps:
        if type(source) is Argument and steps.leaves.is_tensor(source.index):
            where = L.LEAF, steps.leaves.order.index(source.index)
        elif type(source) is Outside and type(source.tensor) is Tensor:
            where = L.OBJECT, t.id(source.tensor)
        else:
            raise InPython
        rows.append((*where, t.id(writer)))
    return rows
