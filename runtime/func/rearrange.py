"""`rearrange`: moves, splits and joins dimensions by a pattern of names."""
import math
import re
from typing import Any

from ..ops import stack
from ..tensor import Tensor

_PART = re.compile(r"\(|\)|\.\.\.|\w+")


def rearrange(tensor, pattern, **axes_lengths):
    """A tensor with its dimensions as a pattern says: `"b c h w -> b (c h) w"` joins two of them.

    Dimensions have names. What stands in brackets is one dimension, made of several; all sizes of
    it but one must be known, from `axes_lengths` for instance. `...` stands for any number of
    dimensions, and 1 for one of that size. Of several tensors the first dimension counts them.

    >>> import whet
    >>> whet.func.rearrange(whet.arange(6), "(rows columns) -> columns rows", rows=2)
    tensor([[0, 3],
            [1, 4],
            [2, 5]])
    """
    x: Any = tensor if isinstance(tensor, Tensor) else stack(list(tensor))
    left, right = _sides(pattern)
    left, right = _with_dots_named(left, right, x.ndim, pattern)
    if len(left) != x.ndim:
        raise ValueError(
            f"rearrange: the pattern {pattern!r} has {len(left)} dimensions on its left, the "
            f"tensor has {x.ndim}")
    _check_names(left, right, axes_lengths, pattern)
    sizes: dict[str, int] = {}
    for group, size in zip(left, x.shape):
        sizes |= _sizes(group, size, axes_lengths, pattern)
    names = [name for group in left for name in group]
    order = [names.index(name) for group in right for name in group]
    split = x.reshape([sizes[name] for name in names])
    return split.permute(order).reshape([math.prod(sizes[n] for n in group) for group in right])


def _sides(pattern):
    """The dimensions on both sides of a pattern, each a list of names."""
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError(f"rearrange: expected a pattern such as 'a b -> b a', got {pattern!r}")
    return [_groups(side, pattern) for side in sides]


def _groups(side, pattern):
    """The names of each dimension of a side; None where `...` stands for dimensions."""
    found: list[list[str] | None] = []
    inside: list[str] | None = None
    if _PART.sub("", side).strip():
        raise ValueError(f"rearrange: what is no name stands in {pattern!r}")
    for part in _PART.findall(side):
        if part == "(" and inside is None:
            inside = []
        elif part == ")" and inside is not None:
            found.append(inside)
            inside = None
        elif part in ("(", ")"):
            raise ValueError(f"rearrange: brackets do not match in {pattern!r}")
        elif part == "..." and inside is None:
            found.append(None)
        elif part.isidentifier() or part in ("1", "..."):
            names = [] if part == "1" else [part]
            if inside is None:
                found.append(names)
            else:
                inside.extend(names)
        else:
            raise ValueError(f"rearrange: {part!r} is no name of a dimension in {pattern!r}")
    if inside is not None:
        raise ValueError(f"rearrange: brackets do not match in {pattern!r}")
    return found


def _with_dots_named(left, right, ndim, pattern):
    """Both sides with names of their own for the dimensions that `...` stands for."""
    is_joined = any(group is not None and "..." in group for group in left)
    is_wanted = any(group is None or "..." in group for group in right)
    if is_joined or is_wanted and None not in left:
        raise ValueError(f"rearrange: '...' must stand on the left of {pattern!r}, alone")
    names = [f"...{i}" for i in range(ndim - len(left) + 1)] if None in left else []

    def named(groups):
        made = []
        for group in groups:
            if group is None:
                made += [[name] for name in names]
            else:
                made.append([n for name in group for n in (names if name == "..." else [name])])
        return made
    return named(left), named(right)


def _check_names(left, right, lengths, pattern):
    """Each name once on both sides, and no length of another."""
    first, second = ([name for group in groups for name in group] for groups in (left, right))
    for names in (first, second):
        if len(set(names)) != len(names):
            raise ValueError(f"rearrange: a name stands twice on a side of {pattern!r}")
    if set(first) != set(second):
        raise ValueError(
            f"rearrange: {sorted(set(first) ^ set(second))} stand on one side of {pattern!r} alone")
    unknown = sorted(set(lengths) - set(first))
    if unknown:
        raise ValueError(f"rearrange: {unknown} have lengths and are not in {pattern!r}")


def _sizes(group, size, lengths, pattern):
    """The size of each name of a dimension."""
    known = {name: lengths[name] for name in group if name in lengths}
    open_names = [name for name in group if name not in known]
    made = math.prod(known.values())
    if len(open_names) > 1:
        raise ValueError(
            f"rearrange: the lengths of {open_names} in {pattern!r} cannot be inferred")
    if open_names and made and size % made == 0:
        return known | {open_names[0]: size // made}
    if open_names or made != size:
        raise ValueError(f"rearrange: a dimension of size {size} cannot be {group} of {pattern!r} "
                         f"with the lengths {known}")
    return known
