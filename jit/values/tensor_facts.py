"""What a tensor is besides its numbers."""
import ctypes as C
from typing import Any, NamedTuple

import numpy as np
from whet import devices
from whet.ir.memory_spans import address
from whet.passes.lower_llvm.calls.traced_layouts import BEHIND
from whet.tensor import Tensor
from whet.tensor_base import Base
from whet.tensor_properties import owner

NOTHING: dict[str, Any] = {}
FLAGS = 0x500                    # of an array: is it aligned, may it be written to?
# what a class may define that is called where one of its tensors is made, filled or dropped
CALLED = frozenset(("__del__", "__getattribute__", "__setattr__"))


def only_marks(cls: Any) -> bool:
    """Has a class of tensors no slots, and no method that Python calls unasked when a tensor is
    read, set or freed?"""
    own = cls.__mro__[:cls.__mro__.index(Tensor)]
    return not cls._stands_for_another and all(
        [CALLED.isdisjoint(vars(c)) and not vars(c).get("__slots__") for c in own])


def named(t: Any) -> dict[str, Any]:
    """The attributes that the user gave a tensor. A tensor without any gets no dict by this."""
    if Base.__dictoffset__ > 0 and not C.c_void_p.from_address(id(t) + Base.__dictoffset__).value:
        return NOTHING
    attributes: dict[str, Any] = vars(t)
    return attributes


class Look(NamedTuple):
    """All that is compared of a tensor, apart from its numbers."""
    kind: type
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    flags: int                       # of the tensor: does it require a gradient?
    has_no_grad: bool
    has_no_node: bool
    has_no_base: bool
    array_flags: int
    has_hooks: bool


def look(t: Any) -> Look:
    """What a tensor is now."""
    a = t._array
    flags = FLAGS | elsewhere(a) << BEHIND if devices.is_elsewhere(a) else a.flags.num & FLAGS
    return Look(type(t), a.dtype, a.shape, a.strides, t._rg, t._grad is None, t._node is None,
                t._base is None, flags, bool(t._extra))


META = 1 << 16                   # the device of an array without memory


def elsewhere(a: Any) -> int:
    """The device of an array: 0 is the CPU, others are devices."""
    if not devices.is_elsewhere(a):
        return 0
    return META if a.index is None else a.index + 1


def spent(node: Any) -> bool:
    """Was the graph that starts at a node differentiated and freed?"""
    of = getattr(node, "parent", node)
    return bool(of.released) and not node.pre_hooks and not of.pre_hooks


def place_of(a: Any) -> int:
    """Where in the memory of its storage an array begins, in elements."""
    begin = a.start if devices.is_elsewhere(a) else address(owner(a))
    place: int = (address(devices.places(a)) - begin) // a.itemsize
    return place
