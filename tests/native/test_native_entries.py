"""Calls that machine code repeats: the same bits, types, strides, histories and errors as the
first time, and as without it."""
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import tensor_base
from whet.cpu import native, recorded_call, repeated_calls
from whet.ops import pointwise_family
from whet.ops.random import order_op
from whet.ops.registry import apply
from whet.ops.sort import median_value_op
from whet.passes.lower_llvm.calls.op_layouts import NODE_IN

from tests import fuzz


def bits(t):
    return t.detach().numpy().tobytes(), t.dtype, tuple(t.shape), t.stride()


def same_every_time(f, *args, times=4):
    """The result of a call, which must not change when it is repeated."""
    first = f(*args)
    for _ in range(times):
        again = f(*args)
        assert bits(again) == bits(first)
    return first


LAYOUTS = {
    "plain": lambda t: t.clone(),
    "transposed": lambda t: t.t().contiguous().t(),
    "sliced": lambda t: t.repeat(1, 2)[:, ::2],
    "expanded": lambda t: t[:1].expand(4, 4),
    "offset": lambda t: whet.cat([t[:1], t])[1:],
    "column": lambda t: t[:, :1],
    "row": lambda t: t[0],
    "0-d": lambda t: t[0, 0],
    "empty": lambda t: t[:0]}
# one program, here and without the native entries
GRID = [["leaf", [], dict(dtype=d, shape=[4, 4], layout=y, seed=k, grad=g, special=s)]
        for k, (d, y, g, s) in enumerate([("float32", "plain", True, False), ("float64", "sliced", False, True), ("int64", "plain", False, False),
                                          ("float16", "transposed", True, False), ("bool", "offset", False, False),
                                          ("complex64", "plain", True, False), ("bfloat16", "expanded", False, False)])]
STEPS = [*[[f, [i], {}] for f in fuzz.UNARY for i in range(0, 7, 2)],
         *[[f, [i, j], {}] for f in ("add", "mul", "div", "maximum", "lt", "pow") for i in range(7)
           for j in (0, 2, i)],
         *[["operator", p, dict(sign=s)] for s in "+-*/@" for i in range(7)
           for p in ([i, {"n": 2}], [{"n": 0.5}, i], [i, {"n": True}], [i, {"n": float("nan")}],
                     [i, {"n": 2 ** 53 + 1}], [i, i])],
         *[[f, [i], dict(dim=d, keep=k)] for f in fuzz.REDUCTIONS for i in range(7)
           for d, k in ((None, False), (-1, True))],
         *[[f, [i], dict(a=a, b=1)] for f in fuzz.VIEWS for i in range(4) for a in (0, -1)]]


@pytest.mark.skipif(not native.enabled(), reason="there are no native entries to compare with")
def test_every_call_is_as_without_native_entries():
    here, there = fuzz.Worker(WHET_NATIVE="1"), fuzz.Worker(WHET_NATIVE="0")
    try:
        for k in range(0, len(STEPS), 150):
            steps = GRID + STEPS[k:k + 150]
            a, b = here(steps), there(steps)
            assert len(a) == len(b) == len(steps) + 1, (a, b)
            for step, x, y in zip(steps, a, b):
                assert x == y, step
    finally:
        here.close()
        there.close()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [whet.float32, whet.float64, whet.int64, whet.float16])
def test_operands_that_share_memory(layout, dtype):
    x = LAYOUTS[layout](whet.arange(1, 17).reshape(4, 4).to(dtype))
    y = x.clone()
    for f in ((lambda a, b: a + b, lambda a, b: a * b, lambda a, b: whet.maximum(a, b),
               lambda a, b: whet.where(a > 2, a, b))):
        assert (bits(same_every_time(f, x, x))[0] == bits(same_every_time(f, y, x))[0] == bits(
            f(y, y.clone()))[0])
    if x.ndim == 2 and x.shape[0] == x.shape[1]:
        want = x.clone() @ y
        assert (bits(same_every_time(lambda a: a @ a, x))[0] == bits(want)[0] == bits(
            x.t().t() @ x)[0])
        assert bits(same_every_time(lambda a: a @ a.t(), x))[0] == bits(y @ y.clone().t())[0]


