"""NumPy's warnings in a run that is recorded."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..refusals.reasons import OfNumPy
from .repeated_output import warn_of

if TYPE_CHECKING:
    from ..capture.recorder import Recorder


class Log:
    """Receives what NumPy writes to its error log."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def write(self, text: str) -> None:
        """Add a line."""
        self.said.append(text.removeprefix("Warning: ").rstrip())


def warning_here(rec: Recorder, function: Callable[..., Any], args: tuple[Any, ...],
                 kwargs: Mapping[str, Any]) -> Any:
    """Call a function. If NumPy warns about its numbers, the warning appears at the user's line,
    and the run is not recorded."""
    log = Log()
    settings: dict[str, Any] = dict(np.geterr())
    if not {"warn", "raise", "ignore"}.issuperset(settings.values()):
        rec.refuse(OfNumPy("NumPy is set to call, print or log where numbers are wrong"))
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
