"""The numbers that a run finds in the place of Python's own."""
from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from whet.tensor_base import Base

if TYPE_CHECKING:
    from .varying_numbers import Number


class NumberStandIns:
    """`tensors` stand for numbers, or for arrays; `numbers` are those that the run may still hold
    when it is over."""

    def __init__(self) -> None:
        self.tensors: list[Base] = []
        self.numbers: list[weakref.ref[Number]] = []

    def add(self, tensor: Base, number: Number) -> None:
        """The run finds a number, for which a tensor stands."""
        self.tensors.append(tensor)
        self.numbers.append(weakref.ref(number))
