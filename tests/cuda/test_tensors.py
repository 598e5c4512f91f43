"""Tensors on devices: how they get there and back, what they are, what they share."""
import copy
import io

import numpy as np
import pytest
import whet
from whet import nn
from whet.cuda import device_state
from whet.cuda.simulated.driver import SimulatedDriver

from tests.triton_runs import needs_triton


def bits(t):
    """The bytes of a tensor, row by row."""
    return np.ascontiguousarray(t.detach().cpu()._array).tobytes()


LAYOUTS = {
    "dense": lambda x: x, "turned": lambda x: x.t(), "a part": lambda x: x[1:, ::2],
    "broadcast": lambda x: x[:1].expand(5, 6), "a number": lambda x: x[1, 2],
    "empty": lambda x: x[:0]}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("non_blocking", (False, True))
def test_tensors_go_to_a_device_and_come_back(gpus, layout, non_blocking):
    x = LAYOUTS[layout](whet.randn(4, 6))
    y = x.to("cuda:1", non_blocking=non_blocking)
    assert y.device == whet.device("cuda:1") and y.is_cuda and not y.is_cpu and y.get_device() == 1
    assert (y.shape, y.dtype) == (x.shape, x.dtype) and y.to("cuda:1") is y
    assert y.cpu().device == whet.device("cpu") and bits(y) == bits(x)
    view = LAYOUTS[layout](whet.arange(24.).reshape(4, 6).cuda())
    assert bits(view) == bits(LAYOUTS[layout](whet.arange(24.).reshape(4, 6)))


def test_the_default_device_is_asked_for_at_each_call(gpus):
    def kinds():
        return [whet.zeros(5).device.type for _ in range(14)]
    assert kinds() == ["cpu"] * 14
    with whet.device("cuda"):
        assert kinds() == ["cuda"] * 14
        with whet.device("cpu"):
            assert kinds() == ["cpu"] * 14
    whet.set_default_device("cuda")
    try:
        assert kinds() == ["cuda"] * 14
    finally:
        whet.set_default_device("cpu")
    assert kinds() == ["cpu"] * 14


@pytest.mark.parametrize("dtype", (whet.bool, whet.uint8, whet.int64, whet.float16, whet.bfloat16,
                                   whet.complex64))
def test_all_types_go_there(gpus, dtype):
    x = whet.tensor([0, 1, 2]).to(dtype)
    assert x.cuda().dtype is dtype and bits(x.cuda()) == bits(x)


def test_the_host_may_change_what_it_sent_at_once(gpus):
    for size in (3, 1 << 19):
        x = whet.ones(size)
        y = x.cuda()
        x.fill_(2.0)
        assert y.tolist() == [1.0] * size


def test_pinned_memory_is_read_when_the_stream_comes_to_it(gpus):
    x = whet.ones(3).pin_memory()
    assert x.is_pinned() and x.pin_memory() is x and not whet.ones(3).is_pinned()
    y = x.to("cuda", non_blocking=True)
    x.fill_(2.0)                                    # too early: the copy has not been made yet
    assert y.tolist() == [2.0] * 3


def test_what_comes_back_without_a_wait_is_there_after_one(gpus_of):
    """A device may be quick: with some seeds it is not."""
    early = []
    for seed in range(8):
        gpus_of(seed)
        x = whet.ones(3).cuda()
        y = x.to("cpu", non_blocking=True)
        assert y.is_pinned()
        early.append(y.tolist() == [1.0] * 3)
        whet.cuda.synchronize()
        assert y.tolist() == [1.0] * 3
    assert not all(early)


def test_devices_copy_from_each_other(gpus):
    x = whet.randn(4, 5).t().cuda()
    y = x.to("cuda:1")
    assert y.device.index == 1 and bits(y) == bits(x) and y.stride() == x.stride()
    assert whet.cuda.memory_allocated(1) > 0


@pytest.mark.parametrize("seed", range(20))
def test_copies_between_devices_wait_for_each_other(gpus_of, seed):
    gpus_of(seed)
    x = whet.full((4,), 3.0).cuda()
    y = x.to("cuda:1")
    del x
    other = whet.full((4,), 9.0).cuda()
    z = y.to("cuda:0")
    del y
    whet.full((4,), 7.0).to("cuda:1")
    assert z.tolist() == [3.0] * 4 and other.tolist() == [9.0] * 4


