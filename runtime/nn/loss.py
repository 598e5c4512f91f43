"""Losses. Each takes the arguments of the function of the same name in `nn.functional`."""
import math
from typing import Any

from ..ops.loss import legacy
from ..tensor import Tensor
from . import functional as F
from .layer import Layer, layer
from .linear import Linear
from .parameter import Buffer
from .shape import PairwiseDistance

__all__ = [
    "L1Loss", "MSELoss", "SmoothL1Loss", "HuberLoss", "NLLLoss", "NLLLoss2d", "CrossEntropyLoss",
    "BCELoss", "BCEWithLogitsLoss", "KLDivLoss", "PoissonNLLLoss", "GaussianNLLLoss",
    "HingeEmbeddingLoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "SoftMarginLoss",
    "MultiMarginLoss", "MarginRankingLoss", "CosineEmbeddingLoss", "TripletMarginLoss",
    "TripletMarginWithDistanceLoss", "CTCLoss", "LinearCrossEntropyLoss"]


class _Loss(Layer):
    shown = ()
    unpassed = ("size_average", "reduce")

    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        super().__init__()
        self.size_average, self.reduce, self.reduction = size_average, reduce, reduction
        self.prepare()

    def prepare(self):
        """`size_average` and `reduce` are the old way to say `reduction`."""
        average, reduce = self.__dict__.pop("size_average", None), self.__dict__.pop("reduce", None)
        for name, value in (("size_average", average), ("reduce", reduce)):
            if isinstance(value, Tensor):
                raise TypeError(
                    f"{type(self).__name__}: {name} must be a bool, not a Tensor. Make the loss "
                    f"first, then call it: nn.{type(self).__name__}()(input, target)")
        if average is not None or reduce is not None:
            self.reduction = legacy(average, reduce, self.reduction)


def _check_margin(module):
    if module.margin <= 0:
        raise ValueError(f"{type(module).__name__}: expected margin to be greater than 0, got "
                         f"{module.margin} instead")


class _WeightedLoss(_Loss):
    """A loss with a weight for each class."""

    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


@layer("l1_loss", "input, target")
class L1Loss(_Loss):
    """|input - target|

    >>> import whet
    >>> from whet import nn
    >>> nn.L1Loss()(whet.tensor([0., 0.]), whet.tensor([1., 3.]))
    tensor(2.)
    """
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


@layer("mse_loss", "input, target")
class MSELoss(_Loss):
    """(input - target)^2

    >>> import whet
    >>> from whet import nn
    >>> nn.MSELoss()(whet.tensor([0., 0.]), whet.tensor([1., 3.]))
    tensor(5.)
    """
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


@layer("smooth_l1_loss", "input, target")
class SmoothL1Loss(_Loss):
    """Quadratic below beta, linear above.

    >>> import whet
    >>> from whet import nn
    >>> nn.SmoothL1Loss()(whet.tensor([0., 0.]), whet.tensor([0.5, 3.]))
    tensor(1.3125)
    """
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"
    beta: float = 1.0


@layer("huber_loss", "input, target")
class HuberLoss(_Loss):
    """Quadratic below delta, linear above.

    >>> import whet
    >>> from whet import nn
    >>> nn.HuberLoss()(whet.tensor([0., 0.]), whet.tensor([1., 3.]))
    tensor(1.5000)
    """
    reduction: str = "mean"
    delta: float = 1.0

    def prepare(self):
        super().prepare()
        if not isinstance(self.delta, int | float):
            raise TypeError(f"delta must be a float or int, got: {type(self.delta)}")


@layer("nll_loss", "input, target")
class NLLLoss(_WeightedLoss):
    """-input[target], for log-probabilities.

    >>> import whet
    >>> from whet import nn
    >>> nn.NLLLoss()(whet.zeros(2, 4).log_softmax(-1), whet.tensor([0, 3]))
    tensor(1.3863)
    """
    weight: Buffer = None
    size_average: bool | None = None
    ignore_index: int = -100
    reduce: bool | None = None
    reduction: str = "mean"


class NLLLoss2d(NLLLoss):
    """The old name of NLLLoss.

    >>> import whet
    >>> from whet import nn
    >>> nn.NLLLoss2d()(whet.zeros(1, 4, 2, 2).log_softmax(1), whet.zeros(1, 2, 2, dtype=whet.long))
    tensor(1.3863)
    """


@layer("cross_entropy", "input, target")
class CrossEntropyLoss(_WeightedLoss):
    """Negative log-likelihood of classes (indices or probabilities) given logits.

    >>> import whet
    >>> from whet import nn
    >>> nn.CrossEntropyLoss()(whet.zeros(2, 4), whet.tensor([0, 3]))
    tensor(1.3863)
    """
    weight: Buffer = None
    size_average: bool | None = None
    ignore_index: int = -100
    reduce: bool | None = None
    reduction: str = "mean"
    label_smoothing: float = 0.0


