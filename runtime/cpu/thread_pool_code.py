"""The machine code of a pool: `run_in_pool`, which shares a job out and joins its threads, and
`stop_pool`; for the process's own, `pool_run` and `pool_stop`."""
import platform
import re

from whet.passes.lower_llvm.calls import distribute_units

from . import thread_pool_layout, thread_pool_workers
from .thread_pool_layout import (
    CALLER,
    FUTEX,
    JOINER_SPIN_NS,
    LEFT,
    LINES,
    MAX_THREADS,
    PAUSE,
    SUPPORTED,
    THREAD,
    WORKER_SPIN_NS,
    state_bytes,
)

_SERIAL = """
define void @pool_run(ptr %kernel, ptr %args, i64 %total, i64 %grain) nounwind {
  %some = icmp sgt i64 %total, 0
  br i1 %some, label %run, label %done
run:
  call void %kernel(ptr %args, i64 0, i64 %total, i64 0)
  br label %done
done:
  ret void
}
"""

_JOBS = """
; The number of the next job; never 0, which a worker that is new has seen.
define internal i32 @number(ptr %pool) nounwind {
  %p = getelementptr i8, ptr %pool, i64 {NUMBER}
  %n = load i32, ptr %p
  %n1 = add i32 %n, 1
  %job = call i32 @llvm.umax.i32(i32 %n1, i32 1)
  store i32 %job, ptr %p
  ret i32 %job
}

; Write down a job: parts as equal as whole blocks allow, the first ones longer; of many blocks,
; multiples of 16.
define internal void @lay(ptr %pool, ptr %kernel, ptr %args, i64 %total, i64 %grain, i64 %parts,
    i32 %job) nounwind {
entry:
  %kernelp = getelementptr i8, ptr %pool, i64 {KERNEL}
  %argsp = getelementptr i8, ptr %pool, i64 {ARGS}
  %totalp = getelementptr i8, ptr %pool, i64 {TOTAL}
  %partsp = getelementptr i8, ptr %pool, i64 {PARTS}
  %shiftp = getelementptr i8, ptr %pool, i64 {SHIFT}
  %leastp = getelementptr i8, ptr %pool, i64 {LEAST}
  %pending = getelementptr i8, ptr %pool, i64 {PENDING}
  %less = sub i64 %total, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %less, i1 false)
  %bits = sub i64 64, %zeros
  %large = call i64 @llvm.umax.i64(i64 %bits, i64 15)
  %shift = sub i64 %large, 15
  %count0 = lshr i64 %less, %shift
  %count = add i64 %count0, 1
  %least0 = lshr i64 %grain, %shift
  %least = call i64 @llvm.umax.i64(i64 %least0, i64 1)
  store ptr %kernel, ptr %kernelp
  store ptr %args, ptr %argsp
  store i64 %total, ptr %totalp
  store i64 %parts, ptr %partsp
  store i64 %shift, ptr %shiftp
  store i64 %least, ptr %leastp
  %count32 = trunc i64 %count to i32
  store atomic i32 %count32, ptr %pending release, align 4
  %each = udiv i64 %count, %parts
  %over = urem i64 %count, %parts
  %tag0 = zext i32 %job to i64
  %tag = shl i64 %tag0, 32
  br label %next
next:
  %i = phi i64 [0, %entry], [%i1, %next]
  %begin = phi i64 [0, %entry], [%end, %next]
  %i1 = add i64 %i, 1
  %ends = mul i64 %each, %i1
  %extra = call i64 @llvm.umin.i64(i64 %i1, i64 %over)
  %end0 = add i64 %ends, %extra
  %end1 = call i64 @round(i64 %end0)
  %end = call i64 @llvm.umin.i64(i64 %end1, i64 %count)
  %at0 = mul i64 %i, {LINE}
  %at = add i64 %at0, {CALLER_LEFT}
  %leftp = getelementptr i8, ptr %pool, i64 %at
  %b = shl i64 %begin, 16
  %be = or i64 %b, %end
  %word = or i64 %tag, %be
  store atomic i64 %word, ptr %leftp release, align 8
  %more = icmp ult i64 %i1, %parts
  br i1 %more, label %next, label %done
done:
  ret void
}

; Share a job out to the threads of a pool, and join them.
define internal void @run_in_pool(ptr %pool, ptr %settings, ptr %kernel, ptr %args,
                                  i64 %total, i64 %word) nounwind {
entry:
  %some = icmp sgt i64 %total, 0
  br i1 %some, label %size, label %out
size:
  %grain = and i64 %word, {GRAIN_MASK}
  %g = call i64 @llvm.umax.i64(i64 %grain, i64 1)
  %half = lshr i64 %total, 1
  %small = icmp ult i64 %half, %g
  br i1 %small, label %serial, label %large
large:
  %threadsp = getelementptr i8, ptr %settings, i64 {THREADS}
  %threads = load atomic i64, ptr %threadsp monotonic, align 8
  %room = lshr i64 %word, {GRAIN_BITS}
  %bounded = icmp ne i64 %room, 0
  %fewer = call i64 @llvm.umin.i64(i64 %threads, i64 %room)
  %most = select i1 %bounded, i64 %fewer, i64 %threads
  %several = icmp ugt i64 %most, 1
  br i1 %several, label %lock, label %serial
serial:
  tail call void %kernel(ptr %args, i64 0, i64 %total, i64 0)
  ret void
lock:
  %x = cmpxchg ptr %pool, i32 0, i32 1 acquire monotonic
  %mine = extractvalue {i32, i1} %x, 1
  br i1 %mine, label %count, label %serial
count:
  %grains = udiv i64 %total, %g
  %parts0 = call i64 @llvm.umin.i64(i64 %most, i64 %grains)
  %want = sub i64 %parts0, 1
  %havep = getelementptr i8, ptr %pool, i64 {WORKERS}
  %have32 = load i32, ptr %havep
  %have = zext i32 %have32 to i64
  %few = icmp ult i64 %have, %want
  br i1 %few, label %hire, label %fork
hire:
  %all = sub i64 %threads, 1
  %now = call i64 @grow(ptr %pool, ptr %settings, i64 %all)
  %helpers0 = call i64 @llvm.umin.i64(i64 %now, i64 %want)
  %any = icmp ugt i64 %helpers0, 0
  br i1 %any, label %fork, label %alone
alone:
  store atomic i32 0, ptr %pool release, align 4
  br label %serial
fork:
  %helpers = phi i64 [%want, %count], [%helpers0, %hire]
  %parts = add i64 %helpers, 1
  %pinnedp = getelementptr i8, ptr %pool, i64 {PINNED}
  %pinned = load i32, ptr %pinnedp
  %placed = icmp ne i32 %pinned, 0
  br i1 %placed, label %locate, label %post
locate:
  %homep = getelementptr i8, ptr %pool, i64 {HOME}
  %home = load i32, ptr %homep
  %here = call i32 @sched_getcpu()
  %away = icmp ne i32 %home, %here
  br i1 %away, label %moved, label %post
moved:
  call void @follow(ptr %pool, i32 %here)
  br label %post
post:
  %spinp = getelementptr i8, ptr %pool, i64 {JOINER_SPIN}
  %pending = getelementptr i8, ptr %pool, i64 {PENDING}
  %dozing = getelementptr i8, ptr %pool, i64 {JOINER_ASLEEP}
  %job = call i32 @number(ptr %pool)
  call void @lay(ptr %pool, ptr %kernel, ptr %args, i64 %total, i64 %g, i64 %parts, i32 %job)
  call void @rouse(ptr %pool, i64 %helpers, i32 %job)
  call void @share(ptr %pool, i64 0, i32 %job)
  br label %linger
linger:
  %limit = load i64, ptr %spinp
  br label %join
join:
  %spun = phi i64 [0, %linger], [%spun1, %again]
  %left = load atomic i32, ptr %pending acquire, align 4
  %done = icmp eq i32 %left, 0
  br i1 %done, label %joined, label %again
again:
  {PAUSE}
  %spun1 = add i64 %spun, 1
  %more = icmp ult i64 %spun1, %limit
  br i1 %more, label %join, label %doze
doze:
  %x0 = atomicrmw xchg ptr %dozing, i32 1 seq_cst
  %left1 = load atomic i32, ptr %pending seq_cst, align 4
  %done1 = icmp eq i32 %left1, 0
  br i1 %done1, label %woken, label %sleep
sleep:
  call void @futex_wait(ptr %pending, i32 %left1)
  br label %doze
woken:
  store atomic i32 0, ptr %dozing seq_cst, align 4
  br label %joined
joined:
  store atomic i32 0, ptr %pool release, align 4
  br label %out
out:
  ret void
}

; Tell the workers to leave; how many have not left yet (0: all have, the state is as at first; -1:
; the pool is in use).
define internal i64 @stop_pool(ptr %pool) nounwind {
entry:
  %stopp = getelementptr i8, ptr %pool, i64 {STOP}
  %pending = getelementptr i8, ptr %pool, i64 {PENDING}
  %havep = getelementptr i8, ptr %pool, i64 {WORKERS}
  %x = cmpxchg ptr %pool, i32 0, i32 1 acquire monotonic
  %mine = extractvalue {i32, i1} %x, 1
  br i1 %mine, label %look, label %busy
busy:
  %stopping = load atomic i32, ptr %stopp acquire, align 4
  %ours = icmp ne i32 %stopping, 0
  br i1 %ours, label %check, label %used
used:
  ret i64 -1
look:
  %have = load i32, ptr %havep
  %none = icmp eq i32 %have, 0
  br i1 %none, label %clear, label %tell
tell:
  store atomic i32 1, ptr %stopp release, align 4
  store atomic i32 %have, ptr %pending release, align 4
  %n = zext i32 %have to i64
  %job = call i32 @number(ptr %pool)
  call void @rouse(ptr %pool, i64 %n, i32 %job)
  br label %check
check:
  %left = load atomic i32, ptr %pending acquire, align 4
  %gone = icmp eq i32 %left, 0
  br i1 %gone, label %clear, label %wait
wait:
  %l = zext i32 %left to i64
  ret i64 %l
clear:
  %rest = getelementptr i8, ptr %pool, i64 4
  %z = call ptr @memset(ptr %rest, i32 0, i64 {REST})
  store atomic i32 0, ptr %pool release, align 4
  ret i64 0
}
"""


