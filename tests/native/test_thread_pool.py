"""The thread pool: who runs what, nested and concurrent use, fork, sizes of the pool, limits of
the machine."""
import ctypes
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from whet.cpu import conv, gemm, native, thread_pool, thread_pool_layout
from whet.passes.lower_llvm.calls import distribute_units
from whet.passes.lower_llvm.windows.epilogue import SUMS

pytestmark = pytest.mark.skipif(not native.enabled(), reason="no native calls in this process")
has_threads = pytest.mark.skipif(not thread_pool.SUPPORTED,
                                 reason="the pool has one thread on this system")

# args: out, where; out[i] += 1, where[i] = the begin of the piece, unless `where` is null
MARK = """
define void @mark(ptr %args, i64 %begin, i64 %end, i64 %worker) {
entry:
  %out = load ptr, ptr %args
  %wp = getelementptr i64, ptr %args, i64 1
  %where = load ptr, ptr %wp
  %skip = icmp eq ptr %where, null
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %l, label %d
l:
  %i = phi i64 [%begin, %entry], [%i1, %n]
  %p = getelementptr i64, ptr %out, i64 %i
  %v = load i64, ptr %p
  %a = add i64 %v, 1
  store i64 %a, ptr %p
  br i1 %skip, label %n, label %s
s:
  %q = getelementptr i64, ptr %where, i64 %i
  store i64 %begin, ptr %q
  br label %n
n:
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %end
  br i1 %more, label %l, label %d
d:
  ret void
}
"""
# args: counter, count, seen; each part counts itself and waits for the others to begin:
# seen[worker] = how many it has seen
MEET = """
define void @meet(ptr %args, i64 %begin, i64 %end, i64 %worker) {
entry:
  %counter = load ptr, ptr %args
  %np = getelementptr i64, ptr %args, i64 1
  %n = load i64, ptr %np
  %sp = getelementptr i64, ptr %args, i64 2
  %seen = load ptr, ptr %sp
  %me = getelementptr i64, ptr %seen, i64 %worker
  %x = atomicrmw add ptr %counter, i64 1 seq_cst
  br label %l
l:
  %i = phi i64 [0, %entry], [%i1, %w]
  %c = load atomic i64, ptr %counter seq_cst, align 8
  store i64 %c, ptr %me
  %all = icmp sge i64 %c, %n
  br i1 %all, label %d, label %w
w:
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, 3000000000
  br i1 %more, label %l, label %d
d:
  ret void
}
"""
# args: out, width; every unit is a launch over its own row of `out`
NESTED = MARK + """
declare void @whet_pool_run(ptr, ptr, i64, i64)
define void @nested(ptr %args, i64 %begin, i64 %end, i64 %worker) {
entry:
  %slot = alloca [2 x ptr]
  %none = getelementptr ptr, ptr %slot, i64 1
  store ptr null, ptr %none
  %out = load ptr, ptr %args
  %wp = getelementptr i64, ptr %args, i64 1
  %width = load i64, ptr %wp
  br label %l
l:
  %i = phi i64 [%begin, %entry], [%i1, %l]
  %at = mul i64 %i, %width
  %row = getelementptr i64, ptr %out, i64 %at
  store ptr %row, ptr %slot
  call void @whet_pool_run(ptr @mark, ptr %slot, i64 %width, i64 1)
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %end
  br i1 %more, label %l, label %d
d:
  ret void
}
"""


@pytest.fixture(scope="module")
def mark():
    return native.build(MARK, ["mark"])["mark"]


@pytest.fixture
def threads():
    before = thread_pool.get_num_threads()
    yield thread_pool.set_num_threads
    thread_pool.set_num_threads(before)


def pieces(k, total, grain, threads):
    """Sizes of the pieces that a launch is done in; every unit must be done once."""
    thread_pool.set_num_threads(threads)
    out, where = np.zeros(total, np.int64), np.full(total, -1)
    native.launch(k, total, grain, out, where)
    assert (out == 1).all() and (np.sort(where) == where).all()
    return np.unique(where, return_counts=True)[1]


def together(n):
    """Do n threads run at the same time?"""
    thread_pool.set_num_threads(n)
    counter, seen = np.zeros(1, np.int64), np.zeros(n, np.int64)
    native.launch(native.build(MEET, ["meet"])["meet"], n, 1, counter, n, seen)
    return seen.tolist() == [n] * n


