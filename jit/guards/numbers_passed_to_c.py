"""C functions and types that take numbers of Python's own alone: could code within reach give
one of them another?"""
from __future__ import annotations

import collections
from collections.abc import Set
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from ..values.code_origin import origin_of_what
from . import allowed_calls as known
from .bytecode import Instruction, call_arguments, instructions, is_called
from .called_by_name import LOADING, calls_can_be_read, is_of_self, spots_of_calls
from .name_places import Attribute, Cell, Global
from .names_in_code import TAKING
from .probed_functions import wants_pythons_numbers

if TYPE_CHECKING:
    from .outside_walk import Walk
    from .spots import Spot

READING = LOADING | {"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"}
READING_CELLS = frozenset(("__closure__", "cell_contents"))


class NumberArguments(NamedTuple):
    """The arguments of a callable that must be numbers of Python's own: by position, and by name;
    None for those of any name."""
    positions: Set[int]
    names: Set[str] | None

    def has(self, argument: int | str) -> bool:
        """Is this one of them?"""
        if isinstance(argument, int):
            return argument in self.positions
        return self.names is None or argument in self.names


def calls_with_plain_numbers(walk: Walk) -> list[tuple[Any, Spot]] | None:
    """Those that a walk has met and that could get something that stands for a number, each with
    a spot where code finds what calls it in its place; None if one could get it all the same."""
    asks_classes = "__class__" in walk.met_code.attributes
    types_met = set(map(type, walk.seen.values())) if asks_classes else ()
    if any(map(constructor_wants_numbers, types_met)):
        return None
    calls: list[tuple[Any, Spot]] = []
    for f in (*walk.callables.never_recorded.values(), *(
            f for f in walk.callables.want_numbers.values()
            if _may_get_one(walk, f, NumberArguments(wants_pythons_numbers(f), None)))):
        spots = spots_of_calls(walk, f)
        if not spots:
            return None
        calls += [(f, spot) for spot in spots]
    return calls


def constructor_wants_numbers(c: type) -> bool:
    """Does a class, or one that it is a kind of, take numbers of Python's own alone?"""
    return any(known.can_be_asked(b, origin) and bool(wants_pythons_numbers(b))
               for b in c.__mro__ if (origin := origin_of_what(b)) is not None)


def _may_get_one(walk: Walk, f: Any, wanted: NumberArguments, by_constructors: bool = True) -> bool:
    """Code that finds one by its name in a module, or in an enclosing function, can be read; from
    elsewhere anybody may call it. `by_constructors`: is it followed what constructors are given?"""
    found = [(p, i) for p in walk.places for i, x in enumerate(p.objects) if x is f]
    named = {p.name_of(i) for p, i in found if type(p) is Global}
    if cells := {id(p.owner) for p, _ in found if type(p) is Cell}:
        named |= _names_of_cells(walk, cells)
    if id(f) in walk.callables.in_no_place or not all(_can_be_read(walk, p) for p, _ in found):
        return True
    return any(
        _gives_numbers(walk, code, named, wanted, by_constructors) for code in walk.met_code.all)


def _names_of_cells(walk: Walk, cells: Set[int]) -> set[str]:
    """By which names functions read these variables of enclosing functions."""
    return {name for x in walk.seen.values() if type(x) is FunctionType
            for name, cell in zip(x.__code__.co_freevars, x.__closure__ or ()) if id(cell) in cells}


def _can_be_read(walk: Walk, p: Any) -> bool:
    """Can code be read for all calls of what is in this place, which may be a variable of an
    enclosing function, unless some code reads these as objects?"""
    if type(p) is Cell:
        return not READING_CELLS & walk.met_code.attributes
    return calls_can_be_read(p)


def _gives_numbers(walk: Walk, code: CodeType, named: Set[str], wanted: NumberArguments,
                   by_constructors: bool) -> bool:
    """Could some code, which finds a callable by one of these names, give it a number that is no
    constant, or have others do that?"""
    found = list(instructions(code))
    for i, (kind, _, value) in enumerate(found):
        if kind in READING and value in named and not is_of_self(walk, code, found[i - 1]) \
                and not _is_factory(walk, found, i):
            call = call_arguments(found, i) if is_called(found, i) else None
            if call is None or not all(
                    x is not None and (x[0] == "LOAD_CONST" or by_constructors
                                       and _is_passed(walk, code, found, x))
                    for k, x in call.items() if wanted.has(k)):
                return True
    return False


def _is_factory(walk: Walk, found: list[Instruction], i: int) -> bool:
    """Does instruction i load what `defaultdict(f)` is given, which calls it without arguments?"""
    name, before = "defaultdict", found[i - 1]
    is_named = before[2] == name and (before[0] == "LOAD_GLOBAL" or before[0] in TAKING and
                                      found[i - 2][::2] == ("LOAD_GLOBAL", "collections"))
    has_one_argument = is_called(found, i - 1) and len(call_arguments(found, i - 1) or ()) == 1
    return is_named and has_one_argument and all(
        x is collections.defaultdict for p in walk.places
        if type(p) in (Global, Attribute) for k, x in enumerate(p.objects) if p.name_of(k) == name)


def _is_passed(walk: Walk, code: CodeType, found: list[Instruction], x: Instruction) -> bool:
    """Is this an argument of a user constructor, that never gets such a number?"""
    arguments = code.co_varnames[1:code.co_argcount]
    if code.co_name != "__init__" or x[0] != "LOAD_FAST" or x[2] not in arguments \
            or {"__init__", "__class__"} & walk.met_code.attributes \
            or any(name == "STORE_FAST" and value == x[2] for name, _, value in found):
        return False
    wanted = NumberArguments({arguments.index(x[2])}, {x[2]})
    classes = [c for c in walk.seen.values() if isinstance(c, type)]
    made = [c for c in classes if getattr(getattr(c, "__init__", None), "__code__", None) is code]
    # `super().__init__` of a subclass calls it, too
    return not any(_may_get_one(walk, c, wanted, by_constructors=False) for c in made) \
        and not any(c is not base and base in c.__mro__ for base in made for c in classes)
