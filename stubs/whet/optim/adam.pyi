# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Callable, Iterable
from whet.optim.optimizer import Optimizer
from whet.tensor import Tensor

class Adam(Optimizer):
    """Steps scaled by running means of the gradient and of its square."""
    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 0.001, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-08, weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False, capturable: bool = False, differentiable: bool = False, fused: bool | None = None, decoupled_weight_decay: bool = False) -> None: ...
    fills_sparse: bool
    def step(self, closure: Callable[..., Any] | None = None) -> None: """One update of all parameters that have a gradient."""

class Adamax(Optimizer):
    """Adam with a running maximum in place of the running square."""
    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 0.002, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-08, weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False, capturable: bool = False) -> None: ...
    fills_sparse: bool
    def step(self, closure: Callable[..., Any] | None = None) -> None: """One update of all parameters that have a gradient."""

class NAdam(Optimizer):
    """Adam with Nesterov momentum."""
    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 0.002, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-08, weight_decay: float = 0, momentum_decay: float = 0.004, decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False, capturable: bool = False, differentiable: bool = False) -> None: ...
    fills_sparse: bool
    def step(self, closure: Callable[..., Any] | None = None) -> None: """One update of all parameters that have a gradient."""

class RAdam(Optimizer):
    """Adam that uses the second moment only once its variance is tractable."""
    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 0.001, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-08, weight_decay: float = 0, decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False, capturable: bool = False, differentiable: bool = False) -> None: ...
    fills_sparse: bool
    def step(self, closure: Callable[..., Any] | None = None) -> None: """One update of all parameters that have a gradient."""

class AdamW(Adam):
    """Adam with weight decay apart from the gradient."""
    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 0.001, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-08, weight_decay: float = 0.01, amsgrad: bool = False, *, maximize: bool = False, foreach: bool | None = None, capturable: bool = False, differentiable: bool = False, fused: bool | None = None) -> None: ...
