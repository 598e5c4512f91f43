"""The stand-ins that a run finds in place of Python's numbers."""
from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from whet.tensor_base import Base

from ..values.varying_numbers import tensor_behind

if TYPE_CHECKING:
    from ..values.varying_numbers import Number


class NumberStandIns:
    """`tensors` stand for numbers, or for arrays. `numbers` are those that the run may still hold
    at its end. `operands`: tensors passed to ops in place of numbers, by id."""

    def __init__(self) -> None:
        self.tensors: list[Base] = []
        self.numbers: list[weakref.ref[Number]] = []
        self.operands: dict[int, weakref.ref[Base]] = {}

    def add(self, tensor: Base, number: Number) -> None:
        """Add a number that the run finds, and the tensor that stands for it."""
        self.tensors.append(tensor)
        self.numbers.append(weakref.ref(number))

    def as_operand(self, number: Number, dtype: Any) -> Base:
        """The tensor passed to an op in place of a number. Nothing else holds it."""
        tensor = tensor_behind(number)
        operand: Base = tensor.to(dtype)
        operand = operand._bare() if operand is tensor else operand
        self.operands[id(operand)] = weakref.ref(operand)
        return operand

    def is_operand(self, x: Base) -> bool:
        """Is this tensor passed to an op in place of a number?"""
        found = self.operands.get(id(x))
        return found is not None and found() is x
