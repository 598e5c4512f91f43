"""Quantised operators of files run on the kernels of bytes, with the numbers of wide integers."""

import numpy as np
import pytest
import whet
from whet.onnx.read.operators import byte_products
from whet.onnx.read.operators import quantised as wide
from whet.onnx.read.values import Known

onnx = pytest.importorskip("onnx")
from onnx.reference import ReferenceEvaluator  # noqa: E402

RANGES = {"u1": (0, 256, whet.uint8), "i1": (-128, 128, whet.int8)}
SIGNS = [(a, b, y) for a in RANGES for b in RANGES for y in RANGES]


def draw(rng, kind, *shape):
    return whet.from_numpy(np.asarray(rng.integers(*RANGES[kind][:2], shape), kind))


def known(number, kind):
    return Known(np.array(number), RANGES[kind][2])


@pytest.mark.parametrize("a, b, y", SIGNS)
@pytest.mark.parametrize("k", [1, 7, 513, 1300])
def test_products_of_all_signs(a, b, y, k):
    rng = np.random.default_rng(k)
    x, w, zero = draw(rng, a, 3, k), draw(rng, b, k, 34), draw(rng, a)
    none = known(0 if b == "i1" else 128, b)
    total = whet.matmul(wide.shifted(x, zero), wide.shifted(w, none.tensor()))
    found = byte_products.matmul_integers(x, w, zero, none)
    assert found.dtype is whet.int32 and found.tolist() == total.tolist()
    factor = whet.rand(34) * (50 / k) * 1e-3
    point = known(int(draw(rng, y).item()), y)
    wanted = wide.requantised(total.to(whet.float32), factor, point.tensor())
    layer = byte_products.matmul_layer(x, known(zero.item(), a), w, factor, point)
    assert layer.dtype is wanted.dtype and layer.tolist() == wanted.tolist()


@pytest.mark.parametrize("a, b, y", SIGNS)
@pytest.mark.parametrize("channels, groups, taps", [(2, 1, 3), (80, 1, 3), (8, 2, 1), (6, 6, 3)])
def test_convolutions_of_all_signs(a, b, y, channels, groups, taps):
    rng = np.random.default_rng(channels)
    x = draw(rng, a, 2, channels, 9, 8)
    w, zero = draw(rng, b, 12, channels // groups, taps, taps), draw(rng, a)
    none = known(0 if b == "i1" else 128, b)
    pads = [1, 0, 1, 0] if taps == 3 else None
    for image in (byte_products.Image("NOTSET", [1, 1], groups, pads, [2, 1]),
                  byte_products.Image("SAME_UPPER", None, groups, None, [2, 2])):
        total = wide.convolved(wide.exact(wide.shifted(x, zero)),
                               wide.exact(wide.shifted(w, none.tensor())), None,
                               auto_pad=image.auto_pad, dilations=image.dilations, group=groups,
                               pads=image.pads, strides=image.strides)
        found = byte_products.conv_integers(x, w, zero, none, image)
        assert (found is None) == (groups > 1)
        assert found is None or found.tolist() == total.to(whet.int32).tolist()
        bias, factor = draw(rng, "i1", 12).to(whet.int32) * 99, whet.rand(12) * 1e-3
        point = known(int(draw(rng, y).item()), y)
        sums = (total + bias.to(whet.float64).reshape(1, -1, 1, 1)).to(whet.float32)
        wanted = wide.requantised(sums, factor.reshape(1, -1, 1, 1), point.tensor())
        layer = byte_products.conv_layer(x, known(zero.item(), a), w, bias, factor, point, image)
        assert layer.dtype is wanted.dtype and layer.tolist() == wanted.tolist()


MODEL = """
<ir_version: 9, opset_import: ["" : 19]>
g (float[2,3,8,8] x) => (float[2,5] y)
<float sx = {0.03}, uint8 zx = {120}, float[4] sw = {0.01, 0.02, 0.01, 0.03},
 int8[4] zw = {0, 0, 0, 0}, int32[4] b = {500, -300, 10, 0}, float sy = {0.02}, uint8 zy = {7}>
{
  q = QuantizeLinear(x, sx, zx)
  c = QLinearConv <pads = [1, 1, 1, 1]> (q, sx, zx, w, sw, zw, sy, zy, b)
  p = MaxPool <kernel_shape = [8, 8]> (c)
  d = DequantizeLinear(p, sy, zy)
  f = Flatten(d)
  e, se, ze = DynamicQuantizeLinear(f)
  m = MatMulInteger(e, v, ze)
  r = Cast <to = 1> (m)
  y = Mul(r, se)
}
"""


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    proto = onnx.parser.parse_model(MODEL)
    for name, shape in (("w", (4, 3, 3, 3)), ("v", (4, 5))):
        w = rng.integers(-127, 128, shape).astype("i1")
        proto.graph.initializer.append(onnx.numpy_helper.from_array(w, name))
    return proto


def test_a_file_of_integers_runs_on_bytes(model):
    x, loaded = whet.randn(2, 3, 8, 8), whet.onnx.load(model)
    wanted = ReferenceEvaluator(model).run(None, {"x": x.numpy()})[0]
    assert np.abs(loaded(x).numpy() - wanted).max() < 1e-4 * np.abs(wanted).max()
    exported = whet.export(loaded, x)
    names = [n.op.name for n in exported.graph.nodes]
    assert {"quantised_conv", "quantised_linear"} <= set(names) and "convolution" not in names
    traced = whet.jit.trace(loaded)
    for scale in (1.0, 3.0, 0.1, 1.0):
        got = loaded(x * scale).tolist()
        assert traced(x * scale).tolist() == got and exported(x * scale).tolist() == got


def test_weights_that_are_written_to_are_packed_again(model):
    x, loaded = whet.randn(2, 3, 8, 8), whet.onnx.load(model)
    traced = whet.jit.trace(loaded)
    before = [loaded(x), traced(x), traced(x)][0]
    loaded.v.copy_(-loaded.v)
    assert (loaded(x) + before).abs().max() < 1e-5 < before.abs().max()
    assert traced(x).tolist() == loaded(x).tolist()
