"""Steps that repeat are one node of an ONNX model: that of a layer, or `Scan`."""

import collections
import os
import tempfile

import numpy as np
import pytest
import whet
import whet.onnx
from whet import nn
from whet.ops.control_flow import leaves

onnx = pytest.importorskip("onnx")
WEIGHT = whet.arange(16.0).reshape(4, 4) / 10


def model(fn, *args, dynamic=None):
    """The ONNX model of a function, which gives its results for these arguments."""
    with whet.no_grad(), tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        whet.export(fn, *args, dynamic=dynamic).to_onnx(path)
        proto = onnx.load(path)
    compare(proto, fn, *args)
    return proto


def compare(proto, fn, *args):
    """Does a model give what the function gives?"""
    with whet.no_grad():
        wanted, made = (leaves(f(*args)) for f in (fn, whet.onnx.load(proto)))
    for a, b in zip(wanted, made, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


def count(proto):
    """How often each operator is there."""
    return collections.Counter(n.op_type for n in proto.graph.node)


@pytest.mark.parametrize("given", [
    {}, {"bias": False}, {"bidirectional": True}, {"num_layers": 2}, {"batch_first": True}])
@pytest.mark.parametrize("kind, more", [
    ("LSTM", {}), ("GRU", {}), ("RNN", {}), ("RNN", {"nonlinearity": "relu"})])
def test_a_recurrent_layer_is_the_operator(kind, more, given):
    net = getattr(nn, kind)(4, 8, **given, **more).eval()
    found = count(model(net, whet.randn(5, 6, 4)))
    assert found[kind] == given.get("num_layers", 1) * (2 if "bidirectional" in given else 1)
    assert not {"Scan", "Tanh", "Sigmoid", "MatMul", "Gemm"} & set(found)


def test_states_that_are_given_are_the_operator_s():
    for kind, states in (("LSTM", 2), ("GRU", 1)):
        net = getattr(nn, kind)(4, 8).eval()
        given = [whet.randn(1, 6, 8) for _ in range(states)]

        def call(x, *h, net=net):
            return net(x, h if len(h) > 1 else h[0])

        (node,) = [n for n in model(call, whet.randn(5, 6, 4), *given).graph.node
                   if n.op_type == kind]
        assert all(node.input[5 : 5 + states])


def test_a_layer_of_batches_of_any_size():
    net = nn.LSTM(4, 8, 2).eval()
    dynamic = {"input": {1: whet.jit.Dim("batch", max=9)}}
    proto = model(net, whet.randn(5, 3, 4), dynamic=dynamic)
    assert count(proto)["LSTM"] == 2
    compare(proto, net, whet.randn(5, 7, 4))


class Half(nn.Module):
    """A state that is known, and is no zeros."""

    def __init__(self):
        super().__init__()
        self.net = nn.LSTM(4, 8)
        self.register_buffer("start", whet.full((1, 6, 8), 0.5))

    def forward(self, x):
        return self.net(x, (self.start, self.start))[0]


def test_a_state_that_is_known_is_the_operator_s():
    assert count(model(Half().eval(), whet.randn(5, 6, 4)))["LSTM"] == 1


def test_what_the_operator_cannot_say_is_a_scan():
    found = count(model(nn.LSTM(4, 8, proj_size=5).eval(), whet.randn(5, 6, 4)))
    assert found["Scan"] == 1 and not found["LSTM"]


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_a_layer_of_any_length_and_batch(kind):
    net = getattr(nn, kind)(4, 8, 2, bidirectional=True).eval()
    dynamic = {"input": {0: whet.jit.Dim("length", max=30), 1: whet.jit.Dim("batch", max=9)}}
    proto = model(net, whet.randn(5, 3, 4), dynamic=dynamic)
    assert count(proto)[kind] == 4
    for length, batch in ((2, 2), (30, 9), (17, 1), (1, 4)):
        compare(proto, net, whet.randn(length, batch, 4))


def fading(c, v):
    return c * 0.5 + v.tanh(), c * v


SCANS = {
    "forward": lambda x, c: whet.scan(fading, c, x),
    "backward": lambda x, c: whet.scan(fading, c, x, reverse=True),
    "second dimension": lambda x, c: whet.scan(fading, c, x.transpose(0, 1), dim=1),
    "output of the state alone": lambda x, c: whet.scan(
        lambda c, v: (c * 0.5 + v, c * 2), c, x),
    "two sequences": lambda x, c: whet.scan(
        lambda c, v: (c * v[0] + v[1], v[1] - c), c, (x, x * 2)),
    "two states": lambda x, c: whet.scan(
        lambda s, v: ((s[1] + v, s[0] * v), s[0] - v), (c, c * 2), x),
    "no output of steps": lambda x, c: whet.scan(lambda c, v: (c * v, c * v), c, x)[0],
}


@pytest.mark.parametrize("name", SCANS)
def test_a_scan_is_a_scan(name):
    found = count(model(SCANS[name], whet.randn(6, 3, 4), whet.randn(3, 4)))
    assert found["Scan"] == 1 and sum(found.values()) < 20


def test_a_loop_over_a_sequence_is_a_scan():
    def loop(x, h):
        made = []
        for v in x.unbind(0):
            h = (h @ WEIGHT + v).sigmoid()
            made.append(h)
        return made[2] * 2, h, whet.stack(made, 1)

    assert count(model(loop, whet.randn(6, 3, 4), whet.randn(3, 4)))["Scan"] == 1


def test_a_head_of_the_step_s_own_op_is_no_step():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.net, self.out = nn.LSTM(4, 8), nn.Linear(8, 32)

        def forward(self, x):
            return self.out(self.net(x)[1][0][0])

    assert count(model(Net().eval(), whet.randn(5, 6, 4)))["LSTM"] == 1


def two_steps_back(x, h):
    return whet.scan(lambda s, v: ((s[1] + v, s[0] * 0.5), s[0]), (h, h * 2), x)


def uneven(x, h):
    for i, v in enumerate(x.unbind(0)):
        h = h * 0.5 + v if i % 2 else h + v
    return h


def looked_at(x, h):
    kept = []
    for v in x.unbind(0):
        h = h * 0.5 + v
        kept.append(h.sum() * x.sum())
    return whet.stack(kept)


def written(x, h):
    h = h.clone()
    for v in x.unbind(0):
        h.mul_(0.5).add_(v)
    return h


@pytest.mark.parametrize("fn", [two_steps_back, uneven, looked_at, written])
def test_steps_that_differ_or_are_more_than_steps_give_the_same(fn):
    model(fn, whet.randn(6, 3, 4), whet.randn(3, 4))


@pytest.mark.parametrize("kind, given", [
    (nn.LSTM, {"num_layers": 2, "bidirectional": True}), (nn.GRU, {}), (nn.RNN, {})])
def test_packed_sequences_of_any_lengths(kind, given, tmp_path):
    layer = kind(3, 4, batch_first=True, **given).eval()

    def run(x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True,
                                                   enforce_sorted=False)
        y, last = layer(packed)
        return nn.utils.rnn.pad_packed_sequence(y, batch_first=True)[0], leaves(last)[0]
    x = whet.randn(4, 6, 3)
    whet.onnx.export(run, (x, whet.tensor([6, 2, 3, 5])), tmp_path / "model.onnx")
    proto = onnx.load(tmp_path / "model.onnx")
    for lengths in [6, 2, 3, 5], [1, 1, 4, 2], [3, 3, 3, 3], [2, 6, 6, 1]:
        compare(proto, run, x, whet.tensor(lengths))
