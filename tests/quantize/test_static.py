"""Models whose layers compute with bytes: what is recorded, calibrated and made of them."""

import sys
from pathlib import Path

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import nn, quantize
from whet.ir.interpret import interpret
from whet.jit.quantize import calibrators, scheme

from examples import digits


@pytest.fixture(scope="module")
def convolutional():
    """A network of all that layers take in, and data for it."""
    whet.manual_seed(0)
    return Network().eval(), [whet.randn(2, 3, 12, 12) for _ in range(3)]


class Block(nn.Module):
    """Two ways that are added."""

    def __init__(self, i, o):
        super().__init__()
        self.a, self.norm, self.b = (
            nn.Conv2d(i, o, 1, bias=False),
            nn.BatchNorm2d(o),
            nn.Conv2d(o, o, 3, padding=1),
        )
        self.way, self.alone = nn.Conv2d(i, o, 1), nn.Conv2d(o, o, 3, padding=1, groups=o)

    def forward(self, x):
        y = F.relu(self.b(F.relu(self.norm(self.a(x)))) + self.way(x))
        return F.relu6(self.alone(y) + y)


class Network(nn.Module):
    """A stem, a pool, a block, a mean and a linear layer."""

    def __init__(self):
        super().__init__()
        self.stem, self.block, self.last = (
            nn.Conv2d(3, 16, 3, 2, 1),
            Block(16, 40),
            nn.Linear(40, 7),
        )

    def forward(self, x):
        x = self.block(F.max_pool2d(F.relu(self.stem(x)), 2))
        return self.last(F.adaptive_avg_pool2d(x, 1).flatten(1))


def near(a, b, bound):
    """Is a within so much of b's largest magnitude?"""
    return bool((a - b).abs().max() < bound * b.abs().max())


def test_layers_take_in_what_follows(convolutional):
    model, data = convolutional
    small = quantize.static(model, data)
    names = [n.op.name for n in small.graph.nodes]
    assert names.count("quantised_conv") == 5 and names.count("quantised_linear") == 1
    assert not {"relu", "relu6", "add", "convolution", "linear", "batch_norm_eval"} & set(names)
    assert [x.name for x in small.report.layers] == [
        "stem",
        "block.a",
        "block.b",
        "block.way",
        "block.alone",
        "last",
    ]
    assert all(near(small(x), model(x), 0.05) for x in data)


def test_bits_are_those_of_the_ops_one_by_one(convolutional, tmp_path):
    model, data = convolutional
    small = quantize.static(model, data)
    held = [small.constants[x.name] for x in small.graph.inputs if x.place == "constant"]
    (wanted,) = interpret(small.graph, data[1], *held)
    small.save(tmp_path / "small.whet")
    again = whet.load(tmp_path / "small.whet")
    before = whet.get_num_threads()
    for threads in (1, 2):
        whet.set_num_threads(threads)
        for f in (small, again):
            assert f(data[1]).numpy().tobytes() == wanted.tobytes()
    whet.set_num_threads(before)


@pytest.mark.parametrize("how", ["minmax", "percentile", "entropy", quantize.MinMax])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("per_channel", [False, True])
def test_ways_to_calibrate(convolutional, how, symmetric, per_channel):
    model, data = convolutional
    small = quantize.static(
        model, data, calibrate=how, symmetric=symmetric, per_channel=per_channel
    )
    assert near(small(data[0]), model(data[0]), 0.3 if how == "entropy" else 0.08)


def test_layers_that_are_left(convolutional):
    model, data = convolutional
    small = quantize.static(model, data, leave=["stem", "last"])
    assert [x.name for x in small.report.layers] == [
        "block.a",
        "block.b",
        "block.way",
        "block.alone",
    ]
    none = quantize.static(model, data, leave=lambda name: True)
    assert not none.report.layers and near(none(data[0]), model(data[0]), 1e-5)


def test_the_report(convolutional):
    model, data = convolutional
    report = quantize.static(model, data).report
    assert 0 < report.worst(1)[0].alone < 0.05 and report.bytes_after < 0.6 * report.bytes_before
    assert "block.alone" in str(report) and "test_static.py" in str(report)
    assert report.worst(1)[0].alone == max(x.alone for x in report.layers)


def test_data_that_do_not_fit(convolutional):
    model, data = convolutional
    with pytest.raises(ValueError, match="no calibration data"):
        quantize.static(model, [])
    with pytest.raises(ValueError, match="only the first size, that of a batch, may differ"):
        quantize.static(model, [data[0], data[0][:, :, 1:]])
    with pytest.raises(ValueError, match="calibrate"):
        quantize.static(model, data, calibrate="best")
    with pytest.raises(TypeError, match=r"for one call write \[x\]"):
        quantize.static(model, data[0])
    with pytest.raises(ValueError, match="no layer 'stern'; there are block.a, "):
        quantize.static(model, data, leave=["stern"])


@pytest.mark.parametrize("how", ["minmax", "percentile", "entropy"])
@pytest.mark.parametrize("size", [0.0, 1e-42, 1e30])
def test_data_of_any_size(how, size):
    layer, x = nn.Linear(4, 3).eval(), whet.randn(5, 4) * size
    small, wanted = quantize.static(layer, [x], calibrate=how), layer(x)
    assert near(small(x), wanted, 0.05)


