"""Large arrays from the caching allocator: layouts, reuse, counters, lifetimes, refusals."""
import ctypes as C
import gc
import mmap
import os
import pickle
import subprocess
import sys
import weakref

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet.cpu import allocator, memory, native
from whet.cpu.allocator_layout import BESIDE, HELD, MOST, QUARTERS

F4 = np.dtype("f4")
needs_native = pytest.mark.skipif(not native.enabled(), reason="no native calls in this process")
SHAPES = [(), (0,), (1,), (7,), (2, 3), (0, 5), (5, 0, 2), (300, 300), (1, 70_000, 1),
          (2, 3, 4, 5), (1200, 1000), (1,) * 32]


@pytest.fixture(params=["native", "plain"])
def empty(request):
    if request.param == "plain":
        return allocator._empty
    if not native.enabled():
        pytest.skip("no native calls in this process")
    return memory.empty


@pytest.fixture
def clean():
    """Counters of a heap with nothing in it; the limit is put back afterwards."""
    if not native.enabled():
        pytest.skip("no native calls in this process")
    gc.collect()
    memory.empty_cache()
    memory.reset_peak()
    limit = memory.stats()["limit"]
    yield memory.stats
    memory.set_limit(limit)


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "u2", "i4", "i8", "f2", "f4", "f8", "c8", "c16", "S3", "M8[s]", "i2,f8"])
@pytest.mark.parametrize("shape", SHAPES)
def test_an_array_is_what_NumPy_makes(empty, shape, dtype):
    dtype = np.dtype(dtype)
    a, b = empty(shape, dtype), np.empty(shape, dtype)
    assert type(a) is np.ndarray and (a.shape, a.dtype, a.strides) == (b.shape, b.dtype, b.strides)
    assert all(a.flags[name] == b.flags[name] for name in ("C", "F", "W", "A"))
    a[...] = np.zeros((), dtype)
    assert not a.any() if dtype.names is None and dtype.kind != "M" else True


@pytest.mark.parametrize("shape, strides",
                         [((2, 3), (4, 8)), ((300, 300), (4, 1200)), ((3, 4), (100, 8)),
                          ((5,), (0,)), ((300, 400), (0, 4)), ((200, 300), (2000, 4)), ((), ()),
                          ((1, 1), (7, 999)), ((40, 50, 60), (4, 9600, 160))])
def test_strides_are_taken_as_given(empty, shape, strides):
    a = empty(shape, F4, strides)
    assert (a.shape, a.strides) == (shape, strides) and a.flags.writeable
    a[...] = 1                                              # all of it is ours to write
    b = np.lib.stride_tricks.as_strided(a, shape, strides)
    assert (b == 1).all()


def test_loose_arguments_are_understood(empty):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert empty(3, "f8").shape == (3,) and empty([2, np.int64(3)], np.int16).dtype == np.int16
    assert (empty(70_000, np.float32).shape == (70_000,) and empty(5, F4, 8).strides == (8,)
            and empty((2,), bool).dtype == bool)
    assert empty(shape=(2, True), dtype=float).shape == (2, 1)
    assert empty((2, 3), F4, strides=[4, 8]).strides == (4, 8)
    assert empty((2, 3), F4, None).flags.c_contiguous
    assert empty((2,), object).tolist() == [None, None] and empty((100_000,), object)[-1] is None
    assert empty((70_000,), np.dtype(ml_dtypes.bfloat16)).nbytes == 140_000


@pytest.mark.parametrize("args, error", [(((-1,), F4), ValueError),
                                         (((2,), F4, (-4,)), ValueError),
                                         (((2,), F4, (4, 4)), ValueError),
                                         (((2 ** 62,), F4), ValueError),
                                         (((2 ** 33, 2 ** 33), F4), ValueError),
                                         (((2 ** 70,), F4), (ValueError, OverflowError)),
                                         (((2 ** 45,), F4), MemoryError),
                                         ((("a",), F4), TypeError), (((1.5,), F4), TypeError),
                                         (((2,), "no such type"), TypeError),
                                         (((1,) * 65, F4), ValueError), ((), TypeError)])
