"""A driver whose functions do nothing: what calls take on our side is left. Numbers that come back
from the device mean nothing."""
from __future__ import annotations

import ctypes as C
from typing import TYPE_CHECKING, Any

import numpy as np

from ...cpu import native
from ..deferred_errors import LEAST, MOST
from ..driver import Properties
from ..libcuda import LibCuda, Loaded

if TYPE_CHECKING:
    from ...passes.lower_triton.source import Source

FIRST, END = 1 << 44, 1 << 45        # where the device's addresses lie

TEXT = f"""
@next = global i64 {FIRST}
define i32 @nothing() {{
  ret i32 0
}}
define i32 @give(ptr %out, i64 %size) {{
  %at = load i64, ptr @next
  store i64 %at, ptr %out
  %wide = add i64 %size, 512
  %end = add i64 %at, %wide
  %whole = and i64 %end, -512
  store i64 %whole, ptr @next
  ret i32 0
}}
"""


class IdleLibrary:
    """NVIDIA's library, as far as we call it. What is asked for gets a number of its own."""

    def __init__(self) -> None:
        found = native.image("cuda/idle", lambda: TEXT, ["nothing", "give"])
        call = C.CFUNCTYPE(C.c_int)
        self.nothing, give = call(found["nothing"]), call(found["give"])
        self.cuMemAlloc_v2 = self.cuStreamCreateWithPriority = self.cuEventCreate = give

    def __getattr__(self, name: str) -> Any:
        return self.nothing


class IdleDriver(LibCuda):
    """The driver of one device that does nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.cuda = IdleLibrary()
        self.pinned: dict[int, np.ndarray] = {}

    def count(self) -> int:
        return 1

    def properties(self, device: int) -> Properties:
        return Properties("idle", 9, 0, 80 << 30, 132, 2048, 32, 48 << 10, 227 << 10, 228 << 10,
                          50 << 20)

    def memory_info(self, device: int) -> tuple[int, int]:
        return 80 << 30, 80 << 30

    def load(self, device: int, source: Source, aligned: tuple[str, ...]) -> Loaded:
        return Loaded(1, C.c_void_p(), device, 128, 0, source.parameters)

    def allocate_pinned(self, size: int) -> int:
        block = np.zeros(size, np.uint8)
        self.pinned[block.ctypes.data] = block
        return int(block.ctypes.data)

    def copy_and_wait(self, to: int, source: int, size: int, stream: int) -> None:
        if not FIRST <= to < END:            # words in which no bad data were noted
            words = np.array([LEAST, MOST] * (size // 16 + 1), np.int64)
            C.memmove(to, words.ctypes.data, size)
