"""What the graphs of one model share: its operators' versions, its functions, its initialisers."""
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import OnnxError
from ..library import onnx_library
from .definition import Operator, find
from .plan import Plan
from .tensor_files import array_of, dense

DEEPEST = 100                    # functions that call functions


@dataclass(frozen=True)
class Scope:
    """What holds in one graph: versions of operators, attributes of the function around it."""
    opsets: dict[str, int]
    attributes: dict[str, Any] = field(default_factory=dict)
    depth: int = 0

    def opset(self, domain: str) -> int:
        """The version of a domain's operators that the graph was written for."""
        if domain not in self.opsets:
            raise OnnxError(f"the model does not say which version of {domain!r} it needs")
        return self.opsets[domain]

    @staticmethod
    def of(imports: Any) -> "Scope":
        """What a model or function says of its operators' versions."""
        return Scope({"" if o.domain == "ai.onnx" else o.domain: o.version for o in imports})


class Model:
    """A model that is being read."""

    def __init__(self, proto: Any, folder: Path | None) -> None:
        self.folder = folder
        self.functions = {(f.domain, f.name): f for f in proto.functions}
        self.faults: list[str] = []
        self.computed_with: set[str] = set()     # names of values that are more than settings

    def note_uses(self, names: Iterable[str], operator: Operator | None) -> None:
        """Note which inputs are more than numbers that the graph's course depends on."""
        for i, name in enumerate(names):
            p = operator.input(i) if operator else None
            if p is None or not p.is_setting:
                self.computed_with.add(name)

    def operator(self, domain: str, name: str, scope: Scope) -> Operator | None:
        """The definition of a node's operator, or None where it is a function."""
        if (domain, name) in self.functions:
            return None
        found = find(domain, name, scope.opset(domain))
        if found is None and self.standard_function(domain, name, scope) is None:
            raise OnnxError(f"there is no operator {domain + '.' if domain else ''}{name} "
                            f"in version {scope.opset(domain)}")
        return found

    def standard_function(self, domain: str, name: str, scope: Scope) -> Any:
        """The body that ONNX's own definition of an operator has, or None."""
        defs = onnx_library("onnx.defs")
        try:
            schema = defs.get_schema(name, scope.opset(domain), domain)
        except defs.SchemaError:
            return None
        return schema.function_body if schema.has_function else None

    def function(self, domain: str, node: Any, attributes: dict[str, Any], scope: Scope,
                 reader: Callable[..., Any]) -> Plan:
        """The plan of a function's body, for a node with these attributes."""
        if scope.depth >= DEEPEST:
            raise OnnxError(f"functions call each other more than {DEEPEST} deep")
        own = self.functions.get((domain, node.op_type))
        proto = own or self.standard_function(domain, node.op_type, scope)
        if len(node.input) > len(proto.input) or len(node.output) > len(proto.output):
            raise OnnxError(f"has more inputs or outputs than the function {proto.name!r}")
        values = {a.name: a for a in proto.attribute_proto} | attributes
        missing = [n for n in proto.attribute if n not in values] if own else []
        if missing:
            raise OnnxError(f"lacks the attributes {missing} of its function")
        opsets = Scope.of(proto.opset_import).opsets or scope.opsets
        inner = Scope({**scope.opsets, **opsets}, values, scope.depth + 1)
        plan = reader(self, inner).function(proto)
        assert isinstance(plan, Plan)
        return plan


def initializers(graph: Any, folder: Path | None) -> dict[str, np.ndarray]:
    """The arrays of a graph's initialisers, by name."""
    found = {t.name: array_of(t, folder) for t in graph.initializer}
    found |= {t.values.name: dense(t, folder) for t in graph.sparse_initializer}
    if len(found) < len(graph.initializer) + len(graph.sparse_initializer):
        raise OnnxError("two initialisers have the same name")
    return found
