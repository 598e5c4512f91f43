"""Kernels over single elements: each element of a result is computed alone.

Input: expressions and how they are walked (`ir/kernel.py`), or which elements move.
Output: a kernel whose work unit is a range of elements, or a block of them.

    pointwise.py          expressions over elements; `operands.py` reads and writes these
    many_tensors.py       the same over many tensors side by side
    optimizer_steps.py    one step of an optimizer on many tensors
    gather.py             elements at places that an index names
    combine_at_places.py  elements put or combined there
    axis_taps.py          weighted sums along one dimension, for resizing
    grid_sampling.py      weighted sums at given places of planes
    neighbour_steps.py    steps of rows whose elements go on from their neighbours
"""
from __future__ import annotations
