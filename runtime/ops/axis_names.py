"""Names of the array API standard and of NumPy that say `axis`, beside PyTorch's that say `dim`."""
from .gather import take_along_dim
from .split import unbind
from .surface import function
from .view import permute, transpose


@function(method=False)
def permute_dims(x, axes):
    """`permute`, as the array API standard has it.

    >>> import whet
    >>> whet.permute_dims(whet.zeros(2, 3, 4), (2, 0, 1)).shape
    whet.Size([4, 2, 3])
    """
    return permute(x, axes)


@function(method=False)
def swapaxes(input, axis0, axis1):
    """`transpose`, with NumPy's names.

    >>> import whet
    >>> whet.swapaxes(whet.zeros(2, 3, 4), 0, 2).shape
    whet.Size([4, 3, 2])
    """
    return transpose(input, axis0, axis1)


@function(method=False)
def matrix_transpose(x):
    """The last two dimensions exchanged, as the array API standard has it.

    >>> import whet
    >>> whet.matrix_transpose(whet.zeros(2, 3, 4)).shape
    whet.Size([2, 4, 3])
    """
    return x.mT


@function(method=False)
def take_along_axis(x, indices, /, *, axis=-1):
    """`take_along_dim`, as the array API standard has it.

    >>> import whet
    >>> x = whet.tensor([[3, 1, 2], [4, 6, 5]])
    >>> whet.take_along_axis(x, x.argsort())
    tensor([[1, 2, 3],
            [4, 5, 6]])
    """
    return take_along_dim(x, indices, axis)


@function(method=False)
def unstack(x, *, axis=0):
    """`unbind`, as the array API standard has it.

    >>> import whet
    >>> whet.unstack(whet.tensor([[1, 2], [3, 4]]), axis=1)
    (tensor([1, 3]), tensor([2, 4]))
    """
    return unbind(x, axis)
