"""The thread pool: fork-join over parts that threads take from each other, in machine code from end to end.

`pool_run(kernel, args, total, grain)` cuts 0..total into one contiguous part per thread, the first for the caller; `grain` may bound how
many take part (passes/lower_llvm/calls/share_out.py). Workers spin for a while, then sleep on a futex; they touch no Python. Where the pool is in
use already (a nested call, another Python thread) or has one thread, the caller runs everything: a kernel's bits do not depend on the
partition.

A thread takes half of what is left of its part each time, from the front, but no less than the grain; when nothing is left, it takes
half of what is left of another's, from the back. So a processor that is slower than others, or shared with somebody, does less, and a
worker that does not get one, or needs long to wake up, costs no more than its help. Workers keep off the caller's processor, and move
when the caller does: the scheduler would leave them waiting behind it for milliseconds.

What is left of a part is one word, (number of the job, begin, end), which only a compare-and-swap shortens: who comes late, for a job
that is over, finds another number there.

The state lies in memory that a fork leaves zeroed in the child, where no workers exist: its first use starts new ones.
"""
import atexit
import ctypes as C
import functools
import os
import platform
import re
import sys
import time

from whet.passes.lower_llvm.calls import share_out

from . import flat

MAX_THREADS = 1024
WORKER_SPIN_NS, JOINER_SPIN_NS = 150_000, 30_000
MOVE_NS = 5_000_000                      # workers move at most this often
_FUTEX = {"x86_64": 202, "aarch64": 98}
_PAUSE = {"x86_64": "call void @llvm.x86.sse2.pause()", "aarch64": "call void @llvm.aarch64.hint(i32 1)"}
SUPPORTED = sys.platform == "linux" and platform.machine() in _FUTEX

# Byte offsets in the state.
BUSY, WORKERS, REFUSED, STOP, CALIBRATED, PINNED, HOME, MOVED = 0, 4, 8, 12, 16, 20, 24, 32
PENDING, JOINER_ASLEEP = 64, 68          # the first: blocks that are not done
# Units go in blocks of 2 ** SHIFT, of which there are 2 ** 15 at most; whoever takes some takes LEAST, or all that are left.
KERNEL, ARGS, TOTAL, PARTS, SHIFT, LEAST, NUMBER = 128, 136, 144, 152, 160, 168, 176
WORKER_SPIN, JOINER_SPIN = 192, 200
# A thread's line (the caller's, then the workers'): the number of the last job it was offered (a futex), whether it sleeps, what is
# left of its part of the job, and the thread.
CALLER, LINES, LINE = 256, 384, 128
JOB, ASLEEP, LEFT, THREAD = 0, 4, 8, 16
STATE_BYTES = LINES + LINE * MAX_THREADS
# Byte offsets in the settings, which a child keeps.
THREADS, CPUS = 0, 8

_threads = None
_stop = None
on_change: list = []                     # told when the number of threads changes: what was cut for the old one is dropped

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