@layer("binary_cross_entropy", "input, target")
class BCELoss(_WeightedLoss):
    """Binary cross entropy of probabilities.

    >>> import whet
    >>> from whet import nn
    >>> nn.BCELoss()(whet.tensor([0.5, 0.9]), whet.tensor([0., 1.]))
    tensor(0.3993)
    """
    weight: Buffer = None
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


@layer("binary_cross_entropy_with_logits", "input, target")
class BCEWithLogitsLoss(_Loss):
    """Binary cross entropy of logits.

    >>> import whet
    >>> from whet import nn
    >>> nn.BCEWithLogitsLoss()(whet.tensor([0., 3.]), whet.tensor([0., 1.]))
    tensor(0.3709)
    """
    weight: Buffer = None
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"
    pos_weight: Buffer = None


@layer("kl_div", "input, target")
class KLDivLoss(_Loss):
    """target * (log(target) - input)

    >>> import whet
    >>> from whet import nn
    >>> p = whet.tensor([[0.5, 0.5]])
    >>> nn.KLDivLoss(reduction="batchmean")(p.log(), whet.tensor([[0.25, 0.75]]))
    tensor(0.1308)
    """
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"
    log_target: bool = False


@layer()
class PoissonNLLLoss(_Loss):
    """Negative log-likelihood of Poisson counts.

    >>> import whet
    >>> from whet import nn
    >>> nn.PoissonNLLLoss()(whet.tensor([0., 1.]), whet.tensor([1., 2.]))
    tensor(0.8591)
    """
    log_input: bool = True
    full: bool = False
    size_average: bool | None = None
    eps: float = 1e-8
    reduce: bool | None = None
    reduction: str = "mean"

    def forward(self, log_input, target):
        return F.poisson_nll_loss(log_input, target, log_input=self.log_input, full=self.full,
                                  eps=self.eps, reduction=self.reduction)


@layer("gaussian_nll_loss", "input, target, var")
class GaussianNLLLoss(_Loss):
    """Negative log-likelihood of normal samples with a given variance.

    >>> import whet
    >>> from whet import nn
    >>> nn.GaussianNLLLoss()(whet.tensor([1., 2.]), whet.tensor([1., 4.]), whet.tensor([1., 1.]))
    tensor(1.)
    """
    full: bool = False
    eps: float = 1e-6
    reduction: str = "mean"
    keyword_only = "full"


@layer("hinge_embedding_loss", "input, target")
class HingeEmbeddingLoss(_Loss):
    """input where target is 1, max(0, margin - input) where it is -1.

    >>> import whet
    >>> from whet import nn
    >>> nn.HingeEmbeddingLoss()(whet.tensor([0.5, 0.25]), whet.tensor([1., -1.]))
    tensor(0.6250)
    """
    margin: float = 1.0
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


@layer("multilabel_margin_loss", "input, target")
class MultiLabelMarginLoss(_Loss):
    """Margins between the classes that hold and those that do not.

    >>> import whet
    >>> from whet import nn
    >>> nn.MultiLabelMarginLoss()(whet.tensor([[0.1, 0.2, 0.8]]), whet.tensor([[2, -1, 0]]))
    tensor(0.2333)
    """
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


@layer("multilabel_soft_margin_loss", "input, target")
class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Mean binary cross entropy of logits over the classes.

    >>> import whet
    >>> from whet import nn
    >>> nn.MultiLabelSoftMarginLoss()(whet.tensor([[0., 2.]]), whet.tensor([[0., 1.]]))
    tensor(0.4100)
    """
    weight: Buffer = None
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


@layer("soft_margin_loss", "input, target")
class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input))

    >>> import whet
    >>> from whet import nn
    >>> nn.SoftMarginLoss()(whet.tensor([0., 2.]), whet.tensor([-1., 1.]))
    tensor(0.4100)
    """
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


@layer("multi_margin_loss", "input, target")
class MultiMarginLoss(_WeightedLoss):
    """max(0, margin - input[target] + input[i])^p over the other classes i.

    >>> import whet
    >>> from whet import nn
    >>> nn.MultiMarginLoss()(whet.tensor([[0.1, 0.8]]), whet.tensor([1]))
    tensor(0.1500)
    """
    p: int = 1
    margin: float = 1.0
    weight: Buffer = None
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"

    def prepare(self):
        _Loss.prepare(self)
        if self.p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if self.weight is not None and self.weight.ndim != 1:
            raise ValueError(
                f"MultiMarginLoss: expected weight to be None or 1D tensor, got "
                f"{self.weight.ndim}D instead")


