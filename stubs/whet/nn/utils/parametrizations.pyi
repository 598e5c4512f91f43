# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Callable, ParamSpec, TypeVar
from whet.nn.module import Module

M = TypeVar("M", bound=Module)

def orthogonal(module: M, name: str = 'weight', orthogonal_map: str | None = None, *, use_trivialization: bool = True) -> M: ...
def spectral_norm(module: M, name: str = 'weight', n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None) -> M: """Divide a weight by its largest singular value, estimated by the power method."""
def weight_norm(module: M, name: str = 'weight', dim: int = 0) -> M: """Split a weight into its length (along `dim`) and its direction."""
