"""Orders kernels: finds out everything that a program needs before any of it is compiled.

Inside `ordering`, asking for a kernel that is neither in memory nor on disk raises `NotYet`, and
the kernel goes on the order. When all kernels of a program are known, they are compiled at once
(`fulfil`). If that takes longer than the caller of this call should wait, they are compiled in the
background (`put_off`) and one by one with later calls (`deliver`): see `once_ready`."""
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
    """A kernel was ordered and is not there yet. Only the code that orders may handle this."""


class Order:
    """Kernels by key: how to write each, and whether it may be compiled quickly at first."""
    __slots__ = ("kernels",)

    def __init__(self):
        self.kernels = {}

    def __len__(self):
        return len(self.kernels)

    def take(self, key, emit):
        """Add a kernel to the order; raises NotYet."""
        self.kernels[key] = emit, tiered_compilation.wanted()
        raise NotYet(key)

    @property
    def seconds(self):
        """The estimated seconds for compiling all of it."""
        return compile_time_estimates.lacking.of(len(self.kernels))

    def fulfil(self):
        """Compile all of it now. Together takes half the time, unless one of the kernels turns out
        to have no compiled form."""
        for haste_too in (True, False):
            self._compile([key for key, (_, brief) in self.kernels.items() if brief is haste_too])
        while self.kernels:
            self.deliver()

    def put_off(self):
        """Compile all of it in the background."""
        tiered_compilation.order({key: emit for key, (emit, _) in self.kernels.items()})

    def look(self):
        """Drop the kernels that exist by now."""
        for key in list(self.kernels):
            if is_there(key):
                self.kernels.pop(key, None)

    def deliver(self):
        """Compile one kernel. If it turns out to have no compiled form, that is raised again for
        whoever asks for it next."""
        key = next(iter(self.kernels))
        self._compile([key])
        self.kernels.pop(key, None)

    def _compile(self, keys):
        """Compile kernels in one mode; they stay on the order if one has no compiled form."""
        from whet.passes.lower_llvm.scalar import Unsupported
        if keys:
            brief = self.kernels[keys[0]][1]
            with (contextlib.suppress(Unsupported),
                  compile_time_estimates.lacking.measured(len(keys))):
                compilers[brief]([(key, self.kernels[key][0]) for key in keys])
                for key in keys:
                    del self.kernels[key]


class ordering:
    """A context in which this thread's kernels are ordered; gives the order."""
    __slots__ = ("before",)

    def __enter__(self):
        self.before, order = getattr(_local, "order", None), Order()
        _local.order = order
        return order

    def __exit__(self, *exc):
        _local.order = self.before


class Unready(Exception):
    """Kernels have to be compiled first, with later calls: their `order`."""

    def __init__(self, order):
        super().__init__(f"{len(order)} kernels are not compiled yet")
        self.order = order


def once_ready(make, affords):
    """Call make() with the kernels that it needs. Missing kernels are compiled now if
    `affords(seconds)`; else Unready is raised. make() may be called twice, and may continue after
    NotYet."""
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
    """The order to which kernels of this thread go, or None."""
    return getattr(_local, "order", None)