def test_what_cannot_be_made_raises(empty, args, error):
    with pytest.raises(error):
        empty(*args)


@needs_native
def test_arrays_smaller_than_a_block_are_NumPys():
    assert memory.empty((4,), F4).base is None and memory.empty((4,), F4).flags.owndata
    assert memory.empty((memory.SMALLEST // 4 - 1,), F4).base is None
    assert memory.empty((memory.SMALLEST // 4,), F4).base is not None


def test_blocks_are_reused_and_counted(clean):
    start = clean()
    a = memory.empty((1 << 20,), F4)
    place = a.ctypes.data
    assert (place % 64 == 0 and clean()["live"] == start["live"] + (4 << 20)
            and clean()["cached"] == 0)
    del a
    assert clean()["live"] == start["live"] and clean()["cached"] == 4 << 20
    b = memory.empty(((1 << 20) - 1000,), F4)               # a size of the same class
    assert (b.ctypes.data == place and clean()["reused"] == start["reused"] + 1
            and clean()["fresh"] == start["fresh"] + 1)
    c = memory.empty((1 << 20,), F4)
    assert c.ctypes.data != place and clean()["live"] == start["live"] + (8 << 20)
    del b, c
    assert clean()["peak"] == start["live"] + (8 << 20)
    memory.reset_peak()
    assert clean()["peak"] == start["live"]
    memory.empty_cache()
    assert clean()["cached"] == 0


def test_sizes_waste_at_most_an_eighth(clean):
    before = clean()["live"]
    for size in [
            memory.SMALLEST, memory.SMALLEST + 1, 100_001, 131_072, 131_073, 1 << 22, (1 << 22) + 1,
            9_999_999]:
        a = memory.empty((size,), np.dtype("u1"))
        assert size <= clean()["live"] - before <= size * 1.125 + 1
        a[-1] = a[0] = 1
        del a


def test_blocks_never_overlap(clean):
    rng, live, before = np.random.default_rng(0), [], clean()["live"]
    for k in range(1500):
        if live and rng.random() < 0.5:
            a, mark = live.pop(rng.integers(len(live)))
            assert a[0] == mark and a[-1] == mark and (a[::1013] == mark).all()
        else:
            a = memory.empty((int(rng.integers(memory.SMALLEST, 300_000)),), np.dtype("u1"))
            a[:] = k % 251
            live.append((a, k % 251))
    del a, live
    assert clean()["live"] == before


@needs_native
def test_a_larger_block_serves_and_is_as_large_afterwards(clean):
    large = memory.empty((4 << 20,), np.dtype("u1"))
    place = large.ctypes.data
    del large
    half = memory.empty((2 << 20,), np.dtype("u1"))
    assert half.ctypes.data == place and clean()["cached"] == 0
    del half
    less = memory.empty(((2 << 20) - (1 << 18),), np.dtype("u1"))
    assert less.ctypes.data != place        # it would waste more than it uses
    large = memory.empty((4 << 20,), np.dtype("u1"))
    assert large.ctypes.data == place and clean()["cached"] == 0


@needs_native
def test_unused_blocks_of_many_sizes_do_not_pile_up(clean):
    rng, held = np.random.default_rng(1), allocator.heap_word(HELD)
    most = allocator.heap_word(MOST)
    before, most.value = most.value, clean()["live"]
    try:
        start = held.value
        for size in rng.integers(1 << 20, 24 << 20, 400):
            memory.empty((int(size),), np.dtype("u1"))[::4096] = 1
            stats = clean()
            # nothing is live by now: the block, rounded up, was at most
            assert held.value - start == stats["cached"] <= (27 << 20) * QUARTERS // 4 + BESIDE
        memory.empty_cache()
        assert held.value == start
    finally:
        most.value = max(before, most.value)


@needs_native
def test_sizes_that_come_again_keep_their_blocks(clean):
    """What lies unused for long goes back first: from the second time on, none is obtained anew."""
    most = allocator.heap_word(MOST)
    before, most.value = most.value, clean()["live"]
    try:
        for k in range(60):
            usual = memory.empty((8 << 20,), np.dtype("u1"))
            place = usual.ctypes.data
            del usual
            for size in (11 << 20, 14 << 20, 18 << 20, 22 << 20, 25 << 20):
                memory.empty((size,), np.dtype("u1"))
            fresh = clean()["fresh"]
            again = memory.empty((8 << 20,), np.dtype("u1"))
            assert not k or again.ctypes.data == place and clean()["fresh"] == fresh
            del again
    finally:
        most.value = max(before, most.value)


def test_a_view_keeps_the_block_alive(clean):
    before = clean()["live"]
    a = memory.empty((1000, 1000), F4)
    a[:] = 7
    v = a[1:, ::2].T
    del a
    assert clean()["live"] > before
    memory.empty((1000, 1000), F4)[:] = 9
    assert (v == 7).all()
    del v
    assert clean()["live"] == before


@needs_native
@pytest.mark.skipif(not hasattr(C.CDLL(None), "malloc_trim"),
                    reason="the C library gives back by itself")
def test_an_empty_cache_is_the_systems_memory_again(clean):
    """Also that of small blocks, which lie in the C library's heap, below what is still in use
    there."""
    resident = lambda: int(open("/proc/self/statm").read().split()[1]) * mmap.PAGESIZE
    memory.empty_cache()
    many = [memory.empty((1 << 18,), F4) for _ in range(64)]
    for a in many:
        a[:] = 1
    before = resident()
    last = many.pop()
    many.clear()
    memory.empty_cache()
    # Of 63 MiB: threads that compile may take some meanwhile.
    assert before - resident() > 32 << 20 and (last == 1).all()


def test_unused_blocks_beyond_the_limit_go_back(clean):
    memory.set_limit(10 << 20)
    many = [memory.empty((1 << 20,), F4) for _ in range(5)]
    many.clear()
    assert clean()["cached"] == 8 << 20
    memory.set_limit(0)
    assert clean()["cached"] == 0
    del many
    a = memory.empty((1 << 20,), F4)
    del a
    assert clean()["cached"] == 0
    with pytest.raises(ValueError):
        memory.set_limit(-1)


@needs_native
def test_a_block_cannot_be_made_or_changed_from_Python():
    block = memory.empty((1 << 20,), F4).base
    with pytest.raises(TypeError):
        type(block)()
    with pytest.raises(AttributeError):
        block.x = 1


@needs_native
def test_arrays_can_be_pickled_and_refuse_to_be_resized():
    a = memory.empty((300, 300), F4)
    a[:] = 5
    assert (pickle.loads(pickle.dumps(a)) == a).all()
    with pytest.raises(ValueError):
        a.resize((600, 600), refcheck=False)
    ref = weakref.ref(a)
    del a
    assert ref() is None


@needs_native
@pytest.mark.usefixtures("nothing_compiled_meanwhile")
def test_arrays_leak_nothing(clean):
    shapes = [((3, 4), F4), (5, np.float32), ((5,), object), ((200, 200), F4),
              ((2, 3), F4, (4, 8)), ((200, 200), F4, (4, 800)), ((0,), F4)]
    def run(times):
        for _ in range(times):
            for args in shapes:
                memory.empty(*args)
            try:
                memory.empty((2**45,), F4)
            except MemoryError:
                pass
    run(10)
    gc.collect()
    live = clean()["live"]
    counts = lambda: (sys.getallocatedblocks(), sys.getrefcount(F4), sys.getrefcount(
        type(memory.empty((200, 200), F4).base)))
    before = counts()
    run(5000)
    gc.collect()
    assert (all(abs(a - b) < 50 for a, b in zip(before, counts(), strict=True))
            and clean()["live"] == live)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of address space")
@needs_native
def test_when_the_system_refuses_the_cache_is_emptied_first():
    program = """
import resource
import numpy as np
from whet.cpu import memory
a = memory.empty((64 << 20,), np.dtype("u1"))
del a
assert memory.stats()["cached"] == 64 << 20
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (32 << 20), -1))
b = memory.empty((72 << 20,), np.dtype("u1"))
assert memory.stats()["cached"] == 0
try:
    memory.empty((1 << 30,), np.dtype("u1"))
except MemoryError as error:
    print(error)
"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0 and "1073741824 bytes" in done.stdout, done.stderr


def test_the_default_limit_is_a_part_of_what_the_process_may_have(monkeypatch):
    from whet.cpu import thread_pool
    monkeypatch.setattr(thread_pool,
                        "control_group", lambda *names: iter([["max"], ["8000000"], ["16000000"]]))
    assert allocator.available() == 8_000_000
    monkeypatch.setattr(thread_pool, "control_group", lambda *names: iter([["max"]]))
    assert allocator.available() > 8_000_000


CONVOLUTIONS = {"few channels": ((3, 1, 28, 28), (8, 1, 5, 5), {}),
                "panels": ((2, 20, 11, 11), (7, 20, 5, 5), {}),
                "a row": ((4, 1, 800), (64, 1, 32), {"stride": 16}),
                "groups": ((2, 32, 14, 14), (64, 8, 3, 3), {"padding": 1, "groups": 4}),
                "one channel each": ((2, 4, 50, 50), (4, 1, 3, 3), {"padding": 1, "groups": 4})}


@pytest.mark.skipif(not native.enabled() or sys.platform != "linux",
                    reason="asks the processor's flags")
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_do_not_compute_with_what_their_memory_held(name, monkeypatch):
    size, weight, attrs = CONVOLUTIONS[name]
    x, w = whet.randn(*size), whet.randn(*weight)
    conv = F.conv1d if len(size) == 3 else F.conv2d
    flags, invalid, given = C.CDLL(None), 1, memory.scratch

    def signalling(*args):
        room = given(*args)
        room[:room.size // 4 * 4].view("u4")[...] = 0x7fa00000
        return room
    before = whet.get_num_threads()
    whet.set_num_threads(1)
    try:
        y = conv(x, w, **attrs)
        monkeypatch.setattr(memory, "scratch", signalling)
        flags.feclearexcept(invalid)
        again = conv(x, w, **attrs)
        assert not flags.fetestexcept(invalid)
    finally:
        flags.feclearexcept(invalid)
        whet.set_num_threads(before)
    assert again.numpy().tobytes() == y.numpy().tobytes()


@needs_native
def test_machine_code_gets_blocks_of_any_size(clean):
    """A recipe's scratch memory may be of a few bytes: no list is for those, and none before the
    first."""
    take = C.CFUNCTYPE(C.c_void_p, C.c_size_t, C.c_void_p)(native.symbol("heap_take"))
    give = C.CFUNCTYPE(None, C.c_void_p, C.c_size_t, C.c_size_t)(native.symbol("heap_give"))
    live = clean()["live"]
    sizes = [0, 1, 2, 8, 63, 64, 65, 1000, 4096, 1 << 15, (1 << 16) - 1, 1 << 16, (1 << 16) + 1]
    for _ in range(2):
        granted = (C.c_size_t * len(sizes))()
        blocks = [take(n, C.addressof(granted) + 8 * i) for i, n in enumerate(sizes)]
        assert all(blocks) and len({*blocks}) == len(sizes)
        for at, n in zip(blocks, sizes):
            C.memset(at, 7, n)
        assert all(has >= n for has, n in zip(granted, sizes))
        for at, n, has in zip(blocks, sizes, granted):
            give(at, n, has)
    assert clean()["live"] == live
