"""Losses: functions over other ops."""
import math

import numpy as np

from .. import devices
from ..autograd import modes
from ..autograd.modes import no_grad
from ..dtypes import BOOL, FLOAT, can_cast, int64
from ..indexing import broadcast_shapes
from ..ir import scalar as s
from .argument_guards import guard
from .autocast_to_float32 import precise
from .convert import cast
from .distances import pairwise_distance
from .gather import gather_op
from .join import common_type
from .number_questions import all_below, are_probabilities, fixed_number, has_negative
from .pointwise_family import PointwiseOp
from .public_functions import compile_function
from .question_kernels import asked
from .registry import apply, ask, check_one_type, check_tensors, is_tensor, sizes_of
from .sample_inputs import reals
from .softmax import log_softmax
from .surface import FUNCTIONS as F
from .surface import function


def reduced(loss, reduction):
    """mean, sum or none"""
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    _known(reduction)
    return loss


def _known(reduction):
    """A reduction that there is: a loss that fails otherwise should fail by its name first."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def legacy(size_average, reduce, reduction):
    """The older arguments `size_average` and `reduce` as a `reduction`."""
    if size_average is None and reduce is None:
        return reduction
    size_average, reduce = [x is None or bool(x) for x in (size_average, reduce)]
    r = "mean" if size_average and reduce else "sum" if reduce else "none"
    modes.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{r}' instead.",
        stacklevel=3)
    return r


def loss(fn):
    """A loss given elementwise: adds the arguments `size_average, reduce, reduction` in
    PyTorch's order."""
    import inspect

    ps = list(inspect.signature(fn).parameters.values())
    name = fn.__name__
    lead = [p for p in ps if p.default is p.empty]
    rest = [p for p in ps if p.default is not p.empty]
    first = [p for p in rest if p.name in ("weight", "margin", "p", "log_input", "full")]
    amid = [p for p in rest if p.name == "eps"]
    last = [p for p in rest if p not in first and p not in amid]

    def text(qs):
        return [f"{q.name}={q.default!r}" if q.default is not q.empty else q.name for q in qs]

    head = (text(lead) + text(first) + ["size_average=None"] + text(amid)
            + ["reduce=None", "reduction='mean'"] + text(last))
    call = ", ".join(f"{p.name}={p.name}" for p in ps)
    f = compile_function(name, f"def {name}({', '.join(head)}):\n"
                         f"    return reduced(fn({call}), legacy(size_average, reduce, reduction))",
                         {"fn": fn, "reduced": reduced, "legacy": legacy})
    f.__doc__ = fn.__doc__
    return precise(guard(f))


def _same(name, input, target):
    if not is_tensor(input) or not is_tensor(target):
        raise TypeError(f"{name}(): input and target must be Tensors")
    if input._array.shape != target._array.shape:
        modes.warn(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=4)


@precise
def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The squared difference.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.mse_loss(whet.tensor([1., 2.]), whet.tensor([1., 4.]))
    tensor(2.)
    """
    return _weighted("mse_loss",
                     F["square"](_diff("mse_loss", input, target, reals=weight is None)),
                     weight,
                     legacy(size_average, reduce, reduction))


@precise
def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The absolute difference."""
    return _weighted("l1_loss",
                     F["abs"](_diff("l1_loss", input, target)),
                     weight,
                     legacy(size_average, reduce, reduction))


def _diff(name, input, target, reals=False):
    """The difference, in the common type; of real numbers alone, where it has to be."""
    _same(name, input, target)
    if reals:
        input, target = common_type([input, target])
        if input.dtype.kind != FLOAT:
            raise NotImplementedError(f"\"{name}\" not implemented for '{input.dtype.letter}'")
    return input - target


def _of_the_type(x, like):
    """A loss in the type of one of its operands, which PyTorch lets it be written to."""
    if x.dtype is like.dtype:
        return x
    if not can_cast(x.dtype, like.dtype):
        raise RuntimeError(f"result type {x.dtype.letter} can't be cast to the desired output type "
                           f"{like.dtype.letter}")
    return x.to(like.dtype)


