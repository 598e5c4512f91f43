"""The effects of a run besides computing: what each replay repeats, and what is compared between
two runs."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ..values.tensor_sources import Source
    from .recipes import Recipe
    from .write_back import Left


class Effects(NamedTuple):
    """The effects of a run, as recipes."""
    result: Recipe                           # what it returned
    left: Left                               # what it left in Python's state
    grads: list[tuple[Source, Recipe]]       # the tensors whose gradients it exchanged, and these
    bumps: list[tuple[Source, Any]]          # the tensors that it wrote to, and by which op
    # leaves now, whose `requires_grad` it changed or whose history it dropped, with the new flags
    marks: list[tuple[Source, int]]
