"""Events as a file for Perfetto and chrome://tracing, and as a picture."""
import gzip
import html
import json
import os

_KINDS = {"op": "cpu_op", "kernel": "kernel", "user": "user_annotation", "traced": "traced",
          "replay": "replay", "record": "record", "guard": "guard", "wait": "wait"}


def trace(events, metadata):
    """The trace as a dict in the format of trace events."""
    pid, out = os.getpid(), []
    out.append({"ph": "M", "name": "process_name", "pid": pid, "tid": 0,
                "args": {"name": "whet"}})
    threads = {t: i for i, t in enumerate(dict.fromkeys(e.thread for e in events))}
    out += [{"ph": "M", "name": "thread_name", "pid": pid, "tid": i,
             "args": {"name": f"thread {t}"}} for t, i in threads.items()]
    for e in events:
        args = {"External id": e.id}
        if e.input_shapes:
            args.update({"Input Dims": e.input_shapes, "Input type": e.input_types})
        if e.stack:
            args["Call stack"] = ";".join(e.stack)
        if e.modules:
            args["Module Hierarchy"] = e.module
        if e.cpu_memory_usage:
            args["Bytes"] = e.cpu_memory_usage
        if e.flops:
            args["flops"] = e.flops
        out.append({"ph": "X", "cat": _KINDS[e.kind], "name": e.name, "pid": pid,
                    "tid": threads[e.thread], "ts": e.time_range.start, "dur": e.cpu_time_total,
                    "args": args})
    return {"schemaVersion": 1, "displayTimeUnit": "ms", **metadata, "traceEvents": out}


def write(path, events, metadata):
    """Write the trace; a name that ends in .gz is compressed."""
    path = os.fspath(path)
    opened = gzip.open(path, "wt") if path.endswith(".gz") else open(path, "w", encoding="utf-8")
    with opened as file:
        json.dump(trace(events, metadata), file)


ROW, WIDTH = 18, 1200            # pixels


class _Block:
    """What has one name in one place of the tree: its time, and what ran within."""

    def __init__(self):
        self.time, self.inner = 0.0, {}

    def add(self, e):
        self.time += e.cpu_time_total
        for child in e.cpu_children:
            self.inner.setdefault(child.name, _Block()).add(child)

    def depth(self):
        return 1 + max((b.depth() for b in self.inner.values()), default=0)


def flame(events):
    """A picture (SVG) of the time, events of one name side by side taken together: what ran within
    an event is drawn above it."""
    root = _Block()
    for e in events:
        if e.cpu_parent is None:
            root.time += e.cpu_time_total
            root.inner.setdefault(e.name, _Block()).add(e)
    height, out = ROW * root.depth(), []

    def draw(block, x, level):
        for name, b in sorted(block.inner.items(), key=lambda item: -item[1].time):
            width = WIDTH * b.time / (root.time or 1.0)
            if width >= 0.5:
                y, said = height - ROW * (level + 1), html.escape(name)
                hue = 20 + 37 * len(name) % 40
                out.append(
                    f'<g><title>{said}: {b.time / 1e3:.3f} ms</title><rect x="{x:.1f}" y="{y}" '
                    f'width="{width:.1f}" height="{ROW - 1}" fill="hsl({hue},80%,65%)"/>')
                if width > 7 * 4:
                    shown = html.escape(name[:int(width / 7)])
                    out.append(f'<text x="{x + 3:.1f}" y="{y + 13}">{shown}</text>')
                out.append("</g>")
                draw(b, x, level + 1)
            x += width
    draw(root, 0.0, 0)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            'font-family="monospace" font-size="11">' + "".join(out) + "</svg>")
