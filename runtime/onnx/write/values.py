"""Values of a graph that is being written."""

from __future__ import annotations

from typing import Any

import numpy as np
from whet.ir.expressions import REAL_OF

from .operators import Inexpressible


class Value:
    """A value of the graph: its name, its type by whet's short name, its sizes where they are
    known, and the array that it is if it is a constant."""

    __slots__ = ("name", "dtype", "shape", "array")

    def __init__(
        self,
        name: str,
        dtype: str,
        shape: tuple[Any, ...] | None = None,
        array: np.ndarray | None = None,
    ) -> None:
        self.name, self.dtype, self.shape, self.array = name, dtype, shape, array

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        assert self.shape is not None, f"the sizes of {self.name} are not known"
        return len(self.shape)

    def __repr__(self) -> str:
        return f"<{self.name}: {self.dtype}{list(self.shape or [])}>"


class Pair(Value):
    """A complex value: its parts are values. It has no name, so no node can take it."""

    __slots__ = ("real", "imag")

    def __init__(self, real: Value, imag: Value, shape: tuple[Any, ...] | None) -> None:
        self.real, self.imag = real, imag
        if real.dtype not in REAL_OF.values():
            raise Inexpressible(f"complex numbers whose parts are {real.dtype}")
        self.dtype = next(c for c, part in REAL_OF.items() if part == real.dtype)
        self.shape, self.array = shape, None

    @property
    def name(self) -> str:  # type: ignore[override]
        raise Inexpressible("complex numbers")

    def __repr__(self) -> str:
        return f"<{self.real} + i {self.imag}>"
