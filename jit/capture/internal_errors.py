"""Errors of our own, which come after the user's function has run: the call keeps its result, and
the function runs eagerly from then on, with a warning."""
from __future__ import annotations

import os
import traceback

from ..errors import TraceError
from ..report.reasons import Reason


class Faults:
    """How they are met. `are_raised`: tests want to see them."""
    are_raised = False


faults = Faults()


def is_raised(error: Exception) -> bool:
    """Is the user to get an error that making a recording met? What a strict function is told is
    meant for him, and an error of work that a device was given earlier is his."""
    return (faults.are_raised or isinstance(error, TraceError)
            or getattr(error, "is_of_earlier_work", False))


class Fault(Reason):
    """An error in making a recording."""
    instead = "Please report it with the function. Results and effects are eager's."

    @classmethod
    def raised(cls, error: Exception) -> Fault:
        """The reason that such an error is."""
        last = traceback.extract_tb(error.__traceback__)[-1]
        return cls(f"making a recording of it raised {type(error).__name__}: {error}",
                   f"{os.path.basename(last.filename)}:{last.lineno}")
