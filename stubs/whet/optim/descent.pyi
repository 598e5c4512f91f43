# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Callable, Iterable
from whet.optim.optimizer import Optimizer
from whet.tensor import Tensor
from whet.types import Number

class ASGD(Optimizer):
    """Averaged stochastic gradient descent: `ax` is the running average of the parameters."""
    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 0.01, lambd: Number = 0.0001, alpha: Number = 0.75, t0: float = 1000000.0, weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False, differentiable: bool = False, capturable: bool = False) -> None: ...
    fills_sparse: bool
    def step(self, closure: Callable[..., Any] | None = None) -> None: """One update of all parameters that have a gradient."""

class Adadelta(Optimizer):
    """Steps scaled by the ratio of past steps to past gradients."""
    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 1.0, rho: float = 0.9, eps: float = 1e-06, weight_decay: float = 0, foreach: bool | None = None, *, capturable: bool = False, maximize: bool = False, differentiable: bool = False) -> None: ...
    fills_sparse: bool
    def step(self, closure: Callable[..., Any] | None = None) -> None: """One update of all parameters that have a gradient."""

class Adagrad(Optimizer):
    """Steps scaled by the sum of the gradient's squares."""
    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 0.01, lr_decay: float = 0, weight_decay: float = 0, initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False, fused: bool | None = None) -> None: ...
    fills_sparse: bool
    def share_memory(self) -> None: """Put the sums where other processes can see them."""
    def step(self, closure: Callable[..., Any] | None = None) -> None: """One update of all parameters that have a gradient."""

class RMSprop(Optimizer):
    """Steps scaled by the running mean of the gradient's square."""
    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 0.01, alpha: Number = 0.99, eps: float = 1e-08, weight_decay: float = 0, momentum: float = 0, centered: bool = False, capturable: bool = False, foreach: bool | None = None, maximize: bool = False, differentiable: bool = False) -> None: ...
    fills_sparse: bool
    def step(self, closure: Callable[..., Any] | None = None) -> None: """One update of all parameters that have a gradient."""

class Rprop(Optimizer):
    """Steps that look at the gradient's sign only: they grow while it stays, and shrink when it turns."""
    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 0.01, etas: tuple[float, float] = (0.5, 1.2), step_sizes: tuple[float, float] = (1e-06, 50), *, capturable: bool = False, foreach: bool | None = None, maximize: bool = False, differentiable: bool = False) -> None: ...
    fills_sparse: bool
    def step(self, closure: Callable[..., Any] | None = None) -> None: """One update of all parameters that have a gradient."""

class SGD(Optimizer):
    """Stochastic gradient descent, with momentum if asked for."""
    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 0.001, momentum: float = 0, dampening: float = 0, weight_decay: float = 0, nesterov: bool = False, *, maximize: bool = False, foreach: bool | None = None, differentiable: bool = False, fused: bool | None = None) -> None: ...
    fills_sparse: bool
    def step(self, closure: Callable[..., Any] | None = None) -> None: """One update of all parameters that have a gradient."""
