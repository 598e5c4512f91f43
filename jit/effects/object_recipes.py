"""Recipes of new objects that each call makes, with their parts: containers, records and instances.

A container's recipe exists before those of its parts do, because a container may hold itself.
"""
from __future__ import annotations

import collections
import dataclasses
import types
from collections.abc import Sequence
from typing import Any

from whet import declared_for_tracing
from whet.tensor import Size

from ..refusals.reasons import Returns
from ..refusals.recording_errors import Refused
from ..refusals.type_names import full_thing
from ..values.code_origin import HEAP, origin_of_class, users
from ..values.containers import elements, kind_of, values
from ..values.immutable_types import PLAIN
from ..values.instance_state import attributes, base_with_hidden_state, set_attribute
from ..values.tensor_sources import InPython
from ..values.varying_numbers import NUMBERS
from .recipes import Making, Recipe, Runs, same_constant


class Made(Recipe):
    """A new object that each call makes, with its parts."""
    __slots__ = ("held",)

    def __init__(self) -> None:
        self.held: list[Recipe] = []

    @staticmethod
    def takes(x: Any) -> bool:
        """Is this the recipe for such an object?"""
        raise NotImplementedError

    def describe(self, x: Any, results: Any) -> None:
        """Note what an object is made of."""
        self.held = [results.describe(y) for y in x]

    def build(self, making: Making) -> Any:
        x = making.made.get(self)
        return self.make(making) if x is None else x

    def make(self, making: Making) -> Any:
        """A new object, noted before its parts are made if it can be changed."""
        raise NotImplementedError

    def same(self, other: Any, runs: Runs) -> bool:
        return runs.lists(self.held, other.held)

    def parts(self) -> list[Recipe]:
        return self.held


class MadeSlice(Made):
    """A slice with numbers that vary."""
    __slots__ = ()

    @staticmethod
    def takes(x: Any) -> bool:
        return type(x) is slice

    def describe(self, x: Any, results: Any) -> None:
        super().describe((x.start, x.stop, x.step), results)

    def make(self, making: Making) -> Any:
        x = making.made[self] = slice(*[y.build(making) for y in self.held])
        return x


class MadeTuple(Made):
    """A tuple."""
    __slots__ = ()

    @staticmethod
    def takes(x: Any) -> bool:
        return type(x) is tuple

    def make(self, making: Making) -> Any:
        x = tuple([y.build(making) for y in self.held])
        # A list in it that holds it has built it already.
        return making.made.setdefault(self, x)

    def emit(self, steps: Any) -> None:
        steps.once(self)
        for y in self.held:
            y.emit(steps)
        steps.tuple(len(self.held))


class MadeList(Made):
    """A list."""
    __slots__ = ()

    @staticmethod
    def takes(x: Any) -> bool:
        return type(x) is list

    def make(self, making: Making) -> Any:
        x: list[Any] = []
        making.made[self] = x
        x += [y.build(making) for y in self.held]
        return x

    def emit(self, steps: Any) -> None:
        steps.once(self)
        for y in self.held:
            y.emit(steps)
        steps.list(len(self.held))


class MadeRecord(Made):
    """A tuple with a class: a named tuple, a shape, or several results of one of our functions.
    `named`: its attributes beside the fields."""
    __slots__ = ("type", "named")

    @staticmethod
    def takes(x: Any) -> bool:
        return issubclass(type(x), tuple) and (hasattr(type(x), "_fields") or _is_ours(type(x)))

    def describe(self, x: Any, results: Any) -> None:
        self.type = _class_from_outside(x, results)
        super().describe(x, results)
        more = getattr(x, "__dict__", {}) if hasattr(x, "_fields") else {}
        self.named = [(name, results.describe(y)) for name, y in more.items()]

    def of(self, fields: Sequence[Any]) -> Any:
        """One with these fields."""
        return self.type._make(fields) if hasattr(self.type, "_make") else self.type(fields)

    def emit(self, steps: Any) -> None:
        if self.named:
            raise InPython
        steps.once(self)
        for y in self.held:
            y.emit(steps)
        steps.record(len(self.held), self.of)

    def make(self, making: Making) -> Any:
        x = making.made.setdefault(self, self.of([y.build(making) for y in self.held]))
        if self.named:
            x.__dict__.update([(name, y.build(making)) for name, y in self.named])
        return x

    def same(self, other: MadeRecord, runs: Runs) -> bool:
        return (self.type is other.type and runs.lists(self.held, other.held)
                and _same_entries(self.named, other.named, runs))

    def parts(self) -> list[Recipe]:
        return [*self.held, *(y for _, y in self.named)]


class MadeShape(MadeRecord):
    """A shape with numbers that vary."""
    __slots__ = ()

    @staticmethod
    def takes(x: Any) -> bool:
        return type(x) is Size and any(type(n) in NUMBERS for n in x)


class MadeDict(Made):
    """A dict, by its type."""
    __slots__ = ("type", "keys")

    @staticmethod
    def takes(x: Any) -> bool:
        return type(x) in (dict, collections.OrderedDict) and all(type(k) in PLAIN for k in x)

    def describe(self, x: Any, results: Any) -> None:
        self.fill(type(x), list(x), list(x.values()), results)

    def fill(self, kind: type, keys: list[Any], held: list[Any], results: Any) -> None:
        """Note the entries of a dict of this type."""
        self.type, self.keys = kind, keys
        self.held = [results.describe(y) for y in held]

    def make(self, making: Making) -> Any:
        x = making.made[self] = self.type()
        x.update(zip(self.keys, [y.build(making) for y in self.held]))
        return x

    def emit(self, steps: Any) -> None:
        if self.type is not dict:
            raise InPython
        steps.once(self)
        at = steps.keys(self.keys)
        for y in self.held:
            y.emit(steps)
        steps.dict(len(self.keys), at)

    def same(self, other: MadeDict, runs: Runs) -> bool:
        return (self.type is other.type and same_constant(self.keys, other.keys)
                and runs.lists(self.held, other.held))


