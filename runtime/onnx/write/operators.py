"""The operators of the standard: which there are at an opset, and the types of what they give."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ...dtypes import SHORT
from ..element_types import TYPES, ElementType
from ..library import onnx_library


class Inexpressible(Exception):
    """ONNX has no form of what an op does here; says why."""


def element_code(dtype: str) -> int:
    """The number that stands for a type in the file."""
    return ElementType.of(SHORT[dtype]).code


def short_of_code(code: int) -> str:
    """whet's short name of an element type."""
    found = ElementType.of_code(code).whet
    if found is None:
        raise Inexpressible(f"whet has no type for {ElementType.of_code(code)}")
    return found.short


@functools.lru_cache(None)
def schema_of(operator: str, opset: int) -> Any:
    defs = onnx_library("onnx.defs")
    try:
        found = defs.get_schema(operator, opset, "")
    except defs.SchemaError:
        return None
    return None if found.deprecated else found


@functools.lru_cache(None)
def _type_names() -> dict[str, str]:
    return {f"tensor({t.name.lower()})": t.whet.short for t in TYPES if t.whet is not None}


@functools.lru_cache(None)
def _code_names() -> dict[str, int]:
    return {name: element_code(short) for name, short in _type_names().items()}


def accepted_codes(schema: Any, variable: str) -> set[int]:
    """The types that a variable of an operator's types may be; none, where it is no variable."""
    wanted = next(
        (c.allowed_type_strs for c in schema.type_constraints if c.type_param_str == variable), ()
    )
    return {code for name, code in _code_names().items() if name in wanted}


def _fixed_types(schema: Any) -> dict[str, str]:
    """The types of an operator that can be only one."""
    return {
        c.type_param_str: _type_names()[c.allowed_type_strs[0]]
        for c in schema.type_constraints
        if len(c.allowed_type_strs) == 1 and c.allowed_type_strs[0] in _type_names()
    }


def result_types(
    schema: Any, operands: Sequence[Any], attributes: dict[str, Any], outputs: int
) -> list[str]:
    """The types of results, by the operator's own rules."""
    known: dict[str, str] = {}
    formal = list(schema.inputs)
    for i, x in enumerate(operands):
        if x is not None:
            known.setdefault(formal[min(i, len(formal) - 1)].type_str, x.dtype)
    made = []
    for i in range(outputs):
        t = schema.outputs[min(i, len(schema.outputs) - 1)].type_str
        fixed = _fixed_types(schema)
        if t in _type_names():
            made.append(_type_names()[t])
        elif t in fixed:
            made.append(fixed[t])
        elif t in known:
            made.append(known[t])
        else:
            code = attributes.get("to") or attributes.get("dtype") or attributes.get("output_dtype")
            made.append(short_of_code(code) if code else next(iter(known.values()), "f32"))
    return made


def used_nodes(nodes: list[Any], wanted: set[str]) -> list[Any]:
    """The nodes that some values need, of a list in order."""
    kept = []
    for n in reversed(nodes):
        if not wanted.isdisjoint(n.output):
            kept.append(n)
            wanted.update(needs(n))
    return kept[::-1]


def needs(node: Any) -> set[str]:
    """The names that a node and the graphs in it read."""
    found = set(node.input)
    graph_type = onnx_library("onnx").AttributeProto.GRAPH
    for a in node.attribute:
        if a.type == graph_type:
            inner = {o.name for o in a.g.output}
            found |= inner.union(*[needs(n) for n in a.g.node])
    return found
