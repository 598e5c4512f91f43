"""What the framework says of its own code, for a tracer to know: which code it has written at run
time, which modules only compute, and which of their functions change what a tensor is nevertheless.

What names of files and modules are like says nothing.
"""
from collections.abc import Callable
from types import CodeType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
Names = dict[str, Any]

GENERATED: dict[int, Names] = {}         # namespaces of code written at run time, by id
# those of modules that only compute, and of packages of such
COMPUTING: dict[int, Names] = {}
ACTING: set[CodeType] = set()            # code of functions that do more


def run(code: CodeType, names: Names, scope: Names | None = None) -> Names:
    """Run code that we have written, in a namespace of its own, which it gives back. `scope`: where
    it puts what it defines, if not there.

    >>> from whet import declarations
    >>> declarations.run(compile("b = a + 1", "<whet>", "exec"), {"a": 1})["b"]
    2
    """
    GENERATED[id(names)] = names
    exec(code, names, scope)
    return names


def only_computes(names: Names) -> None:
    """The functions of a module, or of the modules of a package, compute, and read and change
    nothing but objects that they are given. `names`: its globals."""
    COMPUTING[id(names)] = names


def acts(function: F) -> F:
    """A function of such a module changes what a tensor is, or has gradients computed."""
    ACTING.add(function.__code__)
    return function
