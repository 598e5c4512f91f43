"""Functions as graphs of their own, for inference: `whet.export` and what it gives.

Input: a function and example arguments. Output: a callable graph, which can be saved.
A function that does more than compute is an error.

recording.py       one run is recorded, and held to more than a trace
describe_trees.py  arguments and results become trees: tree_structure.py, signature.py
simplify.py        the run becomes a graph: constants are named and folded, rewrites done
dims.py            sizes that differ: one graph, by sized_export.py and sized_graph.py
automatic_dims.py  which sizes may differ, where that is left open
size_formulas.py   sizes that are divided, as texts; found by sizes_of_values.py
compiled.py        the graph becomes a program, by the builder that traces use
exported.py        all of it, as a callable; its method `compile` makes a library
library/           native libraries; it imports sizes, layouts and errors from here, nothing else
"""

import sys
import types
from typing import Any

from .errors import ArchiveError, ExportError, PreconditionError
from .export import export
from .exported import Exported


class _Package(types.ModuleType):
    """A package that is a mark for a script compiler, too: `@jit.export`."""

    def __call__(self, fn: Any) -> Any:
        """The function itself."""
        return fn


sys.modules[__name__].__class__ = _Package

__all__ = ["ArchiveError", "ExportError", "Exported", "PreconditionError", "export"]
