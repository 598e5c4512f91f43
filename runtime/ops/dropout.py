"""Dropout: of elements, of whole channels, and the forms that keep mean and variance."""
from ..autograd.modes import warn
from ..dtypes import FLOAT
from ..ir import scalar as s
from . import docstrings
from .pointwise_family import PointwiseOp, inplace
from .random import draw
from .registry import apply, check_tensors
from .sample_inputs import booleans, reals
from .surface import FUNCTIONS, function

masked_scale_op = PointwiseOp("dropout", lambda input, keep, scale: s.where(keep, input * scale, 0),
                              keep=(1,),
                              samples=(reals(-3, 3), booleans, reals(1, 2, grad=False)),
                              vjp=lambda g, y, x, k, c: [s.where(k, g * c, 0), None, None])


def _check_p(p):
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _no_scale(name, input):
    return RuntimeError(f"{name}: result type Float can't be cast to the desired output type "
                        f"{input.dtype.letter}")


def _drop(input, p, shape, inplace_):
    if input.dtype.category < FLOAT:
        if p not in (0.0, 1.0):
            raise _no_scale("dropout", input)
        return input * int(not p) if not inplace_ else input.mul_(int(not p))
    keep = draw("uniform32", shape, device=input.device) >= p
    scale = 0.0 if p == 1.0 else 1.0 / (1.0 - p)
    return inplace(masked_scale_op, input,
                   (keep, scale)) if inplace_ else apply(masked_scale_op, (input, keep, scale), {})


@function(method=False)
def dropout(input, p=0.5, training=True, inplace=False):
    """Zero elements with probability p and scale the rest by 1 / (1 - p).

    >>> import whet
    >>> import whet.nn.functional as F
    >>> y = F.dropout(whet.ones(100), 0.5)
    >>> set(y.tolist()) <= {0.0, 2.0}
    True
    """
    _check_p(p)
    check_tensors("dropout", input=input)
    if not training or p == 0 and not inplace:
        return input
    return _drop(input, p, input.shape, inplace)


def drop_features(input, p, dims=2, inplace=False):
    """Drop whole slices, each of which has a place in the first dimensions."""
    shape = (*input.shape[:dims], *[1] * (input.ndim - dims))
    return _drop(input, p, shape, inplace)


def _warn_of_dims(n, ndim):
    """Tell of inputs whose dimensions are not those that the name says."""
    if n == 2 and ndim == 3:
        warn("dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D "
             "dropout behavior is desired - input is interpreted as shape (N, C, L), where C is "
             "the channel dim. Use dropout1d instead.", stacklevel=4)
    elif n > 1 and ndim not in (n + 1, n + 2):
        warn(f"dropout{n}d: Received a {ndim}-D input to dropout{n}d, which is deprecated. Use "
             "dropout instead.", stacklevel=4)


def _feature_dropout(n):
    def f(input, p=0.5, training=True, inplace=False):
        _check_p(p)
        check_tensors(f"dropout{n}d", input=input)
        if n == 1 and input.ndim not in (2, 3):
            raise RuntimeError(
                f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input.")
        _warn_of_dims(n, input.ndim)
        if not training:
            return input
        if n == 2 and input.ndim < 2:
            raise RuntimeError(
                "dropout2d: Feature dropout requires at least 2 dimensions in the input")
        # Three dimensions are examples, channels and one more for dropout2d, as in PyTorch.
        return drop_features(input, p, 2 if n == 2 or input.ndim == n + 2 else 1, inplace)

    f.__name__, f.__doc__ = f"dropout{n}d", docstrings.with_example(
        "Zero whole channels with probability p and scale the rest by 1 / (1 - p).",
        f"whet.nn.functional.dropout{n}d(whet.ones(1, 3{', 2' * n})).shape",
        f"whet.Size([1, 3{', 2' * n}])")
    return f


dropout1d, dropout2d, dropout3d = map(_feature_dropout, (1, 2, 3))


def _alpha(input, p, training, inplace, shape):
    _check_p(p)
    if not training or p == 0:
        return input
    if input.dtype.category < FLOAT:
        raise _no_scale("alpha_dropout", input)
    alpha = -1.7580993408473766
    a = ((1 - p) * (1 + p * alpha * alpha)) ** -0.5 if p < 1 else 0.0
    b = -a * alpha * p
    keep = draw("uniform32", shape, device=input.device) >= p
    y = FUNCTIONS["where"](keep, input, alpha) * a + b
    return input.copy_(y) if inplace else y


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps mean and variance of self-normalising networks.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.alpha_dropout(whet.ones(2), 0.5, training=False)
    tensor([1., 1.])
    """
    return _alpha(input, p, training, inplace, input.shape)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """`alpha_dropout` of whole channels.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.feature_alpha_dropout(whet.ones(2), 0.5, training=False)
    tensor([1., 1.])
    """
    return _alpha(input, p, training, inplace, tuple(input.shape[:2]) + (1,) * (input.ndim - 2))
