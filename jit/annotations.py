"""Types with which PyTorch's scripts annotate arguments: `whet.jit.annotations`."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035  (names of this module)

__all__ = ["Any", "Dict", "List", "Optional", "Tuple", "Union",
           *(f"BroadcastingList{n}" for n in range(1, 7))]


class BroadcastingList:
    """`BroadcastingList2[int]`: a number that stands for two, or a list of them.

    >>> from whet.jit.annotations import BroadcastingList2
    >>> def pad(x, by: BroadcastingList2[int] = 0):
    ...     return x
    >>> pad(1)
    1
    """

    def __class_getitem__(cls, kind: Any) -> Any:
        return kind | list[kind]


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingList
BroadcastingList4 = BroadcastingList5 = BroadcastingList6 = BroadcastingList
