"""The errors that end a recording without a result."""
from .reasons import Explained, Reason


class Refused(Explained):
    """A run cannot be replayed, for a reason."""


class Wrong(Refused):
    """A program gives other bits than the run."""


class NoElements(Reason):
    """The reason that a run uses tensors on `meta`."""
    instead = "Trace it where it is given tensors with elements."

    def __init__(self) -> None:
        super().__init__("it works with tensors on 'meta', which have no elements to compute")
