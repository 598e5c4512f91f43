"""The steps of a plan, and the Python function that takes them.

Memory that is let go of within the plan comes from one block, where there is more than one of it:
what is not there at the same time lies in the same place. Launches that follow each other are one
call of machine code, where the driver has one for them.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import declared_for_tracing
from . import device_state as m
from .allocator import ROUND
from .arrays import DeviceArray
from .plan_recorder import NoPlan, Noted, Number

if TYPE_CHECKING:
    from ..passes.lower_triton.source import Programs
    from .plans import Planning

ALIGNED = 16                        # what is known of addresses: what they are beyond a multiple
EARLY = 1 << 20                     # results of so many bytes have memory before they are due
BLOCK = -1                          # the number of the block that memories lie in together
WRITTEN: dict[str, Any] = {}        # the names that all plans' code sees beside its own


class Place(NamedTuple):
    """So many bytes behind where one of a plan's memories starts: an operand (the multiple of 16
    before its first element), or what was asked for."""
    memory: int
    offset: int


class Ask(NamedTuple):
    """Memory is asked for."""
    memory: int
    size: int
    what: str


class Drop(NamedTuple):
    """Memory is let go of."""
    memory: int


class Start(NamedTuple):
    """A launch of a kernel. `fixed`: the parameters that are the same at each call. `varying`:
    those that depend on the call. `spans`: the bytes that it may access."""
    kernel: Any
    programs: Programs
    fixed: Mapping[str, Any]
    varying: Mapping[str, Any]
    spans: Sequence[tuple[Any, ...]]


class Room(NamedTuple):
    """The offsets of memories in the block that they share, and its size."""
    places: dict[int, int]
    size: int


def shared_room(steps: Sequence[Any]) -> Room:
    """Places for all memories that are asked for and let go of, if they are several."""
    gone = {s.memory: i for i, s in enumerate(steps) if type(s) is Drop}
    asked = [(i, s) for i, s in enumerate(steps) if type(s) is Ask and s.memory in gone]
    places: dict[int, int] = {}
    if len(asked) < 2:
        return Room(places, 0)
    taken: list[tuple[int, int, int, int]] = []      # (first byte, end, asked at, gone at)
    # the largest first: small ones find room between them
    for i, s in sorted(asked, key=lambda pair: -pair[1].size):
        size, until, at = -(-s.size // ROUND) * ROUND or ROUND, gone[s.memory], 0
        for low, high, begin, end in sorted(taken):
            if begin < until and i < end and low < at + size:
                at = max(at, high)
        places[s.memory] = at
        taken.append((at, at + size, i, until))
    return Room(places, max(high for _, high, *_ in taken))


class Code:
    """The steps of a plan as a Python function of the stream and the operands."""

    def __init__(self, found: Planning) -> None:
        self.machine = machine = m.machine()
        self.found, self.driver = found, machine.driver
        self.room = shared_room(found.steps)
        self.names: dict[str, Any] = {
            "allocate": machine.allocators[found.index].allocate,
            "noted": machine.checks[found.index].promise,
            "reserve": machine.checks[found.index].reserve, "made": DeviceArray.at}

    def constant(self, thing: Any) -> str:
        """A name for something that every call uses."""
        name = f"c{len(self.names)}"
        self.names[name] = thing
        return name

    # ---- values ----
    def placed(self, at: Place) -> Place:
        """The address of a Place in the block that it shares with others."""
        if at.memory in self.room.places:
            return Place(BLOCK, self.room.places[at.memory] + at.offset)
        return at

    def start(self, memory: int) -> str:
        """Where a memory starts at each call."""
        if memory == BLOCK:
            return "block.block.address"
        return (f"h{memory}.block.address" if memory >= self.found.operands else
                f"(a{memory}.address & {-ALIGNED})")

    def value(self, of: Any) -> str:
        """What a parameter is at each call."""
        if type(of) is Place:
            at = self.placed(of)
            return f"{self.start(at.memory)} + {at.offset}"
        if type(of) is Number:
            return f"{self.constant(of.value_of)}(a{of.operand})"
        if type(of) is Noted:
            return f"noted(stream, {of.name!r}, {self.constant(of.error)})"
        return repr(of)

    def made(self, y: Any) -> str:
        """Something that the plan gives."""
        if isinstance(y, np.ndarray):
            raise NoPlan                           # each call has elements of its own
        if type(y) is not DeviceArray:
            return self.constant(y)
        for k, x in enumerate(self.found.stand_ins):
            if x is y:
                return f"a{k}"
        place = self.found.place(y.address)
        if type(place) is not Place:
            raise NoPlan                           # a constant that later calls might write to
        k = place.memory
        held = f"h{k}" if k >= self.found.operands else f"a{k}.held"
        like = self.constant((y.shape, y.strides, y.dtype, y.kind))
        return f"made({held}, {self.value(place)}, *{like})"

    # ---- lines ----
    def lines(self) -> list[str]:
        """All steps."""
        steps = [s for s in self.found.steps
                 if type(s) is Start or s.memory not in self.room.places]
        early = [s for s in steps if type(s) is Ask and s.size <= EARLY and self.room.size]
        out = [f"reserve({self.notes()})"] if self.notes() else []
        out += ([f"block = allocate({self.room.size}, stream, 'within a plan')"]
               if self.room.size else [])
        starts: list[Start] = []
        for s in (*early, *(s for s in steps if s not in early)):
            if type(s) is Start:
                starts.append(s)
                continue
            out += self.launches(starts)
            starts = []
            out.append(f"h{s.memory} = allocate({s.size}, stream, {s.what!r})"
                       if type(s) is Ask else f"del h{s.memory}")
        return out + self.launches(starts)

    def notes(self) -> int:
        """How many launches note bad data."""
        return sum(type(x) is Noted for s in self.found.steps if type(s) is Start
                   for x in s.varying.values())

    def launches(self, starts: Sequence[Start]) -> list[str]:
        """Launches that follow each other."""
        if len(starts) < 2 or self.driver.checks_addresses:
            return [self.launch(s) for s in starts]
        words: dict[Any, int] = {}                 # an argument that varies -> its place
        arguments: list[str] = []
        varying: list[list[tuple[int, int]]] = []
        for s in starts:
            kinds, mine = dict(s.kernel.parameters), []
            for name, of in s.varying.items():
                at = self.placed(of) if type(of) is Place else None
                key = (at.memory,) if at is not None else (len(arguments), None)
                if key not in words:
                    words[key] = len(arguments)
                    arguments.append(self.start(at.memory) if at is not None
                                     else self.by_bits(kinds[name], self.value(of)))
                mine.append((words[key], 0 if at is None else at.offset))
            varying.append(mine)
        launch = self.driver.sequence(starts, varying)
        if launch is None:
            return [self.launch(s) for s in starts]
        return [f"{self.constant(launch)}({', '.join(['stream', *arguments])})"]

    def by_bits(self, kind: str, value: str) -> str:
        """A parameter of a kind as a whole number."""
        from .launch_code import FLOATS, bits
        return f"{self.constant(bits)}({kind!r}, {value})" if kind in FLOATS else value

    def launch(self, s: Start) -> str:
        """One launch."""
        begin = self.driver.prepare(s.kernel, s.programs, s.fixed, list(s.varying))
        spans = ", ".join(f"({self.value(low)}, {self.value(high)})" for low, high in s.spans)
        arguments = ", ".join(["stream", f"({spans},)" if self.driver.checks_addresses and spans
                               else "()", *map(self.value, s.varying.values())])
        return f"{self.constant(begin)}({arguments})"

    def function(self, result: Any) -> Callable[..., Any]:
        """The function, which gives an array, several, or nothing."""
        arguments = "".join(f", a{i}" for i in range(self.found.operands))
        lines = self.lines()
        made = (f"({''.join(f'{self.made(y)}, ' for y in result)})" if type(result) is tuple
                else self.made(result))
        inner = "\n        ".join([f"    def run(stream{arguments}):", *lines, f"return {made}"])
        text = f"def bind({', '.join(self.names)}):\n{inner}\n    return run"
        scope: dict[str, Any] = {}
        declared_for_tracing.run(compile(text, "<plan>", "exec"), WRITTEN, scope)
        run: Callable[..., Any] = scope["bind"](*self.names.values())
        return run
