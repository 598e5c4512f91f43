"""What the functions of a library keep in memory, and the codes that they give."""

import enum
from collections.abc import Sequence
from typing import Generic, NamedTuple

from whet.passes.lower_llvm.calls.word_records import Address, Word

PAGE = 1 << 16  # no system of ours has larger ones
MOST_THREADS = 256  # of a context
ARENA, ROOM, CONSTANTS, FIRST = 0, 1, 2, 3  # a context's bases; then inputs, then results


class Level(NamedTuple, Generic[Word]):
    """The code for one level of processors. `need`: the level that a processor must have. Where
    sizes differ, `words` are the `count` ways."""

    need: Word
    name: Address[Word]
    words: Address[Word]
    count: Word  # type: ignore[assignment]  # tuples have a method of this name
    arena: Word
    room: Word


class Way(NamedTuple, Generic[Word]):
    """One of a level's lists, where sizes differ. `fits(sizes)` says whether it is for some sizes.
    The list is a copy of `template`, of `count` words, of which `listed` are launches.
    `fill(sizes, words, about)` puts what depends on sizes into it, and into the descriptions of
    values."""

    fits: Address[Word]
    fill: Address[Word]
    template: Address[Word]
    count: Word  # type: ignore[assignment]  # tuples have a method of this name
    listed: Word


class Size(NamedTuple, Generic[Word]):
    """A size that differs: its name, its bounds, and what it is a multiple of."""

    name: Address[Word]
    least: Word
    most: Word
    multiple: Word


class Value(NamedTuple, Generic[Word]):
    """An input or a result, as the header has it."""

    name: Address[Word]
    dtype: Address[Word]
    ndim: Word
    shape: Address[Word]
    strides: Address[Word]
    bytes: Word
    alignment: Word


class Buffer(NamedTuple, Generic[Word]):
    """What a call is given for an input or a result."""

    data: Address[Word]
    bytes: Word


class Model(NamedTuple, Generic[Word]):
    """A level that was chosen, and where the weights are; `mapped` bytes of a file, if any."""

    level: Address[Word]
    weights: Address[Word]
    mapped: Word
    contexts: Word


class Threads(NamedTuple, Generic[Word]):
    """The threads of a context: a number of its own, or an executor of the caller's."""

    threads: Word
    executor: Address[Word]
    width: Address[Word]
    run: Address[Word]


class Context(NamedTuple, Generic[Word]):
    """The state of a context at the start of a call, without the bases. The pool's state is
    before it, the room and the arena behind it. `threads` and `cpus` are the pool's settings."""

    model: Address[Word]
    busy: Word
    threads: Word
    cpus: Word
    executor: Address[Word]
    width: Address[Word]
    run: Address[Word]
    words: Address[Word]
    count: Word  # type: ignore[assignment]  # tuples have a method of this name


class Job(NamedTuple, Generic[Word]):
    """A launch that an executor does in parts."""

    kernel: Address[Word]
    slots: Address[Word]
    total: Word
    parts: Word


class Code(enum.IntEnum):
    """The result code of a function. The bits above the lowest eight are the number, from 1 on, of
    the buffer or precondition that it is about."""

    OK = 0
    NULL_POINTER = 1
    WRONG_COUNT = 2
    WRONG_SIZE = 3
    MISALIGNED = 4
    OVERLAP = 5
    BUSY = 6
    NO_MEMORY = 7
    PROCESSOR = 8
    UNKNOWN_LEVEL = 9
    WEIGHTS = 10
    THREADS = 11
    PRECONDITION = 12
    OUT_OF_BOUNDS = 13


SAID = {
    Code.OK: "all is well",
    Code.NULL_POINTER: "a pointer is null",
    Code.WRONG_COUNT: "another number of inputs or results",
    Code.BUSY: "it is in use: a context by another thread's call, or a model by its contexts",
    Code.NO_MEMORY: "the system has no memory for it",
    Code.PROCESSOR: "this processor lacks instructions that the code needs",
    Code.UNKNOWN_LEVEL: "the library has no code for a level of that name",
    Code.WEIGHTS: "the file of weights cannot be read, or is another model's",
    Code.THREADS: f"the number of threads must be from 0 to {MOST_THREADS}, and an executor has "
    "both functions",
}


class About:
    """What a context of a library whose sizes differ knows of them, in words from `base` on:
    the sizes of the last call, the bytes of all values, a `Value` for each, and their shapes and
    strides. `ndims`: of inputs, then of results."""

    def __init__(self, sizes: int, ndims: Sequence[int]) -> None:
        self.sizes, self.ndims = sizes, list(ndims)
        self.bytes = sizes
        self.values = self.bytes + len(ndims)
        self.shapes, at = list[int](), self.values + len(ndims) * len(Value._fields)
        for n in ndims:
            self.shapes.append(at)
            at += 2 * n
        self.count = at

