"""The command `whet`: what is in an archive, and running, checking, timing, showing and compiling
it.

Input: the words after `whet`. `main.py` has them all, and each has a file of its name.
Output: text, files, and an exit code: 0, 1 where something is wrong, 2 for words that it does not
know.
"""

from .main import main

__all__ = ["main"]
