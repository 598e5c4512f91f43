# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any
from whet.dtypes import dtype
from whet.nn.module import Module
from whet.nn.parameter import Parameter
from whet.tensor import Tensor
from whet.types import Device

class RNNBase(Module):
    mode: Tensor
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int
    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device: Device | None = None, dtype: dtype | None = None) -> None: ...
    @property
    def all_weights(self) -> list[list[Parameter]]: """The parameters of each layer and direction."""
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def flatten_parameters(self) -> None: """Does nothing: the weights need no particular memory layout."""
    def forward(self, input: Any, hx: Any = None) -> Any: ...
    def reset_parameters(self) -> None: """Everything uniform within 1 / sqrt(hidden_size)."""
    def __call__(self, input: Any, hx: Any = None) -> Any: ...

class RNNCellBase(Module):
    """One step of a recurrence."""
    input_size: int
    hidden_size: int
    bias: Tensor
    weight_ih: Parameter
    weight_hh: Parameter
    def __init__(self, input_size: int, hidden_size: int, bias: Tensor, num_chunks: int, device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def reset_parameters(self) -> None: """Everything uniform within 1 / sqrt(hidden_size)."""

class GRU(RNNBase):
    """Gated recurrent unit; gates in the order reset, update, new."""
    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, device: Device | None = None, dtype: dtype | None = None, *, proj_size: int = 0) -> None: ...

class GRUCell(RNNCellBase):
    """One step of a GRU."""
    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor: ...
    def __call__(self, input: Tensor, hx: Tensor | None = None) -> Tensor: ...

class LSTM(RNNBase):
    """Long short-term memory; gates in the order input, forget, cell, output."""
    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device: Device | None = None, dtype: dtype | None = None) -> None: ...

class LSTMCell(RNNCellBase):
    """One step of an LSTM."""
    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]: ...
    def __call__(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]: ...

class RNN(RNNBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu with `nonlinearity="relu"`."""
    nonlinearity: str
    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = 'tanh', bias: bool = True, batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, device: Device | None = None, dtype: dtype | None = None, *, proj_size: int = 0) -> None: ...

class RNNCell(RNNCellBase):
    """One step of an RNN."""
    nonlinearity: str
    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = 'tanh', device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor: ...
    def __call__(self, input: Tensor, hx: Tensor | None = None) -> Tensor: ...
