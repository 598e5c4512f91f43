"""`associative_scan`: what all elements up to each one combine to, in as many steps as their number
has binary digits. Gradients and traces go through its parts."""
from ..func import vmap
from ..ops import cat, stack
from ..tensor import Tensor
from ..utils._pytree import tree_flatten

__all__ = ["associative_scan"]


def associative_scan(combine_fn, xs, dim, reverse=False, combine_mode="pointwise"):
    """`combine_fn(... combine_fn(x0, x1) ..., xi)` for each i along a dimension. The order in which
    neighbours are combined is not that of a loop, so `combine_fn` must be associative.

    >>> import whet
    >>> from whet._higher_order_ops.associative_scan import associative_scan
    >>> associative_scan(lambda a, b: a + b, whet.tensor([1, 2, 3, 4]), dim=0)
    tensor([ 1,  3,  6, 10])

    `xs` may be nested tuples, lists and dicts of tensors. With `combine_mode="generic"`,
    `combine_fn` gets slices without that dimension; "pointwise" ones get many at once. `reverse`
    goes from the last slice to the first.
    """
    parts, form = tree_flatten(xs)
    _check(combine_fn, parts, dim, combine_mode)
    parts = [x.movedim(dim, 0) for x in parts]
    if reverse:
        parts = [x.flip(0) for x in parts]
    of_pairs = vmap(combine_fn) if combine_mode == "generic" else combine_fn

    def combine(left, right):
        made, form_made = tree_flatten(of_pairs(form.unflatten(left), form.unflatten(right)))
        if form_made != form:
            raise RuntimeError("associative_scan: combine_fn must give what xs is like, "
                               f"{form}, but got {form_made}")
        return made
    parts = _scanned(combine, parts)
    if reverse:
        parts = [x.flip(0) for x in parts]
    return form.unflatten([x.movedim(0, dim) for x in parts])


def _check(combine_fn, parts, dim, combine_mode):
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(
            f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    if not parts:
        raise ValueError("Expected at least 1 xs leaf")
    if not all(issubclass(type(x), Tensor) for x in parts):
        raise ValueError("xs leaves must be a Tensor")
    if any(x.ndim == 0 or x.shape[dim] == 0 for x in parts):
        raise ValueError("All xs leaves must at least have 'dim' number of dimensions and scan "
                         "dimension > 0")
    if len({x.shape[dim] for x in parts}) > 1:
        raise ValueError("All xs leaves must have the same scan dimension")


def _scanned(combine, parts):
    """Neighbours are combined, and these pairs scanned: that is every second result. The others are
    each of those combined with the element after it."""
    n = len(parts[0])
    if n < 2:
        return parts
    pairs = combine([x[:-1:2] for x in parts], [x[1::2] for x in parts])
    second = _scanned(combine, pairs)
    first = [x[:1] for x in parts]
    if n > 2:
        before = [y[:-1] for y in second] if n % 2 == 0 else second
        others = combine(before, [x[2::2] for x in parts])
        first = [cat([x, y]) for x, y in zip(first, others)]
    together = [stack([x[:n // 2], y], 1).flatten(0, 1) for x, y in zip(first, second)]
    return [cat([t, x[-1:]]) for t, x in zip(together, first)] if n % 2 else together
