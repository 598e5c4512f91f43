"""Small datasets that need no network: data that installed packages ship, and data that is made.

    from whet.datasets import Digits
    from whet.utils.data import DataLoader
    for images, labels in DataLoader(Digits(), batch_size=64, shuffle=True): ...

Each is a `utils.data.Dataset` whose tensors are there at once, so that whole batches are indexed.
A package is imported when its data are asked for; where it is missing, the error names it. All that
is drawn comes from a seed of its own, and leaves the streams of random numbers alone.
"""
from .images import Digits, DigitSequences, Patches, Photographs
from .synthetic import Sines, Spirals
from .tables import Table
from .text import Characters, Words, docstrings, sources

__all__ = ["Characters", "DigitSequences", "Digits", "Patches", "Photographs", "Sines", "Spirals",
           "Table", "Words", "docstrings", "sources"]
