"""Reads an exported graph for the quantiser. Constant expressions are folded. Numbers that are
quantised and dequantised in the graph (by `QuantizeLinear` and `DequantizeLinear` of a file, or by
`fake_quantize`) are replaced by the numbers themselves, and their schemes are noted."""

from __future__ import annotations

from typing import Any

import numpy as np
from whet.ir.graph import Graph, OpNode, Ref
from whet.ir.values import Type
from whet.passes.value_uses import is_view

from .scheme import Scheme, Weights

Array = Any
SIGNED = 128  # added to a signed byte, gives the unsigned byte that is stored
TO_BYTES = {"quantize_u8": 0, "quantize_i8": SIGNED}
RANGES = {(0, 255): 0, (-128, 127): SIGNED, (-127, 127): SIGNED}


THROUGH = ("max_pool_values",)  # ops besides views that only compare elements and move them


def passes_bytes(n: Any) -> bool:
    """Does a node treat bytes as it treats numbers?"""
    through = isinstance(n, OpNode) and (n.op.name in THROUGH or n.op.is_view)
    return through and len(n.refs()) == 1


def scheme_of(scale: Array, zero: Array, more: int) -> Scheme:
    """The scheme of one scale and zero point. `more` is added to the zero point: 128 for signed
    bytes."""
    return Scheme(float(scale), int(zero) + more)


