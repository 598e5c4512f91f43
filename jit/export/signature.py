"""What an exported function is called with, and what it gives."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from whet.ir.values import Type, short

from ..values.immutable_types import equal
from .describe_trees import PLAIN, Arguments
from .errors import PreconditionError
from .tree_structure import FixedPart, OmittedPart, Part

POSITIONAL = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
ANY = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD


class Value:
    """An input or a result: its name and its type, in the example. `sizes` are its sizes as texts,
    with the names of dimensions that differ."""

    __slots__ = ("name", "sizes", "type")

    def __init__(self, name: str, type: Type, sizes: Sequence[str] | None = None) -> None:
        self.name, self.type = name, type
        self.sizes = list(map(str, type.shape)) if sizes is None else list(sizes)

    @property
    def type_text(self) -> str:
        """The type of the value as users read it, `f32[batch,3]`."""
        return f"{short(self.type.dtype)}[{','.join(self.sizes)}]"

    def __repr__(self) -> str:
        return f"{self.name}: {self.type_text}"


class Parameter:
    """A parameter of the function: its name and kind, and what is passed for it. An optional one
    may be left out of a call."""

    __slots__ = ("kind", "name", "optional", "part")

    def __init__(self, name: str, kind: Any, part: Part, optional: bool) -> None:
        self.name, self.kind, self.part, self.optional = name, kind, part, optional

    def __repr__(self) -> str:
        return self.name


class Signature:
    """Parameters, and how results are nested. `inputs` and `results` are the tensors, in order."""

    def __init__(
        self,
        parameters: Sequence[Parameter],
        output: Part,
        inputs: Sequence[Value],
        results: Sequence[Value],
    ) -> None:
        self.parameters, self.output = list(parameters), output
        self.inputs, self.results = list(inputs), list(results)
        self.simple = all(p.kind in POSITIONAL for p in parameters)
        self.binder = inspect.Signature([inspect.Parameter(p.name, p.kind) for p in parameters])
        self.by_name = {p.name: p for p in parameters}

    def __repr__(self) -> str:
        inputs, made = (", ".join(map(repr, xs)) for xs in (self.inputs, self.results))
        return f"({', '.join(map(repr, self.parameters))}): {inputs} -> {made}"

    @property
    def python_signature(self) -> inspect.Signature:
        """The parameters as Python has them; those that may be left out are None then."""
        return inspect.Signature([
            inspect.Parameter(p.name, p.kind, **({"default": None} if p.optional else {}))
            for p in self.parameters
        ])

    def gather(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """The tensors of a call, in the order of `inputs`. Raises PreconditionError for a call that
        does not fit."""
        found: list[Any] = []
        if not kwargs and self.simple and len(args) == len(self.parameters):
            for p, x in zip(self.parameters, args):
                p.part.gather(x, found)
            return found
        arguments = self.bound(args, kwargs)
        for p in self.parameters:
            if p.name in arguments:
                p.part.gather(arguments[p.name], found)
            elif p.kind in ANY:
                p.part.gather(() if p.kind is inspect.Parameter.VAR_POSITIONAL else {}, found)
            elif not p.optional:
                raise PreconditionError(f"argument `{p.name}` is missing")
        return found

    def positional(self, tensors: Sequence[Any]) -> list[Any]:
        """The arguments, by place, of a call with these tensors. Raises ValueError where one can
        only be given by its name."""
        args = list[Any]()
        for p in self.parameters:
            if p.kind is inspect.Parameter.VAR_POSITIONAL:
                args += p.part.build(tensors)
            elif p.kind in POSITIONAL and not isinstance(p.part, OmittedPart):
                args.append(p.part.build(tensors))
            elif next(p.part.leaves(), None) is not None and not p.optional:
                raise ValueError(f"argument `{p.name}` is given by its name alone")
        return args

    def bound(self, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by the names of parameters."""
        try:
            return dict(self.binder.bind_partial(*args, **kwargs).arguments)
        except TypeError as e:
            wanted = ", ".join(p.name for p in self.parameters)
            raise PreconditionError(f"{e}; the parameters are ({wanted})") from None


def bound_call(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> inspect.BoundArguments:
    """A call of a function, by its parameters."""
    try:
        stated = hasattr(fn, "__signature__")
        signature = inspect.signature(fn if stated else getattr(fn, "forward", fn))
    except (TypeError, ValueError):  # a function of C's that says nothing of its parameters
        unnamed = [inspect.Parameter(f"arg{i}", POSITIONAL[0]) for i in range(len(args))]
        unnamed += [inspect.Parameter(k, inspect.Parameter.KEYWORD_ONLY) for k in kwargs]
        signature = inspect.Signature(unnamed)
    return signature.bind(*args, **kwargs)


def parameters(bound: inspect.BoundArguments, arguments: Arguments) -> list[Parameter]:
    """The parameters of a call. What was passed becomes, in `bound`, what the recorded call
    gets."""
    out = []
    for name, p in bound.signature.parameters.items():
        if name in bound.arguments:
            part, bound.arguments[name] = arguments.part(bound.arguments[name], name)
            optional = isinstance(part, FixedPart) and is_default(p, part.value)
        elif p.kind in ANY:
            empty: Any = () if p.kind is inspect.Parameter.VAR_POSITIONAL else {}
            part, optional = arguments.part(empty, name)[0], False
        else:
            part, optional = left_out(p), True
        out.append(Parameter(name, p.kind, part, optional))
    return out


def is_default(p: inspect.Parameter, value: Any) -> bool:
    """Is a value the one that a parameter has where it is left out?"""
    return p.default is value or type(p.default) is type(value) and equal(p.default, value)


def left_out(p: inspect.Parameter) -> Part:
    """The part for a parameter that has its default."""
    return FixedPart(p.name, p.default) if type(p.default) in PLAIN else OmittedPart(p.name)
