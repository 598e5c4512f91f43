"""Locks that a call takes: a replay takes them as well, and another thread sees that."""
import threading

from whet import nn

from tests.traps.harness import Box, ramp, trap


@trap
def a_counter_under_a_lock():
    """with self.lock, with an RLock inside of it, and by acquire and release."""
    class Step:
        def __init__(self):
            self.lock, self.inner, self.n, self.model = threading.Lock(), threading.RLock(), 0, None
        def __call__(self, x):
            with self.lock:
                self.n += 1
                with self.inner:
                    y = x * self.n
            self.lock.acquire()
            try:
                return y + self.lock.locked()
            finally:
                self.lock.release()
    step = Step()
    def calls(f):
        for _ in range(5):
            yield f(ramp(2)), step.n, step.lock.locked()
        step.lock = threading.Lock()
        for _ in range(4):
            yield f(ramp(2)), step.n, step.lock.locked()
        step.inner.acquire()
        for _ in range(4):
            yield f(ramp(2)), step.n, step.lock.locked()
        step.inner.release()
        for _ in range(4):
            yield f(ramp(2)), step.n, step.lock.locked()
    return step, calls


@trap
def a_lock_that_the_caller_holds():
    """It is asked whether it is free, tried, or taken by a thread that waits for it to be held."""
    class Guarded:
        lock, other = threading.Lock(), threading.RLock()
    guarded, box, lock, other = Guarded(), Box(n=1.0), Guarded.lock, Guarded.other
    def f(x):
        got = guarded.lock.acquire(blocking=False)
        y = x * (2 if got else 3) * box.n
        if got:
            guarded.lock.release()
        with guarded.other:
            return y, guarded.lock.locked(), str(guarded.other).split()[0]
    def calls(f):
        for held in (False, False, False, True, True, False, True, False):
            if held:
                lock.acquire()
                other.acquire()
            yield f(ramp(3)), lock.locked()
            if held:
                lock.release()
                other.release()
            box.n += held
    return f, calls


@trap
def a_lock_that_is_left_taken():
    """Taken by one call and given back by the next, or by the caller."""
    lock = threading.Lock()
    def f(x):
        if lock.locked():
            lock.release()
            return x - 1
        lock.acquire()
        return x + 1
    def calls(f):
        for _ in range(8):
            yield f(ramp(3)), lock.locked()
        if lock.locked():
            lock.release()
        for _ in range(3):
            yield f(ramp(3)), lock.locked()
            lock.release()
    return f, calls


@trap
def a_lock_that_nothing_reads():
    """The caller holds it while it calls; the step only shares an object with it."""
    class Trainer:
        def __init__(self):
            self.lock, self.model, self.n = threading.Lock(), nn.Linear(2, 2), 0
        def step(self, x):
            self.n += 1
            return self.model(x) * self.n
        def locked_step(self, f, x):
            with self.lock:
                return f(x)
    trainer = Trainer()
    def calls(f):
        for _ in range(6):
            yield trainer.locked_step(f, ramp(2, 2)), trainer.n, trainer.lock.locked()
    return trainer.step, calls


@trap
def locks_in_containers_and_by_names():
    """A list of locks, one in a dict, one as a default, one by a made name, one of a class."""
    class Guarded:
        lock_a = threading.Lock()
        def __init__(self): self.lock_b, self.all = threading.RLock(), [threading.Lock()]
        def under(self, name, x):
            with getattr(self, f"lock_{name}"), self.all[0]:
                return x * len(self.all)
    guarded, locks = Guarded(), {"one": threading.Lock()}
    box = Box(name="a")
    def f(x, lock=threading.Lock()):
        with lock, locks["one"]:
            return guarded.under(box.name, x)
    def calls(f):
        for box.name in "aabbaab":
            yield f(ramp(2))
        guarded.all.append(threading.Lock())
        for _ in range(3):
            yield f(ramp(2))
        with locks["one"]:
            pass
        locks["one"] = threading.RLock()
        with locks["one"]:
            for _ in range(3):
                yield f(ramp(2))
        for _ in range(2):
            yield f(ramp(2))
    return f, calls


@trap
def threads_count_under_a_lock():
    """Four threads call the same step: no count is lost, and no call sees another's."""
    class Step:
        def __init__(self): self.lock, self.n = threading.Lock(), 0
        def __call__(self, x):
            with self.lock:
                self.n += 1
                return x * 1.0 + self.n
    step = Step()
    def calls(f):
        found = []
        def work():
            for _ in range(50):
                found.append(f(ramp(2))[0].item())
        for _ in range(4):
            f(ramp(2))
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        yield sorted(found), step.n, step.lock.locked()
    return step, calls


@trap
def an_error_while_a_lock_is_held():
    """The call raises within `with lock`, at some calls."""
    lock, box = threading.Lock(), Box(n=0)
    def f(x, limit):
        with lock:
            box.n += 1
            if x.sum() > limit:
                raise ValueError(f"{box.n} calls")
            return x * 2
    def calls(f):
        for limit in (9.0, 9.0, 9.0, 1.0, 9.0, 1.0, 9.0):
            try:
                yield f(ramp(3), limit), box.n, lock.locked()
            except ValueError as e:
                yield str(e), box.n, lock.locked()
    return f, calls
