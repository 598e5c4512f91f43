"""The search for one graph of all sizes: a function is recorded at several, and what differs must
be a function of them.

Where Python read no size, what differs between recordings was computed by the ops' own code.
Where it read one, what it did with the size is followed (see `sizes_read_by_python.py`). Where
nothing is known of that, every size within the bounds is recorded."""

from __future__ import annotations

import bisect
import functools
import os
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from whet.ir.graph import Ask, OpNode, Type
from whet.ir.question_names import name_of
from whet.ir.result_types import stand_in
from whet.ir.symbolic_size import SYMBOLIC, SymbolicSize
from whet.passes.compare_nodes import is_one_node

from ..capture.control_nodes import Control
from ..values.code_origin import ours
from .copies_at_small_sizes import is_written_after, with_copies
from .dims import MOST, Dims, Values, disagree, fitted
from .errors import ExportError, PreconditionError
from .paired_runs import RunsDiffer
from .recording import Recorded
from .size_formulas import SizeFormula, formula_of
from .sized_graph import AnyExpression, Path, differing, filled, part
from .sizes_of_values import SizesOfValues
from .sizes_read_by_python import SizesReadByPython
from .tree_text import as_data

MOST_HELD = 1 << 16  # sizes at which the numbers that Python computes of them are looked at
ROUNDS = 4  # in which sizes that turn out to be no expressions are left out
KEPT = 4  # runs on which the exported program is checked
# by which functions refuse sizes
REFUSALS = RuntimeError, ValueError, TypeError, IndexError, ArithmeticError, AssertionError
# (a run at these sizes, or why there is none; the line where Python read a size)
Record = Callable[[Values], tuple[Recorded | None, ExportError | None, str | None]]


