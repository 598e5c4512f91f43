"""The programs of a graph whose sizes differ, for one level: so few that each size within the
bounds has one.

One that is planned for sizes that are not known serves all that go the same way through the
planning. Those of other sizes are planned from the same two runs. Where something depends on how
large a size is, or a size is 0 or 1, there is a program for that size alone.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from whet.cpu import tiered_compilation
from whet.ir.symbolic_size import LEAST, Unsized

from ..dims import Values, sizes_of
from ..errors import ArchiveError, ExportError, PreconditionError
from .level_parts import Case, LevelProgram
from .level_program import built
from .sized_level import SizedLevel
from .two_runs import TwoRuns, owning

MOST_SIZES = 1 << 16  # within the bounds: each is looked at when the library is made
MOST_ALONE = 512  # that have a program of their own
MOST_PLANS = 2000  # that are tried
SECONDS = 3  # sizes that are tried beside the first ones, for the same symbols
NEAR = 4  # of each size, from which these are chosen
TRIES = 4  # with the same symbols: passes may go another way by how large sizes are
LOOKS = 24  # at sizes, for some at which no two of the graph's are equal by chance
STRIDE = 0.618  # of all sizes, from one look to the next: these spread evenly, in any number
BEYOND = 64  # sizes and more are looked at beyond the bounds, where small ones are equal to others


def spread(choices: Sequence[Sequence[int]], count: int) -> Iterator[Values]:
    """Some of the combinations of one of each, which lie far apart."""
    total = math.prod(map(len, choices))
    for k in range(1, count):
        at, found = int(k * STRIDE * total) % total, []
        for some in reversed(choices):
            at, i = divmod(at, len(some))
            found.append(some[i])
        yield tuple(found[::-1])


def all_sizes(name: str, dims: Any) -> list[Values]:
    """All sizes within the bounds. Raises ExportError where they have none, or are too wide."""
    open_ = [d.name for d in dims.dims if d.max is None]
    if open_:
        raise ExportError(
            f"compile: {name} has sizes without a largest one ({', '.join(open_)}): export it with "
            f'dynamic={{...: whet.jit.Dim("{open_[0]}", max=...)}}'
        )
    count = 1
    for d in dims.dims:
        count *= len(sizes_of(d))
    if count > MOST_SIZES:
        raise ExportError(
            f"compile: {name} has {count:,} sizes within its bounds; a library is for at most "
            f"{MOST_SIZES:,}: narrow the bounds, or say what sizes are multiples of, "
            f'whet.jit.Dim("{dims.dims[-1].name}", ..., multiple=8)'
        )
    return list(itertools.product(*[sizes_of(d) for d in dims.dims]))


class Ways:
    """The search. `programs`: what was found, `alone`: why sizes have programs of their own."""

    def __init__(self, exported: Any) -> None:
        self.exported, self.dims = exported, exported.sized.dims
        self.left = dict.fromkeys(all_sizes(exported.name, self.dims))
        self.programs: list[LevelProgram] = []
        self.alone: dict[Values, str] = {}
        self.plans = 0
        self.known = self.known_sizes()
        self.kinds = self.kinds_of_sizes()
        self.runs: list[TwoRuns] = []
        self.tried = Counter[tuple[tuple[int, ...], Values]]()
        self.constants: dict[bytes, bytes] = {}  # each once
        sized = exported.sized
        self.largest = [d.max for d in self.dims.dims]
        self.stated = {
            sized.graph.nodes[i].outs[0]: {p: e for p, e in holes.items() if type(p[0]) is str}
            for i, holes in sized.holes.items() if sized.graph.nodes[i].outs
        }
        self.numbers = {i: {p[0]: e for p, e in holes.items() if type(p[0]) is int and not p[1:]}
                        for i, holes in sized.holes.items()}

    def find(self) -> list[LevelProgram]:
        """All programs."""
        with np.errstate(all="ignore"), tiered_compilation.form("full"):
            while self.left:
                values = self.next()
                made = self.planned(values) or self.by_itself(values)
                if made.refused:
                    return [made]
                constants = [self.constants.setdefault(c, c) for c in made.constants]
                self.programs.append(made._replace(constants=constants))
        return self.programs

    def next(self) -> Values:
        """The sizes that are looked at next: the example's, then those in the middle."""
        example = self.dims.example
        if example in self.left:
            return example  # type: ignore[no-any-return]
        left = list(self.left)
        large = [v for v in left if min(v) >= LEAST] or left
        fewest = min(map(self.coincidences, large))
        distinct = [v for v in large if self.coincidences(v) == fewest]
        return distinct[len(distinct) // 2]

    def known_sizes(self) -> set[int]:
        """The sizes of values that are the same for all calls."""
        first, *_, last = [v for v in self.left if min(v) >= LEAST] or list(self.left)
        return {a for a, b in zip(self.sizes_at(first), self.sizes_at(last)) if a == b}

    def sizes_at(self, values: Values) -> list[int]:
        """The sizes of all values of the graph."""
        return [n for t in self.exported.graph_at(values).types.values() for n in t.shape]

    def kinds_of_sizes(self) -> list[int]:
        """For each of these sizes the number of its kind. Two that are equal for several calls are
        of one kind."""
        left = [v for v in self.left if min(v) >= LEAST] or list(self.left)
        some = [left[int(k * STRIDE * len(left)) % len(left)] for k in range(NEAR)]
        numbers: dict[tuple[int, ...], int] = {}
        return [numbers.setdefault(x, len(numbers)) for x in zip(*map(self.sizes_at, some))]

    def kinds_equal_by_chance(self, values: Values) -> int:
        """How many kinds of sizes of the graph are equal to others for such a call."""
        sizes = dict(zip(self.kinds, self.sizes_at(values), strict=True))
        return len(sizes) - len(set(sizes.values()))

    def coincidences(self, values: Values) -> int:
        """How many sizes happen to be equal to others: of such a call it cannot be seen what
        depends on which size."""
        return sum(n in self.known for n in values) + len(values) - len(set(values))

    # ---- one program -----------------------------------------------------------------------------
    def planned(self, values: Values) -> LevelProgram | None:
        """The program for all sizes that go the same way as these, or None."""
        self.alone[values] = "sizes of 0 and 1 are constants"
        for i, runs in enumerate(self.runs):
            if self.alike(values, runs):
                made = self.tried_plan(values, self.runs.__getitem__, i)
                if made is not None:
                    return made
        for symbols, times in self.kinds_of_calls(values):
            first = values if times else self.distinguishing(values, symbols)
            for second in self.beside(first, symbols):
                if self.plans >= MOST_PLANS:
                    self.alone[values] = "there are too many plans"
                    return None
                made = self.tried_plan(values, self.ran, first, second, symbols)
                if made is not None:
                    return made
        return None

    def tried_plan(
        self, values: Values, runs: Callable[..., TwoRuns], *args: Any
    ) -> LevelProgram | None:
        """The program that the two runs `runs(*args)` give for all sizes that go the same way as
        these, or None."""
        self.plans += 1
        try:
            found = runs(*args)
            level = SizedLevel(found, values, self.largest, self.numbers)
            served = [v for v in self.left if self.alike(v, found) and level.serves(v)
                      and (level.has_inputs or self.may_run(v))]
            if values in served:
                made = level.level(served)
                self.alone.pop(values, None)
                for v in served:
                    del self.left[v]
                return made
            self.alone[values] = "it is no plan for the sizes that it is of"
        except Unsized as e:
            self.alone[values] = str(e)
        except Exception as e:  # code that was not written with symbolic sizes in mind
            self.alone[values] = f"planning raises {e!r}"
        return None

    def may_run(self, values: Values) -> bool:
        """Does a call of inputs without elements raise nothing?"""
        inputs = [x.value for x in self.exported.graph.inputs if x.place != "constant"]
        types = self.exported.graph_at(values).types
        try:
            self.exported.run([np.zeros(types[v].shape, types[v].dtype) for v in inputs])
        except Exception:  # an op may raise anything: these sizes are looked at by themselves
            return False
        return True

    def ran(self, first: Values, second: Values, symbols: Sequence[int]) -> TwoRuns:
        """The programs of the graph at two sizes."""
        graphs = [owning(self.exported.graph_at(v)) for v in (first, second)]
        made = TwoRuns(graphs, self.exported.constants, (first, second), symbols, self.stated)
        self.runs.append(made)
        return made

    def kinds_of_calls(self, values: Values) -> Iterator[tuple[tuple[int, ...], int]]:
        """Which sizes may be symbols: all that are large enough, or some of them; and how often
        they were tried with the same others."""
        dims = self.dims.dims
        free = [k for k, n in enumerate(values) if n >= LEAST and dims[k].max > LEAST]
        for count in range(len(free), 0, -1):
            for symbols in itertools.combinations(free, count):
                others = tuple(-1 if k in symbols else n for k, n in enumerate(values))
                times = self.tried[symbols, others]
                if times < TRIES:
                    self.tried[symbols, others] += 1
                    yield symbols, times

    def distinguishing(self, values: Values, symbols: Sequence[int]) -> Values:
        """Sizes that differ from these in the symbols alone, at which the fewest of the graph's
        sizes are equal by chance: what passes find there holds for more. Nothing runs at them, so
        they may lie beyond the bounds, where these are narrow."""
        best, fewest = values, self.kinds_equal_by_chance(values)
        for beyond in False, True:
            choices = [self.choices(k, beyond) if k in symbols else [n]
                       for k, n in enumerate(values)]
            for v in spread(choices, LOOKS):
                if not fewest:
                    return best
                with contextlib.suppress(PreconditionError, ArchiveError, ArithmeticError):
                    count = self.kinds_equal_by_chance(v)
                    if count < fewest:
                        best, fewest = v, count
        return best

    def choices(self, k: int, beyond: bool) -> Sequence[int]:
        """The sizes that a symbol may be in a run: those within the bounds, or as many and more
        beyond them."""
        d = self.dims.dims[k]
        if beyond:
            return range(d.max + d.multiple, 2 * d.max + BEYOND * d.multiple, d.multiple)
        return [n for n in sizes_of(d) if n >= LEAST]

    def beside(self, values: Values, symbols: Sequence[int]) -> list[Values]:
        """Sizes near these that tell all symbols apart, those with the fewest coincidences
        first."""
        choices: list[Sequence[int]] = [[n] for n in values]
        for k in symbols:
            n = values[k]
            others = [m for m in self.choices(k, n > self.largest[k]) if m != n]
            near = sorted(others, key=lambda m: (m in self.known, abs(m - n)))  # noqa: B023
            choices[k] = near[:NEAR]
        found = [
            v for v in itertools.product(*choices)
            if len({(values[k], v[k]) for k in symbols}) == len(symbols)
        ]

        def distance(v: Values) -> tuple[int, int]:
            return self.coincidences(v), sum(abs(a - b) for a, b in zip(v, values))
        return sorted(found, key=distance)[:SECONDS]

    @staticmethod
    def alike(v: Values, runs: TwoRuns) -> bool:
        """Are sizes such that a plan from two runs could be theirs?"""
        return runs.are_for(v) and all(v[k] >= LEAST for k in runs.symbols)

    def by_itself(self, values: Values) -> LevelProgram:
        """The program for these sizes alone."""
        if len(self.alone) > MOST_ALONE:
            why = self.alone[values]
            raise ExportError(
                f"compile: {self.exported.name} needs a program of its own for each of more than "
                f"{MOST_ALONE} sizes ({why}): narrow the bounds"
            )
        g = owning(self.exported.graph_at(values))
        made = built(g, self.exported.constants)
        shapes: list[Any] = [list(g.types[x.value].shape) for x in g.inputs
                             if x.place != "constant"]
        shapes += [list(g.types[v].shape) for v, _ in g.results]
        del self.left[values]
        case = Case([], list(enumerate(values)), [], {}, {}, shapes)
        return made._replace(case=case)