def test_in_place_on_what_an_operand_shares():
    def check(make):
        for _ in range(4):
            a, b = make(whet.arange(1.0, 65.0))
            want = a.numpy().astype(np.float64) + b.numpy().astype(np.float64)
            a.add_(b)
            assert np.array_equal(a.numpy(), want.astype(a.numpy().dtype), equal_nan=True)
    for _ in range(2):
        check(lambda m: (m, m))
        check(lambda m: (m, m.clone()))
        check(lambda m: (m[1:], m[:-1]))
        check(lambda m: (m[:-1], m[1:]))
        check(lambda m: (m[:32], m[32:]))
        check(lambda m: (m[::2], m[1::2]))
        check(lambda m: (m.view(8, 8), m.view(8, 8).t()))
        check(lambda m: (m.view(8, 8), m[:8]))
        check(lambda m: (m.view(8, 8), m[8:16].view(8, 1)))
        check(lambda m: (m, m.view(whet.int32)))
        check(lambda m: (m, m.view(whet.float16)[:64]))
        check(lambda m: (m, m[3]))
        check(lambda m: (m, whet.arange(64).to(whet.float16)))


def test_a_call_in_place_with_keywords_is_repeated_by_machine_code(monkeypatch):
    if not native.enabled():
        pytest.skip("there are no native entries")
    in_python, write = [], pointwise_family.inplace_now

    def counted(op, *args):
        in_python.append(op.name)
        return write(op, *args)
    monkeypatch.setattr(pointwise_family, "inplace_now", counted)
    a, b = whet.zeros(5, 7), whet.ones(5, 7)
    for k in range(4):
        assert a.add_(b, alpha=0.5) is a
        assert a._version == k + 1
    assert (a == 2).all() and in_python == ["add_scaled"] * 2       # the second makes a recipe
    w = whet.ones(5, 7, requires_grad=True)
    (w * 2).add_(b, alpha=3.0).sum().backward()         # with a history it is Python's
    assert (w.grad == 2).all() and in_python == ["add_scaled"] * 3
    with pytest.raises(RuntimeError, match="a leaf"):
        w.add_(b, alpha=3.0)


def test_numbers_of_every_kind():
    x, n = whet.tensor([1.0, -2.0]), whet.tensor([1, -2])
    for _ in range(4):
        assert (x + 1).tolist() == [2, -1] and (x + 1).dtype is whet.float32
        assert ((n + 1).dtype is whet.int64 and (n + 1.0).dtype is whet.float32
                and (n + True).dtype is whet.int64)
        assert (n + 2 ** 53).tolist() == [2 ** 53 + 1, 2 ** 53 - 2]
        assert (n + (2 ** 53 + 1)).tolist() == [2 ** 53 + 2, 2 ** 53 - 1]
        assert (n * -(2 ** 60 + 1)).tolist() == [-(2 ** 60 + 1), 2 ** 61 + 2]
        assert (str((x * 0.0).tolist()) == "[0.0, -0.0]" and str(
            (x * -0.0).tolist()) == "[-0.0, 0.0]")
        assert (x + float("inf")).isinf().all() and (x + float("nan")).isnan().all()
        assert (x + 1e300).isinf().all() and (x.double() + 1e300).isfinite().all()
        assert (x + 1j).dtype is whet.complex64 and (x * np.float64(2)).tolist() == [2, -4]
        with pytest.raises((RuntimeError, OverflowError)):
            n + 10 ** 30
        with pytest.raises(TypeError):
            x + "1"
    for v in (0.5, 1.5, 0.5, -0.0, 0.0, 2, 2.0, True):
        assert x.clamp_min(v).tolist() == [max(1.0, float(v)), float(v)]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64"])
