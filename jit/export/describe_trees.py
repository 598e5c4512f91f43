"""Arguments of a call and recipes of its results become trees of parts."""

from __future__ import annotations

import collections
import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from whet import dtypes
from whet.devices import device
from whet.layouts import contiguous_format
from whet.tensor import Size, wrap
from whet.tensor_base import is_strided

from ..effects import object_recipes
from ..effects.recipes import ArrayArgument, Constant, Found, MadeArray, Number, Recipe
from ..effects.tensor_recipes import MadeTensor, MadeView
from ..refusals.reasons import Returns
from ..refusals.recording_errors import Refused
from ..refusals.type_names import full_thing
from ..values.containers import elements, values
from ..values.instance_state import set_attribute
from .errors import ExportError
from .tree_structure import (
    ArrayPart,
    DictPart,
    FixedPart,
    ListPart,
    NumberPart,
    Part,
    Record,
    RecordPart,
    TensorPart,
    TuplePart,
)

# what an archive can say of a value
PLAIN = (int, float, complex, bool, str, bytes, type(None), type(...), dtypes.dtype, device, Size)
SEQUENCES: dict[type, Any] = {tuple: TuplePart, list: ListPart}
DICTS = dict, collections.OrderedDict


OUTPUT = "output"  # the name of a result that has none of its own


def below(name: str, key: Any) -> str:
    """The name of a part of something of this name: `x.mask`, `x.0`."""
    if name:
        return f"{name}.{key}"
    return key if isinstance(key, str) else f"{OUTPUT}.{key}"


class ReturnsOther(Returns):
    """It returns what an archive cannot describe."""

    instead = ("Return tensors, numbers, texts, None, and tuples, lists, dicts and dataclasses of "
               "these.")


class Arguments:
    """The tensors among the arguments: `tensors` in order, each of its own memory in C order, as
    the recorded call is given them, and `names`."""

    def __init__(self, resized: Callable[[int, Any], Any] | None = None) -> None:
        self.resized = resized  # the array of tensor number i, of other sizes
        self.tensors: list[Any] = []
        self.names: list[str] = []

    def part(self, x: Any, name: str) -> tuple[Part, Any]:
        """The part for an argument, and the argument that the recorded call gets."""
        kind = type(x)
        if is_strided(x):
            return self.tensor(x, name)
        if kind in PLAIN:
            return FixedPart(name, x), x
        if kind in SEQUENCES:
            made, parts = self.several(name, enumerate(x))
            return SEQUENCES[kind](name, parts), kind(made)
        if kind in DICTS and all(type(k) in (str, int) for k in x):
            made, parts = self.several(name, x.items())
            return DictPart(name, list(x), parts), kind(zip(x, made))
        if isinstance(x, tuple) and hasattr(kind, "_fields"):
            made, parts = self.several(name, zip(kind._fields, x))
            return RecordPart(
                name, kind.__name__, kind._fields, parts, is_tuple=True, make=kind._make
            ), kind._make(made)
        if dataclasses.is_dataclass(x) and not isinstance(x, type):
            fields = [f.name for f in dataclasses.fields(x)]
            made, parts = self.several(name, [(k, getattr(x, k)) for k in fields])
            make = functools.partial(instance, kind, fields, entries_that_are_fields(x, fields))
            part = RecordPart(name, kind.__name__, fields, parts, is_tuple=False, make=make)
            return part, make(made)
        if isinstance(x, Record):
            made, parts = self.several(name, x.items())
            part = RecordPart(name, x.title, [k for k, _ in x.items()], parts, is_tuple=False)
            return part, part.make(made)
        instead = ("Pass whet.from_numpy(it)" if isinstance(x, np.ndarray)
                   else "Close over it instead: whet.export(lambda x: fn(x, it), x)")
        raise ExportError(
            f"argument `{name}` is {full_thing(kind)}: an exported function takes tensors, "
            "numbers, texts, None, and tuples, lists, dicts and dataclasses of these.\n"
            f"  {instead}"
        )

    def several(self, name: str, items: Any) -> tuple[list[Any], list[Part]]:
        """The contents of a container: as the call gets it, and as parts."""
        pairs = [self.part(y, below(name, k)) for k, y in items]
        return [y for _, y in pairs], [p for p, _ in pairs]

    def tensor(self, x: Any, name: str) -> tuple[Part, Any]:
        """A tensor: as the call gets it, and as a part."""
        made = x.detach().clone(memory_format=contiguous_format)
        if self.resized is not None:
            made = wrap(self.resized(len(self.tensors), made._array))
        self.tensors.append(made)
        self.names.append(name)
        return TensorPart(name, len(self.tensors) - 1), made


def instance(kind: type, fields: Sequence[str], entries: Sequence[str],
             held: Sequence[Any]) -> Any:
    """An instance of a dataclass, made without its `__init__`. `entries`: the fields that it has
    as entries, too, if its class is a kind of dict."""
    own: Any = kind_of_class(kind)
    x = own.__new__(kind)
    by_name = dict(zip(fields, held))
    for k, y in by_name.items():
        set_attribute(x, k, y)
    for k in entries:
        own.__setitem__(x, k, by_name[k])
    return x


def kind_of_class(kind: type) -> type:
    """The class of C whose `__new__` makes the instances of a dataclass."""
    return next(c for c in (*DICTS[::-1], object) if issubclass(kind, c))


