"""Runs code on outlines, which have no elements: see `ir/outline.py`."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whet.cpu.taped_launches import Tape
from whet.ir.symbolic_size import Unsized
from whet.passes.lower_llvm.scalar import Unsupported

# what code that is not written for outlines may raise
REFUSALS = IndexError, RuntimeError, ValueError, TypeError, AttributeError, Unsupported


def dry(run: Callable[[], Any]) -> Any:
    """Run a function on outlines, without launching anything."""
    made = []
    try:
        Tape(dry=True).listen(lambda: made.append(run()))
    except REFUSALS as e:
        raise Unsized(f"an op refuses outlines: {e!r}") from None
    return made[0]
