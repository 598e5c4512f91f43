"""Arrays that NumPy's functions give, and that show a part of an operand's memory."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from whet.autograd import modes
from whet.ir.memory_spans import address
from whet.ops.registry import apply
from whet.ops.strided_views import as_strided_op, element_strides
from whet.tensor import wrap

from ..stand_ins.numpy_stand_in import Array, real_of, tensor_of
from ..values.array_facts import overlap

if TYPE_CHECKING:
    from whet.ir.values import Array as NumPyArray
    from whet.tensor_base import Base


def shown_part(y: Any, tensors: Sequence[Base]) -> tuple[NumPyArray, Base] | None:
    """A result that is a part of an operand's memory: the array, and a tensor of it. None if the
    result has memory of its own, or if its place in the operand is unknown."""
    if type(y) is not np.ndarray or any(t._array.size == 0 for t in tensors) or not y.size:
        return None
    for t in tensors:
        a = t._array
        if not overlap(y, a) or a.dtype != y.dtype or (address(y) - address(a)) % a.itemsize:
            continue
        if len(tensors) > 1:             # its layout may depend on the others
            return None
        with modes.no_grad():
            part = apply(as_strided_op, (t,), dict(
                size=y.shape, stride=element_strides(y), base_stride=element_strides(a),
                offset=(address(y) - address(a)) // a.itemsize))
        real = part._array
        if not y.flags.writeable and real.flags.writeable:
            real = real.view()
            real.flags.writeable = False
        return real, wrap(part._array)
    return None


def is_locked(x: Array) -> bool:
    """Is an array read-only, though the memory that it shows is not?"""
    real = real_of(x)
    return (isinstance(real, np.ndarray) and not real.flags.writeable
            and tensor_of(x)._array.flags.writeable)
