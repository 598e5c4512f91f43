"""Datapipes: datasets that are made of each other, `source.map(f).shuffle().batch(4)`.

`pipes.py` has what a datapipe is, `iter` those that are streams, `map` those with indices, and
`validation.py` what can be asked of them.
"""
from . import iter, map  # noqa: A004

__all__ = ["iter", "map"]
