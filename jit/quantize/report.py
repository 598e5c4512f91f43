"""The report of a quantisation: what happened to each layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .scheme import Scheme

Array = Any


class LayerReport(NamedTuple):
    """One layer: its name, its kind and the user's line. Also the error of its results with all
    layers before it quantised, and with it alone quantised, and the bytes of its weights before and
    after. An error is a root mean square relative to that of the exact results."""

    name: str
    kind: str
    line: str
    error: float
    alone: float
    bytes_before: int
    bytes_after: int


class Report:
    """All layers, in order. `print(report)` shows them as a table.

    >>> import whet
    >>> from whet import nn, quantize
    >>> model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).eval()
    >>> small = quantize.static(model, [whet.randn(32, 8)])
    >>> [layer.name for layer in small.report.layers]
    ['0', '2']
    >>> small.report.bytes_after < small.report.bytes_before
    True
    """

    def __init__(self, layers: Sequence[LayerReport], left: Sequence[str] = ()) -> None:
        self.layers, self.left = list(layers), list(left)

    @property
    def bytes_before(self) -> int:
        """The bytes of all quantised weights, before quantisation."""
        return sum(x.bytes_before for x in self.layers)

    @property
    def bytes_after(self) -> int:
        """The bytes of all quantised weights, with the scales of their rows."""
        return sum(x.bytes_after for x in self.layers)

    def worst(self, count: int = 5) -> list[LayerReport]:
        """The layers with the largest errors of their own."""
        return sorted(self.layers, key=lambda x: -x.alone)[:count]

    def __str__(self) -> str:
        width = max([5, *(len(x.name) for x in self.layers)])
        head = f"{'layer':{width}}  {'kind':12} {'error':>8} {'alone':>8} "
        head += f"{'before':>10} {'now':>10}"
        lines = [head]
        for x in self.layers:
            lines.append(
                f"{x.name:{width}}  {x.kind:12} {x.error:8.2%} {x.alone:8.2%} "
                f"{x.bytes_before:10,} {x.bytes_after:10,}  {x.line}".rstrip()
            )
        lines.append(f"{self.bytes_before:,} bytes of weights are {self.bytes_after:,} now")
        if self.layers:
            hurt = ", ".join(f"{x.name} ({x.alone:.2%})" for x in self.worst(3))
            lines.append(f"largest errors of their own: {hurt}")
        lines += [f"left as it was: {x}" for x in self.left]
        return "\n".join(lines)

    __repr__ = __str__


def report(lowering: Any, env: dict[int, Array]) -> Report:
    """The report of what a lowering made. `env` has the values of the sample in real numbers."""
    found = []
    makers = {o: n for n in lowering.made.nodes for o in n.outs}
    for name, layer, weights, out, y in lowering.layers:
        node, real = makers[int(y)], env[layer.out]
        arrays = [lowering.made.arrays[x] for x in node.refs()]
        x = int(layer.node.ins[0])
        operands = [as_bytes(env[x], lowering.schemes[x]), *arrays[1:5]]
        if layer.added is not None:
            operands.append(as_bytes(env[layer.added], lowering.schemes[layer.added]))
        alone = node.op.forward(*operands, **node.attrs)
        before = lowering.plain.known[int(layer.node.ins[1])]
        after = weights.numbers.nbytes + sum(len(weights.numbers) * a.itemsize for a in arrays[2:5])
        error = distance(as_real(lowering.made.arrays[y], out), real)
        own = distance(as_real(alone, out), real)
        sizes = before.nbytes, after
        found.append(LayerReport(name, layer.node.op.name, layer.node.line, error, own, *sizes))
    return Report(found)


def as_bytes(a: Array, s: Scheme) -> Array:
    """Quantise real numbers. NaN has no byte and may give any."""
    with np.errstate(invalid="ignore"):
        return np.clip(np.rint(a / np.float32(s.scale)) + s.zero, 0, 255).astype("u1")


def as_real(a: Array, s: Scheme | None) -> Array:
    """Dequantise bytes; real numbers stay as they are."""
    return a if s is None else (a.astype("f4") - s.zero) * np.float32(s.scale)


def distance(a: Array, real: Array) -> float:
    """The root mean square of the difference, relative to that of the real numbers."""
    size = float(np.sqrt(np.mean(np.square(real, dtype="f8")))) if real.size else 0.0
    wrong = float(np.sqrt(np.mean(np.square(a.astype("f8") - real)))) if real.size else 0.0
    return wrong / size if size else float(wrong > 0)
