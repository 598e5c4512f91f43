"""Recurrent layers over packed sequences: what each sequence gives alone, in one op."""
import itertools

import numpy as np
import pytest
import whet
from whet import jit, nn
from whet.jit.policy import many_sizes
from whet.nn import recurrences
from whet.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from whet.ops import recurrent

from tests.jit.ledgers import served

LENGTHS = [[6, 4, 3, 3, 1], [4], [3, 3, 3], [12, 11, 11, 7, 7, 7, 2, 1, 1]]
MODES = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn_tanh": nn.RNN}


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_the_op_is_its_steps(mode, is_reversed, lengths):
    layer = MODES[mode](3, 17)
    w_ih, w_hh, b_ih, b_hh, _ = layer._weights(0)
    sizes = [sum(n > t for n in lengths) for t in range(lengths[0])]
    begins = whet.tensor([0, *itertools.accumulate(sizes)])
    data = whet.randn(sum(lengths), 3, requires_grad=True)
    state = [whet.randn(len(lengths), 17, requires_grad=True)
             for _ in range(2 if mode == "lstm" else 1)]

    def by_steps():
        x = nn.functional.linear(data, w_ih, b_ih)
        return recurrences._run_packed(
            x.split(sizes), sizes, tuple(state), recurrences.STEPS[mode.upper()],
            (w_hh, b_hh, None), is_reversed)

    def at_once():
        return recurrent.direction(
            mode, data, state, w_ih, w_hh, b_ih, b_hh, is_reversed, begins)
    found = []
    for run in by_steps, at_once:
        y, last = run()
        loss = (y * y).sum() + sum((s * s * s).sum() for s in last)
        found.append([y, *last, *whet.autograd.grad(loss, [data, *state, *layer.parameters()])])
    for a, b in zip(*found, strict=True):
        whet.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    with whet.no_grad():
        assert whet.equal(at_once()[0], found[1][0])


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_gradients_and_gradients_of_these(mode, is_reversed):
    layer = MODES[mode](2, 3).double()
    begins = whet.tensor([0, 3, 5, 6])
    state = [whet.randn(3, 3, dtype=whet.float64, requires_grad=True)
             for _ in range(2 if mode == "lstm" else 1)]
    data = whet.randn(6, 2, dtype=whet.float64, requires_grad=True)

    def run(data, *rest):
        y, last = recurrent.direction(mode, data, rest[:len(state)], *rest[len(state):],
                                      is_reversed, begins)
        return y, *last
    given = [data, *state, *layer._weights(0)[:4]]
    assert whet.autograd.gradcheck(run, given)
    assert whet.autograd.gradgradcheck(run, given)


@pytest.mark.parametrize("kind, given", [
    (nn.LSTM, {"num_layers": 2, "bidirectional": True}), (nn.GRU, {}), (nn.LSTM, {"proj_size": 2}),
    (nn.RNN, {"bidirectional": True, "nonlinearity": "relu"})])
def test_each_sequence_gives_what_it_gives_alone(kind, given):
    layer, lengths = kind(3, 4, batch_first=True, **given), [5, 2, 4, 1]
    x = whet.randn(4, 6, 3)
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    y, last = layer(packed)
    y, found = pad_packed_sequence(y, batch_first=True, padding_value=-1.0, total_length=8)
    assert found.tolist() == lengths and y.shape[1] == 8
    for i, n in enumerate(lengths):
        alone, end = layer(x[i:i + 1, :n])
        whet.testing.assert_close(y[i, :n], alone[0], rtol=1e-4, atol=1e-5)
        assert (y[i, n:] == -1).all()
        pairs = zip(last, end) if kind is nn.LSTM else [(last, end)]
        for a, b in pairs:
            whet.testing.assert_close(a[:, i], b[:, 0], rtol=1e-4, atol=1e-5)


