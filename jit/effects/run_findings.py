"""The summary of a recorded run."""
from typing import Any

from whet.autograd.inplace import edge_of
from whet.ir.graph import Write

from ..capture.recorder import escaped
from ..capture.state_before import places_of_counters
from ..gradient.eager_graph import leaves_of, saved_by
from ..refusals.reasons import Keeps, Memory, OfNumPy, Prints
from ..refusals.recording_errors import Refused
from ..values.tensor_sources import Argument, Outside, Sources
from .describe_results import Results
from .describe_state_changes import LeftBehind
from .recipes import Constant
from .run_effects import Effects
from .tensor_recipes import MadeTensor


class Findings:
    """The results of a run and its lasting effects, as recipes. Raises Refused if the run has
    none. `regraded`: the tensors that get a gradient, or lose the one that they may have."""

    def __init__(self, session: Any, out: Any) -> None:
        self.run, self.rec, self.swapped = session.run, session.rec, session.swapped
        self.outward = session.outward
        rec, run = self.rec, self.run
        if rec.reason:
            raise Refused(rec.reason)
        rec.stand_ins.texts.guard_values()
        run.unchanged(rec)
        self.source_of = Sources(run, rec.reachable.borrowed, rec.stand_ins.draws.tensors())
        rec.stand_ins.draws.locate(self.source_of)
        self.results = self.recipes()
        dropped = session.gradients.dropped
        self.regraded = [t for t, g in zip(run.tensors, run.grads)
                         if t._grad is not g or id(t) in dropped]
        self.grads = [
            (self.source_of(t), Constant(None) if t._grad is None else self.results.tensor(t._grad))
            for t in self.regraded]
        left = LeftBehind(run, self.results, self.swapped, session.learned)
        self.result = self.results.describe(out)
        left.describe_moved_memory()
        self.left = left.for_replays()
        if self.outward.overtaken():
            raise Refused(Prints("a tensor is printed, and written to afterwards"))
        self.outward.describe(self.results)
        self.results.join()
        self.results.leaves()
        problem = rec.stand_ins.arrays.problem(bool(self.results.alive))
        if problem is not None:
            raise Refused(OfNumPy(problem))
        self.values = [*self.results.values, *self.results.numbers]

    def released(self) -> dict[int, int]:
        """The values that replace gradients, with the number of nodes at the moment the run dropped
        the old ones (see `released_gradients.py`)."""
        since, after = self.rec.run_memory.released.since, len(self.rec.nodes)
        found: dict[int, int] = {}
        for t, (_, recipe) in zip(self.regraded, self.grads, strict=True):
            if isinstance(recipe, MadeTensor):
                n = recipe.value
                found[n] = max(found.get(n, 0), since.get(id(t), after))
        return found

    def recipes(self) -> Results:
        """The maker of recipes for the run's results."""
        run, source_of = self.run, self.source_of
        edges: dict[int, Any] = {}
        for t in run.tensors:
            e = edge_of(t)
            if e is not None:
                edges.setdefault(id(e), source_of(t))
        return Results(self.rec, run, source_of, lambda e: edges.get(id(e)), run.tuples)

    def nothing_escaped(self) -> None:
        """Raise Refused if somebody still uses a tensor of the run that it does not return."""
        rec, results, first = self.rec, self.results, self.run.first
        bases = (t._base for t in results.tensors if t._base is not None)
        kept = [
            *results.tensors,
            *bases,
            *saved_by([t._node for t in results.alive], first),
            *rec.stand_ins.numbers.tensors,
        ]
        ids = {id(t) for t in kept}
        others = rec.tensors.but_for(ids)
        loose = escaped(others, leaves_of([t._node for _, t in results.freed], first))
        if loose is not None:
            raise Refused(
                Keeps(
                    f"a tensor of shape {list(loose.shape)} that it made is still in use "
                    "afterwards, but not returned",
                    rec.line_of(loose),
                )
            )

    def account(self) -> None:
        """What the run took from outside, which writes bump versions, and what it drew."""
        rec, source_of = self.rec, self.source_of
        if any(n.op is not None and n.op.sized_by_data for n in rec.nodes):
            self.enter_unread()
        self.outside = list(rec.outside)
        self.draws, self.positions = rec.stand_ins.streams.moved(), [
            *rec.stand_ins.streams.key(rec.nodes), *rec.stand_ins.draws.key()]
        # of tensors around one array the program is given one, and any may be written by
        at = places_of_counters([*rec.outside.values(), *self.run.tensors], source_of)
        cells = [c for n in rec.nodes if isinstance(n, Write) for c in n.cells]
        bumps = [(at[id(c)], c.writer) for c in cells if id(c) in at]
        bumps += self.run.unseen(rec, source_of)
        self.effects = Effects(self.result, self.left, self.grads, bumps, self.marks())

    def marks(self) -> list[tuple[Any, int]]:
        """The tensors that are leaves now, and were none or had other flags. Guards have to know
        what these were."""
        marks = [(self.source_of(t), t._rg) for t in self.run.marks]
        if not all(isinstance(source, Argument | Outside) for source, _ in marks):
            raise Refused(Memory("it changes whether a gradient requires one, or has a history"))
        return marks

    def enter_unread(self) -> None:
        """Make arguments that no node reads inputs as well: a later program may depend on their
        sizes."""
        known = {id(t) for t in self.rec.outside.values()}
        for t in self.run.leaves:
            if t._array.ndim and id(t) not in known:
                self.rec.value(t)

    def places(self) -> list[Any]:
        """Where outside tensors begin in their storages, as far as the run has read it."""
        return [(self.source_of(t), place) for t, place in self.rec.guarded.offsets.values()]

    def sharing(self) -> list[Any]:
        """Pairs of sources of tensors that wrap the same array."""
        found = [*self.run.tensors, *self.rec.reachable.borrowed.values()]
        return self.source_of.sharing([(t, self.run.array(t)) for t in found])
