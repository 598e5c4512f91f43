"""Signals: `whet.signal`."""
from . import windows

__all__ = ["windows"]
