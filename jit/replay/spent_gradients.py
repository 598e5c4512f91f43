"""The memory of gradients that a replay replaces.

Eager lets go of the old gradients before its backward makes new ones. A replay lays its gradients
when all else is done, so that both would be alive at once. It writes the new ones where the old
ones lie, if nobody else can see those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from whet.cpu import allocator, memory
from whet.tensor import Tensor

from ..capture.released_gradients import alone, counts
from ..capture.tensor_sources import Source
from ..effects.recipes import Recipe
from ..effects.tensor_recipes import MadeTensor
from ..program.launch_program import LaunchProgram


class Taken:
    """What was taken from tensors: the arrays, by the values that are to lie there."""

    def __init__(self) -> None:
        self.arrays: dict[int, np.ndarray] = {}
        self.owners: list[tuple[Any, Any]] = []

    def take(self, owner: Any, value: int) -> None:
        """The gradient of a tensor, for this value."""
        g = owner._grad
        self.arrays[value] = g._array
        self.owners.append((owner, g))
        owner._grad = None

    def give_back(self) -> None:
        """Nothing was written: each has its gradient again."""
        for owner, g in self.owners:
            owner._grad = g


class SpentGradients:
    """Gradients that the ones of a replay may be written over: large ones, whose memory is the
    allocator's. A call that misses is done again by eager mode. So a gradient is written over only
    when the call can miss no more, or when eager mode does not read the old one."""

    def __init__(self, program: Any, grads: Sequence[tuple[Source, Recipe]]) -> None:
        self.values: list[tuple[int, int, Any]] = []
        if type(program) is not LaunchProgram or program.called:
            return
        late, arrays = {*program.fresh} - program.early, program.arrays
        self.values = [
            (i, recipe.value, arrays[recipe.value]) for i, (_, recipe) in enumerate(grads)
            if isinstance(recipe, MadeTensor) and recipe.history is None and recipe.value in late
            and arrays[recipe.value].nbytes >= memory.SMALLEST]

    def takes(self, place: int, owner: Any) -> bool:
        """Would a call now write over the gradient of the tensor at this place?"""
        return any(i == place and is_spent(owner, lies) for i, _, lies in self.values)

    def take(self, owners: Sequence[Any]) -> Taken:
        """The memory for the new gradients of these tensors, as far as there is some."""
        taken = Taken()
        for i, value, lies in self.values:
            if value not in taken.arrays and is_spent(owners[i], lies):
                taken.take(owners[i], value)
        return taken


def is_spent(owner: Any, lies: Any) -> bool:
    """Has a tensor a gradient that lies so, in memory of its own that nobody else can see?"""
    if owner is None or type(owner._grad) is not Tensor:
        return False
    a = owner._grad._array
    if type(a.base) is not allocator.Block or (a.shape, a.strides) != (lies.shape, lies.strides):
        return False
    cell = owner._grad._cell
    if a.dtype != lies.dtype or owner._grad._base is not None or cell is not None and cell.shown:
        return False
    del a, cell
    return counts(owner) in alone()
