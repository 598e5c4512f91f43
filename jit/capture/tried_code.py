"""Code that is tried while a run is recorded; see `unreached_code.py`."""
from collections.abc import Callable
from typing import NamedTuple, NoReturn


class TriedCode(NamedTuple):
    """Code that runs on trial: `stop` ends it, for a reason; `first_value` is the number of the
    first value that it makes."""
    stop: Callable[[object], NoReturn]
    first_value: int
