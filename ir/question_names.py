"""Names for the questions that a recording asks of values. A question is a function inside one of
whet's own functions, with the values of its closure.

    whet.ops.embedding:_check_rows.<locals>.check

A name leads to the code that the module was loaded from. Nothing is imported or run to find it.
"""
from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

# modules whose names in archives of earlier versions are others than now
RENAMED = {"whet.ops.counts": "whet.ops.random_counts"}


class Unknown(LookupError):
    """There is no such question."""


@functools.lru_cache(None)
def _codes(module: str) -> dict[str, types.CodeType]:
    """The code of a loaded module's functions, by name: qualified, with #1, #2... for later ones
    of the same name."""
    loaded = sys.modules.get(module)
    loader: Any = getattr(getattr(loaded, "__spec__", None), "loader", None)
    if not module.startswith("whet.") or not hasattr(loader, "get_code"):
        raise Unknown(f"{module} is no module of whet that is loaded")
    out: dict[str, types.CodeType] = {}
    stack: list[types.CodeType] = [loader.get_code(module)]
    while stack:
        code = stack.pop()
        inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
        stack += inner
        for c in inner:
            name, k = c.co_qualname, 0
            while name in out:
                k += 1
                name = f"{c.co_qualname}#{k}"
            out[name] = c
    return out


def name_of(fn: Callable[..., Any]) -> tuple[str, dict[str, Any], tuple[Any, ...]]:
    """(name, what it closed over as a dict, its defaults) of a question."""
    module = getattr(fn, "__module__", None)
    if type(fn) is not types.FunctionType or not isinstance(module, str) or fn.__kwdefaults__:
        raise Unknown(f"{fn!r} is no plain function")
    for name, code in _codes(module).items():
        if code == fn.__code__:
            cells = {k: c.cell_contents for k, c in zip(code.co_freevars, fn.__closure__ or ())}
            return f"{module}:{name}", cells, fn.__defaults__ or ()
    raise Unknown(f"{fn.__qualname__} is not in the source of {module}")


def find(name: str, cells: Mapping[str, Any], defaults: Iterable[Any]) -> Callable[..., Any]:
    """The question of a name."""
    defaults = tuple(defaults)
    module, _, path = name.partition(":")
    module = RENAMED.get(module, module)
    code = _codes(module).get(path)
    if code is None:
        raise Unknown(f"{module} has no function {path}")
    if set(cells) != set(code.co_freevars) or len(defaults) > code.co_argcount:
        wanted, cell_names = (", ".join(names) or "nothing" for names in (code.co_freevars, cells))
        raise Unknown(f"{name} closes over {wanted}, not {cell_names}")
    closure = tuple(types.CellType(cells[k]) for k in code.co_freevars)
    return types.FunctionType(code, vars(sys.modules[module]), code.co_name, defaults or None,
                              closure)
