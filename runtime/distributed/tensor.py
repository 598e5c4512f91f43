"""What programs ask of tensors that are spread over processes by their name,
`whet.distributed.tensor`. There are none: a group has one process."""

__all__ = ["DTensor"]


class DTensor:
    """The class of tensors that are spread over processes. Nothing is one here.

    >>> import whet
    >>> from whet.distributed.tensor import DTensor
    >>> isinstance(whet.ones(2), DTensor)
    False
    """

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(
            "whet.distributed.tensor is not supported: a group has one process, which has all of "
            "a tensor")
