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
from whet.cpu import haste
from whet.ir.extent import LEAST, Unsized

from ..dims import Values
from ..errors import ExportError
from .level_parts import Case, LevelProgram
from .level_program import built
from .sized_level import SizedLevel, owning

MOST_SIZES = 1 << 16  # within the bounds: each is looked at when the library is made
MOST_ALONE = 128  # that have a program of their own
MOST_PLANS = 400  # that are tried
OTHERS = 1, 2, 5  # how far second sizes lie from the first ones


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
        count *= d.max - d.min + 1
    if count > MOST_SIZES:
        raise ExportError(
            f"compile: {name} has {count:,} sizes within its bounds; a library is for at most "
            f"{MOST_SIZES:,}: narrow them"
        )
    return list(itertools.product(*[range(d.min, d.max + 1) for d in dims.dims]))


class Ways:
    """The search. `programs`: what was found, `alone`: why sizes have programs of their own."""

    def __init__(self, exported: Any) -> None:
        self.exported, self.dims = exported, exported.sized.dims
        self.left = dict.fromkeys(all_sizes(exported.name, self.dims))
        self.programs: list[LevelProgram] = []
        self.alone: dict[Values, str] = {}
        self.plans = 0
        self.constants: dict[bytes, bytes] = {}  # each once

    def find(self) -> list[LevelProgram]:
        """All programs."""
        with np.errstate(all="ignore"), haste.form("full"):
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
        return large[len(large) // 2]

    # ---- one program -----------------------------------------------------------------------------
    def planned(self, values: Values) -> LevelProgram | None:
        """The program for all sizes that go the same way as these; None where there is none."""
        why = "sizes of 0 and 1 are constants"
        for second, symbols in self.seconds(values):
            if self.plans >= MOST_PLANS:
                why = "there are too many plans"
                break
            self.plans += 1
            try:
                graphs = [owning(self.exported.graph_at(v)) for v in (values, second)]
                level = SizedLevel(
                    graphs, self.exported.constants, (values, second), symbols)
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
            except Exception as e:  # code that was not written with Extents in mind may raise any
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
                for far in OTHERS:
                    second = self.second(values, symbols, far)
                    if second is not None and second not in seen:
                        seen.add(second)
                        yield second, list(symbols)

    def second(self, values: Values, symbols: Sequence[int], far: int) -> Values | None:
        """Sizes that lie about `far` from these; None where there are none that tell all symbols
        apart."""
        out, pairs = list(values), set[tuple[int, int]]()
        for i, k in enumerate(symbols):
            d = self.dims.dims[k]
            least = max(d.min, LEAST)
            span = (d.max or 0) - least + 1
            steps = range(far + i, far + i + span)
            others = [least + (values[k] - least + step) % span for step in steps]
            found = [n for n in others if n != values[k] and (values[k], n) not in pairs]
            if not found:
                return None
            out[k] = found[0]
            pairs.add((values[k], found[0]))
        return tuple(out)

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
