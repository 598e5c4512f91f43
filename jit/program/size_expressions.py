"""Finds, for what differs between two lists of the same nodes, an expression of the sizes.

Nothing is fitted to numbers. An attribute or number that differs must be one of a few functions of
the sizes of tensors that its node reads. These are a product of some of the sizes, its reciprocal,
what a variance makes of it (see `COUNTED`), and the size of a view that its other sizes determine.
If none of these, or more than one, matches both lists, the planning ends with
`Unsized`."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from whet.ir.outline import Outline, numeral
from whet.ir.symbolic_size import SYMBOLIC, Facts, SymbolicSize, Unsized, text

if TYPE_CHECKING:
    from whet.ir.graph import Node
    from whet.ir.op import Op
    from whet.ir.symbolic_size import Size

    from .numbers_from_sizes import NumbersFromSizes

T = TypeVar("T")

MOST_DIMS = 6  # a tensor of more has too many products of sizes


# what a float may be of how many elements there are, of which a variance takes one less; the
# derivative of a square has a 2
COUNTED: tuple[Callable[[Any], Any], ...] = (
    lambda n: n * 1.0,
    lambda n: 1 / n,
    lambda n: (n - 1) * 1.0,
    lambda n: n / (n - 1),
    lambda n: 2 / n,
    lambda n: 2 / (n - 1),
)


class Unknown(Unsized):
    """A number is not an expression of sizes of any known form."""


class Sizes:
    """The sizes that differ between two lists: a symbol for each, with its two values."""

    def __init__(self, before: Iterable[int], now: Iterable[int]) -> None:
        """`before`, `now`: sizes of what the calls are given, in one order."""
        pairs = dict.fromkeys((a, b) for a, b in zip(before, now, strict=True) if a != b)
        self.pairs = list(pairs)
        self.known = {p: i for i, p in enumerate(self.pairs)}

    def __len__(self) -> int:
        return len(self.pairs)


class SizeExpressions:
    """The expressions, with conditions in `facts`, for pairs of numbers: one of the first list, one
    of the second."""

    read_numbers: NumbersFromSizes  # the numbers that Python has read

    def __init__(self, sizes: Sizes, values: Sequence[int]) -> None:
        self.sizes, self.facts = sizes, Facts(values)
        self.scopes = [self.facts.scope(v) for v in zip(*sizes.pairs, strict=True)]
        # expression -> what it was in the two lists
        self.pairs: dict[str, tuple[int, int]] = {}
        # of the values so far, each once
        self.shapes: dict[tuple[str, ...], Sequence[Size]] = {}

    def symbol(self, a: int, b: int) -> Size:
        """The size of an input: a number, or a symbol."""
        return a if a == b else self.facts.symbols[self.sizes.known[a, b]]

    def at(self, shape: Sequence[Any], k: int) -> tuple[Any, ...]:
        """The sizes that these were in one of the two lists."""
        scope = self.scopes[k]
        return tuple([scope.of(n.text()) if type(n) in SYMBOLIC else n for n in shape])

    def pair(self, n: Size) -> tuple[int, int]:
        """The values of a size in the two lists."""
        if type(n) is not SymbolicSize:
            return n, n
        key = n.text()
        if key not in self.pairs:
            self.pairs[key] = *self.at([n], 0), *self.at([n], 1)
        return self.pairs[key]

    def note_shape(self, shape: Sequence[Size]) -> None:
        """Note that a value has this shape: numbers may be expressions of its sizes."""
        self.shapes.setdefault(tuple(map(text, shape)), shape)

    def equal_again(self) -> None:
        """Require sizes that were equal in both lists to be equal again, and sizes to be 0 or 1
        only where they were: passes depend on both."""
        groups: dict[tuple[int, int], dict[str, Size]] = {(0, 0): {}, (1, 1): {}}
        for n in itertools.chain((0, 1), *self.shapes.values()):
            groups.setdefault(self.pair(n), {})[text(n)] = n
        for pair, found in groups.items():
            first, *others = sorted(found.values(), key=lambda n: type(n) is SymbolicSize)
            if not all(first == n for n in others) or min(pair) > 1 and first <= 1:
                raise Unsized("sizes that were equal are not")

    # ---- numbers ---------------------------------------------------------------------------------
    def natural(self, x: float, y: float, shapes: Collection[Sequence[Size]],
                of: Callable[[int], float] = int) -> Size:
        """The product of sizes of one of these shapes for which `of` gives `x` in the first list
        and `y` in the second. If there is none, it is a product of symbols, or of sizes of one of
        all values so far. Of several products, the one that is a size of a value is taken."""
        for places in (shapes, [self.facts.symbols], self.shapes.values()):
            found: dict[str, Size] = {}
            for shape in places:
                for some in several([(n, *self.pair(n)) for n in shape]):
                    sizes, first, second = zip(*some, strict=True)
                    if (of(math.prod(first)), of(math.prod(second))) == (x, y):
                        n = math.prod(sizes)
                        found[text(n)] = n
            if len(found) > 1:               # those that values have are equal, see `equal_again`
                met = {text(n) for shape in self.shapes.values() for n in shape}
                found = dict([(k, n) for k, n in found.items() if k in met][:1]) or found
            if len(found) == 1:
                return next(iter(found.values()))
            if found:
                raise Unsized(f"{x} becomes {y} in {len(found)} ways")
        raise Unknown(f"{x} becomes {y} in no known way")

    def number_of_type(self, x: Any, y: Any, shapes: Collection[Sequence[Size]]) -> Any:
        """A number that is an array without dimensions."""
        return self.number(x.item(), y.item(), shapes, x.dtype.type)

    def number(self, x: Any, y: Any, shapes: Collection[Sequence[Size]],
               rounded: Callable[[float], Any] = float) -> Any:
        """A number among operands. `rounded`: rounds to the type that it had."""
        if isinstance(x, np.ndarray | np.generic):
            if x.dtype != y.dtype or x.ndim or x.dtype.kind not in "iuf":
                raise Unsized("an array that depends on sizes is an operand")
            return numeral(self.number_of_type(x, y, shapes), x.dtype)
        if type(x) is not type(y) or type(x) not in (int, float):
            raise Unsized("an operand is of another kind")
        if type(x) is int:
            with contextlib.suppress(Unknown):
                return self.natural(x, y, shapes)
            return self.natural(x + 1, y + 1, shapes) - 1
        if not x or not y or not math.isfinite(x) or not math.isfinite(y):
            raise Unsized("a number depends on sizes")
        for counted in COUNTED:
            with contextlib.suppress(Unknown):
                return counted(self.natural(
                    x, y, shapes, lambda n: n > 1 and float(rounded(counted(n)))))
        raise Unsized("a number depends on sizes in an unknown way")

    # ---- attributes ------------------------------------------------------------------------------
    def attributes(self, node: Node, other: Node, ins: Sequence[Any]) -> Mapping[str, Any]:
        """The attributes of a node with these operands."""
        read_numbers = self.read_numbers.attributes(node)
        if node is other and not read_numbers or node.op is None:
            return node.attrs
        out = {}
        for k, x in node.attrs.items():
            y = other.attrs[k]
            same = x is y or equal(x, y)
            if same and k not in read_numbers and k in node.op.size_attrs and not node.refs():
                self.tell_apart(x)
            out[k] = (self.known(node.op, k, read_numbers[k], x, y, ins) if k in read_numbers
                      else x if same else self.attribute(node.op, k, x, y, ins))
        return out

    def tell_apart(self, x: Any) -> None:
        """Check that an attribute that is equal in both lists is not a size that happens to be
        equal."""
        met = [self.pair(n) for shape in self.shapes.values() for n in shape
               if type(n) is SymbolicSize]
        if any((n, n) in met for n in (x if type(x) is tuple else (x,))):
            raise Unsized("a size is another, and was the same in both lists")

    def again(self, x: Any, y: Any) -> Any:
        """Something noted beside the lists, `x` for the first and `y` for the second, in which
        numbers are sizes that values had."""
        if isinstance(x, tuple) and isinstance(y, tuple) and len(x) == len(y):
            return tuple(map(self.again, x, y))
        if equal(x, y):
            return x
        if type(x) is not int or type(y) is not int:
            raise Unsized("something beside an operation depends on sizes")
        met = [n for shape in self.shapes.values() for n in shape if self.pair(n) == (x, y)]
        return met[0] if met else self.natural(x, y, ())

    def known(self, op: Op, name: str, read_numbers: Any, x: Any, y: Any,
              ins: Sequence[Any]) -> Any:
        """An attribute of which Python has read some numbers: these need no search."""
        if type(read_numbers) is tuple and name in op.size_attrs:
            shapes = [a.shape for a in ins if type(a) is Outline]
            read_numbers = self.shape(op, x, y, shapes, read_numbers)
        if not (equal(self.valued(read_numbers, 0), x) and equal(self.valued(read_numbers, 1), y)):
            raise Unsized(f"`{name}` of {op.name} depends on more than sizes")
        return read_numbers

    def valued(self, x: Any, k: int) -> Any:
        """Replace the expressions in something by their values in one of the two lists."""
        if type(x) is tuple:
            return tuple([self.valued(y, k) for y in x])
        return self.at([x], k)[0] if type(x) in SYMBOLIC else x

    def attribute(self, op: Op, name: str, x: Any, y: Any, ins: Sequence[Any]) -> Any:
        """An attribute that differs between the lists."""
        shapes = [a.shape for a in ins if type(a) is Outline]
        if name in op.size_attrs and type(x) is int:
            with contextlib.suppress(Unknown):
                return self.natural(x, y, shapes)
            return self.natural(x - 1, y - 1, shapes) + 1    # where parts begin and the last ends
        if name not in op.size_attrs or type(x) is not tuple or len(x) != len(y):
            raise Unsized(f"`{name}` of {op.name} depends on sizes")
        return self.shape(op, x, y, shapes)

    def shape(self, op: Op, x: Sequence[int], y: Sequence[int], shapes: Sequence[Sequence[Size]],
              known: Sequence[Size] = ()) -> tuple[Size, ...]:
        """A tuple of sizes. In a view that keeps all elements, one size follows from the others.
        `known`: the same tuple with what is known already."""
        out, unknown = list(known or x), []
        for i, (a, b) in enumerate(zip(x, y, strict=True)):
            if a != b and type(out[i]) is not SymbolicSize:
                try:
                    out[i] = self.natural(a, b, shapes)
                except Unsized:
                    unknown.append(i)
        if not unknown:
            return tuple(out)
        if len(unknown) > 1 or not op.keeps_elements:
            raise Unsized(f"a size of {op.name} depends on sizes in no known way")
        others = math.prod([n for i, n in enumerate(out) if i not in unknown])
        elements = math.prod(shapes[0])
        if not elements % others == 0:
            raise Unsized(f"the sizes of {op.name} are no parts of its operand's")
        out[unknown[0]] = elements // others
        if self.at(out, 0) != x or self.at(out, 1) != y:
            raise Unsized(f"the sizes of {op.name} are others")
        return tuple(out)


def several(xs: Sequence[T]) -> Iterator[tuple[T, ...]]:
    """All ways to choose one or more of some things."""
    if len(xs) <= MOST_DIMS:
        for k in range(1, len(xs) + 1):
            yield from itertools.combinations(xs, k)


def same_number(x: Any, y: Any) -> bool:
    """Are two numbers among operands equal, to the bit?"""
    if isinstance(x, np.ndarray | np.generic):
        return isinstance(y, np.ndarray | np.generic) and same_array(x, y)
    return type(x) is type(y) and repr(x) == repr(y)


def same_array(x: Any, y: Any) -> bool:
    """Are two arrays equal, to the bit?"""
    return bool(
        x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes())


def equal(x: Any, y: Any) -> bool:
    """Are two attributes equal?"""
    if type(x) is not type(y):
        return False
    if type(x) in (tuple, list):
        return len(x) == len(y) and all(map(equal, x, y))
    if isinstance(x, np.ndarray | np.generic):
        return same_array(x, y)
    if type(x) is float:
        return repr(x) == repr(y)
    return bool(x is y or x == y)
