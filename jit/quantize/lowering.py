"""Lowers a floating-point graph to one in which convolutions and linear layers compute with bytes.

    %2 = convolution(%x, %w, %b)                  %q = quantize_u8(%x)
    %3 = add(%2, %y)                        ->    %4 = quantised_conv(%q, ..., %p)    %p: y's bytes
    %4 = relu(%3)

Each value has up to two forms, real numbers and bytes; each form is made when a consumer needs it.
A layer fuses its epilogue, unless another node reads a value in between. The epilogue may be an
addition of a value that exists already, and a function that clips. The layer's results are bytes if
a consumer wants bytes. Max pools and views work on bytes as they are.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from whet.cpu import quantised_weights as packing
from whet.ir.graph import OpNode, Ref
from whet.layouts import contiguous_format
from whet.ops.quantised import QUANTIZE, dequantize_op

from .graph_builder import GraphBuilder
from .plain_graph import PlainGraph, passes_bytes
from .scheme import Scheme, Weights

Array = Any
PRODUCTS = ("linear", "matmul")  # a matrix of weights, whose rows or columns are features


CUTS = {  # clipping ops: the positions of the operands that are the lower and the upper bound
    "clamp": (1, 2),
    "hardtanh": (1, 2),
    "clamp_min": (1, None),
    "maximum": (1, None),
    "clamp_max": (None, 1),
    "minimum": (None, 1),
}


def cut(n: OpNode, plain: PlainGraph) -> tuple[float, float] | None:
    """The bounds between which an op is the identity, if it only clips (as relu does); else
    None."""
    name = n.op.name
    if name in ("relu", "relu6"):
        return 0.0, 6.0 if name == "relu6" else math.inf
    if name not in CUTS or any(plain.number(x) is None for x in n.ins[1:]):
        return None
    numbers = [None, *map(plain.number, n.ins[1:])]
    low, high = (None if i is None else numbers[i] for i in CUTS[name])
    return -math.inf if low is None else low, math.inf if high is None else high


class Layer(NamedTuple):
    """A convolution or linear layer and what is fused into it: a batch norm's factor and shift for
    each row, the value that is added, the clipping bounds. `out` is the value that all of it
    computes."""

    node: OpNode
    taken: list[OpNode]
    norm: tuple[Array, Array]
    added: int | None
    low: float
    high: float
    out: int


class Lowering:
    """Turns a graph into one of bytes. `layers` records the input and the output of each quantised
    layer, for the report."""

    def __init__(self, plain: PlainGraph, leave: Any, per_channel: bool) -> None:
        self.plain, self.leave, self.per_channel = plain, leave, per_channel
        self.shown = {v for v, _ in plain.results}
        self.wanted = self.find_wanted()

    # ---- which values are to be bytes
    def can_be_layer(self, n: Any) -> bool:
        """Can this node become a quantised layer?"""
        if not self.multiplies(n):
            return False
        w, types = n.ins[1], self.plain.graph.types
        bias = n.ins[2] if len(n.ins) > 2 else None
        known = type(w) is Ref and int(w) in self.plain.known
        known = known and (bias is None or self.plain.array(bias) is not None)
        x = types.get(int(n.ins[0]))
        if not known or x is None or x.dtype != np.float32:
            return False
        if n.op.name == "convolution":
            return len(x.shape) == 4
        return len(x.shape) >= 2 and self.plain.known[int(w)].ndim == 2

    def multiplies(self, n: Any) -> bool:
        """Does this node multiply by weights, of whatever type?"""
        return isinstance(n, OpNode) and n.op.name in ("convolution", *PRODUCTS)

    def is_layer(self, n: Any) -> bool:
        """Will this node become a quantised layer?"""
        return self.can_be_layer(n) and not self.leave(self.name(n), n)

    def names(self) -> set[str]:
        """The names of all layers, including those that stay in floating point."""
        return {self.name(n) for n in self.plain.nodes if self.can_be_layer(n)}

    def name(self, n: OpNode) -> str:
        """A layer's name: the name of its weight without the last component."""
        word = self.plain.names.get(int(n.ins[1]), n.op.name)
        parts = [p for p in word.split(".") if p != "folded"]
        return ".".join(parts[:-1]) or word

    def find_wanted(self) -> set[int]:
        """The values that some consumer wants as bytes."""
        found = set(self.plain.schemes)
        for n in reversed(self.plain.nodes):
            if self.is_layer(n) or passes_bytes(n) and not found.isdisjoint(n.outs):
                found.add(int(n.ins[0]))
            elif self.is_sum(n):
                makers = [self.plain.made.get(int(x)) for x in n.refs()]
                found.update(int(x) for x in n.refs() if any(map(self.is_layer, makers)))
        return found - self.plain.known.keys()

    def is_sum(self, n: Any) -> bool:
        """Is this node the sum of two values of one shape?"""
        if not isinstance(n, OpNode) or n.op.name != "add" or len(n.refs()) != 2:
            return False
        a, b = (self.plain.graph.types[int(x)] for x in n.ins)
        return bool(a.shape == b.shape and a.dtype == b.dtype == np.float32)

    def observed(self) -> set[int]:
        """The values whose ranges have to be observed. A pool or a view has the range of its
        operand."""
        made = self.plain.made
        return {v for v in self.wanted if not passes_bytes(made.get(v)) or v not in made}

    def complete(self, schemes: dict[int, Scheme]) -> dict[int, Scheme]:
        """Give every wanted value its scheme."""
        out = dict(schemes)
        for n in self.plain.nodes:
            if passes_bytes(n) and int(n.ins[0]) in out:
                out[n.outs[0]] = out[int(n.ins[0])]
        return out

    # ---- the new graph
    def lower(self, schemes: dict[int, Scheme], sample: Any) -> GraphBuilder:
        """Build the quantised graph and compute it on a sample."""
        plain, g = self.plain, self.plain.graph
        self.made, self.layers = GraphBuilder(g.name), list[Any]()
        self.schemes = self.complete(schemes)
        self.real, self.bytes = dict[int, Ref](), dict[int, Ref]()
        arrays = iter(sample)
        for x in g.inputs:
            if x.place != "constant":
                self.real[int(x.value)] = self.made.add_input(next(arrays), x.place, x.name)
                self.rounded(int(x.value))
        done = set[int]()
        for n in plain.nodes:
            if id(n) in done:
                continue
            layer = self.layer(n) if self.is_layer(n) and int(n.ins[0]) in self.schemes else None
            if layer is not None:
                self.put(layer)
                done.update(map(id, layer.taken))
            elif not self.through(n):
                self.copy(n)
        return self.made

    def layer(self, n: OpNode) -> Layer:
        """Start at a layer's node and collect the nodes that can be fused into it."""
        plain, v, taken, added, low, high = self.plain, n.outs[0], [n], None, -math.inf, math.inf
        norm = np.float64(1), np.float64(0)
        while v not in self.shown and len(plain.users.get(v, ())) == 1:
            (user,) = plain.users[v]
            cuts = isinstance(user, OpNode) and user.ins[0] == v
            bounds = cut(user, plain) if cuts else None
            known = (self.norm(user) or self.shift(n, user)) if len(taken) == 1 else None
            if known is not None:
                norm = known
            elif bounds is not None:
                low, high = max(low, bounds[0]), min(high, bounds[1])
            elif self.is_sum(user) and added is None and low == -high == -math.inf:
                other = [int(x) for x in user.ins if int(x) != v]
                if not other or other[0] not in self.schemes or not self.is_there(other[0]):
                    break
                added = other[0]
            else:
                break
            taken.append(user)
            v = user.outs[0]
        return Layer(n, taken, norm, added, low, high, v)

    def norm(self, n: Any) -> tuple[Array, Array] | None:
        """The factor and the shift of a batch norm with constant statistics, for each channel."""
        if not isinstance(n, OpNode) or n.op.name != "batch_norm_eval":
            return None
        numbers = [self.plain.array(x) for x in n.ins[1:]]
        if any(a is None for a in numbers):
            return None
        mean, invstd, weight, bias = (np.asarray(a, "f8").reshape(-1) for a in numbers)
        return invstd * weight, bias - mean * invstd * weight

    def shift(self, n: OpNode, user: Any) -> tuple[Array, Array] | None:
        """What a node adds to each feature of a product, as a batch norm whose factor is 1."""
        if n.op.name not in PRODUCTS or not isinstance(user, OpNode) or user.op.name != "add":
            return None
        other = [a for a in map(self.plain.array, user.ins) if a is not None]
        features = len(self.rows(n))
        if len(user.ins) != 2 or len(other) != 1 or other[0].size != features:
            return None
        if other[0].shape[-1:] != (features,) or other[0].dtype != np.float32:
            return None
        return np.float64(1), other[0].reshape(-1).astype("f8")

    def rows(self, n: OpNode) -> Array:
        """The weights of a layer, one row for each output feature."""
        w = self.plain.known[int(n.ins[1])]
        return w.T if n.op.name == "matmul" else w

    def is_there(self, v: int) -> bool:
        """Has this value been computed already?"""
        return v in self.real or v in self.bytes

    def put(self, layer: Layer) -> None:
        """Add the node of a quantised layer and its constants."""
        n, made = layer.node, self.made
        x = int(n.ins[0])
        out = self.schemes.get(layer.out) if layer.out in self.wanted else None
        weights = self.weights(n)
        parameters, tail = numbers(weights, self.bias(n), self.schemes[x], out, layer, self.schemes)
        features, linear = len(weights.numbers), n.op.name in PRODUCTS
        window = None if linear else window_of(n, weights, self.schemes[x].zero)
        packed = (
            packing.pack(weights.numbers[None])
            if window is None
            else packing.pack_window(weights.numbers, window)
        )
        name = self.name(n)
        held = [made.constant(packed, f"{name}.weight")]
        held += [
            made.constant(packing.by_feature(p, packed), f"{name}.{what}")
            for what, p in zip(("shift", "scale", "bias"), parameters)
        ]
        operands = (self.as_bytes(x), *held)
        operands += () if layer.added is None else (self.as_bytes(layer.added),)
        attrs = dict(features=features, **({} if window is None else window._asdict()), **tail)
        op = "quantised_linear" if linear else "quantised_conv"
        y = made.op(op, *operands, line=n.line, **attrs)
        (self.real if out is None else self.bytes)[layer.out] = y
        self.layers.append((name, layer, weights, out, y))

    def weights(self, n: OpNode) -> Weights:
        """A layer's weights as bytes: those that the model states, or its real ones rounded."""
        known = self.plain.columns if n.op.name == "matmul" else self.plain.weights
        said = known.get(int(n.ins[1]))
        return Weights.of(self.rows(n), self.per_channel) if said is None else said

    def bias(self, n: OpNode) -> Array:
        """A layer's bias; zeros if it has none."""
        bias = None if len(n.ins) < 3 or n.ins[2] is None else self.plain.array(n.ins[2])
        return np.zeros(len(self.rows(n))) if bias is None else bias.astype("f8")

    def through(self, n: Any) -> bool:
        """Compute a pool or a view on bytes, if its operand exists as bytes with a suitable layout.
        False if it does not."""
        if not passes_bytes(n) or int(n.ins[0]) not in self.bytes or n.outs[0] not in self.wanted:
            return False
        try:
            (made,) = self.made.node(n, (self.bytes[int(n.ins[0])], *n.ins[1:]))
        except (RuntimeError, ValueError):
            return False
        self.bytes[n.outs[0]] = made
        return True

    def copy(self, n: Any) -> None:
        """Copy a node unchanged, in floating point."""
        ins = tuple(self.as_real(int(x)) if type(x) is Ref else x for x in n.ins)
        self.real.update(zip(n.outs, self.made.node(n, ins)))
        for v in n.outs:
            self.rounded(v)

    def rounded(self, v: int) -> None:
        """Replace a value that the graph itself quantises by the values its bytes represent."""
        if v in self.plain.schemes:
            self.as_bytes(v)
            del self.real[v]

    # ---- forms
    def as_bytes(self, v: int) -> Ref:
        """A value as bytes."""
        if v not in self.bytes:
            s = self.schemes[v]
            op = QUANTIZE[_uint8()]
            self.bytes[v] = self.made.op(op, self.as_real(v), s.scale, s.zero)
        return self.bytes[v]

    def as_real(self, v: int) -> Ref:
        """A value as real numbers, with the layout it has in the graph."""
        if v not in self.real:
            if v in self.plain.known:
                name = self.plain.names.get(v, "constant")
                self.real[v] = self.made.constant(self.plain.known[v], name)
                return self.real[v]
            s, made = self.schemes[v], self.made
            y = made.op(dequantize_op, self.bytes[v], s.scale, s.zero)
            self.real[v] = self.row_major(v, y)
        elif v not in self.plain.known:
            self.real[v] = self.row_major(v, self.real[v])
        return self.real[v]

    def row_major(self, v: int, y: Ref) -> Ref:
        """A value with its elements in row-major order, if they are so in the graph."""
        t = self.plain.graph.types.get(v)
        if t is None or not t.contiguous or self.made.arrays[y].flags.c_contiguous:
            return y
        return self.made.op("clone_format", y, memory_format=contiguous_format)


