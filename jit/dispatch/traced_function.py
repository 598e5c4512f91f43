"""The function that is traced, with its name and the options of `whet.jit.trace`."""
from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..guards.sizes import Dynamic


class TracedFunction:
    """A user's function and the arguments that `whet.jit.trace` was given beside it."""
    __slots__ = ("dynamic", "fn", "rewrites", "strict", "verify")

    def __init__(self, fn: Callable[..., Any], strict: bool, verify: str, rewrites: tuple[str, ...],
                 dynamic: Dynamic) -> None:
        self.fn, self.strict, self.verify = fn, strict, verify
        self.rewrites, self.dynamic = rewrites, dynamic

    @property
    def settings(self) -> tuple[bool, str, tuple[str, ...], Dynamic]:
        """The arguments of `trace` beside the function, in its order."""
        return self.strict, self.verify, self.rewrites, self.dynamic

    @property
    def name(self) -> str:
        """The function's name and where it is defined."""
        code = getattr(inspect.unwrap(self.fn), "__code__", None)    # decorators aside
        file = os.path.basename(code.co_filename) if code else ""
        place = f" ({file}:{code.co_firstlineno})" if code else ""
        name = getattr(self.fn, "__qualname__", type(self.fn).__name__)
        return name.rpartition("<locals>.")[2] + place
