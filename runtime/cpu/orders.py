"""Kernels that are ordered: what a program needs is found out before any of it is compiled.

Inside `ordering`, who asks for a kernel that is neither in memory nor on disk gets `NotYet`, and
the kernel goes on the order. Once all of a program's are known, they are compiled at once
(`fulfil`), or one by one with later calls (`deliver`) where that takes longer than whoever waits
for this call's result had better be kept.
"""
import contextlib
import threading

from . import estimates, haste

_local = threading.local()


class NotYet(BaseException):
    """A kernel was ordered that is not there yet. (No error: nobody is to handle it but who
    orders.)"""


class Order:
    """Kernels by key: what compiles each, and whether that may be done in haste."""
    __slots__ = ("kernels",)

    def __init__(self):
        self.kernels = {}

    def __len__(self):
        return len(self.kernels)

    def take(self, key, make):
        """Put a kernel on the order, which is raised as not there yet."""
        self.kernels[key] = make, haste.wanted()
        raise NotYet(key)

    @property
    def seconds(self):
        """What compiling all of it takes, about."""
        return estimates.lacking.of(len(self.kernels))

    def fulfil(self):
        """Compile all of it now."""
        while self.kernels:
            self.deliver()

    def deliver(self):
        """Compile one kernel. One that turns out to have no compiled form says so again to whoever
        asks for it next."""
        from whet.passes.lower_llvm.scalar import Unsupported
        key, (make, brief) = next(iter(self.kernels.items()))
        with estimates.lacking.measured(), haste.recording(brief), haste.work(1), \
                contextlib.suppress(Unsupported):
            make()
        self.kernels.pop(key, None)


class ordering:
    """Inside, this thread's kernels are ordered; gives the order."""
    __slots__ = ("before",)

    def __enter__(self):
        self.before, order = getattr(_local, "order", None), Order()
        _local.order = order
        return order

    def __exit__(self, *exc):
        _local.order = self.before


def current():
    """The order that takes what this thread asks for, or None."""
    return getattr(_local, "order", None)
