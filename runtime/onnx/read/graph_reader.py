"""From a GraphProto to a plan: names become slots, nodes steps, what is not read is left out."""
from collections.abc import Container, Iterable
from dataclasses import replace
from typing import Any

from ..errors import OnnxError
from .attributes import GRAPH, GRAPHS, checked, python_value, value_of
from .definition import Body, Call, Operator
from .model_facts import Model, Scope, initializers
from .plan import NOTHING, OfFunction, OfOperator, Plan, Step
from .schedule import in_order
from .signature import Port

DEFAULT_DOMAINS = ("", "ai.onnx")
TRAINING = "ai.onnx.preview.training"


class Reader:
    """Reads one graph, or one function's body, in a model."""

    def __init__(self, model: Model, scope: Scope, around: "Reader | None" = None,
                 members: Container[str] = ()) -> None:
        self.model, self.scope, self.around = model, scope, around
        self.members = members                   # initialisers that the module holds
        self.slots: dict[str, int] = {}
        self.size = 0
        self.constants: list[tuple[int, Any]] = []
        self.read: dict[str, int] = {}           # what comes from the graph around, or is a member
        self.nodes: list[Any] = []
        self.made: set[str] = set()              # what nodes of this graph make

    # ---- names -----------------------------------------------------------------------------------
    def new(self, name: str) -> int:
        """A slot for a value that is made here."""
        if name == "":
            return NOTHING
        if name in self.slots:
            raise OnnxError(f"the value {name!r} is made twice")
        self.slots[name] = self.size
        self.size += 1
        return self.size - 1

    def slot(self, name: str) -> int:
        """Where a value lies that is read."""
        if name == "":
            return NOTHING
        if name not in self.slots:
            if not self.is_outside(name):
                raise OnnxError(f"reads the value {name!r}, which nothing makes")
            self.read[name] = self.new(name)
        return self.slots[name]

    def is_outside(self, name: str) -> bool:
        """Does the graph around know this value?"""
        if name in self.made:
            return False
        if self.around is None:
            return name in self.members
        return name in self.around.slots or name in self.around.made or self.around.is_outside(name)

    # ---- the whole -------------------------------------------------------------------------------
    def graph(self, proto: Any) -> Plan:
        """The plan of a graph. What is an initialiser of the module's is read from outside."""
        own = initializers(proto, self.model.folder) if self.around else {}
        inputs = tuple(self.new(v.name) for v in proto.input)
        for name, array in own.items():
            if name not in self.slots:
                self.constants.append((self.new(name), value_of(array)))
        plan = self.body(proto.node, inputs, [v.name for v in proto.output])
        return replace(plan, stated=tuple(map(Port.of, proto.output)))

    def function(self, proto: Any) -> Plan:
        """The plan of a function's body."""
        return self.body(proto.node, tuple(self.new(n) for n in proto.input), list(proto.output))

    def body(self, nodes: Iterable[Any], inputs: tuple[int, ...], results: list[str]) -> Plan:
        """The plan of the nodes that lead to these results."""
        steps: list[Step] = []
        self.nodes = list(nodes)
        needed = in_order(self.nodes, results, set(self.slots))
        self.made = {n for node in needed for n in node.output if n}
        for node in needed:
            try:
                steps += self.step(node)
            except OnnxError as error:
                self.model.faults.append(str(error) if error.placed else f"{where(node)}: {error}")
                for name in node.output:             # to go on, and find what else there is
                    if name and name not in self.slots:
                        self.new(name)
        outputs = tuple(self.slot(n) for n in results)
        return Plan(inputs, tuple(self.read.values()), tuple(self.constants),
                    with_ends(steps, {*outputs}), outputs, self.size)

    # ---- a node ----------------------------------------------------------------------------------
    def step(self, node: Any) -> list[Step]:
        """The step of a node; none where its result is known already."""
        domain = "" if node.domain in DEFAULT_DOMAINS else node.domain
        inputs = tuple(self.slot(n) for n in trimmed(node.input))
        operator = self.model.operator(domain, node.op_type, self.scope)
        attributes = {a.name: a for a in self.attributes(node)}
        self.model.note_uses(node.input, operator)
        if operator is None:
            function = self.model.function(domain, node, attributes, self.scope, Reader)
            outputs = tuple(self.new(n) for n in node.output)
            return [Step(where(node), OfFunction(function), inputs, outputs, {}, (), ())]
        check_arity(operator, inputs)
        graphs = {n: a.g for n, a in attributes.items() if a.type == GRAPH}
        values = {n: python_value(a, self.model.folder) for n, a in attributes.items()
                  if n not in graphs}
        settings = checked(operator, values | dict.fromkeys(graphs, Body))
        bodies = tuple(self.subgraph(name, proto) for name, proto in graphs.items())
        if operator.domain == TRAINING and operator.name == "Gradient":
            bodies = (self.way_to(settings["y"], node.input),)
        settings = {n: v for n, v in settings.items() if v is not Body}
        outputs = tuple(self.new(n) for n in node.output)
        if node.op_type == "Constant" and not inputs:
            self.constants.append((outputs[0], operator([], settings)))
            return []
        call = Call(self.scope.opset(domain), tuple(map(bool, node.output)))
        run = OfOperator(operator, call if operator.wants_call else None)
        return [Step(where(node), run, inputs, outputs, settings, bodies, ())]

    def attributes(self, node: Any) -> list[Any]:
        """A node's attributes, where those that refer to the function's are replaced."""
        found = []
        for a in node.attribute:
            if a.type == GRAPHS:
                raise OnnxError(f"attribute {a.name!r}: lists of graphs are not supported")
            if a.ref_attr_name:
                if a.ref_attr_name not in self.scope.attributes:
                    continue
                named = a.name
                a = type(a).FromString(self.scope.attributes[a.ref_attr_name].SerializeToString())
                a.name = named
            found.append(a)
        return found

    def way_to(self, result: str, starts: Iterable[str]) -> tuple[str, Plan, tuple[int, ...]]:
        """The part of this graph that leads from some of its values to another one."""
        names = list(starts)
        reader = Reader(self.model, self.scope, self)
        inputs = tuple(reader.new(n) for n in names)
        nodes = [n for n in self.nodes if not set(n.output) & set(names)]
        plan = reader.body(nodes, inputs, [result])
        return "body", plan, tuple(self.slot(n) for n in reader.read)

    def subgraph(self, name: str, proto: Any) -> tuple[str, Plan, tuple[int, ...]]:
        """A graph among the attributes: its plan, and where lies here what it reads."""
        reader = Reader(self.model, self.scope, self)
        plan = reader.graph(proto)
        return name, plan, tuple(self.slot(n) for n in reader.read)


