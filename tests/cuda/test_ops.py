"""Ops on simulated devices: the CPU's bits, or an error that names the op. `python -m
tests.cuda.sweep` takes all ops; here are a few of each family."""
import warnings

import numpy as np
import pytest
import whet
from whet.cuda import device_state
from whet.cuda.simulated.driver import SimulatedDriver

from tests.cuda import sweep
from tests.triton_runs import needs_triton

pytestmark = needs_triton
FEW = ("add", "sigmoid", "where", "eq", "floor_divide", "clone", "to_int8", "pow", "sum", "mean",
       "amax", "argmax", "any", "count_nonzero", "softmax", "log_softmax", "cat", "stack", "flip",
       "pad", "fill", "copy", "reshape", "slice", "transpose", "expand")


def same(device, cpu):
    sweep.same(device, cpu)


@pytest.mark.parametrize("name", [n for n in FEW if n in sweep.REGISTRY])
def test_samples_have_the_cpus_bits(gpus, name):
    sweep.check(name, most=3)


def test_operands_of_all_strides_are_walked_as_they_lie(gpus):
    x, y = whet.randn(70, 9), whet.randn(9, 70)
    a, b = x.cuda(), y.cuda()
    same(a + b.t(), x + y.t())
    same(a[::3, 1:] * b.t()[::3, :-1].flip(0), x[::3, 1:] * y.t()[::3, :-1].flip(0))
    same(a[:, :1] - a[:1], x[:, :1] - x[:1])
    z = whet.randn(2, 3, 4, 5)
    same(z.cuda().permute(3, 1, 0, 2).exp() + z.cuda()[0, 0, 0, 0],
         z.permute(3, 1, 0, 2).exp() + z[0, 0, 0, 0])
    assert (a + b.t()).stride() == (x + y.t()).stride()


@pytest.mark.parametrize("dtype", (whet.bool, whet.uint8, whet.int64, whet.float16, whet.float64))
def test_types_meet_as_on_the_cpu(gpus, dtype):
    x, y = whet.tensor([3, 0, 1, 7]).to(dtype), whet.tensor([1.5, -2.0, 0.0, 3.0])
    for other in (y, y.double(), whet.tensor([1, 2, 3, 4]), 2, 2.5, True, whet.tensor(2.5)):
        there = other.cuda() if whet.is_tensor(other) and other.ndim else other
        got, want = x.cuda() * there, x * other
        assert got.dtype is want.dtype
        same(got, want)


@pytest.mark.parametrize("number", (0, -1, 1e300, float("nan"), 1 << 40, -5))
def test_numbers_are_parameters(gpus, number):
    x = whet.tensor([1.0, -2.0, 3.5])
    same(x.cuda() * number, x * number)
    y = whet.tensor([1, -2, 3])
    if not isinstance(number, float):
        same(y.cuda() + number, y + number)


def test_large_unsigned_numbers_keep_all_their_bits(gpus):
    for dtype in (whet.uint16, whet.uint32, whet.uint64):
        most = whet.iinfo(dtype).max
        assert whet.full((3,), most, dtype=dtype, device="cuda").tolist() == [most] * 3


def test_writes_in_place_are_seen_by_views_and_counted(gpus):
    x = whet.arange(12.).reshape(3, 4)
    y = x.cuda()
    part, before = y[1:], y._version
    for t in (x, y):
        t[1] += 2
        t.mul_(3).add_(t.T[:3, :3].sum()) if t is x else t.mul_(3).add_(t.T[:3, :3].sum())
        t[:, 2] = 5
        t[0].zero_()
        t[2].copy_(t[1])
        t[2, 1:].fill_(7.0)
    same(y, x)
    same(part, x[1:])
    assert y._version > before


def test_operands_that_overlap_the_place_are_read_before_it_is_written(gpus):
    x = whet.arange(10.)
    y = x.cuda()
    for t in (x, y):
        t[1:] += t[:-1]
        t[2:].copy_(t[:-2])
    same(y, x)


def test_gradients_are_the_cpus(gpus):
    def loss(w, x):
        h = (w * x + 1).tanh().softmax(1)
        return ((h - h.mean(dim=0)) ** 2).sum() + (w[:, 1:].abs() * 2).sum()
    w, x = whet.randn(3, 5), whet.randn(4, 3, 5)[1]
    a, b = w.clone().requires_grad_(), w.cuda().requires_grad_()
    loss(a, x).backward()
    loss(b, x.cuda()).backward()
    same(b.grad, a.grad)
    twice = [whet.autograd.grad((whet.autograd.grad((t ** 3).sum(), t, create_graph=True)[0]).sum(),
                                t)[0] for t in (a, b)]
    same(twice[1], twice[0])


def test_gradients_of_writes_to_views_are_the_cpus_or_an_error(gpus):
    """Where a view lies in its base is told by addresses of the device."""
    def gradient(x):
        y = x * 1
        part = y[1:4]
        y[2:] *= 3
        return whet.autograd.grad((part * part).sum(), x)[0]
    x = whet.randn(5, requires_grad=True)
    want = gradient(x)
    try:
        got = gradient(x.detach().cuda().requires_grad_())
    except NotImplementedError as error:
        assert "strided_sum" in str(error)
    else:
        same(got, want)


def test_storages_and_resizing(gpus):
    x = whet.arange(6.0).cuda()
    part = x[2:4]
    assert x.untyped_storage() == part.untyped_storage() and len(part.storage()) == 6
    assert part.resize_(3).tolist() == [2, 3, 4] and part.data_ptr() == x.data_ptr() + 8
    assert part.resize_(7)[:4].tolist() == [2, 3, 4, 5]
    assert part.untyped_storage() != x.untyped_storage() and part.untyped_storage().nbytes() == 28


