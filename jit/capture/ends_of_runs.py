"""What the end of a recorded run needs: contexts in which it is concluded, and steps that are taken
whatever happens."""
import gc
from contextlib import AbstractContextManager
from typing import Any

from ..refusals.reasons import Large
from ..refusals.recording_errors import Refused


class Uncollected:
    """A context in which the garbage collector is off: what is made inside stays."""
    __slots__ = ("collecting",)

    def __enter__(self) -> None:
        self.collecting = gc.isenabled()
        gc.disable()

    def __exit__(self, *exc: Any) -> None:
        if self.collecting:
            gc.enable()


class RefusedWithoutMemory(AbstractContextManager[None]):
    """A context in which a program is made. If memory is too short for that, the call counts as an
    eager one."""
    __slots__ = ()

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if kind is not None and issubclass(kind, MemoryError):
            said = str(error) or "there is too little memory to make a program of it"
            raise Refused(Large(said)) from None


def surely(*steps: Any) -> None:
    """Run each step. A step that an interrupt ends is run once more, and the following steps are
    not skipped. The interrupt is raised afterwards."""
    error = None
    for step in steps:
        for _ in range(2):
            try:
                step()
                break
            except BaseException as e:
                error = e
    if error is not None:
        raise error
