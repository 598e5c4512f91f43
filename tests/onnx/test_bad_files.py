"""Files that are wrong are errors which name the node; no other file is read, nothing crashes."""
import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx
import whet.onnx
from onnx import helper, numpy_helper
from whet.onnx import OnnxError, UnsupportedOnnx

from .models import of_nodes, of_text

X = np.ones((2, 3), np.float32)


def refused(nodes, match, kind=OnnxError, opset=18, outputs=("y",), **constants):
    with pytest.raises(kind, match=match):
        whet.onnx.load(of_nodes(nodes, {"x": X}, list(outputs), opset, constants))


def node(op, inputs="x", outputs="y", name="the node", **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), name=name, **attributes)


def test_all_that_is_unsupported_is_listed_at_once():
    nodes = [node("Nonsense", "x", "a", "first"), node("Sin", "a", "b", "fine"),
             node("Rubbish", "b", "y", "second", domain="other")]
    model = of_nodes(nodes, {"x": X}, ["y"], 18, domains=[("other", 1)])
    with pytest.raises(UnsupportedOnnx) as error:
        whet.onnx.load(model)
    assert len(error.value.found) == 2
    assert "'first' (Nonsense)" in str(error.value)
    assert "'second' (other.Rubbish)" in str(error.value)


def test_what_nobody_reads_need_not_be_supported():
    model = of_nodes([node("Sin"), node("Nonsense", "x", "dead")], {"x": X}, ["y"], 18)
    assert whet.onnx.load(model)(X).shape == (2, 3)


def test_wrong_nodes():
    refused([node("Sin", "x x")], r"'the node' \(Sin\): has 2 inputs")
    refused([node("MatMul")], r"'the node' \(MatMul\): lacks the input")
    refused([node("Concat")], r"'the node' \(Concat\): lacks the attribute 'axis'")
    refused([node("Concat", axis="a")], r"attribute 'axis' does not fit")
    refused([node("Sin", axis=3)], r"has an attribute 'axis', which Sin does not have")
    refused([node("Sin", "z")], r"reads the value 'z', which nothing makes")
    refused([node("Sin"), node("Cos")], "the value 'y' is made twice")
    refused([node("Sin")], "nothing makes", outputs=("other",))


def test_cycles():
    refused([node("Add", "x b", "a", "one"), node("Sin", "a", "b", "two"), node("Cos", "b")],
            "cycle among the nodes 'one', 'two'")


def test_a_newer_version_than_is_known():
    model = of_nodes([node("Sin")], {"x": X}, ["y"], 18)
    model.opset_import[0].version = 99999
    with pytest.raises(OnnxError, match="version 99999 of ai.onnx"):
        whet.onnx.load(model)


def test_functions_that_call_themselves():
    text = """
    g (float[N] x) => (float[N] y) { y = own.f (x) }
    <domain: "own", opset_import: ["own" : 1]> f (a) => (b) { b = own.f (a) }
    """
    model = onnx.parser.parse_model('<ir_version: 9, opset_import: ["own" : 1]>' + text)
    with pytest.raises(OnnxError, match="deep"):
        whet.onnx.load(model)


def test_inputs_that_do_not_fit():
    text = "g (float[N, 3] x, float[N] z) => (float[N, 3] y) { y = Sin (x) }"
    model = whet.onnx.load(of_text(text))
    z = np.ones(2, np.float32)
    for args, match in (((X.astype(np.int64), z), "'x' should have the type float"),
                        ((X[0], z), "shape"), ((X[:, :2], z), "shape"), ((X,), "'z' is missing"),
                        ((X, z, z), "takes 2 inputs"), ((None, z), "should be a tensor")):
        with pytest.raises(OnnxError, match=match):
            model(*args)
    with pytest.raises(OnnxError, match="no input 'q'"):
        model(X, z, q=z)


def test_what_fails_while_it_runs_names_the_node():
    model = whet.onnx.load(of_nodes([node("MatMul", "x x")], {"x": X}, ["y"], 18))
    with pytest.raises(OnnxError, match=r"'the node' \(MatMul\)"):
        model(X)


def external(location, **facts):
    tensor = numpy_helper.from_array(X, "w")
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": location, **facts}.items():
        tensor.external_data.add(key=key, value=str(value))
    model = of_nodes([node("Add", "x w")], {"x": X}, ["y"], 18)
    model.graph.initializer.append(tensor)
    return model


@pytest.mark.parametrize("location", ["../secret", "/etc/passwd", "", "link", "nowhere", "."])
def test_data_is_never_read_outside_of_the_models_folder(tmp_path, location):
    folder = tmp_path / "models"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(X.tobytes())
    (folder / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(OnnxError, match="there is no file"):
        whet.onnx.load(external(location), folder=folder)


@pytest.mark.parametrize("facts", [{"offset": 8}, {"offset": -1}, {"length": 1 << 60},
                                   {"offset": "x"}, {"length": 4}])
def test_data_that_is_not_all_there(tmp_path, facts):
    (tmp_path / "w").write_bytes(X.tobytes())
    with pytest.raises(OnnxError):
        whet.onnx.load(external("w", **facts), folder=tmp_path)


def test_tensors_that_are_not_what_they_say():
    for change in ({"dims": [5]}, {"dims": [-1, 3]}, {"data_type": 9999}, {"raw_data": b"123"}):
        tensor = numpy_helper.from_array(X, "w")
        for key, value in change.items():
            if key == "dims":
                del tensor.dims[:]
                tensor.dims.extend(value)
            else:
                setattr(tensor, key, value)
        model = of_nodes([node("Add", "x w")], {"x": X}, ["y"], 18)
        model.graph.initializer.append(tensor)
        with pytest.raises(OnnxError):
            whet.onnx.load(model)


def test_damaged_files_are_errors_or_models():
    text = """
    g (float[N, 3] x) => (float[N, 3] y) <float[3] w = {1, 2, 3}, int64[1] a = {0}> {
      s = Shape (x)
      n = Gather (s, a)
      z = Add (x, w)
      y = If (t) <then_branch = p () => (u) { u = Sin (z) },
                  else_branch = q () => (v) { v = Cos (z) }>
      t = Constant <value = bool {1}> ()
    }
    """
    data, rng = of_text(text).SerializeToString(), np.random.default_rng(0)
    for i in range(300):
        bad = bytearray(data)
        if i % 3 == 0:
            bad = bad[:rng.integers(len(bad))]
        else:
            for _ in range(rng.integers(1, 4)):
                bad[rng.integers(len(bad))] = rng.integers(256)
        try:
            whet.onnx.load(bytes(bad))(X)
        except OnnxError:
            pass


def test_it_says_what_is_missing(monkeypatch):
    import importlib
    real = importlib.import_module

    def without(name, package=None):
        if name.split(".")[0] == "onnx":
            raise ModuleNotFoundError("No module named 'onnx'", name="onnx")
        return real(name, package)
    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(ImportError, match=r"pip install whet\[onnx\]"):
        whet.onnx.load(b"")