def test_numbers_beside_narrow_integers_wrap_around_in_machine_code(dtype):
    a = np.arange(1, 36).reshape(5, 7).astype(dtype)
    t, size = whet.tensor(a), a.itemsize * 8
    numbers = (3, -1, 127, -129, 300, 70000, 2**31, -2**31, 2**40 + 5, 2**52)
    for call in (lambda x, v: x * v, lambda x, v: v - x):
        entered = []

        def seen(frame, event, _, entered=entered):
            if event == "call" and frame.f_code is repeated_calls.first.__code__:
                entered.append(1)
        call(t, 1), call(t, 2)                             # the second makes a recipe
        sys.setprofile(seen)
        try:
            made = [call(t, v) for v in numbers]
        finally:
            sys.setprofile(None)
        for v, y in zip(numbers, made, strict=True):
            there = np.array([v % 2**size], "u8").astype(f"u{a.itemsize}").view(dtype)
            assert y.numpy().dtype == dtype
            assert y.numpy().tobytes() == call(t, whet.tensor(there)).numpy().tobytes(), v
        assert not entered or not native.enabled()


def test_layouts_change_between_calls():
    base = whet.arange(16.0).reshape(4, 4)
    want = {k: np.exp(f(base).numpy().copy() * 0.1) for k, f in LAYOUTS.items()}
    for _ in range(3):
        for k, f in LAYOUTS.items():
            r = (f(base) * 0.1).exp()
            assert r.shape == want[k].shape and np.allclose(r.numpy(), want[k], rtol=1e-5)


def test_subclasses_and_parameters():
    class Mine(whet.Tensor):
        pass
    p = whet.nn.Parameter(whet.ones(3))
    m = whet.ones(3).as_subclass(Mine)
    x = whet.ones(3)
    for _ in range(3):
        assert (p * 2).requires_grad and type(p * 2) is whet.Tensor and (x * p).requires_grad
        assert ((m + x).tolist() == [2, 2, 2] and (x + m).tolist() == [2, 2, 2]
                and m.exp().shape == (3,))
    (p * x).sum().backward()
    assert p.grad.tolist() == [1, 1, 1]


def test_modes_flipped_between_calls():
    w = whet.ones(3, requires_grad=True)
    packed = []
    for _ in range(3):
        assert (w * 2).requires_grad
        with whet.no_grad():
            assert not (w * 2).requires_grad and not w[0].requires_grad
            w.add_(0)
        with whet.inference_mode():
            assert (w * 2).is_inference()
        assert not (w * 2).is_inference() and (w * 2).requires_grad
        with whet.autograd.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t):
            (w * w).sum()
        with whet.autograd.detect_anomaly():
            assert (w * w).grad_fn.trace
        w.requires_grad_(False)
        assert not (w * 2).requires_grad
        w.requires_grad_()
    assert len(packed) == 6


def test_errors_are_the_same_every_time():
    x = whet.ones(3)
    for _ in range(3):
        for f, error in ((lambda: x + whet.ones(4), RuntimeError),
                         (lambda: x @ whet.ones(4), RuntimeError),
                         (lambda: x.view(2), RuntimeError), (lambda: x[5], IndexError),
                         (lambda: x.exp(1), TypeError),
                         (lambda: x.add_(whet.ones(2, 3)), RuntimeError),
                         (lambda: whet.exp("x"), TypeError), (lambda: x.sum(3), IndexError)):
            with pytest.raises(error):
                f()
    assert x.tolist() == [1, 1, 1] and x._version == 0


def test_the_number_of_threads_may_change():
    x, w = whet.randn(300, 300), whet.randn(300, 300)
    before = whet.get_num_threads()
    try:
        seen = set()
        for n in (1, 3, 2, 1, 4):
            whet.set_num_threads(n)
            for _ in range(3):
                seen.add(b"".join(t.numpy().tobytes()
                                  for t in ((x + w).exp(), x @ w, x.sum(), x.softmax(1), x.var(0))))
        assert len(seen) == 1
    finally:
        whet.set_num_threads(before)


