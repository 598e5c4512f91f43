"""A model from a file, as a Module."""
import inspect
import keyword
from collections import Counter
from typing import Any

import numpy as np
import whet

from .. import nn
from .element_types import COMPUTED
from .errors import OnnxError
from .read import operators  # noqa: F401  the definitions that a plan calls
from .read.plan import OfOperator, Plan
from .read.signature import Port, returned
from .read.values import MOST_KNOWN, Lasting


class Holder(nn.Module):
    """A module that holds initialisers. Those whose numbers the graph's course depends on are held
    as Python's numbers as well."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: dict[str, Lasting] = {}
        self.times_changed = 0           # a trace compares this in place of the numbers

    def hold(self, name: str, array: np.ndarray, computed_with: bool) -> None:
        """Hold an initialiser: a parameter where it is computed with and has a gradient."""
        tensor = whet.from_numpy(array)
        if computed_with and tensor.is_floating_point():
            self.register_parameter(name, nn.Parameter(tensor))
            return
        self.register_buffer(name, tensor)
        # zero points of bytes are settings, which operators compute with, too
        whole = array.dtype in (np.int64, np.int32)
        whole = whole or array.dtype in (np.uint8, np.int8) and array.ndim < 2
        if array.size <= MOST_KNOWN and (whole or not computed_with):
            self.numbers[name] = Lasting(array, tensor.dtype)

    def value(self, name: str) -> Any:
        """An initialiser, as the plan reads it."""
        return self.numbers[name] if name in self.numbers else self.__dict__[name]

    def _take(self, name: str, loaded: Any, assign: bool) -> None:
        """Take a tensor of a state dict, and its numbers."""
        super()._take(name, loaded, assign)
        if name in self.numbers:
            tensor = self.__dict__[name]
            self.numbers[name] = Lasting(tensor.numpy(), tensor.dtype)
            self.times_changed += 1


class Group(Holder):
    """Holds members whose names begin alike: `encoder.weight` is `weight` of the group."""
    _unwatched = frozenset(("numbers",))

    def forward(self, *args: Any) -> Any:
        raise TypeError("a group of an ONNX model's members is not called; call the model")


class OnnxModule(Holder):
    """A loaded model. Initialisers of floats are its parameters, all others its buffers.

    `inputs` and `outputs` say what it takes and gives; `original_names` maps the names of members
    to the file's; `opsets`, `producer`, `metadata` and `doc` are what the file states.

    >>> import whet
    >>> import io
    >>> file = io.BytesIO()
    >>> _ = whet.onnx.export(whet.nn.Linear(2, 1), (whet.ones(1, 2),), file)
    >>> model = whet.onnx.load(file.getvalue())
    >>> type(model).__name__, len(list(model.parameters()))
    ('OnnxModule', 2)
    """
    # what a trace need not compare: nothing changes it after loading
    _unwatched = frozenset(("plan", "numbers", "arrays", "read", "inputs", "outputs", "opsets",
                            "metadata", "original_names", "paths"))

    def __init__(self, name: str, inputs: tuple[Port, ...], outputs: tuple[Port, ...]) -> None:
        super().__init__()
        self.graph_name, self.inputs, self.outputs = name, inputs, outputs
        self.opsets: dict[str, int] = {}
        self.metadata: dict[str, str] = {}
        self.producer, self.doc, self.ir_version, self.model_version = "", "", 0, 0
        self.original_names: dict[str, str] = {}
        self.paths: dict[str, str] = {}              # the other way round
        self.arrays: dict[str, np.ndarray] = {}      # initialisers that whet has no type for
        self.read: tuple[tuple[Holder | None, str], ...] = ()        # what the plan reads
        self.plan: Plan = Plan((), (), (), (), (), 0)
        # tensors that the plan holds: a trace finds them here, since it does not look into the plan
        self.constants: list[whet.Tensor] = []

    # ---- members ---------------------------------------------------------------------------------
    def add_member(self, name: str, array: np.ndarray, computed_with: bool) -> None:
        """Hold an initialiser."""
        if array.dtype not in COMPUTED:
            self.arrays[name] = array
            return
        holder, attribute, path = self.place(name)
        holder.hold(attribute, array, computed_with)
        self.original_names[path], self.paths[name] = name, path

    def place(self, name: str) -> tuple[Holder, str, str]:
        """The module that holds an initialiser of this name, the attribute, and the whole path."""
        *groups, last = name.split(".")
        holder = self.group(groups) if all(map(may_be_member, (*groups, last))) else None
        if holder is not None and not hasattr(holder, last):
            return holder, last, name
        plain = "".join(c if c.isalnum() or c == "_" else "_" for c in name) or "unnamed"
        while hasattr(self, plain):
            plain += "_"
        return self, plain, plain

    def group(self, path: list[str]) -> Holder | None:
        """The group at a path, made where it is missing; None where another member is in the
        way."""
        holder: Holder = self
        for name in path:
            inner = holder._modules.get(name)
            if inner is None and hasattr(holder, name):
                return None
            if inner is None:
                inner = Group()
                holder.add_module(name, inner)
            holder = inner
        return holder

    def reads(self, names: list[str]) -> None:
        """Say which members the plan reads, in order."""
        self.read = tuple(map(self.held, names))

    def held(self, name: str) -> tuple[Holder | None, str]:
        """Where the initialiser of this name in the file is held. Without a holder: in `arrays`."""
        if name in self.arrays:
            return None, name
        groups, _, attribute = self.paths[name].rpartition(".")
        return self.get_submodule(groups), attribute

    def read_values(self) -> list[Any]:
        """What the plan reads from outside."""
        return [self.arrays[name] if holder is None else holder.value(name)
                for holder, name in self.read]

    # ---- running ---------------------------------------------------------------------------------
    @property
    def __signature__(self) -> inspect.Signature:
        """The inputs by their names in the file, where these are names in Python."""
        parameter, ports = inspect.Parameter, self.inputs
        named = all(p.name.isidentifier() and not keyword.iskeyword(p.name) for p in ports)
        if not named or sorted(ports, key=lambda p: not p.needed) != list(ports):
            return inspect.signature(self.forward)
        return inspect.Signature([
            parameter(p.name, parameter.POSITIONAL_OR_KEYWORD,
                      default=parameter.empty if p.needed else None)
            for p in ports
        ])

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The results: one alone, several as a tuple."""
        found = [returned(v) for v in self.plan.run(self.bound(args, kwargs), self.read_values())]
        return found[0] if len(found) == 1 else tuple(found)

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The values of all inputs, in order."""
        if len(args) > len(self.inputs):
            raise OnnxError(f"the model takes {len(self.inputs)} inputs, not {len(args)}")
        named = dict(zip((p.name for p in self.inputs), args))
        for name, value in kwargs.items():
            if name in named:
                raise OnnxError(f"input {name!r} is passed twice")
            named[name] = value
        values = []
        for port in self.inputs:
            if port.name in named:
                values.append(port.value(named.pop(port.name)))
            elif port.needed:
                raise OnnxError(f"input {port.name!r} is missing")
            else:
                values.append(self.default(port.name))
        if named:
            raise OnnxError(f"the model has no input {next(iter(named))!r}: it has "
                            f"{', '.join(repr(p.name) for p in self.inputs)}")
        return values

    def default(self, name: str) -> Any:
        """The initialiser of an input that nothing is passed for."""
        holder, attribute = self.held(name)
        return self.arrays[name] if holder is None else holder.value(attribute)

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


def may_be_member(name: str) -> bool:
    """May a member have this name?"""
    return name != "" and not hasattr(nn.Module, name)