_PARALLEL = """
@whet_pool = external global i8
@whet_settings = external global i8
declare i64 @syscall(i64, ...)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @pthread_setaffinity_np(i64, i64, ptr)
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_getcpu()
declare i32 @clock_gettime(i32, ptr)
declare ptr @memset(ptr, i32, i64)
declare void @llvm.x86.sse2.pause()
declare void @llvm.aarch64.hint(i32)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
declare i32 @llvm.umax.i32(i32, i32)
declare i64 @llvm.ctlz.i64(i64, i1)

define internal void @futex_wait(ptr %word, i32 %seen) nounwind {
  %r = call i64 (i64, ...) @syscall(i64 {FUTEX}, ptr %word, i64 128, i32 %seen, ptr null, ptr null, i32 0)
  ret void
}

define internal void @futex_wake(ptr %word) nounwind {
  %r = call i64 (i64, ...) @syscall(i64 {FUTEX}, ptr %word, i64 129, i32 2147483647, ptr null, ptr null, i32 0)
  ret void
}

; Take blocks of job %job from a line: begin << 16 | end of them, or 0 where nothing is left. Half of what is left, or %least.
define internal i64 @take(ptr %line, i32 %job, i1 %back) nounwind {
entry:
  %leftp = getelementptr i8, ptr %line, i64 {LEFT}
  %leastp = getelementptr i8, ptr @whet_pool, i64 {LEAST}
  br label %try
try:
  %word = load atomic i64, ptr %leftp acquire, align 8
  %tag64 = lshr i64 %word, 32
  %tag = trunc i64 %tag64 to i32
  %known = icmp eq i32 %tag, %job
  %begin0 = lshr i64 %word, 16
  %begin = and i64 %begin0, 65535
  %end = and i64 %word, 65535
  %n = sub i64 %end, %begin
  %some = icmp ult i64 %begin, %end
  %ours = and i1 %known, %some
  br i1 %ours, label %size, label %none
none:
  ret i64 0
size:
  %least = load i64, ptr %leastp
  %twice = shl i64 %least, 1
  %few = icmp ult i64 %n, %twice
  %n1 = add i64 %n, 1
  %half = lshr i64 %n1, 1
  %even = call i64 @round(i64 %half)
  %count = select i1 %few, i64 %n, i64 %even
  %begin1 = add i64 %begin, %count
  %end1 = sub i64 %end, %count
  %new_begin = select i1 %back, i64 %begin, i64 %begin1
  %new_end = select i1 %back, i64 %end1, i64 %end
  %got_begin = select i1 %back, i64 %end1, i64 %begin
  %got_end = select i1 %back, i64 %end, i64 %begin1
  %high = shl i64 %tag64, 32
  %middle = shl i64 %new_begin, 16
  %both = or i64 %middle, %new_end
  %new = or i64 %high, %both
  %x = cmpxchg ptr %leftp, i64 %word, i64 %new acq_rel monotonic
  %mine = extractvalue {i64, i1} %x, 1
  br i1 %mine, label %taken, label %try
taken:
  %got0 = shl i64 %got_begin, 16
  %got = or i64 %got0, %got_end
  ret i64 %got
}

; Many blocks as a multiple of 16, so that what begins behind them lies as the first does.
define internal i64 @round(i64 %n) nounwind {
  %many = icmp uge i64 %n, 512
  %n15 = add i64 %n, 15
  %up = and i64 %n15, -16
  %r = select i1 %many, i64 %up, i64 %n
  ret i64 %r
}

; Do blocks of job %job until none is left, those of our own part first. Who does the last ones wakes the caller.
define internal void @share(i64 %me, i32 %job) nounwind {
entry:
  %kernelp = getelementptr i8, ptr @whet_pool, i64 {KERNEL}
  %argsp = getelementptr i8, ptr @whet_pool, i64 {ARGS}
  %totalp = getelementptr i8, ptr @whet_pool, i64 {TOTAL}
  %partsp = getelementptr i8, ptr @whet_pool, i64 {PARTS}
  %shiftp = getelementptr i8, ptr @whet_pool, i64 {SHIFT}
  %pending = getelementptr i8, ptr @whet_pool, i64 {PENDING}
  %joiner = getelementptr i8, ptr @whet_pool, i64 {JOINER_ASLEEP}
  br label %next
next:
  %k = phi i64 [0, %entry], [%k1, %on]
  %parts = load i64, ptr %partsp
  %more = icmp ult i64 %k, %parts
  br i1 %more, label %look, label %out
look:
  %t0 = add i64 %me, %k
  %over = icmp uge i64 %t0, %parts
  %t1 = sub i64 %t0, %parts
  %t = select i1 %over, i64 %t1, i64 %t0
  %at0 = mul i64 %t, {LINE}
  %at = add i64 %at0, {CALLER}
  %line = getelementptr i8, ptr @whet_pool, i64 %at
  %back = icmp ne i64 %k, 0
  br label %ask
ask:
  ; The job may be over, and the next being prepared: nothing of it is read before some of it is ours.
  %got = call i64 @take(ptr %line, i32 %job, i1 %back)
  %none = icmp eq i64 %got, 0
  br i1 %none, label %on, label %work
work:
  %first = lshr i64 %got, 16
  %last = and i64 %got, 65535
  %kernel = load ptr, ptr %kernelp
  %args = load ptr, ptr %argsp
  %total = load i64, ptr %totalp
  %shift = load i64, ptr %shiftp
  %begin = shl i64 %first, %shift
  %end0 = shl i64 %last, %shift
  %end = call i64 @llvm.umin.i64(i64 %end0, i64 %total)
  call void %kernel(ptr %args, i64 %begin, i64 %end, i64 %me)
  %done = sub i64 %last, %first
  %done32 = trunc i64 %done to i32
  %left = atomicrmw sub ptr %pending, i32 %done32 seq_cst
  %all = icmp eq i32 %left, %done32
  br i1 %all, label %tell, label %ask
on:
  %k1 = add i64 %k, 1
  br label %next
tell:
  %ja = load atomic i32, ptr %joiner seq_cst, align 4
  %dozing = icmp ne i32 %ja, 0
  br i1 %dozing, label %wake, label %out
wake:
  call void @futex_wake(ptr %pending)
  br label %out
out:
  ret void
}

define internal ptr @worker(ptr %line) nounwind {
entry:
  %asleep = getelementptr i8, ptr %line, i64 {ASLEEP}
  %stop = getelementptr i8, ptr @whet_pool, i64 {STOP}
  %spins = getelementptr i8, ptr @whet_pool, i64 {WORKER_SPIN}
  %pending = getelementptr i8, ptr @whet_pool, i64 {PENDING}
  %lines = getelementptr i8, ptr @whet_pool, i64 {LINES}
  %a0 = ptrtoint ptr %lines to i64
  %a1 = ptrtoint ptr %line to i64
  %a2 = sub i64 %a1, %a0
  %k = udiv i64 %a2, {LINE}
  %me = add i64 %k, 1
  br label %wait
wait:
  %seen = phi i32 [0, %entry], [%now, %ask]
  %limit = load i64, ptr %spins
  br label %poll
poll:
  %spun = phi i64 [0, %wait], [%spun1, %again]
  %now0 = load atomic i32, ptr %line acquire, align 4
  %new = icmp ne i32 %now0, %seen
  br i1 %new, label %go, label %again
again:
  {PAUSE}
  %spun1 = add i64 %spun, 1
  %more = icmp ult i64 %spun1, %limit
  br i1 %more, label %poll, label %sleep
sleep:
  ; Sleep is announced before the number is looked at again (by futex); the caller counts up before it looks for sleepers.
  %x0 = atomicrmw xchg ptr %asleep, i32 1 seq_cst
  call void @futex_wait(ptr %line, i32 %seen)
  %x1 = atomicrmw xchg ptr %asleep, i32 0 seq_cst
  %now1 = load atomic i32, ptr %line acquire, align 4
  %still = icmp eq i32 %now1, %seen
  br i1 %still, label %sleep, label %go
go:
  %now = phi i32 [%now0, %poll], [%now1, %sleep]
  %stopping = load atomic i32, ptr %stop acquire, align 4
  %leave = icmp ne i32 %stopping, 0
  br i1 %leave, label %end, label %ask
ask:
  call void @share(i64 %me, i32 %now)
  br label %wait
end:
  %l = atomicrmw sub ptr %pending, i32 1 seq_cst
  ret ptr null
}

define internal i64 @now() nounwind {
  %t = alloca [2 x i64], align 16
  %c = call i32 @clock_gettime(i32 1, ptr %t)
  %s = load i64, ptr %t
  %np = getelementptr i8, ptr %t, i64 8
  %n = load i64, ptr %np
  %ns = mul i64 %s, 1000000000
  %r = add i64 %ns, %n
  ret i64 %r
}

; How many times to pause for {WORKER_SPIN_NS} and {JOINER_SPIN_NS} ns: a pause takes 5 to 150 cycles, and is timed four times
; for the least.
define internal void @calibrate() nounwind {
entry:
  br label %round
round:
  %r = phi i64 [0, %entry], [%r1, %timed]
  %best = phi i64 [1000000, %entry], [%best1, %timed]
  %t0 = call i64 @now()
  br label %spin
spin:
  %k = phi i64 [0, %round], [%k1, %spin]
  {PAUSE}
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, 64
  br i1 %more, label %spin, label %timed
timed:
  %t1 = call i64 @now()
  %d = sub i64 %t1, %t0
  %ns = add i64 %d, 1
  %best1 = call i64 @llvm.umin.i64(i64 %best, i64 %ns)
  %r1 = add i64 %r, 1
  %again = icmp ult i64 %r1, 4
  br i1 %again, label %round, label %done
done:
  %w = udiv i64 {WORKER_SPIN_TIMES_64}, %best1
  %j = udiv i64 {JOINER_SPIN_TIMES_64}, %best1
  %wp = getelementptr i8, ptr @whet_pool, i64 {WORKER_SPIN}
  %jp = getelementptr i8, ptr @whet_pool, i64 {JOINER_SPIN}
  store i64 %w, ptr %wp
  store i64 %j, ptr %jp
  ret void
}

; The processors that workers may use: the caller's less the one it is on. Null where that is not to be had.
define internal ptr @elsewhere(ptr %cpus, i32 %here) nounwind {
entry:
  %z0 = call ptr @memset(ptr %cpus, i32 0, i64 1024)
  %got = call i32 @sched_getaffinity(i32 0, i64 1024, ptr %cpus)
  %ok0 = icmp sge i32 %got, 0
  %ok1 = icmp ult i32 %here, 8192
  %ok = and i1 %ok0, %ok1
  br i1 %ok, label %mask, label %none
none:
  ret ptr null
mask:
  %bit = and i32 %here, 7
  %one = shl i32 1, %bit
  %byte32 = lshr i32 %here, 3
  %byte = zext i32 %byte32 to i64
  %bytep = getelementptr i8, ptr %cpus, i64 %byte
  %bits = load i8, ptr %bytep
  %one8 = trunc i32 %one to i8
  %rest = xor i8 %one8, -1
  %kept = and i8 %bits, %rest
  store i8 %kept, ptr %bytep
  ret ptr %cpus
}

; The caller has moved to processor %here: send the workers away from it, unless they moved just now.
define internal void @follow(i32 %here) nounwind noinline {
entry:
  %cpus = alloca [1024 x i8], align 16
  %movedp = getelementptr i8, ptr @whet_pool, i64 {MOVED}
  %homep = getelementptr i8, ptr @whet_pool, i64 {HOME}
  %havep = getelementptr i8, ptr @whet_pool, i64 {WORKERS}
  %last = load i64, ptr %movedp
  %now = call i64 @now()
  %since = sub i64 %now, %last
  %due = icmp ugt i64 %since, {MOVE_NS}
  br i1 %due, label %look, label %out
look:
  store i64 %now, ptr %movedp
  %mask = call ptr @elsewhere(ptr %cpus, i32 %here)
  %no = icmp eq ptr %mask, null
  br i1 %no, label %out, label %go
go:
  store i32 %here, ptr %homep
  %have = load i32, ptr %havep
  %n = zext i32 %have to i64
  br label %next
next:
  %i = phi i64 [0, %go], [%i1, %move]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %move, label %out
move:
  %at0 = mul i64 %i, {LINE}
  %at = add i64 %at0, {FIRST_THREAD}
  %idp = getelementptr i8, ptr @whet_pool, i64 %at
  %id = load i64, ptr %idp
  %m = call i32 @pthread_setaffinity_np(i64 %id, i64 1024, ptr %cpus)
  %i1 = add i64 %i, 1
  br label %next
out:
  ret void
}

; Start workers until there are %want, or the system refuses; how many there are. Called by the owner of the busy word.
define internal i64 @grow(i64 %want) nounwind noinline {
entry:
  %cpus = alloca [1024 x i8], align 16
  %all = alloca [128 x i8], align 16
  %old = alloca [128 x i8], align 16
  %thread = alloca i64
  %havep = getelementptr i8, ptr @whet_pool, i64 {WORKERS}
  %refusedp = getelementptr i8, ptr @whet_pool, i64 {REFUSED}
  %wp = getelementptr i8, ptr @whet_pool, i64 {WORKER_SPIN}
  %jp = getelementptr i8, ptr @whet_pool, i64 {JOINER_SPIN}
  %calibratedp = getelementptr i8, ptr @whet_pool, i64 {CALIBRATED}
  %pinnedp = getelementptr i8, ptr @whet_pool, i64 {PINNED}
  %homep = getelementptr i8, ptr @whet_pool, i64 {HOME}
  %movedp = getelementptr i8, ptr @whet_pool, i64 {MOVED}
  %freep = getelementptr i8, ptr @whet_settings, i64 {CPUS}
  %have32 = load i32, ptr %havep
  %have = zext i32 %have32 to i64
  %refused = load i32, ptr %refusedp
  %no = icmp ne i32 %refused, 0
  br i1 %no, label %out, label %look
look:
  %free = load i64, ptr %freep
  %fits = icmp ult i64 %want, %free
  br i1 %fits, label %pace, label %crowd
crowd:                                       ; more threads than processors: whoever waits must not hold one
  store i64 0, ptr %wp
  store i64 0, ptr %jp
  br label %affinity
pace:
  %calibrated = load i32, ptr %calibratedp
  %paced = icmp ne i32 %calibrated, 0
  br i1 %paced, label %affinity, label %measure
measure:
  call void @calibrate()
  store i32 1, ptr %calibratedp
  br label %affinity
affinity:
  %here = call i32 @sched_getcpu()
  %where = call ptr @elsewhere(ptr %cpus, i32 %here)
  %known = icmp ne ptr %where, null
  %pin = and i1 %known, %fits
  %pin32 = zext i1 %pin to i32
  %now = call i64 @now()
  store i32 %pin32, ptr %pinnedp
  store i32 %here, ptr %homep
  store i64 %now, ptr %movedp
  br label %signals
signals:                                     ; signals are for Python's threads
  %z1 = call ptr @memset(ptr %all, i32 255, i64 128)
  %m0 = call i32 @pthread_sigmask(i32 2, ptr %all, ptr %old)
  br label %next
next:
  %n = phi i64 [%have, %signals], [%n1, %started]
  %enough = icmp uge i64 %n, %want
  br i1 %enough, label %restore, label %start
start:
  %at0 = mul i64 %n, {LINE}
  %at = add i64 %at0, {LINES}
  %line = getelementptr i8, ptr @whet_pool, i64 %at
  %failed = call i32 @pthread_create(ptr %thread, ptr null, ptr @worker, ptr %line)
  %bad = icmp ne i32 %failed, 0
  br i1 %bad, label %refuse, label %created
created:
  %id = load i64, ptr %thread
  %idp = getelementptr i8, ptr %line, i64 {THREAD}
  store i64 %id, ptr %idp
  br i1 %pin, label %place, label %started
place:
  %m1 = call i32 @pthread_setaffinity_np(i64 %id, i64 1024, ptr %cpus)
  br label %started
started:
  %d = call i32 @pthread_detach(i64 %id)
  %n1 = add i64 %n, 1
  br label %next
refuse:
  store i32 1, ptr %refusedp
  br label %restore
restore:
  %count = phi i64 [%n, %next], [%n, %refuse]
  %m2 = call i32 @pthread_sigmask(i32 2, ptr %old, ptr null)
  %count32 = trunc i64 %count to i32
  store i32 %count32, ptr %havep
  br label %out
out:
  %r = phi i64 [%have, %entry], [%count, %restore]
  ret i64 %r
}

; Offer workers 0..%n-1 the job of this number, and wake those that sleep.
define internal void @rouse(i64 %n, i32 %job) nounwind {
entry:
  %end0 = mul i64 %n, {LINE}
  %end = add i64 %end0, {LINES}
  br label %post
post:
  %p = phi i64 [{LINES}, %entry], [%p1, %post]
  %line = getelementptr i8, ptr @whet_pool, i64 %p
  store atomic i32 %job, ptr %line release, align 4
  %p1 = add i64 %p, {LINE}
  %more = icmp ult i64 %p1, %end
  br i1 %more, label %post, label %posted
posted:
  fence seq_cst
  br label %look
look:
  %q = phi i64 [{LINES}, %posted], [%q1, %next]
  %line2 = getelementptr i8, ptr @whet_pool, i64 %q
  %asleepp = getelementptr i8, ptr %line2, i64 {ASLEEP}
  %a = load atomic i32, ptr %asleepp seq_cst, align 4
  %asleep = icmp ne i32 %a, 0
  br i1 %asleep, label %wake, label %next
wake:
  call void @futex_wake(ptr %line2)
  br label %next
next:
  %q1 = add i64 %q, {LINE}
  %more2 = icmp ult i64 %q1, %end
  br i1 %more2, label %look, label %done
done:
  ret void
}

; The number of the next job; never 0, which a worker that is new has seen.
define internal i32 @number() nounwind {
  %p = getelementptr i8, ptr @whet_pool, i64 {NUMBER}
  %n = load i32, ptr %p
  %n1 = add i32 %n, 1
  %job = call i32 @llvm.umax.i32(i32 %n1, i32 1)
  store i32 %job, ptr %p
  ret i32 %job
}

; Write down a job: parts as equal as whole blocks allow, the first ones longer; of many blocks, multiples of 16.
define internal void @lay(ptr %kernel, ptr %args, i64 %total, i64 %grain, i64 %parts, i32 %job) nounwind {
entry:
  %kernelp = getelementptr i8, ptr @whet_pool, i64 {KERNEL}
  %argsp = getelementptr i8, ptr @whet_pool, i64 {ARGS}
  %totalp = getelementptr i8, ptr @whet_pool, i64 {TOTAL}
  %partsp = getelementptr i8, ptr @whet_pool, i64 {PARTS}
  %shiftp = getelementptr i8, ptr @whet_pool, i64 {SHIFT}
  %leastp = getelementptr i8, ptr @whet_pool, i64 {LEAST}
  %pending = getelementptr i8, ptr @whet_pool, i64 {PENDING}
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
  %leftp = getelementptr i8, ptr @whet_pool, i64 %at
  %b = shl i64 %begin, 16
  %be = or i64 %b, %end
  %word = or i64 %tag, %be
  store atomic i64 %word, ptr %leftp release, align 8
  %more = icmp ult i64 %i1, %parts
  br i1 %more, label %next, label %done
done:
  ret void
}

define void @pool_run(ptr %kernel, ptr %args, i64 %total, i64 %word) nounwind {
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
  %threadsp = getelementptr i8, ptr @whet_settings, i64 {THREADS}
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
  %x = cmpxchg ptr @whet_pool, i32 0, i32 1 acquire monotonic
  %mine = extractvalue {i32, i1} %x, 1
  br i1 %mine, label %count, label %serial
count:
  %grains = udiv i64 %total, %g
  %parts0 = call i64 @llvm.umin.i64(i64 %most, i64 %grains)
  %want = sub i64 %parts0, 1
  %havep = getelementptr i8, ptr @whet_pool, i64 {WORKERS}
  %have32 = load i32, ptr %havep
  %have = zext i32 %have32 to i64
  %few = icmp ult i64 %have, %want
  br i1 %few, label %hire, label %fork
hire:
  %all = sub i64 %threads, 1
  %now = call i64 @grow(i64 %all)
  %helpers0 = call i64 @llvm.umin.i64(i64 %now, i64 %want)
  %any = icmp ugt i64 %helpers0, 0
  br i1 %any, label %fork, label %alone
alone:
  store atomic i32 0, ptr @whet_pool release, align 4
  br label %serial
fork:
  %helpers = phi i64 [%want, %count], [%helpers0, %hire]
  %parts = add i64 %helpers, 1
  %pinnedp = getelementptr i8, ptr @whet_pool, i64 {PINNED}
  %pinned = load i32, ptr %pinnedp
  %placed = icmp ne i32 %pinned, 0
  br i1 %placed, label %locate, label %post
locate:
  %homep = getelementptr i8, ptr @whet_pool, i64 {HOME}
  %home = load i32, ptr %homep
  %here = call i32 @sched_getcpu()
  %away = icmp ne i32 %home, %here
  br i1 %away, label %moved, label %post
moved:
  call void @follow(i32 %here)
  br label %post
post:
  %spinp = getelementptr i8, ptr @whet_pool, i64 {JOINER_SPIN}
  %pending = getelementptr i8, ptr @whet_pool, i64 {PENDING}
  %dozing = getelementptr i8, ptr @whet_pool, i64 {JOINER_ASLEEP}
  %job = call i32 @number()
  call void @lay(ptr %kernel, ptr %args, i64 %total, i64 %g, i64 %parts, i32 %job)
  call void @rouse(i64 %helpers, i32 %job)
  call void @share(i64 0, i32 %job)
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
  store atomic i32 0, ptr @whet_pool release, align 4
  br label %out
out:
  ret void
}

; Tell the workers to leave; how many have not left yet (0: all have, the state is as at first; -1: the pool is in use).
define i64 @pool_stop() nounwind {
entry:
  %stopp = getelementptr i8, ptr @whet_pool, i64 {STOP}
  %pending = getelementptr i8, ptr @whet_pool, i64 {PENDING}
  %havep = getelementptr i8, ptr @whet_pool, i64 {WORKERS}
  %x = cmpxchg ptr @whet_pool, i32 0, i32 1 acquire monotonic
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
  %job = call i32 @number()
  call void @rouse(i64 %n, i32 %job)
  br label %check
check:
  %left = load atomic i32, ptr %pending acquire, align 4
  %gone = icmp eq i32 %left, 0
  br i1 %gone, label %clear, label %wait
wait:
  %l = zext i32 %left to i64
  ret i64 %l
clear:
  %rest = getelementptr i8, ptr @whet_pool, i64 4
  %z = call ptr @memset(ptr %rest, i32 0, i64 {REST})
  store atomic i32 0, ptr @whet_pool release, align 4
  ret i64 0
}
"""