def test_threads_share_recipes():
    sizes = [1, 7, 100, 5000, 70000]
    errors = []

    def work(i):
        try:
            for k in range(60):
                n = sizes[(i + k) % len(sizes)]
                x = whet.full((n,), float(i))
                with whet.set_grad_enabled(bool((i + k) % 2)):
                    w = x.clone().requires_grad_()
                    y = (w * 2 + x).sum()
                    assert y.item() == 3 * i * n and y.requires_grad == bool((i + k) % 2)
        except BaseException as e:
            errors.append(e)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for _ in range(20):
        whet.set_num_threads(2)
        whet.set_num_threads(3)
    for t in threads:
        t.join()
    whet.set_num_threads(2)
    assert not errors, errors[0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_computes_the_same():
    code = """
import os
import whet
whet.set_num_threads(2)
x = whet.arange(100000.0)
def work():
    w = x.clone().requires_grad_()
    ((w * 2).sin().sum()).backward()
    return w.grad.numpy().tobytes()
want = [work() for _ in range(3)][0]
child = os.fork()
if child == 0:
    ok = all(work() == want for _ in range(3)) and whet.is_grad_enabled()
    os._exit(0 if ok else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert work() == want
"""
    r = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True,
                       timeout=300)
    assert r.returncode == 0, r.stderr


def test_tables_of_sizes_are_not_taken_from_data():
    for k in range(1, 5):
        # 1-d int64 like the tables that kernels get
        x = (whet.arange(40) * k)[::2]
        n = x.numpy()
        assert (x.sum().item() == n.sum() and (x @ x).item() == n @ n
                and x.cumsum(0).tolist() == n.cumsum().tolist())
        assert (x.max().item() == n.max() and x.prod().item() == n.prod()
                and (x + x.flip(0)).tolist() == (n + n[::-1]).tolist())


def test_results_of_views_keep_their_source():
    import gc
    for _ in range(3):
        v = whet.arange(1000.0).view(10, 100)[3:5].t()[7]
        gc.collect()
        junk = [whet.zeros(1000) for _ in range(10)]
        assert v.tolist() == [307, 407] and junk


@pytest.mark.filterwarnings("ignore:Casting complex")
def test_conversions_have_memory_of_their_own():
    for source in (whet.complex64, whet.complex128, whet.float32, whet.float64, whet.int64):
        for to in ((whet.complex64, whet.complex128, whet.float32, whet.float64, whet.int64,
                    whet.bool)):
            x = whet.ones(3, dtype=source)
            for _ in range(3):
                with np.errstate(all="ignore"):
                    y = x.to(to)
                assert (source is to
                        or not np.shares_memory(x.numpy(), y.numpy()) and y.is_contiguous())


@pytest.mark.parametrize("call", [
    lambda x, i: whet.index_select(x, 0, i), lambda x, i: x[i],
    lambda x, i: whet.gather(x, 0,
                             i.unsqueeze(1).expand(-1, 7).contiguous())],
                         ids=["index_select", "index", "gather"])
def test_a_replayed_gather_checks_its_indices(call):
    x, good = whet.arange(35.).reshape(5, 7), whet.tensor([4, 0, 2])
    want = call(x, good).tolist()
    for _ in range(3):
        assert call(x, good).tolist() == want == [x[k].tolist() for k in (4, 0, 2)]
        for bad in ([4, 5, 0], [0, -6, 1], [2**62, 0, 0]):
            with pytest.raises((IndexError, RuntimeError),
                               match="out of bounds for dimension 0 with size 5"):
                call(x, whet.tensor(bad))


