# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any
from whet.dtypes import dtype
from whet.nn.module import Module
from whet.tensor import Tensor
from whet.types import Device, Shape

class AdaptiveLogSoftmaxWithLoss(Module):
    in_features: int
    n_classes: int
    div_value: float
    head_bias: bool
    cutoffs: Shape
    shortlist_size: Any
    n_clusters: Any
    head_size: Any
    head: Any
    tail: Any
    def __init__(self, in_features: int, n_classes: int, cutoffs: Shape, div_value: float = 4.0, head_bias: bool = False, device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Any: """(log-probability of each target, their negated mean)"""
    def log_prob(self, input: Tensor) -> Tensor: """Log-probabilities of all classes."""
    def predict(self, input: Tensor) -> Tensor: """The likeliest class of each row (all classes are computed only where the head points to a cluster)."""
    def reset_parameters(self) -> None: """As the linear layers."""
    def __call__(self, input: Tensor, target: Tensor) -> Any: """(log-probability of each target, their negated mean)"""
