"""Plans: what an op does on a device for operands of some shapes, found out once.

The op's own code runs on stand-ins of its operands, at addresses without memory. The memory that
it asks for and the kernels that it launches become steps, which are then taken for the operands at
hand, and for those of every later call that are alike in shape, strides, type and alignment.

What cannot be known without the elements (`NoPlan`: a wait, a copy to the host) is done anew at
each call, by the same code on the operands themselves.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import tf32
from ..device_arrays import geometry
from ..devices import device
from ..dtypes import dtype, get_default_dtype
from ..ir.memory_spans import address, span
from ..layouts import memory_format
from . import device_state as m
from . import plan_recorder
from .arrays import DeviceArray
from .plan_code import ALIGNED, Ask, Code, Drop, Place, Start
from .plan_recorder import NoPlan, Number

if TYPE_CHECKING:
    from ..passes.lower_triton.source import Programs

# stand-ins lie where no device has memory, each far from the others
NOWHERE, APART = 1 << 60, 1 << 44
MOST = 1 << 12                      # plans that are kept


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
    """A plan while it is found out. `is_of_many`: of many ops, whose operands are others than
    those of the plan."""

    def __init__(self, index: int, arrays: Sequence[Any], is_of_many: bool = False) -> None:
        self.index, self.steps, self.is_of_many = index, list[Any](), is_of_many
        self.kept: list[Any] = []                  # constants on the device
        self.numbers: dict[int, tuple[Any, Number]] = {}
        self.operands, self.memories = len(arrays), len(arrays)
        self.stand_ins = list(arrays)
        alone = {i: [i] for i, a in enumerate(arrays) if type(a) is DeviceArray}
        for i, others in (sharing(arrays) if is_of_many else alone).items():
            self._stand_for(i, arrays, others)
        for i, a in enumerate(arrays):
            if isinstance(a, np.ndarray):
                self.numbers[id(a)] = a, Number(i, lambda x: x)

    def _stand_for(self, first: int, arrays: Sequence[Any], places: Sequence[int]) -> None:
        """Stand-ins for operands that share memory, with the same layouts at other addresses."""
        start = arrays[first].address
        spans = [arrays[i].span for i in places]
        low, high = min(at for at, _ in spans), max(at for _, at in spans)
        begin = NOWHERE + first * APART + start % ALIGNED
        held: Any = _Planned(self, first, high - low, start % ALIGNED + low - start)
        for i in places:
            a = arrays[i]
            like = geometry(begin + a.address - start, a.shape, a.dtype,
                            a.strides if a.size else None)
            self.stand_ins[i] = DeviceArray(held, like)

    def tells_numbers(self, arrays: Sequence[Any]) -> bool:
        """Is every number among the operands an argument of each call?"""
        varying = {number.operand for _, number in self.numbers.values()}
        return all(
            i in varying for i, a in enumerate(arrays) if isinstance(a, int | float | complex))

    def ask(self, size: int, what: str) -> _Planned:
        """Memory that every call asks for."""
        held = _Planned(self, self.memories, size)
        self.memories += 1
        self.steps.append(Ask(held.number, size, what))
        return held

    def dropped(self, number: int) -> None:
        """The last reference to this memory was dropped."""
        if number >= self.operands:
            self.steps.append(Drop(number))

    def place(self, at: int) -> Any:
        """An address as a Place; unchanged if it is no address of a stand-in."""
        if at < NOWHERE - APART:
            return at
        memory = (at - NOWHERE + APART // 2) // APART
        return Place(memory, at - NOWHERE - memory * APART)

    def start(self, kernel: Any, programs: Programs, arrays: Mapping[str, np.ndarray],
              numbers: Mapping[str, Any]) -> None:
        """A launch for every call."""
        parameters = {name: self.place(address(a)) for name, a in arrays.items()} | dict(numbers)
        fixed = {k: v for k, v in parameters.items() if isinstance(v, int | float)}
        vary = {k: v for k, v in parameters.items() if k not in fixed}
        spans = [tuple(map(self.place, span(a))) for a in arrays.values()]
        self.steps.append(Start(kernel, programs, fixed, vary, spans))


def sharing(arrays: Sequence[Any]) -> dict[int, list[int]]:
    """The places of arrays on devices that lie in one memory, by the first of them."""
    found: dict[int, list[int]] = {}
    owners: dict[int, int] = {}
    for i, a in enumerate(arrays):
        if type(a) is DeviceArray:
            found.setdefault(owners.setdefault(id(a.held), i), []).append(i)
    return found


class Plan(NamedTuple):
    """The steps, and the constants on the device that they read. None: the op must do it. `types`
    are those of the results' elements, where these are arrays of their own, or views."""
    run: Callable[..., Any] | None
    kept: list[Any]
    types: tuple[np.dtype, ...] | None = None


