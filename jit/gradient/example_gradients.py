"""The gradients with which a backward is recorded and compared."""
from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from whet.tensor_base import wrap


def beside(t: Any, numbers: Any) -> Any:
    """Numbers as a tensor of another one's type, on the same device."""
    made = wrap(numbers.astype(t._array.dtype))
    return made if t.is_cpu else made.to(t.device)


def unlike(shapes: Iterable[tuple[int, ...]]) -> Iterator[Any]:
    """Numbers from 0.5 to 1.5 for arrays of these shapes: no two are alike.

    >>> from whet.jit.gradient.example_gradients import unlike
    >>> [a.round(2).tolist() for a in unlike([(2,), (1, 2)])]
    [[0.5, 1.12], [[0.74, 1.35]]]
    """
    golden = (math.sqrt(5) - 1) / 2          # the remainders of its multiples are far apart
    begin = 0
    for shape in shapes:
        end = begin + math.prod(shape)
        yield (0.5 + np.arange(begin, end) * golden % 1.0).reshape(shape)
        begin = end
