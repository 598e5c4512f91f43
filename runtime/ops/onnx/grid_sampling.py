"""What sums over taps are in ONNX: the `onnx` of ops in grid_sampling.py."""


def _inside(b, place, size):
    """(places of elements that there are, which of them were meant)"""
    place = b.cast(place, "i64")
    zero = b.number(0, "i64")
    inside = b.And(b.GreaterOrEqual(place, zero), b.Less(place, b.number(size, "i64")))
    return b.Where(inside, place, zero), inside


def _on_planes(b, x, like):
    """What is said of places, for each plane."""
    return b.Expand(b.unsqueeze(x, (len(like) - 2,)), b.ints(like))


def _picked(b, x, place):
    """(elements of planes at places, which of them there are)"""
    at, inside = _inside(b, place, x.shape[-1])
    shape = (*x.shape[:-1], place.shape[-1])
    got = b.GatherElements(x, _on_planes(b, at, shape), axis=x.ndim - 1)
    return got, _on_planes(b, inside, shape)


def sums(b, x, *rest, taps):
    """The op `tap_sums`."""
    total = None
    for t in range(taps):
        part, inside = _picked(b, x, rest[t])
        if len(rest) > taps:
            part = b.Mul(part, b.unsqueeze(rest[taps + t], (x.ndim - 2,)))
        part = b.Where(inside, part, b.number(0, x.dtype))
        total = part if total is None else b.Add(total, part)
    return total


def products(b, x, g, *places):
    """The op `tap_products`."""
    made = []
    for place in places:
        got, inside = _picked(b, x, place)
        got = b.Mul(g, b.Where(inside, got, b.number(0, x.dtype)))
        made.append(b.ReduceSum(got, b.ints((x.ndim - 2,)), keepdims=0))
    return tuple(made)


def spread(b, g, *rest, taps, size):
    """The op `tap_spread`."""
    total = b.Expand(b.number(0, g.dtype), b.ints((*g.shape[:-1], size)))
    for t in range(taps):
        at, inside = _inside(b, rest[t], size)
        part = g if len(rest) == taps else b.Mul(
            g, b.unsqueeze(rest[taps + t], (g.ndim - 2,)))
        part = b.Where(_on_planes(b, inside, g.shape), part, b.number(0, g.dtype))
        total = b.ScatterElements(total, _on_planes(b, at, g.shape), part, axis=g.ndim - 1,
                                  reduction="add")
    return total