def _weighted(name, x, weight, reduction):
    if weight is None:
        return reduced(x, reduction)
    if tuple(weight.shape) != tuple(x.shape):
        raise ValueError("Weights and input must have the same size.")
    x = x * weight
    return (x.sum() / weight.sum() if reduction == "mean" and name != "huber_loss" else reduced(
        x, reduction))


@precise
def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """Squared near zero (below beta), absolute beyond."""
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    d = _diff("smooth_l1_loss", input, target, reals=True)
    return reduced(F["abs"](d) if beta == 0 else apply(bent_op, (d, beta, 1.0), {}),
                   legacy(size_average, reduce, reduction))


def _bent(x, bend, slope):
    """Squared near zero, and from `bend` on straight, with that slope. No infinite x is squared.
    """
    far = s.absolute(x)
    near = s.minimum(far, bend)
    return s.where(far < bend, near * near * (0.5 * slope / bend), slope * (far - 0.5 * bend))


bent_op = PointwiseOp(
    "bent", _bent, kinds="f",
    samples=(reals(-3, 3), reals(0.5, 2, grad=False), reals(0.5, 2, grad=False)),
    vjp=lambda g, _y, x, bend, slope: [
        g * (slope * s.maximum(s.minimum(x, bend), -bend) / bend), None, None])


