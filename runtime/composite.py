"""Objects that are made of tensors, and stand for one."""
from typing import Any


class Composite:
    """A value made of several tensors and other facts, such as a sparse tensor. Two are equal if
    their facts and tensors are; traces work with the tensors."""
    __slots__ = ()
    layout: Any