def test_a_saved_tensor_that_was_written_to_is_found(gpus):
    x = whet.ones(3).cuda().requires_grad_()
    y = x * 2
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_training_has_the_cpus_bits(gpus):
    """Parameters after some steps, written out in ops."""
    def steps(device):
        whet.manual_seed(0)
        w, x = whet.randn(6, device=device, requires_grad=True), whet.randn(8, 6, device=device)
        for _ in range(3):
            loss = ((x * w).sum(1).sigmoid() - 0.5).square().mean()
            loss.backward()
            with whet.no_grad():
                w -= 0.1 * w.grad
            w.grad = None
        return w
    same(steps("cuda"), steps("cpu"))


@pytest.mark.parametrize("shapes", (((3, 4), (4, 5)), ((1, 300), (300, 7)), ((7, 300), (300, 1)),
                                    ((2, 1, 3, 4), (5, 4, 2)), ((2, 1, 2, 3, 4), (1, 2, 2, 4, 1)),
                                    ((4,), (4,)), ((3, 0), (0, 2)), ((7, 900), (900, 40))))
def test_products_have_the_cpus_bits(gpus, shapes):
    a, b = (whet.randn(*s) for s in shapes)
    same(a.cuda() @ b.cuda(), a @ b)
    if a.ndim > 1 and b.ndim > 1:
        x, y = (t.transpose(-1, -2).contiguous().transpose(-1, -2) for t in (a, b))
        same(x.cuda() @ y.cuda(), x @ y)


def test_a_network_trains_to_the_cpus_bits(gpus):
    def trained(device):
        whet.manual_seed(0)
        m = whet.nn.Sequential(whet.nn.Linear(4, 8), whet.nn.ReLU(), whet.nn.LayerNorm(8),
                               whet.nn.Linear(8, 2)).to(device)
        opt = whet.optim.AdamW(m.parameters(), lr=0.1)
        x = whet.randn(6, 4, device=device)
        for _ in range(2):
            loss = (m(x) - 1).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        return list(m.parameters())
    for got, want in zip(trained("cuda"), trained("cpu"), strict=True):
        same(got, want)


def test_rows_of_all_lengths_are_added_in_the_cpus_order(gpus):
    for shape, dim in (((3, 5000), 1), ((40, 3), 0), ((2, 3, 4), (0, 2)), ((1, 1), 1), ((0, 3), 0)):
        x = whet.randn(*shape)
        same(x.cuda().sum(dim), x.sum(dim))
        same(x.cuda().sum(dim, keepdim=True), x.sum(dim, keepdim=True))


def test_what_the_cpu_computes_has_its_bits_and_is_said_once(gpus):
    x = whet.randn(3, 3) + 3 * whet.eye(3)
    a, b = x.clone().requires_grad_(), x.cuda().requires_grad_()
    with sweep.by_the_cpu() as told, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for t in (a, b, b):
            t.grad = None
            whet.linalg.inv(t).sum().backward()
        same(b.grad, a.grad)
        assert told == {"inv"}
    said = [w for w in said if "inv: there is no kernel for 'cuda:0' yet" in str(w.message)]
    assert [w.filename.endswith("test_ops.py") for w in said] == [True]


def test_streams_hand_over_tensors_by_events_alone(gpus_of):
    """With the wait every seed gives the right numbers; without it some do not."""
    def run(seed, waits):
        with device_state.use(SimulatedDriver(seed)):
            x = whet.ones(4).cuda()
            s = whet.cuda.Stream()
            s.wait_stream(whet.cuda.current_stream())
            y = x + 1
            if waits:
                s.wait_stream(whet.cuda.current_stream())
            with whet.cuda.stream(s):
                z = y * 10
                back = z.tolist()
            whet.cuda.synchronize()
            return back == [20.0] * 4
    assert all(run(seed, True) for seed in range(6))
    assert not all(run(seed, False) for seed in range(6))


def test_memory_used_by_another_stream_is_kept_until_it_is_done():
    def run(seed, told):
        with device_state.use(SimulatedDriver(seed)):
            s, main = whet.cuda.Stream(), whet.cuda.current_stream()
            x = whet.full((4,), 2.0).cuda()
            s.wait_stream(main)
            with whet.cuda.stream(s):
                y = x * 10
                if told:
                    x.record_stream(s)
            del x
            other = whet.full((4,), 3.0).cuda()
            with whet.cuda.stream(s):
                return y.tolist() == [20.0] * 4 and other is not None
    assert all(run(seed, True) for seed in range(8))
    assert not all(run(seed, False) for seed in range(8))


def test_what_a_device_computes_compiles_for_gpus(gpus):
    """The kernels of a small program as cubins of sm_80 and sm_90, none of which spills."""
    from whet.passes.lower_triton import compile
    x = whet.randn(5, 40).cuda().requires_grad_()
    (x.softmax(1) * 2 + x.t().contiguous().t()).sum().backward()
    sources = {source for _, source, _ in gpus.kernels}
    assert len(sources) >= 5
    for source in sources:
        for capability in (80, 90):
            made = compile.compile(source, capability)
            assert made.binary[:4] == b"\x7fELF" and not made.stack, source.name


def test_arrays_of_devices_refuse_numpy(gpus):
    a = whet.ones(3).cuda()._array
    for ask in (lambda: np.copyto(np.zeros(3), a), lambda: np.add(np.zeros(3), a),
                lambda: a.sum(), lambda: bool(a), lambda: a[np.array([0])]):
        with pytest.raises((TypeError, NotImplementedError)):
            ask()
