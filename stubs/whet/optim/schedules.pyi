# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence
from typing import Any, Callable
from whet.optim.optimizer import Optimizer
from whet.types import Shape

class LRScheduler:
    optimizer: Optimizer
    base_lrs: list[float]
    last_epoch: int
    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None: ...
    def get_last_lr(self) -> list[float]: """The learning rates that were set last."""
    def get_lr(self) -> list[float]: """The learning rates of the groups now."""
    def load_state_dict(self, state_dict: dict[str, Any]) -> None: """Take over a state."""
    def state_dict(self) -> dict[str, Any]: """Everything but the optimizer."""
    def step(self, epoch: int | None = None) -> None: """Go to the next epoch (or, deprecated, to a given one)."""

class ConstantLR(LRScheduler):
    """Times `factor` until `total_iters`."""
    factor: float
    total_iters: int
    def __init__(self, optimizer: Optimizer, factor: float = 0.3333333333333333, total_iters: int = 5, last_epoch: int = -1) -> None: ...
    def get_lr(self) -> list[float]: """The learning rates of the groups now."""

class CosineAnnealingLR(LRScheduler):
    """To `eta_min` in `T_max` epochs along a cosine (and back)."""
    T_max: int
    eta_min: float
    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None: ...
    def get_lr(self) -> list[float]: """The learning rates of the groups now."""

class ExponentialLR(LRScheduler):
    """Times gamma every epoch."""
    gamma: float
    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None: ...
    def get_lr(self) -> list[float]: """The learning rates of the groups now."""

class LambdaLR(LRScheduler):
    """The initial rate times a function of the epoch."""
    lr_lambdas: Any
    def __init__(self, optimizer: Optimizer, lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]], last_epoch: int = -1) -> None: ...
    def get_lr(self) -> list[float]: """The learning rates of the groups now."""
    def load_state_dict(self, state_dict: dict[str, Any]) -> None: """Take over a state."""
    def state_dict(self) -> dict[str, Any]: """Everything but the optimizer and plain functions (callable objects give their attributes)."""

class LinearLR(LRScheduler):
    """A factor that goes from `start_factor` to `end_factor` in `total_iters` epochs."""
    start_factor: float
    end_factor: float
    total_iters: int
    def __init__(self, optimizer: Optimizer, start_factor: float = 0.3333333333333333, end_factor: float = 1.0, total_iters: int = 5, last_epoch: int = -1) -> None: ...
    def get_lr(self) -> list[float]: """The learning rates of the groups now."""

class MultiStepLR(LRScheduler):
    """Times gamma at each milestone."""
    milestones: Shape
    gamma: float
    def __init__(self, optimizer: Optimizer, milestones: Shape, gamma: float = 0.1, last_epoch: int = -1) -> None: ...
    def get_lr(self) -> list[float]: """The learning rates of the groups now."""

class PolynomialLR(LRScheduler):
    """Decays the learning rate to zero in `total_iters` epochs, as a power of the remaining fraction."""
    total_iters: int
    power: float
    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None: ...
    def get_lr(self) -> list[float]: """The learning rates of the groups now."""

class StepLR(LRScheduler):
    """Times gamma every `step_size` epochs."""
    step_size: int
    gamma: float
    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None: ...
    def get_lr(self) -> list[float]: """The learning rates of the groups now."""

class MultiplicativeLR(LambdaLR):
    """The last rate times a function of the epoch."""
    def get_lr(self) -> list[float]: """The learning rates of the groups now."""
