"""C functions that do more than compute, wherever code could have them called unseen.

The watch sees when the user's code calls a C function. It does not see when C does, as
`map`, `sorted(key=)` and the operators of classes do. So code may call such a function by its name
in a module, and nothing else: one that is anywhere else is refused, whether it is called or not.
An attribute that is taken of something else is no reason to (`sys.version_info.major`, where there
is `os.major`), as long as the module is only named where names in it are looked up.
"""
from __future__ import annotations

import builtins
import types
from typing import TYPE_CHECKING, Any

from ..refusals.reasons import Calls, Inspects
from ..stand_ins.replaced_objects import stands
from .allowed_calls import problem_of_call
from .followed_module_names import NamedAttributes
from .probed_functions import array_opens_files_by
from .visitors import Unwatchable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .names_in_code import NamesInCode

TYPES = frozenset((types.BuiltinFunctionType, types.MethodWrapperType))


class FunctionsOfC:
    """The C functions that a walk met, and the names by which code takes something for another
    use than a call."""
    __slots__ = ("values", "of_modules", "owners", "taken", "taken_globals", "texts", "formats",
                 "dates")

    def __init__(self) -> None:
        self.values: list[Any] = []          # what is elsewhere than in a module
        # those in modules: (the module's id, the name, the function)
        self.of_modules: list[tuple[int, str, Any]] = []
        self.owners: list[Any] = []          # objects whose C methods act
        self.taken = NamedAttributes()       # those that code does not just call
        # (id of the globals, name) of those that code does not just call
        self.taken_globals: set[tuple[int, str]] = set()
        self.texts: set[str] = set()         # names in texts, by which code could look others up
        # is text made by forms to which dates give a meaning? were dates met?
        self.formats = self.dates = False

    def copy(self) -> FunctionsOfC:
        """A copy, to go on from."""
        new = FunctionsOfC()
        for name in self.__slots__:
            x = getattr(self, name)
            setattr(new, name, x if type(x) is bool else x.copy())
        return new

    def note_found(self, found: Iterable[Any]) -> None:
        """What was found where its holder may call it."""
        self.values += [x for x in found if type(x) in TYPES]

    def takes_global(self, names_of: dict[str, Any], name: str) -> None:
        """Code with these globals takes one, which may be Python's, for more than a call."""
        held = names_of if name in names_of else vars(builtins)
        self.taken_globals.add((id(held), name))
        self.note_found((held.get(name),))

    def note_in_module(self, m: types.ModuleType, name: str, x: Any) -> None:
        """What a module has by a name."""
        if type(x) in TYPES:
            self.of_modules.append((id(m), name, x))

    def named_in(self, names: NamesInCode, names_of: dict[str, Any]) -> None:
        """What some code does with names. `names_of`: its globals."""
        self.taken.note(names.taken, names.taken_of, names_of)
        self.formats |= names.formats

    def check(self, real: dict[int, Any], looks_up: bool, only_named: set[int]) -> None:
        """Raise where one that acts could be called unseen. `real`: what could have a stand-in, and
        has none, by id; `looks_up`: does code look attributes up by texts? `only_named`: ids of
        modules of which nothing but names in them is taken."""
        taken = self.taken.of_anything
        found = [*self.values, *(
            f for i, name, f in self.of_modules if self.taken.has(i, name, only_named)
            or name in self.texts and i not in only_named)]
        found += [f for x in self.owners for name in taken
                  if type(f := getattr(x, name, None)) in TYPES]
        for f in found:
            if (not stands(f) or id(f) in real) and problem_of_call(f) is not None:
                owner = getattr(f, "__module__", None) or type(f.__self__).__name__
                name = f"{owner}.{f.__name__}"
                raise Unwatchable(Calls(name, holds=True))
        methods = list(filter(array_opens_files_by, taken | self.texts if looks_up else taken))
        if methods:
            raise Unwatchable(Calls(min(methods), holds=True))
        if self.dates and (self.formats or looks_up):
            what = "it makes text by forms" if self.formats else "it looks up names"
            raise Unwatchable(Inspects(f"{what}, and reaches dates, of which some methods tell the "
                                       f"time of this place"))
