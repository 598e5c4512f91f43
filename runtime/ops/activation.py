"""Activations whose call is more than their formula, and dropout."""
from ..autograd.modes import warn
from ..dtypes import FLOAT
from ..ir import scalar as s
from . import pointwise as p
from .argument_errors import checked_input
from .argument_guards import check_text
from .join import common_type
from .out_arguments import give_out
from .pointwise_family import PointwiseOp, inplace
from .public_functions import compile_function
from .random import draw
from .registry import apply, check_one_type, check_tensors, is_tensor, narrowed
from .sample_inputs import booleans, reals
from .softmax import softmax
from .surface import FUNCTIONS, function
from .vector_norm import vector_norm


def _act(op, input, numbers, write):
    checked_input(op.name, input)
    return inplace(op, input, numbers) if write else apply(op, (input, *numbers), {})


def activation(name, op, params=""):
    """The functional form `name(input, <params>, inplace=False)` of a pointwise op."""
    names = "".join(q.split("=")[0].strip() + ", " for q in params.split(",") if q.strip())
    f = compile_function(
        name,
        f"def {name}(input, {params + ', ' if params else ''}inplace=False):\n"
        f"    return act(op, input, ({names}), inplace)", {"act": _act, "op": op})
    f.__doc__ = f"The activation {name}, elementwise."
    return f


def elu(input, alpha=1.0, inplace=False):
    """x where positive, alpha * (exp(x) - 1) elsewhere."""
    return _act(p.elu_op, input, (alpha, 1.0), inplace)


def celu(input, alpha=1.0, inplace=False):
    """x where positive, alpha * (exp(x / alpha) - 1) elsewhere.

    >>> import whet
    >>> whet.celu(whet.tensor([-1e9, 2.0]), 0.5)
    tensor([-0.5000,  2.0000])
    """
    if alpha == 0:
        raise RuntimeError("celu(): alpha cannot be 0")
    return _act(p.celu_op, input, (alpha,), inplace)


def selu(input, inplace=False):
    """The self-normalising ELU."""
    return _act(p.selu_op, input, (), inplace)


def gelu(input, approximate="none", *, out=None):
    """x times the normal distribution function of x (or its tanh approximation)."""
    if approximate not in ("none", "tanh"):
        check_text("gelu", "approximate", approximate)
        raise RuntimeError("approximate argument must be either none or tanh.")
    y = _act(p.gelu_erf if approximate == "none" else p.gelu_tanh, input, (), write=False)
    return y if out is None else give_out("gelu", y, out)


def softplus(input, beta=1, threshold=20, *, out=None):
    """log(1 + exp(beta * x)) / beta, the identity above the threshold."""
    y = _act(p.softplus_op, input, (beta, threshold), write=False)
    return y if out is None else give_out("softplus", y, out)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """x, no less than `min_val` and no more than `max_val`."""
    try:
        crossed = min_val > max_val
    except TypeError:
        raise TypeError(
            "hardtanh(): min_val and max_val must be numbers, not "
            f"{min_val.__class__.__name__} and {max_val.__class__.__name__}") from None
    if crossed:
        raise ValueError("min_val cannot be greater than max_val")
    return _act(p.hardtanh.op, input, (min_val, max_val), inplace)


def softshrink(input, lambd=0.5, *, out=None):
    """x moved towards zero by `lambd`, and zero where it is nearer than that."""
    if lambd < 0:
        raise RuntimeError(f"softshrink: lambd must not be negative, but found {lambd}")
    return p.softshrink(input, lambd, out=out)


def threshold(input, threshold, value, inplace=False):
    """x where greater than the threshold, `value` elsewhere (of whole numbers both without their
    fractions)."""
    if is_tensor(input) and input.dtype.kind < FLOAT:
        threshold, value = int(threshold), int(value)
    return _act(p.threshold_op, input, (threshold, value), inplace)


@function()
def prelu(input, weight):
    """x where positive, weight * x elsewhere; the weight is one number or one per channel."""
    if weight.ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    check_one_type("prelu", input=input, weight=weight)
    input, weight = narrowed(input, weight)
    n = weight.numel()
    if n != 1:
        if input.ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.ndim > 1 else 1
        if channels != n:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{n} and channel size = {channels}.")
    shape = [1] * input.ndim
    if input.ndim > 1:
        shape[1] = n
    return apply(p.prelu_op, (input, weight.reshape(shape)), {})


