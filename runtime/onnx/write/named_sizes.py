"""Sizes with names: which sizes of a model's inputs may differ, and what follows for the others.

The function is recorded at several sizes. Where its recordings differ in numbers alone, each number
is an expression of the named sizes, found from some recordings and held to the others: a size that
does not follow is an error that names the line. A size that is a constant by accident is found so.
"""

from __future__ import annotations

import importlib
import itertools
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from whet.ir.graph import Graph, Node, OpNode, Write
from whet.ir.sample_sizes import products, weights
from whet.ir.values import Type

from ..errors import OnnxError

HELD = 2  # the last recordings, which expressions are held to and not found from
ENOUGH = 3  # different numbers that a size of its own must have been, to be found in other sizes
# of a node: place in it -> the expression that the number there is known to be, and the number in
# each recording
Formulas: TypeAlias = "Mapping[tuple[Any, ...], tuple[str, tuple[int, ...]]]"


class Expression:
    """A size as an expression of named ones: sums of products of these, divided by a number.
    `seen`: what it is in each recording, where that is known."""

    def __init__(
        self, terms: Mapping[tuple[str, ...], Fraction], seen: Sequence[Fraction] = ()
    ) -> None:
        self.terms, self.seen = {k: c for k, c in terms.items() if c}, tuple(seen)

    def __call__(self, sizes: Mapping[str, int]) -> Fraction:
        """What it is for some sizes."""
        total = Fraction(0)
        for names, c in self.terms.items():
            for name in names:
                c = c * sizes[name]
            total += c
        return total

    def __str__(self) -> str:
        below = math.lcm(*[c.denominator for c in self.terms.values()])
        parts = [
            "*".join([*([str(c * below)] if c * below != 1 or not names else []), *names])
            for names, c in self.terms.items()
        ]
        said = "+".join(parts) or "0"
        return f"({said})//{below}" if below != 1 else said

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.terms.items())))

    def __add__(self, other: Any) -> Expression:
        more: Mapping[tuple[str, ...], Fraction] = (
            other.terms if isinstance(other, Expression) else {(): Fraction(other)}
        )
        return Expression(
            {
                k: self.terms.get(k, Fraction(0)) + more.get(k, Fraction(0))
                for k in [*self.terms, *(k for k in more if k not in self.terms)]
            },
            self._with(other),
        )

    __radd__ = __add__

    def _with(self, other: Any) -> list[Fraction]:
        """What the sum with another is in each recording."""
        others = other.seen if isinstance(other, Expression) else (other,) * len(self.seen)
        return [a + b for a, b in zip(self.seen, others)]

    def __mul__(self, by: int) -> Expression:
        return Expression({k: c * by for k, c in self.terms.items()}, [n * by for n in self.seen])

    __rmul__ = __mul__

    def __neg__(self) -> Expression:
        return self * -1

    def __sub__(self, other: Any) -> Any:
        made = self + -other
        if len(set(made.seen)) == 1:  # parts of sizes that do not cancel, and are the same
            return int(made.seen[0])
        return made.constant if set(made.terms) <= {()} else made

    def __rsub__(self, other: Any) -> Expression:
        return -self + other

    @property
    def constant(self) -> int:
        """The number that it is for all sizes."""
        return int(self.terms.get((), 0))


