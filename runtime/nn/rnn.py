"""Recurrent layers. The inputs of all steps go through one matrix product; only what depends on
the step before is looped."""
import math

import whet

from ..autograd.modes import warn
from ..cpu import allocator
from ..ops.registry import check_tensors
from . import functional as F
from . import init, recurrences
from .module import Module
from .parameter import Parameter
from .utils.rnn import PackedSequence

__all__ = ["RNNBase", "RNN", "LSTM", "GRU", "RNNCellBase", "RNNCell", "LSTMCell", "GRUCell"]

_GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}


def _check_dropout(mode, num_layers, dropout):
    if mode not in _GATES:
        raise ValueError("Unrecognized RNN mode: " + mode)
    if (isinstance(dropout, bool) or not isinstance(dropout, int | float)
            or not 0 <= dropout <= 1):
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an "
            "element being zeroed")
    if dropout > 0 and num_layers == 1:
        warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero "
            f"dropout expects num_layers greater than 1, but got dropout={dropout} and "
            f"num_layers={num_layers}",
            stacklevel=4)


def _check_sizes(mode, input_size, hidden_size, num_layers, bias, batch_first, proj_size):
    if not isinstance(hidden_size, int):
        raise TypeError(f"hidden_size should be of type int, got: {type(hidden_size).__name__}")
    for name, value in (("bias", bias), ("batch_first", batch_first)):
        if not isinstance(value, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(value).__name__}")
    if not isinstance(input_size, int):
        raise TypeError(f"input_size should be of type int, got: {type(input_size).__name__}")
    if input_size <= 0:
        raise ValueError("input_size must be greater than zero")
    if hidden_size <= 0:
        raise ValueError("hidden_size must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError(
            "proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")
    if proj_size and mode != "LSTM":
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNNBase(Module):
    """Layers x directions of one kind of recurrence (`mode`), over sequences of shape (L, N, C),
    (N, L, C), (L, C) or packed.

    >>> import whet
    >>> from whet import nn
    >>> isinstance(nn.LSTM(3, 5), nn.RNNBase)
    True
    """

    def __init__(self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False,
                 dropout=0.0, bidirectional=False, proj_size=0, device=None, dtype=None):
        super().__init__()
        _check_dropout(mode, num_layers, dropout)
        _check_sizes(mode, input_size, hidden_size, num_layers, bias, batch_first, proj_size)
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers = num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._flat_weights_names, self._all_weights = [], []
        gates, out = _GATES[mode] * hidden_size, proj_size or hidden_size
        directions = 2 if bidirectional else 1
        layer = (gates * (out *
                          (1 + directions if num_layers > 1 else 1) + 2 * bool(bias)) * directions)
        if num_layers * layer * whet.get_default_dtype().itemsize > allocator.available():
            raise MemoryError(f"{mode}: {num_layers} layers take more memory than there is")
        for i in range(num_layers):
            for d in range(directions):
                inside = input_size if i == 0 else out * directions
                shapes = {"weight_ih": (gates, inside), "weight_hh": (gates, out)}
                if bias:
                    shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = [f"{name}_l{i}{'_reverse' if d else ''}" for name in shapes]
                for name, shape in zip(names, shapes.values()):
                    self.register_parameter(
                        name, Parameter(whet.empty(shape, device=device, dtype=dtype)))
                self._flat_weights_names += names
                self._all_weights.append(names)
        self.reset_parameters()

    def reset_parameters(self):
        """Everything uniform within 1 / sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size)
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def flatten_parameters(self):
        """Does nothing: the weights need no particular memory layout."""

    @property
    def all_weights(self):
        """The parameters of each layer and direction."""
        return [[getattr(self, n) for n in names] for names in self._all_weights]

    def _weights(self, k):
        """w_ih, w_hh, b_ih, b_hh, w_hr of layer and direction number k."""
        names = self._all_weights[k]
        w = [getattr(self, n) for n in names]
        if not self.bias:
            w[2:2] = [None, None]
        return w if self.proj_size else [*w, None]

    def forward(self, input, hx=None):
        packed = isinstance(input, PackedSequence)
        if packed:
            data, sizes, order, back = input
            batch = int(sizes[0]) if order is None else order.shape[0]
            unbatched = False
        else:
            check_tensors(self._get_name(), input=input)
            if input.ndim not in (2, 3):
                raise ValueError(
                    f"{self._get_name()}: Expected input to be 2D or 3D, got {input.ndim}D instead")
            unbatched = input.ndim == 2
            data = (input.unsqueeze(1)
                    if unbatched else input.transpose(0, 1) if self.batch_first else input)
            sizes, order, back, batch = None, None, None, data.shape[1]
        if data.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{data.shape[-1]}")
        self._check_dtype(data)
        state = self._initial_state(hx, batch, unbatched, packed, order, data)
        weights = [self._weights(k) for k in range(len(self._all_weights))]
        data, final = recurrences.layers(
            self.mode, weights, 2 if self.bidirectional else 1,
            self.dropout if self.training else 0.0, data, sizes, state)
        if packed:
            output = PackedSequence(data, input.batch_sizes, order, back)
            if back is not None:
                final = tuple(s.index_select(1, back) for s in final)
        else:
            output = (data.squeeze(1)
                      if unbatched else data.transpose(0, 1) if self.batch_first else data)
            if unbatched:
                final = tuple(s.squeeze(1) for s in final)
        return output, (final if self.mode == "LSTM" else final[0])

    def _check_dtype(self, data):
        """The data has the weights' type, unless autocast changes both."""
        wanted = self._weights(0)[0].dtype
        if data.dtype is not wanted and whet.autograd.modes.state.autocast is None:
            raise ValueError(
                f"RNN input dtype ({data.dtype}) does not match weight dtype ({wanted}). Convert "
                f"input: input.to({wanted}), or convert model: model.to({data.dtype})")

    def _initial_state(self, hx, batch, unbatched, packed, order, data):
        """The given state checked, batched and sorted as the data is; zeros where none is given."""
        out = self.proj_size or self.hidden_size
        rows = self.num_layers * (2 if self.bidirectional else 1)
        wanted = ([(rows, batch, out)] +
                  ([(rows, batch, self.hidden_size)] if self.mode == "LSTM" else []))
        if hx is None:
            return tuple(
                whet.zeros(shape, dtype=data.dtype, device=data.device) for shape in wanted)
        state = tuple(hx) if self.mode == "LSTM" else (hx,)
        if len(state) != len(wanted):
            raise RuntimeError(
                f"{self._get_name()}: expected a state of {len(wanted)} tensors, got {len(state)}")
        if unbatched:
            if any(s.ndim != 2 for s in state):
                raise RuntimeError("For unbatched 2-D input, hx should also be 2-D but got "
                                   f"({', '.join(f'{s.ndim}-D' for s in state)}) tensor")
            state = tuple(s.unsqueeze(1) for s in state)
        elif any(s.ndim != 3 for s in state):
            raise RuntimeError(
                "For batched 3-D input, hx should also be 3-D but got "
                f"({', '.join(f'{s.ndim}-D' for s in state)}) tensor")
        for s, shape, name in zip(state, wanted,
                                  ("hidden[0]", "hidden[1]") if self.mode == "LSTM" else
                                  ("hidden",)):
            if tuple(s.shape) != shape:
                raise RuntimeError(f"Expected {name} size {shape}, got {list(s.shape)}")
        return (tuple(s.index_select(1, order)
                      for s in state) if packed and order is not None else state)

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        for name, default in (("proj_size", 0), ("num_layers", 1), ("bias", True),
                              ("batch_first", False), ("dropout", 0.0), ("bidirectional", False)):
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text


