"""Filling parameters with their first values. Every function changes its tensor in place, unseen
by autograd, and returns it."""
import contextlib
import contextvars
import functools
import inspect
import math

import whet

from .. import declared_for_tracing as _declared_for_tracing
from ..autograd import modes
from ..ops.argument_guards import guard as _guard
from ..ops.docstrings import of_variant as _of_variant
from ..ops.registry import check_tensors as _check_tensors

# set where modules are made whose first values will not be read
_left_out = contextvars.ContextVar("left out", default=False)


@contextlib.contextmanager
def left_as_they_are():
    """A context manager in which the functions of this module change nothing and draw no random
    numbers.

    >>> import whet
    >>> with whet.nn.init.left_as_they_are():
    ...     layer = whet.nn.Linear(2, 2)
    ...
    """
    before = _left_out.set(True)
    try:
        yield
    finally:
        _left_out.reset(before)


def _quietly(f):
    """Run without recording for autograd."""
    @functools.wraps(f)
    def run(*args, **kwargs):
        if modes.read(_left_out.get):
            return args[0] if args else kwargs["tensor"]
        with whet.no_grad():
            return f(*args, **kwargs)
    return run


@_declared_for_tracing.goes_by_no_size
def calculate_gain(nonlinearity, param=None):
    """The gain that keeps the variance through a nonlinearity.

    >>> import whet
    >>> whet.nn.init.calculate_gain("relu")
    1.4142135623730951
    """
    if nonlinearity in ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
                        "conv_transpose2d", "conv_transpose3d", "sigmoid"):
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            param = 0.01
        elif isinstance(param, bool) or not isinstance(param, int | float):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + param**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def fans(tensor):
    """(fan_in, fan_out) of a weight laid out as (out, in, *window).

    >>> import whet
    >>> whet.nn.init.fans(whet.empty(8, 3, 5, 5))
    (75, 200)
    """
    if tensor.ndim < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    out, inside, *window = tensor.shape
    field = math.prod(window)
    return inside * field, out * field


_calculate_fan_in_and_fan_out = fans


def _fan(tensor, mode):
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return fans(tensor)[mode == "fan_out"]


def _is_empty(tensor):
    if 0 in tensor.shape:
        modes.warn("Initializing zero-element tensors is a no-op", stacklevel=4)
        return True
    return False


@_quietly
def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Uniform in [a, b).

    >>> import whet
    >>> w = whet.nn.init.uniform_(whet.empty(100), -0.5, 0.5)
    >>> w.abs().max().item() <= 0.5
    True
    """
    return tensor.uniform_(a, b, generator=generator)


@_quietly
def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Normal with a mean and a standard deviation.

    >>> import whet
    >>> whet.nn.init.normal_(whet.empty(2, 3), std=0.02).shape
    whet.Size([2, 3])
    """
    return tensor.normal_(mean, std, generator=generator)


@_quietly
def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normal, cut off to [a, b].

    >>> import whet
    >>> w = whet.nn.init.trunc_normal_(whet.empty(100), a=-1, b=1)
    >>> w.abs().max().item() <= 1
    True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        modes.warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
                      "The distribution of values may be incorrect.", stacklevel=3)
    low, high = ((1 + math.erf((x - mean) / std / math.sqrt(2))) / 2 for x in (a, b))
    # the inverse of the distribution function does the rest
    tensor.uniform_(2 * low - 1, 2 * high - 1, generator=generator)
    return tensor.erfinv_().mul_(std * math.sqrt(2.0)).add_(mean).clamp_(min=a, max=b)


@_quietly
def constant_(tensor, val):
    """One value everywhere.

    >>> import whet
    >>> whet.nn.init.constant_(whet.empty(2), 3.)
    tensor([3., 3.])
    """
    return tensor.fill_(val)


