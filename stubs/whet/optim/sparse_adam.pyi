# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Callable, Iterable
from whet.optim.optimizer import Optimizer
from whet.tensor import Tensor

class SparseAdam(Optimizer):
    """Adam that leaves rows without a gradient, and their moments, as they are."""
    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 0.001, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-08, maximize: bool = False) -> None: ...
    def step(self, closure: Callable[..., Any] | None = None) -> None: """One update of all parameters that have a gradient."""
