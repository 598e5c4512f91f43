"""Memory by the names of kinds of storages, streams and events of any kind of devices, and what a
program asks of how it was built."""
import copy

import pytest
import whet

SIZES = {"Bool": 1, "Byte": 1, "Char": 1, "Short": 2, "Int": 4, "Long": 8, "Half": 2, "BFloat16": 2,
         "Float": 4, "Double": 8, "ComplexFloat": 8, "ComplexDouble": 16}


@pytest.mark.parametrize("name", SIZES)
def test_a_kind_of_storage_makes_memory_of_its_type_and_knows_it(name):
    kind = getattr(whet, f"{name}Storage")
    made = kind([1, 0, 1])
    assert made.tolist() == [1, 0, 1] and made.nbytes() == 3 * SIZES[name]
    assert len(kind()) == 0 and len(kind(5)) == 5 and made.element_size() == SIZES[name]
    tensor = whet.ones(2, dtype=made.dtype)
    assert isinstance(made, kind) and isinstance(tensor.storage(), kind)
    assert tensor.storage_type() is kind and made.type() == f"whet.{name}Storage"
    other = whet.IntStorage if name != "Int" else whet.LongStorage
    assert not isinstance(made, other) and not isinstance(tensor, kind)
    assert kind.__name__ == f"{name}Storage" and not isinstance(made, getattr(whet.cuda, name +
                                                                              "Storage"))


def test_what_is_done_with_storages():
    s = whet.FloatStorage([1, 2, 3])
    t = whet.empty(0).set_(s)
    s.fill_(4)
    assert t.tolist() == [4, 4, 4] and s.clone().fill_(1).tolist() == [1, 1, 1]
    assert s.copy_(whet.LongStorage([5, 6, 7])) is s and t.tolist() == [5, 6, 7]
    assert s.type(whet.LongStorage).tolist() == [5, 6, 7] and not s.is_cuda
    raw = whet.UntypedStorage([0, 0, 128, 63, 9])
    assert whet.FloatStorage(wrap_storage=raw).tolist() == [1.0]
    raw[3] = 191
    assert raw.tolist()[3] == 191 and whet.FloatStorage(wrap_storage=raw)[0] == -1.0
    assert len(whet.UntypedStorage(7)) == 7 and whet.TypedStorage([1.5]).dtype is whet.float32


@pytest.mark.parametrize("error, call", [
    (RuntimeError, lambda: whet.FloatStorage(1, 2)),
    (RuntimeError, lambda: whet.FloatStorage(3, wrap_storage=whet.UntypedStorage(4))),
    (TypeError, lambda: whet.FloatStorage(2.5)),
    (TypeError, lambda: whet.FloatStorage(whet.ones(2))),
    (TypeError, lambda: whet.FloatStorage(wrap_storage=3)),
    (TypeError, lambda: whet.UntypedStorage(2.5))])
def test_what_is_no_size_and_no_data_is_an_error(error, call):
    with pytest.raises(error):
        call()


# ---- streams and events --------------------------------------------------------------------------
def test_the_cpu_has_one_stream_whose_work_is_done():
    with whet.Stream("cpu") as s:
        assert (whet.ones(2) + 1).tolist() == [2, 2]
    assert s.query() and s.synchronize() is None and s == whet.Stream("cpu")
    assert (s.device.type, s.device_type, s.device_index, s.stream_id) == ("cpu", 0, -1, 0)
    assert repr(s) == "whet.Stream device_type=cpu, device_index=-1, stream_id=0"
    assert len({s, whet.Stream("cpu")}) == 1 and s != whet.Stream("meta")
    event = whet.Event("cpu", enable_timing=True)
    assert event.query() and event.wait() is None and event.synchronize() is None
    for wrong in (event.record, s.record_event, lambda: s.wait_stream(s)):
        with pytest.raises(RuntimeError, match="cpu backend doesn't support events."):
            wrong()
    with pytest.raises(ValueError, match="must be recorded"):
        event.elapsed_time(event)
    with pytest.raises(ValueError, match="enable_timing=True"):
        whet.Event("cpu").elapsed_time(event)


def test_streams_of_devices_are_streams():
    assert issubclass(whet.cuda.Stream, whet.Stream) and issubclass(whet.cuda.Event, whet.Event)
    assert issubclass(whet.cuda.CudaError, whet.AcceleratorError)
    assert issubclass(whet.AcceleratorError, RuntimeError)
    for what in (whet.Stream, whet.Event):
        with pytest.raises(TypeError, match="must be whet.device, not float"):
            what(2.5)


