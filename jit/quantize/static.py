"""`quantize.static`, and `quantize.convert` for models that state how they are quantised. Both turn
a function or module into an exported function that computes with bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from whet import nn
from whet.autograd.modes import warn
from whet.ir.interpret import interpret, step
from whet.tensor import Tensor

from ..export.export import ExportRuns
from ..export.exported import Exported, Samples
from ..export.graph_values import inputs, results
from ..export.signature import Signature
from ..export.simplify import Simplified
from .calibrators import maker
from .layers import FakeQuantize
from .lowering import Lowering
from .plain_graph import PlainGraph
from .report import Report, report
from .scheme import Scheme

Array = Any


class Quantised(Exported):
    """The result of `static` and `convert`: an exported function (`whet.jit.export.Exported`) whose
    convolutions and linear layers compute with bytes. It is called as the original was. It can be
    saved, compiled and written as ONNX. `report` describes each layer."""

    report: Report


class RecordedModel:
    """A recorded call of the model to be quantised."""

    def __init__(self, model: Any, args: tuple[Any, ...], rewrites: tuple[str, ...]) -> None:
        runs = ExportRuns(model, rewrites, args, {})
        self.run, _ = runs.first()
        self.name = getattr(model, "__name__", type(model).__name__)
        made = Simplified(self.run, self.name, rewrites, fold=False)
        self.notes, self.parameters = made.rewrites, runs.parameters
        self.plain = PlainGraph(made.graph, made.constants)

    @property
    def sample(self) -> list[Array]:
        """The input arrays of the recorded call."""
        return list(self.run.input_arrays)

    def values(self, arrays: Sequence[Array]) -> dict[int, Array]:
        """The real number of each value when the model is called with these arrays. Where the model
        itself states that something is bytes, clipping at their range often stands for an
        activation, so it is applied."""
        g = self.plain.graph
        env: dict[Any, Array] = dict(self.plain.known)
        inputs = [x for x in g.inputs if x.place != "constant"]
        for x, a in zip(inputs, arrays, strict=True):
            env[x.value] = a
        with np.errstate(all="ignore"):
            for n in self.plain.nodes:
                step(n, env, g.types, [])
                for v in n.outs:
                    if v in self.plain.schemes:
                        scheme = self.plain.schemes[v]
                        env[v] = np.clip(env[v], np.float32(scheme.low), np.float32(scheme.high))
        return env

    def calls(self, arrays: Sequence[Array]) -> Iterator[list[Array]]:
        """Cut these arrays into calls of the recorded sizes. A larger batch is split. The last part
        is filled up with its own first rows if it is too small."""
        g = self.plain.graph
        inputs = [(x, g.types[x.value]) for x in g.inputs if x.place != "constant"]
        for (x, t), a in zip(inputs, arrays, strict=True):
            if a.dtype != t.dtype or a.shape[1:] != t.shape[1:] or a.ndim != len(t.shape):
                raise ValueError(
                    f"calibration data: `{x.name}` is {a.dtype}{list(a.shape)}, but was {t} in the "
                    "first call; only the first size, that of a batch, may differ"
                )
        if all(a.shape == t.shape for (_, t), a in zip(inputs, arrays)):
            yield list(arrays)
            return
        count, size = batch([a.shape for a in arrays]), batch([t.shape for _, t in inputs])
        for first in range(0, count, size):
            rows = np.arange(first, first + size)
            rows = np.where(rows < count, rows, first + (rows - first) % (count - first))
            yield [a[rows] for a in arrays]

    def quantised(self, schemes: dict[int, Scheme], lowering: Lowering) -> Quantised:
        """The exported function that computes with bytes."""
        plain = self.plain
        made = lowering.lower(schemes, self.sample)
        found = [(lowering.as_real(v), name) for v, name in plain.results]
        g = made.graph([(int(v), name) for v, name in found])
        sizes: list[Any] = [None] * len(found)
        signature = Signature(self.parameters, self.run.output, inputs(g), results(g, sizes))
        held = {x.name: made.held[x.name] for x in g.inputs if x.place == "constant"}
        constants = [held[x.name] for x in g.inputs if x.place == "constant"]
        samples = Samples(self.sample, interpret(g, *self.sample, *constants))
        notes = [*self.notes, f"made {len(lowering.layers)} layers compute with bytes"]
        out = Quantised(self.name, g, held, signature, notes, samples)
        out.verify()
        out.report = report(lowering, self.values(self.sample))
        return out


def batch(shapes: Sequence[tuple[int, ...]]) -> int:
    """The first size of these shapes, which must be common to all."""
    found = {s[0] for s in shapes if s}
    if len(found) != 1 or 0 in found or not all(shapes):
        raise ValueError(
            "calibration data: batches may differ in size where all arguments begin with that size "
            f"alone, not {', '.join(map(str, shapes))}"
        )
    return found.pop()


def arguments(item: Any) -> tuple[Any, ...]:
    """The arguments of a call, from an item of calibration data."""
    return tuple(item) if isinstance(item, tuple | list) else (item,)


def leaving(leave: Iterable[str] | Callable[[str], bool]) -> Callable[[str, Any], bool]:
    """A function that says whether the layer of a name is to stay as it is."""
    if callable(leave):
        return lambda name, _: bool(leave(name))
    names = frozenset([leave] if isinstance(leave, str) else leave)
    return lambda name, _: name in names


def _first_and_rest(data: Iterable[Any]) -> tuple[Any, Iterator[Any]]:
    """The arguments of the first call, and an iterator over those of the others."""
    if isinstance(data, Tensor):
        raise TypeError("static(): data are the arguments of calls; for one call write [x]")
    calls = iter(data)
    first = next(calls, None)
    if first is None:
        raise ValueError("static(): there are no calibration data")
    return first, calls


def static(
    model: Any,
    data: Iterable[Any],
    *,
    calibrate: Any = "minmax",
    symmetric: bool = False,
    per_channel: bool = True,
    leave: Iterable[str] | Callable[[str], bool] = (),
) -> Quantised:
    """Quantise the convolutions and linear layers of a function or module. Weights are rounded now;
    inputs are rounded in each call, by the ranges that they had in `data`.

    `data` gives the arguments of calls: tensors, or tuples of what a call takes. The first is the
    example that is recorded, as by `whet.export`; others may have batches of other sizes.
    `calibrate` is "minmax", "percentile", "entropy" (see `calibrators.py`), or a function that
    makes a calibrator. `symmetric` gives zero the middle byte. `per_channel=False` rounds all rows
    of a weight by one scale. `leave` names layers that stay as they are (as `report` has them), or
    is a function of names.

    What follows a layer goes into it: batch norm, activations that cut off, the addition of a
    residual. The rest is computed with real numbers.

    >>> import whet
    >>> from whet import nn, quantize
    >>> model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).eval()
    >>> data = [whet.randn(32, 8) for _ in range(4)]
    >>> small = quantize.static(model, data)
    >>> bool((small(data[0]) - model(data[0])).abs().max() < 0.1)
    True
    """
    make = maker(calibrate)
    first, calls = _first_and_rest(data)
    recording = RecordedModel(model, arguments(first), ("fold_batch_norm",))
    lowering = Lowering(recording.plain, leaving(leave), per_channel)
    check_names(leave, lowering)
    warn_of_types(recording, lowering)
    seen = {v: make() for v in lowering.observed() if v not in recording.plain.schemes}

    def look(arrays: Sequence[Array]) -> None:
        for call in recording.calls(arrays):
            env = recording.values(call)
            for v, calibrator in seen.items():
                calibrator.see(env[v])

    look(recording.sample)
    for item in calls:
        look([x._array for x in tensors(arguments(item))])
    schemes = {v: scheme_of(c, symmetric) for v, c in seen.items()}
    return recording.quantised(schemes | recording.plain.schemes, lowering)


def warn_of_types(recording: RecordedModel, lowering: Lowering) -> None:
    """Warn where layers stay as they are because their numbers are not float32."""
    types, found = recording.plain.graph.types, dict[str, str]()
    for n in recording.plain.nodes:
        if lowering.multiplies(n) and int(n.ins[0]) in types:
            t = types[int(n.ins[0])]
            if t.dtype != np.float32:
                found[lowering.name(n)] = str(t.dtype)
    if found:
        left = ", ".join(f"`{name}` ({t})" for name, t in found.items())
        warn(
            f"static(): bytes are made of float32 alone; these stay as they are: {left}. "
            "Call model.float() before",
            stacklevel=3,
        )


def scheme_of(calibrator: Any, symmetric: bool) -> Scheme:
    """The scheme for the range that a calibrator has chosen."""
    low, high = calibrator.bounds()
    return Scheme.of(low, high, symmetric)


def check_names(leave: Any, lowering: Lowering) -> None:
    """Raise ValueError for names in `leave` that no layer has."""
    if callable(leave):
        return
    known = lowering.names()
    unknown = sorted({leave} - known if isinstance(leave, str) else set(leave) - known)
    if unknown:
        raise ValueError(
            f"leave: there is no layer {', '.join(map(repr, unknown))}; there are "
            f"{', '.join(sorted(known)) or 'none'}"
        )


def check_learnt(model: Any, recording: RecordedModel) -> None:
    """Raise ValueError if a model does not state how it is quantised."""
    layers = model.named_modules() if isinstance(model, nn.Module) else ()
    for name, m in layers:
        if isinstance(m, FakeQuantize) and m.low.item() > m.high.item():
            raise ValueError(
                f"convert(): `{name}` has seen no numbers in training; "
                "call the model in training mode first"
            )
    if not recording.plain.schemes:
        raise ValueError(
            f"convert(): nothing in {recording.name} says how it is quantised; "
            "call quantize.qat before its training, or quantize.static"
        )


def tensors(x: Any) -> list[Tensor]:
    """The tensors in a call's arguments, in order."""
    if isinstance(x, Tensor):
        return [x]
    parts = x.values() if isinstance(x, dict) else x if isinstance(x, tuple | list) else ()
    return [t for part in parts for t in tensors(part)]


def convert(
    model: Any,
    *args: Any,
    leave: Iterable[str] | Callable[[str], bool] = (),
) -> Quantised:
    """Turn a model that states how it is quantised into one that computes with bytes. That is a
    model that `quantize.qat` has prepared, or an ONNX model with `QuantizeLinear` and
    `DequantizeLinear` around its operators. It is recorded in a run on the example arguments.

    >>> import whet
    >>> from whet import nn, quantize
    >>> def said(x, w=whet.randn(4, 8)):
    ...     x = quantize.dequantize_linear(quantize.quantize_linear(x, 0.05, 128), 0.05, 128)
    ...     w = whet.fake_quantize_per_tensor_affine(w, 0.02, 0, -127, 127)
    ...     return nn.functional.linear(x, w)
    >>> x = whet.randn(3, 8)
    >>> small = quantize.convert(said, x)
    >>> bool((small(x) - said(x)).abs().max() < 1e-5)
    True
    """
    recording = RecordedModel(model, args, ())
    check_learnt(model, recording)
    lowering = Lowering(recording.plain, leaving(leave), per_channel=True)
    check_names(leave, lowering)
    return recording.quantised(recording.plain.schemes, lowering)
