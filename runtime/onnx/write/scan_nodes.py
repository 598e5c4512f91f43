"""Writes steps that repeat (`recurrences.py`) as one node, `Scan`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from whet.ir.graph import Ref
from whet.ir.values import Type, short

from .formulas import FormulaBuilder
from .memory import Memory
from .recurrences import Local, Recurrence
from .values import Value


class Writer:
    """Writes one recurrence, and tells the memory what it made."""

    def __init__(self, b: FormulaBuilder, r: Recurrence, types: Mapping[int, Type],
                 memory: Memory) -> None:
        self.b, self.r, self.types, self.memory = b, r, types, memory
        b.line, b.label = r.body[0].line, "steps"
        self.finals: dict[Local, Value] = {}
        self.sequences: dict[Local, Value] = {}

    def write(self) -> None:
        """`Scan`; then what others read of it."""
        self.scan()
        for node, local in self.r.stacks:
            value, dim = self.sequences[local], node.attrs["dim"]
            if dim:
                axes = [*range(1, dim + 1), 0, *range(dim + 1, len(self.type(node.outs[0]).shape))]
                value = self.b.Transpose(value, perm=axes)
            self.define(node.outs[0], value)
        for number, (local, step) in self.r.single.items():
            self.define(number, self.at(local, step))

    def define(self, number: int, value: Value) -> None:
        t = self.type(number)
        self.memory.define(number, Value(value.name, short(t.dtype), t.shape))

    def type(self, number: int) -> Type:
        return self.types[number]

    def at(self, local: Local, step: int) -> Value:
        """What a step made."""
        b, is_last = self.b, step == self.r.count - 1
        if is_last and local in self.finals:
            return self.finals[local]
        # counted from the end that is next: there may be any number of steps between
        place = (0 if is_last else -1 - step) if self.r.is_reversed else -1 if is_last else step
        return b.Gather(self.sequences[local], b.constant(np.int64(place)), axis=0)

    def wanted(self) -> set[Local]:
        """What steps make that others read of each of them."""
        read = {local for _, local in self.r.stacks}
        held = {c.local for c in self.r.roles.carried}
        return read | {x for x, t in self.r.single.values()
                       if t < self.r.count - 1 or x not in held}

    def scan(self) -> None:
        """The operator `Scan`."""
        b, r = self.b, self.r
        number_of = {role: int(x) for n, (_, _, reads) in zip(r.body, r.key)
                     for x, role in zip(n.ins, reads) if type(x) is Ref}
        inner = b.body()
        known = {number_of["outer", i]: self.memory.read(v) for i, v in enumerate(r.roles.outer)}
        inputs = []
        for kind in ("carried", "slices"):
            for i in range(len(getattr(r.roles, kind))):
                number = number_of[kind, i]
                t = self.type(number)
                inputs.append(inner.add_input(Value("", short(t.dtype), t.shape)))
                known[number] = inputs[-1]
        outs = [*(c.local for c in r.roles.carried), *sorted(self.wanted())]
        numbers = [r.body[k].outs[j] for k, j in outs]
        types = {v: self.type(v) for n in r.body for v in n.values()}
        graph = inner.graph("step", inputs, inner.inside(r.body, types, known, numbers))
        held, slices = len(r.roles.carried), r.roles.slices
        directions: dict[str, Any] = {}
        if len(outs) > held:
            directions["scan_output_directions"] = [int(r.is_reversed)] * (len(outs) - held)
        made = b.node(
            "Scan", *(self.memory.read(c.first) for c in r.roles.carried),
            *(self.memory.read(s.base) for s in slices), outputs=len(outs), body=graph,
            num_scan_inputs=len(slices), scan_input_axes=[s.dim for s in slices],
            scan_input_directions=[int(s.is_reversed) for s in slices], **directions)
        values = made if isinstance(made, tuple) else (made,)
        for value, number in zip(values, numbers):
            value.dtype = short(self.type(number).dtype)
        self.finals = dict(zip(outs[:held], values))
        self.sequences = dict(zip(outs[held:], values[held:]))
