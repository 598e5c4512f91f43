# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any

class SymInt:
    """The type of no number: an `int` stands for every size."""
    def __init__(self, *args: Any) -> None: ...

class SymBool(SymInt):
    """The type of no truth value."""

class SymFloat(SymInt):
    """The type of no number."""
