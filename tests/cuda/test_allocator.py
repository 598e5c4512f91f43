"""The caching allocator of devices."""
import gc

import pytest
from whet.cuda.allocator import LARGE_SEGMENT, SMALL_SEGMENT
from whet.cuda.driver import OutOfMemoryError


@pytest.fixture
def memory(gpus):
    """(the allocator of cuda:0, its default stream)"""
    return gpus.allocators[0], gpus.default_stream(0)


def test_small_blocks_share_a_segment_and_become_one_again(memory):
    a, s = memory
    held = [a.allocate(n, s) for n in (1, 600_000, 700_000)]
    assert [h.block.size for h in held] == [512, 600_064, 700_416]
    assert len({h.block.address for h in held}) == 3 and list(a.segments) == [held[0].block.address]
    assert a.settle().segments.current == SMALL_SEGMENT
    for i in (1, 0, 2):
        held[i] = None
    big = a.allocate(SMALL_SEGMENT // 2, s)
    assert len(a.segments) == 1             # neighbours became one before more was asked for
    del big
    a.empty_cache()
    assert not a.segments and not any(a.unused.values())


def test_the_best_fit_is_taken_and_cut(memory):
    a, s = memory
    first, gap, second, end = (a.allocate(n, s) for n in (4096, 512, 2048, 512))
    at = second.block.address
    del first, second
    a.empty_cache()                         # what is let go of waits for one of just its size
    third = a.allocate(1024, s)
    assert third.block.address == at and third.block.after.size == 1024
    assert third.block.after.free and gap and end


def test_large_blocks_come_from_segments_of_their_own(memory):
    a, s = memory
    held = [a.allocate(n, s) for n in (2 << 20, 3 << 20, 17 << 20)]
    assert a.settle().segments.current == LARGE_SEGMENT + (18 << 20)
    assert held[1].block.before is held[0].block


def test_streams_have_memory_of_their_own(gpus):
    a = gpus.allocators[0]
    one, two = gpus.stream(0, 0), gpus.stream(0, 0)
    address = a.allocate(512, one).block.address
    assert a.allocate(512, two).block.address != address
    assert a.allocate(512, one).block.address == address


def test_what_was_let_go_of_last_is_given_out_again(gpus):
    a, s, other = gpus.allocators[0], gpus.default_stream(0), gpus.stream(0, 0)
    held = a.allocate(700, s)
    address, before = held.block.address, dict(a.settle().named())
    for size in (900, 513, 1024):
        del held
        held = a.allocate(size, s)
        assert held.block.address == address and held.block.wanted == size
    counts = a.settle().named()
    assert counts["requested_bytes.all.current"] == 1024
    assert counts["allocated_bytes.all.current"] == counts["allocated_bytes.all.peak"] == 1024
    assert counts["allocation.all.current"] == 1
    for what, n in (("allocation", 3), ("allocated_bytes", 3 * 1024),
                    ("requested_bytes", 900 + 513 + 1024)):
        for part in ("allocated", "freed"):
            key = f"{what}.all.{part}"
            wanted = n if part == "allocated" or what != "requested_bytes" else 700 + 900 + 513
            assert counts[key] - before[key] == wanted
    del held
    assert a.allocate(1024, other).block.address != address
    assert a.allocate(1024, s).block.address == address


def test_a_block_of_two_streams_comes_back_when_both_are_done(gpus):
    a = gpus.allocators[0]
    one, two = gpus.stream(0, 0), gpus.stream(0, 0)
    held = a.allocate(512, one)
    gpus.driver.fill(held.block.address, 0, 512, two)
    a.record_stream(held.block, two)
    address = held.block.address
    del held
    assert len(a.waiting) == 1 and a.settle().bytes.current == 0
    gpus.driver.synchronize(0)
    assert a.allocate(512, one).block.address == address and not a.waiting


def test_a_block_of_three_streams_comes_back_when_all_are_done(gpus):
    a, d = gpus.allocators[0], gpus.driver
    one, two, three = (gpus.stream(0, 0) for _ in range(3))
    stop = d.create_event(0, timing=False)
    held = a.allocate(512, one)
    for s in (two, three):
        a.record_stream(held.block, s)
    d.record(stop, gpus.stream(0, 0))
    d.wait(three, stop)
    for _ in range(30):                     # the third has much to do before it is done
        d.fill(held.block.address, 0, 512, three)
    address = held.block.address
    del held
    d.synchronize_stream(two)
    other = a.allocate(512, one)
    assert not d.stream_done(three) and other.block.address != address
    d.synchronize(0)
    del stop
    assert a.allocate(512, one).block.address == address


def test_where_memory_runs_out_other_streams_are_waited_for(gpus_of):
    m = gpus_of(memory=64 << 20)
    a, one, two = m.allocators[0], m.stream(0, 0), m.stream(0, 0)
    held = a.allocate(40 << 20, one)
    a.record_stream(held.block, two)
    m.driver.fill(held.block.address, 0, 512, two)
    del held
    assert a.allocate(40 << 20, two).block.size == 40 << 20


def test_statistics_have_pytorchs_names(gpus):
    import whet
    a, s = gpus.allocators[0], gpus.default_stream(0)
    held = a.allocate(1000, s)
    assert whet.cuda.memory_allocated() == 1024 and whet.cuda.memory_reserved() == SMALL_SEGMENT
    del held
    assert (whet.cuda.memory_allocated(), whet.cuda.max_memory_allocated()) == (0, 1024)
    stats = whet.cuda.memory_stats()
    assert stats["allocated_bytes.all.freed"] == 1024
    assert stats["requested_bytes.all.allocated"] == 1000
    assert stats["segment.all.current"] == 1 and stats["num_ooms"] == 0
    whet.cuda.reset_peak_memory_stats()
    assert whet.cuda.max_memory_allocated() == 0
    free, total = whet.cuda.mem_get_info()
    assert total - free == SMALL_SEGMENT
    whet.cuda.empty_cache()
    assert whet.cuda.memory_reserved() == 0 and whet.cuda.mem_get_info() == (total, total)


def test_where_memory_runs_out_what_is_kept_is_given_back_first(gpus_of):
    m = gpus_of(memory=64 << 20)
    a, s = m.allocators[0], m.default_stream(0)
    del [a.allocate(40 << 20, s)][:]
    held = a.allocate(60 << 20, s)
    assert held and a.settle().retries == 1


def test_memory_that_only_a_circle_holds_is_found(gpus_of):
    m = gpus_of(memory=64 << 20)
    a, s = m.allocators[0], m.default_stream(0)
    circle = [a.allocate(40 << 20, s)]
    circle.append(circle)
    gc.disable()
    try:
        del circle
        assert a.allocate(40 << 20, s)
    finally:
        gc.enable()


def test_the_error_of_no_memory_names_the_largest_tensors(gpus_of):
    m = gpus_of(memory=64 << 20)
    a, s = m.allocators[0], m.default_stream(0)
    held = [a.allocate(n << 20, s, what) for n, what in ((8, "(2, 1024, 1024) float32"), (30, "b"))]
    with pytest.raises(OutOfMemoryError, match="Tried to allocate 40.00 MiB") as e:
        a.allocate(40 << 20, s)
    lines = str(e.value).splitlines()
    assert lines[-2:] == ["  30.00 MiB  b", "  8.00 MiB  (2, 1024, 1024) float32"] and held
    assert "whet uses 38.00 MiB" in lines[0] and a.settle().failures == 1