# ---- finding plans -------------------------------------------------------------------------------
def planned(what: Any, index: int, arrays: Sequence[Any], attrs: Mapping[str, Any],
            body: Callable[[Sequence[Any]], Any], by_value: bool = True) -> Any:
    """What `body` of operands gives, by a plan where there can be one. `what` and the attributes
    say what the body does, besides the operands' shapes. `by_value`: numbers among the operands
    decide about the plan."""
    if plan_recorder.current() is not None:
        return body(arrays)
    try:
        what_for = key(what, index, arrays, attrs, by_value)
    except NoPlan:
        return body(arrays)
    plans = m.machine().plans
    plan = plans.get(what_for)
    if plan is None:
        if len(plans) >= MOST:
            plans.clear()
        plan = plans[what_for] = _found_out(index, arrays, body, by_value)
    return body(arrays) if plan.run is None else plan.run(m.current_stream(index), *arrays)


def key(what: Any, index: int, arrays: Sequence[Any], attrs: Mapping[str, Any],
        by_value: bool) -> tuple[Any, ...]:
    """The key of a plan; raises NoPlan for arguments that cannot be a part of a key."""
    return (what, index, get_default_dtype(), tf32.allowed,
            *[a.kind if type(a) is DeviceArray else _number(a, by_value) for a in arrays],
            *[(k, key_part(v)) for k, v in attrs.items()])


def _types(result: Any, operands: Sequence[Any]) -> tuple[np.dtype, ...] | None:
    """The types of results' elements; None where they are no arrays, or operands, or a tuple of
    fewer than two."""
    made = () if result is None else result if type(result) is tuple else (result,)
    own = all(type(y) is DeviceArray and all(y is not x for x in operands) for y in made)
    if not own or type(result) is tuple and len(result) < 2:
        return None
    return tuple([y.dtype for y in made])


def _found_out(index: int, arrays: Sequence[Any],
               body: Callable[[Sequence[Any]], Any], by_value: bool) -> Plan:
    """The plan; a void one where there is none, or where the body itself must say what is wrong."""
    found = Planning(index, arrays)
    try:
        with plan_recorder.of(found):
            result = body(found.stand_ins)
        if not by_value and not found.tells_numbers(arrays):
            raise NoPlan
        return Plan(Code(found).function(result), found.kept, _types(result, found.stand_ins))
    except Exception:
        return Plan(None, [])
    finally:
        found.stand_ins.clear()


def plan_of(index: int, arrays: Sequence[Any],
            body: Callable[[Sequence[Any]], tuple[Any, ...]]) -> tuple[Plan, set[int]]:
    """The plan of many ops that `body` does with operands, and the operands that are numbers and
    arguments of each call. On all other numbers the plan depends. Raises what the body
    raises, NoPlan among it."""
    found = Planning(index, arrays, is_of_many=True)
    try:
        with plan_recorder.of(found):
            result = body(found.stand_ins)
        varying = {x.operand for step in found.steps if type(step) is Start
                   for x in step.varying.values() if type(x) is Number}
        return Plan(Code(found).function(result), found.kept), varying
    finally:
        found.stand_ins.clear()


def _number(a: Any, by_value: bool) -> Any:
    """What of a number is part of a plan's key."""
    if isinstance(a, np.ndarray):
        return ("array", a.dtype, a.tobytes()) if by_value else ("array", a.dtype)
    return key_part(a) if by_value else type(a)


PLAIN = frozenset((type(None), bool, int, str, dtype, device, memory_format))


def key_part(v: Any) -> Any:
    """A value that can be a part of a plan's key: equal ones mean the same to every op. Raises
    NoPlan for others."""
    t = type(v)
    if t in PLAIN:
        return t, v
    if t is tuple and {int}.issuperset(map(type, v)):
        return v
    if t is float:
        return float, repr(v)                      # -0.0 is equal to 0.0
    if isinstance(v, tuple | list):
        return (t, *[key_part(x) for x in v])
    if isinstance(v, np.dtype | type | str | int):
        return t, v
    if isinstance(v, slice):
        return slice, v.start, v.stop, v.step
    raise NoPlan


