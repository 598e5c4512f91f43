"""What packages written for PyTorch import from it: files by URL, futures, marks for its compiler,
inner places of distributions and loaders."""
import collections
import io
import math
import threading

import pytest
import whet
from whet import nn


# ---- hub -----------------------------------------------------------------------------------------
def test_weights_are_downloaded_once(tmp_path):
    weights = {"w": whet.arange(3)}
    whet.save(weights, tmp_path / "weights.pt")
    url = (tmp_path / "weights.pt").as_uri()
    folder = tmp_path / "cache"
    assert whet.hub.load_state_dict_from_url(url, folder)["w"].tolist() == [0, 1, 2]
    (tmp_path / "weights.pt").unlink()
    assert whet.hub.load_state_dict_from_url(url, folder)["w"].tolist() == [0, 1, 2]


def test_a_download_of_another_hash_leaves_no_file(tmp_path):
    (tmp_path / "given").write_bytes(b"text")
    with pytest.raises(RuntimeError, match="invalid hash value"):
        whet.hub.download_url_to_file((tmp_path / "given").as_uri(), tmp_path / "got", "0000")
    assert [p.name for p in tmp_path.iterdir()] == ["given"]


def test_models_of_a_folder(tmp_path):
    (tmp_path / "hubconf.py").write_text(
        "import whet\n_hidden = print\n\ndef line(n):\n    'One layer.'\n"
        "    return whet.nn.Linear(n, 1)\n")
    assert whet.hub.list(tmp_path) == ["line"]
    assert whet.hub.help(tmp_path, "line") == "One layer."
    assert whet.hub.load(tmp_path, "line", 3, source="local").in_features == 3
    with pytest.raises(RuntimeError, match="Cannot find callable other"):
        whet.hub.load(tmp_path, "other", source="local")
    with pytest.raises(ValueError, match="source='local'"):
        whet.hub.load("owner/name", "line")


