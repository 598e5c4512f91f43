"""An in-place op on each of several tensors, as where all gradients are scaled.

A recorded run has one node for all of them, and its program one launch. Eager code calls the op for
each.
"""
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import devices
from ..autograd import modes
from ..ir.memory_spans import dense_ones_overlap
from ..tensor import Tensor
from .pointwise_family import PointwiseOp
from .registry import OURS, Op

SUFFIX = ".each"


class WriteToEach(Op):
    """An in-place pointwise op on `tensors` tensors, which come first. The other operands, a
    number or a tensor of one, are the same for all."""
    family = "many tensors"
    total = any_sizes = True

    def __init__(self, op: PointwiseOp) -> None:
        super().__init__(f"{op.name}{SUFFIX}", register=False)
        self.op, self.writer, self.roots = op, op.writer, (op.root,)
        if op.ours:
            OURS.add(self)

    def targets(self, attrs: Mapping[str, Any]) -> int:
        """How many of its operands, the first ones, it writes to."""
        tensors: int = attrs["tensors"]
        return tensors

    def write(self, *arrays: Any, tensors: int) -> None:
        """Write to each."""
        for array in arrays[:tensors]:
            kernel, operands = self.launch((array, *arrays[tensors:]))
            kernel(operands, [array])

    def launch(self, operands: Sequence[Any]) -> tuple[Any, list[Any]]:
        """The kernel for these operands, and them as arrays."""
        kernel, number, dtype = self.op.plan(operands)
        return kernel, [x if isinstance(x, np.ndarray) else self.op._number(x, number, dtype)
                        for x in operands]


@functools.lru_cache(256)
def to_each(op: PointwiseOp) -> WriteToEach:
    """The op that does the same in place for each of several tensors."""
    return WriteToEach(op)


def write_to_each(op: PointwiseOp, tensors: Sequence[Tensor], *others: Any) -> None:
    """`t = op(t, *others)` in place, for each tensor `t`."""
    observers = modes.state.observers
    if not (observers and op.result is None and are_simple(tensors, others)
            and observers[-1].update(to_each(op), tensors, others, {"tensors": len(tensors)})):
        for t in tensors:
            getattr(t, op.writer)(*others)


def are_simple(tensors: Sequence[Tensor], others: Sequence[Any] = ()) -> bool:
    """Are several tensors dense and apart in the CPU's memory, of one floating-point type, in which
    the other operands are single numbers?"""
    if len(tensors) < 2 or any(type(t) is not Tensor or t._stands_for_another for t in tensors):
        return False
    arrays = [t._array for t in tensors]
    singles = [x._array for x in others if isinstance(x, Tensor)]
    if any(map(devices.is_elsewhere, (*arrays, *singles))):
        return False
    dtype = arrays[0].dtype
    return (dtype.kind == "f" and all(a.dtype == dtype for a in (*arrays, *singles))
            and not any(a.ndim for a in singles)
            and all(a.size and a.flags.forc and a.flags.writeable and a.flags.aligned
                    for a in arrays)
            and not dense_ones_overlap((*arrays, *singles)))


def to_each_if_pointwise(op: Op | None) -> WriteToEach | None:
    """The op for several tensors, if there is one."""
    return to_each(op) if isinstance(op, PointwiseOp) else None
