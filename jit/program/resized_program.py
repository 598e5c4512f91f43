"""A program whose sizes machine code sets at each call.

Machine code computes the words of the lists of launches (`passes/lower_llvm/calls/sized_memory.py`)
and allocates the arrays. Python takes about a hundred times longer to make a program for certain
sizes."""
from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from whet.cpu import native
from whet.ir.graph import Type
from whet.ir.memory_spans import address
from whet.ir.symbolic_size import SYMBOLIC, SymbolicReal, Unsized
from whet.passes.lower_llvm.calls import sized_memory
from whet.passes.lower_llvm.calls.size_code import Uncoded
from whet.passes.lower_llvm.calls.sized_memory import FIRST, HEAD, NEW

from .launch_lists import ARENA, LaunchList
from .launch_program import LaunchProgram, part_of
from .program import NOTHING_SPENT
from .programs_of_sizes import AtSizes, with_numbers
from .size_dependent_arrays import LARGEST, OwnArray, expressions_in
from .size_stores import SizeStores
from .sized_lists import Done

if TYPE_CHECKING:
    from whet.ir.graph import Node
    from whet.ir.outline import Array

    from .programs_of_sizes import ProgramOfSizes
    from .shape_symbols import ShapeSymbols
    from .size_dependent_arrays import OwnArrays

MOST = 64                        # sizes whose constants are kept


@functools.lru_cache(None)
def machine() -> Callable[..., tuple[Array, ...] | None] | None:
    """The machine code's function `resized`; None where there is no machine code."""
    if not native.enabled():
        return None
    at = native.image("jit/sized_memory", sized_memory.source, sized_memory.NAMES)
    made: Callable[..., tuple[Array, ...] | None] = native.function(at["resized"], "resized")
    return made


def python_numbers(numbers: Mapping[str, Array]) -> list[Any]:
    """The values of expressions that machine code has written."""
    return [a.item() for a in numbers.values()]


class ConstantsOfSizes:
    """Constants that depend on sizes and are not numbers. Python makes them for each size and keeps
    the most recent ones. `numbers`: what they depend on. `words`: the lists' words; at the places
    `placed` they take the constants' addresses, plus `offsets`."""

    def __init__(self, own: OwnArrays, numbers: Mapping[str, Array], words: Array,
                 placed: Sequence[tuple[int, int]], offsets: Array) -> None:
        self.own, self.numbers, self.words, self.offsets = own, numbers, words, offsets
        self.at = np.array([i for i, _ in placed], np.intp)
        self.which = [which for _, which in placed]
        self.known: dict[tuple[Any, ...], tuple[list[Array], Array]] = {}

    def write_addresses(self) -> bool:
        """Write the addresses for the current sizes into the lists; False if the constants cannot
        be made."""
        key = tuple(python_numbers(self.numbers))
        found = self.known.pop(key, None)
        if found is None:
            arrays = self.own.arrays(key)
            if arrays is None:
                return False
            found = arrays, np.array([address(arrays[k]) for k in self.which], np.int64)
        self.known[key] = found
        while len(self.known) > 1 and (
                len(self.known) > MOST or sum(
                    a.nbytes for arrays, _ in self.known.values() for a in arrays) > LARGEST):
            self.known.pop(next(iter(self.known)))
        self.words[self.at] = found[1] + self.offsets
        return True


