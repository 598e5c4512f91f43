"""Plans: what an op does on a device for operands of some shapes, found out once.

The op's own code runs on stand-ins of its operands, at addresses that are nobody's. The memory that
it asks for and the kernels that it launches become steps, which are then taken for the operands at
hand, and for those of every later call that are alike in shape, strides, type and alignment.

What cannot be known without the elements (`NoPlan`: a wait, a copy to the host) is done anew at
each call, by the same code on the operands themselves.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..devices import device
from ..dtypes import dtype, get_default_dtype
from ..ir.spans import address, span
from ..tensor import memory_format
from . import machine as m
from . import planning
from .arrays import DeviceArray
from .geometry import geometry
from .planning import NoPlan, Noted, Number

if TYPE_CHECKING:
    from .driver import Begin

# stand-ins lie where no device has memory, each far from the others
NOWHERE, APART = 1 << 60, 1 << 44
ALIGNED = 16                        # what is known of addresses: what they are beyond a multiple
MOST = 1 << 12                      # plans that are kept


class Place(NamedTuple):
    """So many bytes behind where one of a plan's memories starts: an operand (the multiple of 16
    before its first element), or what was asked for."""
    memory: int
    offset: int


# ---- finding out ---------------------------------------------------------------------------------
class _Nowhere:
    """Memory of a stand-in."""
    __slots__ = ("address", "size")

    def __init__(self, address: int, size: int) -> None:
        self.address, self.size = address, size


class _Planned:
    """Somebody's hold on memory that a plan asks for: with the last reference the plan lets go of
    it, too. It stands for the allocator of its device as well."""
    __slots__ = ("planning", "number", "block", "device", "__weakref__")

    def __init__(self, planning: Planning, number: int, size: int, offset: int = 0) -> None:
        self.planning, self.number, self.device = planning, number, planning.index
        self.block = _Nowhere(NOWHERE + number * APART + offset, size)

    @property
    def allocator(self) -> _Planned:
        """What knows the device."""
        return self

    def __del__(self) -> None:
        self.planning.dropped(self.number)


class Planning:
    """A plan while it is found out."""

    def __init__(self, index: int, arrays: Sequence[Any]) -> None:
        self.index, self.steps = index, list[Any]()
        self.kept: list[Any] = []                  # constants on the device
        self.numbers: dict[int, tuple[Any, Number]] = {}
        self.operands, self.memories = len(arrays), len(arrays)
        self.stand_ins = [self._stand_in(i, a) if type(a) is DeviceArray else a
                          for i, a in enumerate(arrays)]
        for i, a in enumerate(arrays):
            if isinstance(a, np.ndarray):
                self.numbers[id(a)] = a, Number(i, lambda x: x)

    def _stand_in(self, i: int, a: DeviceArray) -> DeviceArray:
        """An array that is like an operand, elsewhere."""
        low, high = a.span
        first = a.address % ALIGNED
        held: Any = _Planned(self, i, high - low, first + low - a.address)
        start = NOWHERE + i * APART + first
        return DeviceArray(held, geometry(start, a.shape, a.dtype, a.strides if a.size else None))

    def tells_numbers(self, arrays: Sequence[Any]) -> bool:
        """Is every number among the operands told at each call?"""
        told = {number.operand for _, number in self.numbers.values()}
        return all(i in told for i, a in enumerate(arrays) if isinstance(a, int | float | complex))

    def ask(self, size: int, what: str) -> _Planned:
        """Memory that every call asks for."""
        held = _Planned(self, self.memories, size)
        self.memories += 1
        self.steps.append(Ask(held.number, size, what))
        return held

    def dropped(self, number: int) -> None:
        """Nobody holds such memory any more."""
        if number >= self.operands:
            self.steps.append(Drop(number))

    def place(self, at: int) -> Any:
        """An address as a Place; itself where it is one of the device."""
        if at < NOWHERE - APART:
            return at
        memory = (at - NOWHERE + APART // 2) // APART
        return Place(memory, at - NOWHERE - memory * APART)

    def start(self, kernel: Any, programs: int, arrays: Mapping[str, np.ndarray],
              numbers: Mapping[str, Any]) -> None:
        """A launch for every call."""
        given = {name: self.place(address(a)) for name, a in arrays.items()} | dict(numbers)
        fixed = {k: v for k, v in given.items() if isinstance(v, int | float)}
        vary = {k: v for k, v in given.items() if k not in fixed}
        begin = m.machine().driver.prepare(kernel, programs, fixed, list(vary))
        spans = [tuple(map(self.place, span(a))) for a in arrays.values()]
        self.steps.append(Start(begin, list(vary.values()), spans))


# ---- the steps -----------------------------------------------------------------------------------
class Ask(NamedTuple):
    """Memory is asked for."""
    memory: int
    size: int
    what: str

    def lines(self, code: Code) -> list[str]:
        k = self.memory
        return [f"h{k} = allocate({self.size}, stream, {self.what!r})",
                f"s{k} = h{k}.block.address"]


class Drop(NamedTuple):
    """Memory is let go of."""
    memory: int

    def lines(self, code: Code) -> list[str]:
        return [f"del h{self.memory}"]


class Start(NamedTuple):
    """A kernel is launched."""
    begin: Begin
    given: list[Any]
    spans: list[tuple[Any, ...]]

    def lines(self, code: Code) -> list[str]:
        spans = ", ".join(f"({code.value(low)}, {code.value(high)})" for low, high in self.spans)
        given = ", ".join(["stream", f"({spans},)" if code.checked and spans else "()",
                           *map(code.value, self.given)])
        return [f"{code.constant(self.begin)}({given})"]


class Code:
    """The steps of a plan as a Python function of the stream and the operands."""

    def __init__(self, found: Planning) -> None:
        machine = m.machine()
        self.found, self.checked = found, machine.driver.checks_addresses
        self.names: dict[str, Any] = {
            "allocate": machine.allocators[found.index].allocate,
            "noted": machine.checks[found.index].promise, "made": DeviceArray.at}

    def constant(self, thing: Any) -> str:
        """A name for something that every call uses."""
        name = f"c{len(self.names)}"
        self.names[name] = thing
        return name

    def value(self, of: Any) -> str:
        """What a parameter is at each call."""
        if type(of) is Place:
            start = (f"s{of.memory}" if of.memory >= self.found.operands else
                     f"(a{of.memory}.address & {-ALIGNED})")
            return f"{start} + {of.offset}"
        if type(of) is Number:
            return f"{self.constant(of.given)}(a{of.operand})"
        if type(of) is Noted:
            return f"noted(stream, {of.name!r}, {self.constant(of.error)})"
        return repr(of)

    def made(self, y: Any) -> str:
        """Something that the plan gives."""
        if isinstance(y, np.ndarray):
            raise NoPlan                           # each call has elements of its own
        if type(y) is not DeviceArray:
            return self.constant(y)
        place = self.found.place(y.address)
        if type(place) is not Place:
            raise NoPlan                           # a constant that later calls might write to
        k = place.memory
        held = f"h{k}" if k >= self.found.operands else f"a{k}.held"
        like = self.constant((y.shape, y.strides, y.dtype, y.kind))
        return f"made({held}, {self.value(place)}, *{like})"

    def function(self, result: Any) -> Callable[..., Any]:
        """The function, which gives an array, several, or nothing."""
        arguments = "".join(f", a{i}" for i in range(self.found.operands))
        lines = [line for step in self.found.steps for line in step.lines(self)]
        made = (f"({''.join(f'{self.made(y)}, ' for y in result)})" if type(result) is tuple
                else self.made(result))
        text = "\n    ".join([f"def run(stream{arguments}):", *lines, f"return {made}"])
        exec(text, self.names)
        run: Callable[..., Any] = self.names["run"]
        return run


class Plan(NamedTuple):
    """The steps, and the constants on the device that they read. None: the op must do it."""
    run: Callable[..., Any] | None
    kept: list[Any]


# ---- finding plans -------------------------------------------------------------------------------
def planned(what: Any, index: int, arrays: Sequence[Any], attrs: Mapping[str, Any],
            body: Callable[[Sequence[Any]], Any], by_value: bool = True) -> Any:
    """What `body` of operands gives, by a plan where there can be one. `what` and the attributes
    say what the body does, besides the operands' shapes. `by_value`: numbers among the operands
    decide about the plan."""
    if planning.current() is not None:
        return body(arrays)
    try:
        key = (what, index, get_default_dtype(),
               *[a.kind if type(a) is DeviceArray else _number(a, by_value) for a in arrays],
               *[(k, told(v)) for k, v in attrs.items()])
    except NoPlan:
        return body(arrays)
    plans = m.machine().plans
    plan = plans.get(key)
    if plan is None:
        if len(plans) >= MOST:
            plans.clear()
        plan = plans[key] = _found_out(index, arrays, body, by_value)
    return body(arrays) if plan.run is None else plan.run(m.current_stream(index), *arrays)


def _found_out(index: int, arrays: Sequence[Any],
               body: Callable[[Sequence[Any]], Any], by_value: bool) -> Plan:
    """The plan; a void one where there is none, or where the body itself must say what is wrong."""
    found = Planning(index, arrays)
    try:
        with planning.of(found):
            result = body(found.stand_ins)
        if not by_value and not found.tells_numbers(arrays):
            raise NoPlan
        return Plan(Code(found).function(result), found.kept)
    except Exception:
        return Plan(None, [])
    finally:
        found.stand_ins.clear()


def _number(a: Any, by_value: bool) -> Any:
    """What a plan is told of a number."""
    if isinstance(a, np.ndarray):
        return ("array", a.dtype, a.tobytes()) if by_value else ("array", a.dtype)
    return told(a) if by_value else type(a)


PLAIN = frozenset((type(None), bool, int, str, dtype, device, memory_format))


def told(v: Any) -> Any:
    """A value of which equal ones mean the same to every op; NoPlan of others."""
    t = type(v)
    if t in PLAIN:
        return t, v
    if t is tuple and {int}.issuperset(map(type, v)):
        return v
    if t is float:
        return float, repr(v)                      # -0.0 is equal to 0.0
    if isinstance(v, tuple | list):
        return (t, *[told(x) for x in v])
    if isinstance(v, np.dtype | type | str | int):
        return t, v
    if isinstance(v, slice):
        return slice, v.start, v.stop, v.step
    raise NoPlan


