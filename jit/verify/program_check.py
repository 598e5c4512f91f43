"""Runs a program on copies of the inputs of a run and compares results and writes with the run's,
to the bit."""
from typing import Any

import numpy as np
from whet import devices
from whet.cpu import memory
from whet.ir.memory_spans import address, span

from ..refusals.reasons import Drifts, Memory, Rewrites
from ..refusals.recording_errors import Refused, Wrong
from ..refusals.replay_miss import Miss
from ..values.same_bits import copy_with_layout, near, same_bits

ALIGNED = 64                     # bytes: where memory begins at multiples of these


class ProgramCheck:
    """Compares the program of a recording with the run. `overlaps`: which inputs overlap, and which
    are written to. `outside`: the run's values for the program's inputs."""

    def __init__(
        self, subject: Any, rec: Any, overlaps: Any, program: Any, outside: list[int]
    ) -> None:
        self.subject, self.rec, self.overlaps = subject, rec, overlaps
        self.program, self.outside = program, outside

    def run(self, generators: Any, values: dict[int, int], last: bool = True) -> Any:
        """Raise Wrong where the program gives other bits. `values`: the run's value for each result
        of the program. Gives the results by value; None where nothing is compared. `last`: no other
        program is compared with the run, so that its copies may be used up."""
        if self.subject.verify == "off":
            return None
        rec, originals = self.rec, self.rec.originals
        if not originals.copies.keys() >= {self.outside[i] for i in self.overlaps.written}:
            # A program must not write there again.
            raise Refused(
                Memory("it writes to a tensor from outside where the recorder does not look")
            )
        inputs, made, spare = self.replayed(generators, values, last)
        want = self.wanted(values)
        if self.program.rewritten is not None:
            want = self.rewritten(want, spare)
        wrong = {n for n in values if n in want and not same_bits(made[n], want[n])}
        changed = {n for n, m, a in zip(self.program.outside, self.outside, inputs) if n in want
                   and not (originals.untouched(m) if a is want[n] else same_bits(a, want[n]))}
        if wrong or changed:
            what = (
                "gives other bits for a result"
                if wrong
                else "writes other bits to a tensor from outside"
            )
            if rec.values.devices:           # and no file that anybody can run would show it
                raise Wrong(f"a replay on a device {what}")
            from ..program.reproducer import report  # It is seldom needed.
            small = report(
                rec.nodes, rec.values.arrays, {n: originals[n] for n in self.outside},
                values.values()
            )
            raise Wrong(f"a replay {what}: {small}")
        return made

    def replayed(self, generators: Any, values: dict[int, int], last: bool) -> tuple[Any, Any, Any]:
        """Run the program. Gives its inputs, its results, and copies of the inputs to which a
        rewritten program can be applied."""
        rec, pattern = self.rec, self.overlaps.pattern
        after = [(g, g._seed, g._offset) for g in generators]
        for g in generators:
            g._seed, g._offset = rec.stand_ins.streams.starts[id(g)]
        try:
            spare = (
                None
                if self.program.rewritten is None
                else copies(rec, self.outside, pattern, spare=True)
            )
            inputs = copies(rec, self.outside, pattern, spare=not last)
            env = self.program(inputs)
            return inputs, {n: env[n] for n in values}, spare            # The arena is freed.
        except Miss as e:
            if e.no_room:
                raise MemoryError(str(e)) from None
            raise Refused(Drifts("a replay of the very same run goes another way")) from None
        finally:
            for g, seed, offset in after:
                g._seed, g._offset = seed, offset

    def wanted(self, values: dict[int, int]) -> dict[int, Any]:
        """What the run made, by the program's values. What is saved in place of what eager saved
        may be gone: the backward's program is compared on what this one made."""
        times = self.rec.depends_on_time()
        want = {
            n: self.rec.values.array(m)
            for n, m in (*values.items(), *zip(self.program.outside, self.outside))
            if m not in times
        }
        return {n: a for n, a in want.items() if a is not None}

    def rewritten(self, want: dict[int, Any], spare: Any) -> dict[int, Any]:
        """The results that named rewrites of the recorded graph should have, computed by the
        interpreter. They must be near those of the run."""
        said = self.program.meaning(dict(zip(self.program.outside, spare)))
        if not all(near(said[n], a) for n, a in want.items()):
            names = ", ".join(self.subject.rewrites)
            raise Refused(Rewrites(f"a rewrite moved a result by more than its rounding ({names})"))
        return {n: said[n] for n in want}


def copies(rec: Any, numbers: list[int], pattern: Any, spare: bool) -> list[Any]:
    """The inputs of a run as they were before it, laid out and overlapping as they were. Inputs
    that it did not write to are not copied. `pattern`: pairs of places in `numbers` that overlap.
    `spare`: make one more set of copies, as the recorder's own are still needed."""
    made: dict[int, Any] = {}
    for group in overlapping(pattern):
        if made.keys().isdisjoint(group):
            made.update(copied_together(rec, numbers, group))
    kept = rec.originals
    return [made[i] if i in made
            else copy_with_layout(kept[n]) if spare and n in kept.copies else kept[n]
            for i, n in enumerate(numbers)]


def overlapping(pattern: Any) -> list[set[int]]:
    """The groups of places that overlap; a group may come several times."""
    found: dict[int, set[int]] = {}
    for i, k, _ in pattern:
        group = found.setdefault(i, {i}) | found.setdefault(k, {k})
        found.update(dict.fromkeys(group, group))
    return list(found.values())


def copied_together(rec: Any, numbers: list[int], group: set[int]) -> dict[int, Any]:
    """Copies of arrays that overlap, in one block. Of one that was met later the copy may be of
    what others wrote: it is made first."""
    spans = [span(rec.values.arrays[numbers[i]]) for i in group]
    low, high = min(at for at, _ in spans), max(at for _, at in spans)
    homes = {rec.values.devices.get(numbers[i]) for i in group}
    home, made = homes.pop(), {}
    size = high - low + ALIGNED
    room = (memory.empty(size, np.uint8) if home is None
            else devices.beyond.filled(home, (size,), np.dtype(np.uint8), None))
    for i in sorted(group, key=lambda i: numbers[i], reverse=True):
        a = rec.values.arrays[numbers[i]]
        at = address(a) - low + low % ALIGNED
        made[i] = (np.ndarray(a.shape, a.dtype, room, at, a.strides) if home is None
                   else devices.beyond.within(room, at, a))
        made[i][...] = rec.originals[numbers[i]]
    return made