@layer("margin_ranking_loss", "input1, input2, target")
class MarginRankingLoss(_Loss):
    """max(0, -target * (input1 - input2) + margin)

    >>> import whet
    >>> from whet import nn
    >>> nn.MarginRankingLoss()(whet.tensor([2., 1.]), whet.tensor([1., 3.]), whet.tensor([1., 1.]))
    tensor(1.)
    """
    margin: float = 0.0
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


@layer("cosine_embedding_loss", "input1, input2, target")
class CosineEmbeddingLoss(_Loss):
    """1 - cos where target is 1, max(0, cos - margin) where it is -1.

    >>> import whet
    >>> from whet import nn
    >>> nn.CosineEmbeddingLoss()(whet.eye(2), whet.eye(2), whet.tensor([1., -1.]))
    tensor(0.5000)
    """
    margin: float = 0.0
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


@layer("triplet_margin_loss", "anchor, positive, negative")
class TripletMarginLoss(_Loss):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin)

    >>> import whet
    >>> from whet import nn
    >>> a, b = whet.tensor([[0., 0.]]), whet.tensor([[3., 4.]])
    >>> nn.TripletMarginLoss()(a, b, a)
    tensor(6.0000)
    """
    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"

    def prepare(self):
        _Loss.prepare(self)
        _check_margin(self)


@layer("triplet_margin_with_distance_loss", "anchor, positive, negative")
class TripletMarginWithDistanceLoss(_Loss):
    """The triplet loss with a distance of one's own.

    >>> import whet
    >>> from whet import nn
    >>> def distance(x, y):
    ...     return (x - y).abs().sum(-1)
    >>> loss = nn.TripletMarginWithDistanceLoss(distance_function=distance)
    >>> a, b = whet.tensor([[0., 0.]]), whet.tensor([[3., 4.]])
    >>> loss(a, b, a)
    tensor(8.)
    """
    distance_function: Any = None
    margin: float = 1.0
    swap: bool = False
    reduction: str = "mean"
    keyword_only = "distance_function"

    def prepare(self):
        _Loss.prepare(self)
        _check_margin(self)
        if self.distance_function is None:
            self.distance_function = PairwiseDistance()


@layer()
class CTCLoss(_Loss):
    """Connectionist temporal classification.

    >>> import whet
    >>> from whet import nn
    >>> log_probs = whet.zeros(4, 1, 3).log_softmax(-1)
    >>> nn.CTCLoss()(log_probs, whet.tensor([[1, 2]]), whet.tensor([4]), whet.tensor([2]))
    tensor(0.8432)
    """
    blank: int = 0
    reduction: str = "mean"
    zero_infinity: bool = False

    def forward(self, log_probs, targets, input_lengths, target_lengths):
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank,
                          self.reduction, self.zero_infinity)


class LinearCrossEntropyLoss(_WeightedLoss):
    """A linear layer and the cross entropy of its outputs as one module: `loss(x, target)`.

    >>> import whet
    >>> from whet import nn
    >>> nn.LinearCrossEntropyLoss(3, 4)(whet.ones(2, 3), whet.tensor([0, 3])).shape
    whet.Size([])
    """

    def __init__(self, in_features, num_classes, *, out_features=(), bias=False, device=None,
                 dtype=None, reduction="mean", weight=None, ignore_index=None, label_smoothing=0.0,
                 options=None):
        super().__init__(weight, reduction=reduction)
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(
                f"LinearCrossEntropyLoss: expected weight shape to be {(num_classes,)}, got "
                f"{tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(
                f"LinearCrossEntropyLoss: expected label_smoothing in [0, 1], got {label_smoothing}"
            )
        self.num_classes, self.out_features = num_classes, tuple(out_features)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        self.options = options
        self.linear = Linear(in_features, math.prod(self.out_features, start=num_classes),
                             bias=bias, device=device, dtype=dtype)

    def forward(self, input, target):
        if input.ndim > 1 and target.ndim and input.shape[0] != target.shape[0]:
            raise ValueError(
                f"Expected input batch_size ({input.shape[0]}) to match target batch_size "
                f"({target.shape[0]}).")
        classes, linear = (self.num_classes, *self.out_features), self.linear
        bias: Any = linear.bias
        weight: Any = linear.weight
        return F.linear_cross_entropy(
            input, weight.unflatten(0, classes), target,
            linear_bias=None if bias is None else bias.unflatten(0, classes),
            weight=self.weight, reduction=self.reduction, ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing, options=self.options)

    def extra_repr(self):
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}")
