"""Row programs on devices: reductions, softmax, norms, in the CPU's order of sums."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..dtypes import SHORT
from ..ir import rows as R
from . import device_state as m
from .arrays import DeviceArray, empty
from .errors import NoForm
from .launch import launch
from .pointwise import copied, is_wide

_sources: dict[Any, Any] = {}       # by what describes a kernel completely


def run(program: R.Program, operands: Sequence[Any], axes: Sequence[int], index: int,
        like: Sequence[Any] = ()) -> list[DeviceArray]:
    """The outputs of a row program along axes: full outputs in the full shape, row outputs without
    the axes. `like`: arrays whose strides the outputs should have if possible."""
    full = next(x for x, o in zip(operands, program.operands, strict=True) if o.is_full)
    inner = tuple(sorted(a % full.ndim for a in axes))
    rows = Rows(program, full.shape, inner)
    rows.read(operands)
    rows.make_outputs(index, like)
    if rows.layout() is None:
        rows.make_outputs(index)
    if rows.count and all(o.size for o in rows.outs):
        rows.launch(index)
    return rows.outs


class Rows:
    """A program's operands and outputs as rows, and the arguments of kernels that describe them."""

    def __init__(self, program: R.Program, shape: tuple[int, ...], inner: tuple[int, ...]) -> None:
        self.program, self.shape, self.inner = program, shape, inner
        self.outer = tuple(a for a in range(len(shape)) if a not in inner)
        self.count, self.n = (prod(shape[a] for a in dims) for dims in (self.outer, inner))
        self.arrays: dict[str, DeviceArray] = {}
        self.numbers: dict[str, Any] = {"n": self.n, "rows": self.count}
        self.full: list[str] = []                  # the names of what has all elements
        self.outs: list[DeviceArray] = []

    def read(self, operands: Sequence[Any]) -> None:
        """Take the operands; those whose strides no row kernel can read are copied."""
        for i, (x, o) in enumerate(zip(operands, self.program.operands, strict=True)):
            if o.is_scalar:
                self.numbers[f"x{i}"] = x
            elif o.is_full:
                self.full.append(f"x{i}")
                self.arrays[f"x{i}"] = x
            elif not o.is_position:
                self.arrays[f"x{i}"] = x if x.flags.c_contiguous else copied(x)
        if self.layout() is None:
            for name in self.full:
                x = self.arrays[name]
                self.arrays[name] = x if x.flags.c_contiguous else copied(x)
        if self.layout() is None:                  # of too many dimensions, whichever way
            order = self.outer + self.inner
            for name in self.full:
                x = copied(self.arrays[name].transpose(order))
                self.arrays[name] = x.transpose(tuple(int(d) for d in np.argsort(order)))

    def make_outputs(self, index: int, like: Sequence[Any] = ()) -> None:
        """Allocate the outputs. Full outputs have the strides of the first operand, or those that
        were asked for."""
        first = self.arrays[self.full[0]]
        self.full = [name for name in self.full if name[0] == "x"]
        self.outs = []
        for j, (k, t) in enumerate(self.program.outputs):
            dtype = SHORT[t].np
            if isinstance(self.program.stages[k], R.Store):
                strides = dense(first, dtype)
                if like and like[j].shape == self.shape and like[j].dtype == dtype:
                    strides = like[j].strides
                made = empty(index, self.shape, dtype, strides)
                self.full.append(f"y{j}")
            else:
                made = empty(index, tuple(self.shape[a] for a in self.outer), dtype)
            self.arrays[f"y{j}"] = made
            self.outs.append(made)

    def layout(self) -> tuple[Any, dict[str, int]] | None:
        """(the kind of rows, the strides as kernel parameters); None if no kernel has this
        layout."""
        from ..passes.lower_triton.rows import Layout
        steps = [[s // a.itemsize for s in a.strides]
                 for a in (self.arrays[name] for name in self.full)]
        rows = merged(self.outer, self.shape, steps) or [(1, [self.n] * len(steps))]
        parts = merged(self.inner, self.shape, steps) or [(1, [1] * len(steps))]
        if len(rows) > 2 or len(parts) > 2:
            return None
        adjacent = all(s == 1 for s in parts[-1][1])
        made = Layout(len(rows), adjacent, len(parts) == 2,
                      not adjacent and all(s == 1 for s in rows[-1][1]))
        numbers = {"inner": rows[-1][0], "piece": parts[-1][0]}
        for q, name in enumerate(self.full):
            numbers |= {f"{name}_o": rows[0][1][q], f"{name}_r": rows[-1][1][q],
                        f"{name}_i": parts[-1][1][q], f"{name}_p": parts[0][1][q]}
        return made, numbers

    def launch(self, index: int) -> None:
        """Run the program: each instance takes several rows, or a part of a row where there are few
        rows."""
        from ..passes.lower_triton import long_rows
        from ..passes.lower_triton import rows as lower
        found = self.layout()
        assert found is not None
        layout, strides = found
        self.numbers |= strides
        wide = is_wide([self.arrays[name].geometry for name in self.full])
        tile = lower.tile(self.count, self.n, layout.adjacent)
        units = m.machine().properties(index).multi_processor_count
        part, parts = long_rows.cut(self.n, layout.adjacent)
        if -(-self.count // tile.rows) < 2 * units and parts > 1:
            self.launch_parts(index, layout, part, parts, wide)
        else:
            self.start(index, _lowered(self.program, (layout, tile, wide)))

    def launch_parts(self, index: int, layout: Any, tile: Any, parts: int, wide: bool) -> None:
        """Each walk by parts, which are then joined."""
        from ..passes.lower_triton.rows import up
        self.numbers["parts"] = parts
        room: dict[str, DeviceArray] = {}
        for walk in _lowered(self.program, (layout, tile, up(parts), wide)):
            for source in walk:
                if source is not None:
                    self.make_room(source, parts, room, index)
                    self.start(index, source, room)
            room = {name: a for name, a in room.items() if name[0] == "k"}

    def make_room(self, source: Any, parts: int, room: dict[str, DeviceArray],
                  index: int) -> None:
        """Allocate memory for the partial results of parts and for values that are kept of rows."""
        for name, kind in source.parameters:
            if name not in room and name not in self.arrays and kind[0] == "*":
                size = self.count * (parts if name[0] == "s" else 1)
                room[name] = empty(index, (size,), MEMORY[kind])

    def start(self, index: int, source: Any, room: dict[str, DeviceArray] | None = None) -> None:
        """Launch a kernel."""
        there = self.arrays | (room or {})
        launch(index, source, {name: there[name].geometry for name, kind in source.parameters
                               if kind[0] == "*"}, self.numbers)


MEMORY = {kind: np.dtype(t) for t, kind in (
    ("f4", "*fp32"), ("f8", "*fp64"), ("f2", "*fp16"), ("u2", "*bf16"), ("i1", "*i8"),
    ("i2", "*i16"), ("i4", "*i32"), ("i8", "*i64"), ("u1", "*u8"), ("u2", "*u16"), ("u4", "*u32"),
    ("u8", "*u64"), ("?", "*i1"))}


def merged(dims: Sequence[int], shape: Sequence[int],
           strides: Sequence[Sequence[int]]) -> list[tuple[int, list[int]]]:
    """Dimensions, outermost first, in as few as all arrays allow: (size, the stride of each)."""
    found: list[tuple[int, list[int]]] = []
    for d in dims:
        if shape[d] == 1:
            continue
        steps = [s[d] for s in strides]
        if found and all(a == b * shape[d] for a, b in zip(found[-1][1], steps, strict=True)):
            found[-1] = found[-1][0] * shape[d], steps
        else:
            found.append((shape[d], steps))
    return found


def dense(x: DeviceArray, dtype: np.dtype) -> tuple[int, ...]:
    """Strides without gaps, in the order of an array's."""
    strides, step = [0] * x.ndim, dtype.itemsize
    for d in sorted(range(x.ndim), key=lambda d: (abs(x.strides[d]), -d)):
        strides[d], step = step, step * x.shape[d]
    return tuple(strides)


def _lowered(program: R.Program, form: tuple[Any, ...]) -> Any:
    """A kernel of a layout and a tile; the kernels of each walk where rows are cut into parts."""
    from ..passes.lower_triton import long_rows
    from ..passes.lower_triton import rows as lower
    from ..passes.lower_triton.scalar import Unsupported
    key = program.key, form
    if key not in _sources:
        try:
            _sources[key] = (lower if len(form) == 3 else long_rows).lower(program, *form)
        except Unsupported as error:
            raise NoForm(f"{program.name}: no form of it for CUDA devices yet, for this "
                         f"type ({error.args[0]})") from None
    return _sources[key]


def of_op(op: Any, arrays: Sequence[Any], attrs: Any, index: int) -> list[DeviceArray]:
    """The outputs of an op that is a row program (`as_rows`), one number a row with its dimensions
    kept as 1, where the op keeps them."""
    full = arrays[0]
    if full.dtype.kind == "c":
        raise NoForm(f"{op.name}: no form of it for CUDA devices yet, for complex "
                                  "numbers")
    program, operands, axes = op.as_rows(*arrays, **attrs)
    outs = run(program, operands, axes, index)
    if attrs.get("keepdim", op.family == "rows"):
        axes = {a % full.ndim for a in axes} if full.ndim else set()
        kept = tuple(1 if a in axes else s for a, s in enumerate(full.shape))
        outs = [o if o.shape == full.shape else o.reshape(kept) for o in outs]
    return outs
