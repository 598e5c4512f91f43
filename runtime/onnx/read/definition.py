"""What an operator is: a function, whose signature says what a node of it may have.

    @operator("Gemm")
    def gemm(a: Tensor, b: Tensor, c: Tensor | None = None, *, alpha: float = 1.0) -> Tensor:

Positional parameters are a node's inputs, those after the star its attributes. What has no default
must be there. An input is turned into what its annotation asks for. A parameter `call: Call` gets
what else a function may want to know of its node.
"""
import inspect
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ...tensor import Tensor
from ..errors import OnnxError
from .values import SETTINGS, Known, as_it_is, as_tensor

Converter = Callable[[Any], Any]


class Body(Protocol):
    """A subgraph: called with values, it gives a list of values."""

    def __call__(self, *values: Any) -> list[Any]: ...

    def of_no_steps(self, first: int, axes: Sequence[int] | None = None) -> list[Any]:
        """What a loop without steps gives for its results from number `first` on, as the model
        states their types. `axes`: along which those of steps would be joined."""



@dataclass(frozen=True)
class Call:
    """What a function may want to know of the node that it runs for."""
    opset: int
    outputs: tuple[bool, ...]            # which results are asked for

    def wants(self, index: int) -> bool:
        """Is this result asked for?"""
        return index < len(self.outputs) and self.outputs[index]


@dataclass(frozen=True)
class Input:
    """One input of an operator."""
    name: str
    convert: Converter
    needed: bool

    @property
    def is_setting(self) -> bool:
        """Does the graph's course depend on the numbers?"""
        return self.convert in SETTINGS


@dataclass(frozen=True)
class Attribute:
    """One attribute of an operator."""
    name: str
    kind: Any                            # the annotation, without None
    needed: bool


@dataclass(frozen=True, eq=False)
class Operator:
    """An operator as it has been since a version of its domain's operators."""
    domain: str
    name: str
    since: int
    function: Callable[..., Any]
    known: Callable[..., Any] | None     # the same of numbers that are known
    inputs: tuple[Input, ...]
    rest: Input | None                   # what any further inputs are
    attributes: dict[str, Attribute] = field(default_factory=dict)
    wants_call: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        return find_since, (self.domain, self.name, self.since)

    def input(self, index: int) -> Input | None:
        """What the input at this place is."""
        return self.inputs[index] if index < len(self.inputs) else self.rest

    def __call__(self, values: list[Any], settings: dict[str, Any]) -> Any:
        """Run it on a node's inputs. None stands for an input that is left out."""
        if self.known is not None and all(isinstance(v, Known) for v in values) and values:
            return self.known(*values, **settings)
        operands = [None if v is None and not i.needed else i.convert(v)
                    for v, i in zip(values, self.inputs)]
        if self.rest is not None:
            convert = self.rest.convert
            operands += [convert(v) for v in values[len(self.inputs):]]
        return self.function(*operands, **settings)


_OPERATORS: dict[tuple[str, str], dict[int, Operator]] = {}


def operator(name: str, since: int = 1, domain: str = "",
             known: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Say that a function defines an operator, from a version of its domain on."""
    def define(function: Callable[..., Any]) -> Callable[..., Any]:
        versions = _OPERATORS.setdefault((domain, name), {})
        assert since not in versions, f"{name} of version {since} is defined twice"
        versions[since] = _defined(domain, name, since, function, known)
        return function
    return define


def _defined(domain: str, name: str, since: int, function: Callable[..., Any],
             known: Callable[..., Any] | None) -> Operator:
    hints = typing.get_type_hints(function, include_extras=True)
    inputs, attributes, rest = [], {}, None
    for p in inspect.signature(function).parameters.values():
        hint, needed = _without_none(hints[p.name]), p.default is p.empty
        if hint is Call:
            continue
        if p.kind is p.KEYWORD_ONLY:
            attributes[p.name] = Attribute(p.name, hint, needed)
        elif p.kind is p.VAR_POSITIONAL:
            rest = Input(p.name, _converter(hint), True)
        else:
            inputs.append(Input(p.name, _converter(hint), needed))
    return Operator(domain, name, since, function, known, tuple(inputs), rest, attributes,
                    "call" in hints)


def _without_none(hint: Any) -> Any:
    kinds = [k for k in typing.get_args(hint) if k is not type(None)]
    if type(None) in typing.get_args(hint) and len(kinds) == 1:
        return kinds[0]
    return hint


def _converter(hint: Any) -> Converter:
    if hint is Tensor:
        return as_tensor
    found = getattr(hint, "__metadata__", (as_it_is,))[0]
    assert callable(found)
    return typing.cast(Converter, found)


def find(domain: str, name: str, opset: int) -> Operator | None:
    """The definition that holds at a version of the domain's operators."""
    versions = _OPERATORS.get((domain, name), {})
    since = max((v for v in versions if v <= opset), default=None)
    return None if since is None else versions[since]


def find_since(domain: str, name: str, since: int) -> Operator:
    """The definition that began at a version."""
    try:
        return _OPERATORS[domain, name][since]
    except KeyError:
        raise OnnxError(f"operator {name} of version {since} is not defined") from None


def names(domain: str = "") -> list[str]:
    """The operators of a domain that are defined."""
    return sorted(name for d, name in _OPERATORS if d == domain)
