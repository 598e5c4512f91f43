"""Normalisations: row programs with their gradients as row programs."""
import math

import numpy as np

from ..autograd import modes
from ..dtypes import COMPLEX, FLOAT, float32
from ..ir import row_programs
from ..ir import scalar as s
from . import dims
from .argument_errors import checked_input
from .batching import aligned, example_ndim, repeated
from .gradients_by_decomposition import by_decomposition
from .half_precision import wide
from .onnx import products as in_onnx
from .out_arguments import give_out
from .out_types import OutType
from .pad import pad
from .pointwise_family import PointwiseOp
from .pools import avg_pool
from .registry import apply, check_tensors, is_tensor, sizes_of
from .rows_family import RowsOp
from .sample_inputs import Sample, reals
from .surface import FUNCTIONS, function
from .vector_norm import vector_norm
from .view import view_op


# ---- layer norm and its kin: rows of n elements, weight and bias along the row -------------------
def _layer_grad_by_definition(weighted):
    """The layer norm's gradient in plain ops, for its own gradient: the mean and scale given are
    functions of x."""
    def plain(g, x, _mean, r, *rest, dim):
        d = list(dim)
        if weighted:
            g = g * rest[0]
        c = x - x.mean(d, keepdim=True)
        var = (c * c).mean(d, keepdim=True)
        eps = (1.0 / (r.detach() * r.detach()) - var.detach())           # r was 1 / sqrt(var + eps)
        r = (var + eps).rsqrt()
        h = c * r
        return r * (g - g.mean(d, keepdim=True) - h * (g * h).mean(d, keepdim=True))
    return plain


def _layer_grad_each(op, n, inputs, batched, attrs):
    """Gradients of layer_norm with weights of each example: the gradient is multiplied by them
    first."""
    g, *others, weight, count = inputs
    ndim = max(example_ndim(x, b) for x, b in zip(inputs[:2], batched))
    g = (aligned(g, ndim) if batched[0] else g) * aligned(weight, ndim)
    return layer_grad_op.batch(n, (g, *others, count), (True, *batched[1:-2], False), attrs)


def _layer_norm_each(op, n, inputs, batched, attrs):
    """layer_norm with weights of each example: they come after the rest."""
    x, weight, bias, eps, count = inputs
    y, mean, scale = normalize_op.batch(n, (x if batched[0] else repeated(x, n), eps, count),
                                        (True, False, False), attrs)
    weight, bias = [
        aligned(p, y._array.ndim - 1) if b else p for p, b in zip((weight, bias), batched[1:3])]
    return y * weight + bias, mean, scale


layer_grad_op, layer_grad_weighted_op = (RowsOp(
    "layer_norm_backward" + ("_weighted" if w else ""),
    lambda t, w=w: row_programs.layer_norm_backward(t, weight=w),
    vjp=by_decomposition(_layer_grad_by_definition(w)), inner=True,
    batch=_layer_grad_each if w else None) for w in (False, True))


def _axes_sum(x, dim):
    rest = [i for i in range(x.ndim) if i not in dim]
    # a sum over no dimension would be one over all
    return x.sum(rest) if rest else x


def _layer_vjp(g, y, x, weight, _bias, _eps, n, *, dim, needs):
    g = g[0]
    gx = gw = gb = None
    if needs[0]:
        gx = layer_grad_weighted_op(g, x, y[1], y[2], weight, n, dim=dim)
    if needs[1]:
        # the saved mean and scale have no history, and no tangents: where these may be wanted, the
        # same numbers are computed with them
        h = (normalize_op(x, _eps, n, dim=dim)[0]
             if modes.state.flags & modes.GRAD or x._stands_for_another else (x - y[1]) * y[2])
        gw = _axes_sum(g * h, dim)
    if needs[2]:
        gb = _axes_sum(g, dim)
    return [gx, gw, gb, None, None]


