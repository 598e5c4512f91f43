"""A loaded model is a Module: it runs, traces, trains, keeps what the file says."""
import copy
import pickle

import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx
import whet
import whet.onnx
from onnx import helper, numpy_helper

from .models import of_nodes, of_text, weights_of

NET = """
net (float[N, 4] x) => (float[N, 2] y)
<int64[1] zero = {0}, int64[2] rest = {2, -1},
 float half = {0.5}>
{
  h = Gemm <transB = 1> (x, fc_weight, fc_bias)
  r = Relu (h)
  s = Shape (r)
  n = Gather (s, zero)
  shape = Concat <axis = 0> (n, rest)
  t = Reshape (r, shape)
  z = Mul (t, half)
  dead = Exp (z)
  last = Constant <value_ints = [2]> ()
  y = ReduceMean <keepdims = 0> (z, last)
}
"""


def net():
    model = of_text(NET)
    rng = np.random.default_rng(0)
    for name, shape in (("fc_weight", (8, 4)), ("fc_bias", (8,))):
        made = rng.normal(size=shape).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(made, name))
    text = model.SerializeToString().replace(b"fc_", b"fc.")     # as exporters write it
    found = onnx.ModelProto.FromString(text)
    found.producer_name, found.doc_string = "tests", "a net"
    found.metadata_props.add(key="author", value="nobody")
    return found


def expected(model, x):
    w = weights_of(model)
    hidden = np.maximum(x @ w["fc.weight"].T + w["fc.bias"], 0).reshape(len(x), 2, -1)
    return (hidden * 0.5).mean(2)


def test_it_runs_by_position_and_by_name_from_all_kinds_of_sources(tmp_path):
    proto, x = net(), np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)
    path = tmp_path / "net.onnx"
    path.write_bytes(proto.SerializeToString())
    for source in (proto, path, str(path), proto.SerializeToString()):
        model = whet.onnx.load(source)
        assert np.allclose(model(x).detach().numpy(), expected(proto, x), atol=1e-6)
        named = model(x=whet.from_numpy(x))
        assert np.array_equal(named.detach().numpy(), model(x).detach().numpy())


def test_initialisers_are_parameters_and_buffers_by_their_names():
    model = whet.onnx.load(net())
    assert set(dict(model.named_parameters())) == {"fc.weight", "fc.bias", "half_"}
    assert set(dict(model.named_buffers())) == {"zero", "rest"}
    assert model.original_names["half_"] == "half" and model.original_names["fc.bias"] == "fc.bias"
    assert (model.producer, model.doc, model.metadata) == ("tests", "a net", {"author": "nobody"})
    assert model.opsets[""] == 18
    assert not any("Exp" in step.where for step in model.plan.steps)         # nobody reads it
    assert "Gemm" in repr(model) and "float[N, 4]" in repr(model)


def test_a_trace_of_it_has_eagers_bits_at_all_sizes_and_replays():
    model = whet.onnx.load(net())
    traced = whet.jit.trace(model)
    for _ in range(4):
        for n in (3, 5):
            x = whet.randn(n, 4)
            assert traced(x).detach().numpy().tobytes() == model(x).detach().numpy().tobytes()
    assert "replayed" in str(traced.explain()) and "refus" not in str(traced.explain())


HELD = """
net (float[2, 4] x) => (float[2, 4] y)
<bool yes = {1}, float[2] scales = {1, 2}, int64[1] zero = {0}, int64[1] four = {4},
 int64[1] one = {1}>
{
  half = Constant <value = float {0.5}> ()
  size = Shape (x)
  ones = ConstantOfShape <value = float[1] {1.5}> (size)
  h = Mul (x, half)
  both = And (yes, yes)
  branched = If (both) <
    then_branch = a () => (float[2, 4] p) { c = Constant <value = float {3}> ()  p = Add (h, c) },
    else_branch = b () => (float[2, 4] q) { q = Identity (h) }>
  wide = Resize <mode = "linear"> (branched, , scales)
  cut = Slice (wide, zero, four, one)
  y = Add (cut, ones)
}
"""


def test_tensors_of_nodes_are_no_strangers_to_a_trace_and_an_export():
    model, x = whet.onnx.load(of_text(HELD)), whet.randn(2, 4)
    traced = whet.jit.trace(model, strict=True)
    exported = whet.export(model, x)
    for _ in range(4):
        for made in (traced(x), exported(x)):
            assert made.detach().numpy().tobytes() == model(x).detach().numpy().tobytes()
    assert "half" not in model.state_dict() and not list(model.parameters())


