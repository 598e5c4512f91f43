"""Where the time goes: PyTorch's profiler by name and signature, for eager and traced code.

    from whet.profiler import profile, record_function

    with profile(record_shapes=True, with_stack=True) as p:
        with record_function("step"):
            step(x, y)
    print(p.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))
    p.export_chrome_trace("trace.json")        # for Perfetto or chrome://tracing

What comes in: ops, from the native entries; spans that the user names; replays of traced functions,
kernel by kernel; what they record and compile. What goes out: events with times, shapes, lines of
the user's code, modules; tables of them, trace files and pictures. Machine code notes the calls
that it makes (`native_log.py`), and functions that look at the clock stand in for those of Python
that make calls (`hooks.py`). While no profiler is on, nothing of this is in the way of an op.

What makes it give up: a second profiler on top of a first one is an error.
"""
from .averages import EventList, FunctionEvent, FunctionEventAvg
from .session import (
    ProfilerAction,
    ProfilerActivity,
    kineto_available,
    profile,
    record_function,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

_KinetoProfile = profile

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "ProfilerAction", "ProfilerActivity",
           "kineto_available", "profile", "record_function", "schedule",
           "supported_activities", "tensorboard_trace_handler"]
