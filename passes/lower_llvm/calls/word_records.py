"""Records of 8-byte words that Python writes and machine code reads.

Each is declared once, as a `NamedTuple` of `Address[Word]` and `Word` in the order in which they
lie. A word is an `int` where Python adds the tuple to its words, and a `Val` where a generator
reads the fields by their names.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

if TYPE_CHECKING:
    from ..builder import Fn, Val

Word = TypeVar("Word")
Address = Annotated[Word, "ptr"]
R = TypeVar("R")


def load(f: Fn, at: Val, record: Callable[..., R], first: int = 0) -> R:
    """A record of values in machine code, read from `at`, `first` words after its beginning."""
    kinds = get_type_hints(getattr(record, "__origin__", record), include_extras=True)
    types = ("ptr" if "ptr" in getattr(ty, "__metadata__", ()) else "i64" for ty in kinds.values())
    return record(*[f.load(ty, f.at(at, i, "i64")) for i, ty in enumerate(types, first)])


def size(record: type[tuple[Any, ...]]) -> int:
    """The number of words of a record."""
    return len(record.__annotations__)
