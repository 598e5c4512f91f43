# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence
from typing import Any, Callable, Iterable
from whet.nn.module import Module
from whet.optim.optimizer import Optimizer
from whet.optim.schedules import LRScheduler
from whet.tensor import Tensor
from whet.types import Device


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Any]: """Exponential moving average of a tensor."""
def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., Any]: """Exponential moving average of lists of tensors, in place."""
def get_swa_avg_fn() -> Callable[..., Any]: """Mean of all so far, of a tensor."""
def get_swa_multi_avg_fn() -> Callable[..., Any]: """Mean of all so far, of lists of tensors, in place."""
def update_bn(loader: Iterable[Any], model: Module, device: Device | None = None) -> None: """Compute the running statistics of all batch norms again, from one pass over the data."""

class SWALR(LRScheduler):
    """Anneal to a fixed rate in `anneal_epochs` epochs, and stay there."""
    anneal_epochs: int
    def __init__(self, optimizer: Optimizer, swa_lr: float | Sequence[float], anneal_epochs: int = 10, anneal_strategy: str = 'cos', last_epoch: int = -1) -> None: ...
    def get_lr(self) -> list[float]: """The learning rates of the groups now."""

class AveragedModel(Module):
    """A copy of a model whose parameters are averages over the calls of `update_parameters`."""
    module: Any
    avg_fn: Callable[..., Any] | None
    multi_avg_fn: Callable[..., Any] | None
    use_buffers: bool
    n_averaged: Tensor
    def __init__(self, model: Module, device: Device | None = None, avg_fn: Callable[..., Any] | None = None, multi_avg_fn: Callable[..., Any] | None = None, use_buffers: bool = False) -> None: ...
    def forward(self, *args: Any, **kwargs: Any) -> Any: ...
    def update_parameters(self, model: Module) -> None: """Take the model's present parameters into the average."""
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