def test_views_share_memory_and_its_version(gpus):
    x = whet.arange(6.).cuda()
    y = x.view(2, 3)[1]
    assert y._is_view() and y.storage_offset() == 3 and y.data_ptr() == x.data_ptr() + 12
    assert y._base is x and y._version == x._version
    allocated = whet.cuda.memory_allocated()
    del x
    assert whet.cuda.memory_allocated() == allocated and y.tolist() == [3, 4, 5]
    del y
    assert whet.cuda.memory_allocated() == 0


def test_numbers_come_out_and_arrays_do_not(gpus):
    x = whet.tensor([1.5, 2.5]).cuda()
    assert x[1].item() == 2.5 and float(x[0]) == 1.5 and [float(v) for v in x] == [1.5, 2.5]
    assert str(x) == "tensor([1.5000, 2.5000], device='cuda:0')"
    for ask in (x.numpy, lambda: np.asarray(x), lambda: np.array(x)):
        with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy. "
                                            "Use Tensor.cpu"):
            ask()
    assert x.numpy(force=True).tolist() == [1.5, 2.5]


def test_new_tensors_are_made_where_they_are_asked_for(gpus):
    made = [
        whet.tensor([1, 2], device="cuda"), whet.arange(3, device="cuda"),
        whet.empty(2, device="cuda"), whet.eye(2, device="cuda"),
        whet.linspace(0, 1, 3, device="cuda"), whet.as_tensor([1.0], device="cuda"),
        whet.rand(2, device="cuda"), whet.randint(3, (2,), device="cuda"),
        whet.empty_strided((2, 2), (1, 2), device="cuda"), whet.Tensor([1.0]).cuda().new_empty(2),
        whet.empty_like(whet.ones(2).cuda()), whet.scalar_tensor(1.0, device="cuda"),
        whet.tensor([1.0]).cuda().new_tensor([2.0]), whet.asarray([1.0], device="cuda"),
        whet.randn_like(whet.ones(2).cuda()), whet.tril_indices(2, 2, device="cuda")]
    assert {t.device for t in made} == {whet.device("cuda:0")}
    x = whet.tensor([1.0], device="cuda", requires_grad=True)
    assert x.is_leaf and x.requires_grad and x.is_cuda
    with whet.cuda.device(1):
        assert whet.ones(1).cuda().device.index == whet.tensor(1, device="cuda").device.index == 1


def test_the_default_device_is_that_of_new_tensors(gpus):
    whet.set_default_device("cuda:1")
    try:
        assert whet.tensor([1.0]).device == whet.arange(2).device == whet.device("cuda:1")
        assert whet.ones(2, device="cpu").is_cpu
    finally:
        whet.set_default_device("cpu")


@pytest.mark.filterwarnings("ignore::whet.jit.TraceWarning")
def test_a_traced_function_makes_tensors_where_the_default_is_now(gpus):
    traced = whet.jit.trace(lambda: whet.zeros(2) + 1)
    try:
        for device in ("cpu", "cuda:1", "cpu", "cuda:0"):
            whet.set_default_device(device)
            assert [str(traced().device) for _ in range(4)] == [device] * 4
    finally:
        whet.set_default_device("cpu")


def test_random_numbers_are_those_of_the_cpu(gpus):
    whet.manual_seed(3)
    want = whet.randn(4)
    whet.cuda.manual_seed_all(3)
    assert bits(whet.randn(4, device="cuda")) == bits(want)


def test_gradients_cross_devices(gpus):
    x = whet.randn(3, requires_grad=True)
    y = x.to("cuda").to("cuda:1").cpu()
    (y * y).sum().backward()
    assert x.grad.is_cpu and bits(x.grad) == bits(2 * x)


def test_modules_move_and_their_state_goes_with_them(gpus):
    m = nn.BatchNorm1d(3)
    kept = [id(p) for p in m.parameters()]
    assert m.cuda() is m and all(t.is_cuda for t in m.state_dict().values())
    assert [id(p) for p in m.parameters()] == kept and m.weight.is_leaf
    other = nn.BatchNorm1d(3)
    nn.init.normal_(other.weight)
    m.load_state_dict(other.state_dict())
    assert m.weight.is_cuda and bits(m.weight) == bits(other.weight)
    assert copy.deepcopy(m.weight).is_cuda
    file = io.BytesIO()
    whet.save(m.state_dict(), file)
    file.seek(0)
    state = whet.load(file, map_location="cpu")
    assert all(t.is_cpu for t in state.values())
    file.seek(0)
    assert whet.load(file, map_location="cuda:1")["weight"].device == whet.device("cuda:1")
    assert bits(state["weight"]) == bits(other.weight) and m.cpu().weight.is_cpu


