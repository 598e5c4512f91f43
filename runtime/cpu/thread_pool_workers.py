"""The machine code of a pool's threads: how they take work, wait for it, move between
processors, are started and woken. All functions are given the pool, so that there may be
several."""

TEXT = """
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
  %r = call i64 (i64, ...) @syscall(i64 {FUTEX}, ptr %word, i64 128, i32 %seen, ptr null, ptr null,
      i32 0)
  ret void
}

define internal void @futex_wake(ptr %word) nounwind {
  %r = call i64 (i64, ...) @syscall(i64 {FUTEX}, ptr %word, i64 129, i32 2147483647, ptr null,
      ptr null, i32 0)
  ret void
}

; Take blocks of job %job from a line: begin << 16 | end of them, or 0 where nothing is left. Half
; of what is left, or %least.
define internal i64 @take(ptr %pool, ptr %line, i32 %job, i1 %back) nounwind {
entry:
  %leftp = getelementptr i8, ptr %line, i64 {LEFT}
  %leastp = getelementptr i8, ptr %pool, i64 {LEAST}
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

; Do blocks of job %job until none is left, those of our own part first. The thread that
; does the last ones wakes the caller.
define internal void @share(ptr %pool, i64 %me, i32 %job) nounwind {
entry:
  %kernelp = getelementptr i8, ptr %pool, i64 {KERNEL}
  %argsp = getelementptr i8, ptr %pool, i64 {ARGS}
  %totalp = getelementptr i8, ptr %pool, i64 {TOTAL}
  %partsp = getelementptr i8, ptr %pool, i64 {PARTS}
  %shiftp = getelementptr i8, ptr %pool, i64 {SHIFT}
  %pending = getelementptr i8, ptr %pool, i64 {PENDING}
  %joiner = getelementptr i8, ptr %pool, i64 {JOINER_ASLEEP}
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
  %line = getelementptr i8, ptr %pool, i64 %at
  %back = icmp ne i64 %k, 0
  br label %ask
ask:
  ; The job may be over, and the next being prepared: nothing of it is read before some of it is
  ; ours.
  %got = call i64 @take(ptr %pool, ptr %line, i32 %job, i1 %back)
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
  %poolp = getelementptr i8, ptr %line, i64 {POOL}
  %pool = load ptr, ptr %poolp
  %asleep = getelementptr i8, ptr %line, i64 {ASLEEP}
  %stop = getelementptr i8, ptr %pool, i64 {STOP}
  %spins = getelementptr i8, ptr %pool, i64 {WORKER_SPIN}
  %pending = getelementptr i8, ptr %pool, i64 {PENDING}
  %lines = getelementptr i8, ptr %pool, i64 {LINES}
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
  ; Sleep is announced before the number is looked at again (by futex); the caller counts up before
  ; it looks for sleepers.
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
  call void @share(ptr %pool, i64 %me, i32 %now)
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

; How many times to pause for {WORKER_SPIN_NS} and {JOINER_SPIN_NS} ns: a pause takes 5 to 150
; cycles, and is timed four times for the least.
define internal void @calibrate(ptr %pool) nounwind {
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
  %wp = getelementptr i8, ptr %pool, i64 {WORKER_SPIN}
  %jp = getelementptr i8, ptr %pool, i64 {JOINER_SPIN}
  store i64 %w, ptr %wp
  store i64 %j, ptr %jp
  ret void
}

; The processors that workers may use: the caller's less the one it is on. Null where that is not to
; be had.
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

; The caller has moved to processor %here: send the workers away from it, unless they moved just
; now.
define internal void @follow(ptr %pool, i32 %here) nounwind noinline {
entry:
  %cpus = alloca [1024 x i8], align 16
  %movedp = getelementptr i8, ptr %pool, i64 {MOVED}
  %homep = getelementptr i8, ptr %pool, i64 {HOME}
  %havep = getelementptr i8, ptr %pool, i64 {WORKERS}
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
  %idp = getelementptr i8, ptr %pool, i64 %at
  %id = load i64, ptr %idp
  %m = call i32 @pthread_setaffinity_np(i64 %id, i64 1024, ptr %cpus)
  %i1 = add i64 %i, 1
  br label %next
out:
  ret void
}

; Start workers until there are %want, or the system refuses; how many there are. Called by the
; owner of the busy word.
define internal i64 @grow(ptr %pool, ptr %settings, i64 %want) nounwind noinline {
entry:
  %cpus = alloca [1024 x i8], align 16
  %all = alloca [128 x i8], align 16
  %old = alloca [128 x i8], align 16
  %thread = alloca i64
  %havep = getelementptr i8, ptr %pool, i64 {WORKERS}
  %refusedp = getelementptr i8, ptr %pool, i64 {REFUSED}
  %wp = getelementptr i8, ptr %pool, i64 {WORKER_SPIN}
  %jp = getelementptr i8, ptr %pool, i64 {JOINER_SPIN}
  %calibratedp = getelementptr i8, ptr %pool, i64 {CALIBRATED}
  %pinnedp = getelementptr i8, ptr %pool, i64 {PINNED}
  %homep = getelementptr i8, ptr %pool, i64 {HOME}
  %movedp = getelementptr i8, ptr %pool, i64 {MOVED}
  %freep = getelementptr i8, ptr %settings, i64 {CPUS}
  %have32 = load i32, ptr %havep
  %have = zext i32 %have32 to i64
  %refused = load i32, ptr %refusedp
  %no = icmp ne i32 %refused, 0
  br i1 %no, label %out, label %look
look:
  %free = load i64, ptr %freep
  %fits = icmp ult i64 %want, %free
  br i1 %fits, label %pace, label %crowd
; more threads than processors: whoever waits must not hold one
crowd:
  store i64 0, ptr %wp
  store i64 0, ptr %jp
  br label %affinity
pace:
  %calibrated = load i32, ptr %calibratedp
  %paced = icmp ne i32 %calibrated, 0
  br i1 %paced, label %affinity, label %measure
measure:
  call void @calibrate(ptr %pool)
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
  %line = getelementptr i8, ptr %pool, i64 %at
  %poolp = getelementptr i8, ptr %line, i64 {POOL}
  store ptr %pool, ptr %poolp
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
  {DETACH}
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
define internal void @rouse(ptr %pool, i64 %n, i32 %job) nounwind {
entry:
  %end0 = mul i64 %n, {LINE}
  %end = add i64 %end0, {LINES}
  br label %post
post:
  %p = phi i64 [{LINES}, %entry], [%p1, %post]
  %line = getelementptr i8, ptr %pool, i64 %p
  store atomic i32 %job, ptr %line release, align 4
  %p1 = add i64 %p, {LINE}
  %more = icmp ult i64 %p1, %end
  br i1 %more, label %post, label %posted
posted:
  fence seq_cst
  br label %look
look:
  %q = phi i64 [{LINES}, %posted], [%q1, %next]
  %line2 = getelementptr i8, ptr %pool, i64 %q
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

"""
