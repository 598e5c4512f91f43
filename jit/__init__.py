"""Tracing: `@jit.trace` records a run of a function and replays it as compiled code."""
from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .dispatch.switch import disable
from .errors import TraceError, TraceWarning
from .guards.sizes import Dim
from .scripting import (
    Error,
    ScriptFunction,
    ScriptModule,
    TracerWarning,
    _overload,
    _overload_method,
    annotate,
    ignore,
    is_scripting,
    is_tracing,
    isinstance,
    script,
    script_if_tracing,
    unused,
)
from .trace import Traced, trace

if TYPE_CHECKING:
    import os

    from .export.read_archive import Loaded


def load_archive(path: str | os.PathLike[str], check: bool = True,
                 most: int | None = None) -> Loaded:
    """The exported function in an archive, as `whet.load` gives it. `check=False` passes over the
    checksums; `most` is how many bytes a value may take, at first half of the machine's memory."""
    from .export.read_archive import load
    return load(path, check, most)


__all__ = ["Dim", "Final", "TraceError", "TraceWarning", "Traced", "annotate", "disable", "ignore",
           "is_scripting", "is_tracing", "script", "script_if_tracing", "trace", "unused"]
