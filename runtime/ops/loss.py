"""Losses: functions over other ops."""
import math

import numpy as np

from .. import devices
from ..autograd import modes
from ..autograd.modes import no_grad
from ..dtypes import BOOL, FLOAT, INT, can_cast, int64
from ..ir import scalar as s
from ..size_arguments import broadcast_shapes
from .argument_guards import guard
from .autocast_to_float32 import precise
from .convert import cast
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
    known_reduction(reduction)
    return loss


def known_reduction(reduction):
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


def _check_input_and_target(name, input, target):
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
    """The absolute difference.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.l1_loss(whet.tensor([0., 0.]), whet.tensor([1., 3.]))
    tensor(2.)
    """
    return _weighted("l1_loss",
                     F["abs"](_diff("l1_loss", input, target)),
                     weight,
                     legacy(size_average, reduce, reduction))


def _diff(name, input, target, reals=False):
    """The difference, in the common type; of real numbers alone, where it has to be."""
    _check_input_and_target(name, input, target)
    if reals:
        input, target = common_type([input, target])
        if input.dtype.category != FLOAT:
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
    """Squared near zero (below beta), absolute beyond.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.smooth_l1_loss(whet.tensor([0., 0.]), whet.tensor([0.5, 3.]))
    tensor(1.3125)
    """
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
    """delta times the smooth L1 loss with beta = delta.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.huber_loss(whet.tensor([0., 0.]), whet.tensor([1., 3.]))
    tensor(1.5000)
    """
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
    """Minus the log-probability of the target class.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.nll_loss(whet.zeros(2, 4).log_softmax(-1), whet.tensor([0, 3]))
    tensor(1.3863)
    """
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
    if target.dtype.category != INT:
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
    # On a device nothing waits for the answer: the kernel that reads by the target checks it.
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
    if target.dtype.category == FLOAT:                                               # probabilities
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
    """The cross entropy of probabilities with targets in [0, 1].

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.binary_cross_entropy(whet.tensor([0.5, 0.9]), whet.tensor([0., 1.]))
    tensor(0.3993)
    """
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
    """The cross entropy of sigmoid(input) with targets in [0, 1], computed stably.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.binary_cross_entropy_with_logits(whet.tensor([0., 3.]), whet.tensor([0., 1.]))
    tensor(0.3709)
    """
    if tuple(target.shape) != tuple(input.shape):
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    log_s = F["logsigmoid"](input)
    if pos_weight is None:
        x = (1 - target) * input - log_s
    else:
        x = (1 - target) * input - ((pos_weight - 1) * target + 1) * log_s
    x = x if weight is None else x * weight
    x = x if target.dtype.category == BOOL else _of_the_type(x, target)
    return reduced(x, legacy(size_average, reduce, reduction))


@function(method=False)
@precise
def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """target * (log target - input), the input being log-probabilities.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.kl_div(whet.tensor([0.5, 0.5]).log(), whet.tensor([0.25, 0.75]), reduction="sum")
    tensor(0.1308)
    """
    if reduction == "mean" and size_average is None and reduce is None:
        modes.warn("kl_div: reduction='mean' divides by the number of all elements; the KL "
                   "divergence is the sum over each distribution. Use reduction='batchmean'.")
    for t in (input, target):
        if t.dtype.category != FLOAT:
            raise RuntimeError(f"kl_div: inputs of type {t.dtype} are not supported")
    x = (target.exp() *
         (target - input) if log_target else F["xlogy"](target, target) - target * input)
    if reduction == "batchmean":
        return x.sum() / sizes_of(input)[0] if input.ndim else x.sum()
    return reduced(x, legacy(size_average, reduce, reduction))


@loss
def soft_margin_loss(input, target):
    """log(1 + exp(-target * input))

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.soft_margin_loss(whet.tensor([0., 2.]), whet.tensor([-1., 1.]))
    tensor(0.4100)
    """
    if tuple(broadcast_shapes(input.shape, target.shape)) != tuple(input.shape):
        raise RuntimeError(f"output with shape {list(input.shape)} doesn't match the broadcast "
                           f"shape {list(broadcast_shapes(input.shape, target.shape))}")
    return _of_the_type(F["log1p"]((-(target * input)).exp()), input)


@function(method=False)
@loss
def hinge_embedding_loss(input, target, margin=1.0):
    """input where the target is 1, max(0, margin - input) where it is -1.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.hinge_embedding_loss(whet.tensor([0.5, 0.25]), whet.tensor([1., -1.]))
    tensor(0.6250)
    """
    zero = F["zeros_like"](input)
    return (F["where"](target != 1,
                       (margin - input).clamp_min(0), zero) + F["where"](target != -1, input, zero))


@loss
def poisson_nll_loss(input, target, log_input=True, full=False, eps=1e-8):
    """The negative log likelihood of a Poisson variable.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.poisson_nll_loss(whet.tensor([0., 1.]), whet.tensor([1., 2.]))
    tensor(0.8591)
    """
    x = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        x = x + F["where"](target <= 1, 0.0, stirling)
    return x


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """The negative log likelihood of a normal variable with the given variance.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.gaussian_nll_loss(whet.tensor([1., 2.]), whet.tensor([1., 4.]), whet.ones(2))
    tensor(1.)
    """
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
