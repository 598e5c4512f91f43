"""What the frame of a call tells."""
import inspect
import os
import types
from typing import Any

STARS = inspect.CO_VARARGS, inspect.CO_VARKEYWORDS
WRAPPING = sum(STARS)


def arguments_of(frame: types.FrameType) -> list[Any]:
    """The arguments of a call that begins."""
    code, held = frame.f_code, frame.f_locals
    named = code.co_argcount + code.co_kwonlyargcount
    stars = sum(bool(code.co_flags & star) for star in STARS)
    found = [held[name] for name in code.co_varnames[:named] if name in held]
    for name in code.co_varnames[named:named + stars]:
        more = held.get(name, ())
        found += more.values() if type(more) is dict else more
    return found


def line_of(code: types.CodeType, line: int) -> str:
    """A line of a file, in short."""
    return f"{os.path.basename(code.co_filename)}:{line}"
