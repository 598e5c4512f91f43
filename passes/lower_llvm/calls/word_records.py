"""Records of 8-byte words that Python writes and machine code reads.

Each is declared once, as a `NamedTuple` of `Address` and `int` in the order in which they lie:
Python adds the tuple to its words, and a generator reads the fields by their names.
"""

from typing import Annotated, Any, TypeVar

Address = Annotated[int, "ptr"]
R = TypeVar("R", bound=tuple[Any, ...])


def load(f: Any, at: Any, record: type[R], first: int = 0) -> R:
    """A record of values in machine code, read from `at`, where it begins `first` words later."""
    kinds = enumerate(record.__annotations__.values(), first)
    return record(
        *[f.load("ptr" if ty is Address else "i64", f.at(at, i, "i64")) for i, ty in kinds])


def size(record: type[R]) -> int:
    """How many words a record takes."""
    return len(record.__annotations__)