def _plain_vjp(g, y, x, _eps, n, *, dim):
    return [layer_grad_op(g[0], x, y[1], y[2], n, dim=dim), None, None]


# (result, mean, 1 / standard deviation)
layer_norm_op = RowsOp(
    "layer_norm", row_programs.layer_norm, vjp=_layer_vjp, nondiff_outputs=(1, 2),
    batch=_layer_norm_each,
    samples=lambda make: [
        Sample(make(4, 6), make(6), make(6), 1e-5, 6.0, dim=(1,)),
        Sample(make(2, 3, 4), make(3, 4), make(3, 4), 1e-5, 12.0, dim=(1, 2))],
    onnx=in_onnx.layer_norm)
normalize_op = RowsOp("normalize_rows",
                      lambda t: row_programs.layer_norm(t, weight=False, bias=False),
                      vjp=_plain_vjp, nondiff_outputs=(1, 2),
                      samples=lambda make: [Sample(make(4, 6), 1e-5, 6.0, dim=(1,))],
                      onnx=in_onnx.rows_normalized)


def _rms_grad_by_definition(g, x, r, n, *, dim):
    d = list(dim)
    sq = (x * x).mean(d, keepdim=True)
    eps = 1.0 / (r.detach() * r.detach()) - sq.detach()
    r = (sq + eps).rsqrt()
    return r * (g - x * (r * r) * (g * x).mean(d, keepdim=True))


rms_grad_op = RowsOp("rms_norm_backward", lambda t: row_programs.rms_norm_backward(t, weight=False),
                     vjp=by_decomposition(_rms_grad_by_definition),
                     inner=True)
rms_op = RowsOp(
    "rms_norm", lambda t: row_programs.rms_norm(t, weight=False),
    nondiff_outputs=(1,),
    vjp=lambda g, y, x, _eps, n, *, dim: [rms_grad_op(g[0], x, y[1], n, dim=dim), None, None],
    samples=lambda make: [Sample(make(4, 6), 1e-5, 6.0, dim=(1,))],
    onnx=in_onnx.rms_norm)


# ---- batch norm: a row is a channel, weight and bias are one number a row ------------------------
def _batch_grad_by_definition(g, x, _mean, r, weight, n, *, dim):
    d = list(dim)
    c = x - x.mean(d, keepdim=True)
    var = (c * c).mean(d, keepdim=True)
    eps = 1.0 / (r.detach() * r.detach()) - var.detach()
    r = (var + eps).rsqrt()
    h = c * r
    gx = weight * r * (g - g.mean(d, keepdim=True) - h * (g * h).mean(d, keepdim=True))
    return gx, (g * h).sum(d, keepdim=True), g.sum(d, keepdim=True)


batch_grad_op = RowsOp("batch_norm_backward",
                       row_programs.batch_norm_backward,
                       vjp=by_decomposition(_batch_grad_by_definition),
                       inner=True)


def _batch_vjp(g, y, x, weight, _bias, _eps, n, *, dim):
    gx, gw, gb = batch_grad_op(g[0], x, y[1], y[2], weight, n, dim=dim)
    return [gx, gw, gb, None, None]


# (result, mean, 1 / standard deviation, variance)
batch_norm_op = RowsOp(
    "batch_norm", row_programs.batch_norm, vjp=_batch_vjp, nondiff_outputs=(1, 2, 3),
    samples=lambda make: [
        Sample(make(4, 3, 5), make(1, 3, 1), make(1, 3, 1), 1e-5, 20.0, dim=(0, 2))])

def _as_batch_norm(b, *xs):
    return in_onnx.batch_norm(b, xs, inverse_std_op, view_op)


R, POSITIVE = reals(-3, 3), reals(0.2, 4)
batch_norm_eval_op = PointwiseOp(
    "batch_norm_eval", lambda x, mean, invstd, weight, bias: (x - mean) * invstd * weight + bias,
    kinds="f", samples=(R, R, POSITIVE, R, R), onnx=_as_batch_norm)
