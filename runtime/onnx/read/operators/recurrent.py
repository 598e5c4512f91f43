"""Recurrent layers: a step is written once, and runs over the time in one direction or both."""
from collections.abc import Callable
from typing import Any

import whet
import whet.nn.functional as F

from ....tensor import Tensor
from ...errors import OnnxError
from ..definition import operator
from ..values import Ints

State = tuple[Tensor, ...]
Activation = Callable[[Tensor], Tensor]
PLAIN: dict[str, Activation] = {
    "relu": whet.relu, "tanh": whet.tanh, "sigmoid": whet.sigmoid, "softsign": F.softsign,
    "softplus": F.softplus}
# with their standard alpha and beta
SCALED: dict[str, tuple[Callable[[Tensor, float, float], Tensor], float, float]] = {
    "affine": (lambda x, a, b: whet.add(a * x, b), 1.0, 0.0),
    "leakyrelu": (lambda x, a, b: F.leaky_relu(x, a), 0.01, 0.0),
    "thresholdedrelu": (lambda x, a, b: F.threshold(x, a, 0.0), 1.0, 0.0),
    "scaledtanh": (lambda x, a, b: whet.mul(whet.tanh(b * x), a), 1.0, 1.0),
    "hardsigmoid": (lambda x, a, b: whet.clamp(a * x + b, 0.0, 1.0), 0.2, 0.5),
    "elu": (lambda x, a, b: F.elu(x, a), 1.0, 0.0)}


def activations(names: list[str], alphas: list[float] | None,
                betas: list[float] | None) -> list[Activation]:
    """The functions of these names, with the parameters that they take in order."""
    left_a, left_b = list(alphas or ()), list(betas or ())
    found: list[Activation] = []
    for name in names:
        key = name.lower()
        if key in PLAIN:
            found.append(PLAIN[key])
        elif key in SCALED:
            found.append(scaled(key, left_a, left_b))
        else:
            raise OnnxError(f"there is no activation {name!r}")
    return found


def scaled(key: str, alphas: list[float], betas: list[float]) -> Activation:
    """An activation with parameters of its own."""
    function, alpha, beta = SCALED[key]
    alpha = alphas.pop(0) if alphas else alpha
    beta = betas.pop(0) if betas and key in ("affine", "scaledtanh", "hardsigmoid") else beta
    return lambda x: function(x, alpha, beta)


class Layer:
    """What the three layers have in common: directions, lengths, layout, clipping."""

    def __init__(self, x: Tensor, lengths: Ints | None, direction: str, layout: int,
                 clip: float | None) -> None:
        if direction not in ("forward", "reverse", "bidirectional"):
            raise OnnxError(f"there is no direction {direction!r}")
        self.x = x.transpose(0, 1) if layout else x
        self.lengths = lengths if lengths and min(lengths) < self.x.shape[0] else None
        self.directions = {"forward": [False], "reverse": [True]}.get(direction, [False, True])
        self.layout, self.limit = layout, clip

    def clip(self, x: Tensor) -> Tensor:
        """Within the limit that the node sets."""
        return x if self.limit is None else whet.clamp(x, -self.limit, self.limit)

    def start(self, state: Tensor | None, which: int, size: int) -> Tensor:
        """The first state of a direction."""
        if state is None:
            return whet.zeros(self.x.shape[1], size, dtype=self.x.dtype)
        return state[:, which] if self.layout else state[which]

    def one_way(self, is_back: bool, state: State, inputs: Tensor,
                step: Callable[[Tensor, State], State]) -> tuple[Tensor, State]:
        """The results of all times, and the last state."""
        length, rows = inputs.shape[0], []
        active = None
        if self.lengths is not None:
            ends = whet.tensor(self.lengths, dtype=whet.int64).reshape(1, -1, 1)
            active = whet.arange(length).reshape(-1, 1, 1) < ends
        for t in range(length - 1, -1, -1) if is_back else range(length):
            new = step(inputs[t], state)
            if active is None:
                state = new
                rows.append(new[0])
            else:
                rows.append(whet.where(active[t], new[0], whet.zeros_like(new[0])))
                state = tuple(whet.where(active[t], a, b) for a, b in zip(new, state))
        return whet.stack(rows[::-1] if is_back else rows), state

    def results(self, ways: list[tuple[Tensor, State]]) -> tuple[Tensor, ...]:
        """Y, and the last states, as the layout has them."""
        y = whet.stack([rows for rows, _ in ways], 1)
        last = [whet.stack(list(s)) for s in zip(*(state for _, state in ways))]
        if self.layout:
            return y.permute(2, 0, 1, 3), *(s.transpose(0, 1) for s in last)
        return y, *last


def gates(x: Tensor, w: Tensor, bias: Tensor | None) -> Tensor:
    """The part of all gates that the inputs give, for all times at once."""
    return F.linear(x, w, bias)


def named(names: list[str] | None, standard: list[str], directions: int) -> list[str]:
    """The activations of all directions."""
    return names or standard * directions


