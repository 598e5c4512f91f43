"""Small programs, each a row of the table in `docs/replays.md` of what replays and what does not.

`ROWS`: what a program shows -> (the function that builds it, a part of the warning if it is not
replayed). See `test_replays.py`.
"""
from . import arguments_and_draws, numbers_that_decide, numpy_arrays, python_state, refused
from .row import ROWS

__all__ = ["ROWS", "arguments_and_draws", "numbers_that_decide", "numpy_arrays", "python_state",
           "refused"]