class Sized:
    """What the recordings come to. `holes`: id of a node of the example's run -> path ->
    expression, `results`: the sizes of each result as expressions, `runs`: some of the
    recordings."""

    def __init__(
        self, dims: Dims, base: Recorded, size_read_at: str | None, followed: Recorded | None,
        record: Record
    ) -> None:
        self.dims, self.base, self.record = dims, base, record
        self.size_read_at = size_read_at
        self.runs: dict[Values, Recorded] = {dims.example: base}
        self.samples: list[tuple[Values, Recorded]] = [(dims.example, base)]
        self.holes: dict[int, dict[Path, AnyExpression]] = {}
        for values in dims.tried() if size_read_at is None or followed else self.every():
            self.record_at(values)
        unfit = set[int]()
        for _ in range(ROUNDS):
            self.search(followed, unfit)
            self.hold_guesses(followed, unfit)
            more = self.wrong_sizes()
            if not more:
                break
            unfit |= more
        else:
            raise self.disagree("ops make sizes that are no one expression", "", self.samples[1][0])
        self.results = [self.sizes_of(n) for n in base.values]
        self.exclude_small_sizes()
        if followed is not None:
            self.hold_to_python()

    def sizes_read_by_python(self, followed: Recorded | None) -> SizesReadByPython | None:
        """What Python did with sizes, in a run that is the example's."""
        if followed is None:
            return None
        try:
            return SizesReadByPython(self.base, followed, self.holes, self.dims, self.sizes)
        except RunsDiffer:
            return None

    def search(self, followed: Recorded | None, unfit: set[int]) -> None:
        """Find the expressions; the sizes of values in `unfit` are none."""
        self.holes.clear()
        self.guessed = False
        self.sizes = SizesOfValues(self.dims, self.samples, unfit)
        self.followed = self.sizes_read_by_python(followed)
        for i, n in enumerate(self.base.nodes):
            found = self.holes_of(i, n)
            if found:
                self.holes[id(n)] = found
            self.sizes.add(n, found)

    def hold_guesses(self, followed: Recorded | None, unfit: set[int]) -> None:
        """Hold numbers that were found by what they were in the runs to more runs. One that is
        another there is looked for in these, too."""
        for values in self.dims.held_out():
            if self.guessed and not self.same_at(values):
                self.holes.clear()
                self.record_at(values)
                self.search(followed, unfit)

    def wrong_sizes(self) -> set[int]:
        """The values whose sizes are other expressions where ops may go ways of their own."""
        if not any(type(e) is SizeFormula for holes in self.holes.values()
                   for e in holes.values()):
            return set()
        return set().union(*[self.sizes.wrong_at(v, self.holes) for v in self.dims.around()])

    def every(self) -> list[Values]:
        """All sizes but the example's, 0 and 1, if they are few enough to record each."""
        found = self.dims.all()
        if found is None:
            raise self.unknown()
        return [v for v in found if min(v) > 1 and v != self.dims.example]

    def unknown(self, decided: set[int] | None = None) -> ExportError:
        """The error for sizes for which it is unknown what Python does with them; `decided`: those
        of these dimensions."""
        return ExportError(
            f"Python reads a size ({self.size_read_at}), and what it does with it is known for "
            f"sizes that were recorded only: {self.dims.why_not_all(decided)}.\n"
            "  Or write it so that it asks for none: flatten(1), unflatten, -1 in reshape."
        )

    def hold_to_python(self) -> None:
        """Hold the graph to what Python did with the sizes that it read. Sizes at which it
        does something else are recorded."""
        run = self.followed
        decided = None if run is None else run.deciding_dims()
        if run is not None and not run.decides and decided == set():
            return
        others: list[Values] | None = None
        if run is None:
            others = self.every()
        elif (found := self.dims.all(MOST_HELD, decided)) is not None:
            others = [v for v in found if not run.agrees_at(v)]
        if others is None or len(others) > MOST:
            raise self.unknown(decided)
        for values in others:
            if values in self.dims and not self.same_at(values):
                self.leave_out(values)

    def leave_out(self, values: Values) -> None:
        """Sizes of 0 and 1 need not be within the bounds; others that are within them must."""
        small = [k for k, n in enumerate(values) if n < 2]
        if not small:
            raise self.disagree("the sizes that Python reads become other numbers",
                                self.size_read_at or "", values)
        self.dims.raise_least(small[0], values[small[0]] + 1)

    def record_at(self, values: Values) -> None:
        """Record at some sizes."""
        try:
            run, error, _ = self.record(values)
        except Exception as e:      # the user's own code may raise any, as for a size too large
            said = f": {e}" if str(e) else ""
            raise self.disagree(
                f"it raises {type(e).__name__}{said}", raised_at(e), values) from e
        if run is None:
            raise self.disagree(f"it cannot be recorded: {error}", "", values)
        self.compare(run, values)
        self.samples.append((values, run))
        if len(self.runs) < KEPT:
            self.runs[values] = run

    def disagree(self, what: str, line: str, values: Values) -> ExportError:
        """The error for sizes at which the function is another than at the example's."""
        return disagree(what, line, self.dims, self.dims.example, values)

    def compare(self, run: Recorded, values: Values) -> None:
        """Raise where another run did other things."""
        base = self.base
        for i, (a, b) in enumerate(zip(base.nodes, run.nodes)):
            if is_one_node(a, b) or only_looks(a, b, run):
                continue
            if self.holes or not only_looks(b, a, base):
                raise self.disagree(what_differs(a, b), a.line, values)
            # the graph copies, as some sizes need it
            base.nodes[i] = OpNode(b.op, a.ins, a.attrs, a.outs, a.line)
        if len(base.nodes) != len(run.nodes):
            raise self.disagree(
                f"it does {len(base.nodes)} and {len(run.nodes)} things", "", values
            )
        if base.values != run.values or as_data(base.output) != as_data(run.output):
            raise self.disagree("its result is another", "", values)
        if [id(t) for t in base.outside.values()] != [id(t) for t in run.outside.values()]:
            raise self.disagree("it reads other tensors from outside", "", values)

    def holes_of(self, i: int, n: Any) -> dict[Path, AnyExpression]:
        """What differs in a node."""
        places: dict[Path, None] = {}
        for values, run in self.samples[1:]:
            for root, a, b in operands_and_attributes(n, run.nodes[i]):
                found = differing(a, b)
                if found is None:
                    what = f"{' '.join(n.names)} has other numbers, {a!r} and {b!r}"
                    raise self.disagree(what[:300], n.line, values)
                places.update(dict.fromkeys((root, *p) for p in found))
        if self.followed is not None:
            places.update(dict.fromkeys(self.followed.paths_of(n)))
        if places and n.op is None:
            raise self.disagree("a question about data is another", n.line, self.samples[1][0])
        expressions = {p: self.expression(i, n, p) for p in places}
        return {p: e for p, e in expressions.items() if e is not None}

    def expression(self, i: int, n: Any, path: Path) -> AnyExpression | None:
        """The expression at a place of a node; None where it is one number."""

        def at(run: Recorded) -> float:
            m = run.nodes[i]
            where: Any = m.ins if type(path[0]) is int else m.attrs
            number: float = part(where[path[0]], path[1:])
            return int(number) if number == int(number) else number

        samples = [(values, at(run)) for values, run in self.samples]
        numbers = tuple([number for _, number in samples])
        if len(set(numbers)) == 1:
            return self.python_formula(n, path, numbers)
        found: AnyExpression | None = self.python_formula(n, path, numbers)
        if all(type(number) is int for number in numbers):
            whole: Any = numbers
            self.guessed = True
            found = (fitted(list(zip(self.sampled(), whole))) or found
                     or self.sizes.formula(n, path, whole))
        if found is None:
            other = next(s for s in samples if s[1] != samples[0][1])
            raise self.disagree(
                f"{n.op.name} has {samples[0][1]} and {other[1]}, which is no expression of the "
                "sizes",
                n.line,
                other[0],
            )
        return found

    def sampled(self) -> list[Values]:
        """The sizes at which there are recordings."""
        return [values for values, _ in self.samples]

    def python_formula(self, n: Any, path: Path, numbers: tuple[float, ...]) -> SizeFormula | None:
        """What Python computed for a place in a node."""
        size: Any = None if self.followed is None else self.followed.number_at(n, path)
        known = type(size) in SYMBOLIC and self.sizes.seen(size) == numbers
        return formula_of(size) if known else None

    def sizes_of(self, value: int) -> list[str]:
        """The sizes of a result as people write them."""
        out = []
        a = self.sizes.outlines.get(value)
        for k, n in enumerate(self.base.arrays[value].shape):
            samples = [(values, run.arrays[value].shape[k]) for values, run in self.samples]
            size = None if a is None else a.shape[k]
            # a size may be another one where no run was, as `min(n, 3)` is
            formula = formula_of(size) if type(size) is SymbolicSize else None
            if all(m == n for _, m in samples):
                out.append(str(n) if formula is None else formula.text(self.dims.names))
                continue
            e = fitted(samples) or formula
            out.append("?" if e is None else e.text(self.dims.names))
        return out

    def exclude_small_sizes(self) -> None:
        """Put sizes 0 and 1 outside the bounds where the ops go ways of their own at them."""
        for k, d in enumerate(self.dims.dims):
            for n in range(1, d.min - 1, -1):
                values = (*self.dims.example[:k], n, *self.dims.example[k + 1 :])
                if n in d and values != self.dims.example and not self.same_at(values):
                    self.dims.raise_least(k, n + 1)
                    break

    def leave_out_small_sizes(self, gives: Callable[[Recorded], bool]) -> None:
        """Let dimensions begin where eager mode raises no error, and the export `gives` the results
        of a run. Code around ops may refuse small sizes that the ops take, as `narrow` does, or go
        another way, as a convolution does for images as large as its kernel."""
        for k, d in enumerate(self.dims.dims):
            sizes = range(d.min, self.dims.example[k], d.multiple) if d.min > 1 else range(0)
            served = functools.partial(self.is_served, gives, k)
            if sizes and not served(sizes[0]):
                self.dims.raise_least(k, sizes[bisect.bisect(sizes, False, 1, key=served) - 1] + 1)

    def is_served(self, gives: Callable[[Recorded], bool], k: int, n: int) -> bool:
        """Is size n of a dimension served, with the example's others?"""
        try:
            run, _, _ = self.record((*self.dims.example[:k], n, *self.dims.example[k + 1:]))
        except REFUSALS:
            return False
        return run is None or gives(run)

    def same_at(self, values: Values) -> bool:
        """Is the run at some sizes what the expressions say?"""
        try:
            run, _, _ = self.record(values)
            if run is None:
                return False
            run = with_copies(self.base, run)
            self.compare(run, values)
            return all(self.is_stated(a, b, values) or self.sees_the_same(a, b, values, run)
                       for a, b in zip(self.base.nodes, run.nodes))
        except (*REFUSALS, PreconditionError):
            return False

    def sees_the_same(self, a: Any, b: Any, values: Values, run: Recorded) -> bool:
        """Is a view of a run at some sizes the memory that the expressions give? What begins at 0
        is no slice, `x[past:]`."""
        if not (isinstance(a, OpNode) and isinstance(b, OpNode) and a.is_view and b.is_view):
            return False
        x = stand_in(Type.of(run.arrays[b.ins[0]]))
        nodes: list[Any] = [b, filled(a, self.holes.get(id(a), {}), values)]
        seen, stated = [n.op.forward(x, **n.attrs).__array_interface__ for n in nodes]
        return bool(seen == stated)

    def is_stated(self, a: Any, b: Any, values: Values) -> bool:
        """Is a node of a run at some sizes what the expressions say of the example's?"""
        holes = self.holes.get(id(a), {})
        for root, x, y in operands_and_attributes(a, b):
            found = differing(x, y)
            if found is None or any((root, *p) not in holes for p in found):
                return False
        for path, e in holes.items():
            where: Any = b.ins if type(path[0]) is int else b.attrs
            if part(where[path[0]], path[1:]) != e.at(values):
                return False
        return True


