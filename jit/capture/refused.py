"""Why a recording comes to nothing."""
from ..report.reasons import Explained


class Refused(Explained):
    """Why a run cannot be replayed."""


class Wrong(Refused):
    """A program was compiled wrongly."""
