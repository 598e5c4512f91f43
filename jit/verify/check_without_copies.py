"""Compares the program of a recording with a run that is recorded again, without copying everything
that the run writes to.

Just before the run's first write that would need a large copy, what the program is given is still
there. It is run then, on copies of a few tensors at a time (`shadow_run.py`), and leaves digests of
what it makes and writes. The run goes on, and is compared with them when it is over. Gradients that
the run has made by then take the place of those that the program makes, if they have the same bits.
"""
from __future__ import annotations

from typing import Any

from whet.cpu import memory

from ..capture.purity import Watch
from ..effects.tensor_recipes import MadeTensor
from ..refusals.reasons import Drifts, Large
from ..refusals.recording_errors import Refused, Wrong
from ..refusals.replay_miss import Miss
from ..values.same_bits import digest
from .shadow_run import ShadowRun, can_shadow


def applies(known: Any) -> bool:
    """Can a recording be checked like this?"""
    return can_shadow(known.program) and not known.recorded.overlaps.pattern


class EarlyCheck:
    """`known`: the recording, `leaves`: the tensors of the call. Raises Miss where it does not fit
    them."""

    def __init__(self, rec: Any, known: Any, leaves: list[Any]) -> None:
        self.rec, self.known = rec, known
        self.leaves = known.reach(leaves)
        if self.leaves is None:
            raise Miss
        self.input_arrays = known.replay.inputs.arrays(self.leaves)
        self.digests: dict[int, int] | None = None
        self.problem: Refused | None = None

    @property
    def is_due(self) -> bool:
        """Has the program been run, so that the run has to be compared with it?"""
        return self.digests is not None or self.problem is not None

    def __call__(self) -> None:
        """Run the program, as the run is about to write."""
        if not self.known.lock.acquire(False):
            return
        try:
            self.digests = Watch.unwatched(self.shadow)
        except Miss:
            self.problem = Refused(Drifts("a replay of the very same run goes another way"))
        except MemoryError as e:
            self.problem = Refused(Large(str(e) or "there is too little memory to check it"))
        finally:
            self.known.lock.release()
            self.input_arrays, self.leaves = [], None

    def shadow(self) -> dict[int, int]:
        """The digests of the program, run on the state from before the run."""
        rec, p = self.rec, self.known.program
        number = rec.values.number
        input_arrays = [
            a if (n := number(a)) is None else rec.originals[n] for a in self.input_arrays]
        moved = [*rec.stand_ins.streams.moved(), *(() if p.draws is None else p.draws.generators)]
        after = {id(g): (g, g._seed, g._offset) for g in moved}
        for i, (g, *now) in after.items():
            g._seed, g._offset = rec.stand_ins.streams.starts.get(i, now)
        try:
            rec.run_memory.ceiling.make_room(memory.taken(p.arena))
            with memory.once(p.arena):
                return ShadowRun(p, input_arrays, p.results, self.gradients()).run()
        finally:
            for g, seed, offset in after.values():
                g._seed, g._offset = seed, offset

    def gradients(self) -> dict[int, Any]:
        """The gradients that the run has made by now, by the program's values."""
        replay = self.known.replay
        owners = replay.graded.find(self.leaves)
        return {recipe.value: t._grad._array for (_, recipe), t in zip(replay.grads, owners)
                if isinstance(recipe, MadeTensor) and t is not None and t._grad is not None}

    def compare(self, value_in_run: dict[int, int], values: dict[int, int]) -> None:
        """Raise Refused if the run and the program differ. `value_in_run`: the run's value for each
        value of the program, `values`: the same for results alone."""
        if self.problem is not None:
            raise self.problem
        assert self.digests is not None
        rec, p = self.rec, self.known.program
        times = rec.depends_on_time()
        written = {p.outside[i] for i in self.known.recorded.overlaps.written}
        for n, m in (*values.items(), *((n, value_in_run[n]) for n in p.outside)):
            a = rec.values.array(m)
            if m in times or a is None:
                continue
            if not (rec.originals.untouched(m) if n in p.outside and n not in written
                    else digest(a) == self.digests[n]):
                what = ("writes other bits to a tensor from outside" if n in p.outside else
                        "gives other bits for a result")
                raise Wrong(f"a replay {what}")