REPEATED = {
    "pool": lambda x: F.avg_pool2d(x, 2),
    "pool with places": lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True)[1],
    "pool to a size": lambda x: F.adaptive_avg_pool2d(x, (2, 3)),
    "convolution": lambda x: F.conv2d(x, x.flip(0).reshape(16, 16, 3, 2)),
    "convolution in groups": lambda x: F.conv2d(x, x.flip(0).reshape(32, 8, 3, 2), groups=2),
    "distances": lambda x: whet.cdist(x[0, 0], x[1, 0]),
    "solution": lambda x: whet.linalg.solve(x[0, 0, :6] + 9 * whet.eye(6), x[1, 1, :6]),
    "cat": lambda x: whet.cat([x, x + 1, x[:, :1]], 1),
    "stack": lambda x: whet.stack([x, -x], -1),
    "flip": lambda x: x.flip(1, 3),
    "roll": lambda x: x.roll((1, -2), (2, 3)),
    "pad": lambda x: F.pad(x, (1, 2, 0, 1), value=2.5),
    "reflected pad": lambda x: F.pad(x, (1, 2, 1, 1), mode="reflect"),
    "blocks": lambda x: F.unfold(x, (3, 2), padding=1),
    "sums of blocks": lambda x: F.fold(x.reshape(2, 64, 12), (4, 5), 2),
    "repeats": lambda x: x.repeat_interleave(3, 1),
    "resized": lambda x: F.interpolate(x, (5, 9), mode="bilinear"),
    "triangle": lambda x: x.tril(-1)}


def ops_in_python(f, xs):
    """The results of calls that machine code may know, and the ops that Python was asked for."""
    wanted = [bits(f(x)) for x in xs]
    entered = []

    def seen(frame, event, _):
        if event == "call" and frame.f_code is repeated_calls.first.__code__:
            entered.append(frame.f_locals["op"])
    sys.setprofile(seen)
    try:
        made = [bits(f(x)) for x in xs]
    finally:
        sys.setprofile(None)
    assert made == wanted
    return entered


@pytest.mark.skipif(not native.enabled(), reason="no machine code repeats calls")
@pytest.mark.parametrize("name", REPEATED)
def test_calls_of_several_launches_and_of_moves_are_repeated_by_machine_code(name):
    entered = ops_in_python(REPEATED[name], [whet.randn(2, 16, 8, 6) for _ in range(4)])
    assert not [op.name for op in entered
                if op.is_repeatable or op.launches or recorded_call.moves_onto_new(op)]


def slope(read, x):
    """The gradient of what is read of a tensor."""
    x = x.detach().requires_grad_()
    made = read(x)
    return whet.autograd.grad(made, x, made.detach() * 2)[0]


MIDDLE = {"dim": 1, "ignore_nan": False}
FIRST, SECOND = whet.tensor([1, 0, -1, 1]), whet.tensor([3, 3, 0, 3])
REPEATED_WHOLLY = {
    "median of all": lambda x: apply(median_value_op, (x,), MIDDLE),
    "order of words": lambda x: apply(order_op, (x[0, 0, 0].view(whet.uint32).to(whet.uint64),), {}),
    "gradient of rows": lambda x: slope(lambda x: x[FIRST], x),
    "gradient of columns": lambda x: slope(lambda x: x[:, FIRST, SECOND], x),
    "gradient of places far apart": lambda x: slope(lambda x: x[FIRST, :, SECOND], x),
    "gradient of taken elements": lambda x: slope(lambda x: x.take(SECOND * 7), x)}


@pytest.mark.skipif(not native.enabled(), reason="no machine code repeats calls")
@pytest.mark.parametrize("name", REPEATED_WHOLLY)
def test_gradients_of_indices_and_orders_enter_no_python(name):
    assert not ops_in_python(REPEATED_WHOLLY[name], [whet.randn(2, 16, 8, 6) for _ in range(4)])