inverse_std_op = PointwiseOp("inverse_std", lambda var, eps: 1 / s.sqrt(var + eps), kinds="f",
                             samples=(POSITIVE, reals(1e-5, 1, grad=False)),
                             vjp=lambda g, y, v, e: [-0.5 * g * (y * y * y), None])


# ---- the functions -------------------------------------------------------------------------------
def _float_input(name, x):
    checked_input(name, x)
    if x.dtype.category != FLOAT:
        raise NotImplementedError(f"\"{name}\" not implemented for '{x.dtype.letter}'")


def _normalized_axes(name, x, normalized_shape, weight, bias=None):
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    k = len(shape)
    if k == 0:
        raise RuntimeError(f"{name}: Expected normalized_shape to be at least 1-dimensional")
    for p, what in ((weight, "weight"), (bias, "bias")):
        if p is not None and p._array.shape != shape:
            raise RuntimeError(
                f"{name}: Expected {what} to be of same shape as normalized_shape, but got {what} "
                f"of shape {list(p.shape)} and normalized_shape = {list(shape)}")
    if x._array.shape[-k:] != shape:
        raise RuntimeError(
            f"{name}: Given normalized_shape={list(shape)}, expected input with shape [*, "
            f"{', '.join(map(str, shape))}], but got input of size{list(x.shape)}")
    dim = tuple(range(x.ndim - k, x.ndim))
    n = dims.count(shape, None)
    return dim, float(n)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Mean 0 and variance 1 over the last dimensions, then weight and bias.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.layer_norm(whet.tensor([[1., 3.]]), (2,), eps=0.0)
    tensor([[-1.,  1.]])
    """
    _float_input("layer_norm", input)
    dim, n = _normalized_axes("layer_norm", input, normalized_shape, weight, bias)
    if (weight is None or bias is None or weight.dtype is not input.dtype
            or bias.dtype is not input.dtype):
        if weight is not None or bias is not None:
            _check_types("layer_norm", input, weight=weight, bias=bias)
        x = input if weight is None and bias is None else wide(input)
        y = apply(normalize_op, (x, float(eps), n), {"dim": dim})[0]
        y = y if weight is None else y * weight
        return (y if bias is None else y + bias).to(input.dtype)
    return apply(layer_norm_op, (input, weight, bias, float(eps), n), {"dim": dim})[0]


@function(method=False)
def rms_norm(input, normalized_shape, weight=None, eps=None):
    """Root mean square 1 over the last dimensions, then weight.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.rms_norm(whet.tensor([3., 4.]), (2,))
    tensor([0.8485, 1.1314])
    """
    check_tensors("rms_norm", input=input)
    if input.dtype.category != COMPLEX:
        _float_input("rms_norm", input)
    dim, n = _normalized_axes("rms_norm", input, normalized_shape, weight)
    if eps is None:
        from ..dtypes import finfo, float32
        eps = finfo(float32 if input.dtype.itemsize < 4 else input.dtype).eps
    if input.dtype.category == COMPLEX:  # the squares of the numbers, not of their absolute values
        y = input * ((input * input).mean(dim, keepdim=True) + eps).rsqrt()
        return y if weight is None else y * weight
    x = input if weight is None else wide(input)
    y = apply(rms_op, (x, float(eps), n), {"dim": dim})[0]
    return y if weight is None else (y * weight).to(input.dtype)


def _per_channel(p, x, fill, dtype):
    shape = (1, x.shape[1]) + (1,) * (x.ndim - 2)
    if p is None:
        return FUNCTIONS["full"](shape, fill, dtype=dtype, device=x.device)
    return p.reshape(shape).to(dtype)


def _check_types(name, x, **parameters):
    """Parameters are of the input's type; those for halves may be float32."""
    allowed = (x.dtype, float32) if x.dtype.itemsize < 4 else (x.dtype,)
    for what, p in parameters.items():
        if p is not None and p.dtype not in allowed and modes.state.autocast is None:
            raise RuntimeError(f"{name}: mixed dtype (CPU): expected {what} of type {x.dtype}, as "
                               f"the input is, but got {p.dtype}")