class RNN(RNNBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu with `nonlinearity="relu"`.

    >>> import whet
    >>> from whet import nn
    >>> output, state = nn.RNN(3, 5)(whet.ones(7, 2, 3))
    >>> output.shape, state.shape
    (whet.Size([7, 2, 5]), whet.Size([1, 2, 5]))
    """

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True,
                 batch_first=False, dropout=0.0, bidirectional=False, device=None, dtype=None,
                 *, proj_size=0):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias,
                         batch_first, dropout, bidirectional, proj_size, device, dtype)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory; gates in the order input, forget, cell, output.

    >>> import whet
    >>> from whet import nn
    >>> output, (h, c) = nn.LSTM(3, 5, num_layers=2)(whet.ones(7, 2, 3))
    >>> output.shape, h.shape
    (whet.Size([7, 2, 5]), whet.Size([2, 2, 5]))
    """

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False,
                 dropout=0.0, bidirectional=False, proj_size=0, device=None, dtype=None):
        super().__init__("LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout,
                         bidirectional, proj_size, device, dtype)


class GRU(RNNBase):
    """Gated recurrent unit; gates in the order reset, update, new.

    >>> import whet
    >>> from whet import nn
    >>> output, state = nn.GRU(3, 5, batch_first=True)(whet.ones(2, 7, 3))
    >>> output.shape, state.shape
    (whet.Size([2, 7, 5]), whet.Size([1, 2, 5]))
    """

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False,
                 dropout=0.0, bidirectional=False, device=None, dtype=None, *, proj_size=0):
        super().__init__("GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout,
                         bidirectional, proj_size, device, dtype)


