"""A program planned for symbolic sizes, as a function of these, and the programs for certain sizes
that it gives."""
from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from whet.ir.graph import Ref, Type
from whet.ir.memory_spans import address
from whet.ir.outline import Numeral
from whet.ir.symbolic_size import Symbolic, SymbolicReal, SymbolicSize, Unsized
from whet.passes.lower_llvm.calls import distribute_units

from .launch_lists import ARENA, LONG, LaunchList
from .launch_program import LaunchProgram, part_of
from .program import NOTHING_SPENT
from .size_dependent_arrays import Address, OwnArray, expressions_in, filled
from .size_expressions import equal, same_number
from .sized_lists import Done
from .sized_places import Brought, SizedPiece

if TYPE_CHECKING:
    from whet.ir.graph import Node
    from whet.ir.outline import Array, Outline

    from ..machine_code.table_rows import Table
    from ..replay.recording import Recording
    from ..tables.sized_table import SizedTable
    from .resized_program import ResizedProgram
    from .shape_symbols import ShapeSymbols
    from .sized_program import SizedProgram


@dataclasses.dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AtSizes(LaunchProgram):
    """The program for certain sizes. What Python would view in other programs is read here in
    its place. `of_sizes`: the function of sizes that it comes from. `views`: the places of results
    that are views."""
    of_sizes: ProgramOfSizes
    views: dict[int, tuple[int, int, Type]] = dataclasses.field(default_factory=dict)

    @property
    def model(self) -> LaunchProgram:
        return self.of_sizes.model

    def __call__(self, inputs: Sequence[Array],
                 spent: Mapping[int, Array] = NOTHING_SPENT) -> list[Any]:
        env = LaunchProgram.__call__(self, inputs, spent)
        for o, (root, offset, t) in self.views.items():
            env[o] = part_of(env[root], offset, t)
        return env


