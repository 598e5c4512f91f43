# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Callable
from whet.tensor import Tensor
from whet.types import Scalar


def broadcast_all(*values: Scalar) -> tuple[Tensor, ...]: """Numbers and tensors as tensors of one shape (and the tensors' type)."""
def clamp_probs(probs: Tensor | float) -> Tensor: """Probabilities that are neither 0 nor 1."""
def logits_to_probs(logits: Tensor | float, is_binary: bool = False) -> Tensor: """The probabilities of log-odds, or of logarithms up to a constant."""
def probs_to_logits(probs: Tensor | float, is_binary: bool = False) -> Tensor: """Log-odds, or logarithms, of probabilities."""
def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor: """The entries of matrices on and below a diagonal, row by row."""
def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor: """The matrices with these entries on and below a diagonal, and 0 above it."""

class lazy_property:
    """An attribute that is worked out when it is first asked for."""
    wrapped: Callable[[Any], Any]
    def __init__(self, wrapped: Callable[[Any], Any]) -> None: ...
