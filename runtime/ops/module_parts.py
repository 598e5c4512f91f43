"""What PyTorch's own modules are made of, under the names that it has for it."""
from .. import declared_for_tracing
from ..dtypes import FLOAT
from . import convolutions, dropout
from .dims import one
from .pools import max_pool
from .random import draw
from .surface import FUNCTIONS, function
from .vector_norm import vector_norm


@function(method=False)
def norm_except_dim(v, pow=2, dim=0):
    """The norm of each slice along a dimension, which stay dimensions of size 1; of all elements
    where `dim` is -1.

    >>> import whet
    >>> whet.norm_except_dim(whet.tensor([[3., 4.], [6., 8.]]))
    tensor([[ 5.],
            [10.]])
    """
    if dim == -1:
        return vector_norm(v, pow)
    at = one(dim, v.ndim)
    return vector_norm(v, pow, tuple([d for d in range(v.ndim) if d != at]), True)


@function(method=False)
def _weight_norm(v, g, dim=0):
    """`v` with `g` as the norms of its slices along a dimension."""
    return v * (g / norm_except_dim(v, 2, dim))


@function(method=False)
def native_dropout(input, p, train):
    """(`dropout`, a mask of the elements that stay). All stay if `train` is False; None is True.

    >>> import whet
    >>> whet.native_dropout(whet.ones(2), 0.5, False)
    (tensor([1., 1.]), tensor([True, True]))
    """
    if train is False or p == 0:
        return input.clone(), FUNCTIONS["ones_like"](input, dtype=bool)
    if input.dtype.category < FLOAT:
        raise RuntimeError("result type Float can't be cast to the desired output type "
                           f"{input.dtype.letter}")
    keep = draw("uniform32", input.shape, device=input.device) >= p
    return input * keep * (0.0 if p == 1 else 1 / (1 - p)), keep


@function(method=False)
def feature_dropout(input, p, train):
    """Zero whole channels with probability p and scale the rest by 1 / (1 - p).

    >>> import whet
    >>> whet.feature_dropout(whet.ones(1, 2, 2), 0.5, False).sum()
    tensor(4.)
    """
    if input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    if not train or p == 0:
        return input
    return dropout.drop_features(input, p)


@function(method=False)
def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """A convolution, transposed or not, of as many dimensions as the weight has beside channels.

    >>> import whet
    >>> one = whet.ones(1, 1, 3)
    >>> whet.convolution(one, whet.ones(1, 1, 2), None, [1], [0], [1], False, [0], 1)
    tensor([[[2., 2.]]])
    """
    n = weight.ndim - 2
    if transposed:
        return convolutions.transposed("convolution", n, input, weight, bias, stride, padding,
                                       output_padding, groups, dilation)
    return convolutions.convolution(
        "convolution", n, input, weight, bias, stride, padding, dilation, groups)


@function(method=False)
def max_pool1d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1,
                            ceil_mode=False):
    """(`max_pool1d`, the places of the maxima).

    >>> import whet
    >>> whet.max_pool1d_with_indices(whet.tensor([[1., 3., 2., 0.]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    return max_pool(input, kernel_size, stride, padding, dilation, ceil_mode, True, 1)


@function(method=False)
def detach_(input):
    """Take a tensor's history from it.

    >>> import whet
    >>> x = whet.ones(2, requires_grad=True) * 2
    >>> whet.detach_(x).requires_grad
    False
    """
    return input.detach_()


@function(method=False)
@declared_for_tracing.goes_by_no_size
def get_device(input):
    """The number of the device that a tensor lies on; -1 for the CPU.

    >>> import whet
    >>> whet.get_device(whet.ones(1))
    -1
    """
    return input.get_device()
