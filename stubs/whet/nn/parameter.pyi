# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any
from whet.dtypes import dtype
from whet.tensor import Tensor
from whet.types import Device, Shape


def is_lazy(param: object) -> bool: """Has the tensor no shape yet?"""

class UninitializedTensorMixin:
    """A tensor with a dtype and a device but no shape yet; `materialize(shape)` makes it an ordinary one."""
    data: Any
    def materialize(self, shape: Shape, device: Device | None = None, dtype: dtype | None = None) -> None: """Give it its shape and (uninitialised) memory."""

class Buffer(Tensor):
    """A tensor that becomes a buffer of the Module it is assigned to (part of its state, not trained)."""
    def __init__(self, data: Tensor | None = None, *, persistent: bool = True) -> None: ...

class Parameter(Tensor):
    """A tensor that becomes a parameter of the Module it is assigned to; it shares memory with `data`."""
    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None: ...

class UninitializedBuffer(UninitializedTensorMixin, Buffer):
    """A buffer whose shape is not known yet."""
    def __init__(self, requires_grad: bool = False, device: Device | None = None, dtype: dtype | None = None, persistent: bool = True) -> None: ...

class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A Parameter whose shape is not known yet; see the Lazy modules."""
    def __init__(self, requires_grad: bool = True, device: Device | None = None, dtype: dtype | None = None) -> None: ...