def test_a_file_says_where_its_tensors_were(gpus):
    def loaded(where):
        file.seek(0)
        return {k: str(t.device) for k, t in whet.load(file, map_location=where).items()}
    here, told = {"a": "cuda:0", "b": "cuda:1", "c": "cpu"}, []
    file = io.BytesIO()
    whet.save({k: nn.Parameter(whet.ones(2, device=d)) for k, d in here.items()}, file)
    assert loaded(None) == here
    assert loaded({"cuda:1": "cuda:0"}) == here | {"b": "cuda:0"}
    assert set(loaded("cpu").values()) == {"cpu"}
    assert set(loaded(lambda t, where: told.append((t.is_cpu, where)) or t).values()) == {"cpu"}
    assert told == [(True, d) for d in here.values()]
    with device_state.use(SimulatedDriver(devices=1)):      # a machine that has fewer
        file.seek(0)
        with pytest.raises(RuntimeError, match="ordinal: cuda:1, there is 1") as failed:
            whet.load(file)
        assert "map_location='cpu' loads it to the CPU" in failed.value.__notes__[0]
        assert set(loaded("cpu").values()) == {"cpu"}


def test_indices_of_a_device_do_not_index_the_cpu(gpus):
    x, places = whet.arange(4.0), whet.tensor([2, 0], device="cuda")
    mask = whet.tensor([True, False, True, False], device="cuda")
    for index in (places, mask, (places,), (None, places)):
        with pytest.raises(RuntimeError, match=r"indices should be either on cpu or on the same "
                                               r"device as the indexed tensor \(cpu\)"):
            x[index]
    with pytest.raises(RuntimeError, match="indices should be"):
        x[places] = whet.ones(2)
    assert x.cuda()[places.cpu()].tolist() == [2.0, 0.0] and x.tolist() == [0.0, 1.0, 2.0, 3.0]


@needs_triton
def test_operands_on_several_devices_are_told_of(gpus):
    x, y, z = whet.ones(2), whet.ones(2).cuda(), whet.ones(2).to("cuda:1")
    for a, b, names in ((y, x, "cuda:0 and cpu"), (x, y, "cuda:0 and cpu"),
                        (y, z, "cuda:0 and cuda:1")):
        with pytest.raises(RuntimeError, match=f"mul: Expected all tensors to be on the same "
                                               f"device, .* {names}!"):
            a * b
    with pytest.raises(RuntimeError, match="mul_: .* cpu and cuda:0|cuda:0 and cpu"):
        x *= y
    # a number of the host may be there
    assert (y * whet.tensor(3.0)).tolist() == [3.0, 3.0]


def test_memory_for_tensors_runs_out_with_their_names(gpus_of):
    gpus_of(memory=8 << 20)
    x = whet.empty(1 << 20, device="cuda")
    with pytest.raises(whet.cuda.OutOfMemoryError, match=r"\(1048576,\) float32"):
        whet.empty(2 << 20, device="cuda")
    assert x.numel() == 1 << 20


def test_an_error_of_a_device_leaves_tensors_that_can_be_let_go():
    with device_state.use(SimulatedDriver()) as m:
        x = whet.ones(3).cuda()
        m.driver.fill(x.data_ptr() + (4 << 20), 0, 8, m.default_stream(0))
        with pytest.raises(whet.cuda.CudaError, match="illegal address"):
            x.tolist()
        del x


def test_an_operator_of_ones_own_has_a_function_for_devices(gpus):
    @whet.library.custom_op("devices::f", mutates_args=())
    def f(x: whet.Tensor) -> whet.Tensor:
        return x + 1
    f.register_kernel("cuda", lambda x: x + 10)
    traced = whet.jit.trace(lambda x: f(x) * 2)
    for _ in range(4):
        assert traced(whet.zeros(2)).tolist() == [2, 2]
        assert traced(whet.zeros(2, device="cuda")).tolist() == [20, 20]


def test_types_of_tensors_on_devices(gpus):
    x = whet.cuda.FloatTensor([1, 2])
    assert x.is_cuda and x.type() == "whet.cuda.FloatTensor"
    assert whet.cuda.LongTensor(3).shape == (3,)
    assert isinstance(x, whet.cuda.FloatTensor) and not isinstance(x, whet.FloatTensor)
    assert x.type(whet.LongTensor).type() == "whet.LongTensor"
    assert x.type("torch.DoubleTensor").device.type == "cpu"
    assert whet.ones(2).type("torch.cuda.HalfTensor").type() == "whet.cuda.HalfTensor"
    assert x.type(whet.float64).is_cuda and x.type("float64").is_cuda
