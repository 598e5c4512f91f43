# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence
from typing import Any, Callable
from whet.dtypes import dtype
from whet.nn.module import Module
from whet.nn.parameter import Parameter
from whet.tensor import Tensor
from whet.types import Device, Number, Shape

class BCEWithLogitsLoss(Module):
    """Binary cross entropy of logits."""
    weight: Parameter
    size_average: bool | None
    reduce: bool | None
    reduction: str
    pos_weight: Tensor | None
    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', pos_weight: Tensor | None = None) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class CTCLoss(Module):
    """Connectionist temporal classification."""
    blank: int
    reduction: str
    zero_infinity: bool
    size_average: Any
    reduce: Any
    def __init__(self, blank: int = 0, reduction: str = 'mean', zero_infinity: bool = False) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor | Sequence[int], target_lengths: Tensor | Sequence[int]) -> Tensor: ...
    def __call__(self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor | Sequence[int], target_lengths: Tensor | Sequence[int]) -> Tensor: ...

class CosineEmbeddingLoss(Module):
    """1 - cos where target is 1, max(0, cos - margin) where it is -1."""
    margin: float
    size_average: bool | None
    reduce: bool | None
    reduction: str
    def __init__(self, margin: float = 0.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor: ...

class GaussianNLLLoss(Module):
    """Negative log-likelihood of normal samples with a given variance."""
    full: bool
    eps: float
    reduction: str
    size_average: Any
    reduce: Any
    def __init__(self, *, full: bool = False, eps: float = 1e-06, reduction: str = 'mean') -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor: ...

class HingeEmbeddingLoss(Module):
    """input where target is 1, max(0, margin - input) where it is -1."""
    margin: float
    size_average: bool | None
    reduce: bool | None
    reduction: str
    def __init__(self, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class HuberLoss(Module):
    """Quadratic below delta, linear above."""
    reduction: str
    delta: float
    size_average: Any
    reduce: Any
    def __init__(self, reduction: str = 'mean', delta: float = 1.0) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class KLDivLoss(Module):
    """target * (log(target) - input)"""
    size_average: bool | None
    reduce: bool | None
    reduction: str
    log_target: bool
    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', log_target: bool = False) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class L1Loss(Module):
    """|input - target|"""
    size_average: bool | None
    reduce: bool | None
    reduction: str
    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class MSELoss(Module):
    """(input - target)^2"""
    size_average: bool | None
    reduce: bool | None
    reduction: str
    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class MarginRankingLoss(Module):
    """max(0, -target * (input1 - input2) + margin)"""
    margin: float
    size_average: bool | None
    reduce: bool | None
    reduction: str
    def __init__(self, margin: float = 0.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor: ...

class MultiLabelMarginLoss(Module):
    """Margins between the classes that hold and those that do not."""
    size_average: bool | None
    reduce: bool | None
    reduction: str
    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class PoissonNLLLoss(Module):
    """Negative log-likelihood of Poisson counts."""
    log_input: bool
    full: bool
    size_average: bool | None
    eps: float
    reduce: bool | None
    reduction: str
    def __init__(self, log_input: bool = True, full: bool = False, size_average: bool | None = None, eps: float = 1e-08, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, log_input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, log_input: Tensor, target: Tensor) -> Tensor: ...

class SmoothL1Loss(Module):
    """Quadratic below beta, linear above."""
    size_average: bool | None
    reduce: bool | None
    reduction: str
    beta: Number
    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', beta: Number = 1.0) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class SoftMarginLoss(Module):
    """log(1 + exp(-target * input))"""
    size_average: bool | None
    reduce: bool | None
    reduction: str
    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class TripletMarginLoss(Module):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin)"""
    margin: float
    p: float
    eps: float
    swap: bool
    size_average: bool | None
    reduce: bool | None
    reduction: str
    def __init__(self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-06, swap: bool = False, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor: ...
    def __call__(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor: ...

class TripletMarginWithDistanceLoss(Module):
    """The triplet loss with a distance of one's own."""
    distance_function: Callable[..., Any] | None
    margin: float
    swap: bool
    reduction: str
    size_average: Any
    reduce: Any
    def __init__(self, *, distance_function: Callable[..., Any] | None = None, margin: float = 1.0, swap: bool = False, reduction: str = 'mean') -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor: ...
    def __call__(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor: ...

class BCELoss(Module):
    """Binary cross entropy of probabilities."""
    weight: Parameter
    size_average: bool | None
    reduce: bool | None
    reduction: str
    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class CrossEntropyLoss(Module):
    """Negative log-likelihood of classes (indices or probabilities) given logits."""
    weight: Parameter
    size_average: bool | None
    ignore_index: int
    reduce: bool | None
    reduction: str
    label_smoothing: float
    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100, reduce: bool | None = None, reduction: str = 'mean', label_smoothing: float = 0.0) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class LinearCrossEntropyLoss(Module):
    """A linear layer and the cross entropy of its outputs as one module: `loss(x, target)`."""
    size_average: Any
    reduce: Any
    reduction: str
    weight: Parameter
    num_classes: int
    out_features: int | Shape
    ignore_index: int | None
    label_smoothing: float
    options: Any
    linear: Any
    def __init__(self, in_features: int, num_classes: int, *, out_features: int | Shape = (), bias: bool = False, device: Device | None = None, dtype: dtype | None = None, reduction: str = 'mean', weight: Tensor | None = None, ignore_index: int | None = None, label_smoothing: float = 0.0, options: Any = None) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class MultiLabelSoftMarginLoss(Module):
    """Mean binary cross entropy of logits over the classes."""
    weight: Parameter
    size_average: bool | None
    reduce: bool | None
    reduction: str
    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class MultiMarginLoss(Module):
    """max(0, margin - input[target] + input[i])^p over the other classes i."""
    p: float
    margin: float
    weight: Parameter
    size_average: bool | None
    reduce: bool | None
    reduction: str
    def __init__(self, p: float = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class NLLLoss(Module):
    """-input[target], for log-probabilities."""
    weight: Parameter
    size_average: bool | None
    ignore_index: int
    reduce: bool | None
    reduction: str
    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class NLLLoss2d(NLLLoss):
    """The old name of NLLLoss."""
