"""An exported function as a native library: a plain C interface, and nothing of Python behind it.

Comes in: an `Exported`, whose graph is for sizes that are known.
Goes out: an object file or a library, and a header.
Gives up: where the graph has what only NumPy or Python does, with the ops and the user's lines;
    where sizes differ from call to call; where nothing on this machine links, with the command.

targets.py         the systems and levels of processors that there are
worker.py          a process of its own for each level, which writes the level's kernels
level_program.py   in it: the graph's launches as plain data, weights packed already
data.py            lists, tables, names and messages of all levels as IR text; constants, each once
model_code.py        the functions of the interface as IR text, with run_code.py, context_code.py,
                     tell_code.py, processor.py; code_parts.py is what these share
layout.py          what they keep in memory, and the codes that they give
header.py          the same for C
compile.py         all of it in order; linker.py makes a library of the object file
"""

from .compile import compile_library

__all__ = ["compile_library"]
