"""The user's lines, and the modules, that led to an op."""
import functools
import importlib.util
import os
import sys
from types import FrameType


@functools.lru_cache(None)
def _folders():
    """Where the code of whet lies."""
    found = []
    for name in ("whet", "whet.jit", "whet.ir", "whet.passes"):
        spec = importlib.util.find_spec(name)
        found += [os.path.join(p, "") for p in (spec and spec.submodule_search_locations) or ()]
    return tuple(found)


class _Ours(dict):
    """Is a file of whet's? By file: to look up a code object takes as long as it is."""

    def __missing__(self, file):
        # what is made at run time has no file
        self[file] = found = file.startswith(("<whet>", *_folders()))
        return found


_ours = _Ours()


def is_users(code):
    """Is some code the user's, rather than whet's?"""
    return not _ours[code.co_filename]


def line_of(code, instruction):
    """The line of an instruction: `train.py(31): step`."""
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= instruction < end:
            line = number or line
            break
    return f"{os.path.relpath(code.co_filename)}({line}): {code.co_name}" if (
        code.co_filename[:1] != "<") else f"{code.co_filename}({line}): {code.co_name}"


class Frames:
    """Notes where the user's code is. A frame is noted as (code, instruction), and its line is
    looked up when somebody asks. `stack`: all user frames; `modules`: the modules whose
    `forward` is running."""

    def __init__(self, stack, modules):
        self.stack, self.modules = stack, modules
        self.call = None
        if modules:
            from ..nn import Module
            self.call = Module.__call__.__code__

        self.all = stack or modules

    def user(self):
        """Where the user's code is: (code, instruction) of the innermost frame. Where more is
        wanted: (the frames, the innermost first; the modules, likewise)."""
        f: FrameType | None = sys._getframe(2)
        if self.all:
            return self.everything(f)
        while f is not None and not is_users(f.f_code):
            f = f.f_back
        return (None, None) if f is None else (f.f_code, f.f_lasti)

    def everything(self, f):
        """All user frames, or the innermost, and the modules."""
        lines, modules = [], []
        while f is not None:
            code = f.f_code
            if code is self.call:
                modules.append(type(f.f_locals["self"]).__name__)
            if is_users(code):
                lines.append((code, f.f_lasti))
            f = f.f_back
        return tuple(lines if self.stack else lines[:1]), tuple(modules)


def place(code, at):
    """What `Frames.user` gave, as (lines, the innermost first; modules)."""
    if code is None or type(code) is str:    # a line that a trace knows as text
        return [code] if code else [], []
    frames, modules = (code, at) if type(code) is tuple else (((code, at),), ())
    return [line_of(*frame) for frame in frames], list(modules)
