"""Sequences of many lengths through recurrent layers: one recording, whatever the length."""

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import nn

pytestmark = pytest.mark.filterwarnings("error::whet.jit.TraceWarning")
LAYERS = {
    "gru": lambda: nn.GRU(6, 10, batch_first=True),
    "lstm": lambda: nn.LSTM(6, 5, num_layers=2, bidirectional=True, batch_first=True),
    "rnn": lambda: nn.RNN(6, 10, batch_first=True)}


class Tagger(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.embed, self.layer, self.out = nn.Embedding(20, 6), layer, nn.Linear(10, 4)

    def forward(self, words):
        return self.out(self.layer(self.embed(words))[0])


def training(kind):
    whet.manual_seed(7)
    model = Tagger(LAYERS[kind]())
    optimizer = whet.optim.SGD(model.parameters(), 0.1, momentum=0.9)

    def step(words, tags):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(words).flatten(0, 1), tags.flatten())
        loss.backward()
        optimizer.step()
        return loss
    return step, model


def plans(f):
    """How many recordings were made by themselves, not like another one."""
    return len({id(r.program.plan) for rs in f._table.values() for r in rs})


@pytest.mark.parametrize("kind", LAYERS)
def test_one_recording_of_a_training_step_serves_all_lengths(kind):
    """Two more lengths are run: one shows what goes by the length, the other confirms it."""
    (traced, mine), (eager, theirs) = training(kind), training(kind)
    f, draw = whet.jit.trace(traced), np.random.default_rng(5)
    lengths = draw.permutation(np.arange(21, 90))[:20]
    for n in (lengths[0], *lengths, *lengths[::-1]):
        words = whet.from_numpy(draw.integers(0, 20, (8, n)))
        same_bits([f(words, words % 4)], [eager(words, words % 4)])
        same_bits([p.grad for p in mine.parameters()], [p.grad for p in theirs.parameters()])
        same_bits(mine.parameters(), theirs.parameters())
    assert plans(f) == 1 and f.explain(data=True)["calls"]["recorded"] <= 3


def test_lengths_beyond_compare_and_of_one():
    """A length of one is a step; others equal the batch, or a size of the model."""
    (traced, mine), (eager, theirs) = training("lstm"), training("lstm")
    f, draw = whet.jit.trace(traced), np.random.default_rng(6)
    for n in (31, 31, 40, 50, 1, 8, 10, 2, 300, 1, 8, 5, 60):
        words = whet.from_numpy(draw.integers(0, 20, (8, n)))
        same_bits([f(words, words % 4)], [eager(words, words % 4)])
        same_bits(mine.parameters(), theirs.parameters())


def test_batch_and_length_vary_and_gradients_leave_the_call():
    (_, mine), (_, theirs) = training("gru"), training("gru")
    f, draw = whet.jit.trace(lambda words: mine(words)), np.random.default_rng(6)
    for length, batch in ((31, 9), (40, 12), (50, 11), (23, 45), (9, 8), (60, 13)):
        words = whet.from_numpy(draw.integers(0, 20, (batch, length)))
        for call, model in ((f, mine), (theirs, theirs)):
            model.zero_grad()
            call(words).square().sum().backward()
        same_bits([p.grad for p in mine.parameters()], [p.grad for p in theirs.parameters()])


def same_bits(a, b):
    assert [x.detach().numpy().tobytes() for x in a] == [x.detach().numpy().tobytes() for x in b]