@dataclass
class Dynamic:
    """For each input (by its place) the names of its sizes that may differ, by axis. `declared`:
    name -> the `Dim` that states its bounds."""

    inputs: dict[int, dict[int, str]]
    declared: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def of_torch(
        exported: Any,
        names: Sequence[str],
        results: Sequence[str],
        axes: Mapping[str, Any] | None,
        shapes: Any,
    ) -> Dynamic:
        """From the arguments `dynamic_axes` and `dynamic_shapes`. Sizes of results follow from
        those of inputs, so that what is said of them is left; other names are warned of."""
        found: dict[int, dict[int, str]] = {}
        declared: dict[str, Any] = {}
        if unknown := [repr(name) for name in axes or () if name not in {*names, *results}]:
            warnings.warn(
                f"export(): dynamic_axes has {', '.join(unknown)}, which no size is taken from: "
                f"the inputs are {', '.join(names)}, the results {', '.join(results)}",
                stacklevel=3,
            )
        for name, axes_of_one in (axes or {}).items():
            if name in names:
                at = names.index(name)
                named = (
                    axes_of_one
                    if isinstance(axes_of_one, Mapping)
                    else {d: f"{name}_dim_{d}" for d in axes_of_one}
                )
                found[at] = {_axis(exported, at, d): str(n) for d, n in named.items()}
        for at, shape in enumerate(_flat_shapes(exported, shapes)):
            named = shape if isinstance(shape, Mapping) else dict(enumerate(shape or ()))
            chosen = {d: _size_name(names[at], d, n) for d, n in named.items() if n is not None}
            found.setdefault(at, {}).update({_axis(exported, at, d): n for d, n in chosen.items()})
            declared.update((n, named[d]) for d, n in chosen.items() if hasattr(named[d], "max"))
        return Dynamic(
            {
                at: {d: identifier(n) for d, n in named.items()}
                for at, named in found.items()
                if named
            },
            {identifier(n): dim for n, dim in declared.items()},
        )

    @property
    def names(self) -> list[str]:
        """All names, once each."""
        return list(dict.fromkeys(n for axes in self.inputs.values() for n in axes.values()))

    def dims(self, exported: Any, most: int = 1) -> Any:
        """The sizes with their bounds. One without stated bounds is a multiple of what its
        size in the example and `most` have in common."""
        dims, jit = map(importlib.import_module, ("whet.jit.export.dims", "whet.jit"))
        example, names = self.sizes(exported), self.names
        bounded = [self.bounded(jit.Dim, n, math.gcd(example[n], most)) for n in names]
        places = {at: {axis: names.index(n) for axis, n in axes.items()}
                  for at, axes in self.inputs.items()}
        return dims.Dims(bounded, places, [example[n] for n in names])

    def bounded(self, kind: Any, name: str, multiple: int) -> Any:
        """A size with its bounds, as whet states them."""
        said = self.declared.get(name)
        if said is None:
            return kind(name, multiple=multiple)
        most = said.max if isinstance(said.max, int) else None
        return kind(name, min=getattr(said, "min", None) or 0, max=most,
                    multiple=getattr(said, "multiple", 1))

    def sizes(self, exported: Any) -> dict[str, int]:
        """What the named sizes are in the example call."""
        found: dict[str, int] = {}
        for at, axes in self.inputs.items():
            for d, name in axes.items():
                n = exported.inputs[at].type.shape[d]
                if found.setdefault(name, n) != n:
                    raise OnnxError(
                        f"the size `{name}` is both {found[name]} and {n} in the example"
                    )
        return found


def identifier(name: str) -> str:
    """The name of a size as expressions may have it."""
    made = "".join(c if c.isalnum() else "_" for c in name)
    return made if made.isidentifier() else f"n_{made}"


def _size_name(name: str, axis: int, said: Any) -> str:
    """The name of a size: a text, a `Dim`, or one that is made."""
    if isinstance(said, str):
        return said
    own = getattr(said, "name", None) or getattr(said, "__name__", None)
    return own if isinstance(own, str) and own not in ("AUTO", "DYNAMIC") else f"{name}_dim_{axis}"


def _axis(exported: Any, at: int, axis: int) -> int:
    ndim = len(exported.inputs[at].type.shape)
    if not -ndim <= axis < ndim:
        raise OnnxError(f"input `{exported.inputs[at].name}` has no axis {axis}")
    return axis % ndim


def _flat_shapes(exported: Any, shapes: Any) -> list[Any]:
    """For each input what is said of its shape: nested as the arguments are."""
    if not shapes:
        return []
    found: list[Any] = [None] * len(exported.inputs)
    parameters = exported.signature.parameters
    by_name = (
        shapes if isinstance(shapes, Mapping) else dict(zip((p.name for p in parameters), shapes))
    )
    for p in parameters:
        if p.name in by_name:
            _spread(p.part, by_name[p.name], found)
    return found


def _spread(part: Any, shape: Any, found: list[Any]) -> None:
    if shape is None:
        return
    if hasattr(part, "index"):
        found[part.index] = shape
        return
    leaves = list(part.leaves())
    if isinstance(shape, Mapping) and any(isinstance(k, str) for k in shape):
        for leaf in leaves:
            if leaf.name.split(".")[-1] in shape:
                _spread(leaf, shape[leaf.name.split(".")[-1]], found)
    else:
        for leaf, one in zip(leaves, shape):
            _spread(leaf, one, found)


