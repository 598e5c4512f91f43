"""The cross entropy of a linear layer's results, of all rows at once or of some at a time."""
import dataclasses
import math

from .. import dtypes
from ..ops.contract import linear
from ..ops.loss import cross_entropy
from ..ops.registry import check_one_type, check_tensors
from ..ops.surface import FUNCTIONS as F
from ..utils.checkpoint import checkpoint

POLICIES = ("auto", "accurate", "balanced", "compact")


@dataclasses.dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How `linear_cross_entropy` is computed some rows at a time: the scores of all classes are
    kept for no more rows than those, and computed again in the backward.

    `batch_chunk_size` says how many rows. Else it goes by `chunking_method`: "aspect_ratio" takes
    so many that their scores need the memory of the input, "aspect_ratio:N" an N-th of them. Scores
    are computed in `acc_dtype`, by default float32 for halves. The gradient may be asked for again,
    so `allow_retain_graph` changes nothing, and all policies are the accurate one.

    >>> import whet
    >>> options = whet.nn.LinearCrossEntropyOptions(batch_chunk_size=1)
    >>> x, w, t = whet.ones(2, 3), whet.zeros(4, 3), whet.tensor([0, 3])
    >>> whet.nn.functional.linear_cross_entropy(x, w, t, options=options)
    tensor(1.3863)
    """
    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: dtypes.dtype | None = None

    def __post_init__(self):
        if self.acc_policy not in POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto"):
            name, _, part = self.chunking_method.partition(":")
            if name != "aspect_ratio" or not (part or "1").isdigit() or not int(part or "1"):
                raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and (not isinstance(size, int) or size <= 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype is not None and self.acc_dtype.category != dtypes.FLOAT:
            raise ValueError(f"acc_dtype must be a floating point type, got {self.acc_dtype!r}")


def linear_cross_entropy(input, linear_weight, target, *, linear_bias=None, weight=None,
                         reduction="mean", ignore_index=None, label_smoothing=0.0, options=None):
    """The cross entropy of a linear layer's results: of a weight of shape (classes, ..., features)
    they are (N, classes, ...). With `options` the scores of few rows at a time are in memory.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.linear_cross_entropy(whet.ones(2, 3), whet.zeros(4, 3), whet.tensor([0, 3]))
    tensor(1.3863)
    """
    check_tensors("linear_cross_entropy", input=input, linear_weight=linear_weight, target=target)
    if (input.ndim not in (1, 2) or linear_weight.ndim < 2
            or input.shape[-1] != linear_weight.shape[-1]):
        raise RuntimeError(
            "linear_cross_entropy: expected an input of 1 or 2 dimensions and a linear_weight of "
            f"as many features, got {tuple(input.shape)} and {tuple(linear_weight.shape)}")
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    classes, n = linear_weight.shape[:-1], linear_weight.shape[-1]
    if linear_bias is not None and linear_bias.shape != classes:
        raise RuntimeError(
            f"linear_cross_entropy: expected linear_bias shape {tuple(classes)}, got "
            f"{tuple(linear_bias.shape)}")
    if len(classes) > 1 and input.ndim == 1:
        raise RuntimeError("linear_cross_entropy: a weight of more than 2 dimensions needs a batch")
    of_classes = target.shape == (*input.shape[:-1], *classes)
    if ignore_index is not None and of_classes:
        raise RuntimeError(
            "linear_cross_entropy: ignore_index cannot be specified when target contains "
            "probabilities")
    scores = (linear_weight.reshape(math.prod(classes), n),
              None if linear_bias is None else linear_bias.reshape(-1))
    settings = {"weight": weight, "ignore_index": -100 if ignore_index is None else ignore_index,
                "label_smoothing": label_smoothing}
    if options is None or input.ndim == 2 and not len(input):
        return _loss(input, target, *scores, classes, reduction=reduction, **settings)
    check_one_type("linear_cross_entropy", input=input, linear_weight=linear_weight,
                   linear_bias=linear_bias, weight=weight)
    rows = (input, target) if input.ndim == 2 else (input.unsqueeze(0), target.unsqueeze(0))
    loss = _some_at_a_time(*rows, scores, classes, reduction, options, settings)
    return loss.reshape(()) if input.ndim == 1 else loss


def _rows(options, count, features, classes):
    """How many of `count` rows are computed at a time."""
    method = options.chunking_method
    if method == "auto":
        method = None if options.batch_chunk_size else "aspect_ratio:2"
    if method is None:
        return options.batch_chunk_size or max(count, 1)
    by_shape = -(-count // max(1, -(-classes // max(features, 1))))
    by_shape = (1 << max(by_shape - 1, 0).bit_length()) // int(method.partition(":")[2] or 1)
    by_shape = max(1, min(by_shape, count))
    if options.batch_chunk_size not in (None, by_shape):
        raise ValueError(
            f"batch_chunk_size (={options.batch_chunk_size}) and chunking_method ('{method}') "
            f"give different chunk sizes ({options.batch_chunk_size} vs {by_shape}); pass only "
            "one.")
    return by_shape


def _type_of_scores(options, dtype):
    """The type that the scores are computed in."""
    return options.acc_dtype or (dtypes.float32 if dtype.itemsize == 2 else dtype)


def _loss(input, target, matrix, bias, classes, **settings):
    logits = linear(input, matrix, bias)
    return cross_entropy(logits.reshape(*input.shape[:-1], *classes), target, **settings)


def _some_at_a_time(input, target, scores, classes, reduction, options, settings):
    """The loss of a batch, of which few rows have scores at a time."""
    rows = _rows(options, len(input), input.shape[1], classes[0])
    wide = _type_of_scores(options, input.dtype)

    def widened(x):
        return x.to(wide) if x is not None and x.dtype.category == dtypes.FLOAT else x

    def part(x, t, matrix, bias):
        return _loss(widened(x), widened(t), widened(matrix), widened(bias), classes,
                     **{**settings, "weight": widened(weight)},
                     reduction="none" if reduction == "none" else "sum")
    weight = settings["weight"]
    parts = [checkpoint(part, input[i:i + rows], target[i:i + rows], *scores)
             for i in range(0, len(input), rows)]
    if reduction == "none":
        return F["cat"](parts).to(input.dtype)
    total = F["stack"](parts).sum()
    if reduction == "mean":
        total = total / _weight_of(target, weight, classes, settings["ignore_index"], wide)
    return total.to(input.dtype)


def _weight_of(target, weight, classes, ignore_index, dtype):
    """What the mean of the losses is divided by."""
    if target.dtype.category == dtypes.FLOAT:
        return target.numel() / classes[0]
    counted = target != ignore_index
    if weight is None:
        return counted.sum().to(dtype)
    return (weight.to(dtype)[target.where(counted, 0)] * counted).sum()
