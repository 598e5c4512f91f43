"""Keeps between calls what depends on steady tensors alone, until one of these is written to.

Weights are packed into the order of their kernels once, and rewrites fold them once. Machine code
skips such launches while the version of each tensor is unchanged."""

import ctypes as C
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from whet import tensor_base
from whet.cpu import memory
from whet.ir.graph import Node, Ref
from whet.ir.memory_spans import address
from whet.passes.lower_llvm.calls import launch_list as L
from whet.passes.lower_llvm.calls.word_records import size
from whet.passes.value_uses import is_view

from .launch_entries import Entries, UnlessWritten
from .liveness import Roots


class Steady:
    """The steady tensors of a program. `tensors` are inputs, by value, that no call writes to.
    `lasting` are the values that rewrites want to keep, `written` the values that calls write
    to."""

    def __init__(self, tensors: Mapping[int, Any], lasting: set[int], written: Iterable[int],
                 roots: Roots, arrays: Any) -> None:
        self.tensors, self.lasting, self.written = tensors, lasting, written
        self.roots, self.arrays = roots, arrays
        self.derived: dict[int, list[int]] = {}          # value -> the steady ones it is made of
        # facts of weights in an order of their own -> their memory
        self.packed: dict[tuple[Any, ...], Any] = {}
        self.guards: list[LaunchGuard] = []

    def sources(self, node: Node) -> list[int] | None:
        """The steady values that a node's results depend on, if the results are worth keeping and
        depend on nothing else; or None. Without native cells no version can be compared."""
        if not node.outs or not self.lasting.issuperset(node.outs) or node.attrs.get("into"):
            return None
        moves = not self.roots.position.keys().isdisjoint(node.outs)
        kinds = ("op", "fused", "rows", "many", "parts")
        if moves or node.kind not in kinds or is_view(node) or tensor_base.NativeNode is None:
            return None
        found: list[int] = []
        for x in node.refs():
            known = self.known(self.roots[x])
            if known is None:
                return None
            found += known
        return list(dict.fromkeys(found))

    def known(self, root: int) -> list[int] | None:
        """The steady values that a root consists of or depends on; None if it changes between
        calls."""
        return self.derived.get(root) or ([root] if root in self.tensors else None)

    def behind(self, operand: Any) -> list[int] | None:
        """The steady values behind an operand; None if it changes between calls."""
        if type(operand) is not Ref or tensor_base.NativeNode is None:
            return None
        found = self.known(self.roots[operand])
        if found is None or self.overwritten(found):
            return None
        return found

    def overwritten(self, values: Iterable[int]) -> bool:
        """Does a call write to the memory of some of these through an alias?"""
        return any(
            np.may_share_memory(self.tensors[k]._array, self.arrays[n])
            for n in self.written
            for k in values
        )

    def unless_written(self, sources: Iterable[int], entries: Entries) -> Entries:
        """Entries that are skipped as long as nothing writes to what they read."""
        guards = [LaunchGuard(self.tensors[n], self.roots.position[n]) for n in sources]
        self.guards += guards
        return [UnlessWritten(guards, entries)]

    def planned(self) -> None:
        """End the planning: drop the arrays of the run, which are no longer needed."""
        self.arrays = None

    def order(self, operand: int, w: Any, count: int, dtype: Any,
              how: Iterable[Any]) -> tuple[Any, Any, bool]:
        """Memory for packed weights: (its key, the memory, is it new?). Contractions that want the
        same weights in the same order share one copy."""
        facts = tuple([x.tobytes() if type(x) is np.ndarray else x for x in how])
        layout = address(w), w.shape, w.strides
        key = self.roots[operand], *layout, count, dtype, facts
        found = self.packed.get(key)
        return key, memory.empty(count, dtype) if found is None else found, found is None


class LaunchGuard:
    """The guard before a launch that may be skipped: the tensor's version cell, its version, and
    the address of its memory.

    The tensor's memory is that of the recording as long as its array is; a new array wants
    `forget`.
    """

    def __init__(self, tensor: Any, position: int) -> None:
        self.tensor, self.position = tensor, position
        self.state = (C.c_int64 * size(L.State))()
        self.forget()

    def forget(self) -> None:
        """Make the next call run the launch."""
        self.cell = self.tensor._shared()
        self.state[:] = list(L.State(
            tensor=id(self.tensor), cell=id(self.cell), version=-1, address=0))