@precise
def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """delta times the smooth L1 loss with beta = delta."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    d = apply(bent_op, (_diff("huber_loss", input, target, reals=True), delta, delta), {})
    return _weighted("huber_loss", _of_the_type(d, input), weight, reduction)


def _class_axis(input):
    return 0 if input.ndim == 1 else 1


@function(method=False)
@precise
def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None,
             reduction="mean"):
    """Minus the log-probability of the target class."""
    check_tensors("nll_loss", input=input, target=target, weight=weight)
    return _nll(input, target, weight, ignore_index, legacy(size_average, reduce, reduction))


def _check_batches(input, target):
    """Raise ValueError where a target is of another number of examples."""
    have = target.shape[0] if target.ndim else 0
    if input.ndim > 1 and have != input.shape[0]:
        raise ValueError(f"Expected input batch_size ({input.shape[0]}) to match target "
                         f"batch_size ({have}).")


def _checked_class_axis(input, target, weight):
    """The dimension of the classes, where the arguments of `nll_loss` fit together."""
    if input.ndim == 0:
        raise RuntimeError("nll_loss: input tensor should have at least one dimension")
    axis = _class_axis(input)
    expect = tuple(n for i, n in enumerate(input.shape) if i != axis)
    if tuple(target.shape) != expect:
        _check_batches(input, target)
        if input.ndim == target.ndim == 1:
            raise ValueError("For 1D input, 1D target must have size 1, but got target size: "
                             f"{target.shape[0]}")
        raise RuntimeError(
            f"nll_loss: expected target of shape {expect} for input {tuple(input.shape)}, got "
            f"{tuple(target.shape)}")
    if target.dtype.kind != 1:
        raise RuntimeError(f"nll_loss: expected target of an integer type, got {target.dtype}")
    classes = input.shape[axis]
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but "
            f"got weight tensor of shape: {list(weight.shape)}")
    return axis


def _nll(input, target, weight, ignore_index, reduction):
    if weight is not None:
        check_one_type("nll_loss", input=input, weight=weight)
    if input.ndim == target.ndim == 1 == target.shape[0]:
        target = target.reshape(())
    axis = _checked_class_axis(input, target, weight)
    classes = input.shape[axis]
    ignore_index = fixed_number(ignore_index)

    @asked(lambda x, _: s.eq(x, ignore_index),
           lambda x, _: s.ne(x, ignore_index) & ((x < 0) | (x >= classes)))
    def some_ignored(t):
        if (type(classes) is int and not 0 <= ignore_index < classes and t.dtype == np.int64
                and t.size and all_below(t, classes)):
            return False
        ignored = t == ignore_index
        any_ignored = bool(ignored.any())
        bad = (t < 0) | (t >= classes)
        if any_ignored:
            bad &= ~ignored
        if bad.any():
            raise IndexError(f"Target {int(t[bad].flat[0])} is out of bounds.")
        return any_ignored
    # On a device nobody waits for the answer: the kernel that reads by the target checks it.
    any_ignored = devices.is_elsewhere(target._array) or ask(some_ignored, target)
    keep = target != ignore_index if any_ignored else None
    safe = F["where"](keep, target, 0) if any_ignored else target
    at = cast(safe, int64).unsqueeze(axis)
    picked = -apply(gather_op, (input, at), {"dim": axis}).squeeze(axis)
    if weight is not None:
        w = F["index_select"](weight, 0, safe.reshape(-1)).reshape(safe.shape)
        picked = picked * w
    else:
        w = None
    if any_ignored:
        picked = F["where"](keep, picked, 0.0)
        if w is not None:
            w = F["where"](keep, w, 0.0)
    if reduction == "mean":
        if w is None and not any_ignored:
            return picked.mean()
        total = w.sum() if w is not None else keep.sum().to(input.dtype)
        return picked.sum() / total
    return reduced(picked, reduction)


def _of_probabilities(logp, target, weight, ignore_index, reduction, label_smoothing):
    """The cross entropy with a target of probabilities."""
    axis = _class_axis(logp)
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    if tuple(target.shape) != tuple(logp.shape):
        _check_batches(logp, target)
        raise RuntimeError(
            "cross_entropy: expected a target of class indices (an integer type), or of "
            f"probabilities in the input's shape {tuple(logp.shape)}; got {target.dtype} of "
            f"shape {tuple(target.shape)}")
    n = logp.shape[axis]
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / n
    x = logp * target
    if weight is not None:
        x = x * weight.reshape([-1 if i == axis else 1 for i in range(logp.ndim)])
    x = -x.sum(axis)
    if reduction == "mean":
        return x.sum() / max(1, x.numel()) if x.numel() else x.mean()
    return reduced(x, reduction)


def _of_all_classes(logp, target, weight, ignore_index, reduction):
    """The part of the loss that label smoothing gives to every class."""
    axis = _class_axis(logp)
    keep = target != ignore_index
    w = (logp if weight is None else logp
         * weight.reshape([-1 if i == axis else 1 for i in range(logp.ndim)]))
    smooth = F["where"](keep, -w.sum(axis), 0.0)
    if reduction != "mean":
        return reduced(smooth, reduction)
    if weight is None:
        return smooth.sum() / keep.sum()
    safe = F["where"](keep, target, 0)
    weights = F["index_select"](weight, 0, safe.reshape(-1)).reshape(safe.shape)
    return smooth.sum() / F["where"](keep, weights, 0.0).sum()


@function(method=False)
@precise
def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None,
                  reduction="mean", label_smoothing=0.0):
    """The cross entropy of logits with class indices or class probabilities.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.cross_entropy(whet.zeros(2, 4), whet.tensor([0, 3]))
    tensor(1.3863)
    """
    reduction = legacy(size_average, reduce, reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    check_tensors("cross_entropy", input=input, target=target, weight=weight)
    if input.ndim == 0:
        raise RuntimeError("cross_entropy: input should have at least one dimension")
    axis = _class_axis(input)
    logp = log_softmax(input, axis)
    if target.dtype.kind == 2:                                                   # probabilities
        return _of_probabilities(logp, target, weight, ignore_index, reduction, label_smoothing)
    if target.shape == input.shape and target.ndim:
        raise RuntimeError("Expected floating point type for target with class probabilities, got "
                           f"{target.dtype.letter}")
    plain = _nll(logp, target, weight, ignore_index, reduction)
    if not label_smoothing:
        return plain
    smooth = _of_all_classes(logp, target, weight, ignore_index, reduction)
    return plain * (1 - label_smoothing) + smooth * (label_smoothing / input.shape[axis])


def _log_or_100(x):
    return s.maximum(s.log(x), -100)


bce_op = PointwiseOp(
    "binary_cross_entropy", lambda input, target:
    (target - 1) * s.maximum(s.log1p(-input), -100) - target * _log_or_100(input), kinds="f",
    samples=(reals(0.1, 0.9), reals(0, 1)), vjp=lambda g, y, x, t: [
        g * (x - t) / s.maximum((1 - x) * x, 1e-12), g *
        (s.maximum(s.log1p(-x), -100) - _log_or_100(x))])


@function(method=False)
@precise
def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None,
                         reduction="mean"):
    """The cross entropy of probabilities with targets in [0, 1]."""
    if tuple(target.shape) != tuple(input.shape):
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}) is deprecated. Please ensure they have the same size.")
    if input.dtype is not target.dtype:
        raise RuntimeError(
            f"Found dtype {target.dtype.letter} but expected {input.dtype.letter}")
    if not ask(are_probabilities, input):
        raise RuntimeError("all elements of input should be between 0 and 1")
    if not ask(are_probabilities, target):
        raise RuntimeError("all elements of target should be between 0 and 1")
    x = apply(bce_op, (input, target), {})
    x = x if weight is None else (x * weight.expand(x.shape)).to(x.dtype)
    return reduced(x, legacy(size_average, reduce, reduction))


@function(method=False)
@precise
def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None,
                                     reduction="mean", pos_weight=None):
    """The cross entropy of sigmoid(input) with targets in [0, 1], computed stably."""
    if tuple(target.shape) != tuple(input.shape):
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    log_s = F["logsigmoid"](input)
    if pos_weight is None:
        x = (1 - target) * input - log_s
    else:
        x = (1 - target) * input - ((pos_weight - 1) * target + 1) * log_s
    x = x if weight is None else x * weight
    x = x if target.dtype.kind == BOOL else _of_the_type(x, target)
    return reduced(x, legacy(size_average, reduce, reduction))


@function(method=False)
@precise
def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """target * (log target - input), the input being log-probabilities."""
    if reduction == "mean" and size_average is None and reduce is None:
        modes.warn("kl_div: reduction='mean' divides by the number of all elements; the KL "
                   "divergence is the sum over each distribution. Use reduction='batchmean'.")
    for t in (input, target):
        if t.dtype.kind != FLOAT:
            raise RuntimeError(f"kl_div: inputs of type {t.dtype} are not supported")
    x = (target.exp() *
         (target - input) if log_target else F["xlogy"](target, target) - target * input)
    if reduction == "batchmean":
        return x.sum() / sizes_of(input)[0] if input.ndim else x.sum()
    return reduced(x, legacy(size_average, reduce, reduction))


@loss
def soft_margin_loss(input, target):
    """log(1 + exp(-target * input))"""
    if tuple(broadcast_shapes(input.shape, target.shape)) != tuple(input.shape):
        raise RuntimeError(f"output with shape {list(input.shape)} doesn't match the broadcast "
                           f"shape {list(broadcast_shapes(input.shape, target.shape))}")
    return _of_the_type(F["log1p"]((-(target * input)).exp()), input)


@function(method=False)
@loss
def hinge_embedding_loss(input, target, margin=1.0):
    """input where the target is 1, max(0, margin - input) where it is -1."""
    zero = F["zeros_like"](input)
    return (F["where"](target != 1,
                       (margin - input).clamp_min(0), zero) + F["where"](target != -1, input, zero))


@loss
def poisson_nll_loss(input, target, log_input=True, full=False, eps=1e-8):
    """The negative log likelihood of a Poisson variable."""
    x = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        x = x + F["where"](target <= 1, 0.0, stirling)
    return x


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """The negative log likelihood of a normal variable with the given variance."""
    if not is_tensor(var):
        if not isinstance(var, int | float):
            raise TypeError("var must be a float or a Tensor")
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = F["full_like"](input, var)
    if tuple(var.shape) != tuple(input.shape):
        if tuple(input.shape[:-1]) == tuple(var.shape):
            var = var.unsqueeze(-1)
        elif input.ndim != var.ndim or [m for n, m in zip(input.shape, var.shape) if n != m] != [1]:
            raise ValueError("var is of incorrect size")
    if ask(has_negative, var):
        raise ValueError("var has negative entry/entries")
    var = var.clone()
    with no_grad():
        var.clamp_(min=eps)
    x = 0.5 * (var.log() + (input - target) ** 2 / var)
    return reduced(x + 0.5 * math.log(2 * math.pi) if full else x, reduction)


@function(method=False)
@precise
def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None,
                        reduction="mean"):
    """max(0, -target * (input1 - input2) + margin)"""
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} ")
    return reduced((-target * (input1 - input2) + margin).clamp_min(0),
                   legacy(size_average, reduce, reduction))


@function(method=False)
@precise
def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None,
                          reduction="mean"):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
    for x in (input1, input2):
        if x.ndim != target.ndim + 1:
            raise RuntimeError(
                f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found "
                f"inputs with sizes {list(input1.shape)} and {list(input2.shape)}.")
    c = _cosine(input1, input2)
    x = F["where"](target == 1, 1 - c, F["where"](target == -1, (c - margin).clamp_min(0), 0.0))
    return reduced(x, legacy(size_average, reduce, reduction))


def _cosine(a, b, eps=1e-12):
    dim = a.ndim - 1
    return (a * b).sum(dim) / (((a * a).sum(dim) + eps) * ((b * b).sum(dim) + eps)).sqrt()


@precise
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False,
                        size_average=None, reduce=None, reduction="mean"):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin)"""
    return triplet_margin_with_distance_loss(
        anchor, positive, negative, distance_function=lambda a, b: pairwise_distance(a, b, p, eps),
        margin=margin, swap=swap, reduction=legacy(size_average, reduce, reduction))


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None,
                                      margin=1.0, swap=False, reduction="mean"):
    """`triplet_margin_loss` with any distance."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative "
            f"{negative.ndim}D inputs")
    d = distance_function or pairwise_distance
    near, far = d(anchor, positive), d(anchor, negative)
    if swap:
        far = F["minimum"](far, d(positive, negative))
    return reduced((near - far + margin).clamp_min(0), reduction)


@precise
def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None,
                      reduction="mean"):
    """The hinge loss of the target class against all others."""
    reduction = _known(legacy(size_average, reduce, reduction))
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    x2 = input if input.ndim == 2 else input.reshape(1, input.numel())
    if target.ndim > 1 or target.numel() != x2.shape[0]:
        raise RuntimeError(
            f"multi_margin_loss: inconsistent target size, expected {x2.shape[0]} but got "
            f"{list(target.shape)}")
    if weight is not None and weight.numel() != x2.shape[1]:
        raise RuntimeError(
            f"multi_margin_loss: inconsistent weight size, expected {x2.shape[1]} but got "
            f"{list(weight.shape)}")
    t = target.reshape(-1, 1)
    m = (margin - x2.gather(1, t) + x2).clamp_min(0)
    m = m if p == 1 else m * m
    if weight is not None:
        m = m * weight[t]
    is_target = F["arange"](x2.shape[1], device=t.device) == t
    r = m.masked_fill(is_target, 0).sum(1) / x2.shape[1]
    return reduced(r if target.ndim else r.squeeze(0), reduction)


@precise
def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """The hinge loss of every target class (listed up to the first -1) against every other
    class."""
    reduction = _known(legacy(size_average, reduce, reduction))
    if input.ndim > 2 or 0 in input.shape[-1:]:
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{list(input.shape)}")
    if input.ndim == 2 and target.shape != input.shape or target.numel() != input.numel():
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: "
                           f"{list(input.shape)}")
    if target.dtype is not int64:
        raise RuntimeError(f"multilabel_margin_loss: expected scalar type Long but found "
                           f"{target.dtype.letter}")
    x = input if input.ndim == 2 else input.reshape(1, input.numel())
    t = target if target.ndim == 2 else target.reshape(1, target.numel())
    valid = (t < 0).to(int64).cumsum(1) == 0
    safe = F["where"](valid, t, 0)
    is_target = F["zeros_like"](x).scatter_add(1, safe, valid.to(x.dtype)) > 0
    gaps = (1 - x.gather(1, safe).unsqueeze(2) + x.unsqueeze(1)).clamp_min(0)
    r = F["where"](valid.unsqueeze(2) & ~is_target.unsqueeze(1), gaps, 0.0).sum((1, 2)) / x.shape[1]
    return reduced(r if input.ndim == 2 else r.squeeze(0), reduction)


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None,
                                reduction="mean"):
    """The mean over classes of the binary cross entropy."""
    x = -(target * F["logsigmoid"](input) + (1 - target) * F["logsigmoid"](-input))
    x = x if weight is None else x * weight
    return reduced(x.sum(input.ndim - 1) / input.shape[-1],
                   legacy(size_average, reduce, reduction))
