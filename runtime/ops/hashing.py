"""A number that tells tensors apart."""
from .. import dtypes
from .dims import one
from .surface import function


@function(out=True)
def hash_tensor(input, dim=(), *, keepdim=False, mode=0):
    """The exclusive or of the bits of all elements, as 64-bit numbers, along dimensions.

    >>> import whet
    >>> whet.hash_tensor(whet.tensor([1, 2, 4]))
    tensor(7, dtype=whet.uint64)
    """
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if input.dtype.category > dtypes.FLOAT or input.dtype is dtypes.uint64:
        raise NotImplementedError(
            f"\"xor_sum\" not implemented for '{input.dtype.letter}'")
    dims = [one(d, input.ndim) for d in ((dim,) if isinstance(dim, int) else dim or ())]
    dims = sorted(dims or range(input.ndim)) if input.ndim else []
    for d in dims:
        if input.shape[d] == 0:
            raise IndexError(f"hash_tensor: Expected reduction dim {d} to have non-zero size.")
    is_real = input.dtype.category == dtypes.FLOAT
    wide = input.detach().to(dtypes.float64 if is_real else dtypes.int64)
    bits = wide.view(dtypes.int64)
    for d in reversed(dims):
        bits = _folded(bits, d) if keepdim else _folded(bits, d).squeeze(d)
    return bits.view(dtypes.uint64)


def _folded(bits, dim):
    """The exclusive or along a dimension, which stays: one half with the other, as often as there
    are halves."""
    while (size := bits.shape[dim]) > 1:
        half = size // 2
        both = bits.narrow(dim, 0, half) ^ bits.narrow(dim, half, half)
        if size % 2:
            first = both.narrow(dim, 0, 1) ^ bits.narrow(dim, size - 1, 1)
            both = first if half == 1 else _with_first(both, first, dim)
        bits = both
    return bits


def _with_first(rows, first, dim):
    from .join import cat
    return cat([first, rows.narrow(dim, 1, rows.shape[dim] - 1)], dim)