def test_the_folder_of_downloads(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert whet.hub.get_dir() == str(tmp_path / "hub")


def test_a_bar_says_how_far_a_download_is(tmp_path, capsys):
    (tmp_path / "given").write_bytes(b"text")
    for progress in (False, True):
        whet.hub.download_url_to_file(
            (tmp_path / "given").as_uri(), tmp_path / "got", progress=progress)
        assert ("100" in capsys.readouterr().err) is progress
    assert whet.utils.model_zoo.tqdm is whet.hub.tqdm


# ---- futures -------------------------------------------------------------------------------------
def test_a_future_is_set_by_another_thread():
    future: whet.futures.Future[int] = whet.futures.Future()
    doubled = future.then(lambda f: f.value() * 2)
    failed = future.then(lambda f: f.value() / 0)
    threading.Thread(target=future.set_result, args=(3,)).start()
    assert future.wait() == 3 and doubled.wait() == 6 and future.done()
    with pytest.raises(ZeroDivisionError):
        failed.wait()
    with pytest.raises(RuntimeError, match="only be set once"):
        future.set_result(4)
    with pytest.raises(RuntimeError, match="no value yet"):
        whet.futures.Future().value()


def test_futures_are_waited_for_together():
    some = [whet.futures.Future() for _ in range(3)]
    together = whet.futures.collect_all(some)
    for i, f in enumerate(some):
        assert not together.done()
        f.set_result(i)
    assert [f.value() for f in together.wait()] == whet.futures.wait_all(some) == [0, 1, 2]


# ---- marks, checks and types ---------------------------------------------------------------------
def test_marks_for_the_compiler_change_nothing():
    from whet._dynamo import allow_in_graph, mark_dynamic
    f = allow_in_graph(math.sqrt)
    mark_dynamic(whet.ones(2), 0)
    assert f is math.sqrt and whet._C._get_tracing_state() is None
    assert not whet.onnx.is_in_onnx_export() and not whet.compiler.is_exporting()
    assert not isinstance(whet.jit.script(nn.Linear(1, 1)), whet.jit.ScriptModule)


def test_names_by_which_vision_packages_ask_who_is_at_work():
    from whet._dynamo.utils import is_compile_supported
    from whet._subclasses.fake_tensor import is_fake
    from whet.fx.experimental.proxy_tensor import get_proxy_mode
    asked = []

    def f(x):
        asked.append(whet._C._are_functorch_transforms_active())
        return x.sum()
    whet.vmap(f)(whet.ones(2, 3))
    f(whet.ones(2))
    assert asked == [True, False]
    assert is_compile_supported("cpu") and not is_compile_supported("mps")
    assert not is_fake(whet.ones(1)) and get_proxy_mode() is None


def test_the_package_has_its_own_name():
    assert whet.torch is whet and whet.torch.Tensor is whet.Tensor


def test_a_library_of_operators_of_pytorch_is_as_one_that_is_not_there():
    with pytest.raises(OSError, match="cannot be loaded"):
        whet.ops.load_library("_C.so")


def test_types_of_scripts_annotate_arguments():
    from whet.jit.annotations import BroadcastingList1, BroadcastingList2, List
    assert BroadcastingList2[int] == int | list[int] == BroadcastingList1[int] and List is not list
    assert whet.jit._script_if_tracing(math.sqrt) is math.sqrt


def test_inner_names_of_types():
    from whet.types import _device, _dtype, _float, _size
    assert (_device, _dtype, _float) == (whet.device, whet.dtype, float)
    assert whet.Size in _size.__args__


@pytest.mark.parametrize("check,error", [
    (whet._check, RuntimeError), (whet._check_index, IndexError),
    (whet._check_value, ValueError), (whet._check_type, TypeError),
    (whet._check_not_implemented, NotImplementedError)])
def test_checks(check, error):
    check(True, lambda: "never said")
    with pytest.raises(error, match="two is odd"):
        check(False, lambda: "two is odd")


def test_checks_of_tensors():
    whet._check_tensor_all(whet.tensor([True, True]))
    with pytest.raises(RuntimeError, match="some"):
        whet._check_tensor_all(whet.tensor([True, False]), lambda: "some")
    with pytest.raises(RuntimeError, match="zero"):
        whet._assert_async(whet.tensor(0))


def test_symbolic_numbers_are_numbers():
    assert whet.sym_max(1, 2.0) == 2.0 and type(whet.sym_max(3, 2.0)) is float
    assert whet.sym_int(-2.5) == -2 and whet.sym_ite(False, 1, 2) == 2
    assert not isinstance(3, whet.SymInt)


@pytest.mark.parametrize("obj,kind,is_one", [
    ([1], list[int], True), ([1, "a"], list[int], False), ((1, "a"), tuple[int, str], True),
    ({"a": [1]}, dict[str, list[int]], True), (None, int | None, True), (1.5, int | None, False),
    (1, (str, int), True)])
def test_isinstance_of_containers(obj, kind, is_one):
    assert whet.jit.isinstance(obj, kind) is is_one


# ---- inner places --------------------------------------------------------------------------------
def test_transforms_are_registered_for_constraints():
    d = whet.distributions

    class Odd(d.constraints.Constraint):
        pass
    d.transform_to.register(Odd, lambda constraint: d.ExpTransform())
    d.biject_to.register(Odd)(lambda constraint: d.AffineTransform(0.0, 2.0))
    assert isinstance(d.transform_to(Odd()), d.ExpTransform)
    assert isinstance(d.biject_to(Odd()), d.AffineTransform)
    assert isinstance(d.transform_to(d.constraints.positive), d.ExpTransform)
    with pytest.raises(TypeError):
        d.transform_to.register(3, lambda c: c)


def test_a_traced_function_sees_a_transform_that_is_registered_later():
    d = whet.distributions
    odd = type("Odd", (d.constraints.Constraint,), {})()

    @whet.jit.trace
    def f(x):
        return d.transform_to(odd)(x)
    x = whet.ones(2)
    for scale in (2.0, 3.0):
        d.transform_to.register(odd, lambda constraint, s=scale: d.AffineTransform(0.0, s))
        for _ in range(4):
            assert f(x).tolist() == [scale, scale]


def test_tensors_are_grouped_by_type():
    from whet.utils._foreach_utils import _group_tensors_by_device_and_dtype as grouped
    a, b, c = whet.ones(1), whet.ones(1, dtype=whet.float64), whet.zeros(1)
    groups = grouped([[a, b, c], [1, 2, 3]], with_indices=True)
    key = whet.device("cpu"), whet.float32
    assert groups[key] == ([[a, c], [1, 3]], [0, 2]) and len(groups) == 2


def test_places_of_pytorch():
    from whet.distributions.transforms import _clipped_sigmoid, _InverseTransform
    from whet.distributions.utils import _standard_normal, _sum_rightmost
    from whet.nn.parallel.distributed import DistributedDataParallel
    from whet.utils.data.distributed import DistributedSampler
    from whet.utils.dlpack import from_dlpack, to_dlpack
    x = whet.ones(3)
    y = from_dlpack(to_dlpack(x))
    x[0] = 5
    assert y[0] == 5 and _sum_rightmost(x, 1) == 7
    assert DistributedDataParallel is nn.parallel.DistributedDataParallel
    assert DistributedSampler is whet.utils.data.DistributedSampler
    assert isinstance(whet.distributions.ExpTransform().inv, _InverseTransform)
    assert _clipped_sigmoid(whet.tensor([99.0])) < 1
    assert _standard_normal((2, 3), whet.float64, "cpu").shape == (2, 3)
    assert isinstance(x.untyped_storage(), whet.UntypedStorage)
    assert "NumPy" in whet.__config__.show() and "threads" in whet.__config__.parallel_info()


# ---- the compiler's and the exporter's names -----------------------------------------------------
def test_settings_of_a_compiler_are_kept():
    import whet._dynamo.config as of_dynamo
    import whet._inductor.config as of_inductor
    of_dynamo.suppress_errors = True
    with of_dynamo.patch(suppress_errors=False, made_up=1):
        assert not whet._dynamo.config.suppress_errors and of_dynamo.made_up == 1
    assert of_dynamo.suppress_errors and not hasattr(of_dynamo, "made_up")
    of_inductor.max_autotune = True
    assert whet._inductor.config is of_inductor
    with pytest.raises(AttributeError):
        of_inductor.no_such_setting  # noqa: B018
    of_dynamo.suppress_errors = of_inductor.max_autotune = False


def test_a_stance_switches_compiling_off():
    f = whet._dynamo.optimize("inductor")(lambda x: x + 1)
    made = f.explain(data=True)["calls"]
    whet.compiler.set_stance("force_eager")
    try:
        f(whet.ones(2))
        with whet.compiler.set_stance("default"):
            f(whet.ones(2))
        f(whet.ones(2))
    finally:
        whet.compiler.set_stance("default")
    assert f.explain(data=True)["calls"]["recorded"] == made["recorded"] + 1
    with pytest.raises(RuntimeError, match="stance"):
        whet.compiler.set_stance("lying")


def test_export_by_the_arguments_of_pytorch():
    from whet.export import Dim, export
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh()).eval()
    x = whet.randn(4, 2)
    plain, named, placed = (
        export(net, (x,)), export(net.forward, (), {"input": x}, dynamic_shapes={
            "input": {0: Dim("batch", max=64)}}),
        export(net, (x,), dynamic_shapes=({0: Dim.AUTO},)))
    assert whet.equal(plain(x), net(x)) and whet.equal(whet.export(net, x)(x), net(x))
    for program in named, placed:
        for rows in 1, 7:
            x = whet.randn(rows, 2)
            assert whet.equal(program.module()(input=x), net(x))


