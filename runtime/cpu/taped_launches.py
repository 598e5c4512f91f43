"""What a call launches, written down as it runs, and what each argument of a launch is.

The native entries make a recipe of such a call, and programs make entries of their list: both read
a tape by `read`, and put their own words in the place of what it says of each argument.
"""

import gc
import struct
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..ir.memory_spans import address, span
from ..ir.symbolic_size import at_least
from ..strided_memory import strided
from . import native

_local = threading.local()
_one_at_a_time = threading.RLock()
POINTERS = 1 << 16  # no address is smaller, and hardly any number of a launch is larger
ADDRESSES = 1 << 40  # no number of a launch is larger, but for addresses of unannounced memory


class Tape:
    """What a call launched; or with `dry`, would launch."""

    def __init__(self, dry: bool = False) -> None:
        self.launches: list[tuple[Any, ...]] = []
        self.numbers: dict[int, tuple[int, np.ndarray]] = {}
        self.verdicts: list[np.ndarray] = []
        self.scratch: dict[int, tuple[np.ndarray, int]] = {}
        self.partial: list[np.ndarray] = []
        self.tables: list[np.ndarray] = []
        self.thread, self.dry = threading.get_ident(), dry
        # are the launches all that the call does? A result may be written by NumPy, too
        self.complete = True

    def need(self, array: np.ndarray, size: int) -> None:
        """Say that launches of the call need `size` bytes of memory meanwhile: as many as the
        largest of those that share it."""
        _, before = self.scratch.get(id(array), (array, 0))
        self.scratch[id(array)] = array, at_least(size, before)

    def __call__(self, *args: Any) -> bool:
        if threading.get_ident() != self.thread:
            return False
        self.launches.append(args)
        return self.dry

    def listen(self, run: Callable[..., Any], *args: Any, **attrs: Any) -> Any:
        """Run something, and take down what it launches. Nothing is collected meanwhile: what
        objects do at their end would be taken down, too."""
        with _one_at_a_time:
            taping = native.taping(self)
            collects, before = gc.isenabled(), getattr(_local, "tape", None)
            gc.disable()
            _local.tape = self
            try:
                with taping, taping:
                    return run(*args, **attrs)
            finally:
                _local.tape = before
                if collects:
                    gc.enable()


def listens() -> bool:
    """Does this thread take down what is launched?"""
    return getattr(_local, "tape", None) is not None


# ---- what kernels' runners say of the arguments to come -----------------------------------------
def number(i: int, array: np.ndarray) -> None:
    """Say that `array`, about to be an argument of a launch, is the number given as operand i."""
    tape = getattr(_local, "tape", None)
    if tape is not None:
        tape.numbers[id(array)] = i, array


def written_by_numpy() -> None:
    """Say that NumPy writes, or has written, to what may be a result of the call: its launches
    alone leave that undone."""
    tape = getattr(_local, "tape", None)
    if tape is not None:
        tape.complete = False


def verdict(array: np.ndarray) -> None:
    """Say that the kernel about to be launched sets `array`, one integer, where it refuses the
    data; the forward then goes another way."""
    tape = getattr(_local, "tape", None)
    if tape is not None:
        tape.verdicts.append(array)


def partial(array: np.ndarray) -> np.ndarray:
    """Say that `array` holds what launches of the call put there for its later ones, and nothing
    else; gives it back."""
    tape = getattr(_local, "tape", None)
    if tape is not None:
        tape.partial.append(array)
    return array


def left_between() -> list[np.ndarray]:
    """What launches so far have put somewhere for later ones of the call."""
    tape = getattr(_local, "tape", None)
    return [] if tape is None else list(tape.partial)


def table(array: np.ndarray) -> np.ndarray:
    """Say that `array`, a vector, holds what sizes and attributes alone make, and is about to be an
    argument of launches, in whatever shape; gives it back."""
    tape = getattr(_local, "tape", None)
    if tape is not None:
        tape.tables.append(array)
    return array


