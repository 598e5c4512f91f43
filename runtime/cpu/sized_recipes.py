"""Recipes for calls of all sizes.

A call of sizes that are new runs its op's planning code, which takes twenty times as long as
a recipe. Where calls of one *kind* (the same op, types, numbers of dimensions, attributes) keep
coming with other sizes, the planning code is run once on outlines, whose sizes are symbols. The
words of the recipe that it comes to are numbers and expressions of these. From then on machine
code computes the words for each call (`passes/lower_llvm/calls/size_machine.py`).

What a dimension is in all calls that came so far is taken for constant; dimensions that were
always the same are one symbol. A recipe is planned with the sizes of an earlier call, one with many
sizes in common, and the others near. It is kept if machine code makes of it the words that the call
at hand comes to by itself.
"""
import math
import re
from typing import Any, NamedTuple

import numpy as np

from ..ir.outline import Outline
from ..ir.symbolic_size import LEAST, SYMBOLIC, Facts, SymbolicReal, Unsized, value
from ..passes.lower_llvm.calls import op_layouts as L  # layouts only: no LLVM is loaded by it
from ..passes.lower_llvm.scalar import Unsupported
from . import ordered_kernels, recipe_words
from .outlined_launches import OutlineReader
from .sized_plans import PlansBySizes
from .taped_launches import NumbersOfSizes, Table, Tape

