"""Modules for kernels: with tests of each access to memory where `WHET_CHECK=2` asks for them."""
from __future__ import annotations

from . import targets
from .builder import Module


def new_module(brief: bool = False) -> Module:
    """An empty module. A `brief` one is for code that is small rather than fast."""
    if targets.CHECKED:
        from .access_checks import CheckedModule
        return CheckedModule(brief)
    return Module(brief)
