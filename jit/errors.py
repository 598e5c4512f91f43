"""What a user hears of tracing: a warning, or an error where `strict=True` asks for one."""
import sys
import warnings

from .values.code_origin import ours


class TraceWarning(UserWarning):
    """A traced function runs eagerly, and why."""


class TraceError(RuntimeError):
    """The reason why a traced function would run eagerly. `strict=True` raises it in place of a
    warning."""


def warn(text: str) -> None:
    """Warn of the line in the user's code that makes the call."""
    frame, depth = sys._getframe(0), 1
    while frame.f_back is not None and ours(frame):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(text, TraceWarning, stacklevel=depth)
