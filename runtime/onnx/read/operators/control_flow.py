"""If, Loop and Scan. They run as Python does; under a trace the course becomes a guard."""
from typing import Any

import numpy as np
import whet

from .... import dtypes
from ...errors import OnnxError
from ..definition import Body, operator
from ..values import Int, Ints, Known, Value, as_number, as_tensor
from .shapes import is_array


@operator("If")
def if_(cond: Int, *, then_branch: Body, else_branch: Body) -> Any:
    return tuple(then_branch() if cond else else_branch())


def stacked(values: list[Any]) -> Any:
    """The values of a loop's steps as one."""
    if any(map(is_array, values)):
        return np.stack(values)
    return whet.stack([as_tensor(v) for v in values])


@operator("Loop")
def loop(count: Value = None, cond: Value = None, *carried: Value, body: Body) -> Any:
    steps = None if count is None else int(as_number(count))
    going = cond is None or bool(as_number(cond))
    state, rows = list(carried), []
    i = 0
    while going and (steps is None or i < steps):
        found = body(Known(np.array(i, dtype=object)),
                     Known(np.array(True, dtype=object), dtypes.bool_), *state)
        going = cond is None and steps is not None and found[0] is None or bool(as_number(found[0]))
        state = found[1:len(state) + 1]
        rows.append(found[len(state) + 1:])
        i += 1
    if not rows:
        return (*state, *body.of_no_steps(1 + len(state)))
    return (*state, *(stacked(list(column)) for column in zip(*rows)))


def scanned(values: tuple[Any, ...], count: int, body: Body, axes: list[int] | None,
            directions: list[int] | None, out_axes: list[int] | None,
            out_directions: list[int] | None) -> tuple[Any, ...]:
    """A scan over the last `count` values."""
    states, inputs = list(values[:len(values) - count]), [as_tensor(v) for v in values[-count:]]
    axes = axes or [0] * count
    length = inputs[0].shape[axes[0]]
    if any(x.shape[a] != length for x, a in zip(inputs, axes)):
        raise OnnxError("the scanned inputs are not equally long")
    rows = []
    for i in range(length):
        slices = [x.select(a, length - 1 - i if d else i)
                  for x, a, d in zip(inputs, axes, directions or [0] * count)]
        found = body(*states, *slices)
        states = found[:len(states)]
        rows.append(found[len(states):])
    if not rows:
        return (*states, *body.of_no_steps(len(states), out_axes))
    columns = [list(c) for c in zip(*rows)]
    results = []
    for j, column in enumerate(columns):
        if out_directions and out_directions[j]:
            column.reverse()
        results.append(whet.stack([as_tensor(v) for v in column], out_axes[j] if out_axes else 0))
    return (*states, *results)


@operator("Scan", since=9)
def scan(*values: Value, body: Body, num_scan_inputs: int,
         scan_input_axes: list[int] | None = None, scan_input_directions: list[int] | None = None,
         scan_output_axes: list[int] | None = None,
         scan_output_directions: list[int] | None = None) -> Any:
    return scanned(values, num_scan_inputs, body, scan_input_axes, scan_input_directions,
                   scan_output_axes, scan_output_directions)


@operator("Scan", since=8)
def scan_8(lengths: Ints | None = None, *values: Value, body: Body, num_scan_inputs: int,
           directions: list[int] | None = None) -> Any:
    tensors = [as_tensor(v) for v in values]
    rows = []
    for i in range(tensors[0].shape[0]):
        mine = [t[i] for t in tensors]
        if lengths is not None:
            cut = len(mine) - num_scan_inputs
            mine = [*mine[:cut], *(t[:lengths[i]] for t in mine[cut:])]
        rows.append(scanned(tuple(mine), num_scan_inputs, body, None, directions, None, None))
    return tuple(whet.stack([as_tensor(v) for v in column]) for column in zip(*rows))