def where(node: Any) -> str:
    """How messages name a node."""
    made = ", ".join(n for n in node.output if n)
    name = repr(node.name) if node.name else f"that makes {made!r}"
    return f"node {name} ({node.domain + '.' if node.domain else ''}{node.op_type})"


def trimmed(names: Iterable[str]) -> list[str]:
    """The names of inputs without those left out at the end."""
    found = list(names)
    while found and not found[-1]:
        found.pop()
    return found


def check_arity(operator: Operator, inputs: tuple[int, ...]) -> None:
    """Has a node as many inputs as its operator takes?"""
    if len(inputs) > len(operator.inputs) and operator.rest is None:
        raise OnnxError(f"has {len(inputs)} inputs, where {operator.name} takes at most "
                        f"{len(operator.inputs)}")
    for i, p in enumerate(operator.inputs):
        if p.needed and (i >= len(inputs) or inputs[i] == NOTHING):
            raise OnnxError(f"lacks the input {p.name!r}")


def with_ends(steps: list[Step], lasting: set[int]) -> tuple[Step, ...]:
    """The steps, each with the slots that are not read after it."""
    found: list[Step] = []
    for step in reversed(steps):
        mine = {*step.inputs, *step.outputs, *(i for _, _, read in step.bodies for i in read)}
        spent = tuple(i for i in mine - lasting if i >= 0)
        lasting |= mine
        found.append(Step(step.where, step.run, step.inputs, step.outputs, step.settings,
                          step.bodies, spent))
    return tuple(reversed(found))