# ---- small things --------------------------------------------------------------------------------
def test_what_is_said_once_is_said_each_time_where_that_is_wanted():
    class Looks(whet.autograd.Function):
        @staticmethod
        def forward(x):
            return x * (2.0 if x.item() > 0 else 1.0)

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g

    def said():
        with pytest.warns(UserWarning) as seen:
            whet.vmap(Looks.apply)(whet.ones(2))
            whet.vmap(Looks.apply)(whet.ones(2))
        return sum("for each example in turn" in str(w.message) for w in seen)

    assert said() == 1 and not whet.is_warn_always_enabled()
    whet.set_warn_always(True)
    try:
        assert whet.is_warn_always_enabled() and said() == 2
    finally:
        whet.set_warn_always(False)
    with pytest.raises(TypeError, match="expects a bool, but got int"):
        whet.set_warn_always(1)


def test_numbers_that_stand_for_sizes():
    assert whet.sym_sqrt(9) == 3.0 and whet.sym_fresh_size(5) == 5
    assert whet.has_lapack and whet.has_spectral and not whet.has_mkl and not whet.has_openmp


def test_threads_of_a_loader_draw_numbers_that_go_by_the_batch():
    class Draws(whet.utils.data.Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, i):
            generator = whet.random.thread_safe_generator()
            assert (generator is None) == (whet.utils.data.get_worker_info() is None)
            return whet.rand(1, generator=generator)

    def drawn(workers):
        loader = whet.utils.data.DataLoader(
            Draws(), batch_size=2, num_workers=workers, multiprocessing_context="thread",
            generator=whet.Generator().manual_seed(3))
        return whet.cat(list(loader)).flatten().tolist()

    assert whet.thread_safe_generator() is None
    assert drawn(1) == drawn(2) == drawn(3) and len(set(drawn(2))) == 8


def test_the_kind_of_the_cpu_among_devices_of_dlpack():
    assert whet.ones(1).__dlpack_device__()[0] == whet.utils.dlpack.DLDeviceType.kDLCPU


def test_storages_are_printed_with_what_they_hold():
    t = whet.tensor([1, 256], dtype=whet.int16)
    assert repr(t.storage()) == (
        " 1\n 256\n[whet.storage.TypedStorage(dtype=whet.int16, device=cpu) of size 2]")
    assert repr(t.untyped_storage()) == (
        " 1\n 0\n 0\n 1\n[whet.storage.UntypedStorage(device=cpu) of size 4]")
    assert repr(t.to("meta").storage()).startswith("...\n[whet.storage")


def test_buffers_are_printed_as_tensors():
    assert repr(whet.nn.Buffer(whet.ones(2))) == "tensor([1., 1.])"


@pytest.mark.parametrize("shape, name", [((2, 3, 4, 5), "channels_last"),
                                         ((2, 3, 4, 5, 6), "channels_last_3d")])
def test_resizing_lays_out_as_a_format_says(shape, name):
    memory_format = getattr(whet, name)
    like = whet.ones(shape).contiguous(memory_format=memory_format)
    numbers = whet.arange(like.numel())
    x = numbers.clone().resize_(shape, memory_format=memory_format)
    assert x.stride() == like.stride() and x.is_contiguous(memory_format=memory_format)
    assert x.as_strided((like.numel(),), (1,)).tolist() == numbers.tolist()
    other = numbers.clone().resize_as_(like, memory_format=whet.preserve_format)
    assert other.stride() == like.stride() and other.tolist() == x.tolist()
    assert numbers.clone().resize_as_(like).is_contiguous()
    with pytest.raises(RuntimeError, match="required rank"):
        numbers.clone().resize_(like.numel(), memory_format=memory_format)


def test_a_tensor_takes_a_storage_of_its_own_type_or_of_bytes():
    x = whet.ones(2)
    for source in [whet.ones(2, dtype=t).storage() for t in (whet.float64, whet.int32)]:
        with pytest.raises(RuntimeError, match="Expected a Storage of type Float"):
            x.set_(source)
    assert x.set_(whet.zeros(3).storage()).tolist() == [0, 0, 0]
    assert x.set_(whet.zeros(1, dtype=whet.float64).untyped_storage()).tolist() == [0, 0]


def test_a_parameter_may_get_other_memory_where_nothing_is_recorded():
    p = whet.nn.Parameter(whet.arange(4.))
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        p.set_(p.detach()[1:])
    with whet.no_grad():
        p.set_(p.detach()[1:])
    (p * 2).sum().backward()
    assert p.tolist() == [1, 2, 3] and p.grad.tolist() == [2, 2, 2]


