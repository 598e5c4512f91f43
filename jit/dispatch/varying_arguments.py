"""Which numbers among the arguments of a function vary, as its calls have shown."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..guards.data_objects import SeenObjects
from ..values.array_facts import is_number
from ..values.number_paths import Branch, Path, branches, numbers_within, shared_path

SEEN = 4                         # calls of which the numbers among the arguments are remembered

Numbers = dict[Path, list[float]]


class VaryingArguments:
    """`paths` lead to numbers that vary, of which `lengths` become sizes; those in `fixed` do not:
    Python went on from them. `branches`: the paths as a tree, None where there are none.
    `numpys_vary`: are NumPy numbers others at some calls?"""

    def __init__(self) -> None:
        self.paths: set[Path] = set()
        self.lengths: set[Path] = set()
        self.fixed: set[Path] = set()
        self.seen: list[Numbers] = []        # those of the last calls of new kinds
        self.branches: Branch | None = None
        self.objects = SeenObjects()
        self.numpys_vary = self.numpys_are_fixed = False
        self.seen_of_numpy: Numbers | None = None        # the NumPy numbers of the last call

    def compare(self, named: Sequence[tuple[Any, Any]]) -> bool:
        """Numbers vary where they are others than in a call before, of the same types, and so do
        objects that are data. True where some are new to that."""
        are_new = self.objects.compare(named)
        now, before = numbers_within(named, self.objects.records), len(self.paths)
        for then in self.seen:
            if now.keys() >= then.keys():
                apart = [p for p in then if _differ(now[p], then[p])]
                if all(set(map(type, now[p])) == set(map(type, then[p])) for p in apart):
                    self.paths.update(apart)
        self.seen.append(now)
        del self.seen[:-SEEN]
        self.update_branches()
        return self.compare_numbers_of_numpy(named) or len(self.paths) > before or are_new

    def compare_numbers_of_numpy(self, named: Sequence[tuple[Any, Any]]) -> bool:
        """True where it is new that such numbers vary."""
        if self.numpys_vary or self.numpys_are_fixed:
            return False
        now = numbers_within(named, self.objects.records, is_number)
        then, self.seen_of_numpy = self.seen_of_numpy or {}, now
        self.numpys_vary = any(_differ(now[p], then[p]) for p in now.keys() & then.keys())
        return self.numpys_vary

    def fix_numbers_of_numpy(self) -> None:
        """A run in which something stood for them could not be recorded: they are part of what
        tells calls apart."""
        self.numpys_vary, self.numpys_are_fixed = False, True

    def fix(self, paths: Iterable[Path]) -> None:
        """Python went on from the numbers at these paths: they are part of what tells calls
        apart."""
        self.fixed.update(map(shared_path, paths))
        self.update_branches()

    def become_lengths(self, paths: Iterable[Path]) -> None:
        """The numbers at these paths became sizes, and are given as such: `numbers_as_sizes.py`."""
        self.lengths.update(map(shared_path, paths))
        self.update_branches()

    def fix_all(self) -> None:
        """None is taken as it comes."""
        self.paths.clear()
        self.update_branches()

    def update_branches(self) -> None:
        """The paths have changed."""
        self.paths -= self.fixed
        self.branches = branches(self.paths, self.lengths) if self.paths else None


def _differ(now: list[float], then: list[float]) -> bool:
    """Are there others, and not only more or fewer?"""
    return any(type(a) is not type(b) or a != b for a, b in zip(now, then))
