# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Self
from whet.dtypes import dtype
from whet.nn.module import Module
from whet.nn.parameter import Parameter
from whet.tensor import Tensor
from whet.types import Device

class Embedding(Module):
    """Rows of a table, by index."""
    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    weight: Parameter
    max_norm: float | None
    norm_type: float
    scale_grad_by_freq: bool
    sparse: bool
    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Tensor | None = None, _freeze: bool = False, device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Self: """A table with given rows."""
    def reset_parameters(self) -> None: """Standard normal; the padding row zero."""
    def __call__(self, input: Tensor) -> Tensor: ...

class EmbeddingBag(Module):
    """Sums, means or maxima of bags of rows of a table."""
    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    weight: Parameter
    max_norm: float | None
    norm_type: float
    scale_grad_by_freq: bool
    sparse: bool
    mode: Tensor
    include_last_offset: bool
    def __init__(self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = 'mean', sparse: bool = False, _weight: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None, device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor: ...
    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = 'mean', sparse: bool = False, include_last_offset: bool = False, padding_idx: int | None = None) -> Self: """A table with given rows."""
    def reset_parameters(self) -> None: """Standard normal; the padding row zero."""
    def __call__(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor: ...