class RNNCellBase(Module):
    """One step of a recurrence.

    >>> import whet
    >>> from whet import nn
    >>> isinstance(nn.GRUCell(3, 5), nn.RNNCellBase)
    True
    """

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(whet.empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(whet.empty((rows, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(
                name, Parameter(whet.empty(rows, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Everything uniform within 1 / sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def _step(self, mode, input, state):
        """(new state): input of (N, C) or (C)."""
        name = self._get_name()
        if input.ndim not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.ndim}D instead")
        unbatched = input.ndim == 1
        if unbatched:
            input = input.unsqueeze(0)
        if input.shape[1] != self.input_size:
            raise RuntimeError(
                f"input has inconsistent input_size: got {input.shape[1]} expected "
                f"{self.input_size}")
        if state is None:
            zero = whet.zeros((input.shape[0], self.hidden_size),
                              dtype=input.dtype,
                              device=input.device)
            state = (zero, zero) if mode == "LSTM" else (zero,)
        else:
            for i, s in enumerate(state):
                if s.ndim not in (1, 2):
                    what = f"hx[{i}]" if mode == "LSTM" else "hidden"
                    raise ValueError(
                        f"{name}: Expected {what} to be 1D or 2D, got {s.ndim}D instead")
            state = tuple(s.unsqueeze(0) if unbatched and s.ndim == 1 else s for s in state)
            for s in state:
                if tuple(s.shape) != (input.shape[0], self.hidden_size):
                    raise RuntimeError(
                        f"{name}: expected hidden of size {(input.shape[0], self.hidden_size)}, "
                        f"got {tuple(s.shape)}")
        x = F.linear(input, self.weight_ih, self.bias_ih)
        state = recurrences.STEPS[mode](x, state, self.weight_hh, self.bias_hh, None)
        return tuple(s.squeeze(0) for s in state) if unbatched else state

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        if not self.bias:
            text += f", bias={self.bias}"
        kind = getattr(self, "nonlinearity", "tanh")
        return text if kind == "tanh" else text + f", nonlinearity={kind}"


class RNNCell(RNNCellBase):
    """One step of an RNN.

    >>> import whet
    >>> from whet import nn
    >>> nn.RNNCell(3, 5)(whet.ones(2, 3)).shape
    whet.Size([2, 5])
    """

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None,
                 dtype=None):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(f"RNN_{self.nonlinearity.upper()}", input, None if hx is None else
                          (hx,))[0]


class LSTMCell(RNNCellBase):
    """One step of an LSTM.

    >>> import whet
    >>> from whet import nn
    >>> h, c = nn.LSTMCell(3, 5)(whet.ones(2, 3))
    >>> h.shape, c.shape
    (whet.Size([2, 5]), whet.Size([2, 5]))
    """

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        return self._step("LSTM", input, hx)


class GRUCell(RNNCellBase):
    """One step of a GRU.

    >>> import whet
    >>> from whet import nn
    >>> nn.GRUCell(3, 5)(whet.ones(2, 3)).shape
    whet.Size([2, 5])
    """

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        return self._step("GRU", input, None if hx is None else (hx,))[0]
