"""Why a recording comes to nothing."""
from ..report.reasons import Explained, WritesFirst


class Refused(Explained):
    """Why a run cannot be replayed."""


class Late(Refused):
    """Python reads a number at a `line` where a replay cannot go back any more: it is to be taken as it comes, if it can be."""

    def __init__(self, what, line):
        super().__init__(WritesFirst(what, line))
        self.line = line


class Wrong(Refused):
    """A program was compiled wrongly."""
