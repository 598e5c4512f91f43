"""`profile` and what it is steered with, under PyTorch's names."""
import enum
import os
import socket
import time
from typing import Any

from .. import profiler_listeners
from ..autograd.modes import _Mode
from . import averages, chrome
from .hooks import Listener, clock


class ProfilerActivity(enum.Enum):
    """What is looked at. Everything that runs on the CPU is; kernels of devices are not timed.

    >>> import whet
    >>> from whet.profiler import ProfilerActivity, profile
    >>> with profile(activities=[ProfilerActivity.CPU]) as p:
    ...     _ = whet.ones(2).exp()
    >>> "exp" in [event.name for event in p.events()]
    True
    """
    CPU = 0
    CUDA = 1
    XPU = 2


class ProfilerAction(enum.Enum):
    """What a profiler does in a step.

    >>> import whet
    >>> from whet.profiler import ProfilerAction, schedule
    >>> plan = schedule(wait=1, warmup=0, active=1)
    >>> [plan(step).name for step in range(2)]
    ['NONE', 'RECORD_AND_SAVE']
    """
    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities():
    """What can be looked at.

    >>> from whet.profiler import supported_activities
    >>> supported_activities()
    {<ProfilerActivity.CPU: 0>}
    """
    return {ProfilerActivity.CPU}