def glu(input, dim=-1):
    """One half of the input times the sigmoid of the other."""
    if input.ndim == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    if input.shape[dim] % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim} is size {input.shape[dim]}")
    a, b = input.chunk(2, dim)
    return a * b.sigmoid()


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax(-x)"""
    return softmax(-input, dim, dtype=dtype)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A sample of a relaxed (or, with a straight-through gradient, a hard) one-hot variable."""
    g = -FUNCTIONS["empty_like"](logits).exponential_().log()
    soft = FUNCTIONS["softmax"]((logits + g) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one = FUNCTIONS["zeros_like"](logits).scatter(dim, index, 1.0)
    return one - soft.detach() + soft


# ---- dropout -------------------------------------------------------------------------------------
R = reals(-3, 3)
masked_scale_op = PointwiseOp("dropout", lambda input, keep, scale: s.where(keep, input * scale, 0),
                              keep=(1,),
                              samples=(R, booleans, reals(1, 2, grad=False)),
                              vjp=lambda g, y, x, k, c: [s.where(k, g * c, 0), None, None])


def _check_p(p):
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _no_scale(name, input):
    return RuntimeError(f"{name}: result type Float can't be cast to the desired output type "
                        f"{input.dtype.letter}")


def _drop(input, p, shape, inplace_):
    if input.dtype.kind < FLOAT:
        if p not in (0.0, 1.0):
            raise _no_scale("dropout", input)
        return input * int(not p) if not inplace_ else input.mul_(int(not p))
    keep = draw("uniform32", shape, device=input.device) >= p
    scale = 0.0 if p == 1.0 else 1.0 / (1.0 - p)
    return inplace(masked_scale_op, input,
                   (keep, scale)) if inplace_ else apply(masked_scale_op, (input, keep, scale), {})


@function(method=False)
def dropout(input, p=0.5, training=True, inplace=False):
    """Zero elements with probability p and scale the rest by 1 / (1 - p)."""
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

    f.__name__, f.__doc__ = (
        f"dropout{n}d", "Zero whole channels with probability p and scale the rest by 1 / (1 - p).")
    return f


dropout1d, dropout2d, dropout3d = map(_feature_dropout, (1, 2, 3))


def _alpha(input, p, training, inplace, shape):
    _check_p(p)
    if not training or p == 0:
        return input
    if input.dtype.kind < FLOAT:
        raise _no_scale("alpha_dropout", input)
    alpha = -1.7580993408473766
    a = ((1 - p) * (1 + p * alpha * alpha)) ** -0.5 if p < 1 else 0.0
    b = -a * alpha * p
    keep = draw("uniform32", shape, device=input.device) >= p
    y = FUNCTIONS["where"](keep, input, alpha) * a + b
    return input.copy_(y) if inplace else y


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps mean and variance of self-normalising networks."""
    return _alpha(input, p, training, inplace, input.shape)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """`alpha_dropout` of whole channels."""
    return _alpha(input, p, training, inplace, tuple(input.shape[:2]) + (1,) * (input.ndim - 2))


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """Leaky ReLU whose slope is random in training."""
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return _act(p.leaky_relu.op, input, ((lower + upper) / 2,), inplace)
    u = draw("uniform32", input.shape, device=input.device)
    slope = u.to(input.dtype) * (upper - lower) + lower
    slope = FUNCTIONS["where"](input > 0, 1.0, slope)
    return input.mul_(slope) if inplace else input * slope


@function("cosine_similarity", method=False)
def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle between vectors along `dim`."""
    if max(x1.dtype.kind, x2.dtype.kind) != FLOAT:
        raise RuntimeError(
            "expected common dtype to be floating point, yet common dtype is integral")
    if dim is None:
        raise TypeError("cosine_similarity(): argument 'dim' must be int, not NoneType")
    x1, x2 = FUNCTIONS["broadcast_tensors"](*common_type([x1, x2]))
    n1, n2 = (vector_norm(x1, 2, dim, True).clamp_min(eps),
              vector_norm(x2, 2, dim, True).clamp_min(eps))
    return ((x1 / n1) * (x2 / n2)).sum(dim)


@function(method=False)
def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The p-norm of x1 - x2 + eps along the last dimension."""
    return vector_norm(x1 - x2 + eps, p, -1, keepdim)