def _check_channels(name, x, **named):
    kind, n = x._array.dtype, x._array.shape[1]
    for what, p in named.items():
        if p is None:
            continue
        if p._array.dtype is not kind:
            _check_types(name, x, **{what: p})
        if p._array.size != n:
            raise RuntimeError(f"{name}: {what} should contain {n} elements not {p.numel()}")


def _check_vectors(name, **named):
    for what, p in named.items():
        if p is not None and p.ndim != 1:
            raise RuntimeError(
                f"{name}: Expected {what} to be a vector, but got shape {list(p.shape)}")


def _check_pair(name, running_mean, running_var):
    if running_mean is None or running_var is None:
        if running_mean is not running_var:
            raise ValueError(
                "running_mean and running_var must either both be None or neither be None")
    elif running_mean._array.ndim != 1 or running_var._array.ndim != 1:
        _check_vectors(name, running_mean=running_mean, running_var=running_var)


def _follow(running_mean, running_var, mean, var, n, momentum):
    """Move the running statistics towards those of a batch of n values a channel by `momentum`, a
    number or a tensor."""
    with modes.no_grad():
        dtype = running_mean.dtype
        unbiased = n / (n - 1) if n > 1 else float("nan")
        for running, new in ((running_mean, mean), (running_var, var * unbiased)):
            new = new.reshape(-1).to(dtype)
            if is_tensor(momentum):
                running.mul_(1 - momentum).add_(new * momentum)
            else:                          # True is one
                running.mul_(1 - momentum).add_(new, alpha=+momentum)


@function(method=False)
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False,
               momentum=0.1, eps=1e-5):
    """Normalise each channel: by the batch in training (updating the running statistics), by the
    running statistics otherwise.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.batch_norm(whet.ones(4, 3, 2), whet.zeros(3), whet.ones(3), training=True).shape
    whet.Size([4, 3, 2])
    """
    _float_input("batch_norm", input)
    if input.ndim < 2:
        if input.numel() == 0:
            return input.clone()
        raise ValueError(f"expected at least 2D input (got {input.ndim}D input)")
    _check_channels("batch_norm", input, running_mean=running_mean, running_var=running_var,
                    weight=weight, bias=bias)
    if eps < 0 or training and eps == 0:
        raise ValueError(
            "batch_norm eps must be "
            + (f"positive during training, but got {eps}" if training else
               f"non-negative, but got {eps}"))
    _check_pair("batch_norm", running_mean, running_var)
    acc = float32 if input.dtype.itemsize < 4 else input.dtype
    w, b = _per_channel(weight, input, 1.0, acc), _per_channel(bias, input, 0.0, acc)
    if training:
        dim = (0, *range(2, input.ndim))
        n = dims.count(input.shape, dim)
        if n == 1:
            raise ValueError(
                "Expected more than 1 value per channel when training, got input size "
                f"{tuple(input.shape)}")
        y, mean, _, var = apply(batch_norm_op, (input, w, b, float(eps), float(n)), {"dim": dim})
        if running_mean is not None and n:          # an empty batch says nothing
            _follow(running_mean, running_var, mean, var, n, momentum)
        return y
    if running_mean is None or running_var is None:
        raise RuntimeError(
            "batch_norm: expected running_mean and running_var to be defined when training=False")
    invstd = apply(inverse_std_op, (wide(running_var), eps), {})
    mean, invstd = (_per_channel(running_mean, input, 0.0,
                                 acc), _per_channel(invstd, input, 1.0, acc))
    return apply(batch_norm_eval_op, (input, mean, invstd, w, b), {}).to(input.dtype)


