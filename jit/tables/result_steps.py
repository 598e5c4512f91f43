"""The rows of a table that launch a program, build its results and write them to Python's state,
in machine code alone."""
from __future__ import annotations

import ctypes as C
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from whet.cpu.recipe_words import row_major

from ..machine_code.native_entry import L
from ..machine_code.native_runner import machine
from ..machine_code.table_rows import NotInTable
from ..values.tensor_sources import Argument, InPython, Source
from .rows_of_writes import rows_apart, rows_of_writes, written_in_python

if TYPE_CHECKING:
    from ..effects.recipes import MadeArray, Recipe
    from ..effects.tensor_recipes import MadeTensor, MadeView
    from ..effects.write_back import Left
    from ..machine_code.table_rows import Leaves, Rows
    from ..program.program import Program
    from ..replay.recording import Recording

# where machine code finds an array, or what a view refers to: a kind, and which of it
Pair: TypeAlias = tuple[int, int]
# numbers that the state gets
AS = {} if L is None else {np.dtype(np.float64): L.AS_FLOAT, np.dtype(np.int64): L.AS_INT}
# The steps that make a tensor, and the same where it is not given itself.
HIDDEN = {} if L is None else {L.NEW: L.HIDDEN, L.VIEW: L.HIDDEN_VIEW}


def simple(r: Any) -> bool:
    """Is a replay nothing but one list of launches, and views?"""
    does = r.replay
    does_more = (does.grads or does.backward or does.acts or does.marks or does.outside_draws
                 or r.program.draws)
    return not (does_more or r.program.launches_and_views is None
                or written_in_python(does, r.program))


