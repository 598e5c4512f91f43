"""The line of the user's code that runs now."""
import functools
import os
import sys
import types

from ..guards.origin import origin_of, ours

_basename = functools.lru_cache(256)(os.path.basename)   # each recorded node has its line


def user() -> types.FrameType | None:
    """The user's frame that runs now, or that of a library which works for him."""
    f: types.FrameType | None = sys._getframe(1)
    while f is not None and ours(f):
        f = f.f_back
    return f


def where() -> str:
    """The user's line that runs now: neither ours nor the standard library's."""
    f: types.FrameType | None = sys._getframe(1)
    while f is not None and (origin := origin_of(f.f_globals)) and not origin.is_of_a_library:
        f = f.f_back
    return "" if f is None else f"{_basename(f.f_code.co_filename)}:{f.f_lineno}"
