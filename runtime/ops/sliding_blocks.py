"""Sliding blocks of images as columns, and back."""
import math

from ..size_arguments import tuple_of
from .convolutions import positive
from .pools import fold_op, unfold_op, with_batch
from .registry import apply


def _blocks(name, kernel, dilation, padding, stride):
    """The attributes of sliding blocks."""
    for what, v in (("kernel_size", kernel), ("dilation", dilation), ("padding", padding),
                    ("stride", stride)):
        if isinstance(v, list | tuple) and len(v) != 2:
            raise RuntimeError(
                f"{name}: It is expected {what} equals to 2, but got size {len(v)}")
    at = {
        k: tuple_of(v, 2, name, k)
        for k, v in dict(kernel=kernel, dilation=dilation, padding=padding, stride=stride).items()}
    positive(name, kernel_size=at["kernel"], dilation=at["dilation"], stride=at["stride"])
    if min(at["padding"]) < 0:
        raise RuntimeError(f"{name}: padding should be non-negative, but got {at['padding']}")
    return at


def _block_counts(size, at):
    """How many blocks an image has along each axis."""
    return [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, d, p, s in zip(size, at["kernel"], at["dilation"], at["padding"], at["stride"])]


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Sliding blocks as columns: (N, C * block, L).

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.unfold(whet.ones(1, 3, 4, 4), kernel_size=2).shape
    whet.Size([1, 12, 9])
    """
    x, batched = with_batch("unfold", input, 2)
    at = _blocks("unfold", kernel_size, dilation, padding, stride)
    count = _block_counts(x.shape[2:], at)
    if min(count) < 1:
        raise RuntimeError(
            f"Given input with spatial size {tuple(x.shape[2:])}, kernel_size={at['kernel']}, "
            f"dilation={at['dilation']}, "
            f"padding={at['padding']}, calculated shape of the array of sliding blocks as "
            f"{tuple(count)}, but its components must be at least one.")
    y = apply(unfold_op, (x,), at)
    return y if batched else y.squeeze(0)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Sum columns of sliding blocks back into an image.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.fold(whet.ones(1, 4, 4), (3, 3), kernel_size=2)
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """
    x, batched = with_batch("fold", input, 1)
    at = _blocks("fold", kernel_size, dilation, padding, stride)
    size = tuple_of(output_size, 2, "fold", "output_size")
    counts = _block_counts(size, at)
    if min(counts) < 1 or x.shape[1] % math.prod(at["kernel"]) or x.shape[2] != math.prod(counts):
        raise RuntimeError(
            f"fold: expected input's sizes (N, C * {math.prod(at['kernel'])}, "
            f"{' * '.join(map(str, counts))}) for output_size={size}, "
            f"kernel_size={at['kernel']}, dilation={at['dilation']}, padding={at['padding']}, "
            f"stride={at['stride']}, got {tuple(input.shape)}")
    y = apply(fold_op, (x,), dict(output_size=size, **at))
    return y if batched else y.squeeze(0)
