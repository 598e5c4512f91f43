# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Callable

class Future:
    """A value that is set later."""
    def __init__(self, *, devices: Any = None) -> None: ...
    def add_done_callback(self, callback: Callable[[Future], Any]) -> None: """Call a function with this future when it is set."""
    def done(self) -> bool: """Was it set?"""
    def set_exception(self, result: Exception) -> None: """Let those who wait meet an error."""
    def set_result(self, result: Any) -> None: """Set the value, once."""
    def then(self, callback: Callable[[Future], Any]) -> Future: """The future of what a function makes of this one."""
    def value(self) -> Any: """The value, which must be set."""
    def wait(self) -> Any: """The value, once it is set."""