def test_what_is_traced_is_saved_and_loaded(tmp_path):
    net = nn.Linear(2, 3).eval()
    x = whet.randn(4, 2)
    traced = whet.jit.trace(net, x)
    traced.save(tmp_path / "a.whet")
    whet.export.save(whet.export.export(net, (x,)), tmp_path / "b.whet")
    for load in whet.jit.load, whet.export.load:
        for name in "ab":
            assert whet.equal(load(tmp_path / f"{name}.whet")(x), net(x))
    with pytest.raises(RuntimeError, match="without example inputs"):
        whet.jit.save(whet.jit.script(net), tmp_path / "c.whet")
    with pytest.raises(TypeError, match="traced or an exported"):
        whet.jit.save(net, tmp_path / "c.whet")


def test_what_torchscript_loads_is_used_as_a_module(tmp_path):
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.ReLU()).eval()
    traced = whet.jit.trace(net, whet.randn(1, 2), check_trace=False, check_tolerance=1e-3)
    file = io.BytesIO()
    whet.jit.save(traced, file, _extra_files={"labels.txt": "cat dog", "raw": b"\x00\x01"})
    files = {"labels.txt": "", "raw": "", "absent": "left"}
    loaded = whet.jit.load(io.BytesIO(file.getvalue()), map_location="cpu", _extra_files=files)
    assert files == {"labels.txt": b"cat dog", "raw": b"\x00\x01", "absent": "left"}
    x = whet.randn(7, 2)
    assert whet.equal(loaded.eval().to("cpu").cpu()(x), net(x)) and not loaded.training
    assert whet.equal(loaded.state_dict()["0.weight"], net[0].weight)
    assert len(list(loaded.parameters())) == len(dict(loaded.named_parameters()))
    assert loaded.requires_grad_(False) is loaded.train(False) is loaded
    for ask in loaded.train, loaded.requires_grad_, lambda: loaded.to(whet.float64):
        with pytest.raises(RuntimeError, match="Sequential was exported for"):
            ask()
    with open(tmp_path / "a.whet", "wb") as out:
        traced.save(out)
    assert whet.equal(whet.load(tmp_path / "a.whet")(x), net(x))