def inside(array: np.ndarray, offset: int) -> np.ndarray | int:
    """An argument of a launch: so many bytes from the first element of `array`, which whoever takes
    it down wants to know; otherwise the address is quicker."""
    if not listens():
        return address(array) + offset
    return strided(array, (), (), offset // array.itemsize)


def scratch(array: np.ndarray, size: int) -> None:
    """Say that `array`, about to be an argument of launches (as a whole or in parts), is memory
    that they need meanwhile: `size` bytes of it."""
    tape = getattr(_local, "tape", None)
    if tape is not None:
        tape.need(array, size)


# ---- what an argument is ------------------------------------------------------------------------
class Word(NamedTuple):
    """The word itself: a number, or nothing."""

    value: int


class Operand(NamedTuple):
    """An address so many bytes from the first element of an operand."""

    which: int
    offset: int


class Result(NamedTuple):
    """An address so many bytes from the first element of a result."""

    which: int
    offset: int


class NumberOperand(NamedTuple):
    """The address of a number that is an operand, in the type that the kernel reads."""

    operand: int
    array: np.ndarray


class Verdict(NamedTuple):
    """The address of a word that the kernel sets where it refuses the data."""

    flag: np.ndarray


class Scratch(NamedTuple):
    """An address in memory that holds nothing before the call and after it; `size`: of that."""

    memory: np.ndarray
    size: int
    offset: int


class Table(NamedTuple):
    """The address of integers that a plan wrote down for the kernel."""

    array: np.ndarray


class NumbersOfSizes(NamedTuple):
    """The address of numbers of which some go by sizes: these are `items`, an expression and the
    byte where it belongs each."""

    array: np.ndarray
    items: list[tuple[Any, int]]


Argument = Word | Operand | Result | NumberOperand | Verdict | Scratch | Table | NumbersOfSizes


class Launch(NamedTuple):
    """A launch by what its arguments are."""

    kernel: int
    total: int
    grain: int
    arguments: list[Argument]


def bits(x: float) -> int:
    """A number of double precision as a word."""
    return struct.unpack("<q", struct.pack("<d", x))[0]  # type: ignore[no-any-return]


class _Memory:
    """Where some arrays lie: each by its id, and its number, first byte and end."""

    def __init__(self, arrays: Sequence[np.ndarray]) -> None:
        self.ids = {id(x): i for i, x in enumerate(arrays) if x.size}
        self.spans = [(i, *span(x)) for i, x in enumerate(arrays) if x.size]

    def index(self, a: np.ndarray, at: tuple[int, int]) -> int | None:
        """Which of them an array is, or has bytes of: it lies `at` these."""
        if id(a) in self.ids:
            return self.ids[id(a)]
        first, end = at
        if a.size:
            for i, low, high in self.spans:
                if first < high and low < end:
                    return i
        return None


class Reader:
    """Finds what the arguments of a tape's launches are. `operands` and `results` are arrays.
    Operands that share memory with each other are distinguished by the identity of the array. With
    `in_order` nothing else is compared: each operand is then an argument once, in their order."""

    array_types: tuple[type, ...] = (np.ndarray,)   # of results

    def __init__(
        self,
        tape: Tape,
        operands: Sequence[np.ndarray],
        results: Sequence[np.ndarray],
        in_order: bool = False,
    ) -> None:
        self.tape, self.operands, self.results = tape, operands, results
        self.known, self.made = _Memory(operands), _Memory(results)
        self.flags = {id(v) for v in tape.verdicts}
        self.in_order, self.next = in_order, 0

    def launches(self) -> list[Launch] | None:
        """What was launched; None where an argument is something unknown."""
        made = []
        for kernel, total, grain, *args in self.tape.launches:
            found: list[Argument] = []
            for a in args if total > 0 else ():
                argument = self.argument(a)
                if argument is None:
                    return None
                found.append(argument)
            if total > 0:
                made.append(Launch(kernel, total, grain, found))
        return made

    def argument(self, a: Any) -> Argument | None:
        """What an argument is; None where that is unknown."""
        if isinstance(a, np.ndarray):
            return self.array(a)
        if a is None:
            return Word(0)
        if isinstance(a, float):
            return Word(bits(a))
        if not isinstance(a, int) or a > POINTERS and (a > ADDRESSES or self.points_to_known(a)):
            return None
        return Word(a if a < 1 << 63 else a - (1 << 64))

    def points_to_known(self, at: int) -> bool:
        """Is a number an address in an operand or a result?"""
        return any(low <= at < high for known in (self.made, self.known)
                   for _, low, high in known.spans)

    def array(self, a: np.ndarray) -> Argument | None:
        """What an array among the arguments is."""
        if id(a) in self.flags:
            return Verdict(a)
        at = span(a)
        i = self.made.index(a, at)
        if i is not None:
            return Result(i, address(a) - address(self.results[i]))
        i = self.known.index(a, at)
        if i is not None:
            return self.operand(a, i)
        for m, size in self.temporary():
            if np.may_share_memory(a, m):
                return Scratch(m, size, address(a) - address(m))
        if id(a) in self.tape.numbers:
            return NumberOperand(*self.tape.numbers[id(a)])
        for x in self.tape.tables:
            if address(x) == address(a):
                return Table(x)
        return Table(a) if a.dtype == np.int64 and a.ndim == 1 and a.flags.owndata else None

    def operand(self, a: np.ndarray, i: int) -> Operand | None:
        """Where in an operand an array lies that does."""
        if self.in_order:
            i, self.next = self.next, self.next + 1
            return Operand(i, 0) if i < len(self.operands) and a is self.operands[i] else None
        return Operand(i, address(a) - address(self.operands[i]))

    def temporary(self) -> Iterable[tuple[np.ndarray, int]]:
        """The memory that the call needs for itself, and how many bytes of it."""
        yield from self.tape.scratch.values()
        yield from ((m, m.nbytes) for m in self.tape.partial)

    @staticmethod
    def view_offset(source: np.ndarray, made: np.ndarray) -> int | None:
        """Where in its source's memory a view begins; None where it is no such view."""
        if made.size == 0 or source.size == 0:
            return None
        low, high = span(source)
        if not low <= address(made) < high or not np.may_share_memory(made, source):
            return None
        return address(made) - address(source)