def test_a_slice_of_a_storage_is_its_part_of_the_same_memory():
    x = whet.zeros(4)
    part = x.untyped_storage()[4:12]
    assert part.nbytes() == 8 and part.data_ptr() == x.data_ptr() + 4
    part.fill_(1)
    whet.empty(0, dtype=whet.uint8).set_(part[1:3]).fill_(2)
    assert x.view(whet.uint8).tolist() == [0] * 4 + [1, 2, 2] + [1] * 5 + [0] * 4
    with pytest.raises(RuntimeError, match="slice with a step of 2, but only a step of 1"):
        part[::2]
    with pytest.raises(RuntimeError, match="only supported in UntypedStorage.__getitem__"):
        x.storage()[0:2]


@pytest.mark.parametrize("name, dtype", [
    ("double", whet.float64), ("float", whet.float32), ("half", whet.float16),
    ("bfloat16", whet.bfloat16), ("long", whet.int64), ("int", whet.int32), ("short", whet.int16),
    ("char", whet.int8), ("byte", whet.uint8), ("bool", whet.bool),
    ("complex_double", whet.complex128), ("complex_float", whet.complex64)])
def test_storages_give_their_elements_in_another_type_and_other_memory(name, dtype):
    x = whet.tensor([1.0, 0.0, 3.0])
    made = getattr(x.storage(), name)()
    assert made.dtype is dtype and made.tolist() == x.to(dtype).tolist()
    assert made.data_ptr() != x.data_ptr()
    assert getattr(x.untyped_storage(), name)().size() == 12


def test_storages_of_buffers_take_the_order_of_bytes_that_they_came_in():
    big = whet.TypedStorage.from_buffer(b"\0\0\0\1\0\0\1\0", dtype=whet.int32, byte_order="big")
    assert big.tolist() == [1, 256]
    big.untyped().byteswap(whet.int32)
    assert big.untyped().tolist() == [0, 0, 0, 1, 0, 0, 1, 0]
    assert whet.UntypedStorage.from_buffer(b"ab").tolist() == [97, 98]
    with pytest.raises(ValueError, match="not a whole number of elements of 4 bytes"):
        whet.TypedStorage.from_buffer(b"abc", dtype=whet.float32)
    with pytest.raises(ValueError, match="byte_order must be"):
        whet.TypedStorage.from_buffer(b"abcd", byte_order="middle")


def test_copies_of_storages_have_other_memory():
    x = whet.ones(2)
    s = x.untyped_storage()
    for made in (copy.copy(s), copy.deepcopy(s), copy.copy(x.storage()).untyped()):
        assert made.tolist() == s.tolist() and made.data_ptr() != s.data_ptr()
    first, second = copy.deepcopy([s, x.untyped_storage()])
    assert first.data_ptr() == second.data_ptr()
    assert s.cpu() is s and not s.is_shared() and not s.is_pinned() and not s.is_sparse


def test_numbers_are_filled_into_memory_that_several_elements_share():
    x = whet.ones(1, 3)
    assert x.expand(2, 3).fill_(5).tolist() == [[5] * 3] * 2 and x.tolist() == [[5] * 3]
    assert whet.ones(()).expand(2).zero_().tolist() == [0, 0]
    w = whet.ones(3, requires_grad=True)
    y = w * 1
    spread = y[:, None].expand(3, 2)
    spread[0].fill_(7)
    assert y.tolist() == [7, 1, 1]
    spread.sum().backward()
    assert w.grad.tolist() == [0, 2, 2]
    with pytest.raises(RuntimeError, match="single memory location"):
        x.expand(2, 3).add_(1)

    @whet.jit.trace
    def filled(a):
        a.expand(2, 3).fill_(7)
        return a + 1
    for n in range(3):
        a = whet.full((3,), float(n))
        assert filled(a).tolist() == [8] * 3 and a.tolist() == [7] * 3


def test_storages_see_the_elements_of_files(tmp_path):
    path = str(tmp_path / "numbers")
    whet.FloatStorage.from_file(path, True, 3).fill_(2.0)
    assert whet.FloatStorage.from_file(path, False, 2).tolist() == [2.0, 2.0]
    assert whet.UntypedStorage.from_file(path, False, 4).tolist() == [0, 0, 0, 64]
    with pytest.raises(RuntimeError, match="12 bytes, but 16 are wanted"):
        whet.FloatStorage.from_file(path, False, 4)
