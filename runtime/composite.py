"""Objects that are made of tensors, and stand for one."""
from typing import Any


class Composite:
    """Facts and tensors that together are something else, such as a sparse tensor. Two that hold
    the same are the same: traces take the tensors that one is made of in its place."""
    __slots__ = ()
    layout: Any
