"""Names of a module that are loaded when they are asked for, and that `dir()` knows before."""
from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from . import declared_for_tracing

NONE: Mapping[str, str] = {}


def lazy_names(module: str, modules: Mapping[str, str] = NONE, members: Mapping[str, str] = NONE,
               otherwise: Callable[[str], Any] = lambda name: None, is_quick: bool = False,
               ) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and the `__dir__` of a module.

    `modules`: paths of modules, relative to this one, by the names under which it offers them.
    `members`: by the names of functions and classes, the path of the module that defines each.
    `otherwise`: finds a name that is in neither, and that `dir()` need not list; or gives None.
    `is_quick`: do members stay in the module, where the next look finds them?
    """
    def missing(name: str) -> AttributeError:
        return AttributeError(f"module {module!r} has no attribute {name!r}")

    @declared_for_tracing.goes_by_no_size
    def __getattr__(name: str) -> Any:
        if name in modules:
            try:
                return importlib.import_module("." + modules[name], module)
            except ModuleNotFoundError as error:
                if error.name == f"{module}.{name}":
                    raise missing(name) from None
                raise
        if name in members:
            found = getattr(importlib.import_module("." + members[name], module), name)
            if is_quick:
                setattr(sys.modules[module], name, found)
            return found
        found = otherwise(name)
        if found is None:
            raise missing(name)
        return found

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[module]), *modules, *members})

    return __getattr__, __dir__
