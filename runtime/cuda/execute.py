"""Ops on devices: which device a call is for, and what the op's family does there.

This module is what `whet.devices` calls once a program asked for a device.
"""
from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import devices
from ..autograd import modes
from ..device_arrays import geometry, view
from . import arrays as _arrays
from . import (
    attention,
    convolutions,
    gathers,
    moves,
    plan_recorder,
    plans,
    pointwise,
    pooling,
    random_draws,
    recipes,
    scans,
    scatters,
    sort,
    transfers,
    unique,
)
from . import device_state as m
from .arrays import DeviceArray, empty, is_here
from .errors import NoForm
from .pinned import lent_of
from .transfers import pinned_copy

devices.comes("cuda", sys.modules[__name__])
recipes.begin()
existing = m.existing
__all__ = [
    "attention", "convolutions", "existing", "is_here", "pinned_copy", "pointwise",
    "pooling", "random_draws", "scans", "scatters", "sort", "unique"]


def forward(op: Any, arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """The results of an op, computed on the device of its operands; by the op's CPU code if that is
    the CPU."""
    index = device_of(op.name, arrays)
    if index is None:
        return op.forward(*arrays, **attrs)
    return plans.planned(op, index, arrays, attrs, lambda xs: computed(op, xs, attrs, index),
                         not op.kernels_take_numbers)


def computed(op: Any, arrays: Sequence[Any], attrs: Mapping[str, Any], index: int) -> Any:
    """The results of an op, computed on the device of its operands, with no plan."""
    if op.is_view:
        return view(op, arrays, attrs)
    try:
        return op.on_device(arrays, attrs, index)
    except NoForm:
        plan_recorder.unplanned()
        return by_host(op, arrays, attrs, index)


def by_facts(op: Any, arrays: Sequence[Any], attrs: Mapping[str, Any], index: int) -> Any:
    """What an op gives, by what it says of itself: how it is done there, the elements that it
    gathers, the copies that it makes; or else the CPU computes it."""
    if op.forward_on_device is not None:
        return op.forward_on_device(*arrays, **attrs)
    named = None if op.gathered is None else op.gathered(*arrays, **attrs)
    if named is not None:
        return gathers.take(op.name, arrays[0], named)
    if op.shape is not None:
        return moves.run(op, arrays, attrs, index)
    return by_host(op, arrays, attrs, index)


def outside() -> int:
    """How many frames of this package are above the user's line."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("whet."):
        frame, depth = frame.f_back, depth + 1
    return depth


_told: set[str] = set()             # the ops that were warned of


def by_host(op: Any, arrays: Sequence[Any], attrs: Mapping[str, Any], index: int) -> Any:
    """What an op gives, computed by the CPU: operands are copied there and the results back."""
    if modes.is_news(_told, op.name):
        modes.warn(f"{op.name}: there is no kernel for 'cuda:{index}' yet. The CPU computes it: "
                   "operands are copied there, with a wait, and results back. This is said once "
                   "for each op.", UserWarning, outside(), once=True)
    return on_the_host(op, arrays, attrs, index)


def on_the_host(op: Any, arrays: Sequence[Any], attrs: Mapping[str, Any], index: int) -> Any:
    """What an op gives, computed by the CPU, without a warning: nothing else is meant to compute
    it."""
    made = op.forward(*[on_host(a) for a in arrays], **attrs)
    if type(made) is tuple:
        return tuple([transfers.to_device(np.asarray(a), index) for a in made])
    return transfers.to_device(np.asarray(made), index)


# ---- ops that write into their first operand -----------------------------------------------------
def write_over(op: Any, arrays: Sequence[Any], attrs: Mapping[str, Any]) -> bool:
    """Make the copies that an op declares, or write its values to their places. Returns False,
    having done nothing, if the op declares neither."""
    if op.moves is not None:
        moves.over(op, arrays, attrs)
        return True
    written = None if op.written is None else op.written(*arrays, **attrs)
    if written is None or not scatters.knows(arrays[0], written):
        return False
    if any(type(a) is DeviceArray and pointwise.overlaps(a, arrays[0]) for a in arrays[1:]):
        return False
    scatters.write(op.name, arrays[0], written)
    return True


def written_over(op: Any, arrays: Sequence[Any], attrs: Mapping[str, Any], index: int) -> Any:
    """A copy of the first operand, into which the op has written its values; what `write_over`
    returns."""
    out = pointwise.copied(arrays[0])
    if write_over(op, (out, *arrays[1:]), attrs):
        return out
    return by_host(op, arrays, attrs, index)


def summed_at(g: DeviceArray, named: Any, size: tuple[int, ...]) -> DeviceArray:
    """Sums of slices at the places that indices name, of an array of zeros."""
    from ..ops.indexed_elements import Written
    out = empty(g.index, tuple(size), g.dtype)
    pointwise.fill(out, 0)
    scatters.write("index", out, Written(named, g, "sum"))
    return out


def device_of(name: str, arrays: Sequence[Any]) -> int | None:
    """The number of the operands' device; None for the CPU. Numbers, and CPU tensors without
    dimensions, may be among the operands."""
    index, host = None, False
    for a in arrays:
        if type(a) is DeviceArray:
            if index is not None and a.index != index:
                raise mixed(name, f"cuda:{index}", f"cuda:{a.index}")
            index = a.index
        elif isinstance(a, np.ndarray) and a.ndim:
            host = True
    if index is not None and host:
        raise mixed(name, f"cuda:{index}", "cpu")
    return index


def mixed(name: str, one: str, other: str) -> RuntimeError:
    """The error of operands on several devices."""
    return RuntimeError(f"{name}: Expected all tensors to be on the same device, but found at "
                        f"least two devices, {one} and {other}!")


def called_in_place(op: Any, inputs: Sequence[Any], arrays: Sequence[Any],
                    attrs: Mapping[str, Any], checked: Any, recorded: bool) -> None:
    """An op in place of its first operand, a tensor, of whose history it may become a part
    (`recorded`)."""
    if not recorded:
        recipes.learn(op, inputs, attrs, in_place=True)
    write(op, arrays, attrs, checked)


def write(op: Any, arrays: Sequence[Any], attrs: Mapping[str, Any], checked: Any) -> None:
    """An op in place: its result is put into the first operand. `checked(result)` raises where it
    does not fit."""
    out = arrays[0]
    if op.crosses_devices:
        index = out.index if all(type(a) is DeviceArray and a.index == out.index
                                 for a in arrays) else None
    else:
        index = device_of(op.name + "_", arrays)
    if not op.crosses_devices and type(out) is not DeviceArray:
        raise mixed(op.name + "_", "cpu", f"cuda:{index}")

    def put(xs: Sequence[Any]) -> None:
        if not op.write_on_device(xs, attrs):
            made = computed(op, xs, attrs, xs[0].index)
            checked(made)
            pointwise.copy_into(xs[0], made)
    if index is None or any(type(a) is DeviceArray and a.held is out.held for a in arrays[1:]):
        put(arrays)                     # a plan's operands lie apart
    else:
        plans.planned((op, "in place"), index, arrays, attrs, put, not op.kernels_take_numbers)


def copy_into(to: Any, source: Any) -> None:
    """Write elements over others, wherever both are."""
    if type(to) is DeviceArray:
        if type(source) is not DeviceArray and not source.ndim:
            source = np.asarray(source)
        elif type(source) is not DeviceArray or source.index != to.index:
            source = transfers.transfer(source, to.index, non_blocking=False)
        if type(source) is DeviceArray and source.held is to.held:
            if (source.address, source.kind) != (to.address, to.kind):
                pointwise.copy_into(to, source)     # a plan's operands lie apart
        else:
            plans.planned("copied over", to.index, [to, source], {},
                          lambda xs: pointwise.copy_into(*xs), by_value=False)
    else:
        from ..ops.convert import copy_op
        copy_op.write(to, source.to_host())


def transfer(a: Any, target: devices.device, non_blocking: bool) -> Any:
    """The elements on another device, or on the CPU."""
    return transfers.transfer(a, target.index if target.type == "cuda" else None, non_blocking)


def is_pinned(a: Any) -> bool:
    """Is an array in pinned memory?"""
    return isinstance(a, np.ndarray) and lent_of(a) is not None


_arrays.write_elements = copy_into


def write_all(what: Any, roots: Sequence[Any], arrays: Sequence[DeviceArray],
              numbers: Sequence[Any], written: Sequence[int]) -> bool:
    """Write expressions of arrays and numbers over some of the arrays by one kernel, which computes
    16-bit floats in float32. Returns False, having done nothing, if the arrays have several types
    or devices, or share memory."""
    first = arrays[0]
    if (len({id(a.held) for a in arrays}) < len(arrays)
            or any((a.dtype, a.index) != (first.dtype, first.index) for a in arrays)):
        return False

    computed = np.dtype(np.float32) if pointwise.is_half(first) else first.dtype

    def to_number(x: Any) -> np.ndarray:
        return np.asarray(x, computed)

    def write(xs: Sequence[Any]) -> None:
        of = (pointwise.through_floats(roots, len(arrays), first)
              if computed != first.dtype else roots)
        pointwise.compute(pointwise.Expressions("update", of),
                          pointwise.with_numbers(xs, to_number), first.index,
                          [xs[k] for k in written])
    plans.planned((what, "update"), first.index, [*arrays, *numbers], {}, write, by_value=False)
    return True


def filled(index: int, shape: tuple[int, ...], dtype: np.dtype, value: Any,
           strides: tuple[int, ...] | None = None) -> DeviceArray:
    """New memory with a number everywhere; None leaves it as it is."""

    def to_number(x: Any) -> np.ndarray:
        return np.asarray(x, dtype)

    def make(xs: Sequence[Any]) -> DeviceArray:
        made = empty(index, shape, dtype, strides)
        if value is not None:
            pointwise.fill(made, plan_recorder.number(0, to_number(xs[0]), to_number))
        return made
    like = {"shape": tuple(shape), "dtype": dtype, "strides": strides}
    made: DeviceArray = plans.planned("filled", index, [value], like, make, by_value=False)
    return made


def with_strides(a: DeviceArray, strides: tuple[int, ...]) -> DeviceArray:
    """A copy with other strides."""

    def make(xs: Sequence[Any]) -> DeviceArray:
        made = empty(a.index, a.shape, a.dtype, strides)
        if a.size:
            pointwise.copy_into(made, xs[0])
        return made
    made: DeviceArray = plans.planned("laid", a.index, [a], {"strides": strides}, make)
    return made


def spare(index: int) -> int:
    """Half of the bytes that a device could still give."""
    machine = m.machine()
    free, _ = machine.driver.memory_info(index)
    there = machine.allocators[index].statistics
    return (free + there.segments.current - there.bytes.current) // 2


def within(room: DeviceArray, offset: int, like: np.ndarray) -> DeviceArray:
    """What lies so many bytes behind the first of a memory, as an array of addresses lies."""
    lies = geometry(room.address + offset, like.shape, like.dtype, like.strides)
    return room.view_as(lies)


def on_host(a: Any) -> Any:
    """An array whose elements the host can read; waits for the device if necessary."""
    return a.to_host() if type(a) is DeviceArray else a
