"""Losses."""
from typing import Any

import whet
import whet.nn.functional as F

from ....tensor import Tensor
from ..definition import Call, operator

FAR = -(2**62)                   # an index that no class has


def negative_log_likelihood(x: Tensor, target: Tensor, weight: Tensor | None, reduction: str,
                            ignored: int | None) -> Tensor:
    """The loss of log probabilities [n, c, ...]."""
    wide = x if x.dtype in (whet.float32, whet.float64) else x.to(whet.float32)
    weight = None if weight is None else weight.to(wide.dtype)
    index = -100 if ignored is None else ignored
    shape = list(target.shape)
    if wide.ndim not in (2, 4):
        wide = wide.reshape(x.shape[0], x.shape[1], -1, 1)
        target = target.reshape(target.shape[0], -1, 1)
    found = F.nll_loss(wide, target.to(whet.int64), weight, ignore_index=index,
                       reduction=reduction)
    return (found.reshape(shape) if reduction == "none" else found).to(x.dtype)


@operator("NegativeLogLikelihoodLoss")
def negative_log_likelihood_loss(x: Tensor, target: Tensor, weight: Tensor | None = None, *,
                                 ignore_index: int | None = None,
                                 reduction: str = "mean") -> Tensor:
    return negative_log_likelihood(x, target, weight, reduction, ignore_index)


@operator("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy_loss(scores: Tensor, labels: Tensor, weights: Tensor | None = None, *,
                               ignore_index: int | None = None, reduction: str = "mean",
                               call: Call) -> Any:
    logs = whet.log_softmax(scores, 1)
    loss = negative_log_likelihood(logs, labels, weights, reduction, ignore_index)
    return (loss, logs) if call.wants(1) else loss