@operator("RNN")
def rnn(x: Tensor, w: Tensor, r: Tensor, b: Tensor | None = None,
        sequence_lens: Ints | None = None, initial_h: Tensor | None = None, *,
        activation_alpha: list[float] | None = None, activation_beta: list[float] | None = None,
        activations: list[str] | None = None, clip: float | None = None,
        direction: str = "forward", hidden_size: int | None = None, layout: int = 0,
        output_sequence: int = 0) -> Any:
    layer, size, ways = Layer(x, sequence_lens, direction, layout, clip), r.shape[-1], []
    functions = _functions(named(activations, ["Tanh"], len(layer.directions)), activation_alpha,
                           activation_beta)
    for i, is_back in enumerate(layer.directions):
        bias = None if b is None else b[i, :size] + b[i, size:]
        f, weights = functions[i], r[i]

        def step(now: Tensor, state: State, f: Activation = f, weights: Tensor = weights) -> State:
            return (f(layer.clip(now + F.linear(state[0], weights))),)

        ways.append(layer.one_way(is_back, (layer.start(initial_h, i, size),),
                                  gates(layer.x, w[i], bias), step))
    return layer.results(ways)


_functions = activations


@operator("GRU")
def gru(x: Tensor, w: Tensor, r: Tensor, b: Tensor | None = None,
        sequence_lens: Ints | None = None, initial_h: Tensor | None = None, *,
        activation_alpha: list[float] | None = None, activation_beta: list[float] | None = None,
        activations: list[str] | None = None, clip: float | None = None,
        direction: str = "forward", hidden_size: int | None = None, layout: int = 0,
        linear_before_reset: int = 0, output_sequence: int = 0) -> Any:
    layer, size, ways = Layer(x, sequence_lens, direction, layout, clip), r.shape[-1], []
    names = named(activations, ["Sigmoid", "Tanh"], len(layer.directions))
    functions = _functions(names, activation_alpha, activation_beta)
    for i, is_back in enumerate(layer.directions):
        bias, own = (None, None) if b is None else (b[i, :3 * size], b[i, 3 * size:])
        step = gru_step(layer, functions[2 * i:2 * i + 2], r[i], own, bool(linear_before_reset))
        ways.append(layer.one_way(is_back, (layer.start(initial_h, i, size),),
                                  gates(layer.x, w[i], bias), step))
    return layer.results(ways)


def gru_step(layer: Layer, functions: list[Activation], r: Tensor, bias: Tensor | None,
             linear_first: bool) -> Callable[[Tensor, State], State]:
    """One step of a GRU, whose gates are in the order update, reset, hidden."""
    f, g = functions
    size = r.shape[-1]
    first = None if bias is None else bias[:2 * size]
    last = None if bias is None else bias[2 * size:]

    def step(now: Tensor, state: State) -> State:
        h, = state
        two = f(layer.clip(now[:, :2 * size] + F.linear(h, r[:2 * size], first)))
        update, reset = two[:, :size], two[:, size:]
        if linear_first:
            more = reset * F.linear(h, r[2 * size:], last)
        else:
            more = F.linear(reset * h, r[2 * size:], last)
        return ((1 - update) * g(layer.clip(now[:, 2 * size:] + more)) + update * h,)
    return step


@operator("LSTM")
def lstm(x: Tensor, w: Tensor, r: Tensor, b: Tensor | None = None,
         sequence_lens: Ints | None = None, initial_h: Tensor | None = None,
         initial_c: Tensor | None = None, p: Tensor | None = None, *,
         activation_alpha: list[float] | None = None, activation_beta: list[float] | None = None,
         activations: list[str] | None = None, clip: float | None = None,
         direction: str = "forward", hidden_size: int | None = None, input_forget: int = 0,
         layout: int = 0, output_sequence: int = 0) -> Any:
    layer, size, ways = Layer(x, sequence_lens, direction, layout, clip), r.shape[-1], []
    names = named(activations, ["Sigmoid", "Tanh", "Tanh"], len(layer.directions))
    functions = _functions(names, activation_alpha, activation_beta)
    for i, is_back in enumerate(layer.directions):
        bias = None if b is None else b[i, :4 * size] + b[i, 4 * size:]
        peep = None if p is None else p[i]
        step = lstm_step(layer, functions[3 * i:3 * i + 3], r[i], peep, bool(input_forget))
        state = layer.start(initial_h, i, size), layer.start(initial_c, i, size)
        ways.append(layer.one_way(is_back, state, gates(layer.x, w[i], bias), step))
    return layer.results(ways)


def lstm_step(layer: Layer, functions: list[Activation], r: Tensor, peep: Tensor | None,
              coupled: bool) -> Callable[[Tensor, State], State]:
    """One step of an LSTM, whose gates are in the order input, output, forget, cell."""
    f, g, h = functions
    size = r.shape[-1]

    def step(now: Tensor, state: State) -> State:
        last, cell = state
        i, o, forget, new = whet.split(now + F.linear(last, r), size, 1)
        if peep is not None:
            i, forget = i + peep[:size] * cell, forget + peep[2 * size:] * cell
        i = f(layer.clip(i))
        forget = 1 - i if coupled else f(layer.clip(forget))
        cell = forget * cell + i * g(layer.clip(new))
        if peep is not None:
            o = o + peep[size:2 * size] * cell
        return f(layer.clip(o)) * h(cell), cell
    return step
