"""The words that machine code writes when it resizes a program to a call's sizes."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from whet.ir.symbolic_size import SYMBOLIC, SymbolicReal, text
from whet.passes.lower_llvm.calls import distribute_units
from whet.passes.lower_llvm.calls.size_code import Code, Uncoded, coded

from .launch_lists import LONG
from .size_dependent_arrays import Constant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .programs_of_sizes import ProgramOfSizes
    from .sized_lists import Segment


class SizeStores:
    """Collects the words that depend on sizes, with their expressions. `numbers`: the memory of
    constants that depend on sizes. Raises `Uncoded` if machine code cannot compute one."""

    def __init__(self, of_sizes: ProgramOfSizes) -> None:
        self.of_sizes = of_sizes
        self.stores: list[tuple[Any, int, Any]] = []     # expression, address, dtype
        self.numbers, self.of_constants = np.zeros(0, np.int64), list[Any]()

    def put(self, array: np.ndarray, i: int, x: Any) -> None:
        """Add a word: a number, or an expression."""
        if type(x) in SYMBOLIC:
            self.stores.append((x, array.ctypes.data + 8 * i, np.float64 if type(x) is SymbolicReal
                                else np.int64))
        else:
            array[i] = x

    def layout(self, n: int) -> tuple[list[Any], list[Any]]:
        """Add the sizes and strides of a value."""
        _, ndim, at = self.of_sizes.types[n]
        dims = self.of_sizes.dims
        return dims[at:at + ndim], dims[at + ndim:at + 2 * ndim]

    def layout_of_new(self, n: int) -> tuple[list[Any], list[Any]]:
        """Add the sizes and strides of a value that memory is allocated for."""
        shape, strides = self.layout(n)
        step: Any = self.of_sizes.types[n][0].itemsize
        for size, stride in zip(reversed(shape), reversed(strides), strict=True):
            if text(stride) != text(step):
                raise Uncoded("a result is not row-major")
            step = step * size
        return shape, strides

    def constants(self) -> None:
        """Add the memory of constants that depend on sizes, which must be numbers."""
        own = self.of_sizes.own
        if own.merged or own.guards:
            raise Uncoded("constants are compared for each size")
        self.numbers = np.zeros(len(own.makers), np.int64)
        for i, maker in enumerate(own.makers):
            x = own.number(maker)
            if x is None or type(maker) is not Constant:
                raise Uncoded("what is made of sizes is no number")
            self.stores.append((x, self.numbers.ctypes.data + 8 * i, maker.outline.dtype))
            self.of_constants.append(x)

    def lists(self) -> np.ndarray:
        """Add the words of all lists of launches."""
        words = self.of_sizes.words
        made: np.ndarray = words.blank()
        for x, i, dtype in words.places():
            self.stores.append((x, made.ctypes.data + i, dtype))
        if len(self.numbers):
            for i, which in words.placed:        # a number has no parts
                made[i] = self.numbers.ctypes.data + 8 * which
        return made

    def put_is_long(self, array: np.ndarray, i: int, segment: Segment) -> None:
        """Add the word that says whether a list is so much work that other threads may run
        meanwhile."""
        work = segment.work
        grains: Any = sum([total // distribute_units.grain(g)
                           for total, g in zip(work[::2], work[1::2], strict=True)])
        self.put(array, i, grains // LONG)

    def code(self, places: Sequence[tuple[int, int]], tensor: int = 0) -> Code:
        """Machine code that computes and writes all words. `places`: where it finds the value of
        each symbol. `tensor`: the address of the tensor type."""
        return coded(self.of_sizes.facts, self.stores, places, tensor)

    def function_of_symbols(self) -> Callable[..., Any]:
        """A function of the symbols that calls the Python functions in constants' expressions, so
        that machine code can look up their results."""
        return self.of_sizes.facts.function(self.of_constants)
