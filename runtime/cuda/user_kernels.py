"""Launches of kernels that users wrote, on the devices that their operands are on."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import execute, launch, plan_recorder, plans
from .arrays import DeviceArray

if TYPE_CHECKING:
    from ..passes.lower_triton.user_kernels import Given

Grid = tuple[int, int, int]


def run(source: Given, index: int, arrays: Sequence[DeviceArray], numbers: Sequence[Any],
        grid: Grid, unspecialised: Sequence[str]) -> None:
    """Launch a kernel with arrays as its pointers and numbers as its other parameters, each in
    order. Numbers are arguments of each call, so one plan serves them all. Its key has which
    of them are multiples of 16, except for those that are `unspecialised`."""
    given = iter(numbers)
    whole = tuple([name for name, kind in source.parameters if kind[0] != "*"
                   and launch.is_multiple(next(given)) and kind[0] == "i" and kind != "i1"
                   and name not in unspecialised])
    count = len(arrays)

    def launched(xs: Sequence[Any]) -> None:
        start(source, index, xs[:count], [_told(count + k, x) for k, x in enumerate(xs[count:])],
              grid, unspecialised, whole)
    if plan_recorder.current() is not None:       # of the op that this launch is: numbers are known
        start(source, index, arrays, numbers, grid, unspecialised, whole)
    else:
        plans.planned(("given kernel", source, grid, whole, tuple(unspecialised)), index,
                      [*arrays, *numbers], {}, launched, by_value=False)


def start(source: Given, index: int, arrays: Sequence[DeviceArray], numbers: Sequence[Any],
          grid: Grid, unspecialised: Sequence[str], whole: Sequence[str]) -> None:
    """The launch itself. `whole` are the numbers that are multiples of 16."""
    pointers = [name for name, kind in source.parameters if kind[0] == "*"]
    others = [name for name, kind in source.parameters if kind[0] != "*"]
    aligned = [name for name, a in zip(pointers, arrays, strict=True)
               if launch.is_multiple(a.address) and name not in unspecialised]
    launch.start(index, source, (*aligned, *whole), grid,
                 {name: a.geometry for name, a in zip(pointers, arrays, strict=True)},
                 dict(zip(others, numbers, strict=True)))


def _told(operand: int, x: Any) -> Any:
    """A number, or what tells it at each call of a plan."""
    made = np.asarray(x)
    return plan_recorder.parameter(plan_recorder.number(operand, made, np.asarray), np.ndarray.item)


def laid_like(a: DeviceArray) -> DeviceArray:
    """A copy with the strides of another array, which the kernel was given."""
    return execute.with_strides(a, a.strides)
