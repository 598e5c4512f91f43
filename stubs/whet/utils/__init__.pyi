# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any
from whet.utils import data as data
from whet.utils import checkpoint as checkpoint
from whet.utils import hooks as hooks


def set_module(obj: Any, mod: str) -> None: """Say that an object is of another module, which messages then name."""
