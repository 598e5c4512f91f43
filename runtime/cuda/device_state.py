"""The devices of this process: which driver there is, what each device has, and which device and
stream a thread works with."""
from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..autograd import modes
from ..cpu import repeated_calls
from .allocator import Allocator
from .deferred_errors import Checks
from .driver import Driver, Properties
from .pinned import PinnedMemory

STREAMS = 32                        # of each device and priority, as in PyTorch

choice = threading.local()          # what each thread works with
_machine: Machine | None = None
_lock = threading.RLock()


class Machine:
    """A driver and what the runtime keeps of each of its devices."""

    def __init__(self, driver: Driver) -> None:
        self.driver, self.forked = driver, False
        self.allocators = [Allocator(driver, d) for d in range(driver.count())]
        self.checks = [Checks(driver, d) for d in range(driver.count())]
        self.pinned = PinnedMemory(driver)
        self.default_streams: dict[int, int] = {}
        self.streams: dict[tuple[int, int], deque[int]] = {}
        self.known: dict[int, Properties] = {}
        self.kernels: dict[Any, Any] = {}
        self.plans: dict[Any, Any] = {}            # what ops do, by what they are given

    def properties(self, device: int) -> Properties:
        """What a device can do."""
        found = self.known.get(device)
        if found is None:
            found = self.known[device] = self.driver.properties(device)
        return found

    def stream(self, device: int, priority: int) -> int:
        """The driver's number of a stream. There are some of each kind, given out in turn, and
        never destroyed: memory belongs to them."""
        with _lock:
            made = self.streams.setdefault((device, priority), deque())
            if len(made) < STREAMS:
                made.appendleft(self.driver.create_stream(device, priority))
            else:
                made.rotate(1)
            return made[0]

    def default_stream(self, device: int) -> int:
        """The stream that work goes to where nothing else is said."""
        found = self.default_streams.get(device)
        if found is None:
            with _lock:
                if device not in self.default_streams:
                    self.default_streams[device] = self.driver.create_stream(device, 0)
            found = self.default_streams[device]
        return found


def _in_a_child() -> None:
    """A process that was forked cannot use its parent's devices."""
    if _machine is not None:
        _machine.forked = True
        repeated_calls.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_a_child)


def wanted() -> str:
    """What the environment asks for: `sim`, `off`, or nothing."""
    asked = os.environ.get("WHET_GPU", "")
    if asked not in ("", "sim", "off", "cuda"):
        raise RuntimeError(f"WHET_GPU={asked}: expected sim, cuda or off")
    return asked


def is_available() -> bool:
    """Is there a device, real or simulated? Never raises."""
    if _machine is not None:
        return _machine.driver.count() > 0
    if wanted() == "sim":
        return True
    from . import libcuda
    return wanted() != "off" and libcuda.device_count() > 0


def count() -> int:
    """The number of devices; 0 if there is no driver."""
    return machine().driver.count() if is_available() else 0


def machine() -> Machine:
    """The devices of this process. Raises an error that says what is missing if there are none."""
    global _machine
    found = _machine
    if found is None:
        with _lock:
            if _machine is None:
                _machine = Machine(_driver())
            found = _machine
    if found.forked:
        raise RuntimeError("Cannot re-initialize CUDA in forked subprocess. To use CUDA with "
                           "multiprocessing, you must use the 'spawn' start method")
    return found


def is_initialized() -> bool:
    """Was a device used already?"""
    return _machine is not None


def _driver() -> Driver:
    if wanted() == "sim":
        from .simulated.driver import SimulatedDriver
        return SimulatedDriver()
    if wanted() == "off":
        raise unavailable("WHET_GPU=off")
    from . import libcuda
    missing = libcuda.missing()
    if missing:
        raise unavailable(missing)
    return libcuda.LibCuda()


def unavailable(missing: str) -> RuntimeError:
    """The exception for a program that asks for a device that does not exist."""
    return RuntimeError(
        f"device 'cuda' is not available: {missing}. WHET_GPU=sim in the environment gives two "
        "simulated devices, slow but true, to try programs on.")


@contextmanager
def use(driver: Driver) -> Iterator[Machine]:
    """Another driver, for tests. Tensors of the machine that was there before stay with it."""
    global _machine
    before, _machine = _machine, Machine(driver)
    repeated_calls.forget()
    kept, choice.device, choice.streams = current_choice(), 0, {}
    try:
        yield _machine
    finally:
        _machine = before
        repeated_calls.forget()
        choice.device, choice.streams = kept


def current_choice() -> tuple[int, dict[int, int]]:
    """(the device, the streams by device) that this thread has chosen."""
    return getattr(choice, "device", 0), getattr(choice, "streams", {})


# ---- what a thread works with --------------------------------------------------------------------
def current_device() -> int:
    """The number of the device that this thread works with."""
    return getattr(choice, "device", 0)


def choose_device(index: int) -> None:
    """Let this thread work with another device."""
    modes.beyond("it chooses another device to work with")
    choice.device = existing(index)


def current_stream(device: int) -> int:
    """The stream that this thread's work goes to, by the driver's number."""
    chosen: int | None = getattr(choice, "streams", {}).get(device)
    return machine().default_stream(device) if chosen is None else chosen


def choose_stream(device: int, stream: int | None) -> None:
    """Let this thread's work for a device go to another stream; None is the default one."""
    modes.beyond("it chooses another stream to work in")
    if not hasattr(choice, "streams"):
        choice.streams = {}
    if stream is None:
        choice.streams.pop(device, None)
    else:
        choice.streams[device] = stream


def existing(index: int | None) -> int:
    """The number of a device that is there; None, or less than 0, is the current one."""
    count = len(machine().allocators)
    if index is None or index < 0:
        chosen: int = modes.read(current_device)
        return chosen
    if index >= count:
        raise RuntimeError(f"CUDA error: invalid device ordinal: cuda:{index}, "
                           f"there {'is' if count == 1 else 'are'} {count}")
    return index
