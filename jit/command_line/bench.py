"""`whet bench`: the time of a call, beside ONNX Runtime's where that is installed."""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable
from typing import Any

import whet

from .sources import opened

WARM = 3  # calls before any is timed


def bench(options: argparse.Namespace) -> None:
    """Time a model on its sample, and ONNX Runtime on the same arrays in turn."""
    if options.calls < 1:
        raise ValueError("--calls is at least 1")
    model = opened(options.model)
    arrays = model.samples.inputs
    runs: dict[str, Callable[[], Any]] = {"whet": lambda: model.run(arrays)}
    if options.onnx is not None:
        runs["ONNX Runtime"] = onnx_runtime(options.onnx, model)
    times = timed(runs, options.calls)
    print(
        f"{model.name}, {', '.join(map(repr, model.inputs))}: {options.calls} calls, "
        f"{whet.get_num_threads()} threads"
    )
    for name, xs in times.items():
        print(
            f"  {name:<14} median {statistics.median(xs) * 1e3:.3f} ms, "
            f"least {min(xs) * 1e3:.3f} ms"
        )
    if options.onnx is not None:
        ours, theirs = (statistics.median(times[k]) for k in ("whet", "ONNX Runtime"))
        print(f"  whet / ONNX Runtime: {ours / theirs:.2f}")


def timed(runs: dict[str, Callable[[], Any]], calls: int) -> dict[str, list[float]]:
    """The seconds of calls that are made in turn."""
    out: dict[str, list[float]] = {name: [] for name in runs}
    for i in range(calls + WARM):
        for name, call in runs.items():
            start = time.perf_counter()
            call()
            if i >= WARM:
                out[name].append(time.perf_counter() - start)
    return out


def onnx_runtime(path: str, model: Any) -> Callable[[], Any]:
    """A call of ONNX Runtime, on as many threads."""
    if importlib.util.find_spec("onnxruntime") is None:
        raise RuntimeError("ONNX Runtime is not installed: pip install onnxruntime")
    runtime = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = whet.get_num_threads()
    session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [x.name for x in session.get_inputs()]
    if len(names) != len(model.inputs):
        raise ValueError(f"{path} takes {len(names)} inputs, not {len(model.inputs)}")
    feed = dict(zip(names, model.samples.inputs))
    return lambda: session.run(None, feed)