def ones_(tensor):
    """Ones.

    >>> import whet
    >>> whet.nn.init.ones_(whet.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


@_quietly
def zeros_(tensor):
    """Zeros.

    >>> import whet
    >>> whet.nn.init.zeros_(whet.empty(2))
    tensor([0., 0.])
    """
    return tensor.zero_()


@_quietly
def eye_(tensor):
    """The identity matrix (as much of it as the shape shows).

    >>> import whet
    >>> whet.nn.init.eye_(whet.empty(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(whet.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


@_quietly
def dirac_(tensor, groups=1):
    """A convolution that passes its channels on unchanged (in every group).

    >>> import whet
    >>> whet.nn.init.dirac_(whet.empty(1, 1, 3))
    tensor([[[0., 1., 0.]]])
    """
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    each = tensor.shape[0] // groups
    middle = tuple(s // 2 for s in tensor.shape[2:])
    tensor.zero_()
    for g in range(groups):
        for d in range(min(each, tensor.shape[1])):
            tensor[(g * each + d, d, *middle)] = 1
    return tensor


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Uniform, keeping the variance in both directions (Glorot).

    >>> import whet
    >>> w = whet.nn.init.xavier_uniform_(whet.empty(64, 32))
    >>> w.abs().max().item() <= (6 / (64 + 32)) ** 0.5
    True
    """
    bound = gain * math.sqrt(6.0 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normal, keeping the variance in both directions (Glorot).

    >>> import whet
    >>> whet.nn.init.xavier_normal_(whet.empty(64, 32)).shape
    whet.Size([64, 32])
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(fans(tensor))), generator)


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Uniform, keeping the variance through a rectifier (He).

    >>> import whet
    >>> w = whet.nn.init.kaiming_uniform_(whet.empty(64, 32), nonlinearity="relu")
    >>> w.abs().max().item() <= (6 / 32) ** 0.5
    True
    """
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normal, keeping the variance through a rectifier (He).

    >>> import whet
    >>> w = whet.nn.init.kaiming_normal_(whet.empty(64, 32), nonlinearity="relu")
    >>> abs(w.std().item() - (2 / 32) ** 0.5) < 0.05
    True
    """
    if _is_empty(tensor):
        return tensor
    return normal_(tensor, 0,
                   calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode)), generator)


@_quietly
def orthogonal_(tensor, gain=1, generator=None):
    """A (semi-)orthogonal matrix times `gain`; all but the first dimension are taken together.

    >>> import whet
    >>> w = whet.nn.init.orthogonal_(whet.empty(3, 5))
    >>> whet.allclose(w @ w.T, whet.eye(3), atol=1e-5)
    True
    """
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    flat = tensor.new_empty((rows, tensor.numel() // rows)).normal_(0, 1, generator=generator)
    wide = flat.shape[1] > rows
    q, r = whet.linalg.qr(flat.t() if wide else flat)
    # makes the distribution uniform over the orthogonal matrices
    q = q * whet.diagonal(r).sign()
    return tensor.copy_((q.t() if wide else q).reshape(tensor.shape).mul_(gain))


@_quietly
def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal, with a fraction of each column set to zero.

    >>> import whet
    >>> w = whet.nn.init.sparse_(whet.empty(10, 4), sparsity=0.5)
    >>> (w == 0).sum(0)
    tensor([5, 5, 5, 5])
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, cols = tensor.shape
    empty = math.ceil(float(sparsity) * rows)
    tensor.normal_(0, std, generator=generator)
    for col in range(cols):
        tensor[whet.randperm(rows, generator=generator)[:empty], col] = 0
    return tensor


def linear_(weight, bias):
    """How linear and convolution layers start: both uniform within 1 / sqrt(fan_in).

    >>> import whet
    >>> layer = whet.nn.Linear(2, 3)
    >>> whet.nn.init.linear_(layer.weight, layer.bias)
    """
    _check_tensors("linear_", weight=weight, bias=bias)
    for t in (weight,) if bias is None else (weight, bias):
        if not (t.is_floating_point() or t.is_complex()):
            raise NotImplementedError(
                f"linear_(): weight and bias must be of floating point or complex types, "
                f"not {t.dtype}")
    kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        fan_in, _ = fans(weight)
        bound = 1 / math.sqrt(fan_in) if fan_in else 0
        uniform_(bias, -bound, bound)


for _name, _fn in list(globals().items()):
    if inspect.isfunction(_fn) and _fn.__module__ == __name__ and not _name.startswith("_"):
        globals()[_name] = _guard(_fn)


def _under_its_old_name(function):
    @functools.wraps(function)
    def old(*args, **kwargs):
        modes.warn(f"`nn.init.{old.__name__}` is now deprecated in favor of "
             f"`nn.init.{function.__name__}`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)
    old.__name__ = old.__qualname__ = function.__name__.rstrip("_")
    old.__doc__ = _of_variant(f"The old name of `{function.__name__}`.", function.__name__,
                              old.__name__, function.__doc__)
    return old


uniform, normal, constant, eye, dirac, sparse, orthogonal = map(_under_its_old_name, (
    uniform_, normal_, constant_, eye_, dirac_, sparse_, orthogonal_))
xavier_uniform, xavier_normal, kaiming_uniform, kaiming_normal = map(_under_its_old_name, (
    xavier_uniform_, xavier_normal_, kaiming_uniform_, kaiming_normal_))
