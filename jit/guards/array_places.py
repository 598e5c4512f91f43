"""Places of arrays and tensors. See `places.py`."""
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..values import array_facts
from ..values.immutable_types import one
from ..values.tensor_facts import named
from .places import Change, Place


class ArrayContents(Place):
    """The memory layout of an array, and the bytes of its numbers."""
    __slots__ = ()

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        super().__init__(owner, self.look())

    def look(self) -> Sequence[Any]:
        x = self.owner
        return (x.dtype, x.shape, x.strides), x.tobytes()

    def same(self, alike: Callable[[Any, Any], bool] = bool.__eq__) -> bool:
        return tuple(self.look()) == tuple(self.objects)

    def restore(self) -> None:
        (layout, data), x = self.objects, self.owner
        if layout == (x.dtype, x.shape, x.strides):
            x[...] = np.frombuffer(data, x.dtype).reshape(x.shape)


class ArrayLayout(Place):
    """The memory layout of an array whose numbers are an input."""
    __slots__ = ()

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        super().__init__(owner, self.look())

    def look(self) -> Sequence[Any]:
        return (one(array_facts.layout(self.owner)),)


class BareTensors(Place):
    """Tensors without attributes of the user's; `owner` is a list of them."""
    __slots__ = ()
    says_itself = True

    def __init__(self, owner: list[Any]) -> None:
        super().__init__(owner, ())

    def look(self) -> Sequence[Any] | None:
        return None if any(map(named, self.owner)) else ()

    def changes(self) -> list[Change]:
        return [Change(self, None, owner=t) for t in self.owner if named(t)]

    def restore(self) -> None:
        for t in self.owner:
            named(t).clear()

    def say(self, owner: Any) -> str:
        return f"a {type(owner).__qualname__} got attributes"

    def table(self, t: Any, objects: list[Any]) -> bool:
        return True                          # the rows of the tensors themselves compare that