# ---- several recordings as one --------------------------------------------
class Recordings:
    """Graphs of one function at several sizes, and the expressions that their numbers follow."""

    def __init__(
        self,
        sizes: Sequence[Mapping[str, int]],
        graphs: Sequence[Graph],
        constants: Sequence[Mapping[str, Any]],
        names: Sequence[str],
        formulas: Mapping[int, Formulas] | None = None,
    ) -> None:
        """`formulas`: of nodes, by their places."""
        self.sizes, self.graphs, self.names = list(sizes), list(graphs), list(names)
        self.constants = list(constants)
        self.choices, self.fits = list(products(names)), list[Fit]()
        self.known: dict[tuple[Any, ...], Expression] = {}
        self.formulas = formulas or {}

    def merged(self) -> Graph:
        """The graph, with expressions in the place of numbers that differ."""
        first = self.graphs[0]
        for name, array in self.constants[0].items():
            for other, sizes in zip(self.constants[1:], self.sizes[1:]):
                if name not in other or other[name].tobytes() != array.tobytes():
                    raise OnnxError(f"the constant `{name}` is another where {self.said(sizes)}")
        kinds = [[kind_of(n) for n in g.nodes] for g in self.graphs]
        for found, sizes in zip(kinds[1:], self.sizes[1:]):
            if found != kinds[0]:
                at = next((i for i, (a, b) in enumerate(zip(kinds[0], found)) if a != b), -1)
                line = first.nodes[at].line
                raise OnnxError(f"{line}: the function goes another way where {self.said(sizes)}")
        made = {o for n in first.nodes for o in n.outs}
        types = {v: self.type(v) for v in first.types if v not in made}
        nodes = []
        # a node may name sizes made before it
        for i, ns in enumerate(zip(*[g.nodes for g in self.graphs])):
            nodes.append(self.node(self.formulas.get(i, {}), *ns))
            types.update((o, self.type(o)) for o in ns[0].outs)
        return Graph(nodes, types, first.inputs, first.results, first.name)

    def said(self, sizes: Mapping[str, int]) -> str:
        """Some sizes in words."""
        return ", ".join(f"{k} is {v}" for k, v in sizes.items()) or "the data are others"

    def type(self, value: int) -> Type:
        """The type of a value."""
        return self.type_of([g.types[value] for g in self.graphs])

    def type_of(self, ts: Sequence[Type]) -> Type:
        """The type of a value that is of these in the recordings."""
        shape = [self.size(ns) for ns in zip(*[t.shape for t in ts])]
        if all(isinstance(n, int) for n in shape):
            return ts[0]
        return Type.of_expressions(ts[0].dtype, shape)

    def size(self, ns: tuple[int, ...]) -> Any:
        """A size of a value. One that is rounded, as that of a window's results, is no expression:
        it has a name of its own, and is read off the value."""
        if len(set(ns)) == 1:
            return ns[0]
        try:
            return self.expression(ns, "a size")
        except OnnxError:
            if (text := self.formula_of(ns)) is not None:
                return formula(text, ns)
            free = (f"size_{k}" for k in itertools.count())
            taken = {*self.names, *map(str, self.known.values())}
            name = next(n for n in free if n not in taken)
            self.known[ns] = Expression({(name,): Fraction(1)}, as_fractions(ns))
            return self.known[ns]

    def formula_of(self, ns: tuple[int, ...]) -> str | None:
        """The formula in some node that is this size in all recordings. What is left of a division
        is one of few numbers, and equal to something else by chance."""
        if len(set(ns)) <= len(ns) // 2:
            return None
        for texts in self.formulas.values():
            for text, numbers in texts.values():
                if numbers == ns:
                    return text
        return None

    def node(self, formulas: Formulas, *ns: Node) -> Node:
        """A node; `formulas` are those of its numbers that are known."""
        if type(ns[0]) not in (OpNode, Write):  # guards and questions: they say nothing of sizes
            return ns[0]
        line = ns[0].line
        ins = tuple([
            self.one(xs, line, formulas, (k,)) for k, xs in enumerate(zip(*[n.ins for n in ns]))
        ])
        attrs = {k: self.one([n.attrs[k] for n in ns], line, formulas, (k,)) for k in ns[0].attrs}
        if type(ns[0]) is OpNode:
            op = self.control([n.op for n in ns]) if ns[0].op.family == "control" else ns[0].op
            return OpNode(op, ins, attrs, ns[0].outs, line)
        assert ns[0].op is not None
        return Write(ns[0].op, ins, attrs, line)

    def control(self, ops: Sequence[Any]) -> Any:
        """The op of a `cond` or `while_loop`, with bodies of any sizes."""
        return ops[0].with_bodies({
            name: self.body([op.bodies[name] for op in ops]) for name in ops[0].bodies})

    def body(self, bodies: Sequence[Any]) -> Any:
        """A body of all recordings."""
        nodes = [self.node({}, *ns) for ns in zip(*[b.nodes for b in bodies])]
        values = dict.fromkeys([*bodies[0].inputs, *(o for n in nodes for o in n.outs)])
        types = {v: self.type_of([b.types_of([v])[v] for b in bodies]) for v in values}
        return bodies[0].for_sizes(nodes, types)

    def one(
        self, xs: Sequence[Any], line: str, formulas: Formulas, path: tuple[Any, ...]
    ) -> Any:
        """A value of all recordings: itself, or an expression. `path`: where it is in a node."""
        x = xs[0]
        if path in formulas:
            return formula(formulas[path][0], xs)
        if isinstance(x, tuple | list) and all(type(y) is type(x) and len(y) == len(x) for y in xs):
            return type(x)([
                self.one(ys, line, formulas, (*path, k)) for k, ys in enumerate(zip(*xs))
            ])
        if isinstance(x, np.ndarray):
            if all(y.shape == x.shape and y.tobytes() == x.tobytes() for y in xs):
                return x
            raise OnnxError(f"{line}: a constant that differs with the sizes")
        numbers = all(type(y) is type(x) and is_finite(y) for y in xs)
        if numbers and len(set(xs)) > 1:
            return self.expression(tuple(xs), line)
        if any(type(y) is not type(x) or not (y is x or y == x) for y in xs):
            raise OnnxError(
                f"{line}: {x!r} becomes {next(y for y in xs if y != x)!r} with other sizes"
            )
        return x

    def expression(self, xs: tuple[Any, ...], line: str) -> Any:
        """The expression that numbers follow."""
        if xs not in self.known:
            found = self.fitted(xs) or self.of_known(xs)
            if found is None:
                wrong = self.first_wrong(self.fit(0)(xs), xs) or 0
                raise OnnxError(
                    f"{line}: a number is {xs[0]} in the example and {xs[wrong]} where "
                    f"{self.said(self.sizes[wrong])}: it follows no expression of these sizes"
                )
            self.known[xs] = found
        return self.known[xs]

    def fitted(self, xs: tuple[Any, ...]) -> Expression | None:
        """The first sum of products of sizes that numbers are in all recordings."""
        tried = (self.fit(k)(xs) for k in range(len(self.choices)))
        found = next((e for e in tried if self.first_wrong(e, xs) is None), None)
        return found and Expression(found.terms, as_fractions(xs))

    def fit(self, k: int) -> Fit:
        """The fit for a choice of products. It is made when a number needs it: few are squares."""
        while len(self.fits) <= k:
            self.fits.append(Fit(self.choices[len(self.fits)], self.sizes[:-HELD]))
        return self.fits[k]

    def of_known(self, xs: tuple[int, ...]) -> Expression | None:
        """The known size of which whole numbers are a multiple, and something more."""
        if type(xs[0]) is not int:
            return None
        for ns, e in self.known.items():
            other = next((i for i, n in enumerate(ns) if n != ns[0]), None)
            if other is None or len(set(ns)) < ENOUGH:
                continue
            factor, rest = divmod(xs[other] - xs[0], ns[other] - ns[0])
            more = xs[0] - factor * ns[0]
            if not rest and all(factor * n + more == x for n, x in zip(ns, xs)):
                return e * factor + more
        return None

    def first_wrong(self, e: Expression, xs: tuple[Any, ...]) -> int | None:
        """The first recording in which an expression is not the number."""
        wrong = (i for i, (x, s) in enumerate(zip(xs, self.sizes)) if e(s) != Fraction(x))
        return next(wrong, None)


