"""The command `whet`: what is in an archive, and running, checking, timing,
showing and compiling it."""

from .main import main

__all__ = ["main"]
