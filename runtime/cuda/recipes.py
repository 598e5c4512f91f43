"""Calls of ops on devices that machine code makes again: it knows operands by their kinds, and
calls the op's plan.

A call has a recipe once the op's own code has found a plan for operands such as these, and such a
call has come before. `repeated_calls.py` has the recipes of calls on the host and of those on
devices.
"""
from __future__ import annotations

import ctypes as C
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import tf32
from ..autograd import modes
from ..cpu import recipe_words, repeated_calls
from ..passes.lower_llvm.calls import op_layouts as L  # layouts only: no LLVM is loaded by it
from . import device_state as m
from . import plan_recorder, plans
from .arrays import DeviceArray

NUMBERS = {float: L.FLOAT, int: L.INT, complex: L.COMPLEX, type(None): L.NOTHING}
UNKNOWN = -1


def learn(op: Any, inputs: Sequence[Any], attrs: Mapping[str, Any], in_place: bool = False) -> None:
    """Have a recipe for a call that is about to be made by its plan."""
    kinds = _kinds(op, inputs)
    if kinds is None:
        return
    arrays = [x._array if k == L.TENSOR else x for x, k in zip(inputs, kinds, strict=True)]
    called = (op.writes or op) if in_place else op
    index = next(a.index for a in arrays if type(a) is DeviceArray)
    try:
        key = plans.key((op, "in place") if in_place else op, index, arrays, attrs,
                        not op.kernels_take_numbers)
    except plan_recorder.NoPlan:
        return
    if key in called.refused or not repeated_calls.came_before(called, key):
        return
    plan = m.machine().plans.get(key)
    if plan is None:                    # it is about to be found out
        return
    if plan.run is None or plan.types is None or len(plan.types) > L.MAX_OUT:
        repeated_calls.refuse(called, key)
        return
    run = _in_a_stream(plan.run, index)
    again = _over(run) if in_place else run
    recipe = recipe_words.planned(called, kinds, arrays, plan.types, again, in_place)
    recipe.owned.append(plan)           # it has constants on the device
    repeated_calls.repeat_by_plan(called, attrs, kinds, arrays, recipe, in_place)


def _kinds(op: Any, inputs: Sequence[Any]) -> list[int] | None:
    """What each operand of a call on a device is; None where no recipe can be made of it."""
    flags = modes.state.flags
    if (flags & modes.SPECIAL or flags & modes.CASTS and op.cast_product
            or type(inputs) is not tuple or len(inputs) > L.MAX_IN):
        return None
    kinds = [L.TENSOR if repeated_calls.is_plain(x) and type(x._array) is DeviceArray
             else NUMBERS.get(type(x), UNKNOWN) for x in inputs]
    if (L.TENSOR not in kinds or UNKNOWN in kinds
            or L.COMPLEX in kinds and not op.kernels_take_numbers):
        return None
    return kinds


def _in_a_stream(run: Callable[..., Any], index: int) -> Callable[..., Any]:
    """A plan as a function of its operands, in the stream that is chosen when it is called."""
    default, choice = m.machine().default_stream(index), m.choice

    def again(*arrays: Any) -> Any:
        chosen = getattr(choice, "streams", None)
        return run(chosen.get(index, default) if chosen else default, *arrays)
    return again


def _over(run: Callable[..., Any]) -> Callable[..., Any]:
    """A plan of an op that writes over the first operand, as a function. It does nothing, and
    returns None, where another operand shares its memory: the plan's operands lie apart."""
    def again(out: DeviceArray, *others: Any) -> bool | None:
        for a in others:
            if type(a) is DeviceArray and a.held is out.held:
                return None
        run(out, *others)
        return True
    return again


def _kind_at() -> int:
    """How many bytes into an array's object the object lies that says what it is like."""
    nothing: Any = None
    mark: Any = object()
    probe = DeviceArray.at(nothing, 0, (), (), nothing, mark)
    words = (C.c_void_p * (DeviceArray.__basicsize__ // 8)).from_address(id(probe))
    return 8 * list(words).index(id(mark))


def begin() -> None:
    """Tell the machine code of arrays on devices."""
    if repeated_calls.ctx is not None:
        repeated_calls.also_elsewhere(learn, DeviceArray, _kind_at())
        tf32.on_change.append(repeated_calls.forget)
