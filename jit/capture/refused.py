"""Why a recording comes to nothing."""
from ..report.reasons import Explained, Reason


class Refused(Explained):
    """Why a run cannot be replayed."""


class Wrong(Refused):
    """A program was compiled wrongly."""


class NoElements(Reason):
    """It works with tensors on `meta`."""
    instead = "Trace it where it is given tensors with elements."

    def __init__(self) -> None:
        super().__init__("it works with tensors on 'meta', which have no elements to compute")
