# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence
from typing import Any, Callable
from whet.optim.optimizer import Optimizer
from whet.optim.schedules import LRScheduler
from whet.tensor import Tensor
from whet.types import Shape

class ChainedScheduler(LRScheduler):
    """Steps several schedulers at once; their factors multiply."""
    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None: ...
    def load_state_dict(self, state_dict: dict[str, Any]) -> None: """Take over a state."""
    def state_dict(self) -> dict[str, Any]: """Everything but the optimizer."""
    def step(self) -> None: """Go to the next epoch."""  # type: ignore[override]

class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosine annealing that starts again after `T_0` epochs, each time after `T_mult` times as many."""
    T_0: int
    T_i: Any
    T_mult: int
    eta_min: float
    T_cur: Any
    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1) -> None: ...
    def get_lr(self) -> list[float]: """The learning rates of the groups now."""
    def step(self, epoch: int | None = None) -> None: """Go on by one epoch, or to a (fractional) one."""

class CyclicLR(LRScheduler):
    """Back and forth between two rates (and, the other way round, between two momenta)."""
    max_lrs: Any
    total_size: Any
    step_ratio: Any
    mode: Tensor
    gamma: float
    scale_mode: str
    cycle_momentum: bool
    base_momentums: Any
    max_momentums: Any
    def __init__(self, optimizer: Optimizer, base_lr: float | Sequence[float], max_lr: float | Sequence[float], step_size_up: int = 2000, step_size_down: int | None = None, mode: str = 'triangular', gamma: float = 1.0, scale_fn: Callable[[float], float] | None = None, scale_mode: str = 'cycle', cycle_momentum: bool = True, base_momentum: float | Sequence[float] = 0.8, max_momentum: float | Sequence[float] = 0.9, last_epoch: int = -1) -> None: ...
    def get_lr(self) -> list[float]: """The learning rates of the groups now."""
    def load_state_dict(self, state_dict: dict[str, Any]) -> None: """Take over a state."""
    def scale_fn(self, x: Tensor) -> float: """The height of a cycle, of its number or of the iteration."""
    def state_dict(self) -> dict[str, Any]: """Everything but the optimizer and a plain scale function."""

class OneCycleLR(LRScheduler):
    """Up to `max_lr` and down to almost nothing, in one cycle."""
    total_steps: int | None
    cycle_momentum: bool
    use_beta1: Any
    def __init__(self, optimizer: Optimizer, max_lr: float | Sequence[float], total_steps: int | None = None, epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3, anneal_strategy: str = 'cos', cycle_momentum: bool = True, base_momentum: float | Sequence[float] = 0.85, max_momentum: float | Sequence[float] = 0.95, div_factor: float = 25.0, final_div_factor: float = 10000.0, three_phase: bool = False, last_epoch: int = -1) -> None: ...
    def get_lr(self) -> list[float]: """The learning rates of the groups now."""

class ReduceLROnPlateau(LRScheduler):
    """Times `factor` when a metric has not improved for `patience` epochs."""
    mode: Tensor
    factor: float
    patience: int
    threshold: float
    threshold_mode: str
    cooldown: int
    eps: float
    min_lrs: Any
    best: Any
    cooldown_counter: Any
    num_bad_epochs: Any
    def __init__(self, optimizer: Optimizer, mode: str = 'min', factor: float = 0.1, patience: int = 10, threshold: float = 0.0001, threshold_mode: str = 'rel', cooldown: int = 0, min_lr: float | Sequence[float] = 0, eps: float = 1e-08) -> None: ...
    @property
    def in_cooldown(self) -> bool: """Are bad epochs ignored now?"""
    def step(self, metrics: Any, epoch: int | None = None) -> None: """Look at this epoch's metric."""  # type: ignore[override]

class SequentialLR(LRScheduler):
    """Several schedulers, one after the other; milestones say when the next takes over."""
    def __init__(self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Shape, last_epoch: int = -1) -> None: ...
    def load_state_dict(self, state_dict: dict[str, Any]) -> None: """Take over a state."""
    def state_dict(self) -> dict[str, Any]: """Everything but the optimizer."""
    def step(self) -> None: """Go to the next epoch."""  # type: ignore[override]
