"""The statements of Python files, and the imports among them."""
import ast
import functools
import gc
import pathlib
from collections.abc import Iterator
from typing import NamedTuple


class Import(NamedTuple):
    """A statement that imports."""
    module: str | None          # `b` of `from b import c`; None of `import a` and `from . import c`
    names: tuple[str, ...]
    level: int | None           # how many dots; None of `import a`
    in_function: bool
    for_types_alone: bool       # under `if TYPE_CHECKING:`, which no program runs


def below(node: ast.AST) -> Iterator[ast.AST]:
    """Each statement below a node. None stands in an expression, and expressions are nine tenths
    of a tree."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):
            yield child
            yield from below(child)


@functools.cache
def imports(path: pathlib.Path) -> tuple[Import, ...]:
    """All imports in a file, which is read once."""
    return tuple(_imports(tree(path.read_text()), False, False))


def tree(text: str) -> ast.Module:
    """The tree of a text. Collecting garbage meanwhile would go through all that tests have
    imported, and find nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(text)
    finally:
        if enabled:
            gc.enable()


def _imports(node: ast.AST, in_function: bool, for_types: bool) -> Iterator[Import]:
    in_function = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    checked = node.body if isinstance(node, ast.If) and _names_types(node.test) else []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            at = (getattr(child, "module", None), tuple(a.name for a in child.names),
                  getattr(child, "level", None))
            yield Import(*at, in_function, for_types or child in checked)
        elif not isinstance(child, ast.expr):
            yield from _imports(child, in_function, for_types or child in checked)


def _names_types(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"
