"""Lists to which the bytecode of a function only appends, such as a history or a log. Recordings do
not compare their contents, even if the recorded run did not execute the line that appends.

This is a guess, because a list may have two names. During a run a stand-in is in its place, which
notices reads (see `stand_ins/state_during_a_run.py`). A list that was read is compared from then
on."""
import functools
import types
from collections.abc import Iterator
from typing import Any

from .bytecode import instructions, is_called
from .container_places import GROWS
from .outside_state import World
from .visitors_of_callables import variables

APPENDING = frozenset(("append", "extend"))
LOADING = frozenset(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_ATTR", "LOAD_METHOD"))
ENTRIES = frozenset(("BINARY_SUBSCR", "BINARY_OP"))      # the latter from 3.14 on


def appended_lists(world: World) -> frozenset[tuple[int, None]]:
    """The lists and deques of a world that its code names only to append to them, as the keys of
    lists that grow (see `VaryingSpots`)."""
    uses = [of for code in world.codes for of in uses_of_names(code)]
    names = {name for name, appends in uses if appends}
    names -= {name for name, appends in uses if not appends}
    if not names:
        return frozenset()
    return frozenset((id(x), None) for name, x in _named(world)
                     if type(x) in GROWS and type(name) is str and name in names)


def _named(world: World) -> Iterator[tuple[Any, Any]]:
    """The contents of the places of a world, and in variables of enclosing functions, by names."""
    for place in world.places:
        for i, x in enumerate(place.objects):
            if type(x) in GROWS:
                yield place.name_of(i), x
    for x in world.seen.values():
        if type(x) is types.FunctionType:
            yield from variables(x).items()


@functools.lru_cache(4096)
def uses_of_names(code: types.CodeType) -> frozenset[tuple[str, bool]]:
    """The names of variables, attributes and entries that some code loads, with whether it does so
    to append to what is there.

    >>> from whet.jit.guards.appended_lists import uses_of_names
    >>> def step(self, loss):
    ...     self.losses.append(loss)
    ...     history["steps"].append(len(self.times))
    >>> sorted(uses_of_names(step.__code__))[1:]
    [('len', False), ('losses', True), ('steps', True), ('times', False)]
    """
    found, uses = list(instructions(code)), set()
    for i, (name, _, value) in enumerate(found):
        if name in ENTRIES and found[i - 1][0] == "LOAD_CONST":
            value = found[i - 1][2]
        elif name not in LOADING:
            continue
        if type(value) is str and value not in APPENDING:
            uses.add((value, _appends(found, i + 1)))
    return frozenset(uses)


def _appends(found: list[Any], i: int) -> bool:
    """Is this instruction the one that takes a method to append with?"""
    return i < len(found) and found[i][2] in APPENDING \
        and found[i][0] in ("LOAD_ATTR", "LOAD_METHOD") and is_called(found, i)
