"""How arguments and results are nested: a tree, whose leaves are places in a list of arrays or
fixed values.

    {"x": <tensor>, "by": 2.0}      DictPart(["x", "by"], [TensorPart("in.x", 0), FixedPart(...)])

A part takes the tensors out of an argument (`gather`) and builds a result of arrays (`build`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from whet.ir.value_text import value_text
from whet.tensor import wrap
from whet.tensor_base import is_strided

from ..values.immutable_types import equal
from .errors import PreconditionError


class Part:
    """A part of an argument or of a result. `name` is what the user calls it."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def gather(self, x: Any, found: list[Any]) -> None:
        """Put the tensors in an argument into `found`; raises PreconditionError for another
        argument."""
        raise NotImplementedError

    def build(self, arrays: Sequence[Any]) -> Any:
        """The object, of the arrays of a call."""
        raise NotImplementedError

    def leaves(self) -> Iterator[Part]:
        """The parts that have no parts."""
        yield self

    def refuse(self, x: Any, wanted: str) -> None:
        """Raise for another argument."""
        raise PreconditionError(
            f"argument `{self.name}` is {shown(x)}; the function was exported for {wanted}"
        )


class TensorPart(Part):
    """A tensor: number `index` of the arrays."""

    __slots__ = ("index",)

    def __init__(self, name: str, index: int) -> None:
        super().__init__(name)
        self.index = index

    def gather(self, x: Any, found: list[Any]) -> None:
        if is_strided(x):
            found.append(x)
        elif isinstance(x, np.ndarray):
            found.append(wrap(x))
        else:
            self.refuse(x, "a tensor")

    def build(self, arrays: Sequence[Any]) -> Any:
        return arrays[self.index]


class ArrayPart(TensorPart):
    """A result that is a NumPy array."""

    __slots__ = ()

    def build(self, arrays: Sequence[Any]) -> Any:
        return arrays[self.index]._array


class NumberPart(TensorPart):
    """A result that is a Python number."""

    __slots__ = ()

    def build(self, arrays: Sequence[Any]) -> Any:
        return arrays[self.index].item()


class FixedPart(Part):
    """A value that is the same at each call."""

    __slots__ = ("value",)

    def __init__(self, name: str, value: Any) -> None:
        super().__init__(name)
        self.value = value

    def gather(self, x: Any, found: list[Any]) -> None:
        if x is not self.value and not equal(x, self.value):
            self.refuse(x, f"{value_text(self.value)}, which became a part of it")

    def build(self, arrays: Sequence[Any]) -> Any:
        return self.value


class OmittedPart(Part):
    """An argument that was left out, and whose default no call can be compared with."""

    __slots__ = ()

    def gather(self, x: Any, found: list[Any]) -> None:
        self.refuse(x, "its default: leave it out")


class Nested(Part):
    """Something with parts."""

    __slots__ = ("parts",)

    def __init__(self, name: str, parts: Sequence[Part]) -> None:
        super().__init__(name)
        self.parts = list(parts)

    def leaves(self) -> Iterator[Part]:
        for p in self.parts:
            yield from p.leaves()


class SequencePart(Nested):
    """A tuple or a list."""

    __slots__ = ()
    kind: type[Any] = tuple

    def gather(self, x: Any, found: list[Any]) -> None:
        if not isinstance(x, tuple | list) or len(x) != len(self.parts):
            self.refuse(x, f"a {self.kind.__name__} of {len(self.parts)}")
        for p, y in zip(self.parts, x):
            p.gather(y, found)

    def build(self, arrays: Sequence[Any]) -> Any:
        return self.kind([p.build(arrays) for p in self.parts])


class TuplePart(SequencePart):
    """A tuple."""

    __slots__ = ()


class ListPart(SequencePart):
    """A list."""

    __slots__ = ()
    kind = list


class DictPart(Nested):
    """A dict with these keys, in this order."""

    __slots__ = ("keys",)

    def __init__(self, name: str, keys: Sequence[Any], parts: Sequence[Part]) -> None:
        super().__init__(name, parts)
        self.keys = list(keys)

    def gather(self, x: Any, found: list[Any]) -> None:
        if not isinstance(x, dict) or x.keys() != set(self.keys):
            self.refuse(x, f"a dict with the keys {', '.join(map(repr, self.keys)) or '(none)'}")
        for k, p in zip(self.keys, self.parts):
            p.gather(x[k], found)

    def build(self, arrays: Sequence[Any]) -> Any:
        return {k: p.build(arrays) for k, p in zip(self.keys, self.parts)}


class RecordPart(Nested):
    """A named tuple or an instance of a dataclass. `make` gives one of its fields' values."""

    __slots__ = ("fields", "title", "is_tuple", "make")

    def __init__(
        self,
        name: str,
        title: str,
        fields: Sequence[str],
        parts: Sequence[Part],
        is_tuple: bool,
        make: Callable[[list[Any]], Any] | None = None,
    ) -> None:
        super().__init__(name, parts)
        self.title, self.fields, self.is_tuple = title, list(fields), is_tuple
        self.make = record(title, self.fields, is_tuple) if make is None else make

    def gather(self, x: Any, found: list[Any]) -> None:
        for k, p in zip(self.fields, self.parts):
            if not hasattr(x, k):
                self.refuse(x, f"a {self.title} with the field `{k}`")
            p.gather(getattr(x, k), found)

    def build(self, arrays: Sequence[Any]) -> Any:
        return self.make([p.build(arrays) for p in self.parts])


class Record:
    """An instance of a dataclass of which only the fields are known, as an archive has it."""

    def __init__(self, title: str, fields: Sequence[str], values: Sequence[Any]) -> None:
        vars(self).update(zip(fields, values))
        self.__title = title

    @property
    def title(self) -> str:
        """The name of its class."""
        return self.__title

    def items(self) -> list[tuple[str, Any]]:
        """Its fields and their values."""
        return [(k, v) for k, v in vars(self).items() if not k.startswith("_Record")]

    def __repr__(self) -> str:
        return f"{self.__title}({', '.join(f'{k}={v!r}' for k, v in self.items())})"


def record(title: str, fields: Sequence[str], is_tuple: bool) -> Callable[[list[Any]], Any]:
    """What makes a record of values, where its class is not known."""
    if not is_tuple:
        return lambda values: Record(title, fields, values)
    names = {k: property(operator.itemgetter(i)) for i, k in enumerate(fields)}
    return type(title, (tuple,), {"__slots__": (), "_fields": tuple(fields), **names})


def shown(x: Any) -> str:
    """An argument in a few words."""
    if is_strided(x):
        return f"a tensor {x._array.dtype}{list(x._array.shape)}"
    if isinstance(x, tuple | list | dict):
        return f"a {type(x).__name__} of {len(x)}"
    text = repr(x)
    return text if len(text) <= 60 else f"a {type(x).__name__}"
