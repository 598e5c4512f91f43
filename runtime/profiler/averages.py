"""Events, and tables of them: PyTorch's `FunctionEvent` and `EventList`."""
import collections
import functools
import html

from ..ir import cost
from ..ir.values import Type
from ..op_table import REGISTRY
from .hooks import kernel_name
from .stacks import place

FIELDS = 8                       # of an event in a log: see hooks.py


class Interval:
    """From `start` to `end`, in microseconds."""
    __slots__ = ("start", "end")

    def __init__(self, start, end):
        self.start, self.end = start, end

    def elapsed_us(self):
        """How long it is."""
        return self.end - self.start


class _Times:
    """What events and sums of events have in common. Times are in microseconds."""
    cpu_time_total = self_cpu_time_total = 0.0
    # devices run asynchronously: their time is not measured
    device_time_total = self_device_time_total = cuda_time_total = self_cuda_time_total = 0.0
    self_device_memory_usage = device_memory_usage = 0
    count = 1

    @property
    def cpu_time(self):
        """The mean time of a call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    device_time = cuda_time = 0.0
    cpu_time_str = property(lambda self: time_text(self.cpu_time))
    cpu_time_total_str = property(lambda self: time_text(self.cpu_time_total))
    self_cpu_time_total_str = property(lambda self: time_text(self.self_cpu_time_total))


class FunctionEvent(_Times):
    """One op, kernel or span. `kind`: "op", "kernel", "user", "traced", "replay", "record",
    "guard" or "wait"."""
    is_async = is_remote = False
    node_id = -1

    def __init__(self, number, noted, origin, kinds):
        kind, what, start, end, self.thread, code, at, detail = noted
        if kind == "kernel" and type(what) is int:
            what = kernel_name(what)
        self.id, self.kind = number, kind
        self.name = self.key = self.trace_name = what if type(what) is str else what.name
        self.time_range = Interval((start - origin) / 1e3, (end - origin) / 1e3)
        self.cpu_time_total = self.self_cpu_time_total = self.time_range.elapsed_us()
        self.stack, self.modules = place(code, at)
        self.input_shapes, self.input_types, self.cpu_memory_usage, self.flops = [], [], 0, 0
        self.cpu_children: list = []
        self.cpu_parent = None
        if detail is not None:
            inputs, made, self.cpu_memory_usage = detail
            self.input_shapes = [list(x[0]) if type(x) is tuple else [] for x in inputs]
            self.input_types = [x[1].name if type(x) is tuple else x.__name__ for x in inputs]
            if "flops" in kinds:
                self.flops = _flops(what, inputs, made)
            if "shapes" not in kinds:
                self.input_shapes = []
        self.self_cpu_memory_usage = self.cpu_memory_usage

    @property
    def module(self):
        """The modules whose `forward` it ran in, the outermost first."""
        return ".".join(reversed(self.modules))

    def __repr__(self):
        return (f"<FunctionEvent id={self.id} name={self.name} "
                f"cpu_time={self.cpu_time_total_str} thread={self.thread}>")


def _flops(what, inputs, made):
    """The floating point operations of an op, about, as the cost model of graphs has them."""
    op = REGISTRY.get(what.rstrip("_"), None) if type(what) is str else what
    if op is None or op.is_view or not made:
        return 0
    ins = [Type(x[1], x[0]) if type(x) is tuple else None for x in inputs]
    try:
        return cost.of_op(op, Type(made[0][1], made[0][0]), ins)
    except (AttributeError, IndexError):     # an op whose operands say too little
        return 0


class FunctionEventAvg(_Times):
    """The sum of events with one key.

    >>> import whet
    >>> from whet.profiler import profile
    >>> with profile() as p:
    ...     _ = whet.ones(2).exp().exp()
    >>> [event.count for event in p.key_averages() if event.key == "exp"]
    [2]
    """

    def __init__(self, key=None):
        self.key, self.count, self.kind = key, 0, None
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = self.flops = 0
        self.input_shapes, self.stack = [], []
        self.modules: list = []

    module = FunctionEvent.module

    def add(self, e):
        """One more event, or the sum of some."""
        if not self.count:
            self.key = e.key if self.key is None else self.key
            self.kind, self.input_shapes, self.stack = e.kind, e.input_shapes, e.stack
            self.modules = e.modules
        self.count += e.count
        self.self_cpu_time_total += e.self_cpu_time_total
        self.cpu_memory_usage += e.cpu_memory_usage
        self.self_cpu_memory_usage += e.self_cpu_memory_usage
        self.flops += e.flops
        # What runs within another event of its own key is in that one's time.
        parent = getattr(e, "cpu_parent", None)
        while parent is not None and parent.key != e.key:
            parent = parent.cpu_parent
        if parent is None:
            self.cpu_time_total += e.cpu_time_total
        return self

    __iadd__ = add

    def __repr__(self):
        return (f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
                f"cpu_time={self.cpu_time_str} count={self.count}>")


class EventList(list):
    """Events, or sums of them, as tables.

    >>> import whet
    >>> from whet.profiler import profile
    >>> with profile() as p:
    ...     _ = whet.ones(2).exp()
    >>> [event.key for event in p.key_averages() if event.key == "exp"]
    ['exp']
    """

    def __init__(self, events=(), profile_memory=False, with_flops=False):
        super().__init__(events)
        self.profile_memory, self.with_flops = profile_memory, with_flops

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0):
        """Sums of events of one name; of one name and sizes, or user lines."""
        found: dict = {}
        for e in self:
            key = (e.key, str(e.input_shapes) if group_by_input_shape else "",
                   tuple(e.stack[:group_by_stack_n]))
            found.setdefault(key, FunctionEventAvg()).add(e)
        if not group_by_input_shape:
            for a in found.values():
                a.input_shapes = []
        if not group_by_stack_n:
            for a in found.values():
                a.stack = []
        return EventList(found.values(), self.profile_memory, self.with_flops)

    def total_average(self):
        """The sum of all."""
        return functools.reduce(FunctionEventAvg.add, self, FunctionEventAvg("Total"))

    @property
    def self_cpu_time_total(self):
        """The time of all events, each moment counted once."""
        return sum(e.self_cpu_time_total for e in self)

    def table(self, sort_by=None, row_limit=100, max_src_column_width=75,
              max_name_column_width=55, max_shapes_column_width=80, header=None,
              top_level_events_only=False):
        """The events as a table of text, sorted by an attribute such as "self_cpu_time_total"."""
        columns, text = self._cells(sort_by, row_limit, top_level_events_only,
                                    (max_name_column_width, max_shapes_column_width,
                                     max_src_column_width))
        widths = [max([len(title), *(len(r[i]) for r in text)])
                  for i, (title, _, _) in enumerate(columns)]
        rule = "  ".join("-" * w for w in widths)

        def row(cells):
            padded = [f"{c:>{w}}" if right else f"{c:<{w}}"
                      for c, w, (_, right, _) in zip(cells, widths, columns)]
            return "  ".join(padded).rstrip()
        out = [] if header is None else [header]
        out += [rule, row([title for title, _, _ in columns]), rule, *map(row, text), rule]
        return "\n".join([*out, f"Self CPU time total: {time_text(self.self_cpu_time_total)}", ""])

    def _repr_html_(self, sort_by=None, row_limit=100):
        columns, text = self._cells(sort_by, row_limit, False, (None, None, None))

        def row(cells, tag):
            sides = ["right" if right else "left" for _, right, _ in columns]
            return "<tr>" + "".join(
                f'<{tag} style="text-align: {side}">{html.escape(c)}</{tag}>'
                for c, side in zip(cells, sides)) + "</tr>"
        head = row([title for title, _, _ in columns], "th")
        return (f"<table><thead>{head}</thead><tbody>{''.join(row(r, 'td') for r in text)}</tbody>"
                f"</table><p>Self CPU time total: {time_text(self.self_cpu_time_total)}</p>")

    def _cells(self, sort_by, row_limit, top_level_events_only, widths):
        """(columns, the texts of each row): `widths` of names, of shapes and of lines at most."""
        rows = [e for e in self if not (top_level_events_only and getattr(e, "cpu_parent", None))]
        if sort_by is not None:
            if rows and not hasattr(rows[0], sort_by):
                raise ValueError(f"table(): events have no {sort_by!r} to be sorted by")
            rows.sort(key=lambda e: getattr(e, sort_by), reverse=True)
        columns = self._columns(rows, *widths)
        shown = rows[:row_limit] if row_limit >= 0 else rows
        return columns, [[show(e) for _, _, show in columns] for e in shown]

    def _columns(self, rows, name_width, shapes_width, src_width):
        """(title, is it a number?, what to show of an event) of each column."""
        whole = self.self_cpu_time_total or 1.0

        def part(x):
            return f"{100 * x / whole:.2f}%"
        columns = [
            ("Name", False, lambda e: _cut(e.key, name_width)),
            ("Self CPU %", True, lambda e: part(e.self_cpu_time_total)),
            ("Self CPU", True, lambda e: e.self_cpu_time_total_str),
            ("CPU total %", True, lambda e: part(e.cpu_time_total)),
            ("CPU total", True, lambda e: e.cpu_time_total_str),
            ("CPU time avg", True, lambda e: e.cpu_time_str)]
        if self.profile_memory:
            columns.append(("CPU Mem", True, lambda e: bytes_text(e.cpu_memory_usage)))
        columns.append(("# of Calls", True, lambda e: str(e.count)))
        if any(e.input_shapes for e in rows):
            columns.append(
                ("Input Shapes", False, lambda e: _cut(str(e.input_shapes), shapes_width)))
        if self.with_flops:
            columns.append(("Total FLOPs", True, lambda e: str(e.flops) if e.flops else "--"))
        if any(e.stack for e in rows):
            columns.append(("Source Location", False,
                            lambda e: _cut(e.stack[0], src_width) if e.stack else ""))
        if any(e.modules for e in rows):
            columns.append(("Module", False, lambda e: e.module))
        return columns

    def __str__(self):
        return self.table()


def _cut(text, width):
    return text if width is None or len(text) <= width else text[:max(width - 3, 0)] + "..."


def time_text(us):
    """A time as PyTorch's tables have it."""
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


def bytes_text(n):
    """An amount of memory as PyTorch's tables have it."""
    for unit, size in (("Gb", 1 << 30), ("Mb", 1 << 20), ("Kb", 1 << 10)):
        if abs(n) >= size:
            return f"{n / size:.2f} {unit}"
    return f"{n} b"


def events(log, origin, kinds):
    """The events of a log, by start, each with what ran within it."""
    noted = sorted(zip(*[iter(list(log))] * FIELDS), key=lambda x: (x[2], -x[3]))
    made = [FunctionEvent(i, x, origin, kinds) for i, x in enumerate(noted)]
    open_: dict = collections.defaultdict(list)
    for e in made:
        stack = open_[e.thread]
        while stack and stack[-1].time_range.end < e.time_range.end:
            stack.pop()
        while stack and stack[-1].time_range.end <= e.time_range.start:
            stack.pop()
        if stack:
            e.cpu_parent = stack[-1]
            stack[-1].cpu_children.append(e)
            stack[-1].self_cpu_time_total -= e.cpu_time_total
        stack.append(e)
    return made
