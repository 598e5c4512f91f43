# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, NamedTuple
from whet.tensor import Tensor


def enter_dual_level() -> Any: """Begin a level, until `exit_dual_level`."""
def exit_dual_level(*, level: Any = None) -> None: """End the innermost level."""
def make_dual(tensor: Tensor, tangent: Tensor, *, level: Any = None) -> Tensor: """A tensor with a tangent."""
def unpack_dual(tensor: Tensor, *, level: Any = None) -> UnpackedDualTensor: """(primal, tangent) of a tensor; the tangent is None if it has none."""

class dual_level:
    level: Any
    def __enter__(self) -> Any: ...
    def __exit__(self, *exc: object) -> None: ...

class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` gives."""
    primal: Tensor
    tangent: Tensor | None
