"""What a level of a library is made of: plain data, from one process to another.

A library of sizes that differ has several programs for a level, each with a `Case`: the sizes that
it is for, and how its words depend on them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

ALIGN = 64  # bytes: of each constant, and of each piece of a context


class Kernel(NamedTuple):
    """The address of a kernel, by its number."""

    number: int


class Formula(NamedTuple):
    """A word that depends on sizes: a Python expression in the symbols and parts of a `Case`.
    `form` is the type of the number in the word, by NumPy's name."""

    text: str
    form: str = "int64"


class Column(NamedTuple):
    """`length` words, `most` at most: each is `word`, with 0, 1, 2, ... in the place of the part
    `place`."""

    length: int | Formula
    place: str
    word: int | Formula
    most: int


class Columns(NamedTuple):
    """Columns of words behind the list, each directly behind the one before it, however long that
    is."""

    columns: list[Column]


def words_of(x: int | Formula | Columns) -> int:
    """For how many words something behind the list has room."""
    return sum(c.most for c in x.columns) if isinstance(x, Columns) else 1


# ---- the pieces of memory that arguments of launches are in --------------------------------------
@dataclass(frozen=True, slots=True)
class ArenaBase:
    """The memory of intermediate values, planned together."""


@dataclass(frozen=True, slots=True)
class RoomBase:
    """The memory of values and flags that have a place each for the whole run."""


@dataclass(frozen=True, slots=True)
class InputBase:
    """The memory of an input."""

    number: int


@dataclass(frozen=True, slots=True)
class ResultBase:
    """The memory of a result."""

    number: int


@dataclass(frozen=True, slots=True)
class ConstantBase:
    """A constant of the program."""

    number: int


@dataclass(frozen=True, slots=True)
class LookedUpConstantBase:
    """A constant that depends on sizes: the name of the `Lookup` that has its place."""

    lookup: str


@dataclass(frozen=True, slots=True)
class TableBase:
    """A table of words."""

    number: int


@dataclass(frozen=True, slots=True)
class TailBase:
    """The words behind the list of launches."""


Base: TypeAlias = (ArenaBase | RoomBase | InputBase | ResultBase | ConstantBase
                   | LookedUpConstantBase | TableBase | TailBase)


class Place(NamedTuple):
    """An address: an offset in bytes from where a piece of memory begins."""

    base: Base
    offset: int | Formula


class Step(NamedTuple):
    """A launch: the kernel, by its number or as what a `Lookup` has, its units, their grain, and
    numbers and places."""

    kernel: int | Formula
    total: int | Formula
    grain: int | Formula
    arguments: list[int | Formula | Place]


class Stop(NamedTuple):
    """The list ends where the word `at` is not `wanted`, for the reason of that number."""

    at: Place
    wanted: int
    reason: int


class Lookup(NamedTuple):
    """What Python found for sizes: `words`, for all sizes of some symbols from the `least` ones on,
    so many of each."""

    symbols: list[int]
    least: list[int]
    counts: list[int]
    words: list[int | Kernel | Place]


class Case(NamedTuple):
    """The sizes that a program is for. `symbols`: the number of the dimension that each symbol s0,
    s1, ... is; `fixed`: (dimension, its size) of the others; `asked`: what must be so of sizes;
    `parts`: name -> the expression that it stands for; `lookups`: the same for what is looked up;
    `shapes`: of inputs, then of results."""

    symbols: list[int]
    fixed: list[tuple[int, int]]
    asked: list[str]
    parts: dict[str, str]
    lookups: dict[str, Lookup]
    shapes: list[list[int | Formula]]


class LevelProgram(NamedTuple):
    """All that a level has: `texts` are IR texts, `kernels` (number of the text, symbol), `tables`
    lists of words and `Kernel`s, `reasons` why lists end. `refused`: what no launch does, as (op,
    line); then there is nothing else. `tail`: words behind the list that launches are given the
    address of."""

    steps: list[Step | Stop]
    texts: list[str]
    kernels: list[tuple[int, str]]
    constants: list[bytes]
    tables: list[list[int | Kernel]]
    arena: int
    room: int
    reasons: list[str]
    copies: list[tuple[int, int]]  # a result that is the same as an earlier one: (that, it)
    refused: list[tuple[str, str]]
    case: Case | None = None
    tail: list[int | Formula | Columns] = []


REFUSED = LevelProgram([], [], [], [], [], 0, 0, [], [], [])
