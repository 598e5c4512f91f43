# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Callable, Iterable
from whet.optim.optimizer import Optimizer
from whet.tensor import Tensor

class LBFGS(Optimizer):
    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 1, max_iter: int = 20, max_eval: int | None = None, tolerance_grad: float = 1e-07, tolerance_change: float = 1e-09, history_size: int = 100, line_search_fn: str | None = None) -> None: ...
    def step(self, closure: Callable[[], Any]) -> Any: """Up to `max_iter` iterations; `closure` clears the gradients, computes the loss, and calls backward."""  # type: ignore[override]
