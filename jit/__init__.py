"""Tracing: `@jit.trace` records a run of a function and replays it as compiled code."""
from .dispatch.switch import disable
from .errors import TraceError, TraceWarning
from .guards.sizes import Dim
from .trace import Traced, trace

__all__ = ["Dim", "TraceError", "TraceWarning", "Traced", "disable", "trace"]
