"""A model from a file, as a Module."""
from collections import Counter
from typing import Any

import numpy as np
import whet

from .. import nn
from ..dtypes import FROM_NUMPY
from .errors import OnnxError
from .read import operators  # noqa: F401  the definitions that a plan calls
from .read.plan import OfOperator, Plan
from .read.signature import Port, returned
from .read.values import MOST_KNOWN, Lasting


class Group(nn.Module):
    """Holds members whose names begin alike: `encoder.weight` is `weight` of the group."""

    def forward(self, *args: Any) -> Any:
        raise TypeError("a group of an ONNX model's members is not called; call the model")


class Member:
    """Where an initialiser is held, and how its value is read."""
    __slots__ = ("holder", "name", "is_known")

    def __init__(self, holder: nn.Module, name: str, is_known: bool) -> None:
        self.holder, self.name, self.is_known = holder, name, is_known

    def value(self) -> Any:
        """The tensor, or its numbers where the graph's course depends on them."""
        return self.holder.__dict__[self.name]


class OnnxModule(nn.Module):
    """A loaded model. Initialisers of floats are its parameters, all others its buffers.

    `inputs` and `outputs` say what it takes and gives; `original_names` maps the names of members
    to the file's; `opsets`, `producer`, `metadata` and `doc` are what the file states.
    """
    _unwatched = frozenset(("plan", "known", "arrays", "read"))    # a trace need not compare these

    def __init__(self, name: str, inputs: tuple[Port, ...], outputs: tuple[Port, ...]) -> None:
        super().__init__()
        self.graph_name, self.inputs, self.outputs = name, inputs, outputs
        self.opsets: dict[str, int] = {}
        self.metadata: dict[str, str] = {}
        self.producer, self.doc, self.ir_version, self.model_version = "", "", 0, 0
        self.original_names: dict[str, str] = {}
        self.known: dict[str, Lasting] = {}          # numbers of members, by the file's names
        self.arrays: dict[str, np.ndarray] = {}      # initialisers that whet has no type for
        self.read: tuple[tuple[str, nn.Module | None, str], ...] = ()
        self.plan: Plan = Plan((), (), (), (), (), 0)
        self.register_load_state_dict_post_hook(_know_again)

    # ---- members ---------------------------------------------------------------------------------
    def add_member(self, name: str, array: np.ndarray, computed_with: bool) -> None:
        """Hold an initialiser."""
        if array.dtype not in FROM_NUMPY:
            self.arrays[name] = array
            return
        tensor = whet.from_numpy(array)
        trained = computed_with and tensor.is_floating_point()
        holder, attribute, path = self.place(name)
        if trained:
            holder.register_parameter(attribute, nn.Parameter(tensor))
        else:
            holder.register_buffer(attribute, tensor)
        self.original_names[path] = name
        if not trained and array.size <= MOST_KNOWN and (
                array.dtype in (np.int64, np.int32) or not computed_with):
            self.known[name] = Lasting(array, tensor.dtype)

    def place(self, name: str) -> tuple[nn.Module, str, str]:
        """The module that holds an initialiser of this name, the attribute, and the whole path."""
        holder: nn.Module = self
        *groups, last = name.split(".")
        legal = all(map(free, (*groups, last)))
        for group in groups if legal else ():
            inner = holder._modules.get(group)
            if inner is None and hasattr(holder, group):
                legal = False
                break
            if inner is None:
                inner = Group()
                holder.add_module(group, inner)
            holder = inner
        if legal and not hasattr(holder, last):
            return holder, last, name
        plain = "".join(c if c.isalnum() or c == "_" else "_" for c in name) or "unnamed"
        while hasattr(self, plain):
            plain += "_"
        return self, plain, plain

    def holds(self, read: list[str]) -> None:
        """Say which members the plan reads, in order."""
        places = {}
        for path, name in self.original_names.items():
            groups, _, attribute = path.rpartition(".")
            places[name] = self.get_submodule(groups), attribute
        self.read = tuple((name, *places.get(name, (None, ""))) for name in read)

    def member_values(self) -> list[Any]:
        """What the plan reads from outside."""
        known, arrays = self.known, self.arrays
        return [known[name] if name in known else arrays[name] if holder is None
                else holder.__dict__[attribute] for name, holder, attribute in self.read]

    # ---- running ---------------------------------------------------------------------------------
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The results: one alone, several as a tuple."""
        found = [returned(v) for v in self.plan.run(self.bound(args, kwargs), self.member_values())]
        return found[0] if len(found) == 1 else tuple(found)

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The values of all inputs, in order."""
        if len(args) > len(self.inputs):
            raise OnnxError(f"the model takes {len(self.inputs)} inputs, not {len(args)}")
        given = dict(zip((p.name for p in self.inputs), args))
        for name, value in kwargs.items():
            if name in given:
                raise OnnxError(f"input {name!r} is passed twice")
            given[name] = value
        values = []
        for port in self.inputs:
            if port.name in given:
                values.append(port.value(given.pop(port.name)))
            elif port.needed:
                raise OnnxError(f"input {port.name!r} is missing")
            else:
                values.append(self.default(port.name))
        if given:
            raise OnnxError(f"the model has no input {next(iter(given))!r}: it has "
                            f"{', '.join(repr(p.name) for p in self.inputs)}")
        return values

    def default(self, name: str) -> Any:
        """The initialiser of an input that nothing is passed for."""
        path = next((p for p, n in self.original_names.items() if n == name), None)
        if path is None:
            return self.arrays[name]
        groups, _, attribute = path.rpartition(".")
        return self.known.get(name, self.get_submodule(groups).__dict__[attribute])

    # ---- looking ---------------------------------------------------------------------------------
    def __repr__(self) -> str:
        counts = Counter(step.run.operator.name if isinstance(step.run, OfOperator)
                         else step.where.rpartition("(")[2][:-1] for step in self.plan.steps)
        takes = ", ".join(map(str, self.inputs))
        gives = ", ".join(map(str, self.outputs))
        versions = ", ".join(f"{d or 'ai.onnx'} {v}" for d, v in self.opsets.items())
        listed = ", ".join(f"{n} {name}" for name, n in counts.most_common())
        weights = sum(p.numel() for p in self.parameters())
        return (f"OnnxModule({self.graph_name!r}, {versions}\n  takes  {takes}\n  gives  {gives}\n"
                f"  nodes  {len(self.plan.steps)}: {listed}\n  weights  {weights:,}\n)")


def free(name: str) -> bool:
    """May a member have this name?"""
    return name != "" and not hasattr(nn.Module, name)


def _know_again(module: Any, keys: Any) -> None:
    """After other values were loaded: the numbers that are known are those."""
    for path, name in module.original_names.items():
        if name in module.known:
            groups, _, attribute = path.rpartition(".")
            tensor = getattr(module.get_submodule(groups), attribute)
            module.known[name] = Lasting(tensor.numpy(), tensor.dtype)
