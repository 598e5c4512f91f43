"""Views in place: they change only what a tensor says of its memory."""
from . import dims
from .changes_in_place import reshape_inplace
from .surface import method
from .view import squeeze_op, squeezed_dims, transpose_op, unsqueeze_op


@method()
def squeeze_(self, dim=None):
    """`squeeze`, in place.

    >>> import whet
    >>> whet.ones(1, 2).squeeze_().shape
    whet.Size([2])
    """
    return reshape_inplace(squeeze_op, self, {"dim": squeezed_dims(self, dim)})


@method()
def unsqueeze_(self, dim):
    """`unsqueeze`, in place.

    >>> import whet
    >>> whet.ones(2).unsqueeze_(0).shape
    whet.Size([1, 2])
    """
    return reshape_inplace(unsqueeze_op, self, {"dim": dims.one(dim, self._array.ndim + 1)})


@method("swapdims_")
def transpose_(self, dim0, dim1):
    """`transpose`, in place.

    >>> import whet
    >>> whet.ones(2, 3).transpose_(0, 1).shape
    whet.Size([3, 2])
    """
    n = self._array.ndim
    dim0, dim1 = dims.one(dim0, n), dims.one(dim1, n)
    return reshape_inplace(transpose_op, self, {"dim0": dim0, "dim1": dim1}) if n else self


@method()
def swapaxes_(self, axis0, axis1):
    """`swapaxes`, in place.

    >>> import whet
    >>> whet.ones(2, 3).swapaxes_(0, 1).shape
    whet.Size([3, 2])
    """
    return transpose_(self, axis0, axis1)


@method()
def t_(self):
    """`t`, in place.

    >>> import whet
    >>> whet.ones(2, 3).t_().shape
    whet.Size([3, 2])
    """
    if self._array.ndim > 2:
        raise RuntimeError(
            f"t_() expects a tensor with <= 2 dimensions, but self is {self._array.ndim}D")
    return transpose_(self, 0, self._array.ndim - 1 if self._array.ndim else 0)


