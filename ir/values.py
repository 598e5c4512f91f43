"""Values: what a node reads and makes. A value is a number; a `Type` is what is known of the
tensor before it exists."""
from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]
DType: TypeAlias = np.dtype[Any]


class Ref(int):
    """A value's number, as an operand."""
    __slots__ = ()

    def __repr__(self) -> str:
        return f"%{int(self)}"


@functools.lru_cache(None)
def types() -> tuple[dict[str, Any], dict[DType, str]]:
    """(letters -> whet type, NumPy type -> letters)"""
    from whet import dtypes
    known = dtypes.NAMED.values()
    return {d.short: d for d in known}, {d.np: d.short for d in known}


def short(dtype: DType) -> str:
    """f32 for float32."""
    found = types()[1].get(dtype)
    if found is None:                        # a second name of a type
        from whet import dtypes
        return str(dtypes.from_numpy(dtype).short)
    return found


class Type:
    """The NumPy data type of a tensor, its sizes, and its strides in bytes."""
    __slots__ = ("dtype", "shape", "strides", "size", "nbytes", "contiguous")
    # the last three are found when they are first asked for
    size: int
    nbytes: int
    contiguous: bool

    def __init__(self, dtype: DType, shape: Iterable[int],
                 strides: Iterable[int] | None = None) -> None:
        self.dtype, self.shape = dtype, tuple(shape)
        self.strides = (
            _dense(self.shape, dtype.itemsize) if strides is None else tuple(strides))

    def __getattr__(self, name: str) -> Any:
        """Computes derived facts when they are first asked for, as most types are never asked."""
        if name == "size":
            self.size = prod(self.shape)
        elif name == "nbytes":
            self.nbytes = self.size * self.dtype.itemsize
        elif name == "contiguous":
            dense = _dense(self.shape, self.dtype.itemsize)
            self.contiguous = self.strides == dense or not self.size or all(
                n == 1 or s == d for n, s, d in zip(self.shape, self.strides, dense))
        else:
            raise AttributeError(f"'Type' object has no attribute {name!r}")
        return object.__getattribute__(self, name)

    @classmethod
    def of(cls, a: Array) -> Type:
        """The type of an array."""
        return cls(a.dtype, a.shape, a.strides)

    @classmethod
    def of_expressions(cls, dtype: DType, shape: Iterable[Any]) -> Type:
        """A type some of whose sizes are expressions. Nothing is known about its memory."""
        made = object.__new__(cls)
        made.dtype, made.shape, made.strides = dtype, tuple(shape), ()
        return made

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def extent(self) -> int:
        """The bytes of its elements. Elements in the same place count once."""
        n: int = self.dtype.itemsize if self.size else 0
        for size, stride in zip(self.shape, self.strides):
            n *= size if stride else 1
        return n

    @property
    def span(self) -> tuple[int, int]:
        """Where its memory begins and ends, in bytes from the first element."""
        if not self.size:
            return 0, 0
        ends = [(n - 1) * s for n, s in zip(self.shape, self.strides)]
        return sum(e for e in ends if e < 0), sum(e for e in ends if e > 0) + self.dtype.itemsize

    def fits(self, other: Type) -> bool:
        """Has another type the same elements and sizes, whatever its layout?"""
        return (self.dtype, self.shape) == (other.dtype, other.shape)

    def __eq__(self, other: object) -> bool:
        return type(other) is Type and (self.dtype, self.shape, self.strides) == (
            other.dtype, other.shape, other.strides)

    def __hash__(self) -> int:
        return hash((self.dtype, self.shape, self.strides))

    def __str__(self) -> str:
        """`f32[4,3]`, with strides if the layout is not row-major."""
        dense = self.strides == _dense(self.shape, self.dtype.itemsize)
        strides = "" if dense else "@(" + ",".join(map(str, self.strides)) + ")"
        return f"{short(self.dtype)}[{','.join(map(str, self.shape))}]{strides}"

    __repr__ = __str__


def _dense(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """The row-major strides of a shape."""
    out = []
    for n in reversed(shape):
        out.append(itemsize)
        itemsize *= max(n, 1)
    return tuple(out[::-1])


class Input:
    """A value that exists before the first node: its origin, and its name for the user.

    `place` is "argument 0" for the first tensor among the arguments, "outside" for what the
    function reached for, or "gradient of ..." one of these. A program of a backward is given
    "saved" and "gradient" ones."""
    __slots__ = ("value", "place", "name")

    def __init__(self, value: int, place: str, name: str = "") -> None:
        self.value, self.place, self.name = value, place, name

    @property
    def outside(self) -> bool:
        """Is it something else than an argument?"""
        return not self.place.startswith("argument")

    def __eq__(self, other: object) -> bool:
        return type(other) is Input and (self.value, self.place, self.name) == (
            other.value, other.place, other.name)

    def __hash__(self) -> int:
        return hash((self.value, self.place, self.name))

    def __repr__(self) -> str:
        return f"Input({self.value}, {self.place!r}, {self.name!r})"