def test_an_export_has_the_names_of_the_files_inputs():
    model = whet.onnx.load(net())
    exported = whet.export(model, whet.randn(2, 4), dynamic={"x": ("n", None)})
    assert [v.name for v in exported.inputs] == ["x"]
    x = whet.randn(3, 4)
    assert exported(x=x).tolist() == model(x).tolist()
    named = of_text("net (float[2] class) => (float[2] y) { y = Relu(class) }")
    made = whet.export(whet.onnx.load(named), whet.ones(2))
    assert [v.name for v in made.inputs] == ["args.0"]  # no name in Python


def test_an_input_with_an_initialiser_may_be_left_out_of_an_export():
    model = whet.onnx.load(of_text(
        "net (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Mul(w, x) }"))
    made = whet.export(model, x=whet.ones(2))
    assert made(x=whet.ones(2)).tolist() == [1, 2] and [v.name for v in made.inputs] == ["x"]


def test_settings_of_a_file_are_no_guards_of_its_export():
    model = whet.onnx.load(of_text("""
        net (float[n, 2] x) => (float[n, m] y) <int64[1] two = {2}, int64[1] five = {5}> {
            one = Mod (five, two)
            last = Add (one, one)
            y = Slice (x, one, last, one)
        }"""))
    exported = whet.export(model, whet.ones(3, 2), dynamic={"x": {0: "n"}})
    assert not [n for n in exported.graph.nodes if n.kind == "guard"]


def test_it_trains_and_its_state_is_kept():
    model, other = whet.onnx.load(net()), whet.onnx.load(net())
    x, y = whet.randn(16, 4), whet.zeros(16, 2)
    optimizer = whet.optim.SGD(model.parameters(), lr=0.05)

    @whet.jit.trace
    def step(x, y):
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    losses = [step(x, y).item() for _ in range(20)]
    assert losses[-1] < 0.5 * losses[0]
    other.load_state_dict(model.state_dict())
    for twin in (other, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(twin(x).detach().numpy(), model(x).detach().numpy())


def test_gradients_are_those_of_the_function():
    model, x = whet.onnx.load(net()), whet.randn(3, 4)
    model(x).sum().backward()
    for weight in model.parameters():
        flat, grad = weight.detach().reshape(-1), weight.grad.reshape(-1)
        for i in range(0, flat.numel(), 5):
            was, sums = flat[i].item(), []
            for step in (1e-2, -1e-2):
                flat[i] = was + step
                sums.append(model(x).sum().item())
            flat[i] = was
            assert abs((sums[0] - sums[1]) / 2e-2 - grad[i].item()) < 2e-2


def test_other_numbers_of_a_state_are_used_by_eager_and_traced():
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"])]
    x = whet.arange(6, dtype=whet.float32)
    proto = of_nodes(nodes, {"x": x.numpy()}, ["y"], 18, {"shape": np.array([2, 3])})
    model = whet.onnx.load(proto)
    traced = whet.jit.trace(model)
    for _ in range(4):
        assert traced(x).shape == (2, 3)
    model.load_state_dict({"shape": whet.tensor([3, 2])})
    assert model(x).shape == (3, 2) and traced(x).shape == (3, 2)


def test_an_initialiser_may_be_given_as_an_input():
    nodes = [helper.make_node("Add", ["x", "b"], ["y"])]
    x, b = np.ones(2, np.float32), np.full(2, 5, np.float32)
    model = whet.onnx.load(of_nodes(nodes, {"x": x, "b": b}, ["y"], 18, {"b": b}))
    assert model(x).tolist() == [6, 6] and model(x, b=np.zeros(2, np.float32)).tolist() == [1, 1]
    assert [p.needed for p in model.inputs] == [True, False]


def test_sparse_initialisers():
    values = numpy_helper.from_array(np.array([3, 4], np.float32), "w")
    model = of_nodes([helper.make_node("Add", ["x", "w"], ["y"])], {"x": np.zeros(4, np.float32)},
                     ["y"], 18)
    indices = numpy_helper.from_array(np.array([1, 3]), "w_at")
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [4]))
    assert whet.onnx.load(model)(np.ones(4, np.float32)).tolist() == [1, 4, 1, 5]


LOCAL = """
g (float[N] x) => (float[N] y) {
  t = own.twice <by = 3.0> (x)
  y = own.twice (t)
}
<domain: "own", opset_import: ["" : 18]>
twice <by: float = 2.0> (a) => (b) {
  factor = Constant <value_float: float = @by> ()
  b = Mul (a, factor)
}
"""


def test_functions_of_the_model_itself():
    model = onnx.parser.parse_model('<ir_version: 9, opset_import: ["" : 18, "own" : 1]>' + LOCAL)
    assert whet.onnx.load(model)(np.ones(2, np.float32)).tolist() == [6, 6]


