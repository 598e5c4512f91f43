"""The programs of a graph whose sizes differ, for one level: so few that each size within the
bounds has one.

One that is planned for sizes that are not known serves all that go the same way through the
planning. Where something goes by how large a size is, or a size is 0 or 1, there is a program for
that size alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from whet.cpu import tiered_compilation
from whet.ir.symbolic_size import LEAST, Unsized

from ..dims import Values, sizes_of
from ..errors import ExportError
from .level_parts import Case, LevelProgram
from .level_program import built
from .sized_level import SizedLevel, owning

MOST_SIZES = 1 << 16  # within the bounds: each is looked at when the library is made
MOST_ALONE = 512  # that have a program of their own
MOST_PLANS = 2000  # that are tried
SECONDS = 3  # sizes that are tried beside the first ones, for the same symbols
NEAR = 4  # of each size, from which these are chosen


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
        self.constants: dict[bytes, bytes] = {}  # each once
        sized = exported.sized
        self.largest = [d.max for d in self.dims.dims]
        self.stated = {
            sized.graph.nodes[i].outs[0]: {p: e for p, e in holes.items() if type(p[0]) is str}
            for i, holes in sized.holes.items() if sized.graph.nodes[i].outs
        }

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
        """The sizes that are looked at next: the example's, then what lies in the middle."""
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
        shapes = [[t.shape for t in self.exported.graph_at(v).types.values()]
                  for v in (first, last)]
        return {a for x, y in zip(*shapes) for a, b in zip(x, y) if a == b}

    def coincidences(self, values: Values) -> int:
        """How many sizes happen to be equal to others: of such a call it cannot be seen what goes
        by which size."""
        return sum(n in self.known for n in values) + len(values) - len(set(values))

    # ---- one program -----------------------------------------------------------------------------
    def planned(self, values: Values) -> LevelProgram | None:
        """The program for all sizes that go the same way as these, or None."""
        why = "sizes of 0 and 1 are constants"
        for second, symbols in self.seconds(values):
            if self.plans >= MOST_PLANS:
                why = "there are too many plans"
                break
            self.plans += 1
            try:
                graphs = [owning(self.exported.graph_at(v)) for v in (values, second)]
                level = SizedLevel(
                    graphs, self.exported.constants, (values, second), symbols, self.largest,
                    self.stated)
                served = [v for v in self.left
                          if self.alike(v, values, symbols) and level.serves(v)]
                if values in served:
                    made = level.level(served)
                    for v in served:
                        del self.left[v]
                    return made
                why = "it is no plan for the sizes that it is of"
            except Unsized as e:
                why = str(e)
            except Exception as e:  # code that was not written with symbolic sizes in mind
                why = f"planning raises {e!r}"
        self.alone[values] = why
        return None

    def seconds(self, values: Values) -> Iterator[tuple[Values, list[int]]]:
        """Other sizes to plan with, and which of them are symbols: all that may be, or where these
        happen to be equal to sizes of something else, some of them."""
        dims = self.dims.dims
        free = [k for k, n in enumerate(values) if n >= LEAST and dims[k].max > LEAST]
        seen = {values}
        for count in range(len(free), 0, -1):
            for symbols in itertools.combinations(free, count):
                for second in self.beside(values, symbols):
                    if second not in seen:
                        seen.add(second)
                        yield second, list(symbols)

    def beside(self, values: Values, symbols: Sequence[int]) -> list[Values]:
        """Sizes near these that tell all symbols apart, those with the fewest coincidences
        first."""
        choices: list[Sequence[int]] = [[n] for n in values]
        for k in symbols:
            d, n = self.dims.dims[k], values[k]
            others = [m for m in sizes_of(d) if m >= LEAST and m != n]
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
    def alike(v: Values, values: Values, symbols: list[int]) -> bool:
        """Are sizes such that a plan could be theirs?"""
        return all(n >= LEAST if k in symbols else n == values[k] for k, n in enumerate(v))

    def by_itself(self, values: Values) -> LevelProgram:
        """The program for these sizes alone."""
        if len(self.alone) > MOST_ALONE:
            why = self.alone[values]
            raise ExportError(
                f"compile: {self.exported.name} wants a program of its own for each of more than "
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
