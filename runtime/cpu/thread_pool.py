"""The thread pool: fork-join over parts that threads take from each other, in machine code from end
to end.

`pool_run(kernel, args, total, grain)` cuts 0..total into one contiguous part per thread, the first
for the caller; `grain` may bound how many take part (lower_llvm/calls/distribute_units.py).
Workers spin for a while, then sleep on a futex; they touch no Python. The caller runs everything
where the pool has one thread, or is in use by a nested call or another Python thread: a kernel's
bits do not depend on the partition.

A thread takes half of what is left of its part each time, from the front, but no less than the
grain; when nothing is left, it takes half of what is left of another's, from the back. So a
processor that is slower than others, or shared with somebody, does less, and a worker that does not
get one, or needs long to wake up, costs no more than its help. Workers keep off the caller's
processor, and move when the caller does: the scheduler would leave them waiting behind it for
milliseconds.

What is left of a part is one word, (number of the job, begin, end), which only a compare-and-swap
shortens: who comes late, for a job that is over, finds another number there.

The state lies in memory that a fork leaves zeroed in the child, where no workers exist: its first
use starts new ones.
"""
import atexit
import ctypes as C
import functools
import os
import time

from .. import declared_for_tracing
from . import mapped_code
from .thread_pool_layout import CPUS, MAX_THREADS, STATE_BYTES, SUPPORTED, THREADS

_threads = None
_stop = None
# told when the number of threads changes: what was cut for the old one is dropped
on_change: list = []


NAMES = ["pool_run", "pool_stop"] if SUPPORTED else ["pool_run"]


def source():
    from .thread_pool_code import source
    return source()


@functools.lru_cache(None)
def state():
    """Addresses of the pool's own memory, by the names that its code uses."""
    settings, pool = mapped_code.reserve(4096), mapped_code.reserve(STATE_BYTES)
    if not mapped_code.wipe_on_fork(pool, STATE_BYTES):
        os.register_at_fork(after_in_child=lambda: C.memset(pool, 0, STATE_BYTES))
    return {"whet_settings": settings, "whet_pool": pool}


def set_num_threads(n):
    """How many threads a launch may use, the caller's included. Results do not depend on it."""
    global _threads
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(f"set_num_threads: expected an int, got {type(n).__name__}")
    if n < 1:
        raise RuntimeError(f"set_num_threads: expected a positive number of threads, got {n}")
    n = min(n, MAX_THREADS)
    if n != _threads:
        # where workers run and how long they wait depends on how many they are
        stop()
        for f in on_change:
            f()
    _threads = n
    if SUPPORTED:
        settings = state()["whet_settings"]
        C.c_int64.from_address(settings + CPUS).value = affinity()
        C.c_int64.from_address(settings + THREADS).value = _threads


@declared_for_tracing.goes_by_no_size
def get_num_threads():
    """How many threads a launch may use."""
    if _threads is None:
        set_num_threads(default_threads())
    return _threads


def set_num_interop_threads(n):
    """PyTorch's number of operations that run beside each other. Those of one Python thread follow
    each other here, so any positive number is taken and changes nothing."""
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(f"set_num_interop_threads: expected an int, got {type(n).__name__}")
    if n < 1:
        raise RuntimeError(f"set_num_interop_threads: expected a positive number, got {n}")


def get_num_interop_threads():
    """How many operations of a Python thread run beside each other: one."""
    return 1


def set_flush_denormal(mode):
    """PyTorch's switch for taking tiny numbers as 0. They are computed with in full here, whatever
    is asked: results would depend on the thread that made them. Tells that it was not done."""
    return False


def affinity():
    """The number of processors this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def control_group(controller, old, new, root="/"):
    """The words in the files of this process's control group and of its parents, whose limits hold
    too: `old` are the names of the files in version 1, which has a tree for each controller, `new`
    those in version 2, which has one tree."""
    def read(*path):
        try:
            with open(os.path.join(root, *path)) as f:
                return f.read().split()
        except OSError:
            return []

    lines = [line.split(":", 2) for line in read("proc/self/cgroup")]
    for _, controllers, path in (line for line in lines if len(line) == 3):
        if controllers and controller not in controllers.split(","):
            continue
        tree, files = (("sys/fs/cgroup/" + controller, old) if controllers else
                       ("sys/fs/cgroup", new))
        parts = path.strip("/").split("/")
        for depth in range(len(parts), -1, -1):
            words = [word for file in files for word in read(tree, *parts[:depth], file)]
            if words:
                yield words


def quota(root="/"):
    """Processors that the control group grants, rounded up; None where there is no limit."""
    found = control_group("cpu", ["cpu.cfs_quota_us", "cpu.cfs_period_us"], ["cpu.max"], root)
    limits = [
        -(-int(words[0]) // int(words[1])) for words in found
        if len(words) == 2 and words[0].isdigit() and int(words[1])]
    return max(1, min(limits)) if limits else None


def default_threads():
    """The least of what affinity, the control group and OMP_NUM_THREADS allow."""
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return min([
        affinity(),
        quota() or MAX_THREADS, *([int(asked)] if asked.isdigit() and int(asked) else []),
        MAX_THREADS])


def started(pool_stop):
    """The native code is loaded; its `pool_stop` is at this address."""
    global _stop
    _stop = C.CFUNCTYPE(C.c_int64)(pool_stop)
    atexit.register(stop)


def stop(seconds=1.0):
    """Send the workers home; the next launch that wants them starts new ones. While another
    thread's launch runs they stay."""
    limit = time.monotonic() + seconds
    while _stop is not None and _stop() > 0 and time.monotonic() < limit:
        time.sleep(0.0001)