_EAGER = """
@whet_pool = external global i8
@whet_settings = external global i8

define void @pool_run(ptr %kernel, ptr %args, i64 %total, i64 %word) nounwind {
  tail call void @run_in_pool(ptr @whet_pool, ptr @whet_settings, ptr %kernel, ptr %args,
                              i64 %total, i64 %word)
  ret void
}

define i64 @pool_stop() nounwind {
  %left = call i64 @stop_pool(ptr @whet_pool)
  ret i64 %left
}
"""


def source():
    """IR text that defines `pool_run`, and `pool_stop` where the pool has threads."""
    return several_pools(platform.machine(), MAX_THREADS) + _EAGER if SUPPORTED else _SERIAL


def several_pools(machine, most, detach=True):
    """IR text of pools of up to `most` threads for a kind of machine: `run_in_pool` and
    `stop_pool`, which are given the pool. The caller joins threads that are not detached."""
    words = {
        **vars(thread_pool_layout), "FUTEX": FUTEX[machine], "PAUSE": PAUSE[machine],
        "REST": state_bytes(most) - 4, "WORKER_SPIN_TIMES_64": 64 * WORKER_SPIN_NS,
        "JOINER_SPIN_TIMES_64": 64 * JOINER_SPIN_NS, "GRAIN_BITS": distribute_units.GRAIN_BITS,
        "GRAIN_MASK": distribute_units.grain(-1), "FIRST_THREAD": LINES + THREAD,
        "CALLER_LEFT": CALLER + LEFT,
        "DETACH": "%d = call i32 @pthread_detach(i64 %id)" if detach else ""}
    text = re.sub(r"\{([A-Z]\w+)\}", lambda m: str(words[m[1]]), thread_pool_workers.TEXT + _JOBS)
    foreign = "aarch64" if machine == "x86_64" else "x86"
    return "\n".join(line for line in text.splitlines()
                     if not line.startswith(f"declare void @llvm.{foreign}"))
