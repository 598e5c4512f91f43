"""Checking and normalising `dim` arguments."""
import operator


def one(dim, ndim, name=None):
    """A dimension as an index >= 0."""
    try:
        d = operator.index(dim)
    except TypeError:
        raise TypeError(
            f"{name or 'op'}(): argument 'dim' must be int, not {dim.__class__.__name__}") from None
    n = ndim or 1
    if not -n <= d < n:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
    return d + n if d < 0 else d


def many(dim, ndim, name=None, none_if_empty=True):
    """Dimensions as a sorted tuple of indices >= 0; None where all are meant."""
    if dim is None:
        return None
    if not isinstance(dim, tuple | list):
        d = one(dim, ndim, name)
        return (d,) if ndim else None
    dims = tuple([one(d, ndim, name) for d in dim])
    if len(set(dims)) != len(dims):
        twice = next(d for d in dims if dims.count(d) > 1)
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    if not dims and none_if_empty or not ndim:
        return None
    return tuple(sorted(dims))


def with_ones(shape, dims):
    """The shape with the reduced dimensions (None: all) as 1."""
    return tuple(1 if dims is None or i in dims else s for i, s in enumerate(shape))


def count(shape, dims):
    """How many elements go into one result."""
    n = 1
    for i, s in enumerate(shape):
        if dims is None or i in dims:
            n *= s
    return n