def _uint8() -> Any:
    from whet.dtypes import uint8

    return uint8


def window_of(n: OpNode, weights: Weights, blank: int) -> packing.Window:
    """The window of a convolution: how its taps are placed."""
    at = n.attrs
    taps = weights.numbers.shape[2:]
    return packing.Window(taps, at["stride"], at["padding"], at["dilation"], at["groups"], blank)


def numbers(
    weights: Weights,
    bias: Array,
    x: Scheme,
    out: Scheme | None,
    layer: Layer,
    schemes: dict[int, Scheme],
) -> tuple[list[Array], dict[str, Any]]:
    """A layer's shift, scale and bias, and the constants of its epilogue."""
    unit = 1.0 if out is None else out.scale
    flat = weights.numbers.reshape(len(weights.numbers), -1).astype("i8")
    shift = (-x.zero * flat.sum(1)).astype("i4")
    factor, more = layer.norm
    scale = x.scale * weights.scales.astype("f8") * factor / unit
    bias = (bias * factor + more) / unit
    added = 0.0
    if layer.added is not None:
        s = schemes[layer.added]
        added = float(np.float32(s.scale / unit))
        bias = bias - s.zero * (s.scale / unit)
    low, high, zero = layer.low / unit, layer.high / unit, None
    if out is not None:
        zero = out.zero
        low, high = min(max(low, -zero), 255 - zero), max(min(high, 255 - zero), -zero)
    limits = {k: float(np.float32(v)) for k, v in (("low", low), ("high", high))}
    tail = dict(**limits, zero=zero, residual_scale=added, unit=unit)
    return [shift, scale.astype("f4"), bias.astype("f4")], tail
