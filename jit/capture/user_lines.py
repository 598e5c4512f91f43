"""The current line of the user's code."""
import functools
import os
import sys
import types

from ..values.code_origin import origin_of, ours

_basename = functools.lru_cache(256)(os.path.basename)   # each recorded node has its line


def user() -> types.FrameType | None:
    """The user's current frame, or that of a library that works for the user."""
    f: types.FrameType | None = sys._getframe(1)
    while f is not None and ours(f):
        f = f.f_back
    return f


def where() -> str:
    """The user's current line, which is neither ours nor the standard library's."""
    f: types.FrameType | None = sys._getframe(1)
    while f is not None and (origin := origin_of(f.f_globals)) and not origin.is_of_a_library:
        f = f.f_back
    return "" if f is None else f"{_basename(f.f_code.co_filename)}:{f.f_lineno}"
