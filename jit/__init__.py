"""Tracing: `@jit.trace` records a run of a function and replays it as compiled code."""
from .guards.sizes import Dim
from .trace import Traced, TraceError, TraceWarning, disable, trace

__all__ = ["Dim", "TraceError", "TraceWarning", "Traced", "disable", "trace"]