def test_traces_of_named_inputs_and_of_methods():
    class Pair(whet.jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(2, 2)

        @whet.jit.script_method
        def forward(self, x, by=1.0):
            return self.inner(x) * by

        def twice(self, x):
            return self.forward(self.forward(x))
    net, x = Pair().eval(), whet.randn(3, 2)
    assert isinstance(net, whet.jit.ScriptModule) and isinstance(net, nn.Module)
    traced = whet.jit.trace(net, example_kwarg_inputs={"x": x, "by": 2.0})
    assert whet.equal(traced(x, by=2.0), net(x, 2.0))
    both = whet.jit.trace_module(net, {"forward": x, "twice": x}, check_trace=False)
    for _ in range(3):
        assert whet.equal(both(x), net(x)) and whet.equal(both.twice(x), net.twice(x))
    assert both.twice.explain(data=True)["calls"]["replayed"]


def test_marks_and_futures_of_torchscript():
    class Net(nn.Module):
        @whet.jit.export
        def other(self):
            return 1
    assert Net().other() == 1
    assert whet.jit.wait(whet.jit.fork(lambda a, b: a + b, 1, b=2)) == 3
    net = nn.Linear(1, 1)
    with pytest.raises(RuntimeError, match="eval"):
        whet.jit.freeze(net)
    assert whet.jit.optimize_for_inference(net) is net and not net.training


# ---- helpers -------------------------------------------------------------------------------------
def test_trees_have_paths():
    from whet.utils import _pytree as trees
    point = collections.namedtuple("point", "x y")
    tree = {"a": [1, point(2, 3)], "b": (collections.defaultdict(list, c=4),)}
    found, spec = trees.tree_flatten_with_path(tree)
    assert [trees.keystr(path) for path, _ in found] == [
        "['a'][0]", "['a'][1].x", "['a'][1].y", "['b'][0]['c']"]
    assert all(trees.key_get(tree, path) == x for path, x in found)
    assert spec.unflatten([x for _, x in found]) == tree
    doubled = trees.tree_map_with_path(lambda path, x, y: (len(path), x + y), tree, tree)
    assert doubled["a"] == [(2, 2), point((3, 4), (3, 6))]
    assert trees.tree_any_only(int, lambda x: x > 3, tree)
    assert not trees.tree_all_only(int, lambda x: x > 3, tree) and trees.tree_is_leaf(3)
    assert list(trees.tree_iter(tree)) == [1, 2, 3, 4]
    seen = []
    trees.tree_map_only_(int, seen.append, [1, "a", (2.0, 3)])
    assert seen == [1, 3]


def test_a_class_says_its_keys_itself():
    from whet.utils import _pytree as trees

    class Output(dict):
        pass
    trees.register_pytree_node(
        Output, trees._dict_flatten, lambda parts, keys: Output(trees._dict_unflatten(parts, keys)),
        serialized_type_name="Output", flatten_with_keys_fn=trees._dict_flatten_with_keys)
    try:
        tree = [Output(loss=1, logits=(2, 3))]
        found, spec = trees.tree_flatten_with_path(tree)
        assert [trees.keystr(p) for p, _ in found] == [
            "[0]['loss']", "[0]['logits'][0]", "[0]['logits'][1]"]
        assert spec.unflatten([1, 2, 3]) == tree and type(spec.unflatten([1, 2, 3])[0]) is Output
        with pytest.raises(ValueError):
            trees._dict_unflatten([1], ["a", "b"])
    finally:
        del trees.SUPPORTED_NODES[Output]


def test_masks_by_vmap_index_as_everywhere():
    from whet._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
    from whet.nn.attention.flex_attention import _DEFAULT_SPARSE_BLOCK_SIZE
    table, at = whet.tensor([[3, 4, 5], [6, 7, 8]]), whet.tensor([2, 0])

    def masks(at):
        with TransformGetItemToIndex():
            return whet.vmap(lambda i: table[1, i] > 6)(at)
    traced = whet.jit.trace(masks)
    for _ in range(4):
        assert traced(at).tolist() == [True, False]
    assert "eagerly" not in repr(traced) and _DEFAULT_SPARSE_BLOCK_SIZE == 128


def test_batches_are_made_where_pytorch_has_it():
    from whet.utils.data._utils.collate import collate, collate_tensor_fn, default_collate_fn_map
    assert whet.utils.data._utils.collate.collate is collate
    table = {**default_collate_fn_map, str: lambda batch, **_: "".join(batch)}
    assert collate(["a", "b"], collate_fn_map=table) == "ab"
    assert collate_tensor_fn([whet.ones(2)] * 3).shape == (3, 2)


def test_tensors_in_a_row():
    from whet._utils import _flatten_dense_tensors, _get_device_index, _unflatten_dense_tensors
    parts = [whet.randn(2, 3), whet.randn(4), whet.tensor(1.0)]
    flat = _flatten_dense_tensors(parts)
    assert flat.shape == (11,)
    assert all(map(whet.equal, parts, _unflatten_dense_tensors(flat, parts)))
    assert _get_device_index("cuda:3") == 3 and _get_device_index("cpu", allow_cpu=True) == -1
    with pytest.raises(ValueError, match="cuda"):
        _get_device_index("cpu")
