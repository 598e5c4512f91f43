# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Callable
from whet.dtypes import dtype
from whet.nn.module import Module
from whet.nn.parameter import Parameter
from whet.tensor import Tensor
from whet.types import Device, Scalar

class MultiheadAttention(Module):
    """Attention of `query` over `key` and `value`, in several heads that each see a projection of them."""
    embed_dim: int
    num_heads: int
    head_dim: Any
    kdim: int | None
    vdim: int | None
    dropout: float
    batch_first: bool
    add_zero_attn: bool
    out_proj: Any
    q_proj_weight: Parameter
    k_proj_weight: Parameter
    v_proj_weight: Parameter
    in_proj_weight: Parameter
    in_proj_bias: Parameter
    bias_k: Parameter
    bias_v: Parameter
    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False, device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def forward(self, query: Tensor, key: Any, value: Scalar, key_padding_mask: Tensor | None = None, need_weights: bool = True, attn_mask: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False) -> tuple[Tensor, Tensor | None]: """(output, weights): the weights averaged over the heads, one a head, or None without `need_weights`."""
    def __call__(self, query: Tensor, key: Any, value: Scalar, key_padding_mask: Tensor | None = None, need_weights: bool = True, attn_mask: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False) -> tuple[Tensor, Tensor | None]: """(output, weights): the weights averaged over the heads, one a head, or None without `need_weights`."""

class Transformer(Module):
    """An encoder and a decoder."""
    d_model: int
    nhead: int
    batch_first: bool
    encoder: Any
    decoder: Any
    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6, dim_feedforward: int = 2048, dropout: float = 0.1, activation: str | Callable[[Tensor], Tensor] = ..., custom_encoder: Module | None = None, custom_decoder: Module | None = None, layer_norm_eps: float = 1e-05, batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None, src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Tensor: ...
    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Device | None = None, dtype: dtype | None = None) -> Tensor: ...
    def __call__(self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None, src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Tensor: ...

class TransformerDecoder(Module):
    """A stack of copies of a decoder layer."""
    layers: Any
    num_layers: int
    norm: Module | None
    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None: ...
    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Tensor: ...
    def __call__(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Tensor: ...

class TransformerDecoderLayer(Module):
    """Self-attention, attention over the encoder's output, and a feed-forward network."""
    self_attn: Any
    multihead_attn: Any
    linear1: Any
    dropout: float
    linear2: Any
    norm_first: bool
    norm1: Any
    norm2: Any
    norm3: Any
    dropout1: Any
    dropout2: Any
    dropout3: Any
    activation: str | Callable[[Tensor], Tensor]
    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: str | Callable[[Tensor], Tensor] = ..., layer_norm_eps: float = 1e-05, batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None, tgt_is_causal: bool = False, memory_is_causal: bool = False) -> Tensor: ...
    def __call__(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None, tgt_is_causal: bool = False, memory_is_causal: bool = False) -> Tensor: ...

class TransformerEncoder(Module):
    """A stack of copies of an encoder layer."""
    layers: Any
    num_layers: int
    norm: Module | None
    enable_nested_tensor: bool
    mask_check: bool
    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None, enable_nested_tensor: bool = True, mask_check: bool = True) -> None: ...
    def forward(self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool | None = None) -> Tensor: ...
    def __call__(self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool | None = None) -> Tensor: ...

class TransformerEncoderLayer(Module):
    """Self-attention and a feed-forward network, each with a residual connection and a norm."""
    self_attn: Any
    linear1: Any
    dropout: float
    linear2: Any
    norm_first: bool
    norm1: Any
    norm2: Any
    dropout1: Any
    dropout2: Any
    activation: str | Callable[[Tensor], Tensor]
    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: str | Callable[[Tensor], Tensor] = ..., layer_norm_eps: float = 1e-05, batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def forward(self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool = False) -> Tensor: ...
    def __call__(self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool = False) -> Tensor: ...
