"""Ops on meta tensors, for `whet.devices`: their results are made without elements.

Where no operand is one, the call is for the CPU, or for what else computes on devices (`others`).
"""
from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import devices
from ..device_arrays import view
from .arrays import META, MetaArray, empty, fits
from .results import results

# `whet.cuda.execute`, once a program asked for that, too
others: Any = None


def __getattr__(name: str) -> Any:
    """Families of ops that have kernels on other devices."""
    return getattr(others, name)


def is_here(a: Any) -> bool:
    """Is it the memory of a tensor on another device than the CPU?"""
    return type(a) is MetaArray or others is not None and others.is_here(a)


def forward(op: Any, arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """What an op gives."""
    if op.crosses_devices and (attrs.get("target") == META or type(arrays[0]) is MetaArray):
        return op.on_device(arrays, attrs, None)
    if not any([type(a) is MetaArray for a in arrays]):
        return (op.forward(*arrays, **attrs) if others is None else
                others.forward(op, arrays, attrs))
    check_together(arrays)
    return view(op, arrays, attrs) if op.is_view else results(op, arrays, attrs)


def check_together(arrays: Sequence[Any]) -> None:
    """Raise where tensors are on several devices. A number in a tensor of the CPU's may stand
    beside others."""
    places = [devices.of(a) for a in arrays
              if is_here(a) or isinstance(a, np.ndarray) and a.ndim]
    for d in places:
        if d != places[0]:
            raise RuntimeError(f"Tensor on device {d} is not on the expected device {places[0]}!")


def called_in_place(op: Any, inputs: Sequence[Any], arrays: Sequence[Any],
                    attrs: Mapping[str, Any], checked: Any, recorded: bool) -> None:
    """An op in place of its first operand, a tensor, of whose history it may become a part
    (`recorded`)."""
    if any([type(a) is MetaArray for a in arrays]):
        write(op, arrays, attrs, checked)
    else:
        others.called_in_place(op, inputs, arrays, attrs, checked, recorded)


def write(op: Any, arrays: Sequence[Any], attrs: Mapping[str, Any], checked: Any) -> None:
    """An op in place. `checked(result)` raises where it does not fit into the first operand."""
    if not any([type(a) is MetaArray for a in arrays]):
        others.write(op, arrays, attrs, checked)
    elif op.crosses_devices:
        op.write(*arrays, **attrs)
    else:
        check_together(arrays)
        if type(arrays[0]) is not MetaArray:
            raise RuntimeError(f"Tensor on device {META} is not on the expected device "
                               f"{devices.of(arrays[0])}!")
        checked(results(op, arrays, attrs))


def copy_into(to: Any, source: Any) -> None:
    """Write elements over others, wherever both are."""
    if type(to) is MetaArray:
        fits(to.shape, source.shape)
    elif type(source) is MetaArray:
        source.to_host()
    else:
        others.copy_into(to, source)


def transfer(a: Any, target: devices.device, non_blocking: bool) -> Any:
    """The elements on another device, or on the CPU."""
    if target == META:
        return empty(a.shape, a.dtype, a.strides)
    return a.to_host() if type(a) is MetaArray else others.transfer(a, target, non_blocking)


def made(op: Any, attrs: Mapping[str, Any]) -> Any:
    """What an op gives that has no operands."""
    return results(op, (), attrs)


def filled(index: int | None, shape: tuple[int, ...], dtype: np.dtype, value: Any,
           strides: tuple[int, ...] | None = None) -> Any:
    """New memory with a number everywhere; None leaves it as it is."""
    return (empty(shape, dtype, strides) if index is None else
            others.filled(index, shape, dtype, value, strides))


def with_strides(a: Any, strides: tuple[int, ...]) -> Any:
    """A copy whose elements lie by other strides."""
    if type(a) is MetaArray:
        return empty(a.shape, a.dtype, strides)
    return others.with_strides(a, strides)


def on_host(a: Any) -> Any:
    """An array whose elements can be read."""
    return a.to_host() if is_here(a) else a


def is_pinned(a: Any) -> bool:
    """Is an array in pinned memory?"""
    return others is not None and others.is_pinned(a)


def write_all(what: Any, roots: Sequence[Any], arrays: Sequence[Any], numbers: Sequence[Any],
              written: Sequence[int]) -> bool:
    """Write expressions of arrays and numbers over some of the arrays. False, and nothing done,
    where that is not one kernel."""
    if any([type(a) is MetaArray for a in arrays]):
        return all([type(a) is MetaArray and a.shape == arrays[0].shape for a in arrays])
    done: bool = others.write_all(what, roots, arrays, numbers, written)
    return done


devices.comes("meta", sys.modules[__name__])
