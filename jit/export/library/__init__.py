"""An exported function as a native library: a plain C interface, and nothing of Python behind it.

Input: an `Exported`. Sizes that differ from call to call have bounds.
Output: an object file or a library, and a header.
Fails: where the graph has what only NumPy or Python does, with the ops and the user's lines;
    where sizes within the bounds are too many, or want too many lists; where nothing on this
    machine links, with the command.

targets.py         the systems and levels of processors that there are
worker.py          a process of its own for each level, which writes the level's kernels
level_program.py   in it: the graph's launches as plain data, weights packed already
sized_level.py     the same for sizes that differ: words are expressions of them
two_runs.py        the two runs from which these are planned
programs_within_bounds.py  few such programs, of which each size has one
data.py            lists, tables, names and messages of all levels as IR text; constants, each once
model_code.py      the functions of the interface as IR text, with run_code.py, context_code.py,
                   query_code.py, processor.py; plan_code.py and size_code.py make a context ready
                   for some sizes; code_parts.py is what these share
layout.py          what they keep in memory, and the codes that they give
header.py          the same for C
compile.py         all of it in order; linker.py makes a library of the object file
"""

from .compile import compile_library

__all__ = ["compile_library"]
