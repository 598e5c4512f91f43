"""What the rows of a table are gathered in, and the order in which machine code hands over what a
recording is given."""
from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeAlias

ANY = object()
Table: TypeAlias = tuple[Any, list[Any]]           # its words, and what they point to


class NotInTable(Exception):
    """This cannot be in a table."""


class Rows:
    """Sections of a table under construction."""

    def __init__(self) -> None:
        self.owned: list[Any] = []
        self.sections: dict[str, list[Any]] = {}

    def __getitem__(self, name: str) -> list[Any]:
        return self.sections.setdefault(name, [])

    def forget(self, *names: str) -> None:
        """Empty these sections."""
        for name in names:
            self.sections.pop(name, None)

    def id(self, x: Any) -> int:
        """The address of an object that lives as long as the table."""
        self.owned.append(x)
        return id(x)


class Leaves:
    """What a recording is given, in the order in which machine code hands it over: the tensors and
    NumPy arrays, then the numbers that may be any. `leaf`: an object -> which of the recording's
    leaves it is, `place`: where machine code puts it. Numbers that became sizes are compared:
    `lengths` are these leaves, with where their rows are. Machine code has the NumPy arrays and
    numbers themselves, not the tensors that are leaves for them: `numpy` says which these are."""

    def __init__(self, leaves: Sequence[Any], slots: Sequence[Any], numbers: Collection[int],
                 lengths: Iterable[int], of_numpy: Collection[int]) -> None:
        self.slots, self.lengths = slots, dict.fromkeys(lengths, 0)
        self.number = [id(x) in numbers for x in leaves]
        self.numpy = [i in of_numpy for i in range(len(leaves))]
        handed = [i for i in range(len(leaves)) if i not in self.lengths]
        self.order = sorted(handed, key=self.number.__getitem__)
        self.tensors = len(handed) - len(numbers)
        self.leaf = {id(x): i for i, x in enumerate(leaves)}
        self.place = {id(leaves[i]): k for k, i in enumerate(self.order)}

    def is_tensor(self, leaf: int) -> bool:
        """Does machine code have a tensor for this leaf?"""
        return not (self.number[leaf] or self.numpy[leaf])
