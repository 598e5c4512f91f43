"""The command `whet`: what is in an archive, and running, checking, timing and showing it."""

from .main import main

__all__ = ["main"]