def entries_that_are_fields(x: Any, fields: Sequence[str]) -> list[str]:
    """The keys of a dataclass that is a kind of dict as well, and that has fields as entries."""
    if not isinstance(x, dict):
        return []
    if any(k not in fields or getattr(x, k) is not y for k, y in zip(elements(x), values(x))):
        raise ExportError(f"an argument is {full_thing(type(x))}, with entries that are no fields")
    return list(elements(x))


class ResultParts:
    """The values of which a result is made: `values` in order, each once, with their `names`.
    `value_of` tells the number of a tensor that was there before."""

    def __init__(self, value_of: Callable[[Found], int]) -> None:
        self.value_of = value_of
        self.values: list[int] = []
        self.names: list[str] = []

    def index(self, value: int, name: str) -> int:
        """The place of a value among the results."""
        if value not in self.values:
            self.values.append(value)
            self.names.append(name or OUTPUT)
        return self.values.index(value)

    def part(self, r: Recipe, name: str) -> Part:
        """The part for a recipe."""
        say = KINDS.get(type(r))
        if say is None:
            raise refused("what cannot be exported", name)
        part: Part = say(self, r, name)
        return part

    def several(self, name: str, keys: Sequence[Any], held: Sequence[Recipe]) -> list[Part]:
        """The parts in a container."""
        return [self.part(y, below(name, k)) for k, y in zip(keys, held)]

    # ---- kinds of recipes ------------------------------------------------------------------------
    def made(self, r: Any, name: str) -> Part:
        """A tensor that the run made."""
        return TensorPart(name, self.index(r.value, name))

    def found(self, r: Any, name: str) -> Part:
        """One that was there before."""
        return TensorPart(name, self.index(self.value_of(r), name))

    def number(self, r: Any, name: str) -> Part:
        """A number that a tensor held."""
        return NumberPart(name, self.index(r.value, name))

    def array(self, r: Any, name: str) -> Part:
        """A NumPy array."""
        return ArrayPart(name, self.index(r.value, name))

    def constant(self, r: Any, name: str) -> Part:
        """What is the same at each call."""
        return self.fixed(r.object, name)

    def fixed(self, x: Any, name: str) -> Part:
        """A Python value."""
        if type(x) in (tuple, list):
            sequence: Part = SEQUENCES[type(x)](
                name, [self.fixed(y, below(name, i)) for i, y in enumerate(x)]
            )
            return sequence
        if type(x) is dict and all(type(k) in (str, int) for k in x):
            return DictPart(name, list(x), [self.fixed(y, below(name, k)) for k, y in x.items()])
        if type(x) not in PLAIN:
            raise refused(full_thing(type(x)), name)
        return FixedPart(name, x)

    def sequence(self, r: Any, name: str) -> Part:
        """A tuple or a list."""
        kind = TuplePart if isinstance(r, object_recipes.MadeTuple) else ListPart
        return kind(name, self.several(name, range(len(r.held)), r.held))

    def dict(self, r: Any, name: str) -> Part:
        """A dict."""
        return DictPart(name, r.keys, self.several(name, r.keys, r.held))

    def record(self, r: Any, name: str) -> Part:
        """A named tuple."""
        make = r.type._make if hasattr(r.type, "_make") else r.type
        fields = getattr(r.type, "_fields", None)
        if fields is None:
            return TuplePart(name, self.several(name, range(len(r.held)), r.held))
        parts = self.several(name, fields, r.held)
        return RecordPart(name, r.type.__name__, fields, parts, is_tuple=True, make=make)

    def dataclass(self, r: Any, name: str) -> Part:
        """An instance of a dataclass."""
        kind: type = r.type
        if not dataclasses.is_dataclass(kind):
            raise refused(full_thing(kind), name)
        fields, held = [k for k, _ in r.fields], [y for _, y in r.fields]
        parts = self.several(name, fields, held)
        of_field = dict(zip(fields, zip(held, parts)))
        for k, y in r.entries:
            if k not in of_field or not self.is_made_alike(y, *of_field[k]):
                raise refused(f"{full_thing(kind)}, with entries that are no fields", name)
        make = functools.partial(instance, kind, fields, [k for k, _ in r.entries])
        return RecordPart(name, kind.__name__, fields, parts, is_tuple=False, make=make)

    def is_made_alike(self, r: Recipe, other: Recipe, part: Part) -> bool:
        """Does a recipe make the same as another one, of this part?"""
        if r is other:
            return True
        mine = self.part(r, part.name)
        return (type(mine) is type(part) is TensorPart
                and mine.index == part.index)


def refused(what: str, name: str) -> Refused:
    """The error for a result, or a part of one, that is something else."""
    return Refused(ReturnsOther(f"{what} (`{name}`)" if name else what))


KINDS: dict[type, Any] = {
    MadeTensor: ResultParts.made,
    MadeView: ResultParts.made,
    Found: ResultParts.found,
    Number: ResultParts.number,
    MadeArray: ResultParts.array,
    ArrayArgument: ResultParts.found,
    Constant: ResultParts.constant,
    object_recipes.MadeTuple: ResultParts.sequence,
    object_recipes.MadeList: ResultParts.sequence,
    object_recipes.MadeDict: ResultParts.dict,
    object_recipes.MadeRecord: ResultParts.record,
    object_recipes.MadeObject: ResultParts.dataclass,
}