@has_threads
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_every_unit_is_done_once_in_contiguous_pieces_of_equal_parts(mark, threads, n):
    for total in (1, 2, 3, 10, 97, 1000, 5000, 70_000, 1_000_003):
        sizes = pieces(mark, total, 1, n)
        assert sizes.max() <= (-(-total // n) + 16 * max(1, total >> 15) if total >= 2 else 1)
        assert len(sizes) >= (min(n, total) if total >= 2 else 1)


@has_threads
def test_a_piece_is_at_least_a_grain(mark, threads):
    for total, grain, few, many in (((199, 100, 1, 1), (200, 100, 2, 2), (399, 100, 3, 3),
                                     (5000, 100, 4, 50),
                                     (10, distribute_units.word(2 ** 62), 1, 1))):
        sizes = pieces(mark, total, grain, 4)
        assert few <= len(sizes) <= many and sizes.min() >= min(grain, total)


# args: done, left; the caller's first piece waits until all other units are done: left[0] is how
# many were not, left[1] its size
WAIT = """
define void @wait(ptr %args, i64 %begin, i64 %end, i64 %worker) {
entry:
  %done = load ptr, ptr %args
  %lp = getelementptr i64, ptr %args, i64 1
  %left = load ptr, ptr %lp
  %tp = getelementptr i64, ptr %args, i64 2
  %total = load i64, ptr %tp
  %n = sub i64 %end, %begin
  %others = sub i64 %total, %n
  %first = icmp eq i64 %begin, 0
  br i1 %first, label %note, label %d
note:
  %sp = getelementptr i64, ptr %left, i64 1
  store i64 %n, ptr %sp
  br label %l
l:
  %i = phi i64 [0, %note], [%i1, %w]
  %c = load atomic i64, ptr %done seq_cst, align 8
  %missing = sub i64 %others, %c
  store i64 %missing, ptr %left
  %all = icmp sle i64 %missing, 0
  br i1 %all, label %d, label %w
w:
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, 3000000000
  br i1 %more, label %l, label %d
d:
  %x = atomicrmw add ptr %done, i64 %n seq_cst
  ret void
}
"""


@has_threads
@pytest.mark.parametrize("n, total", [(2, 4), (2, 1000), (3, 1000), (4, 100_000)])
def test_what_a_slow_thread_has_not_begun_others_do(threads, n, total):
    threads(n)
    k = native.build(WAIT, ["wait"])["wait"]
    for _ in range(20):
        done, left = np.zeros(1, np.int64), np.full(2, -1)
        native.launch(k, total, 1, done, left, total)
        assert done[0] == total and left[0] == 0
        # some of its part is left, which nobody else would do if parts were fixed
        assert 0 < left[1] < total // n


@has_threads
@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_parts_run_at_the_same_time(threads, n):
    for _ in range(20):
        assert together(n)


# args: most; its word becomes the largest number of a worker that took part
WHO = """
define void @who(ptr %args, i64 %begin, i64 %end, i64 %worker) {
  %most = load ptr, ptr %args
  %x = atomicrmw max ptr %most, i64 %worker seq_cst
  ret void
}
"""


@has_threads
def test_no_more_threads_take_part_than_a_launch_has_room_for(threads):
    threads(6)
    k, meet = native.build(WHO, ["who"])["who"], native.build(MEET, ["meet"])["meet"]
    for room in (1, 2, 3, 6, 9, 1000):
        n, most = min(room, 6), np.zeros(1, np.int64)
        for _ in range(50):
            native.launch(k, 1000, distribute_units.word(1, room), most)
        assert most[0] <= n - 1
        counter, seen = np.zeros(1, np.int64), np.zeros(6, np.int64)
        native.launch(meet, n, distribute_units.word(1, room), counter, n, seen)
        assert seen.tolist() == ([n] * n if n > 1 else [1]) + [0] * (6 - n)


@has_threads
@pytest.mark.parametrize("before, after", [(1, 6), (2, 6), (3, 2)])
def test_a_launch_keeps_to_its_scratch_memory_when_the_number_of_threads_changes(
        threads, before, after):
    gen = np.random.default_rng(0)
    a, b = gen.standard_normal((900, 300), np.float32), gen.standard_normal((300, 400), np.float32)
    x, w = (gen.standard_normal((4, 16, 40, 40),
                                np.float32), gen.standard_normal((32, 16, 3, 3), np.float32))
    at = (2, 2), (1, 1), (1, 1), 1
    threads(before)
    product, layer = gemm._make_plan(a, b, None, ()), conv.plan_of(x, w, SUMS, *at)
    wanted = [gemm.matmul(a, b), conv.conv(x, w, None, *at)]
    # as another thread may do, between the plan and the launch
    threads(after)
    made = [np.empty(product.shape, product.dtype), np.empty(layer.out, x.dtype)]
    packed = w
    if layer.pack is not None:
        packed = np.empty(layer.pack.size, w.dtype)
        native.launch(layer.pack.kernel, layer.pack.units, layer.pack.grain, w, packed,
                      *layer.pack.numbers)
    launches = [(product.kernel, product.total, product.grain, a, b, made[0], product.table),
                (layer.kernel, layer.units, layer.grain, x, packed, made[1], layer.geometry)]
    for (*head, table), plan, k in zip(launches, (product, layer), (0, 1)):
        assert plan.scratch and head[1] // distribute_units.grain(head[2]) >= 6
        memory = np.full(6 * plan.scratch + 64, 77, np.uint8)
        start = -memory.ctypes.data % 64
        scratch = memory[start:start + plan.scratch]
        for _ in range(20):
            native.launch(*head, *((table, scratch) if k == 0 else (scratch, table)))
        scratch[:] = 77
        assert (memory == 77).all()
    assert [m.tobytes() for m in made] == [m.tobytes() for m in wanted]


def test_huge_totals_are_cut_without_overflow(threads):
    text = """
    define void @ends(ptr %args, i64 %begin, i64 %end, i64 %worker) {
      %count = load ptr, ptr %args
      %k = atomicrmw add ptr %count, i64 2 seq_cst
      %p = getelementptr i64, ptr %count, i64 %k
      %q = getelementptr i64, ptr %p, i64 1
      %r = getelementptr i64, ptr %p, i64 2
      store i64 %begin, ptr %q
      store i64 %end, ptr %r
      ret void
    }"""
    threads(4)
    out = np.zeros(1000, np.int64)
    native.launch(native.build(text, ["ends"])["ends"], 2**63 - 1, 1, out)
    ends = sorted(map(tuple, out[1:out[0] + 1].reshape(-1, 2).tolist()))
    assert (ends[0][0] == 0 and ends[-1][1] == 2 ** 63 - 1
            and all(a[1] == b[0] for a, b in zip(ends, ends[1:], strict=False)))
    assert len(ends) >= 4 if thread_pool.SUPPORTED else len(ends) == 1


def test_many_launches_of_many_sizes(mark, threads):
    for n in (2, 4):
        threads(n)
        out, done = np.zeros(64, np.int64), np.zeros(64, np.int64)
        for k in range(20_000 if n == 2 else 2_000):
            total = k * 7 % 65
            native.launch(mark, total, 1, out, None)
            done[:total] += 1
        assert (out == done).all()


@has_threads
def test_a_launch_inside_a_launch_runs_on_its_thread(threads):
    threads(3)
    native.symbol("pool_run")
    k = native.image("test/nested", lambda: NESTED, ["nested"])["nested"]
    for _ in range(50):
        out = np.zeros((6, 40), np.int64)
        native.launch(k, 6, 1, out, 40)
        assert (out == 1).all()
    assert together(3)                       # the pool is free again


def test_python_threads_launch_at_the_same_time(mark, threads):
    threads(2)
    wrong = []
    def work(seed):
        out, times = np.zeros(50 + seed, np.int64), 2000
        for _ in range(times):
            native.launch(mark, len(out), 1, out, None)
        if not (out == times).all():
            wrong.append(out)
    crowd = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in crowd: t.start()
    for t in crowd: t.join()
    assert not wrong and (together(2) or not thread_pool.SUPPORTED)


@has_threads
def test_a_fork_starts_its_own_workers(threads):
    assert together(2)
    for _ in range(3):
        pid = os.fork()
        if not pid:
            ok = False
            try:
                ok = thread_pool.get_num_threads() == 2 and all(together(2) for _ in range(100))
            finally:
                os._exit(0 if ok else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert together(2)


@has_threads
def test_a_fork_while_another_thread_launches(mark, threads):
    threads(2)
    stop = threading.Event()
    def busy():
        out = np.zeros(100_000, np.int64)
        while not stop.is_set():
            native.launch(mark, len(out), 10, out, None)
    other = threading.Thread(target=busy)
    other.start()
    try:
        for _ in range(20):
            pid = os.fork()
            if not pid:
                ok = False
                try:
                    ok = together(2)
                finally:
                    os._exit(0 if ok else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    finally:
        stop.set()
        other.join()


@has_threads
def test_workers_stop_and_start_again(mark, threads):
    at = thread_pool.state()["whet_pool"] + thread_pool_layout.WORKERS
    workers = ctypes.c_int32.from_address(at)
    for n in (4, 2, 3):
        assert len(pieces(mark, 100, 1, n)) >= n and workers.value == n - 1
        thread_pool.stop()
        assert workers.value == 0


def test_a_process_with_waiting_workers_exits_cleanly():
    program = (
        "import numpy as np\nfrom whet.cpu import native, thread_pool\n"
        "from test_thread_pool import MARK\n"
        "thread_pool.set_num_threads(4)\n"
        "native.launch(native.build(MARK, ['mark'])['mark'], 1000, 1, np.zeros(1000, np.int64), "
        "None)\n")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True,
                              text=True, timeout=300)
        assert done.returncode == 0 and not done.stderr


def test_set_num_threads_checks_its_argument(threads):
    for bad, error in (((0, RuntimeError), (-1, RuntimeError), (1.5, TypeError), ("2", TypeError),
                        (True, TypeError))):
        with pytest.raises(error, match="set_num_threads"):
            thread_pool.set_num_threads(bad)
    threads(3)
    assert thread_pool.get_num_threads() == 3
    threads(10**9)
    assert thread_pool.get_num_threads() == thread_pool.MAX_THREADS
    thread_pool.stop()


@has_threads
def test_a_system_that_grants_no_threads_leaves_the_caller():
    program = """
import ctypes, resource
import numpy as np
from whet.cpu import native, thread_pool
from test_thread_pool import MARK
k = native.build(MARK, ["mark"])["mark"]
refuse = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)(lambda *a: 11)
native._exports["pthread_create"] = ctypes.cast(refuse, ctypes.c_void_p).value
native._exports.update(thread_pool.state())
run = native.image("test/refused", thread_pool.source, ["pool_run"])["pool_run"]
thread_pool.set_num_threads(4)
out = np.zeros(100, np.int64)
slot = (ctypes.c_int64 * 2)(out.ctypes.data, 0)
ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 2)(run)(k, ctypes.addressof(slot), 100, 1)
assert (out == 1).all()
"""
    env = {
        **os.environ, "WHET_CACHE": "0",
        "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}
    subprocess.run([sys.executable, "-c", program], env=env, check=True, timeout=300)


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root)


@pytest.mark.parametrize("files, wanted", [
    ({}, None),
    ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "max 100000\n"}, None),
    ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "250000 100000\n"}, 3),
    ({
        "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "200000 100000\n",
        "sys/fs/cgroup/a/b/cpu.max": "max 100000\n"}, 2),
    ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "50000 100000\n"}, 1),
    ({
        "proc/self/cgroup": "4:cpu,cpuacct:/x\n0::/\n",
        "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "400000\n",
        "sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000\n"}, 4),
    ({
        "proc/self/cgroup": "4:cpu:/x\n", "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "-1\n",
        "sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000\n"}, None),
    ({"proc/self/cgroup": "junk\n0::/a\n", "sys/fs/cgroup/a/cpu.max": "junk\n"}, None),
    ({"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "100000 0\n"}, None)])
def test_the_control_group_limits_the_threads(tmp_path, files, wanted):
    assert thread_pool.quota(write(tmp_path, files)) == wanted


def test_the_default_is_the_least_of_what_is_allowed(monkeypatch):
    monkeypatch.setattr(thread_pool, "affinity", lambda: 8)
    monkeypatch.setattr(thread_pool, "quota", lambda: None)
    for asked, wanted in (("", 8), ("3", 3), ("2,4", 2), ("64", 8), ("0", 8), ("junk", 8)):
        monkeypatch.setenv("OMP_NUM_THREADS", asked)
        assert thread_pool.default_threads() == wanted
    monkeypatch.setattr(thread_pool, "quota", lambda: 2)
    assert thread_pool.default_threads() == 2


def test_machine_code_can_use_the_pool(mark, threads):
    threads(2)
    out = np.zeros(100, np.int64)
    slot = (ctypes.c_int64 * 2)(out.ctypes.data, 0)
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2,
                           *[ctypes.c_int64] * 2)(native.symbol("pool_run"))
    run(mark, ctypes.addressof(slot), 100, 1)
    assert (out == 1).all()
