"""Recurrences as functions of their weights: what recurrent layers are made of."""
import whet

from ..ops import recurrent
from ..ops.number_questions import has_positive
from ..ops.recurrent import lstm_output, lstm_state
from ..ops.registry import ask
from ..ops.split import equal_parts
from . import functional as F


def _rnn_step(act):
    def step(x, h, w_hh, b_hh, w_hr):
        return (act(x + F.linear(h[0], w_hh, b_hh)),)
    return step


def _lstm_step(x, state, w_hh, b_hh, w_hr):
    h, c = state
    i, f, g, o = equal_parts(x + F.linear(h, w_hh, b_hh), 4, -1)
    c = lstm_state(i, f, g, c)
    h = lstm_output(o, c)
    return (h if w_hr is None else F.linear(h, w_hr)), c


def _gru_step(x, state, w_hh, b_hh, w_hr):
    h, = state
    n = h.shape[-1]
    hidden = F.linear(h, w_hh, b_hh)
    r, z = equal_parts((x[:, :2 * n] + hidden[:, :2 * n]).sigmoid(), 2, -1)
    new = (x[:, 2 * n:] + r * hidden[:, 2 * n:]).tanh()
    return ((h - new) * z + new,)


STEPS = {"RNN_TANH": _rnn_step(lambda x: x.tanh()), "RNN_RELU": _rnn_step(lambda x: x.relu()),
          "LSTM": _lstm_step, "GRU": _gru_step}


def layers(mode, weights, directions, dropout, data, sizes, state):
    """(outputs, last states) of layers over sequences, one `weights` of each layer and direction:
    w_ih, w_hh, b_ih, b_hh, w_hr. Where a tensor of `sizes` is given, step t has the first sizes[t]
    sequences only, and these never grow."""
    begins = None if sizes is None else F.pad(sizes.cumsum(0), (1, 0))
    if begins is not None and data.device.type == "cpu":
        _check_packed(data, sizes, state[0])
    last: list[list] = [[] for _ in state]
    for first in range(0, len(weights), directions):
        if dropout and first:
            data = F.dropout(data, dropout, True)
        outs = []
        for k in range(first, first + directions):
            out, end = _run(mode, weights[k], data, begins, tuple(s[k] for s in state), k > first)
            outs.append(out)
            for keep, s in zip(last, end):
                keep.append(s)
        data = outs[0] if directions == 1 else whet.cat(outs, -1)
    return data, tuple(whet.stack(s) for s in last)


def _check_packed(data, sizes, state):
    """Raise an error where `sizes` do not tell where the rows of packed data are, and those of a
    state: kernels go by them unseen."""
    if sizes.dtype is not whet.int64 or sizes.ndim != 1:
        raise RuntimeError("batch_sizes should be a 1-dimensional tensor of int64")
    rows, batch = (whet.ones_like(x, dtype=whet.int64).sum(0, keepdim=True)
                   for x in (data[:, 0], state[0, :, 0]))
    wrong = whet.cat([sizes.diff(), 1 - sizes, (sizes.sum(0, keepdim=True) - rows).abs(),
                      (sizes[:1] - batch).abs()])
    if ask(has_positive, wrong):
        raise RuntimeError(
            "batch_sizes should never grow, begin with the batch and add up to the packed rows "
            f"({len(data)}), but got {sizes.tolist()} for a batch of {state.shape[1]}")