@dataclasses.dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ResizedProgram(LaunchProgram):
    """The program. One call at a time works with its words.

    `block` is what machine code depends on, and `made` are the values that it makes arrays for:
    those of a call that `fits` are in `memory`. It writes `is_long`, a word for each list of
    launches; `numbers`, one for each expression in a node that Python does, by the node's id; and
    `layouts`, the sizes and strides of what such nodes make. `constants` are those that Python
    makes. `learn_sizes` has Python's functions tell machine code what they give for some sizes."""

    of_sizes: ProgramOfSizes
    block: Array
    made: list[int]
    is_long: dict[int, Array]
    numbers: dict[int, dict[str, Array]]
    layouts: dict[int, Array]
    constants: ConstantsOfSizes | None
    learn_sizes: Callable[..., Any]
    memory: list[Array] = dataclasses.field(default_factory=list)

    @property
    def model(self) -> LaunchProgram:
        return self.of_sizes.model

    def fits(self, given: Sequence[Any]) -> bool:
        """Resize to these inputs, and allocate memory for the call that follows. False if the
        program is not for such sizes."""
        resized = machine()
        memory = None if resized is None else resized(self.block, *given)
        if memory is None or self.constants is not None and not self.constants.write_addresses():
            return False
        self.memory[:] = memory
        for n, layout in self.layouts.items():
            self.arrays[n] = Type(self.arrays[n].dtype, *layout.tolist())
        return True

    def learn(self, values: Sequence[int]) -> None:
        """Accept sizes for which Python has made a plan by now."""
        with contextlib.suppress(ArithmeticError, ValueError):   # eager mode raises it
            self.learn_sizes(*values)

    def with_memory(
        self, inputs: Sequence[Array], spent: Mapping[int, Array] = NOTHING_SPENT
    ) -> list[Any]:
        env = self.env.copy()
        for n, a in zip(self.outside, inputs):
            env[n] = a
        for n, a in zip(self.made, self.memory):
            env[n] = a
        self.memory.clear()
        return env

    def lets_others_run(self, launches: LaunchList) -> bool:
        return bool(self.is_long[launches.address][0])

    def do(self, node: Node, env: list[Any]) -> None:
        numbers = self.numbers.get(id(node))
        if numbers is not None:
            node = with_numbers(node, dict(zip(numbers, python_numbers(numbers), strict=True)))
        LaunchProgram.do(self, node, env)


