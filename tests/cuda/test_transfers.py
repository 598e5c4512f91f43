"""Copies: what they wait for, what waits for them, and the memory that they use on the way."""
import numpy as np
import pytest
import whet

from tests.triton_runs import needs_triton

SEEDS = range(12)


def test_the_host_may_change_pinned_memory_after_a_copy_that_was_to_be_waited_for(gpus):
    x = whet.ones(3).pin_memory()
    y = x.to("cuda")
    x.fill_(2.0)
    assert y.tolist() == [1.0] * 3


def test_pinned_memory_that_nobody_holds_is_there_until_its_copy_was_made(gpus):
    x = whet.ones(3).pin_memory()
    y = x.to("cuda", non_blocking=True)
    del x
    other = whet.full((3,), 2.0).pin_memory()
    assert y.tolist() == [1.0] * 3 and other.tolist() == [2.0] * 3


def test_copies_that_are_under_way_have_memory_of_their_own_on_the_host(gpus):
    made = [whet.full((3,), float(k)).cuda() for k in range(5)]
    assert [y.tolist() for y in made] == [[float(k)] * 3 for k in range(5)]


def test_results_that_nobody_waits_for_are_written_to_memory_of_their_own(gpus):
    y = whet.ones(3).cuda().to("cpu", non_blocking=True)
    del y
    other = whet.full((3,), 2.0).pin_memory()
    whet.cuda.synchronize()
    assert other.tolist() == [2.0] * 3


def test_an_event_that_was_waited_for_says_that_results_are_there(gpus_of):
    for seed in range(4):
        gpus_of(seed)
        y, event = whet.ones(3).cuda().to("cpu", non_blocking=True), whet.cuda.Event()
        event.record()
        event.synchronize()
        assert y.tolist() == [1.0] * 3 and event.query()


def test_pinned_memory_and_its_events_are_given_back(gpus):
    """How many are there at a time goes by how quick the device is, which is another thing each
    time: a few more are none that were lost."""
    def copied():
        x = whet.ones(100).pin_memory().to("cuda", non_blocking=True)
        whet.ones(100).cuda().to("cpu", non_blocking=True)
        whet.cuda.synchronize()
        return x.tolist()
    copied()
    pieces, events = len(gpus.driver.pinned), len(gpus.driver.queues.events)
    for _ in range(12):
        copied()
    assert len(gpus.driver.pinned) <= pieces + 4 and len(gpus.driver.queues.events) <= events + 4


@needs_triton
@pytest.mark.parametrize("seed", SEEDS)
def test_a_copy_waits_for_what_its_target_has_to_do(gpus_of, seed):
    """The memory that it goes to was another tensor's, which is read and written over before."""
    m = gpus_of(seed)
    x = whet.full((4,), 3.0).cuda()
    there = whet.full((4,), 9.0, device="cuda:1")
    read = there * 2
    address = there.data_ptr()
    del there
    y = x.to("cuda:1")
    assert y.data_ptr() == address and m.driver.count() == 2
    assert y.tolist() == [3.0] * 4 and read.tolist() == [18.0] * 4


@needs_triton
def test_blocks_of_several_streams_leave_no_events_behind(gpus):
    def used():
        s, x = whet.cuda.Stream(), whet.ones(4).cuda()
        s.wait_stream(whet.cuda.current_stream())
        with whet.cuda.stream(s):
            y = x + 1
            x.record_stream(s)
        del x
        s.synchronize()
        whet.cuda.synchronize()
        return y
    used(), used()
    events = len(gpus.driver.queues.events)
    for _ in range(4):
        used()
    assert len(gpus.driver.queues.events) <= events


def test_rows_that_lie_apart_come_back_as_they_lie(gpus):
    x = whet.arange(24.0).reshape(4, 6).cuda()[::2, 1:4]
    np.testing.assert_array_equal(x.cpu().numpy(), np.arange(24.0).reshape(4, 6)[::2, 1:4])
