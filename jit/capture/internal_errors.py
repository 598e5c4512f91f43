"""Internal errors after the user's function has run: the call keeps its result, and the function
runs eagerly from then on, with a warning."""
from __future__ import annotations

import os
import traceback

from ..errors import TraceError
from ..refusals.reasons import Reason


class Faults:
    """What happens to internal errors. `are_raised`: raise them, as tests want."""
    are_raised = False


faults = Faults()


def is_raised(error: Exception) -> bool:
    """Should the user see an error that occurred while a recording was made? Errors of strict mode
    are meant for the user. So are errors of earlier work on a device."""
    return (faults.are_raised or isinstance(error, TraceError)
            or getattr(error, "is_of_earlier_work", False))


class Fault(Reason):
    """The reason that an internal error is."""
    instead = "Please report it with the function. Results and effects are eager's."

    @classmethod
    def raised(cls, error: Exception) -> Fault:
        """The reason that such an error is."""
        last = traceback.extract_tb(error.__traceback__)[-1]
        return cls(f"making a recording of it raised {type(error).__name__}: {error}",
                   f"{os.path.basename(last.filename)}:{last.lineno}")
