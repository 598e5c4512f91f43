"""The simulated driver: what goes wrong on a device goes wrong on it, too."""
import ctypes

import numpy as np
import pytest
from whet.cuda import allocator, device_state
from whet.cuda.driver import CudaError, Launch, OutOfMemoryError
from whet.cuda.simulated import memory
from whet.cuda.simulated.driver import SimulatedDriver

from tests.triton_runs import needs_triton

SEEDS = range(20)


def pinned(driver, data):
    """Bytes in pinned memory: (their address, an array of them)."""
    address = driver.allocate_pinned(data.nbytes)
    a = np.frombuffer((ctypes.c_uint8 * data.nbytes).from_address(address), data.dtype)
    a[:] = data
    return address, a


def first_byte(a):
    """The host's address of an array's first element."""
    return a.__array_interface__["data"][0]


def test_the_host_cannot_follow_an_address_of_a_device():
    address = SimulatedDriver().allocate(1, 8)
    assert address >> 47 not in (0, (1 << 17) - 1)


def test_new_memory_is_nan_and_what_is_copied_comes_back():
    d = SimulatedDriver()
    s, p = d.create_stream(0, 0), d.allocate(0, 16)
    at, host = pinned(d, np.zeros(4, np.float32))
    d.copy(at, p, 16, s)
    assert (host == 0).all()                                   # not yet
    d.synchronize_stream(s)
    assert np.isnan(host).all()
    host[:] = [1, 2, 3, 4]
    d.copy(p, at, 16, s)
    d.fill(p, 0, 4, s)
    d.copy(at, p, 16, s)
    d.synchronize(0)
    assert host.tolist() == [0, 2, 3, 4]


def test_pageable_memory_is_no_place_for_a_copy_that_is_waited_for_later():
    d = SimulatedDriver()
    s, p, host = d.create_stream(0, 0), d.allocate(0, 16), np.arange(4, dtype=np.float32)
    with pytest.raises(CudaError, match="needs pinned host memory"):
        d.copy(p, first_byte(host), 16, s)
    d.copy_and_wait(p, first_byte(host), 16, s)
    back = np.zeros_like(host)
    d.copy_and_wait(first_byte(back), p, 16, s)
    assert back.tolist() == [0, 1, 2, 3]


def handed_over(seed, waits):
    """Two streams, the second of which reads what the first one writes."""
    d = SimulatedDriver(seed)
    one, two, event = d.create_stream(0, 0), d.create_stream(0, 0), d.create_event(0, timing=False)
    p, (at, host) = d.allocate(0, 4), pinned(d, np.zeros(4, np.uint8))
    d.fill(p, 7, 4, one)
    d.record(event, one)
    if waits:
        d.wait(two, event)
    d.copy(at, p, 4, two)
    d.synchronize_stream(two)
    return host.tolist() == [7, 7, 7, 7]


def test_a_wait_for_an_event_holds_in_every_order_and_a_lost_one_is_found():
    assert all(handed_over(seed, True) for seed in SEEDS)
    assert 0 < sum(handed_over(seed, False) for seed in SEEDS) < len(SEEDS)


def test_a_seed_gives_the_same_order_again():
    assert [handed_over(s, False) for s in SEEDS] == [handed_over(s, False) for s in SEEDS]


def test_an_event_is_what_it_was_when_somebody_began_to_wait():
    d = SimulatedDriver()
    one, two, event = d.create_stream(0, 0), d.create_stream(0, 0), d.create_event(0, timing=False)
    d.wait(two, event)                                         # never recorded: nothing to wait for
    d.synchronize_stream(two)
    d.record(event, one)
    d.wait(two, event)
    d.record(event, two)
    d.synchronize_event(event)
    assert d.event_done(event) and d.stream_done(one) and d.stream_done(two)


def test_an_error_in_a_stream_is_raised_by_who_waits_and_stays():
    d = SimulatedDriver()
    s, p = d.create_stream(0, 0), d.allocate(0, 16)
    d.fill(p + 8, 0, 16, s)                                    # beyond its end: no error yet
    for _ in range(2):
        with pytest.raises(CudaError, match="illegal address.*does no more work"):
            d.synchronize(0)
    with pytest.raises(CudaError, match="given to it before"):
        d.allocate(0, 16)
    d.synchronize(1)                                           # the other device is well


def test_memory_that_was_given_back_is_no_memory():
    d = SimulatedDriver()
    s, p = d.create_stream(0, 0), d.allocate(0, 16)
    d.free(0, p)
    d.fill(p, 0, 16, s)
    with pytest.raises(CudaError, match="not allocated"):
        d.synchronize_stream(s)
    with pytest.raises(CudaError, match="no allocation that is alive"):
        SimulatedDriver().free(0, p)


def test_writes_beyond_an_end_are_found():
    d = SimulatedDriver()
    p = d.allocate(0, 16)
    d.memories[0].mirrors[p].bytes[memory.FENCE + 16] = 0
    with pytest.raises(CudaError, match="beyond an end"):
        d.synchronize(0)


