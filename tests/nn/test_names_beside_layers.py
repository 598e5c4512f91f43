"""PyTorch names beside layers and ops: patterns of dimensions, schemas, throughput, facts of
the processor."""
import threading
from collections.abc import Sequence

import numpy as np
import pytest
import whet


@pytest.mark.parametrize("pattern, shape, lengths, wanted", [
    ("b c h w -> b (c h) w", (2, 3, 4, 5), {}, lambda a: a.reshape(2, 12, 5)),
    ("... a b -> ... b a", (2, 3, 4), {}, lambda a: a.transpose(0, 2, 1)),
    ("a 1 b -> (b a)", (2, 1, 3), {}, lambda a: a[:, 0].T.reshape(-1)),
    ("(a b) -> b a", (6,), {"b": 3}, lambda a: a.reshape(2, 3).T),
    ("a ... -> (a ...)", (2, 3, 4), {}, lambda a: a.reshape(-1)),
    ("a b -> a 1 b ()", (2, 3), {}, lambda a: a[:, None, :, None]),
    ("b h w (p q c) -> b c (h p) (w q)", (1, 2, 2, 8), {"p": 2, "q": 2},
     lambda a: a.reshape(1, 2, 2, 2, 2, 2).transpose(0, 5, 1, 3, 2, 4).reshape(1, 2, 4, 4)),
    ("a ... -> (...) a", (2, 3, 4), {}, lambda a: a.reshape(2, 12).T),
    ("a ... -> a (...)", (2,), {}, lambda a: a[:, None]),
    ("a ... b -> ... (b a)", (2, 3, 4), {}, lambda a: a.transpose(1, 2, 0).reshape(3, 8)),
])
def test_rearrange_moves_splits_and_joins_dimensions(pattern, shape, lengths, wanted):
    a = np.arange(np.prod(shape)).reshape(shape)
    x = whet.func.rearrange(whet.from_numpy(a), pattern, **lengths)
    np.testing.assert_array_equal(x.numpy(), wanted(a))


def test_rearrange_takes_several_tensors_as_one():
    parts = [whet.zeros(2), whet.ones(2)]
    assert whet.func.rearrange(parts, "parts n -> n parts").tolist() == [[0, 1], [0, 1]]


@pytest.mark.parametrize("pattern, lengths, said", [
    ("a b -> a", {}, "one side"), ("a a -> a", {}, "twice"), ("(a b c -> a", {}, "brackets"),
    ("(a c) b -> a c b", {}, "inferred"), ("(a c) b -> a c b", {"a": 3}, "size 2"),
    ("a -> a", {}, "1 dimensions"), ("a b", {}, "expected a pattern"),
    ("a b -> b a", {"z": 2}, "not in"), ("a, b -> b a", {}, "no name"),
    ("a (...) -> a ...", {}, "alone"), ("a b -> a (b ...)", {}, "alone")])
def test_rearrange_says_what_is_wrong_with_a_pattern(pattern, lengths, said):
    with pytest.raises(ValueError, match=said):
        whet.func.rearrange(whet.ones(2, 3), pattern, **lengths)


def test_a_functionalised_function_means_the_same():
    def f(x):
        y = x.clone()
        y[0] = 5
        x.add_(1)
        return y
    first, second = whet.zeros(2), whet.zeros(2)
    assert whet.equal(f(first), whet.func.functionalize(f)(second))
    assert whet.equal(first, second)
    with pytest.raises(RuntimeError, match="mutations_and_views"):
        whet.func.functionalize(f, remove="views")


def test_debug_unwrap_goes_through_one_transform_or_all():
    shapes = []

    def inner(x):
        one = whet.func.debug_unwrap(x, recurse=False)
        shapes.append((x.ndim, one.ndim, whet.func.debug_unwrap(x).ndim))
        return x
    whet.vmap(whet.vmap(inner))(whet.ones(2, 3))
    assert shapes == [(0, 1, 2)]


def test_schemas_are_inferred_from_annotations():
    def f(x: whet.Tensor, sizes: Sequence[int], n: int = 1, *, y: "whet.Tensor | None" = None,
          eps: float = 0.5, how: str = "a", number: int | float | bool) -> whet.Tensor: ...
    infer = whet.library.infer_schema
    assert infer(f, mutates_args=()) == (
        "(Tensor x, SymInt[] sizes, SymInt n=1, *, Tensor? y=None, float eps=0.5, str how=\"a\", "
        "Scalar number) -> Tensor")
    assert infer(f, mutates_args=("x",), op_name="mine::f").startswith("mine::f(Tensor(a0!) x, ")
    assert "Tensor(a1!)? y" in infer(f, mutates_args="unknown")

    def g(x: list[whet.Tensor], kind: whet.dtype) -> tuple[whet.Tensor, int]: ...
    assert infer(g, mutates_args=()) == "(Tensor[] x, ScalarType kind) -> (Tensor, SymInt)"