def test_products_in_parts_are_repeated_on_their_own_memory():
    """Batches that no two steps describe are launched in parts, inside of arrays."""
    def parts(n):
        x = whet.arange(n * 2. * 3 * 2 * 4 * 4).reshape(n, 2, 3, 2, 4, 4)
        return x.permute(1, 0, 3, 2, 4, 5)[:, :, :, ::2], x.permute(3, 0, 1, 2, 5, 4)[:, :, :, ::2]
    for forward in (whet.matmul, lambda a, b: (a + 1) @ b, lambda a, b: whet.matmul(a, b).sum()):
        want = [bits(forward(*parts(n))) for n in (2, 3, 2)]
        assert [bits(forward(*parts(n))) for n in (2, 3, 2)] == want


def test_a_repeated_call_of_moves_has_the_gradients_of_the_first():
    def gradients(f):
        x = whet.arange(48.).reshape(1, 2, 4, 6).requires_grad_()
        y = f(x)
        (y * whet.arange(float(y.numel())).reshape(y.shape)).sum().backward()
        return bits(x.grad)
    for f in (lambda x: whet.cat([x, x * 2], 1), lambda x: F.pad(x, (1, 1)), lambda x: x.flip(2),
              lambda x: F.max_pool2d(x, 2), lambda x: F.conv2d(x, (x * 2)[:, :, :2, :2])):
        first = gradients(f)
        assert all(gradients(f) == first for _ in range(3))


def test_a_node_of_machine_code_tells_all_its_inputs():
    for count in range(2, NODE_IN + 1):
        xs = [whet.ones(2, requires_grad=True) * 2 for _ in range(count)]
        for _ in range(4):
            node = whet.cat(xs).grad_fn
        assert isinstance(node, tensor_base.NativeNode)
        assert len(node.inputs) == len(node.versions) == len(node.edges) == count


SEVERAL = {
    "max": lambda x: whet.max(x, 1),
    "sort": lambda x: whet.sort(x, 1),
    "views": lambda x: whet.chunk(x, 2, 1),
    "norm": lambda x: (F.layer_norm(x, (4,)),)}


@pytest.mark.parametrize("name", SEVERAL)
def test_a_node_of_several_results_of_machine_code_is_like_pythons(name):
    f, x = SEVERAL[name], whet.arange(16.).reshape(4, 4).sin().requires_grad_()

    def seen():
        outs = f(x)
        node = outs[0].grad_fn
        y = sum([(o * o).sum() for o in outs if o.requires_grad])
        g, = whet.autograd.grad(y, x, create_graph=True)
        h, = whet.autograd.grad((g * g).sum(), x, allow_unused=True)
        facts = (node.nout, node.outlines, [o is None for o in node.outputs],
                 [(o.requires_grad, o.output_nr) for o in outs], node.name())
        return facts, bits(g), None if h is None else bits(h), type(node)
    first, *_, last = [seen() for _ in range(6)]
    assert last[:-1] == first[:-1]
    assert first[-1] is not last[-1] and issubclass(last[-1], tensor_base.NativeNode)


@pytest.mark.parametrize("name", SEVERAL)
def test_such_a_node_lets_go_of_what_it_saved_and_notices_writes(name):
    x = whet.arange(16.).reshape(4, 4).sin().requires_grad_()
    for _ in range(5):
        outs = SEVERAL[name](x)
    node = outs[0].grad_fn
    assert isinstance(node, tensor_base.NativeNode)
    if node.outputs and type(outs) is not tuple:
        outs[1].add_(0)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            outs[0].sum().backward()
        outs = SEVERAL[name](x)
        node = outs[0].grad_fn
    outs[0].sum().backward()
    assert node.released == (name != "views") and not node.outputs


def test_a_long_chain_of_nodes_of_several_results_is_freed_without_recursion():
    x = y = whet.ones(2, 2, requires_grad=True)
    for _ in range(100_000):
        y, _ = whet.sort(y, 1)
    assert isinstance(y.grad_fn, tensor_base.NativeNode)
    del y
    assert x.grad is None