class Steps:
    """The steps that recipes emit: they build results and the values that are written to Python's
    state. This is a class, because closures would form a reference cycle with the recording."""

    def __init__(self, t: Rows, r: Recording, leaves: Leaves, fresh: Mapping[int, int],
                 sources: Mapping[int, Any]) -> None:
        self.table, self.arrays, self.leaves, self.fresh = t, r.program.arrays, leaves, fresh
        self.sources_of = sources
        self.shown = r.program.shown
        self.build: list[int] = []           # the steps, three words each
        # recipe of a tensor -> which of the tensors that are made it is
        self.made: dict[Recipe, int] = {}
        self.made_once: set[Recipe] = set()
        self.hidden: list[int] = []          # tensors that only views of theirs show
        # arrays that views are made of, and the call does not make
        self.sources: list[Pair] = []
        self.free = set(fresh.values())      # arrays that are in no tensor yet
        self.tensors = len(fresh)            # how many tensors there may be

    def add(self, what: int, a: int, b: int = 0) -> None:
        """One more step."""
        self.build.extend([what, a, b])

    def constant(self, x: Any) -> None:
        """Add a step that results in an object."""
        self.add(L.CONST, self.table.id(x))

    def argument(self, i: int) -> None:
        """Add a step that results in a tensor or an array among the leaves."""
        if self.leaves.number[i]:
            raise InPython
        self.add(L.ARGUMENT, self.leaves.order.index(i))

    def array_as_given(self, source: Source) -> None:
        """Add a step that results in a NumPy array among the arguments. Where Python has found the
        leaves, machine code has a tensor in its place."""
        if type(source) is not Argument or not self.leaves.numpy[source.index]:
            raise InPython
        source.emit(self)

    def number(self, value: int) -> None:
        """Add a step that results in a number that the program made, or in one among the leaves as
        it came."""
        source = self.sources_of.get(value)
        place = self.element(value)
        if place is not None and self.arrays[value].dtype in AS:
            self.add(AS[self.arrays[value].dtype], *place)
        elif type(source) is Argument and self.leaves.number[source.index]:
            self.add(L.ARGUMENT, self.leaves.order.index(source.index))
        else:
            raise InPython

    def element(self, value: int) -> Pair | None:
        """The position of a value of one element: which of the fresh arrays, and how many bytes
        into it; None for others."""
        root, offset, _ = self.shown.get(value, (value, 0, None))
        return (self.fresh[root], offset) if self.is_fresh(root) else None

    def was_made(self, recipe: Recipe) -> bool:
        """Was a tensor made before? Then a step is added that results in it once more."""
        if recipe not in self.made:
            return False
        self.add(L.ONCE_MORE, self.made[recipe])
        return True

    def once(self, recipe: Recipe) -> None:
        """Note an object that is made here and nowhere else."""
        if recipe in self.made_once:
            raise InPython
        self.made_once.add(recipe)

    def tuple(self, n: int) -> None:
        """Add a step that makes a tuple of what the last n steps resulted in."""
        self.add(L.PAIR, n)

    def list(self, n: int) -> None:
        """Make a list of what the last steps gave."""
        self.add(L.SERIES, n)

    def record(self, n: int, make: Callable[[Sequence[Any]], Any]) -> None:
        """Add a step that results in what a function makes of a tuple of the last n objects."""
        self.add(L.RECORD, n, self.table.id(make))

    def keys(self, keys: Iterable[Any]) -> int:
        """Note the keys of a dict; gives where."""
        at = len(self.table["keys"])
        self.table["keys"].extend(self.table.id(k) for k in keys)
        return at

    def dict(self, n: int, at: int) -> None:
        """Make a dict of keys that were noted and of what the last steps gave."""
        self.add(L.TABLE, n, at)

    def is_fresh(self, value: int) -> bool:
        """Is a value an array that the call makes?"""
        return value in self.fresh

    def take(self, value: int) -> int:
        """Which of the fresh arrays a value is, that no other tensor has."""
        if self.fresh[value] not in self.free:
            raise InPython
        self.free.remove(self.fresh[value])
        return self.fresh[value]

    def new(self, recipe: MadeTensor) -> None:
        """Make a tensor around an array that no other tensor has."""
        at = self.take(recipe.value)
        self.made[recipe] = at
        self.add(L.NEW, at, recipe.flags)

    def leaf(self, i: int, value: int) -> Pair:
        """Where the array of a leaf is found, or the number that it stands for."""
        if self.leaves.number[i]:
            in_object = self.leaves.numpy[i] or self.arrays[value].dtype == np.float64
            kind = L.FLOAT_LEAF if in_object else L.INT_LEAF
        else:
            kind = L.ARRAY_LEAF if self.leaves.numpy[i] else L.LEAF
        return kind, self.leaves.order.index(i)

    def held(self, x: Any) -> Pair:
        """Where the array of a tensor from outside is found."""
        return L.OBJECT, self.table.id(x)

    def array(self, value: int) -> Pair:
        """Where the array of a value is found that was not made by the call's Python, as a pair."""
        if value in self.fresh:
            return L.FRESH, self.fresh[value]
        if value not in self.sources_of:
            raise InPython
        found: Pair = self.sources_of[value].address(self, value)
        return found

    def base(self, recipe: Recipe) -> Pair:
        """How a view refers to what it is a view of. A tensor that is not given itself is let go
        of at the end."""
        at = len(self.build)
        recipe.emit(self)
        what, which = self.build[-3], self.build[-2]
        if what in HIDDEN:
            self.build[-3] = HIDDEN[what]
            self.hidden.append(which)
            return L.ONCE_MORE, which
        del self.build[at:]
        return what, which

    def view(self, recipe: MadeTensor | MadeView, base: Recipe | None) -> None:
        """Make a tensor that is a view, of a tensor that may be seen through it alone."""
        of = (L.NEW, 0) if base is None else self.base(base)             # NEW: it is a view of none
        self.window(L.VIEW, recipe, of, recipe.flags)

    def window(self, what: int, recipe: MadeTensor | MadeView | MadeArray, of: Pair,
               flags: int) -> None:
        """Add a step that shows a part of an array, and the row that says which."""
        root, offset, a = self.shown[recipe.value]
        source = self.array(root)
        if a.ndim > L.MAX_DIMS or source[0] in (L.FLOAT_LEAF, L.INT_LEAF):
            raise InPython
        if source[0] != L.FRESH:
            if source not in self.sources:
                self.sources.append(source)
            source = L.SEEN, self.sources.index(source)
        self.made[recipe] = self.tensors
        self.add(what, self.tensors, len(self.table["views"]))
        self.tensors += 1
        rest = [0] * (L.MAX_DIMS - a.ndim)
        self.table["views"].extend([
            *source, *of, flags,
            self.table.id(a.dtype), a.ndim, offset, *a.shape, *rest, *a.strides, *rest])

    def numpy(self, recipe: MadeArray) -> None:
        """Add a step that results in a NumPy array of what the program made, or in a number of
        NumPy's."""
        if self.was_made(recipe):
            return
        if not recipe.is_array:
            place = self.element(recipe.value)
            if place is None:
                raise InPython
            self.once(recipe)
            self.add(L.AS_SCALAR, *place)
        elif self.is_fresh(recipe.value):
            at = self.made[recipe] = self.take(recipe.value)
            self.add(L.AS_ARRAY, at)
        else:
            self.window(L.ARRAY_VIEW, recipe, (L.NEW, 0), 0)

    def fit(self) -> bool:
        """Are there no more of them than machine code has room for?"""
        return bool(max(self.tensors, len(self.sources)) <= L.MAX_FRESH
                    and len(self.build) // 3 <= L.MAX_OBJECTS)

    def done(self) -> None:
        """Let go of what the results hold alone, or nothing does."""
        for i in self.hidden:
            self.add(L.DROP, i)
        for i in sorted(self.free):
            self.add(L.DROP_ARRAY, i)


def launch(t: Rows, r: Recording, leaves: Leaves) -> Mapping[str, int] | None:
    """The header's words for a recording that is one list of launches; None for others."""
    p = r.program
    if not simple(r):
        return None
    fresh = _fresh(t, p)
    if fresh is None:
        return None
    launches = p.launches_and_views
    steps = Steps(t, r, leaves, fresh, dict(zip(p.outside, r.replay.inputs.sources)))
    try:
        for recipe in (*r.replay.left.recipes, r.replay.result):
            recipe.emit(steps)
        steps.done()
        left = _rows_of_state(t, r.replay.left)
        # the last is the arena
        values = launches.values[:-1] if p.arena else launches.values
        pairs = [steps.array(n) for n in values]
        moving = [word for pair in pairs for word in pair]
        apart = rows_apart(r, values, pairs)
        writes = rows_of_writes(t, r, steps)
        fits = steps.fit() and len(pairs) <= L.MAX_MOVING and len(apart) <= L.MAX_APART
    except (InPython, NotInTable, LookupError):           # the entry of a slot is gone
        fits = False
    if not fits:
        t.forget("keys", "views", "fresh")
        return None
    t["build"].extend(steps.build)
    t["moving"].extend(moving)
    t["sources"].extend(w for source in steps.sources for w in source)
    for name, section in (("left", left), ("apart", apart), ("writes", writes)):
        t[name].extend(w for row in section for w in row)
    return dict(kind=L.LAUNCH, busy=r.lock.at, fresh=len(fresh), moving=len(moving) // 2,
                build=len(steps.build) // 3, left=len(left), apart=len(apart),
                writes=len(writes), sources=len(steps.sources),
                program=machine()[0], list=launches.address, length=launches.words,
                away=int(launches.long), arena=p.arena,
                stopped=C.addressof(p.stopped) if p.checks else 0)


def _fresh(t: Rows, p: Program) -> dict[int, int] | None:
    """Rows for the memory that a call makes: value -> which of them; None where machine code cannot
    make some of it."""
    fresh: dict[int, int] = {}
    for number in p.fresh:
        a = p.arrays[number]
        if not a.contiguous or a.ndim > L.MAX_DIMS:
            return None
        fresh[number] = len(fresh)
        rest = [0] * (L.MAX_DIMS - a.ndim)
        t["fresh"].extend([
            t.id(a.dtype), a.ndim, int(row_major(a)), *a.shape, *rest, *a.strides, *rest])
    return fresh


def _rows_of_state(t: Rows, left: Left) -> list[tuple[int, int, int]]:
    """Rows for the spots in Python's state to which the built objects are written."""
    rows = [spot.write_row(t) for spot, _ in left.effects]
    if any(type(real) is not list for real, _ in left.growths):
        raise InPython
    return rows + [(L.END, t.id(real), 0) for real, grown in left.growths for _ in grown]