# calls of a kind, all of sizes that no recipe serves, until one is planned: that takes as long as
# about ten of them
SEEN = 6
KEPT = 24                        # last calls of a kind whose sizes are remembered
OTHERS = 2                       # of them: those whose sizes one try plans with
MOST_FAILED = 3                  # tries in vain: each comes after twice as many calls
MOST_RECIPES = 16                # of a kind: each is for sizes that go another way
MOST_KINDS = 1 << 12
# of words that a recipe for certain sizes has not, or that are addresses of its own objects
PRIVATE = {L.R["code"] // 8, L.R["busy"] // 8,
           *range(L.R["nsizes"] // 8, L.R["operands"] // 8)}
# what code that is not written for outlines may raise
REFUSALS = (IndexError, RuntimeError, ValueError, TypeError, AttributeError, OverflowError,
            Unsupported, Unsized, ordered_kernels.NotYet)

# of each tensor its shape and strides; then the attribute `size`, where it goes by sizes
Sizes = tuple[tuple[tuple[int, ...], ...], ...]

_kinds: dict[Any, "Kind"] = {}
# resized(address, *operands, size) gives a recipe the words of a call: machine code, which
# `entries` brings
resized: Any = None


class SizedRecipe(NamedTuple):
    """A recipe in memory, and what it holds. `lookups` is a function of symbols' values: it calls
    what Python chooses by sizes, which machine code looks up."""

    block: np.ndarray
    owned: list[Any]
    symbols: "Symbols"
    lookups: Any

    def learn(self, sizes: Sizes) -> bool:
        """Have Python choose what it chooses for these sizes. Does it, and are they such?"""
        values = self.symbols.values(sizes) if self.lookups else None
        try:
            return values is not None and self.lookups(*values) is not None
        except (ZeroDivisionError, OverflowError):
            return False


class Kind:
    """Calls that have all but sizes in common, and the recipes for them."""
    __slots__ = ("seen", "recipes", "failed", "missed")

    def __init__(self) -> None:
        self.seen: list[Sizes] = []
        self.recipes: list[SizedRecipe] = []
        self.failed = self.missed = 0

    def comes(self, sizes: Sizes) -> bool:
        """A call came whose sizes are new. Is a recipe to be made that serves it, too?"""
        if any([r.learn(sizes) for r in self.recipes]):
            return False                     # The next such call is machine code's.
        self.missed += 1
        if sizes not in self.seen:
            self.seen = [*self.seen[1 - KEPT:], sizes]
        return (self.missed >= SEEN << self.failed and len(self.seen) > 1
                and self.failed < MOST_FAILED and len(self.recipes) < MOST_RECIPES)

    def recipe(self, op: Any, attrs: dict[str, Any], kinds: list[int], arrays: list[Any],
               forward: Any, own: recipe_words.Recipe) -> SizedRecipe | None:
        """One more recipe. `own`: that of the call."""
        self.missed = 0
        sizes = sizes_of(arrays, attrs)
        others = sorted([x for x in reversed(self.seen) if x != sizes],
                        key=lambda x: (-in_common(x, sizes), distance(x, sizes)))
        for other in others[:OTHERS]:
            seen = [other, *[x for x in self.seen if x is not other]]
            made = planned(op, attrs, kinds, arrays, forward, seen)
            if made is None:
                break
            if agrees(*made, arrays, attrs, own.words):
                self.failed = 0
                self.recipes.append(made[0])
                return made[0]
        self.failed += 1
        return None

    def refuse(self) -> None:
        """There are no recipes for such calls."""
        self.failed = MOST_FAILED


def kind_of(op: Any, attrs: dict[str, Any], kinds: list[int], arrays: list[Any]) -> Kind | None:
    """What calls such as this one have in common; None where no recipe is for many sizes."""
    if not op.any_sizes or op.family == "window":
        return None
    operands = tuple([form_of(x) if k == L.TENSOR else x if not op.dynamic_numbers else k
                      for x, k in zip(arrays, kinds)])
    key = op, operands, *((len(attrs["size"]),) if has_sizes(op, attrs) else attrs.items())
    kind = _kinds.get(key)
    if kind is None:
        if len(_kinds) >= MOST_KINDS:
            _kinds.clear()
        kind = _kinds[key] = Kind()
    return kind


def form_of(a: np.ndarray) -> tuple[Any, ...]:
    """What a tensor is beside its sizes. A dimension of one element is broadcast, one of none has
    nothing to do; dimensions in another order go another way."""
    sizes = tuple([n if n < LEAST else LEAST for n in a.shape])
    if a.flags.c_contiguous:
        return a.dtype, sizes
    order = sorted(range(a.ndim), key=lambda d: (a.strides[d], -d))
    return a.dtype, sizes, *order


def has_sizes(op: Any, attrs: dict[str, Any]) -> bool:
    """Is the only attribute a tuple of sizes?"""
    size = attrs.get("size")
    return (type(size) is tuple and len(attrs) == 1 and "size" in op.size_attrs
            and len(size) <= L.MAX_SIZES)


def sizes_of(arrays: list[Any], attrs: dict[str, Any]) -> Sizes:
    """The sizes of a call."""
    size = attrs.get("size")
    described = [(x.shape, x.strides) for x in arrays if type(x) is np.ndarray]
    return (*described, (size, ())) if type(size) is tuple else tuple(described)


def in_common(a: Sizes, b: Sizes) -> int:
    """How many sizes and strides two calls have in common."""
    return sum([n == m for x, y in zip(a, b) for n, m in zip((*x[0], *x[1]), (*y[0], *y[1]))])


def distance(a: Sizes, b: Sizes) -> float:
    """How far apart the sizes of two calls are: those that are near go the same way more often."""
    return sum([max(n, m) / max(min(n, m), 1) for x, y in zip(a, b) for n, m in zip(x[0], y[0])])


class Divisor:
    """A factor that a size is divided by."""
    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class Symbols:
    """The sizes of some calls, as numbers and symbolic sizes. Where all calls have a size in
    common, it is a constant."""

    def __init__(self, seen: list[Sizes], itemsizes: list[int], has_attribute: bool) -> None:
        """The first of the calls is the one that is planned with."""
        self.seen, self.itemsizes = seen, itemsizes
        self.columns: dict[tuple[int, ...], int] = {}   # what it is in the calls -> symbol
        # tensor, and dimension (of strides: from MAX_DIMS); the attribute comes after all tensors
        self.places: list[tuple[int, int]] = []
        found = [self.of_tensor(i) for i in range(len(itemsizes))]
        size = [self.of_attribute(k) for k in range(len(seen[0][-1][0]))] if has_attribute else []
        self.facts = Facts([column[0] for column in self.columns])
        self.outlines = [
            ([self.size(n) for n in shape], [self.size(n) for n in strides])
            for shape, strides in found]
        self.attribute = tuple([self.size(n) for n in size])

    def of_attribute(self, k: int) -> list[Any]:
        """A number of the attribute as factors: sizes of the first tensor that follow each other,
        a part of one, or what nothing else tells."""
        wanted = self.column(len(self.itemsizes), k)
        columns = [self.column(0, d) for d in range(len(self.seen[0][0][0]))]
        for first in range(len(columns)):
            for end in range(first + 1, len(columns) + 1):
                factors = columns[first:end]
                if tuple(map(math.prod, zip(*factors))) == wanted:
                    return [self.factor(x, 0, d)[0] for d, x in enumerate(factors, first)]
        for d, column in enumerate(columns):
            parts = {a // b if b > 0 and not a % b else 0 for a, b in zip(column, wanted)}
            if len(set(column)) > 1 and len(parts) == 1 and parts != {0}:
                return [*self.factor(column, 0, d), Divisor(parts.pop())]
        return self.factor(wanted, len(self.itemsizes), k)

    def column(self, i: int, d: int) -> tuple[int, ...]:
        """What a dimension or a stride of a tensor is in the calls."""
        part, d = (0, d) if d < L.MAX_DIMS else (1, d - L.MAX_DIMS)
        return tuple([sizes[i][part][d] for sizes in self.seen])

    def of_tensor(self, i: int) -> tuple[list[Any], list[Any]]:
        """A tensor's sizes and strides: each as factors, numbers and columns."""
        shape, strides = self.seen[0][i]
        sizes = [self.factor(self.column(i, d), i, d) for d in range(len(shape))]
        steps: list[Any] = [0] * len(shape)
        step, column = [self.itemsizes[i]], (self.itemsizes[i],) * len(self.seen)
        for d in sorted(range(len(shape)), key=lambda d: (strides[d], -d)):
            own = self.column(i, L.MAX_DIMS + d)
            if own != column:
                step = self.stride(own, i, d)
            steps[d] = step
            step = [*step, *sizes[d]]
            column = tuple([a * b for a, b in zip(own, self.column(i, d))])
        return sizes, steps

    def factor(self, column: tuple[int, ...], i: int, d: int) -> list[Any]:
        """A size as factors: one, that is."""
        if len(set(column)) == 1:
            return [column[0]]
        if min(column) < LEAST:
            raise Unsized("a size is one and is more")
        if column not in self.columns:
            self.columns[column] = len(self.columns)
            self.places.append((i, d))
        return [column]

    def stride(self, column: tuple[int, ...], i: int, d: int) -> list[Any]:
        """A stride that no other dimension tells."""
        if len(set(column)) == 1:
            return [column[0]]
        size = self.itemsizes[i]
        if any([n % size for n in column]):
            raise Unsized("a stride is no number of elements")
        return [size, *self.factor(tuple([n // size for n in column]), i, L.MAX_DIMS + d)]

    def size(self, factors: list[Any]) -> Any:
        """A product."""
        out: Any = 1
        for x in factors:
            if type(x) is Divisor:
                out = out // x.number
            else:
                out = out * (self.facts.symbols[self.columns[x]] if type(x) is tuple else x)
        return out

    def values(self, sizes: Sizes) -> list[int] | None:
        """The symbols' values in a call; None where it is none of these."""
        out = [sizes[i][0][d] if d < L.MAX_DIMS
               else sizes[i][1][d - L.MAX_DIMS] // self.itemsizes[i] for i, d in self.places]
        return None if min(out) < LEAST else out


def planned(op: Any, attrs: dict[str, Any], kinds: list[int], arrays: list[Any], forward: Any,
            seen: list[Sizes]) -> tuple[SizedRecipe, list[Any]] | None:
    """The recipe for sizes like those of `seen`, planned with the first of them, and its words;
    None where there is none."""
    try:
        tensors = [x for x, k in zip(arrays, kinds) if k == L.TENSOR]
        symbols = Symbols(seen, [x.itemsize for x in tensors], has_sizes(op, attrs))
        if not symbols.places:
            return None
        outlines = iter([Outline(shape, x.dtype, strides)
                         for (shape, strides), x in zip(symbols.outlines, tensors)])
        operands = [next(outlines) if k == L.TENSOR else x for x, k in zip(arrays, kinds)]
        size = symbols.attribute
        tape = Tape(dry=True)
        result = tape.listen(forward, *operands, **({"size": size} if size else attrs))
        made = result if type(result) is tuple else (result,)
        found = recipe_words.recipe(op, kinds, operands, made, tape, OutlineReader)
    except REFUSALS:
        return None
    functions = symbols.facts.functions.values()
    if found is None or any(isinstance(f.function, PlansBySizes) for f in functions):
        return None
    found.words[L.R["nsizes"] // 8] = len(size)
    at = L.R["sizes"] // 8
    found.words[at:at + len(size)] = size
    recipe = recipe_in_memory(found, symbols, [i for i, k in enumerate(kinds) if k == L.TENSOR])
    return None if recipe is None else (recipe, found.words)


def recipe_in_memory(found: recipe_words.Recipe, symbols: Symbols,
         positions: list[int]) -> SizedRecipe | None:
    """A recipe in memory, with the code that computes its words; None where the machine cannot.
    `positions`: of tensors among the operands."""
    from ..passes.lower_llvm.calls.size_code import Uncoded, coded  # it loads a parser
    words, tables = recipe_words.with_table_addresses(found.words)
    block = np.array([value(w) if type(w) is not SymbolicReal else 0 for w in words], np.int64)
    stores: list[tuple[Any, int, Any]] = []
    for i, w in enumerate(found.words):
        if type(w) in SYMBOLIC:
            stores.append((w, block.ctypes.data + 8 * i, np.float64 if type(w) is SymbolicReal
                           else np.int64))
        elif type(w) is NumbersOfSizes:
            stores += [(x, w.array.ctypes.data + at, w.array.dtype) for x, at in w.items]
    operands = [*[i | n << L.OPERAND_BITS for i, n in zip(positions, symbols.itemsizes)], L.MAX_IN]
    places = [(operands[i], d) for i, d in symbols.places]
    try:
        code = coded(symbols.facts, stores, places, 0)
    except Uncoded:
        return None
    block[L.R["code"] // 8] = code.address
    return SizedRecipe(block, [*found.owned, *tables, code], symbols, lookups_of(symbols.facts))


def lookups_of(facts: Facts) -> Any:
    """A function of symbols' values that calls Python's functions; None where there are none."""
    calls = [text for text in facts.parts.values() if CALL.match(text)]
    return facts.values_of(calls) if calls else None


CALL = re.compile(r"f\d+\(")


def agrees(recipe: SizedRecipe, words: list[Any], arrays: list[Any], attrs: dict[str, Any],
           own: list[Any]) -> bool:
    """Does machine code make of a recipe the words of a call's `own`?"""
    recipe.learn(sizes_of(arrays, attrs))
    none = [None] * (L.MAX_IN - len(arrays))
    if (len(own) != len(words)
            or not resized(recipe.block.ctypes.data, *arrays, *none, attrs.get("size"))):
        return False
    return all([i in PRIVATE or equal(w, now, mine)
                for i, (w, now, mine) in enumerate(zip(words, recipe.block.tolist(), own))])


def equal(word: Any, now: int, own: Any) -> bool:
    """Is a word that of the call's own recipe? Those that are the addresses of numbers are, if the
    numbers are."""
    if type(word) not in (Table, NumbersOfSizes):
        return type(own) is not Table and now == own
    a = word.array
    return bool(type(own) is Table and a.dtype == own.array.dtype and np.array_equal(
        a.reshape(-1), own.array.reshape(-1), equal_nan=a.dtype.kind in "fc"))


def forget() -> None:
    """Drop what is known of all kinds: `repeated_calls.forget` drops the recipes."""
    _kinds.clear()