class PlainGraph:
    """The nodes that remain, with arrays of `known` values, `schemes` of activations, and `weights`
    by value. `columns` are matrices whose columns are features."""

    def __init__(self, g: Graph, constants: dict[str, Array]) -> None:
        self.graph, self.nodes = g, list[Any]()
        self.names = {int(x.value): x.name for x in g.inputs}
        constant = [x for x in g.inputs if x.place == "constant"]
        self.known: dict[int, Array] = {int(x.value): constants[x.name] for x in constant}
        self.schemes = dict[int, Scheme]()
        self.weights, self.columns = dict[int, Weights](), dict[int, Weights]()
        self.made: dict[int, Any] = {}
        self.reals: dict[tuple[int, int], Ref] = {}  # see `of_reals`
        self.stands: dict[int, int] = {}  # value -> the value in whose place it was
        for n in g.nodes:
            self.take(n.renamed(self.stands))
        self.results = [(self.stands.get(v, v), name) for v, name in g.results]
        self.nodes = self.read({int(v) for v, _ in self.results})
        self.users: dict[int, list[Any]] = {}
        for n in self.nodes:
            for x in n.refs():
                self.users.setdefault(int(x), []).append(n)

    def read(self, wanted: set[int]) -> list[Any]:
        """The nodes needed to compute the wanted values."""
        found = []
        for n in reversed(self.nodes):
            if not isinstance(n, OpNode) or not wanted.isdisjoint(n.outs):
                found.append(n)
                wanted.update(map(int, n.refs()))
        return found[::-1]

    def number(self, x: Any) -> float | None:
        """The value of an operand that must be a known number."""
        a = x if type(x) is Ref or isinstance(x, int | float) else None
        found = None if a is None else self.array(a)
        return float(found.reshape(())) if found is not None and found.size == 1 else None

    def take(self, n: Any) -> None:
        """Read the next node of the exported graph."""
        self.made.update((o, n) for o in n.outs)
        if isinstance(n, OpNode) and (self.dequantized(n) or self.faked(n) or self.computed(n)):
            return
        self.nodes.append(n)

    def array(self, x: Any) -> Array | None:
        """The array of an operand that is a number or a constant; None if it is not known."""
        return self.known.get(int(x)) if type(x) is Ref else np.asarray(x)

    def dequantized(self, n: OpNode) -> bool:
        """Read a dequantisation: of weights, or of something that was quantised before. False if
        the node has to stay."""
        if n.op.name != "dequantize":
            return False
        x, scale, zero = n.ins[0], self.array(n.ins[1]), self.array(n.ins[2])
        if scale is None or zero is None:
            return False
        bytes_ = self.array(x)
        if bytes_ is not None:
            self.known[n.outs[0]] = n.op.forward(bytes_, scale, zero)
            self.keep_weights(n.outs[0], bytes_.astype("i8") - zero, scale)
            return True
        chain = [self.made.get(int(x))]
        while chain[-1] is not None and passes_bytes(chain[-1]):
            chain.append(self.made.get(int(chain[-1].ins[0])))
        *between, first = chain
        if first is None or first.op is None or first.op.name not in TO_BYTES or scale.size != 1:
            return False
        for v, wanted in zip(first.ins[1:], (scale, zero)):
            a = self.array(v)
            if a is None or a.size != 1 or a != wanted:
                return False
        more = TO_BYTES[first.op.name]
        real = first.ins[0]
        scheme = scheme_of(scale, zero, more)
        if self.schemes.setdefault(int(real), scheme) != scheme:
            return False
        for node in reversed(between):
            real = self.of_reals(node, real)
        return self.stood(n, real, scale, zero, more)

    def of_reals(self, n: OpNode, x: Ref) -> Ref:
        """Compute a pool or a view of bytes on the real numbers that the bytes represent."""
        known = self.reals.get((n.outs[0], int(x)))
        if known is None:
            known = self.reals[n.outs[0], int(x)] = Ref(max(self.graph.types) + 1)
            self.graph.types[known] = Type(np.dtype(np.float32), self.graph.types[n.outs[0]].shape)
            self.take(OpNode(n.op, (x, *n.ins[1:]), n.attrs, [int(known)], n.line))
        return known

    def stood(self, n: OpNode, x: Ref, scale: Array, zero: Array, more: int) -> bool:
        """Let x stand for the result of a node, and note its scheme. False if x has another scheme
        already."""
        scheme = scheme_of(scale, zero, more)
        if self.schemes.setdefault(int(x), scheme) != scheme:
            return False
        self.stands[n.outs[0]] = int(x)
        return True

    def faked(self, n: OpNode) -> bool:
        """Read a fake quantisation: note its scheme and use its operand. False if the node has to
        stay."""
        if n.op.name != "fake_quantize":
            return False
        x, *said = n.ins
        numbers = [self.array(v) for v in said]
        scale, zero, low, high = (np.zeros(()) if a is None else a for a in numbers)
        if any(a is None for a in numbers):
            return False
        more = RANGES.get((int(low), int(high)))
        real = self.array(x)
        if real is not None:
            self.known[n.outs[0]] = n.op.forward(real, scale, zero, low, high)
            q = np.clip(np.rint(real / scale) + zero, low, high) - zero
            self.keep_weights(n.outs[0], q, scale)
            return True
        return more is not None and scale.size == 1 and self.stood(n, x, scale, zero, more)

    def keep_weights(self, value: int, numbers: Array, scale: Array) -> None:
        """Note the bytes of weights that a model states, if they fit and their scales go by row or
        by column."""
        if not numbers.ndim or not -128 <= numbers.min(initial=0) <= numbers.max(initial=0) <= 127:
            return
        for kept, found, axis in ((self.weights, numbers, 0), (self.columns, numbers.T, -1)):
            rows = len(found)
            if rows and (scale.size == 1 or scale.size == rows == scale.shape[axis]):
                scales = np.broadcast_to(scale.reshape(-1), (rows,)).astype("f4")
                kept[value] = Weights(np.ascontiguousarray(found, "i1"), scales)

    def computed(self, n: OpNode) -> bool:
        """Fold a node whose operands are all constants. False if they are not."""
        if not n.op.pure and not is_view(n) or n.op.random or n.op.may_fail:
            return False
        arrays = [self.array(x) if type(x) is Ref else x for x in n.ins]
        if any(a is None and type(x) is Ref for a, x in zip(arrays, n.ins)):
            return False
        with np.errstate(all="ignore"):
            made = n.op.forward(*arrays, **n.attrs)
        made = made if type(made) is tuple else (made,)
        self.known.update((o, np.asarray(a)) for o, a in zip(n.outs, made))
        name = next((self.names[int(x)] for x in n.refs() if int(x) in self.names), n.op.name)
        self.names.update((o, name) for o in n.outs)
        return True
