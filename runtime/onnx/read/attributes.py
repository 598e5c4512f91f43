"""Attributes of nodes, as Python values that an operator's definition asks for."""
import typing
from pathlib import Path
from typing import Any

import numpy as np

from ...dtypes import FROM_NUMPY
from ..errors import OnnxError
from .definition import Body, Operator
from .tensor_files import array_of, dense
from .values import MOST_KNOWN, Lasting, from_array

FLOAT, INT, STRING, TENSOR, GRAPH, FLOATS, INTS, STRINGS, TENSORS, GRAPHS, SPARSE, _, TYPE = \
    range(1, 14)                 # AttributeProto.AttributeType
LEGACY = {"consumed_inputs"}     # of version 1, where it says nothing about the result


def value_of(array: np.ndarray) -> Any:
    """The value of an array of the file: numbers that are few are known ones."""
    if array.size <= MOST_KNOWN and array.dtype in (np.int64, np.int32):
        return Lasting(array, FROM_NUMPY[array.dtype])
    return from_array(array)


def text(data: bytes) -> str:
    """A string of the file."""
    return data.decode("utf-8", "surrogateescape")


def python_value(proto: Any, folder: Path | None) -> Any:
    """The value of an attribute that is no graph."""
    kind = proto.type
    if kind == FLOAT: return float(proto.f)
    if kind == INT: return int(proto.i)
    if kind == STRING: return text(proto.s)
    if kind == FLOATS: return [float(x) for x in proto.floats]
    if kind == INTS: return [int(x) for x in proto.ints]
    if kind == STRINGS: return [text(x) for x in proto.strings]
    if kind == TENSOR: return value_of(array_of(proto.t, folder))
    if kind == SPARSE: return value_of(dense(proto.sparse_tensor, folder))
    if kind == TYPE: return str(proto.tp).strip()
    raise OnnxError(f"attribute {proto.name!r} is of a kind ({kind}) that is not supported")


def checked(operator: Operator, attributes: dict[str, Any]) -> dict[str, Any]:
    """A node's attributes, where they are those that the operator has."""
    attributes = {
        n: v for n, v in attributes.items() if n not in LEGACY or n in operator.attributes}
    for name, value in attributes.items():
        if name not in operator.attributes:
            raise OnnxError(f"has an attribute {name!r}, which {operator.name} does not have")
        if not fits(value, operator.attributes[name].kind):
            raise OnnxError(f"attribute {name!r} does not fit: {value!r:.80}")
    for attribute in operator.attributes.values():
        if attribute.needed and attribute.name not in attributes:
            raise OnnxError(f"lacks the attribute {attribute.name!r}")
    return attributes


def fits(value: Any, kind: Any) -> bool:
    """Is an attribute's value of the kind that is asked for?"""
    if kind is Body:
        return value is Body
    if typing.get_origin(kind) is list:
        element = typing.get_args(kind)[0]
        return isinstance(value, list) and all(isinstance(x, element) for x in value)
    return not isinstance(kind, type) or isinstance(value, (int, float) if kind is float else kind)

