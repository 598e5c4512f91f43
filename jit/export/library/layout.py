"""What the functions of a library keep in memory, and the codes that they give."""

import enum
from typing import NamedTuple

from whet.passes.lower_llvm.calls.word_records import Address

PAGE = 1 << 16  # no system of ours has larger ones
MOST_THREADS = 256  # of a context
ARENA, ROOM, CONSTANTS, FIRST = 0, 1, 2, 3  # a context's bases; then inputs, then results


class Level(NamedTuple):
    """The code for one level of processors. `need`: the level that a processor must have."""

    need: int
    name: Address
    words: Address
    count: int
    arena: int
    room: int


class Value(NamedTuple):
    """An input or a result, as the header has it."""

    name: Address
    dtype: Address
    ndim: int
    shape: Address
    strides: Address
    bytes: int
    alignment: int


class Buffer(NamedTuple):
    """What a call is given for an input or a result."""

    data: Address
    bytes: int


class Model(NamedTuple):
    """A level that was chosen, and where the weights are; `mapped` bytes of a file, if any."""

    level: Address
    weights: Address
    mapped: int
    contexts: int


class Threads(NamedTuple):
    """What a context is asked to compute with: so many threads of its own, or an executor."""

    threads: int
    executor: Address
    width: Address
    run: Address


class Context(NamedTuple):
    """What a call needs, before the bases. The pool's state lies before it, the room and the arena
    behind it. `threads` and `cpus` are the pool's settings."""

    model: Address
    busy: int
    threads: int
    cpus: int
    executor: Address
    width: Address
    run: Address
    words: Address
    count: int


class Job(NamedTuple):
    """A launch that an executor does in parts."""

    kernel: Address
    slots: Address
    total: int
    parts: int


class Code(enum.IntEnum):
    """What a function gives. Above the lowest eight bits is the number of the buffer or the
    precondition that it is about, from 1 on."""

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
