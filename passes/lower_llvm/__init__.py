"""Kernels of `ir/`, calls and lists of launches as LLVM IR text, and that text as machine code.

Input: a kernel as data, with a name for it. Output: the text of a function, or machine code.
Where a type or a primitive has no code it raises `scalar.Unsupported`, and NumPy computes instead.

`builder.py` is what all generators write with. `scalar.py` turns expressions into straight code.
`vmath/` has the functions of one number. `targets.py` says what the processor can do, `compile.py`
makes machine code. Each folder is a family of kernels, but for `calls/`: that is how kernels are
reached.

A generator reads as the loop nest that it writes, so a few names are short everywhere:

    f, g      the function that is written (`builder.Fn`); helpers that write into it
    m, mod    the module that it is in (`builder.Module`)
    t         a tile (`window_tiles.Tile`), or the name of a type
    W, lanes  how many elements a vector has
    u         the unit of work that a loop over a thread's part is at
    x, y, w   the operands as the op's formula has them

`docs/kernels.md` has the conventions that every kernel follows.
"""
from __future__ import annotations

