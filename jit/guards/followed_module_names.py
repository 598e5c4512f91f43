"""Decides which names in a module the walk over what a function can reach follows.

Code may only ask whether a dict in a module contains something: `name in sys.modules`. It does not
read what the dict holds, so the walk does not follow the name. `sys.modules` would lead it to all
that is loaded. Nor is `model.modules()` in other code a reason to follow `sys.modules`. If code
names the module `sys` only to look up names in it, `model` cannot be `sys`.
"""
from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

from ..values.code_origin import origin_of
from .container_places import LoadedModules, Names
from .name_places import AbsentNames, Global

if TYPE_CHECKING:
    from .names_in_code import NamesInCode
    from .outside_walk import Walk


class NamedAttributes:
    """Attributes that code names. `of_modules`: (id of the module, attribute), where the code names
    the module, too. `of_anything`: attributes of what may be any object."""

    def __init__(self) -> None:
        self.of_anything: set[str] = set()
        self.of_modules: set[tuple[int, str]] = set()

    def copy(self) -> Self:
        """A copy of these names, to which others can be added."""
        new = type(self)()
        for name, x in vars(self).items():
            setattr(new, name, x.copy())
        return new

    def note(self, of_anything: set[str], of_globals: set[tuple[str, str]],
             names_of: dict[str, Any]) -> None:
        """Add attributes, those `of_globals` as (global, attribute). `names_of`: the globals of the
        code."""
        self.of_anything |= of_anything
        for name, attribute in of_globals:
            x = names_of.get(name)
            if type(x) is types.ModuleType:
                self.of_modules.add((id(x), attribute))
            else:
                self.of_anything.add(attribute)

    def of_module(self, m: types.ModuleType) -> set[str]:
        """The attributes of a module that code names together with it."""
        return {name for i, name in self.of_modules if i == id(m)}

    def has(self, module: int, name: str, only_named: set[int]) -> bool:
        """Could code take attribute `name` of the module with this id? `only_named`: ids of modules
        that code names only to look up names in them."""
        return (module, name) in self.of_modules or (
            name in self.of_anything and module not in only_named)


class AskedNames(NamedAttributes):
    """Attributes that code asks for by a text, of something that may not have them."""

    def note_asked(self, asked: set[tuple[str | None, str]], names_of: dict[str, Any]) -> None:
        """Add (global, or None for what may be anything; attribute). `names_of`: the globals of the
        code."""
        for name, attribute in asked:
            if name is None:
                self.of_anything.add(attribute)
            elif type(x := names_of.get(name)) is types.ModuleType:
                self.of_modules.add((id(x), attribute))


class MetModules:
    """The modules that a walk met, and which names code uses in them. `by_id`: each module, and the
    names already followed in it. `only_named`: ids of modules that code names only to look up names
    in them. `entered`: attributes whose contents code reads. `named`: those that code names
    together with the module. `asked`: those that it asks for by a text."""

    def __init__(self) -> None:
        self.by_id: dict[int, tuple[types.ModuleType, set[str]]] = {}
        self.only_named: set[int] = set()
        self.entered, self.named, self.asked = NamedAttributes(), NamedAttributes(), AskedNames()

    def copy(self) -> Self:
        """A copy, to go on from."""
        new = type(self)()
        new.by_id = {i: (m, done.copy()) for i, (m, done) in self.by_id.items()}
        new.only_named, new.entered = self.only_named.copy(), self.entered.copy()
        new.named, new.asked = self.named.copy(), self.asked.copy()
        return new

    def __iter__(self) -> Iterator[types.ModuleType]:
        return (m for m, _ in self.by_id.values())

    def add(self, m: types.ModuleType) -> None:
        """A module was met, in which no name was followed yet."""
        self.by_id[id(m)] = m, set()

    def note(self, names: NamesInCode, names_of: dict[str, Any]) -> None:
        """Add what some code does with names in modules. `names_of`: its globals."""
        self.entered.note(names.entered, names.entered_of, names_of)
        self.named.note(set(), names.named_of, names_of)
        self.asked.note_asked(names.asked, names_of)


def visit_module_by_names(walk: Walk, x: Any) -> None:
    """Code only takes attributes of the object that the walk has just met. If that is a module,
    visit it, and note that."""
    if type(x) is types.ModuleType and walk.stack and walk.stack[-1] is x:
        walk.stack.pop()
        if id(x) not in walk.seen:
            walk.visit(x)
            walk.modules.only_named.add(id(x))


def names_to_follow(walk: Walk, m: types.ModuleType, new: set[str], done: set[str]) -> set[str]:
    """Which of the `new` names in a module the walk follows. Of a dict under another name only the
    keys are compared."""
    held, wanted = vars(m), new
    for name in new:
        x, noted = held[name], f"in {name}"
        if type(x) is not dict or walk.modules.entered.has(id(m), name, walk.modules.only_named):
            continue
        if noted not in done and all(type(k) is str for k in x):
            walk.places += Global(held, name), LoadedModules() if x is sys.modules else Names(x)
            done.add(noted)
        if noted in done:
            wanted = wanted - {name}
    return wanted


def absent_names(walk: Walk) -> list[AbsentNames]:
    """Names that code asks modules for, and that these do not have. The user's modules may be asked
    for any attribute that code names. Others are asked for those that code names together with the
    module, or by a text."""
    places = []
    for m in walk.modules:
        if origin_of(vars(m)) is None:
            names = walk.met_code.attributes
        else:
            names = walk.modules.named.of_module(m) | walk.modules.asked.of_module(m)
            if id(m) not in walk.modules.only_named:
                names |= walk.modules.asked.of_anything
            if names <= vars(m).keys():
                continue
        places.append(AbsentNames(vars(m), frozenset(names - vars(m).keys())))
    return places
