"""A graph that is ready to run: a list of steps over numbered slots."""
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...tensor import Tensor
from ..errors import OnnxError
from .definition import Call, Operator
from .signature import Port

FAILURES = (RuntimeError, TypeError, ValueError, LookupError, ArithmeticError, AttributeError)
NOTHING = -1                     # the slot of an input that is left out, of a result not asked for


@dataclass(frozen=True, eq=False)
class Step:
    """One node: what it calls, where its inputs lie, where its results go."""
    where: str                   # for messages: the node's name and operator
    run: Callable[[list[Any], dict[str, Any]], Any]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    settings: dict[str, Any]     # attributes
    bodies: tuple[tuple[str, "Plan", tuple[int, ...]], ...]   # subgraphs, and what they read here
    spent: tuple[int, ...]       # slots that are not read after this step

    def __call__(self, slots: list[Any]) -> None:
        settings = self.settings
        if self.bodies:
            settings = dict(settings)
            for name, plan, read in self.bodies:
                settings[name] = Bound(plan, [slots[i] for i in read])
        try:
            found = self.run([slots[i] if i >= 0 else None for i in self.inputs], settings)
            self.store(found, slots)
        except OnnxError as error:
            if error.placed:
                raise
            raise OnnxError(f"{self.where}: {error}", placed=True) from error
        except FAILURES as error:
            if type(error).__module__.startswith("whet.jit"):
                raise
            raise OnnxError(f"{self.where}: {error}", placed=True) from error
        for i in self.spent:
            slots[i] = None

    def store(self, found: Any, slots: list[Any]) -> None:
        """Put the results where they belong."""
        if type(found) is not tuple:
            found = (found,)
        if len(found) < len(self.outputs):
            raise OnnxError(f"gives {len(found)} results, not {len(self.outputs)}")
        for i, value in zip(self.outputs, found):
            if i >= 0:
                slots[i] = value


@dataclass(frozen=True, eq=False)
class Plan:
    """Steps in order. `read` are the slots of captured values, which follow the inputs."""
    inputs: tuple[int, ...]
    read: tuple[int, ...]
    constants: tuple[tuple[int, Any], ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    size: int
    stated: tuple[Port, ...] = ()            # what the model says of its results

    def run(self, values: list[Any], outside: list[Any]) -> list[Any]:
        """The results for these inputs, and for these values from outside."""
        if len(values) > len(self.inputs):
            raise OnnxError(f"the graph takes {len(self.inputs)} inputs, not {len(values)}")
        slots: list[Any] = [None] * self.size
        for i, value in self.constants:
            slots[i] = value
        for i, value in zip(self.inputs, values):
            slots[i] = value
        for i, value in zip(self.read, outside):
            slots[i] = value
        for step in self.steps:
            step(slots)
        return [slots[i] if i >= 0 else None for i in self.outputs]

    def held(self) -> list[Tensor]:
        """The tensors among constants and attributes, of graphs inside of this one, too."""
        found = [value for _, value in self.constants if isinstance(value, Tensor)]
        for step in self.steps:
            found += [value for value in step.settings.values() if isinstance(value, Tensor)]
            inner = [plan for _, plan, _ in step.bodies]
            inner += [step.run.plan] if isinstance(step.run, OfFunction) else []
            found += [x for plan in inner for x in plan.held()]
        return found


class Bound:
    """A subgraph, with the values of the graph around it that it reads."""
    __slots__ = ("plan", "outside")

    def __init__(self, plan: Plan, outside: list[Any]) -> None:
        self.plan, self.outside = plan, outside

    def __call__(self, *values: Any) -> list[Any]:
        return self.plan.run(list(values), self.outside)

    def of_no_steps(self, first: int, axes: Sequence[int] | None = None) -> list[Any]:
        """What a loop without steps gives for its results from number `first` on."""
        ports = self.plan.stated[first:]
        return [port.of_no_steps(axis) for port, axis in zip(ports, axes or [0] * len(ports))]


@dataclass(frozen=True, eq=False)
class OfFunction:
    """Runs the body of an ONNX function, or of the model's own."""
    plan: Plan

    def __call__(self, values: list[Any], settings: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(self.plan.run(values, []))


@dataclass(frozen=True, eq=False)
class OfOperator:
    """Runs an operator's definition."""
    operator: Operator
    call: Call | None

    def __call__(self, values: list[Any], settings: dict[str, Any]) -> Any:
        if self.call is not None:
            settings = {**settings, "call": self.call}
        return self.operator(values, settings)
