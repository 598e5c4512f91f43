# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Callable, Iterable
from whet.optim.optimizer import Optimizer
from whet.tensor import Tensor

class Adafactor(Optimizer):
    """Steps relative to the size of the parameter, scaled by a factored estimate of the gradient's square."""
    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 0.01, beta2_decay: float = -0.8, eps: tuple[float | None, float] = (None, 0.001), d: float = 1.0, weight_decay: float = 0.0, *, foreach: bool | None = None, maximize: bool = False) -> None: ...
    def step(self, closure: Callable[..., Any] | None = None) -> None: """One update of all parameters that have a gradient."""