class Words:
    """The words of a list as a template, and how to fill in those that depend on sizes. `fill`
    takes the values of `expressions`, in their order."""

    def __init__(self, words: Sequence[Any], tables: Sequence[int]) -> None:
        kinds = {k: [i for i, w in enumerate(words) if type(w) is k]
                 for k in (SymbolicSize, SymbolicReal, Numeral, Address)}
        varying = set(itertools.chain(*kinds.values()))
        known = [0 if i in varying else w for i, w in enumerate(words)]
        self.template = np.array(known, np.int64)
        self.whole, self.reals = (np.array(kinds[k], np.intp) for k in (SymbolicSize, SymbolicReal))
        self.tables = np.array(tables, np.intp)
        self.numerals = [(words[i].dtype.type, 8 // words[i].dtype.itemsize * i)
                         for i in kinds[Numeral]]
        self.placed = [(i, words[i].which) for i in kinds[Address]]
        self.expressions = [
            *[words[i] for i in (*kinds[SymbolicSize], *kinds[SymbolicReal])],
            *[words[i].number for i in kinds[Numeral]],
            *[words[i].offset for i in kinds[Address]],
        ]

    def blank(self) -> Array:
        """The words, without those that depend on sizes."""
        words = self.template.copy()
        if len(self.tables):
            words[self.tables] += words.ctypes.data
        return words

    def places(self) -> Iterator[tuple[Any, int, Any]]:
        """What depends on sizes, apart from arrays of the program: the expression, its byte offset,
        and its form."""
        got = iter(self.expressions)
        for kind, places in ((np.int64, self.whole), (np.float64, self.reals)):
            yield from [(next(got), 8 * int(i), kind) for i in places]
        for dtype, at in self.numerals:
            yield next(got), np.dtype(dtype).itemsize * at, dtype

    def fill(self, numbers: Sequence[Any], own: Sequence[Array]) -> Array:
        """The words for these values of the expressions. `own` are the arrays of the program."""
        words, got = self.blank(), iter(numbers)
        words[self.whole] = list(itertools.islice(got, len(self.whole)))
        if len(self.reals):
            words.view(np.float64)[self.reals] = list(itertools.islice(got, len(self.reals)))
        for dtype, at in self.numerals:
            words.view(dtype)[at] = next(got)
        for i, which in self.placed:
            words[i] = address(own[which]) + next(got)
        return words


class ProgramOfSizes:
    """The result of a `SizedProgram`, as one function of sizes: `program(values)` is the program
    for these sizes, or None."""

    def __init__(self, sized: SizedProgram) -> None:
        like, lists = sized.like, sized.list
        self.model = like
        self.facts, self.arena = sized.facts.settled(), lists.arena
        self.arrays, self.keep, self.own = like.arrays, sized.keep, sized.own.settled()
        self.draws = sized.draws
        self.steps, self.words = lists.steps, Words(lists.words, lists.tables)
        self.base = {f.name: getattr(like, f.name) for f in dataclasses.fields(LaunchProgram)}
        self.base |= dict[str, Any](
            called=lists.done, steady=sized.steady, launches=lists.launches, fresh=sized.fresh,
            checks=sized.tapes.checks, needs={}, of_sizes=self)
        # the types that a replay asks for: of what it is given, of what it makes, of views
        looks = lists.looks()
        made = [o for node in lists.done for o in node.outs]
        made += [] if sized.draws is None else sized.draws.outs
        self.types: dict[int, tuple[Any, int, int]] = {}
        self.dims: list[Any] = []
        for n in (*sized.outside, *sized.results, *sized.fresh, *sized.shown, *made, *looks):
            if n not in self.types:
                a = sized.arrays[n]
                self.types[n] = a.dtype, len(a.shape), len(self.dims)
                self.dims += [*a.shape, *a.strides]
        self.views = {
            o: (root, len(self.dims) + i) for i, (o, (root, _)) in enumerate(sized.shown.items())}
        self.dims += [a.offset for _, a in sized.shown.values()]
        self.look(sized, looks)
        self.function(sized)
        self.expected = sized.types.expected
        known: dict[str, Symbolic] = {}
        for ins, attrs in self.expected:
            expressions_in([*ins, *attrs.values()], known)
        self.expected_texts, self.expect = list(known), sized.facts.function(list(known.values()))
        self.asked = 0                           # how often a program was made
        self.resized: ResizedProgram | None = None       # one for all sizes

    def look(self, sized: SizedProgram, looks: Mapping[int, Outline]) -> None:
        """Note where Python finds what it reads."""
        self.local: dict[int, tuple[int, int]] = {}
        self.fixed: dict[int, tuple[OwnArray | Array, int]] = {}
        for n, a in looks.items():
            owner = a.room.owner
            if type(owner) is SizedPiece:
                self.local[n] = ARENA, len(self.dims)
                self.dims.append(owner.offset + a.offset)
            elif type(owner) is Brought:
                self.local[n] = sized.roots.moving[owner.position], len(self.dims)
                self.dims.append(a.offset)
            elif isinstance(owner, OwnArray | np.ndarray):
                self.fixed[n] = owner, len(self.dims)
                self.dims.append(a.offset)
            else:
                raise Unsized("Python reads what is no array")

    def function(self, sized: SizedProgram) -> None:
        """Make the function of sizes."""
        work = [x for s in self.steps if not isinstance(s, Done) for x in s.work]
        known: dict[str, Symbolic] = {}
        for node in sized.list.done:
            expressions_in([*node.attrs.values(), *node.ins], known)
        self.texts = list(known)
        parts = (self.words.expressions, self.own.expressions, self.dims, list(known.values()),
                 [sized.list.arena], work)
        self.parts = list(itertools.accumulate(map(len, parts)))
        self.evaluate = sized.facts.function([x for part in parts for x in part])

    def numbers(self, values: Sequence[int] | None) -> list[Any] | None:
        """The value of each expression at these sizes. None if the plan does not hold for them, or
        if an expression is nested deeper than Python's stack allows."""
        try:
            return None if values is None else self.evaluate(*values)
        except (ArithmeticError, ValueError, RecursionError):
            return None

    def program(self, values: Sequence[int] | None,
                recorded: Sequence[Node] | None = None) -> AtSizes | None:
        """The program for these sizes; None if the plan does not hold for them. `recorded`: the
        nodes of a run, if there was one."""
        got = self.numbers(values)
        if values is None or got is None:
            return None
        if recorded is not None and not self.foretells(values, recorded):
            return None
        a, b, c, d, e = self.parts[:5]
        own = self.own.arrays(got[a:b])
        if own is None:
            return None
        words, dims, work = self.words.fill(got[:a], own), got[b:c], got[e:]
        arrays = list(self.arrays)
        for n, (dtype, ndim, i) in self.types.items():
            arrays[n] = Type(dtype, dims[i:i + ndim], dims[i + ndim:i + 2 * ndim])
        steps = self.steps_at(words.ctypes.data, work, dict(zip(self.texts, got[c:d], strict=True)))
        views = {o: (root, dims[i], arrays[o]) for o, (root, i) in self.views.items()}
        changed = dict(
            arrays=arrays,
            shown={} if self.base["called"] else views,
            views=views,
            arena=got[d],
            keep=[words, *own, *self.keep],
            steps=steps,
            called=[s for s in steps if type(s) is not LaunchList],
            local={n: (root, dims[i], arrays[n]) for n, (root, i) in self.local.items()},
            looks={},
            env=self.env(own, arrays, dims),
            draws=None if self.draws is None else self.draws.at(own, arrays),
            windows=None,
        )
        if recorded is not None:
            changed["recorded"] = recorded
        return AtSizes(**{**self.base, **changed})

    def foretells(self, values: Sequence[int], recorded: Sequence[Node]) -> bool:
        """Are the numbers and attributes of a run's nodes those that the plan gives for its
        sizes?"""
        expected = self.expect(*values)
        assert expected is not None
        at = dict(zip(self.expected_texts, expected, strict=True))
        for node, (ins, attrs) in zip(recorded, self.expected, strict=True):
            for x, y in zip(ins, node.ins, strict=True):
                if type(x) is not Ref and not same_number(filled(x, at), y):
                    return False
            if not all(equal(filled(x, at), node.attrs[k]) for k, x in attrs.items()):
                return False
        return True

    def env(self, own: Sequence[Array], arrays: Sequence[Type], dims: Sequence[Any]) -> list[Any]:
        """The arrays that exist before a call: constants, and views of them."""
        env: list[Any] = [None] * (len(self.arrays) + 1)
        for n, (constant, i) in self.fixed.items():
            a = own[constant.which] if isinstance(constant, OwnArray) else constant
            env[n] = part_of(a, dims[i], arrays[n])
        return env

    def steps_at(self, start: int, work: Sequence[Any],
                 at: Mapping[str, Any]) -> list[LaunchList | Node]:
        """The steps of a program. `at`: text of an expression -> its value."""
        out: list[LaunchList | Node] = []
        for s in self.steps:
            if isinstance(s, Done):
                out.append(with_numbers(s.node, at))
                continue
            mine, work = work[:len(s.work)], work[len(s.work):]
            grains = [t / distribute_units.grain(g)
                      for t, g in zip(mine[::2], mine[1::2], strict=True)]
            out.append(LaunchList(sum(grains) >= LONG, start + 8 * s.first, s.words, s.values))
        return out


class ForwardOfSizes(ProgramOfSizes):
    """The forward of calls of all sizes, as one function. `first`: the recording that others are
    made like. `symbols`: the arguments' sizes that are symbols."""

    def __init__(self, sized: SizedProgram, first: Recording, symbols: ShapeSymbols) -> None:
        super().__init__(sized)
        self.first, self.symbols, self.leaves = first, symbols, symbols.dims
        # a table that machine code has for one of its programs, and the guards of that recording
        self.table: tuple[Any, Table] | None = None
        self.sized: SizedTable | None = None             # one for all its sizes


def with_numbers(node: Node, at: Mapping[str, Any]) -> Node:
    """A node with its expressions replaced by their values."""
    if not at or not expressions_in([*node.attrs.values(), *node.ins], {}):
        return node
    made = node.like()
    made.attrs = {k: filled(x, at) for k, x in node.attrs.items()}
    made.ins = tuple([filled(x, at) for x in node.ins])
    return made