NAMES = ["pool_run", "pool_stop"] if SUPPORTED else ["pool_run"]


def source():
    """IR text that defines `pool_run`, and `pool_stop` where the pool has threads."""
    if not SUPPORTED:
        return _SERIAL
    words = {**globals(), "FUTEX": _FUTEX[platform.machine()], "PAUSE": _PAUSE[platform.machine()], "REST": STATE_BYTES - 4,
             "WORKER_SPIN_TIMES_64": 64 * WORKER_SPIN_NS, "JOINER_SPIN_TIMES_64": 64 * JOINER_SPIN_NS,
             "GRAIN_BITS": share_out.GRAIN_BITS, "GRAIN_MASK": share_out.grain(-1), "FIRST_THREAD": LINES + THREAD, "CALLER_LEFT": CALLER + LEFT}
    text = re.sub(r"\{([A-Z]\w+)\}", lambda m: str(words[m[1]]), _PARALLEL)
    foreign = "aarch64" if platform.machine() == "x86_64" else "x86"
    return "\n".join(line for line in text.splitlines() if not line.startswith(f"declare void @llvm.{foreign}"))


@functools.lru_cache(None)
def state():
    """Addresses of the pool's own memory, by the names that its code uses."""
    settings, pool = flat.reserve(4096), flat.reserve(STATE_BYTES)
    if not flat.wipe_on_fork(pool, STATE_BYTES):
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
        stop()                           # where workers run and how long they wait depends on how many they are
        for f in on_change:
            f()
    _threads = n
    if SUPPORTED:
        settings = state()["whet_settings"]
        C.c_int64.from_address(settings + CPUS).value = affinity()
        C.c_int64.from_address(settings + THREADS).value = _threads


