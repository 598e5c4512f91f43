"""Datapipes: datasets that are made of each other, `source.map(f).shuffle().batch(4)`.

`pipes.py` has what a datapipe is, `iter` those that are streams, and `map` those with indices.
Both are built of the classes in `combining.py` and `shuffling.py`. `validation.py` has what can be
asked of datapipes.
"""
from . import iter, map  # noqa: A004

__all__ = ["iter", "map"]
