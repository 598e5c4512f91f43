"""Tracing: `@jit.trace` records a run of a function and replays it as compiled code."""
from .trace import Traced, TraceError, TraceWarning, disable, trace

__all__ = ["TraceError", "TraceWarning", "Traced", "disable", "trace"]
