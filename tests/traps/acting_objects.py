"""Objects that act when they are looked at: properties, lengths, metaclasses, registers."""
import abc
import dataclasses
import enum
import threading

import whet

from tests.traps.harness import Box, outcome, ramp, thrice, trap


# ---- objects that act when they are looked at ----------------------------------------------------
@trap
def an_object_counts_its_reads():
    """__getattribute__ with an effect."""
    class Shy:
        reads = 0
        def __getattribute__(self, name):
            if name == "scale":
                Shy.reads += 1
            return object.__getattribute__(self, name)
    o = Shy()
    o.__dict__["scale"] = 2.0
    def f(x): return x * o.scale
    def calls(f):
        for _ in range(5):
            yield f(ramp(2)), Shy.reads
        o.__dict__["scale"] = 3.0
        yield from thrice(lambda: (f(ramp(2)), Shy.reads))
    return f, calls


@trap
def a_property_counts():
    """A property with state: it gives another number each time."""
    class Counter:
        def __init__(self): self.n = 0
        @property
        def next(self):
            self.n += 1
            return self.n
    c = Counter()
    def f(x): return x * c.next + c.next
    def calls(f):
        for _ in range(6):
            yield f(ramp(2)), c.n
        c.n = 100
        yield from thrice(lambda: (f(ramp(2)), c.n))
    return f, calls


@trap
def a_length_that_is_computed():
    """__len__ and __bool__ that read another object."""
    state = Box(n=2)
    class Sized:
        def __len__(self): return state.n
        def __bool__(self): return state.n % 2 == 0
    s = Sized()
    def f(x): return x * len(s) if s else x - len(s)
    def calls(f):
        for state.n in (2, 3, 2, 4):
            yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def an_iterator_of_ones_own():
    """An object with __iter__ and __next__, made inside, over a list that changes."""
    numbers = [1.0, 2.0]
    class Over:
        def __init__(self): self.i = 0
        def __iter__(self): return self
        def __next__(self):
            if self.i == len(numbers):
                raise StopIteration
            self.i += 1
            return numbers[self.i - 1]
    def f(x):
        for v in Over():
            x = x * v
        return x
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        numbers.append(3.0)
        yield from thrice(lambda: f(ramp(2)))
        numbers[0] = -1.0
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def an_attribute_error_decides():
    """try: o.scale except AttributeError: ... with an attribute that comes and goes."""
    o = Box()
    def f(x):
        try:
            return x * o.scale
        except AttributeError:
            return x - 1
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        o.scale = 3.0
        yield from thrice(lambda: f(ramp(2)))
        del o.scale
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def a_class_attribute_under_an_instance_with_slots():
    """Slots, a class attribute of the base, and deletion that uncovers nothing."""
    class Base:
        __slots__ = ("a",)
        b = 2.0
    class Derived(Base):
        __slots__ = ("c",)
    o = Derived()
    o.a, o.c = 1.0, 3.0
    def f(x): return x * o.a + o.b * o.c
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        o.a = 5.0
        yield from thrice(lambda: f(ramp(2)))
        Base.b = 7.0
        yield from thrice(lambda: f(ramp(2)))
        Derived.b = 8.0
        yield from thrice(lambda: f(ramp(2)))
        del o.c
        yield outcome(lambda: f(ramp(2)))
    return f, calls


@trap
def a_metaclass_makes_the_instances():
    """type.__call__ overridden: a singleton, reset between calls."""
    class Single(type):
        made = {}
        def __call__(cls, *args):
            if cls not in Single.made:
                Single.made[cls] = super().__call__(*args)
            return Single.made[cls]
    class Config(metaclass=Single):
        def __init__(self, k): self.k = k
    def f(x, k): return x * Config(k).k
    def calls(f):
        yield from thrice(lambda: f(ramp(2), 2.0))
        yield from thrice(lambda: f(ramp(2), 3.0))
        Single.made.clear()
        yield from thrice(lambda: f(ramp(2), 3.0))
    return f, calls


@trap
def a_subclass_registers_itself():
    """__init_subclass__ fills a registry that the function goes through."""
    registry = {}
    class Plugin:
        def __init_subclass__(cls, **kwargs): registry[cls.__name__] = cls
    class Double(Plugin):
        def __call__(self, x): return x * 2
    def f(x):
        for name in registry:
            x = registry[name]()(x)
        return x
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        type("Less", (Plugin,), {"__call__": lambda self, x: x - 1})
        yield from thrice(lambda: f(ramp(2)))
        registry.pop("Double")
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def an_abstract_class_gets_a_virtual_subclass():
    """abc's register changes what isinstance says."""
    class Scaling(abc.ABC):                  # noqa: B024
        pass
    class Plain:
        pass
    o = Plain()
    def f(x): return x * 2 if isinstance(o, Scaling) else x - 1
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        Scaling.register(Plain)
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def an_enum_with_methods_and_flags():
    """Flags that are combined, members with methods, and a lookup by value."""
    class Mode(enum.Flag):
        A, B = 1, 2
    class Act(enum.Enum):
        RELU, TANH = "relu", "tanh"
        def __call__(self, x): return getattr(whet, self.value)(x)
    o = Box(mode=Mode.A, act="relu")
    def f(x):
        y = Act(o.act)(x - 1)
        return y * 2 if Mode.B in o.mode else y
    def calls(f):
        for o.mode in (Mode.A, Mode.A | Mode.B, Mode.B):
            for o.act in ("relu", "tanh"):
                yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_frozen_dataclass_is_replaced():
    """dataclasses.replace makes a new one; an equal one is as good."""
    @dataclasses.dataclass(frozen=True)
    class Config:
        k: float
        n: int = 2
    o = Box(config=Config(2.0))
    def f(x, c): return x * o.config.k + c.n
    def calls(f):
        for k in (2.0, 2.0, 3.0):
            o.config = dataclasses.replace(o.config, k=k)
            yield from thrice(lambda: f(ramp(2), dataclasses.replace(o.config, n=int(k))))
    return f, calls


# ---- locks ---------------------------------------------------------------------------------------
@trap
def a_lock_of_the_call():
    """threading.Lock() inside: to take it, to ask for it, to leave it somewhere."""
    box = Box(lock=None, n=2.0)
    def f(x, keeps):
        lock = threading.Lock()
        with lock:
            y = x * box.n if lock.locked() else x
        if lock.acquire(False) and not lock.acquire(False):
            y = y + 1
        if keeps:
            box.lock = lock
        return y
    def calls(f):
        for keeps in (False, False, False, True, True, False, False):
            yield f(ramp(3), keeps), box.lock is not None and box.lock.locked()
            box.lock, box.n = None, box.n + keeps
    return f, calls


@trap
def a_lock_that_others_have_taken(trace):
    """A method of it is called, by its name and by another."""
    lock = threading.Lock()
    tell, others = lock.locked, [lock.locked]
    @trace
    def by_function(x): return x * (3 if tell() else 2)
    @trace
    def by_list(x): return x * (3 if others[0]() else 2)
    def f(x): return x * (3 if lock.locked() else 2), by_function(x), by_list(x)
    def calls(f):
        for taken in (False, False, False, True, True, False, True):
            if taken:
                lock.acquire()
            yield f(ramp(3))
            if taken:
                lock.release()
    return f, calls
