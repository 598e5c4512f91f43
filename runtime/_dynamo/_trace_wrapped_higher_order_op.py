"""Where PyTorch's programs find `TransformGetItemToIndex`, which lets masks of attention index by
numbers that `vmap` maps over."""

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex:
    """A block in which `vmap` maps over an index. Here it does so everywhere.

    >>> import whet
    >>> from whet._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
    >>> table = whet.tensor([3, 4, 5])
    >>> with TransformGetItemToIndex():
    ...     whet.vmap(lambda i: table[i])(whet.tensor([2, 0]))
    tensor([5, 3])
    """

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None
