"""Where code, functions and classes come from: ours, the standard library's, or the user's."""
import functools
import os
import sys
import types
from typing import Any

HEAP = 1 << 9                    # a flag of types: made by a class statement
# functions of C that only compute: by name, and by module
PURE = frozenset("""
    len isinstance issubclass getattr hasattr setattr delattr abs min max sum any all sorted iter
    next callable divmod pow round chr ord format repr ascii bin hex oct __build_class__ id globals vars
    """.split())
MODULES = frozenset(("math", "cmath", "operator", "_operator", "itertools", "_functools",
                     "_collections", "_abc", "_struct", "_bisect", "_heapq"))
LIBRARY = os.path.dirname(os.__file__)


def ours(code: types.CodeType) -> bool:
    """Is this code the framework's own?"""
    return our_file(code.co_filename)


@functools.lru_cache(4096)
def our_file(filename: str) -> bool:
    if filename == "<whet>":
        return True
    path = os.path.abspath(filename)
    return any(path.startswith(f) for f in _folders())


@functools.lru_cache(None)
def _folders() -> tuple[str, ...]:
    import whet
    import whet.ir
    import whet.jit
    import whet.passes
    packages = whet, whet.ir, whet.jit, whet.passes
    return tuple(os.path.dirname(os.path.abspath(str(m.__file__))) + os.sep for m in packages)


def is_ours(v: Any) -> bool:
    """Is what a class or module of ours holds really ours, or plain?"""
    f = v.fget if type(v) is property else getattr(v, "__func__", v) \
        if type(v) in (staticmethod, classmethod) else v
    if type(f) is types.FunctionType:
        return ours(f.__code__) or f.__code__.co_filename.startswith("<")
    return type(f) is not functools.partial \
        and (isinstance(f, type) or standard(module_of(type(f))))


def module_of(x: Any) -> str:
    """The name of the module that a function or class is from.

    Some classes of C keep something else there, for their instances."""
    m = getattr(x, "__module__", None)
    if type(m) is not str:
        return "builtins"
    if isinstance(x, type) and x.__flags__ & HEAP and standard(m) and not m.startswith("whet"):
        found: Any = sys.modules.get(m)
        for name in x.__qualname__.split("."):
            found = getattr(found, name, None)
        return m if found is x else ""       # anybody can write any name there
    return m


def standard(module: str) -> bool:
    """Is a module, by its name, Python's own, NumPy or ours: nothing that users change?"""
    top = module.partition(".")[0]
    return top in sys.stdlib_module_names and top != "__main__" \
        or top in ("numpy", "ml_dtypes", "whet")


def computes(module: str, name: str) -> bool:
    """Is a function of C, by its module and name, one that only computes?"""
    return module == "builtins" and name in PURE or module in MODULES \
        or module.partition(".")[0] in ("numpy", "whet") and name != "fromfile"


def foreign(t: type) -> bool:
    """Is a type neither the user's nor one of Python's containers?"""
    return standard(module_of(t)) and t.__module__ not in ("builtins", "collections")
