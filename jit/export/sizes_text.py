"""What an archive says of sizes that differ, as plain data for JSON, and back.

    {"dims": [{"name": "batch", "min": 1, "max": 64}],     max may be null
     "inputs": [{"0": "batch"}],                           of each: axis -> name
     "results": [["batch", "10"]],                         of each: its sizes in words
     "holes": [[3, ["size", 0], 8, [1], 0],                8 * batch in node 3, at size[0]
               [5, ["size", 1], "(s0 - 1) // 2 + 1"]]}     what a stride leaves, in node 5

Nothing that is read is believed: an expression must give the example's number at its place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from whet.ir.graph import Graph, Node, OpNode, Write

from ..guards.sizes import Dim
from .dims import Dims, Expression
from .errors import PreconditionError
from .signature import Value
from .size_formulas import SizeFormula
from .sized_graph import AnyExpression, Path, SizedGraph, part
from .tree_text import Damaged, list_of, of, text_of

MOST_POWER = 2  # of one size in an expression: see `dims.fitted`


# ---- writing -------------------------------------------------------------------------------------
def said_sizes(sized: SizedGraph, inputs: list[Value], results: list[Value]) -> dict[str, Any]:
    """The sizes of a graph that differ."""
    dims = sized.dims
    places = [dims.places.get(i, {}) for i in range(len(inputs))]
    return {
        "dims": [said_dim(d) for d in dims.dims],
        "inputs": [{str(axis): dims.names[k] for axis, k in axes.items()} for axes in places],
        "results": [v.sizes for v in results],
        "holes": [
            [i, list(path), *written(e)]
            for i, holes in sorted(sized.holes.items())
            for path, e in holes.items()
        ],
    }


def said_dim(d: Dim) -> dict[str, Any]:
    """A size that differs, and its bounds."""
    step = {} if d.multiple == 1 else {"multiple": d.multiple}
    return {"name": d.name, "min": d.min, "max": d.max, **step}


def written(e: AnyExpression) -> list[Any]:
    """An expression as plain data."""
    return [e.source] if isinstance(e, SizeFormula) else [e.factor, list(e.powers), e.offset]


def has_fractions(sized: SizedGraph) -> bool:
    """Are there formulas that compute with more than whole numbers?"""
    return any(e.has_fractions for holes in sized.formulas().values() for e in holes.values())


def has_formulas(sized: SizedGraph) -> bool:
    """Are there sizes that are no products of others, or bounds with steps?"""
    return bool(sized.formulas()) or any(d.multiple > 1 for d in sized.dims.dims)


# ---- reading -------------------------------------------------------------------------------------
def read_sizes(x: Any, g: Graph) -> tuple[SizedGraph, list[list[str]]]:
    """The graph for all sizes, and the sizes of its results in words; raises Damaged."""
    dims = read_dims(x, g)
    holes: dict[int, dict[Path, AnyExpression]] = {}
    for hole in list_of(x, "holes"):
        i, path, e = read_hole(hole, len(dims.dims))
        if not 0 <= i < len(g.nodes) or number_at(g.nodes[i], path) != at_example(e, dims):
            raise Damaged("an expression of sizes does not fit the example")
        holes.setdefault(i, {})[path] = e
    words = list_of(x, "results")
    if len(words) != len(g.results) or not all(
        isinstance(s, list)
        and len(s) == len(g.types[v].shape)
        and all(isinstance(n, str) for n in s)
        for s, (v, _) in zip(words, g.results)
    ):
        raise Damaged("the sizes of results are not those of the graph")
    return SizedGraph(g, dims, holes), words


def at_example(e: AnyExpression, dims: Dims) -> float | None:
    """What an expression is for the example's sizes; None where it has no value."""
    try:
        found: float = e.at(dims.example)
        return found
    except PreconditionError:
        return None


def read_dims(x: Any, g: Graph) -> Dims:
    """The dimensions that differ; their sizes in the example are those of the graph."""
    known: dict[str, Dim] = {}
    for d in list_of(x, "dims"):
        name = text_of(d, "name")
        if name in known:
            raise Damaged(f"{name!r} is there twice")
        step = whole(d["multiple"]) if "multiple" in d else 1
        known[name] = Dim(name, min=whole(of(d, "min")), max=bound(of(d, "max")), multiple=step)
    names, example = list(known), dict[str, int]()
    shapes = [g.types[x.value].shape for x in g.inputs if x.place != "constant"]
    axes = list_of(x, "inputs")
    places: dict[int, dict[int, int]] = {}
    if len(axes) != len(shapes) or not names:
        raise Damaged("there are not the sizes of each input")
    for i, (said, shape) in enumerate(zip(axes, shapes)):
        for axis, name in sizes_of(said, len(shape)):
            n = shape[axis]
            if name not in known or n not in known[name] or example.setdefault(name, n) != n:
                raise Damaged(f"{name!r} is not {n}, as the graph has it")
            places.setdefault(i, {})[axis] = names.index(name)
    if len(example) < len(names):
        raise Damaged("a size is that of no input")
    return Dims(list(known.values()), places, tuple(example[n] for n in names))


def sizes_of(said: Any, ndim: int) -> list[tuple[int, str]]:
    """The axes of an input whose sizes differ."""
    if not isinstance(said, Mapping) or not all(
        k.isdecimal() and len(k) < 4 and int(k) < ndim and isinstance(n, str)
        for k, n in said.items()
    ):
        raise Damaged("the sizes of an input are names by axis")
    return [(int(k), n) for k, n in said.items()]


def read_hole(x: Any, count: int) -> tuple[int, Path, AnyExpression]:
    """The place of a node, where in it a size stands, and the expression."""
    if not isinstance(x, list) or len(x) not in (3, 5):
        raise Damaged("an expression of sizes has three or five parts")
    i, path, *said = x
    if not isinstance(path, list) or not path or not all(type(k) in (int, str) for k in path):
        raise Damaged("the place of an expression is a list of places")
    return whole(i), tuple(path), read_number(said, count)


def read_number(said: list[Any], count: int) -> AnyExpression:
    """An expression of sizes."""
    if len(said) == 1:
        if not isinstance(said[0], str):
            raise Damaged("an expression of sizes is a text")
        try:
            return SizeFormula(said[0], count)
        except ValueError as e:
            raise Damaged(str(e)) from None
    factor, powers, offset = said
    if not isinstance(powers, list) or len(powers) != count:
        raise Damaged("an expression has a power of each size")
    if not all(0 <= whole(p) <= MOST_POWER for p in powers):
        raise Damaged(f"powers are from 0 to {MOST_POWER}")
    return Expression(whole(factor), powers, whole(offset))


def number_at(n: Node, path: Path) -> float:
    """The number at a place of a node: a size, or a count as a float."""
    if not isinstance(n, OpNode | Write):
        raise Damaged(f"{n} has no sizes")
    where: Any = n.ins if type(path[0]) is int else n.attrs
    found = part(where, path)
    if type(found) is not int and not (type(found) is float and math.isfinite(found)):
        raise Damaged(f"{found!r} is no number")
    return found


def has_counts(sized: SizedGraph) -> bool:
    """Are there floats among the numbers that depend on sizes?"""
    return any(
        type(number_at(sized.graph.nodes[i], path)) is float
        for i, holes in sized.holes.items() for path in holes
    )


def whole(n: Any) -> int:
    """A whole number."""
    if type(n) is not int:
        raise Damaged(f"{n!r} is no whole number")
    return n


def bound(n: Any) -> int | None:
    """A whole number, or none."""
    return None if n is None else whole(n)
