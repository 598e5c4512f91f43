"""Where the thread pool keeps what: byte offsets in its state and in its settings."""
import platform
import sys

MAX_THREADS = 1024
WORKER_SPIN_NS, JOINER_SPIN_NS = 150_000, 30_000
MOVE_NS = 5_000_000                      # workers move at most this often
FUTEX = {"x86_64": 202, "aarch64": 98}
PAUSE = {
    "x86_64": "call void @llvm.x86.sse2.pause()", "aarch64": "call void @llvm.aarch64.hint(i32 1)"}
SUPPORTED = sys.platform == "linux" and platform.machine() in FUTEX

# Byte offsets in the state.
BUSY, WORKERS, REFUSED, STOP, CALIBRATED, PINNED, HOME, MOVED = 0, 4, 8, 12, 16, 20, 24, 32
PENDING, JOINER_ASLEEP = 64, 68          # the first: blocks that are not done
# Units go in blocks of 2 ** SHIFT, of which there are 2 ** 15 at most; whoever takes some takes
# LEAST, or all that are left.
KERNEL, ARGS, TOTAL, PARTS, SHIFT, LEAST, NUMBER = 128, 136, 144, 152, 160, 168, 176
WORKER_SPIN, JOINER_SPIN = 192, 200
# A thread's line (the caller's, then the workers'): the number of the last job it was offered (a
# futex), whether it sleeps, what is left of its part of the job, the thread, and its pool.
CALLER, LINES, LINE = 256, 384, 128
JOB, ASLEEP, LEFT, THREAD, POOL = 0, 4, 8, 16, 24
# Byte offsets in the settings, which a child keeps.
THREADS, CPUS = 0, 8


def state_bytes(threads):
    """The bytes of a pool of so many threads."""
    return LINES + LINE * threads


STATE_BYTES = state_bytes(MAX_THREADS)