def get_num_threads():
    """How many threads a launch may use."""
    if _threads is None:
        set_num_threads(default_threads())
    return _threads


def affinity():
    """The number of processors this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def control_group(controller, old, new, root="/"):
    """The words in the files of this process's control group and of its parents, whose limits hold too: `old` are the names of the
    files in version 1, which has a tree for each controller, `new` those in version 2, which has one tree."""
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
        tree, files = ("sys/fs/cgroup/" + controller, old) if controllers else ("sys/fs/cgroup", new)
        parts = path.strip("/").split("/")
        for depth in range(len(parts), -1, -1):
            words = [word for file in files for word in read(tree, *parts[:depth], file)]
            if words:
                yield words


def quota(root="/"):
    """Processors that the control group grants, rounded up; None where there is no limit."""
    found = control_group("cpu", ["cpu.cfs_quota_us", "cpu.cfs_period_us"], ["cpu.max"], root)
    limits = [-(-int(words[0]) // int(words[1])) for words in found if len(words) == 2 and words[0].isdigit() and int(words[1])]
    return max(1, min(limits)) if limits else None


def default_threads():
    """The least of what affinity, the control group and OMP_NUM_THREADS allow."""
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return min([affinity(), quota() or MAX_THREADS, *([int(asked)] if asked.isdigit() and int(asked) else []), MAX_THREADS])


def started(pool_stop):
    """The native code is loaded; its `pool_stop` is at this address."""
    global _stop
    _stop = C.CFUNCTYPE(C.c_int64)(pool_stop)
    atexit.register(stop)


def stop(seconds=1.0):
    """Send the workers home; the next launch that wants them starts new ones. While another thread's launch runs they stay."""
    limit = time.monotonic() + seconds
    while _stop is not None and _stop() > 0 and time.monotonic() < limit:
        time.sleep(0.0001)
