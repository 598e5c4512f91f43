"""Memory that processes share and that has no name: it is gone when the last of them is, however
they end, and nothing is left to be cleaned up after a crash.

Large pieces have a mapping of their own. Small ones lie one after the other in a common mapping,
so that a model of a thousand parameters needs a few file descriptors and not a thousand.
"""
from __future__ import annotations

import mmap
import os
import threading
import weakref
from typing import Any

import numpy as np

# bytes: the common mapping for small pieces (its pages are there once they are written to), and
# what is too large for it
COMMON, LARGE = 16 << 20, 1 << 20
# where pieces start: whole cache lines
LINE = 64


class SharedMapping(mmap.mmap):
    """Mapped memory that other processes can map, too, given its file descriptor."""
    fd: int

    def __new__(cls, fd: int, size: int) -> SharedMapping:
        self = super().__new__(cls, fd, size)
        self.fd = fd
        return self

    def __del__(self) -> None:
        fd, self.fd = getattr(self, "fd", -1), -1
        if fd >= 0:
            os.close(fd)


def new_mapping(size: int) -> SharedMapping:
    """Fresh memory, all zeros."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("whet", os.MFD_CLOEXEC)
    else:
        import tempfile
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    try:
        os.ftruncate(fd, size)
        return SharedMapping(fd, size)
    except BaseException:
        os.close(fd)
        raise


class _Common:
    """The mapping that small pieces are cut from, and how much of it is taken."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        """Cut from another mapping: after a fork the parent goes on cutting from this one."""
        self.mapping: SharedMapping | None = None
        self.taken = COMMON

    def cut(self, size: int) -> tuple[SharedMapping, int]:
        with self.lock:
            if self.mapping is None or self.taken + size > COMMON:
                self.mapping, self.taken = new_mapping(COMMON), 0
            at = self.taken
            self.taken += -(-size // LINE) * LINE
            return self.mapping, at


_common = _Common()


def _begin_in_child() -> None:
    _common.lock = threading.Lock()
    _common.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_in_child)


def shared_copy(a: np.ndarray) -> np.ndarray:
    """A copy of an array in shared memory, without gaps and in the order in which `a` lies."""
    size = max(1, a.nbytes)
    mapping, at = (new_mapping(size), 0) if size > LARGE else _common.cut(size)
    copy: np.ndarray = np.ndarray(a.shape, a.dtype, mapping, at, np.empty_like(a).strides)
    copy[...] = a
    return copy


def mapping_of(a: np.ndarray) -> mmap.mmap | None:
    """The mapping that an array lies in, if it lies in one."""
    base: Any = a
    while isinstance(base, np.ndarray | memoryview):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    return base if isinstance(base, mmap.mmap) else None


# the mappings of other processes by their files, so that each is mapped once
_known: weakref.WeakValueDictionary[tuple[int, int], SharedMapping] = weakref.WeakValueDictionary()


def known_mapping(fd: int, size: int) -> SharedMapping:
    """The mapping of a file that another process sent; the descriptor goes to it."""
    file = os.fstat(fd)
    key = file.st_dev, file.st_ino
    found = _known.get(key)
    if found is not None:
        os.close(fd)
        return found
    made = _known[key] = SharedMapping(fd, size)
    return made
