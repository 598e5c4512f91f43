"""What may be another value at each call that one recording serves."""
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Variation:
    """What a run lets vary. `loose`: the keys of places in Python's state whose numbers and tensors
    may be others; `items`: numbers that Python asks tensors for; `sizes`: sizes that Python
    reads, which are followed to where they go; `extremes`: what min() and max() make of them."""
    loose: frozenset[Any] = frozenset()
    items: bool = False
    sizes: bool = False
    extremes: bool = False