def kind_of(n: Node) -> Any:
    """What a node does, whatever the sizes are."""
    op = n.op
    if op is None or op.family != "control":
        return type(n), op, len(n.outs)
    bodies: Any = op
    return op.name, bodies.way(), {
        name: (b.inputs, b.at, b.results, [(kind_of(m), m.outs) for m in b.nodes])
        for name, b in bodies.bodies.items()}


def formula(text: str, numbers: Sequence[Any]) -> Expression:
    """The expression of a text, which is these numbers in the recordings."""
    return Expression({(f"({text})",): Fraction(1)}, as_fractions(numbers))


def as_fractions(numbers: Sequence[Any]) -> list[Fraction]:
    """Numbers that are added without rounding."""
    return [Fraction(x) for x in numbers]


def is_finite(x: Any) -> bool:
    """Is it a number that has a value?"""
    return type(x) is int or type(x) is float and math.isfinite(x)


class Fit:
    """The sum of some products that numbers are at some sizes."""

    def __init__(
        self, products: Sequence[tuple[str, ...]], sizes: Sequence[Mapping[str, int]]
    ) -> None:
        rows = [[math.prod(s[n] for n in names) for names in products] for s in sizes]
        self.weights = {products[c]: w for c, w in weights(rows).items()}

    def __call__(self, numbers: Sequence[Any]) -> Expression:
        exact = as_fractions(numbers)
        return Expression({
            names: sum((w * x for w, x in zip(row, exact)), Fraction(0))
            for names, row in self.weights.items()
        })
