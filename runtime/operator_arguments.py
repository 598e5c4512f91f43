"""The parameters of an operator, and the arguments of one call of it. See `library.py`."""
import dataclasses
import inspect
from collections.abc import Sequence
from typing import Any

from .dtypes import float64
from .tensor import Tensor


@dataclasses.dataclass
class Parameters:
    """The parameters of an operator, as plain data: a trace looks at it."""
    op: str
    positional: tuple[str, ...]
    keyword: tuple[str, ...]
    defaults: dict[str, Any]

    @classmethod
    def of(cls, op: str, signature: inspect.Signature) -> "Parameters":
        """The parameters that a signature of an operator states."""
        kinds = inspect.Parameter
        found = list(signature.parameters.values())
        for p in found:
            if p.kind in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD):
                raise ValueError(f"{op}: {p} takes any number of arguments, which an operator "
                                 "may not")
        return cls(op, tuple(p.name for p in found if p.kind is not kinds.KEYWORD_ONLY),
                   tuple(p.name for p in found if p.kind is kinds.KEYWORD_ONLY),
                   {p.name: p.default for p in found if p.default is not kinds.empty})

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by their names."""
        if len(args) > len(self.positional):
            raise TypeError(f"{self.op}() takes {len(self.positional)} positional arguments but "
                            f"{len(args)} were given")
        bound = dict(zip(self.positional, args))
        for name, x in kwargs.items():
            if name in bound or name not in (*self.positional, *self.keyword):
                raise TypeError(f"{self.op}() got an unexpected argument '{name}'")
            bound[name] = x
        whole = {**self.defaults, **bound}
        missing = [n for n in (*self.positional, *self.keyword) if n not in whole]
        if missing:
            raise TypeError(f"{self.op}() missing argument '{missing[0]}'")
        return {n: whole[n] for n in (*self.positional, *self.keyword)}


class Arguments:
    """The arguments of one call: its tensors, in lists too, apart from the rest."""

    def __init__(self, parameters: Parameters, args: Any, kwargs: Any):
        self.parameters, self.bound = parameters, parameters.bind(args, kwargs)
        self.result_type: Any = None
        self.tensors: list[Any] = []
        self.names: list[str] = []
        self.places = {name: self._place(name, x) for name, x in self.bound.items()}

    def _place(self, name: str, x: Any) -> Any:
        if isinstance(x, Tensor):
            self.tensors.append(x)
            self.names.append(name)
            return len(self.tensors) - 1
        if isinstance(x, list | tuple) and any(isinstance(y, Tensor) for y in x):
            return [self._place(name, y) for y in x]
        return None

    def filled(self, tensors: Sequence[Any], fill: Any = ...) -> Any:
        """(positional, keyword) arguments with these tensors in their places; `fill` stands for
        all else, where it is given."""
        values = {name: _put(self.places[name], x, tensors, fill) for name, x in self.bound.items()}
        return ([values[n] for n in self.parameters.positional],
                {n: values[n] for n in self.parameters.keyword})

    def let_go(self) -> None:
        """Hold the tensors no longer, only where they were."""
        self.bound, self.tensors = {}, [None] * len(self.tensors)

    def results(self, made: Any) -> Any:
        """What the Function gave, as the user's function did."""
        return list(made) if self.result_type is list else made

    def gradients(self, name: str, grads: Any) -> list[Any]:
        """A gradient for each tensor, of those for each argument."""
        grads = grads if isinstance(grads, tuple | list) else (grads,)
        places = [self.places[n] for n in self.parameters.positional]
        if len(grads) != len(places):
            raise RuntimeError(f"{name}: the backward gave {len(grads)} gradients for "
                               f"{len(places)} arguments")
        found: list[Any] = [None] * len(self.tensors)
        for place, g in zip(places, grads):
            if isinstance(place, list):
                for p, each in zip(place, [None] * len(place) if g is None else g):
                    found[p] = each
            elif place is not None:
                found[place] = g
        return found


def _put(place: Any, x: Any, tensors: Sequence[Any], fill: Any) -> Any:
    """An argument with other tensors in their places. No function inside of another: that would
    hold itself, and the tensors until garbage is collected."""
    if isinstance(place, list):
        return [_put(p, y, tensors, fill) for p, y in zip(place, x)]
    return tensors[place] if place is not None else x if fill is ... else fill


def check_signature(name: str, signature: inspect.Signature, mutates: str | Sequence[str],
                    annotated: bool) -> None:
    """Raise ValueError where the arguments that an operator writes to, or its annotations, are not
    stated as they must be."""
    parameters = signature.parameters
    unknown = [] if mutates == "unknown" else [n for n in mutates if n not in parameters]
    if isinstance(mutates, str) and mutates != "unknown":
        raise ValueError(f"{name}: mutates_args must be either a sequence of the names of the "
                         f"arguments that are mutated or the string \"unknown\". Got: {mutates}")
    if unknown:
        raise ValueError(f"{name}: mutates_args names {unknown}, which are no arguments")
    for p in parameters.values() if annotated else ():
        if p.annotation is inspect.Parameter.empty:
            raise ValueError(f"{name}: Parameter {p.name} must have a type annotation.")


def cast_floats(x: Any, kind: str, dtype: Any) -> Any:
    """Arguments with the floating point tensors of a kind of devices in another type."""
    if isinstance(x, dict):
        return {name: cast_floats(y, kind, dtype) for name, y in x.items()}
    if isinstance(x, list | tuple):
        return type(x)([cast_floats(y, kind, dtype) for y in x])
    is_cast = (isinstance(x, Tensor) and x.is_floating_point() and x.dtype is not float64
               and x.device.type == kind)
    return x.to(dtype) if is_cast else x