class TensorKeyedDict(Made):
    """What a dict with tensors as keys holds."""
    __slots__ = ("keys",)

    def fill(self, kind: type, keys: list[Any], held: list[Any], results: Any) -> None:
        """Note the entries, each key with its value."""
        pairs = [(results.describe(k), results.describe(y)) for k, y in zip(keys, held)]
        self.keys, self.held = [k for k, _ in pairs], [y for _, y in pairs]

    def make(self, making: Making) -> Any:
        return {k.build(making): y.build(making) for k, y in zip(self.keys, self.held)}

    def same(self, other: TensorKeyedDict, runs: Runs) -> bool:
        return runs.lists(self.keys, other.keys) and runs.lists(self.held, other.held)

    def parts(self) -> list[Recipe]:
        return [*self.keys, *self.held]


class MadeSet(Made):
    """A set of constants, which has them in the order that it had."""
    __slots__ = ("type", "order")

    @staticmethod
    def takes(x: Any) -> bool:
        return type(x) in (set, frozenset) and all(type(k) in PLAIN for k in x)

    def describe(self, x: Any, results: Any) -> None:
        self.type, self.order = type(x), elements(x)
        if elements(self.type(self.order)) != self.order:
            # What was taken from it left holes.
            raise Refused(Returns("a set, of which the order could be another"))

    def make(self, making: Making) -> Any:
        x = making.made[self] = self.type(self.order)
        return x

    def same(self, other: MadeSet, runs: Runs) -> bool:
        return self.type is other.type and same_constant(self.order, other.order)


class MadeObject(Made):
    """An instance of a user class, of a dataclass, or of a class of ours whose objects are
    data, made without its `__init__`.
    `entries`: what it holds as a dict, if it is a kind of one."""
    __slots__ = ("type", "own", "fields", "entries")

    @staticmethod
    def takes(x: Any) -> bool:
        t = type(x)
        if issubclass(t, type) or not (
                t is types.SimpleNamespace or dataclasses.is_dataclass(t) or users(t)
                or declared_for_tracing.is_data(t)):
            return False
        own = _made_by(x)
        return all(b is object or b.__flags__ & HEAP or b in (own, dict) for b in t.__mro__) \
            and (own is not object or base_with_hidden_state(t) is None) \
            and all(type(k) in PLAIN for k in (elements(x) if issubclass(t, dict) else ()))

    def describe(self, x: Any, results: Any) -> None:
        held = list(zip(elements(x), values(x))) if issubclass(type(x), dict) else []
        self.type, self.own = _class_from_outside(x, results), _made_by(x)
        self.fields = [(name, results.describe(y)) for name, y in attributes(x)]
        self.entries = [(k, results.describe(y)) for k, y in held]

    def make(self, making: Making) -> Any:
        x = making.made[self] = self.own.__new__(self.type)
        return self.fill(x, [y.build(making) for y in self.parts()])

    def fill(self, x: Any, held: Sequence[Any]) -> Any:
        """Give a new object what it holds: attributes, then entries."""
        own: Any = self.own
        for (name, _), y in zip(self.fields, held):
            set_attribute(x, name, y)
        for (k, _), y in zip(self.entries, held[len(self.fields):]):
            own.__setitem__(x, k, y)
        return x

    def of(self, held: Sequence[Any]) -> Any:
        """One that holds this."""
        return self.fill(self.own.__new__(self.type), held)

    def emit(self, steps: Any) -> None:
        steps.once(self)
        held = self.parts()
        for y in held:
            y.emit(steps)
        steps.record(len(held), self.of)

    def same(self, other: MadeObject, runs: Runs) -> bool:
        return (self.type is other.type and self.own is other.own
                and _same_entries(self.fields, other.fields, runs)
                and _same_entries(self.entries, other.entries, runs))

    def parts(self) -> list[Recipe]:
        return [y for _, y in (*self.fields, *self.entries)]


def _class_from_outside(x: Any, results: Any) -> type:
    """The class of an object. One that the run itself made is refused: eagerly, each call makes
    another one."""
    if users(type(x)) and not results.was_there(type(x)):
        raise Refused(Returns(f"{full_thing(type(x))}, a class that it made"))
    return type(x)


def _made_by(x: Any) -> Any:
    """The class of C whose `__new__` makes such an object."""
    if type(x) is types.SimpleNamespace:
        return types.SimpleNamespace
    return kind_of(x) if issubclass(type(x), dict) else object


def _is_ours(t: type) -> bool:
    origin = origin_of_class(t)
    return origin is not None and origin.is_ours


def _same_entries(a: Any, b: Any, runs: Runs) -> bool:
    """Are pairs of a name and a recipe the same?"""
    return (len(a) == len(b)
            and all(same_constant(j, k) and runs.recipes(x, y) for (j, x), (k, y) in zip(a, b)))


# What immutable things are made anew for the sake of numbers in them, though they might have been
# there before.
ANEW: tuple[type[Made], ...] = MadeSlice, MadeShape
KINDS: tuple[type[Made], ...] = (MadeTuple, MadeList, MadeRecord, MadeDict, MadeSet, MadeObject)