def test_a_value_that_others_read_is_not_taken_in():
    a, b = nn.Linear(8, 8), nn.Linear(8, 8)

    def f(x):
        y = a(x)
        return b(F.relu(y)), y

    x = whet.randn(4, 8)
    small = quantize.static(f, [x])
    assert "relu" in [n.op.name for n in small.graph.nodes]
    assert all(near(p, q, 0.05) for p, q in zip(small(x), f(x)))


def test_a_model_that_says_how_it_is_quantised():
    w, b, scales = whet.randn(6, 3, 3, 3), whet.randn(6), whet.full((6,), 0.02)

    def said(x):
        x = quantize.dequantize_linear(
            quantize.quantize_linear(x, 0.05, 3, dtype=whet.int8), 0.05, 3
        )
        numbers = quantize.quantize_linear(w, scales, 0, 0, whet.int8)
        v = F.conv2d(x, quantize.dequantize_linear(numbers, scales, 0, 0), b, padding=1)
        v = quantize.quantize_linear(F.relu(v), 0.04, 0)
        return quantize.dequantize_linear(v, 0.04, 0)

    x = whet.randn(2, 3, 7, 7)
    small = quantize.convert(said, x)
    assert [n.op.name for n in small.graph.nodes if "quant" in n.op.name] == [
        "quantize_u8",
        "quantised_conv",
        "dequantize",
    ]
    # sums of reals are rounded, those of bytes are not: at most a step apart, and hardly ever
    away = (small(x) - said(x)).abs()
    assert away.max() <= 0.0401 and (away > 1e-6).float().mean() < 0.01


# ---- parts ---------------------------------------------------------------------------------------
def test_schemes():
    s = scheme.Scheme.of(-1.0, 3.0)
    assert s.zero == 64 and abs(s.scale - 4 / 255) < 1e-9 and s.low <= -1.0 and s.high >= 2.99
    assert scheme.Scheme.of(2.0, 3.0).zero == 0  # zero has a byte, too
    assert scheme.Scheme.of(-1.0, 3.0, symmetric=True).zero == 128
    assert scheme.Scheme.of(0.0, 0.0).scale > 0
    w = scheme.Weights.of(np.array([[1.0, -2.0], [0.0, 0.0]], "f4"))
    assert w.numbers.tolist() == [[64, -127], [0, 0]]


def test_calibrators_cut_off_what_is_rare():
    rng = np.random.default_rng(0)
    a = rng.standard_normal(100_000).astype("f4")
    a[:3] = 100.0, np.nan, np.inf
    found = {name: make() for name, make in calibrators.CALIBRATORS.items()}
    for c in found.values():
        for part in np.split(a, 4):
            c.see(part)
    assert found["minmax"].bounds()[1] == 100.0
    assert 3.0 < found["percentile"].bounds()[1] < 6.0
    assert 1.5 < found["entropy"].bounds()[1] < 8.0
    assert quantize.MinMax().bounds() == (0.0, 0.0)
    with pytest.raises(ValueError, match="Percentile"):
        quantize.Percentile(0)


@pytest.fixture(scope="module")
def reader():
    """A network that has learnt the digits, the held-out ones and some for calibration."""
    sys.path.insert(0, str(Path(digits.__file__).parent))
    whet.manual_seed(0)
    (x, y), (tx, ty) = [(whet.tensor(a), whet.tensor(b)) for a, b in digits.images()]
    model = digits.network(nn)
    optimizer = whet.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(4):
        for i in range(0, len(x) - 63, 64):
            loss = F.cross_entropy(model(x[i : i + 64]), y[i : i + 64])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model.eval(), tx, ty, [x[i : i + len(tx)] for i in (0, len(tx))]


def accuracy(f, x, y):
    return float((f(x).argmax(1) == y).float().mean())


@pytest.mark.parametrize("how", ["minmax", "percentile", "entropy"])
def test_digits_lose_less_than_a_point(reader, how):
    model, x, y, data = reader
    before = accuracy(model, x, y)
    assert before > 0.95
    assert accuracy(quantize.static(model, data, calibrate=how), x, y) > before - 0.01


def test_a_layer_that_is_called_again_has_its_weight_once():
    layer = nn.Linear(64, 64).eval()
    data = [whet.randn(4, 64)]
    small = quantize.static(lambda x: layer(layer(layer(x).sin()).sin()), data)
    assert len(small.report.layers) == 3
    assert sum(a.dtype == whet.int8 for a in small.constants.values()) == 1
    assert near(small(data[0]), layer(layer(layer(data[0]).sin()).sin()), 0.05)


def test_rows_that_lie_apart_have_machine_code(tmp_path):
    layer = nn.Linear(7, 3).eval()
    small = quantize.static(lambda x: layer(x.transpose(0, 1)), [whet.randn(4, 5, 7)])
    (x,) = [n.ins[0] for n in small.graph.nodes if n.op.name == "quantised_linear"]
    assert not small.graph.types[x].contiguous
    small.compile(tmp_path / "model.so", target=["x86-64-v3"])
