"""A number for each dimension, as layers written for PyTorch make them of one number:
`whet.nn.modules.utils`."""
from collections.abc import Iterable
from itertools import repeat

__all__: list = []


def _ntuple(n, name="parse"):
    def parse(x):
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))
    parse.__name__ = name
    return parse


_single, _pair, _triple, _quadruple = (
    _ntuple(n, f"_{name}") for n, name in enumerate(("single", "pair", "triple", "quadruple"), 1))


def _reverse_repeat_tuple(t, n):
    """(1, 2) -> (2, 2, 1, 1): what `F.pad` takes for each dimension's padding."""
    return tuple(x for x in reversed(t) for _ in range(n))