class ResizedProgramMaker(SizeStores):
    """Makes a resizable program from one that Python has made for certain sizes."""

    def __init__(self, like: AtSizes, symbols: ShapeSymbols) -> None:
        super().__init__(like.of_sizes)
        self.like, self.symbols = like, symbols
        self.made: list[int] = []                # the values that memory is made for
        self.rows: list[list[Any]] = []
        self.keep: list[Any] = []

    def program(self) -> ResizedProgram:
        """Make the program."""
        of_sizes, like = self.of_sizes, self.like
        if like.draws is not None:
            raise Uncoded("random numbers are drawn")
        by_python = not self.are_numbers()
        if not by_python:
            self.constants()
        self.new_arrays()
        env = self.views()
        given = [self.given(n) for n in like.outside]
        block = self.block(given)
        words = self.lists()
        constants = self.constants_of_sizes(words) if by_python else None
        steps, is_long = self.steps(words)
        numbers, layouts = self.numbers_of_python(), self.layouts_of_python()
        code = self.code(self.places())
        block[HEAD["code"] // 8] = code.address
        base = {f.name: getattr(like, f.name) for f in dataclasses.fields(LaunchProgram)}
        base |= dict[str, Any](
            arrays=[*like.arrays], env=env, steps=steps, shown={}, local={}, looks={}, needs={},
            keep=[block, words, code, self.numbers, *self.keep, *of_sizes.keep])
        return ResizedProgram(
            **base, of_sizes=of_sizes, block=block, made=self.made, is_long=is_long,
            numbers=numbers, layouts=layouts, constants=constants,
            learn_sizes=self.function_of_symbols())

    # ---- what is made ----------------------------------------------------------------------------
    def add(self, n: int, source: int, dtype: Any, offset: Any, shape: Sequence[Any],
            strides: Sequence[Any]) -> None:
        """Add an array that machine code makes."""
        self.keep.append(dtype)
        self.made.append(n)
        self.rows.append([source, id(dtype), len(shape), offset, *shape, *strides])

    def new_arrays(self) -> None:
        """Add the arena, and the values with memory of their own."""
        if type(self.of_sizes.arena) in SYMBOLIC or self.of_sizes.arena:
            self.add(ARENA, NEW, np.dtype(np.uint8), 0, [self.of_sizes.arena], [1])
        for n in self.like.fresh:
            self.add(n, NEW, self.of_sizes.types[n][0], 0, *self.layout_of_new(n))

    def views(self) -> list[Any]:
        """Add the views that Python reads or returns, and what exists before a call begins."""
        of_sizes, like = self.of_sizes, self.like
        dims = of_sizes.dims
        for n, (root, i) in (*of_sizes.local.items(), *of_sizes.views.items()):
            self.add(n, self.shown(root), of_sizes.types[n][0], dims[i], *self.layout(n))
        env: list[Any] = [None] * (len(like.arrays) + 1)
        for n, (constant, i) in of_sizes.fixed.items():
            shape, strides = self.layout(n)
            if isinstance(constant, OwnArray) or expressions_in([dims[i], *shape, *strides], {}):
                raise Uncoded("Python looks at a constant that depends on sizes")
            env[n] = part_of(constant, dims[i], like.arrays[n])
        return env

    def shown(self, root: int) -> int:
        """Where machine code finds the array that a view shows."""
        if root in self.made:
            return FIRST - self.made.index(root)
        if root in self.like.outside:
            return self.like.outside.index(root)
        raise Uncoded("a view shows what Python makes")

    # ---- what it is given ------------------------------------------------------------------------
    def given(self, n: int) -> list[Any]:
        """The row of an input."""
        dtype = self.of_sizes.types[n][0]
        shape, strides = self.layout(n)
        self.keep.append(dtype)
        return [id(dtype), len(shape), *shape, *strides]

    def places(self) -> list[tuple[int, int]]:
        """Where machine code finds the value of each symbol."""
        found: dict[int, tuple[int, int]] = {}
        for which, dims in enumerate(self.symbols.dims):
            for d, i in enumerate(dims):
                if i >= 0:
                    found.setdefault(i, (which, d))
        if len(found) != len(self.of_sizes.facts.symbols):
            raise Uncoded("a size is no dimension of what is given")
        return [found[i] for i in range(len(found))]

    # ---- words -----------------------------------------------------------------------------------
    def block(self, given: Sequence[Sequence[Any]]) -> Array:
        """Fill the words of the block."""
        header = dict(code=0, given=len(given), given_at=8 * len(HEAD), made=len(self.rows),
                      made_at=8 * (len(HEAD) + sum(len(row) + 1 for row in given)))
        words = [header[name] for name in HEAD]
        for row in (*given, *self.rows):
            words += [len(row) + 1, *row]
        block = np.zeros(len(words), np.int64)
        for i, x in enumerate(words):
            self.put(block, i, x)
        return block

    def steps(self, words: Array) -> tuple[list[Any], dict[int, Array]]:
        """The steps, and for each list the word that says whether it is long."""
        steps: list[Any] = []
        is_long: dict[int, Array] = {}
        for step in self.of_sizes.steps:
            if isinstance(step, Done):
                steps.append(step.node)
                continue
            address = words.ctypes.data + 8 * step.first
            is_long[address] = np.zeros(1, np.int64)
            self.put_is_long(is_long[address], 0, step)
            steps.append(LaunchList(
                long=True, address=address, words=step.words, values=step.values))
        return steps, is_long

    def are_numbers(self) -> bool:
        """Are all constants that depend on sizes numbers?"""
        own = self.of_sizes.own
        return not (own.merged or own.guards) and all(
            own.number(maker) is not None for maker in own.makers)

    def constants_of_sizes(self, words: Array) -> ConstantsOfSizes:
        """The constants that Python makes."""
        own, placed = self.of_sizes.own, self.of_sizes.words.placed
        offsets = np.zeros(len(placed), np.int64)
        last = self.of_sizes.words.expressions
        for i, x in enumerate(last[len(last) - len(placed):]):
            self.put(offsets, i, x)
        return ConstantsOfSizes(own, self.cells(own.texts), words, placed, offsets)

    def cells(self, known: Mapping[str, Any]) -> dict[str, Array]:
        """A word for each expression."""
        words = {}
        for text, x in known.items():
            words[text] = np.zeros(1, np.float64 if type(x) is SymbolicReal else np.int64)
            self.put(words[text], 0, x)
        return words

    def numbers_of_python(self) -> dict[int, dict[str, Array]]:
        """A word for each expression in a node that Python runs, by the node's id."""
        nodes = [step.node for step in self.of_sizes.steps if isinstance(step, Done)]
        found = {id(n): expressions_in([*n.attrs.values(), *n.ins], {}) for n in nodes}
        return {i: self.cells(known) for i, known in found.items() if known}

    def layouts_of_python(self) -> dict[int, Array]:
        """The words for the sizes and strides of what Python makes."""
        words = {}
        for node in self.like.called:
            for n in node.outs:
                layout = self.layout(n)
                words[n] = np.zeros((2, len(layout[0])), np.int64)
                for i, x in enumerate(itertools.chain(*layout)):
                    self.put(words[n].reshape(-1), i, x)
        return words


def resized(like: AtSizes, symbols: ShapeSymbols) -> ResizedProgram | None:
    """Make a program for all sizes from one for certain sizes; `symbols` are the sizes of its
    inputs. None if machine code cannot compute what depends on them."""
    if machine() is None:
        return None
    with contextlib.suppress(Uncoded, Unsized):
        with like.of_sizes.facts.recalled():
            return ResizedProgramMaker(like, symbols).program()
    return None
