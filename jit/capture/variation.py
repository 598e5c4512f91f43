"""What may be another value at each call that one recording serves."""
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Variation:
    """What a run lets vary."""
    # the keys of places in Python's state whose numbers and tensors may be others
    loose: frozenset[Any] = frozenset()
    items: bool = False                      # numbers that Python asks tensors for
    sizes: bool = False                      # sizes that Python reads: their uses are followed
    extremes: bool = False                   # what min() and max() make of such sizes