BRANCHES = """
g (float[N] x, bool up) => (float[N] y) <float[1] w = {2}> {
  y = If (up) <
    then_branch = more () => (float[N] a) { a = Mul (x, w) },
    else_branch = less () => (float[N] b) { t = Sub (x, w)
                                            b = Neg (t) }>
}
"""


def test_subgraphs_read_the_graph_around_them_and_train():
    model = whet.onnx.load(of_text(BRANCHES))
    x = whet.tensor([1.0, 5.0])
    assert model(x, np.array(True)).tolist() == [2, 10]
    assert model(x, np.array(False)).tolist() == [1, -3]
    traced = whet.jit.trace(model)
    for up in (True, False, True, True, False, False):
        flag = whet.tensor(up)
        assert traced(x, flag).tolist() == model(x, flag).tolist()
    model(x, np.array(True)).sum().backward()
    assert model.w.grad.tolist() == [6]


LOOP = """
g (float[N] x, int64 count) => (float[N] y, float[M, N] all) {
  yes = Constant <value = bool {1}> ()
  y, all = Loop (count, yes, x) <body = step (int64 i, bool c, float[N] s)
    => (bool go, float[N] t, float[N] seen) {
      go = Identity (c)
      t = Add (s, s)
      seen = Identity (t) }>
}
"""


def test_loops():
    model = whet.onnx.load(of_text(LOOP))
    y, rows = model(whet.tensor([1.0, 2.0]), whet.tensor(3))
    assert y.tolist() == [8, 16] and rows.tolist() == [[2, 4], [4, 8], [8, 16]]


def test_data_beside_the_file(tmp_path):
    proto, x = net(), np.ones((2, 4), np.float32)
    want = expected(proto, x)
    onnx.save_model(proto, tmp_path / "m.onnx", save_as_external_data=True, size_threshold=0,
                    location="weights.bin")
    model = whet.onnx.load(tmp_path / "m.onnx")
    assert np.allclose(model(x).detach().numpy(), want, atol=1e-6)
    data = (tmp_path / "m.onnx").read_bytes()
    with pytest.raises(whet.onnx.OnnxError, match="load the model by its path"):
        whet.onnx.load(data)
    again = whet.onnx.load(data, folder=tmp_path)
    assert np.allclose(again(x).detach().numpy(), want, atol=1e-6)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float8_e4m3fn", "int4", "uint2", "U3"])
def test_all_element_types_come_in_and_go_out(kind):
    import ml_dtypes
    made = np.array(["a", "bc"], object) if kind == "U3" else np.array([1, 0]).astype(
        getattr(ml_dtypes, kind, None) or kind)
    nodes = [helper.make_node("Concat", ["x", "w"], ["y"], axis=0)]
    inputs = {"x": made}
    model = whet.onnx.load(of_nodes(nodes, inputs, ["y"], 25, {"w": made}))
    found = model(made)
    array = found.detach().numpy() if isinstance(found, whet.Tensor) else found
    assert array.tolist() == made.tolist() * 2 and array.dtype == made.dtype


COUNTED = """
<ir_version: 9, opset_import: ["" : 19]>
g (int64 n, float[2] x) => (float[2] last, double[k, 2] steps) {
  yes = Constant <value = bool {1}> ()
  last, steps = Loop <body = b (int64 i, bool going, float[2] v)
                             => (bool more, float[2] w, double[2] row)
    { more = Identity(going)  w = Add(v, v)  row = Cast <to = 11> (w) }> (n, yes, x)
}
"""
SCAN = """
<ir_version: 9, opset_import: ["" : 19]>
g (float[n, 2] x, float[2] s) => (float[2] last, int64[2, n] steps) {
  last, steps = Scan <num_scan_inputs = 1, scan_output_axes = [1],
                      body = b (float[2] v, float[2] r) => (float[2] w, int64[2] row)
    { w = Add(v, r)  row = Cast <to = 7> (w) }> (s, x)
}
"""


def test_a_loop_without_steps_gives_rows_of_the_stated_type():
    loop = whet.onnx.load(onnx.parser.parse_model(COUNTED))
    last, steps = loop(whet.tensor(0), whet.ones(2))
    assert last.tolist() == [1, 1] and steps.shape == (0, 2) and steps.dtype is whet.float64
    assert loop(whet.tensor(3), whet.ones(2))[1].shape == (3, 2)
    scan = whet.onnx.load(onnx.parser.parse_model(SCAN))
    last, steps = scan(whet.empty(0, 2), whet.ones(2))
    assert last.tolist() == [1, 1] and steps.shape == (2, 0) and steps.dtype is whet.int64
    assert scan(whet.ones(3, 2), whet.ones(2))[1].tolist() == [[2, 3, 4]] * 2
