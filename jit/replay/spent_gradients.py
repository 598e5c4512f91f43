"""Reuses the memory of gradients that a replay replaces.

Eager mode frees the old gradients before its backward makes new ones. A replay stores its gradients
after everything else, so both would be live at once. It therefore writes the new ones over the old
ones, unless somebody else can see those."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from whet.cpu import allocator, memory
from whet.tensor import Tensor

from ..capture.released_gradients import alone, counts
from ..effects.recipes import Recipe
from ..effects.tensor_recipes import MadeTensor
from ..program.launch_program import LaunchProgram
from ..values.tensor_sources import Source


class Taken:
    """The arrays taken from tensors, by the values that will be written there."""

    def __init__(self) -> None:
        self.arrays: dict[int, np.ndarray] = {}
        self.owners: list[tuple[Any, Any]] = []

    def take(self, owner: Any, value: int) -> None:
        """Take the gradient of a tensor, for this value."""
        g = owner._grad
        self.arrays[value] = g._array
        self.owners.append((owner, g))
        owner._grad = None

    def give_back(self) -> None:
        """Give each tensor its gradient back: nothing was written."""
        for owner, g in self.owners:
            owner._grad = g


class SpentGradients:
    """The old gradients that a replay may overwrite: large ones, whose memory belongs to the
    allocator. Eager mode repeats a call that misses. So a gradient is overwritten only when the
    call can no longer miss, or when eager mode does not read the old one."""

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
        """Would a call overwrite the gradient of the tensor at this place now?"""
        return any(i == place and is_spent(owner, layout) for i, _, layout in self.values)

    def take(self, owners: Sequence[Any]) -> Taken:
        """Take the memory for the new gradients of these tensors, as far as possible."""
        taken = Taken()
        for i, value, layout in self.values:
            if value not in taken.arrays and is_spent(owners[i], layout):
                taken.take(owners[i], value)
        return taken


def is_spent(owner: Any, layout: Any) -> bool:
    """Does a tensor have a gradient with this layout, in memory of its own that nothing else can
    see?"""
    if owner is None or type(owner._grad) is not Tensor:
        return False
    a = owner._grad._array
    if type(a.base) is not allocator.Block or a.dtype != layout.dtype \
            or (a.shape, a.strides) != (layout.shape, layout.strides):
        return False
    cell = owner._grad._cell
    if owner._grad._base is not None or cell is not None and cell.shown:
        return False
    del a, cell
    return counts(owner) in alone()