def test_there_is_as_much_memory_as_was_said():
    d = SimulatedDriver(memory=1 << 10)
    d.allocate(0, 1000)
    with pytest.raises(OutOfMemoryError):
        d.allocate(0, 100)
    assert d.memory_info(0) == (24, 1024) and d.memory_info(1) == (1024, 1024)


@needs_triton
@pytest.mark.parametrize("reach", (100, 101))
def test_a_kernel_runs_in_its_stream_and_may_touch_what_it_was_given(reach):
    from whet.ir import kernel as K
    from whet.ir import scalar as S
    from whet.passes.lower_triton import pointwise
    x = S.arg(0)
    source = pointwise.lower(K.Pointwise((x + x,), ("f32",), ("f32",), "flat", "vv"))
    d = SimulatedDriver()
    s, p, q = d.create_stream(0, 0), d.allocate(0, 400), d.allocate(0, 1000)
    host = np.arange(100, dtype=np.float32)
    d.copy_and_wait(p, first_byte(host), 400, s)
    d.launch(d.load(0, source, ()), Launch(1, {"x0": p, "y0": q, "n": reach},
                                           [(p, p + 400), (q, q + 404)]), s)
    if reach > 100:
        with pytest.raises(CudaError, match="OutOfBounds: load of 4 bytes"):
            d.synchronize_stream(s)
    else:
        back = np.zeros_like(host)
        d.copy_and_wait(first_byte(back), q, 400, s)
        assert (back == 2 * host).all()


@needs_triton
def test_a_hint_of_alignment_must_be_true_and_a_stream_the_kernels(gpus):
    from whet.ir import kernel as K
    from whet.ir import scalar as S
    from whet.passes.lower_triton import pointwise
    d, p = gpus.driver, gpus.driver.allocate(1, 400)
    kernel = d.load(1, pointwise.lower(K.Pointwise((S.arg(0),), ("f32",), ("f32",), "flat", "vv")),
                    ("x0", "n"))
    s = d.create_stream(1, 0)

    def launch(first, n, stream):
        d.launch(kernel, Launch(1, {"x0": p + first, "y0": p + 4, "n": n}, [(p, p + 400)]), stream)
    launch(16, 32, s)
    for first, n in ((4, 32), (16, 31)):
        with pytest.raises(CudaError, match="misaligned address: .* as " + ("n", "x0")[n == 32]):
            launch(first, n, s)
    with pytest.raises(CudaError, match="belongs to device 1"):
        launch(16, 32, d.create_stream(0, 0))
    with pytest.raises(CudaError, match="belongs to device 0"):
        d.record(d.create_event(0, timing=False), s)


def test_memory_of_a_stream_is_reused_there_at_once_and_poisoned(gpus):
    a, s = gpus.allocators[0], gpus.default_stream(0)
    held = a.allocate(1000, s)
    address = held.block.address
    del held
    again = a.allocate(900, s)
    assert again.block.address == address
    host = np.zeros(1000, np.uint8)
    gpus.driver.copy_and_wait(first_byte(host), address, 1000, s)
    assert (host == allocator.FREED).all()


@pytest.mark.parametrize("told", (True, False))
def test_a_buffer_that_another_stream_reads_is_not_reused_too_early(told):
    """The reader gets what was written for it in every order, or else the seeds find it."""
    right = []
    for seed in SEEDS:
        with device_state.use(SimulatedDriver(seed)) as m:
            d, a = m.driver, m.allocators[0]
            one, two = (m.stream(0, 0) for _ in range(2))
            at, host = pinned(d, np.zeros(4, np.uint8))
            held, event = a.allocate(4, one), d.create_event(0, timing=False)
            d.fill(held.block.address, 7, 4, one)
            d.record(event, one)
            d.wait(two, event)
            d.copy(at, held.block.address, 4, two)
            if told:
                a.record_stream(held.block, two)
            del held
            later = a.allocate(4, one)
            d.fill(later.block.address, 9, 4, one)
            d.synchronize(0)
            right.append(host.tolist() == [7] * 4)
    assert all(right) if told else 0 < sum(right) < len(right)


@pytest.mark.parametrize("told", (True, False))
def test_pinned_memory_is_not_reused_before_its_copy(told):
    right = []
    for seed in SEEDS:
        with device_state.use(SimulatedDriver(seed)) as m:
            d, s, p = m.driver, m.stream(0, 0), m.driver.allocate(0, 4)
            a = m.pinned.array((4,), np.dtype(np.uint8))
            a[:] = 7
            d.copy(p, first_byte(a), 4, s)
            if told:
                m.pinned.used(a, 0, s)
            del a
            b = m.pinned.array((4,), np.dtype(np.uint8))
            b[:] = 9
            back = np.zeros(4, np.uint8)
            d.copy_and_wait(first_byte(back), p, 4, s)
            right.append(back.tolist() == [7] * 4)
    assert all(right) if told else not any(right)
