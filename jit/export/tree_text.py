"""Signatures as plain data for JSON, and back. Nothing that is read is run."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from whet.ir.text_reader import Reader
from whet.ir.value_text import value_text

from .signature import Parameter, Signature, Value
from .tree_structure import (
    ArrayPart,
    DictPart,
    FixedPart,
    ListPart,
    NumberPart,
    OmittedPart,
    Part,
    RecordPart,
    SequencePart,
    TensorPart,
    TuplePart,
)

DEEP = 100  # parts within parts
LEAVES: dict[str, Callable[[str, int], Part]] = {
    "tensor": TensorPart,
    "array": ArrayPart,
    "number": NumberPart,
}
SEQUENCES: dict[str, type[SequencePart]] = {"tuple": TuplePart, "list": ListPart}
KINDS = {
    "positional only": inspect.Parameter.POSITIONAL_ONLY,
    "positional": inspect.Parameter.POSITIONAL_OR_KEYWORD,
    "all others": inspect.Parameter.VAR_POSITIONAL,
    "keyword": inspect.Parameter.KEYWORD_ONLY,
    "all other keywords": inspect.Parameter.VAR_KEYWORD,
}
SAID = {kind: name for name, kind in KINDS.items()}


# ---- writing -------------------------------------------------------------------------------------
def said_signature(s: Signature) -> dict[str, Any]:
    """A signature as plain data."""
    parameters = [
        {"name": p.name, "kind": SAID[p.kind], "optional": p.optional, "value": as_data(p.part)}
        for p in s.parameters
    ]
    return {
        "parameters": parameters,
        "result": as_data(s.output),
        "inputs": [said_value(v) for v in s.inputs],
        "results": [said_value(v) for v in s.results],
    }


def said_value(v: Value) -> dict[str, str]:
    """An input or a result: for readers, as the graph says it too."""
    return {"name": v.name, "type": v.type_text}


def as_data(p: Part) -> dict[str, Any]:
    """A part as plain data."""
    kind: dict[str, Any]
    if isinstance(p, TensorPart):
        kind = {next(k for k, c in LEAVES.items() if c is type(p)): p.index}
    elif isinstance(p, FixedPart):
        kind = {"fixed": value_text(p.value)}
    elif isinstance(p, SequencePart):
        name = next(k for k, c in SEQUENCES.items() if c is type(p))
        kind = {name: [as_data(x) for x in p.parts]}
    elif isinstance(p, DictPart):
        kind = {"dict": [[k, as_data(x)] for k, x in zip(p.keys, p.parts)]}
    elif isinstance(p, RecordPart):
        fields = [[k, as_data(x)] for k, x in zip(p.fields, p.parts)]
        kind = {"record": p.title, "is_tuple": p.is_tuple, "fields": fields}
    else:
        kind = {"left_out": True}
    return {"name": p.name, **kind}


# ---- reading -------------------------------------------------------------------------------------
class Damaged(ValueError):
    """This is no signature."""


def read_signature(x: Any, inputs: list[Value], results: list[Value]) -> Signature:
    """The signature of plain data; raises Damaged. `inputs` and `results` are those of the
    graph."""
    parameters = []
    for p in list_of(x, "parameters"):
        name, kind = text_of(p, "name"), text_of(p, "kind")
        if kind not in KINDS or not name.isidentifier():
            raise Damaged(f"{name!r} is no parameter")
        parameters.append(
            Parameter(name, KINDS[kind], read(of(p, "value"), len(inputs)), bool(p.get("optional")))
        )
    output = read(of(x, "result"), len(results))
    for said_values, values in (("inputs", inputs), ("results", results)):
        if [text_of(v, "name") for v in list_of(x, said_values)] != [v.name for v in values]:
            raise Damaged(f"the {said_values} are not those of the graph")
    used = [
        leaf.index for p in parameters for leaf in p.part.leaves() if isinstance(leaf, TensorPart)
    ]
    if used != list(range(len(inputs))):
        raise Damaged("the arguments do not have each input once, in order")
    try:
        return Signature(parameters, output, inputs, results)
    except ValueError as e:
        raise Damaged(f"the parameters make no signature: {e}") from None


def read(x: Any, count: int, deep: int = 0) -> Part:
    """A part of plain data; `count` is how many arrays there are."""
    name = text_of(x, "name")
    if deep > DEEP:
        raise Damaged("it is nested too deeply")
    for kind, leaf in LEAVES.items():
        if kind in x:
            if type(x[kind]) is not int or not 0 <= x[kind] < count:
                raise Damaged(f"{name}: there is no array {x[kind]!r}")
            return leaf(name, x[kind])
    if "fixed" in x:
        return FixedPart(name, fixed(text_of(x, "fixed")))
    if "left_out" in x:
        return OmittedPart(name)
    for kind, several in SEQUENCES.items():
        if kind in x:
            return several(name, [read(y, count, deep + 1) for y in list_of(x, kind)])
    if "dict" in x:
        keys, parts = pairs(list_of(x, "dict"), count, deep)
        return DictPart(name, keys, parts)
    fields, parts = pairs(list_of(x, "fields"), count, deep)
    title = text_of(x, "record")
    if not title.isidentifier() or not all(
        isinstance(k, str) and k.isidentifier() and not k.startswith("_") for k in fields
    ):
        raise Damaged(f"{name}: a record's names are identifiers")
    return RecordPart(name, title, fields, parts, x.get("is_tuple") is True)


def pairs(items: list[Any], count: int, deep: int) -> tuple[list[Any], list[Part]]:
    """Keys and parts."""
    keys, parts = [], []
    for pair in items:
        if (
            not isinstance(pair, list)
            or len(pair) != 2
            or type(pair[0]) not in (str, int)
            or pair[0] in keys
        ):
            raise Damaged("expected pairs of a key, each once, and a part")
        keys.append(pair[0])
        parts.append(read(pair[1], count, deep + 1))
    return keys, parts


def fixed(text: str) -> Any:
    """A value of its text."""
    reader = Reader(text)
    value = reader.value()
    reader.take(kind="end", what="the end")
    return value


def of(x: Any, key: str) -> Any:
    """An entry of an object."""
    if not isinstance(x, dict) or key not in x:
        raise Damaged(f"there is no {key!r}")
    return x[key]


def text_of(x: Any, key: str) -> str:
    """An entry of an object that is a text."""
    found = of(x, key)
    if not isinstance(found, str):
        raise Damaged(f"{key!r} is no text")
    return found


def list_of(x: Any, key: str) -> list[Any]:
    """An entry of an object that is a list."""
    found = of(x, key)
    if not isinstance(found, list):
        raise Damaged(f"{key!r} is no list")
    return found
