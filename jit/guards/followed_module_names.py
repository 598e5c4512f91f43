"""Names in modules by which code goes on to what lies there, and those by which it does not.

Code may only ask whether a dict in a module contains something: `name in sys.modules`. What such a
dict holds is not read, so the walk does not go on to it: from `sys.modules` that would be all that
is loaded. `model.modules()` somewhere else is no reason to, as long as the module `sys` is only
named where names in it are looked up, and so can be nothing that `modules` is asked of there.
"""
from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any, Self

from .container_places import LoadedModules, Names
from .name_places import Global

if TYPE_CHECKING:
    from .outside_walk import Walk


class NamedAttributes:
    """Attributes that code names for some use. `of_anything`: of what may be any object;
    `of_modules`: of modules that it names there, by id."""

    def __init__(self) -> None:
        self.of_anything: set[str] = set()
        self.of_modules: set[tuple[int, str]] = set()

    def copy(self) -> Self:
        """These names, to add others to."""
        new = type(self)()
        for name, x in vars(self).items():
            setattr(new, name, x.copy())
        return new

    def note(self, of_anything: set[str], of_globals: set[tuple[str, str]],
             names_of: dict[str, Any]) -> None:
        """More of them: (global, attribute), and others. `names_of`: the globals of the code."""
        self.of_anything |= of_anything
        for name, attribute in of_globals:
            x = names_of.get(name)
            if type(x) is types.ModuleType:
                self.of_modules.add((id(x), attribute))
            else:
                self.of_anything.add(attribute)

    def of_module(self, m: types.ModuleType) -> set[str]:
        """Those of a module that code names there."""
        return {name for i, name in self.of_modules if i == id(m)}

    def has(self, module: int, name: str, only_named: set[int]) -> bool:
        """Could a module, of this id, be what such a name is used of? `only_named`: ids of modules
        of which nothing but names in them is taken."""
        return (module, name) in self.of_modules or (
            name in self.of_anything and module not in only_named)


class EnteredNames(NamedAttributes):
    """Attributes that code goes on to. `only_named`: ids of modules of which nothing but names in
    them is taken."""

    def __init__(self) -> None:
        super().__init__()
        self.only_named: set[int] = set()


def look_into(walk: Walk, x: Any) -> None:
    """The walk has come to something of which some code only takes attributes: a module?"""
    if type(x) is types.ModuleType and walk.stack and walk.stack[-1] is x:
        walk.stack.pop()
        if id(x) not in walk.seen:
            walk.visit(x)
            walk.entered.only_named.add(id(x))


def leave_out(walk: Walk, m: types.ModuleType, new: set[str], done: set[str]) -> set[str]:
    """Of some names in a module those that the walk goes on to. Of dicts by other names only the
    keys are compared."""
    held, wanted = vars(m), new
    for name in new:
        x, noted = held[name], f"in {name}"
        if type(x) is not dict or walk.entered.has(id(m), name, walk.entered.only_named):
            continue
        if noted not in done and all(type(k) is str for k in x):
            walk.places += Global(held, name), LoadedModules() if x is sys.modules else Names(x)
            done.add(noted)
        if noted in done:
            wanted = wanted - {name}
    return wanted
