"""What NumPy warns of in a run that is recorded."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..report.reasons import OfNumPy
from .repeated_output import warn_of

if TYPE_CHECKING:
    from .recorder import Recorder


class Log:
    """What NumPy has to say."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def write(self, text: str) -> None:
        """A line."""
        self.said.append(text.removeprefix("Warning: ").rstrip())


def warning_here(rec: Recorder, function: Callable[..., Any], args: tuple[Any, ...],
                 kwargs: Mapping[str, Any]) -> Any:
    """What a function gives. Where NumPy warns of the numbers in it, that happens in the user's
    line, and is no recording."""
    log = Log()
    settings: dict[str, Any] = dict(np.geterr())
    if not {"warn", "raise", "ignore"}.issuperset(settings.values()):
        rec.refuse(OfNumPy("NumPy is told to call, print or log where numbers are wrong"))
        return function(*args, **kwargs)
    logging: dict[str, Any] = {
        kind: "log" if way == "warn" else way for kind, way in settings.items()}
    with np.errstate(**logging, call=log):
        made = function(*args, **kwargs)
    if log.said:
        rec.refuse(OfNumPy("NumPy warns of numbers"))
        for message in log.said:
            warn_of(rec.user(), message, RuntimeWarning)
    return made