@function(method=False)
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Normalise groups of channels of each sample, then weight and bias per channel.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.group_norm(whet.tensor([[1., 3., 2., 6.]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    _float_input("group_norm", input)
    if input.ndim < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    # Of channels that a trace follows it must be asked again: the reshape below cannot tell.
    if num_groups <= 0 or sizes_of(input)[1] % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input "
            f"of shape {list(input.shape)} and num_groups={num_groups}")
    _check_channels("group_norm", input, weight=weight, bias=bias)
    if weight is not None and weight._array.ndim != 1 or bias is not None and bias._array.ndim != 1:
        _check_vectors("group_norm", weight=weight, bias=bias)
    if dims.count(input.shape, None) // num_groups == 1:
        raise ValueError(
            "Expected more than 1 value per channel when training, got input size "
            f"{list(input.shape)}")
    grouped = input.reshape(
        input.shape[0], num_groups, math.prod(input.shape[1:]) // num_groups)
    return _normalized_rows(grouped, input, eps, weight, bias)


def _normalized_rows(rows, input, eps, weight, bias):
    """The input, whose rows these are, normalised, with weight and bias per channel."""
    count, plain = float(rows.shape[2]), weight is None and bias is None
    y = apply(normalize_op, (rows if plain else wide(rows), float(eps), count),
              {"dim": (2,)})[0].reshape(input.shape)
    if plain:
        return y
    shape = (1, y.shape[1]) + (1,) * (y.ndim - 2)
    if weight is not None and bias is not None:
        # the bits of both operations, with one pass through memory
        y = FUNCTIONS["addcmul"](bias.reshape(shape), y, weight.reshape(shape))
    elif weight is not None:
        y = y * weight.reshape(shape)
    else:
        y = y + bias.reshape(shape)
    return y.to(input.dtype)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None,
                  use_input_stats=True, momentum=0.1, eps=1e-5):
    """Normalise each channel of each sample.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.instance_norm(whet.tensor([[[1., 3.]]]))
    tensor([[[-1.0000,  1.0000]]])
    """
    _float_input("instance_norm", input)
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    _check_channels("instance_norm", input, running_mean=running_mean, running_var=running_var,
                    weight=weight, bias=bias)
    _check_pair("instance_norm", running_mean, running_var)
    n, c = input.shape[:2]
    size = int(np.prod(input.shape[2:], dtype=np.int64))
    if size == 1:
        raise ValueError(
            "Expected more than 1 spatial element when training, got input size "
            f"{tuple(input.shape)}")
    rows = input.reshape(n, c, size)
    if running_mean is not None:
        with modes.no_grad():
            flat = rows.detach()
            running_mean.mul_(1 - momentum).add_(flat.mean(2).mean(0), alpha=+momentum)
            running_var.mul_(1 - momentum).add_(flat.var(2).mean(0), alpha=+momentum)
    return _normalized_rows(rows, input, eps, weight, bias)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """Divide by a power of the mean square over neighbouring channels.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.local_response_norm(whet.ones(1, 2, 1), 2, alpha=1.)
    tensor([[[0.7378],
             [0.5946]]])
    """
    if input.ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)")
    if input.numel() == 0:
        return input
    n, c = input.shape[:2]
    sq = (input * input).reshape(n, 1, c, -1)
    sq = pad(sq, (0, 0, size // 2, (size - 1) // 2))
    mean = avg_pool(sq, (size, 1), 1, 0, False, True, None, 2).reshape(input.shape)
    return input / (mean * alpha + k) ** beta


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """Divide by the p-norm along `dim` (at least eps).

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.normalize(whet.tensor([[3., 4.]]))
    tensor([[0.6000, 0.8000]])
    """
    if isinstance(p, str):
        raise RuntimeError(f"linalg.vector_norm: Order {p} not supported.")
    denom = vector_norm(input, p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / denom if out is None else give_out(
        "normalize", input / denom, out, (input,), types=OutType.CASTS)
