"""Kernels that are ordered: what a program needs is found out before any of it is compiled.

Inside `ordering`, who asks for a kernel that is neither in memory nor on disk gets `NotYet`, and
the kernel goes on the order. Once all of a program's are known, they are compiled at once
(`fulfil`), or in the background (`put_off`) and one by one with later calls (`deliver`) where that
takes longer than whoever waits for this call's result had better be kept: see `once_ready`.
"""
import contextlib
import threading
from typing import Any

from . import compile_time_estimates, tiered_compilation

_local = threading.local()
# what compiles kernels, given as (key, emit), well, and in haste: set by native
compilers: dict = {}
# is a kernel of a key in memory? (set by native)
is_there: Any = None


class NotYet(BaseException):
    """A kernel was ordered that is not there yet. No error: nobody is to handle it but who
    orders."""


class Order:
    """Kernels by key: what writes each, and whether it may be compiled in haste."""
    __slots__ = ("kernels",)

    def __init__(self):
        self.kernels = {}

    def __len__(self):
        return len(self.kernels)

    def take(self, key, emit):
        """Put a kernel on the order, which is raised as not there yet."""
        self.kernels[key] = emit, tiered_compilation.wanted()
        raise NotYet(key)

    @property
    def seconds(self):
        """What compiling all of it takes, about."""
        return compile_time_estimates.lacking.of(len(self.kernels))

    def fulfil(self):
        """Compile all of it now: together, which takes half the time, unless one of them turns out
        to have no compiled form."""
        for haste_too in (True, False):
            self._compile([key for key, (_, brief) in self.kernels.items() if brief is haste_too])
        while self.kernels:
            self.deliver()

    def put_off(self):
        """Have all of it compiled beside what the process does."""
        tiered_compilation.order({key: emit for key, (emit, _) in self.kernels.items()})

    def look(self):
        """Take off the order what is there by now."""
        for key in list(self.kernels):
            if is_there(key):
                self.kernels.pop(key, None)

    def deliver(self):
        """Compile one kernel. One that turns out to have no compiled form says so again to whoever
        asks for it next."""
        key = next(iter(self.kernels))
        self._compile([key])
        self.kernels.pop(key, None)

    def _compile(self, keys):
        """Compile kernels of one manner; they stay on the order where one has no compiled form."""
        from whet.passes.lower_llvm.scalar import Unsupported
        if keys:
            brief = self.kernels[keys[0]][1]
            with (contextlib.suppress(Unsupported),
                  compile_time_estimates.lacking.measured(len(keys))):
                compilers[brief]([(key, self.kernels[key][0]) for key in keys])
                for key in keys:
                    del self.kernels[key]


class ordering:
    """Inside, this thread's kernels are ordered; gives the order."""
    __slots__ = ("before",)

    def __enter__(self):
        self.before, order = getattr(_local, "order", None), Order()
        _local.order = order
        return order

    def __exit__(self, *exc):
        _local.order = self.before


class Unready(Exception):
    """Kernels are to be compiled with later calls first: their `order`."""

    def __init__(self, order):
        super().__init__(f"{len(order)} kernels are not compiled yet")
        self.order = order


def once_ready(make, affords):
    """make(), with the kernels that it asks for. Where some are not there yet, they are compiled
    now if somebody `affords(seconds)` that, else Unready is raised. It may be called twice, and
    may go on after it got `NotYet`."""
    with ordering() as order:
        try:
            made = make()
        except NotYet:
            made = None
    if not order:
        return made
    if not affords(order.seconds):
        raise Unready(order)
    order.fulfil()
    return make()


def current():
    """The order that takes what this thread asks for, or None."""
    return getattr(_local, "order", None)
