"""Repeats writing, warning and logging on behalf of a line of the user's code."""
import functools
import io
import logging
import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any, TypeAlias

from ..values.code_origin import origin_of, origin_of_what, ours

Line: TypeAlias = tuple[str, int, dict[str, Any]]         # a file, a line of it, and its globals

METHODS = ("write", "writelines", "flush")      # by which streams are written to


def is_pythons_own(x: object) -> bool:
    """Is this a stream or handler of a class of Python's own?"""
    if x is not None and not isinstance(x, io.IOBase | logging.Handler):
        return False
    for name in METHODS if isinstance(x, io.IOBase) else ("handle", "emit", "format", "filter"):
        method = getattr(type(x), name, None)
        if isinstance(method, types.FunctionType) and origin_of(method.__globals__) is None:
            return False
    return (not (isinstance(x, logging.Handler) and
                 (x.filters or type(x.formatter) not in (type(None), logging.Formatter))))


def handlers_of(logger: logging.Logger | None) -> Iterator[logging.Handler]:
    """The handlers that a message to a logger reaches."""
    while logger is not None:
        yield from logger.handlers
        logger = logger.parent if logger.propagate else None


def shows_warnings_plainly() -> bool:
    """Are the functions that show warnings Python's own?"""
    return all(
        origin_of_what(show) is not None
        for show in (warnings.showwarning, getattr(warnings, "_showwarnmsg_impl", None)))


def frame_above(frame: types.FrameType | None, left: int) -> types.FrameType | None:
    """The frame that called the framework, or one this many frames above it."""
    while frame is not None and ours(frame):
        frame = frame.f_back
    while left and frame is not None:
        frame, left = frame.f_back, left - 1
    return frame


def line_at(frame: types.FrameType | None) -> Line:
    """The file, the line and the globals of a frame."""
    return (("sys", 1, vars(sys)) if frame is None else
            (frame.f_code.co_filename, frame.f_lineno, frame.f_globals))


def warn_at(where: Line | None, left: int, message: Warning | str, category: type[Warning]) -> None:
    """Warn of a line; if `where` is None, of the line this many frames above the traced
    function."""
    file, line, names = where or line_at(frame_above(sys._getframe(1), left))
    registry = names.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, category, file, line, names.get("__name__", "<string>"),
                           registry)


def is_warning(act: Any) -> bool:
    """Does an act of `outside_calls` warn, and nothing else?"""
    return type(act) is functools.partial and act.func is warn_at


def warn_of(frame: types.FrameType | None, message: str, category: type[Warning]) -> None:
    """Warn of the line of a frame."""
    warn_at(line_at(frame), 0, message, category)


def log_at(logger: logging.Logger, level: int, where: tuple[str, int, str], msg: object,
           *args: Any) -> None:
    """Log as the recorded line would."""
    if logger is logging.root and not logger.handlers:
        logging.basicConfig()
    if logger.isEnabledFor(level):
        logger.handle(
            logger.makeRecord(logger.name, level, where[0], where[1], msg, args, None, where[2]))