def test_schemas_that_cannot_be_inferred_are_refused():
    def no_result(x: whet.Tensor): ...
    def no_type(x) -> whet.Tensor: ...
    def other_type(x: dict) -> whet.Tensor: ...
    def any_number(*x: whet.Tensor) -> whet.Tensor: ...
    for f, said in ((no_result, "No return type"), (no_type, "must have a type"),
                    (other_type, "unsupported type"), (any_number, "varargs")):
        with pytest.raises(ValueError, match=said):
            whet.library.infer_schema(f, mutates_args=())
    with pytest.raises(ValueError, match="not found"):
        whet.library.infer_schema(other_type, mutates_args=("y",))


def test_an_operator_has_a_type_under_autocast():
    seen = []

    @whet.library.custom_op("tests::autocast_rule", mutates_args=())
    def op(x: whet.Tensor, y: Sequence[whet.Tensor], k: int = 2) -> whet.Tensor:
        seen.append((x.dtype, [t.dtype for t in y], whet.is_autocast_enabled("cpu")))
        return x * k
    whet.library.register_autocast("tests::autocast_rule", "cpu", whet.float16)
    x, ints = whet.ones(2), whet.ones(2, dtype=whet.int32)
    with whet.autocast("cpu", dtype=whet.bfloat16):
        assert op(x, [x, x.double(), ints]).dtype is whet.float16
        assert whet.is_autocast_enabled("cpu")
    assert op(x, [x]).dtype is whet.float32
    assert seen == [(whet.float16, [whet.float16, whet.float64, whet.int32], False),
                    (whet.float32, [whet.float32], False)]
    with pytest.raises(RuntimeError, match="already"):
        whet.library.register_autocast(op, "cpu", whet.float16)
    with pytest.raises(ValueError, match="Unknown device type"):
        whet.library.register_autocast(op, "tpu", whet.float16)


def test_throughput_counts_the_calls_of_all_threads():
    calls, threads = [], set()

    class Counted(whet.nn.Module):
        def forward(self, x, times=1):
            calls.append(times)
            threads.add(threading.get_ident())
            return x * times
    bench = whet.utils.ThroughputBenchmark(Counted())
    with pytest.raises(ValueError, match="add_input"):
        bench.benchmark()
    bench.add_input(whet.ones(1))
    bench.add_input(whet.ones(1), times=3)
    stats = bench.benchmark(num_calling_threads=3, num_warmup_iters=2, num_iters=30)
    assert len(calls) == 3 * 2 + 30 and set(calls) == {1, 3} and len(threads) == 3
    assert stats.num_iters == 30 and stats.total_time_seconds > 0
    assert stats.iters_per_second == 30 / stats.total_time_seconds
    bench.add_input(None)
    with pytest.raises(TypeError):
        bench.benchmark(2, 1, 8)


def test_what_the_processor_can_do_cannot_be_changed():
    found = whet.cpu.get_capabilities()
    assert found["num_logical_cores"] >= 1 and found["architecture"]
    with pytest.raises(TypeError):
        found["avx2"] = False


def test_names_beside_layers():
    with pytest.warns(FutureWarning, match="nn.Module"):
        both = whet.nn.Container(first=whet.nn.ReLU(), second=whet.nn.Tanh())
    assert [name for name, _ in both.named_children()] == ["first", "second"]
    assert whet.nn.factory_kwargs(None) == {}
    with pytest.raises(TypeError, match="unexpected"):
        whet.nn.factory_kwargs({"size": 1})
    with pytest.raises(TypeError, match="twice"):
        whet.nn.factory_kwargs({"device": "cpu", "factory_kwargs": {"device": "cpu"}})
    assert issubclass(whet.nn.UninitializedParameter, whet.nn.parameter.UninitializedTensorMixin)
    with pytest.raises(AssertionError, match="kernel is wrong"):
        whet.nn.functional.assert_int_or_pair((1, 2, 3), "kernel", "{} is wrong")
    x, grid = whet.ones(1, 1, 2, 2), whet.zeros(1, 1, 1, 2)
    modes, paddings = (whet.nn.functional.GRID_SAMPLE_INTERPOLATION_MODES,
                       whet.nn.functional.GRID_SAMPLE_PADDING_MODES)
    for mode in modes:
        for padding in paddings:
            assert whet.equal(whet.grid_sampler(x, grid, modes[mode], paddings[padding], False),
                              whet.nn.functional.grid_sample(x, grid, mode, padding, False))