def only_looks(a: Any, b: Any, run: Recorded) -> bool:
    """Does a node of a run only look at what the other one copies? Elements have the wanted layout
    at some sizes, as at a size of 1. It is the same where nothing writes to that memory
    afterwards."""
    if not (isinstance(a, OpNode) and isinstance(b, OpNode) and a.ins == b.ins
            and a.outs == b.outs and a.op.keeps_elements and b.op.keeps_elements and b.is_view):
        return False
    return not is_written_after(run.nodes, b, b.outs[0])


def raised_at(error: BaseException) -> str:
    """The user's line that an error comes from, or an empty text."""
    found = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__)
             if not ours(f)]
    return f"{os.path.basename(found[-1][0])}:{found[-1][1]}" if found else ""


def what_differs(a: Any, b: Any) -> str:
    """Why two nodes are no one node of all sizes, in words."""
    if a.op is not None and b.op is not None and a.op.name == b.op.name:
        if isinstance(a.op, Control):
            return f"it has a {a.op.name}, whose bodies are for the sizes of the example"
        if len(a.outs) != len(b.outs):
            return (f"it takes as many steps as the size says: {a.op.name} gives {len(a.outs)} and "
                    f"{len(b.outs)} values, as in a recurrent layer or a loop over a dimension")
    return f"it does other things, {a.head(most=4)} and {b.head(most=4)}"


def operands_and_attributes(a: Any, b: Any) -> Iterator[tuple[Any, Any, Any]]:
    """The operands and attributes of two nodes that did the same: (place of an operand or name of
    an attribute, then both values)."""
    for k, (x, y) in enumerate(zip(a.ins, b.ins)):
        yield k, x, y
    if isinstance(a, Ask):
        yield "question", repr(name_of(a.question)), repr(name_of(b.question))
        return
    for name, x in a.attrs.items():
        yield name, x, b.attrs[name]