def test_steps_of_a_classifier_are_replayed_for_any_lengths():
    def train(tracer):
        whet.manual_seed(0)
        embedding, head = nn.Embedding(20, 8), nn.Linear(8, 3)
        layer = nn.LSTM(8, 8, batch_first=True)
        parameters = [*embedding.parameters(), *layer.parameters(), *head.parameters()]
        optimizer = whet.optim.Adam(parameters)

        def step(tokens, lengths, targets):
            packed = pack_padded_sequence(embedding(tokens), lengths, batch_first=True,
                                          enforce_sorted=False)
            _, (h, _) = layer(packed)
            loss = nn.functional.cross_entropy(head(h[-1]), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss.item()
        step, losses = tracer(step), []
        for _ in range(30):
            longest = int(whet.randint(5, 15, ()))
            lengths = whet.cat([whet.tensor([longest]), whet.randint(1, longest + 1, (3,))])
            losses.append(step(whet.randint(20, (4, longest)), lengths, whet.randint(3, (4,))))
        return losses, [p.detach().numpy().tobytes() for p in parameters], step
    *eager, _ = train(lambda fn: fn)
    *traced, step = train(whet.jit.trace)
    assert eager == traced
    assert served(step) >= 20


def test_few_recorded_steps_serve_all_lengths(monkeypatch):
    monkeypatch.setattr(many_sizes, "SOUNDING", 1 << 30)
    embed, lstm = nn.Embedding(211, 12), nn.LSTM(12, 16, 2, bidirectional=True)
    out = nn.Linear(32, 4)
    opt = whet.optim.SGD([*embed.parameters(), *lstm.parameters(), *out.parameters()], 0.1)

    @jit.trace
    def step(tokens, lengths, labels):
        opt.zero_grad()
        packed = pack_padded_sequence(embed(tokens), lengths, enforce_sorted=False)
        rows, _ = pad_packed_sequence(lstm(packed)[0], total_length=tokens.shape[0])
        loss = nn.functional.cross_entropy(out(rows.mean(0)), labels)
        loss.backward()
        opt.step()
        return loss.detach()
    draw = np.random.default_rng(0)
    for longest in (11, 14, 19, 9, 23, 17, 26, 21):
        lengths = draw.integers(2, longest + 1, 6)
        lengths[0] = longest
        step(*map(whet.from_numpy, (draw.integers(1, 50, (longest, 6)), lengths,
                                    draw.integers(0, 4, 6))))
    calls = step._calls.policy.summary()
    # The first shows that data decides sizes, and two show which.
    assert calls.recorded + calls.resized <= 3 and calls.unseen >= 4


def test_wrong_lengths_raise():
    x = whet.ones(3, 2, 1)
    for lengths, words in ([3, 0], "greater than 0"), ([2, 3], "sorted"), ([4, 2], "at most 3"), \
            ([3], "batch_size"):
        with pytest.raises(RuntimeError, match=words):
            pack_padded_sequence(x, lengths)


def test_a_traced_call_asks_whether_all_steps_have_room():
    layer = nn.GRU(2, 3, batch_first=True)

    def run(x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(layer(packed)[0], batch_first=True, total_length=5)[0]
    traced = whet.jit.trace(run)
    for longest in (4, 5, 3, 4, 2, 5, 6, 4, 7):
        x, lengths = whet.randn(3, longest, 2), whet.tensor([1, longest, 2])
        if longest > 5:
            for fn in run, traced:
                with pytest.raises(ValueError, match="total_length=5"):
                    fn(x, lengths)
        else:
            assert whet.equal(run(x, lengths), traced(x, lengths))
    for lengths in [1, 2, 9], [2, 0, 1]:
        for fn in run, traced:
            with pytest.raises(RuntimeError, match="at most 4|greater than 0"):
                fn(whet.randn(3, 4, 2), whet.tensor(lengths))


@pytest.mark.parametrize("sizes", [[2, 3], [3, 3], [2, 1, 1], [3, 2, 0], [6, -1], [3, -1, 3], []])
@pytest.mark.parametrize("order", [None, [2, 0, 1]])
def test_sizes_that_do_not_fit_the_rows_raise(sizes, order):
    packed = nn.utils.rnn.PackedSequence(
        whet.randn(5, 2), whet.tensor(sizes, dtype=whet.int64),
        order if order is None else whet.tensor(order))
    with pytest.raises((RuntimeError, IndexError)):
        nn.GRU(2, 3)(packed)


def test_sizes_of_another_type_raise():
    packed = nn.utils.rnn.PackedSequence(whet.randn(5, 2), whet.tensor([3.0, 2.0]))
    with pytest.raises(RuntimeError, match="int64"):
        nn.GRU(2, 3)(packed)