def _run(mode, weights, data, begins, state, reverse):
    """One layer in one direction: (outputs, last state). `begins`: of packed sequences, where each
    step begins, and the last one ends."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    step = STEPS[mode]
    if w_hr is None and (begins is not None or data.shape[0] > 1):
        made = recurrent.direction(
            mode.lower(), data, state, w_ih, w_hh, b_ih, b_hh, reverse, begins)
        if made is not None:
            return made
    x = F.linear(data, w_ih, b_ih)
    if begins is not None:
        sizes = begins.diff().tolist()
        return _run_packed(x.split(sizes), sizes, state, step, (w_hh, b_hh, w_hr), reverse)
    outs = []
    steps = x.unbind(0)
    for x_t in reversed(steps) if reverse else steps:
        state = step(x_t, state, w_hh, b_hh, w_hr)
        outs.append(state[0])
    if not outs:
        return x.new_zeros((0, *state[0].shape)), state
    return whet.stack(outs[::-1] if reverse else outs), state


def _run_packed(steps, sizes, state, step, weights, reverse):
    """As `_run`, where step t has the first sizes[t] sequences only (sizes never grow)."""
    first = state
    outs, ended = [], []
    if not reverse:
        for x_t in steps:
            n = x_t.shape[0]
            if n < state[0].shape[0]:
                ended.append(tuple(s[n:] for s in state))
                state = tuple(s[:n] for s in state)
            state = step(x_t, state, *weights)
            outs.append(state[0])
        ended.append(state)
        state = tuple(whet.cat([e[j] for e in reversed(ended)]) for j in range(len(state)))
        return whet.cat(outs), state
    state = tuple(s[:sizes[-1]] for s in first)
    for x_t in reversed(steps):
        n, have = x_t.shape[0], state[0].shape[0]
        if n > have:
            state = tuple(whet.cat([s, s0[have:n]]) for s, s0 in zip(state, first))
        state = step(x_t, state, *weights)
        outs.append(state[0])
    return whet.cat(outs[::-1]), state


# ---- without a module ----------------------------------------------------------------------------
def _cell(mode, input, state, w_ih, w_hh, b_ih, b_hh):
    return STEPS[mode](F.linear(input, w_ih, b_ih), state, w_hh, b_hh, None)


def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of an LSTM: the states (h, c) after it. `nn.LSTMCell` does it with its weights.

    >>> import whet
    >>> h, c = whet.lstm_cell(whet.ones(1, 2), [whet.zeros(1, 1)] * 2, whet.zeros(4, 2),
    ...                       whet.zeros(4, 1))
    >>> h
    tensor([[0.]])
    """
    return _cell("LSTM", input, tuple(hx), w_ih, w_hh, b_ih, b_hh)


def gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of a GRU: the state after it."""
    return _cell("GRU", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of an RNN: the state after it."""
    return _cell("RNN_TANH", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of an RNN with `relu`: the state after it."""
    return _cell("RNN_RELU", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def _apart(mode, params, has_biases):
    """The weights of each layer and direction, of a list of all."""
    size = 4 if has_biases else 2
    rows, width = params[1].shape
    projects = mode == "LSTM" and rows != 4 * width
    found = []
    for at in range(0, len(params), size + projects):
        w = [*params[at:at + size]] + [None] * (4 - size)
        found.append([*w, params[at + size] if projects else None])
    return found


def _of_list(mode, args):
    """A recurrence of a list of weights: of padded sequences, or of packed ones and their sizes."""
    is_packed = isinstance(args[3], tuple | list)
    if is_packed:
        data, sizes, state, params, has_biases, _, dropout, train, bidirectional = args
    else:
        (data, state, params, has_biases, _, dropout, train, bidirectional, batch_first) = args
        sizes = None
        data = data.transpose(0, 1) if batch_first else data
    state = tuple(state) if mode == "LSTM" else (state,)
    data, final = layers(mode, _apart(mode, params, has_biases), 2 if bidirectional else 1,
                         dropout if train else 0.0, data,
                         sizes, state)
    return data if is_packed or not batch_first else data.transpose(0, 1), *final


def lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    """(outputs, h, c) of LSTM layers whose weights are in a list, as `nn.LSTM` has them in order.
    Also of packed sequences, as (data, sizes, hx, params, has_biases, num_layers, dropout, train,
    bidirectional).

    >>> import whet
    >>> layer, zeros = whet.nn.LSTM(2, 3), whet.zeros(1, 1, 3)
    >>> weights = [*layer.parameters()]
    >>> y, h, c = whet.lstm(whet.ones(4, 1, 2), [zeros, zeros], weights, True, 1, 0.0, False,
    ...                     False, False)
    >>> whet.equal(y, layer(whet.ones(4, 1, 2))[0])
    True
    """
    return _of_list("LSTM", (input, hx, params, has_biases, num_layers, dropout, train,
                             bidirectional, batch_first))


def gru(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    """(outputs, state) of GRU layers whose weights are in a list (see `lstm`)."""
    return _of_list("GRU", (input, hx, params, has_biases, num_layers, dropout, train,
                            bidirectional, batch_first))


def rnn_tanh(input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
             batch_first):
    """(outputs, state) of RNN layers whose weights are in a list (see `lstm`)."""
    return _of_list("RNN_TANH", (input, hx, params, has_biases, num_layers, dropout, train,
                                 bidirectional, batch_first))


def rnn_relu(input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
             batch_first):
    """(outputs, state) of RNN layers with `relu` whose weights are in a list (see `lstm`)."""
    return _of_list("RNN_RELU", (input, hx, params, has_biases, num_layers, dropout, train,
                                 bidirectional, batch_first))