def kineto_available():
    """Can traces be exported? They can.

    >>> import whet
    >>> whet.profiler.kineto_available()
    True
    """
    return True


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """A function of a step's number: skip `skip_first` steps, then again and again (`repeat` times,
    or for ever) wait, warm up and record so many steps.

    >>> from whet.profiler import schedule
    >>> [schedule(wait=1, warmup=1, active=2, repeat=1)(i).name for i in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError("Invalid profiler schedule arguments")

    def action(step):
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        turn, at = divmod(step, wait + warmup + active)
        if repeat and turn >= repeat or at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        last = at == wait + warmup + active - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD
    return action


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False):
    """An `on_trace_ready` that writes each trace into a folder, under a name of its own.

    >>> import whet
    >>> import os, tempfile
    >>> from whet.profiler import profile, tensorboard_trace_handler
    >>> folder = tempfile.mkdtemp()
    >>> with profile(on_trace_ready=tensorboard_trace_handler(folder)):
    ...     _ = whet.ones(2).exp()
    >>> len(os.listdir(folder))
    1
    """
    def write(p):
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        ending = ".pt.trace.json" + (".gz" if use_gzip else "")
        p.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}{ending}"))
    return write


class record_function(_Mode):
    """Names what runs inside, for a profiler: `with record_function("loss"):`, or as a decorator.

    >>> import whet
    >>> from whet.profiler import profile, record_function
    >>> a = whet.ones(3)
    >>> with profile() as p, record_function("mine"):
    ...     _ = a.exp()
    >>> [e.name for e in p.events()]
    ['mine', 'exp']
    """
    __slots__ = ("name", "args", "_start")

    def __init__(self, name, args=None):
        self.name, self.args, self._start = name, args, None

    def _clone(self):
        return type(self)(self.name, self.args)

    def __enter__(self):
        self._start = None if profiler_listeners.active is None else clock()
        return self

    def __exit__(self, *exc):
        listener: Any = profiler_listeners.active
        if listener is not None and self._start is not None:
            listener.span("user", self.name, self._start, clock())


class profile:
    """Notes what runs between `start()` and `stop()`, or inside of a `with`, on all threads.

    `record_shapes`: sizes of operands; `profile_memory`: the bytes that each op makes;
    `with_stack`: all user lines that led to an op, else the innermost alone;
    `with_modules`: the modules that it ran in; `with_flops`: floating point operations, where the
    cost model of graphs knows them. `kernels=False` leaves replays of traced functions to their
    tables, so that they take no longer than ever, and shows each as a whole.

    >>> import whet
    >>> a, b = whet.ones(2, 3), whet.ones(3, 4)
    >>> with whet.profiler.profile(record_shapes=True) as p:
    ...     _ = a @ b
    >>> e, = p.events()
    >>> e.name, e.input_shapes
    ('matmul', [[2, 3], [3, 4]])
    """

    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False,
                 profile_memory=False, with_stack=False, with_flops=False, with_modules=False,
                 experimental_config=None, execution_trace_observer=None, acc_events=False,
                 use_cuda=None, custom_trace_id_callback=None, kernels=True):
        self.activities = set(activities) if activities else supported_activities()
        self.schedule, self.on_trace_ready = schedule, on_trace_ready
        self.record_shapes, self.with_flops = record_shapes, with_flops
        self.profile_memory, self.with_stack = profile_memory, with_stack
        self.with_modules, self.acc_events, self.kernels = with_modules, acc_events, kernels
        self.step_num, self.metadata = 0, {}
        self._listener: Any = None
        self._log: list = []
        self._events: Any = None
        self._origin = self._step_began = 0
        self.current_action = self._action()

    def _action(self):
        """What is done in the present step."""
        return ProfilerAction.RECORD if self.schedule is None else self.schedule(self.step_num)

    # ---- beginning and ending --------------------------------------------------------------------
    def start(self):
        """Begin, with what the schedule says of the first step."""
        self._enter(self.current_action)

    def stop(self):
        """End; what was noted is handed to `on_trace_ready`."""
        if self._listener is not None:
            self._mark()
            self._leave()
            self._ready()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        self.stop()

    def step(self):
        """The next step begins."""
        recorded = self._listener is not None
        if recorded:
            self._mark()
        before, self.step_num = self.current_action, self.step_num + 1
        self.current_action = now = self._action()
        if recorded and before is ProfilerAction.RECORD_AND_SAVE:
            self._leave()
            self._ready()
        self._enter(now)

    def _mark(self):
        """The step that ends, as an event."""
        if self.schedule is not None or self.step_num:
            self._listener.span("user", f"ProfilerStep#{self.step_num}", self._step_began, clock())
        self._step_began = clock()

    def _enter(self, action):
        records = action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if not records or self._listener is not None:
            return
        listener = Listener(self.record_shapes or self.with_flops or self.profile_memory,
                            self.with_stack, self.with_modules, self.kernels)
        if self.acc_events and self._log:
            listener.log = self._log
        else:
            self._log, self._origin = listener.log, clock()
        listener.start()
        self._listener, self._events, self._step_began = listener, None, clock()

    def _leave(self):
        self._listener.stop()
        self._listener = self._events = None

    def _ready(self):
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    # ---- what was seen ---------------------------------------------------------------------------
    def events(self):
        """What ran, by start: an `EventList` of `FunctionEvent`."""
        if self._events is None or self._listener is not None:
            if self._listener is not None:
                self._listener.gather()
            kinds = {name for name, on in (("flops", self.with_flops),
                                           ("shapes", self.record_shapes)) if on}
            self._events = averages.EventList(averages.events(self._log, self._origin, kinds),
                                              self.profile_memory, self.with_flops)
        return self._events

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0):
        """Sums of the events of each name: `.table(sort_by=..., row_limit=...)` shows them."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n)

    def table(self, sort_by="self_cpu_time_total", row_limit=20, **how):
        """The table of what took most."""
        return self.key_averages().table(sort_by=sort_by, row_limit=row_limit, **how)

    def total_average(self):
        """The sum of all events."""
        return self.events().total_average()

    self_cpu_time_total = property(lambda self: self.events().self_cpu_time_total)

    def export_chrome_trace(self, path):
        """Write a trace that Perfetto and chrome://tracing open."""
        chrome.write(path, self.events(), self.metadata)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Write a line for each stack of the user's lines and its time in microseconds, for tools
        that draw flame graphs. Needs `with_stack=True`."""
        sums: dict = {}
        for e in self.events():
            if e.stack:
                key = ";".join([*reversed(e.stack), e.name]).replace(" ", "_")
                sums[key] = sums.get(key, 0.0) + getattr(e, metric)
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{key} {int(us)}\n" for key, us in sums.items() if int(us))

    def flame(self, path=None):
        """A picture of the time, what ran within an event above it: one SVG, as text, or written to
        a file."""
        text = chrome.flame(self.events())
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return text

    def add_metadata(self, key, value):
        """A text for the trace's file."""
        self.metadata[key] = value

    add_metadata_json = add_metadata

    def __repr__(self):
        return self.key_averages().table(sort_by="self_cpu_time_total", row_limit=20)

    def _repr_html_(self):
        most = self.key_averages()._repr_html_("self_cpu_time_total", 20)
        return f'<div style="max-height: 30em; overflow: auto">{self.flame()}</div>{most}'
