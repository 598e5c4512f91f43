"""What operators meant in older versions; and that every operator of every version is defined."""
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx
import whet
from whet.onnx import module  # noqa: F401  fills the table of definitions
from whet.onnx.read import definition
from whet.onnx.read.attributes import LEGACY

from .models import run_node

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 3, 4)).astype(np.float32)
IMAGE = RNG.normal(size=(1, 2, 4, 4)).astype(np.float32)
SCHEMAS = [s for s in onnx.defs.get_all_schemas_with_history()
           if s.support_level == onnx.defs.OpSchema.SupportType.COMMON]


def close(found, expected):
    array = found.detach().numpy() if isinstance(found, whet.Tensor) else found
    assert array.shape == np.shape(expected)
    assert np.allclose(array, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("domain", ["", "ai.onnx.ml", "ai.onnx.preview.training"])
def test_every_operator_of_every_version_is_defined_with_all_it_takes(domain):
    schemas = [s for s in SCHEMAS if s.domain == domain]
    assert len(schemas) > 3
    for schema in schemas:
        found = definition.find(domain, schema.name, schema.since_version)
        assert found is not None, schema.name
        lacking = set(schema.attributes) - set(found.attributes) - LEGACY
        assert not lacking, f"{schema.name} {schema.since_version}: {lacking}"
        assert found.rest is not None or len(found.inputs) >= min(schema.max_input, 99), schema.name
        assert sum(p.needed for p in found.inputs) <= schema.min_input, schema.name


def test_no_operator_is_defined_that_onnx_does_not_have():
    known = {(s.domain, s.name) for s in SCHEMAS} | {("ai.onnx.preview", "FlexAttention")}
    assert set(definition._OPERATORS) <= known


def test_broadcasting_before_version_7():
    b = np.array([1, 2, 3], np.float32)
    close(run_node("Add", 6, X, b, broadcast=1, axis=1), X + b[:, None])
    close(run_node("Mul", 1, X, np.float32(3).reshape(1), broadcast=1), X * 3)
    close(run_node("PRelu", 6, IMAGE, np.array([0.1, 0.2], np.float32)),
          np.where(IMAGE < 0, IMAGE * np.array([0.1, 0.2]).reshape(2, 1, 1), IMAGE))


def test_attributes_that_became_inputs():
    close(run_node("Clip", 6, X, min=-0.5, max=0.5), X.clip(-0.5, 0.5))
    close(run_node("Clip", 6, X), X)
    close(run_node("Reshape", 1, X, shape=[0, -1]), X.reshape(2, 12))
    close(run_node("Slice", 1, X, starts=[0, 1], ends=[1, -1], axes=[0, 2]), X[:1, :, 1:-1])
    close(run_node("Pad", 2, X, pads=[0, 0, 1, 0, 0, 2], value=7.0),
          np.pad(X, ((0, 0), (0, 0), (1, 2)), constant_values=7))
    close(run_node("Pad", 1, X, paddings=[0, 0, 1, 0, 0, 2], mode="edge"),
          np.pad(X, ((0, 0), (0, 0), (1, 2)), mode="edge"))
    close(run_node("Squeeze", 1, X[:1], axes=[0]), X[0])
    close(run_node("Unsqueeze", 1, X, axes=[0, 3]), X[None, :, :, None])
    close(run_node("ReduceSum", 11, X, axes=[1], keepdims=0), X.sum(1))
    close(run_node("ReduceMax", 17, X, axes=[-1]), X.max(-1, keepdims=True))
    close(run_node("TopK", 1, X, k=2, axis=2, outputs=2)[0], -np.sort(-X, 2)[..., :2])
    close(run_node("Tile", 1, X, np.array([2.0]), np.array([1.0])), np.tile(X, (1, 2, 1)))
    first, second = run_node("Split", 2, X, split=[1, 2], axis=1, outputs=2)
    close(first, X[:, :1])
    close(second, X[:, 1:])
    close(run_node("Concat", 1, X, X), np.concatenate([X, X], 1))


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def test_softmax_before_version_13_is_of_all_dimensions_from_its_axis_on():
    close(run_node("Softmax", 11, X), softmax(X.reshape(2, 12), 1).reshape(X.shape))
    close(run_node("Softmax", 13, X), softmax(X, -1))
    logs = np.log(softmax(X.reshape(6, 4), 1))
    close(run_node("LogSoftmax", 11, X, axis=2), logs.reshape(X.shape))
    hard = np.zeros((2, 12), np.float32)
    hard[range(2), X.reshape(2, 12).argmax(1)] = 1
    close(run_node("Hardmax", 11, X), hard.reshape(X.shape))


def test_dropout_that_is_none():
    close(run_node("Dropout", 6, X, is_test=1), X)
    y, mask = run_node("Dropout", 7, X, outputs=2)
    close(y, X)
    assert mask.dtype is whet.float32
    assert run_node("Dropout", 10, X, outputs=2)[1].dtype is whet.bool


def test_dropout_that_is_on_drops_about_its_part():
    x = np.ones((100, 100), np.float32)
    y, mask = run_node("Dropout", 13, x, np.float32(0.25), np.array(True), outputs=2)
    assert abs(mask.to(whet.float32).mean().item() - 0.75) < 0.02
    assert np.allclose(y.numpy(), mask.numpy() / 0.75)
    again = run_node("Dropout", 13, x, np.float32(0.25), np.array(True), seed=3).numpy()
    assert np.array_equal(again, run_node("Dropout", 13, x, np.float32(0.25), np.array(True),
                                          seed=3).numpy())


@pytest.mark.parametrize("opset, more", [
    (1, {"is_test": 1, "consumed_inputs": [0, 0]}), (6, {"is_test": 1}), (7, {}), (9, {}),
    (14, {}), (15, {})])
def test_batch_normalization(opset, more):
    scale, bias, mean = (RNG.normal(size=2).astype(np.float32) for _ in range(3))
    var = np.array([0.5, 2], np.float32)
    view = (1, 2, 1, 1)
    expected = (IMAGE - mean.reshape(view)) / np.sqrt(var.reshape(view) + 1e-5) * \
        scale.reshape(view) + bias.reshape(view)
    close(run_node("BatchNormalization", opset, IMAGE, scale, bias, mean, var, **more), expected)


def test_batch_normalization_that_trains():
    ones, zeros = np.ones(2, np.float32), np.zeros(2, np.float32)
    for opset, more, count in ((9, {}, 5), (14, {"training_mode": 1}, 3)):
        y, mean, var = run_node("BatchNormalization", opset, IMAGE, ones, zeros, zeros, ones,
                                outputs=count, momentum=0.5, **more)[:3]
        close(mean, IMAGE.mean((0, 2, 3)) / 2)
        close(var, (1 + IMAGE.var((0, 2, 3))) / 2)
        close(y.mean((0, 2, 3)), [0, 0])


def test_upsample():
    big = IMAGE.repeat(2, 2).repeat(3, 3)
    scales = np.array([1, 1, 2, 3], np.float32)
    close(run_node("Upsample", 1, IMAGE, height_scale=2.0, width_scale=3.0), big)
    close(run_node("Upsample", 7, IMAGE, scales=scales.tolist()), big)
    close(run_node("Upsample", 9, IMAGE, scales), big)
    close(run_node("Resize", 10, IMAGE, scales), big)
    close(run_node("Resize", 11, IMAGE, np.array([], np.float32), scales,
                   coordinate_transformation_mode="asymmetric", nearest_mode="floor"), big)


def test_resize_by_the_middle_of_new_places():
    halved = np.array([1, 1, 0.5, 0.5], np.float32)
    for opset in (11, 12):
        close(run_node("Resize", opset, IMAGE, np.array([], np.float32), halved,
                       coordinate_transformation_mode="tf_half_pixel_for_nn",
                       nearest_mode="floor"), IMAGE[:, :, 1::2, 1::2])


def test_casts_by_name_and_by_number():
    close(run_node("Cast", 1, X, to="INT32"), X.astype(np.int32))
    close(run_node("Cast", 6, X, to=11), X.astype(np.float64))


def test_scan_of_version_8_has_batches():
    from onnx import helper

    from .models import of_nodes
    port = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "x"], ["t"]), helper.make_node("Identity", ["t"], ["seen"])],
        "body", [port("s", 1, None), port("x", 1, None)],
        [port("t", 1, None), port("seen", 1, None)])
    node = helper.make_node("Scan", ["", "s0", "xs"], ["s", "all"], body=body, num_scan_inputs=1)
    start = np.zeros((2, 4), np.float32)
    model = of_nodes([node], {"s0": start, "xs": X}, ["s", "all"], 8)
    last, rows = whet.onnx.load(model)(start, X)
    close(rows, X.cumsum(1))
    close(last, X.sum(1))


def test_group_normalization_of_versions_18_and_21():
    x = RNG.normal(size=(2, 4, 3)).astype(np.float32)
    groups = x.reshape(2, 2, -1)
    plain = ((groups - groups.mean(-1, keepdims=True)) /
             np.sqrt(groups.var(-1, keepdims=True) + 1e-5)).reshape(x.shape)
    two, four = np.array([1, 2], np.float32), np.array([1, 1, 2, 2], np.float32)
    for opset, scale in ((18, two), (21, four)):
        found = run_node("GroupNormalization", opset, x, scale, 0 * scale, num_groups=2)
        close(found, plain * four.reshape(1, 4, 1))


def test_importing_whet_does_not_import_onnx():
    code = "import sys, whet; whet.onnx; assert 'onnx' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
