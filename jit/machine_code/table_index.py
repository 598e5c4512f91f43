"""Tables that compare less than a recording's does: those that call the function itself, because it
is faster eagerly, and an index of many tables."""
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from whet import devices
from whet.tensor import Tensor

from .native_entry import L
from .table_rows import Table

FOREVER = (1 << 63) - 1          # uses of a table
WORD, NUMBERED = (1 << 64) - 1, 63   # all bits of a word; arguments whose ints an index may use
# a table that fits no call
_never: Any = None if L is None else np.full(L.HEADER, -1, np.int64)


def bypass(fn: Callable[..., Any], first: Any) -> Table:
    """A table that calls the function itself, because it is faster eagerly, where its first
    argument is like this one."""
    words = np.zeros(L.HEADER, np.int64)
    a: Any = first if type(first) is np.ndarray else first._array
    size = id(a.kind) if devices.is_elsewhere(a) else a.size
    for name, v in dict(kind=L.EAGER, finish=id(fn), type=id(type(first)), size=size).items():
        words[L.H[name] // 8] = v
    return words, [fn, type(first)]


def bypass_all(fn: Callable[..., Any], uses: int) -> Table:
    """A table that makes this many calls of a function eager, whatever their arguments."""
    words = np.zeros(L.HEADER, np.int64)
    for name, v in dict(kind=L.EAGER, finish=id(fn), until=uses).items():
        words[L.H[name] // 8] = v
    return words, [fn]


def fingerprint(args: Sequence[Any], kwargs: Mapping[str, Any], aside: Collection[int] = ()) -> int:
    """A hash of the sizes of tensors and arrays and of the ints among the arguments, without those
    at the positions `aside`. `_seek` in machine code computes the same. 0 without machine code."""
    h = 0
    if L is None:
        return h
    for i, x in (*enumerate(args), *((None, x) for x in kwargs.values())):
        words = []
        a = x._array if type(x) is Tensor else x
        if type(a) is np.ndarray:
            words = [a.ndim, *a.shape]
        elif type(x) is int and i is not None and i < NUMBERED and i not in aside:
            words = [x if -1 << 63 <= x < 1 << 63 else -1]
        for w in words:
            h = (h ^ w) * L.GOLDEN & WORD
            h ^= h >> L.TURN
    return h


class Index:
    """An index of tables that machine code searches by a fingerprint of the arguments. `ready` is
    the index in the form of a table. `aside`: positions of ints that do not count.

    Other threads may be reading it. So tables stay alive until the index is built again, in other
    memory."""

    def __init__(self, aside: Iterable[int] = ()) -> None:
        self.aside = frozenset(aside)
        # fingerprint of arguments -> the tables for such arguments
        self.by_fingerprint: dict[int, list[Table]] = {}
        self.rebuild(8)

    def put(self, finger: int, table: Table) -> None:
        """Add a table for arguments with this fingerprint."""
        tables = self.by_fingerprint.setdefault(finger, [])
        if any(x is table for x in tables):
            return
        if len(tables) == L.TRIES:           # others would not be tried
            self.drop(finger, tables[0])
            tables = self.by_fingerprint[finger]
        tables.append(table)
        if 2 * self.used >= self.size:
            self.rebuild(4 * sum(map(len, self.by_fingerprint.values())))
        else:
            self.enter(finger, table)

    def drop(self, finger: int, table: Table) -> None:
        """Remove a table."""
        left = [x for x in self.by_fingerprint.get(finger, ()) if x is not table]
        if left:
            self.by_fingerprint[finger] = left
        else:
            self.by_fingerprint.pop(finger, None)
        for at in self.places(finger):
            if self.rows[2 * at + 1] == table[0].ctypes.data:
                self.rows[2 * at + 1] = _never.ctypes.data

    def rebuild(self, least: int) -> None:
        """Build the index again, with room for at least this many tables."""
        self.size, self.used = 1 << max(least, 8).bit_length(), 0
        words = np.zeros(L.HEADER + 2 * self.size, np.int64)
        held: list[Table] = []
        aside = sum(1 << i for i in self.aside if i < NUMBERED) | -1 << NUMBERED
        for name, v in dict(kind=L.INDEX, type=id(Tensor), flags=aside, mask=self.size - 1,
                            known_at=8 * L.HEADER).items():
            words[L.H[name] // 8] = v
        self.rows, self.ready = words[L.HEADER:], (words, held)
        for finger, tables in self.by_fingerprint.items():
            for table in tables:
                self.enter(finger, table)

    def places(self, finger: int) -> Iterator[int]:
        """The rows where tables for a fingerprint may be, up to the first free one."""
        at = finger >> 8 & self.size - 1
        while self.rows[2 * at + 1]:
            yield at
            at = at + 1 & self.size - 1
        yield at

    def enter(self, finger: int, table: Table) -> None:
        *_, at = self.places(finger)
        self.ready[1].append(table)
        self.used += 1
        self.rows[2 * at] = finger if finger < 1 << 63 else finger - (1 << 64)
        self.rows[2 * at + 1] = table[0].ctypes.data


def limit_uses(ready: Table, uses: int) -> None:
    """Let machine code use a table this often. Python makes the calls after that."""
    ready[0][L.H["until"] // 8] = min(max(uses, 0), FOREVER)


def set_uses(ready: Table, n: int) -> None:
    """Set how often a table was used."""
    ready[0][L.H["count"] // 8] = n


def uses_of(ready: Table) -> int:
    """How often a table was used."""
    return int(ready[0][L.H["count"] // 8])
