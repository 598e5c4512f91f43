"""Losses that ask for a margin between scores, or between distances."""
from ..dtypes import int64
from .autocast_to_float32 import precise
from .distances import pairwise_distance
from .loss import known_reduction, legacy, reduced
from .surface import FUNCTIONS as F
from .surface import function


@function(method=False)
@precise
def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None,
                        reduction="mean"):
    """max(0, -target * (input1 - input2) + margin)

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.margin_ranking_loss(whet.tensor([2., 1.]), whet.tensor([1., 3.]), whet.ones(2))
    tensor(1.)
    """
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} ")
    return reduced((-target * (input1 - input2) + float(margin)).clamp_min(0),
                   legacy(size_average, reduce, reduction))


@function(method=False)
@precise
def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None,
                          reduction="mean"):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.cosine_embedding_loss(whet.eye(2), whet.eye(2), whet.tensor([1., -1.]))
    tensor(0.5000)
    """
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
    """max(0, d(anchor, positive) - d(anchor, negative) + margin)

    >>> import whet
    >>> import whet.nn.functional as F
    >>> a, b = whet.tensor([[0., 0.]]), whet.tensor([[3., 4.]])
    >>> F.triplet_margin_loss(a, b, a)
    tensor(6.0000)
    """
    return triplet_margin_with_distance_loss(
        anchor, positive, negative, distance_function=lambda a, b: pairwise_distance(a, b, p, eps),
        margin=margin, swap=swap, reduction=legacy(size_average, reduce, reduction))


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None,
                                      margin=1.0, swap=False, reduction="mean"):
    """`triplet_margin_loss` with any distance.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> a, b = whet.tensor([[0., 0.]]), whet.tensor([[3., 4.]])
    >>> F.triplet_margin_with_distance_loss(a, b, a)
    tensor(6.0000)
    """
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
    """The hinge loss of the target class against all others.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.multi_margin_loss(whet.tensor([[0.1, 0.8]]), whet.tensor([1]))
    tensor(0.1500)
    """
    reduction = known_reduction(legacy(size_average, reduce, reduction))
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
    class.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.multilabel_margin_loss(whet.tensor([0.1, 0.2, 0.8]), whet.tensor([2, -1, 0]))
    tensor(0.2333)
    """
    reduction = known_reduction(legacy(size_average, reduce, reduction))
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
    """The mean over classes of the binary cross entropy.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.multilabel_soft_margin_loss(whet.tensor([[0., 2.]]), whet.tensor([[0., 1.]]))
    tensor(0.4100)
    """
    x = -(target * F["logsigmoid"](input) + (1 - target) * F["logsigmoid"](-input))
    x = x if weight is None else x * weight
    return reduced(x.sum(input.ndim - 1) / input.shape[-1],
                   legacy(size_average, reduce, reduction))
