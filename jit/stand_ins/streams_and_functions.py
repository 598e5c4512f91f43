"""Stand-ins for streams, loggers, caches and functions while a function is recorded.

A stand-in looks like what it stands for, and does what is asked of that. During the run it records
each call (`outside_calls.py`)."""
from __future__ import annotations

import functools
import logging
import operator
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from whet import declared_for_tracing

from ..refusals.reasons import Calls, Prints
from ..refusals.type_names import thing
from ..values.varying_numbers import NUMBERS, guarded_value
from .numpy_stand_in import Array, guarded_array, real_of
from .repeated_output import METHODS

if TYPE_CHECKING:
    from ..capture.outside_calls import Outward

STABLE = (("isatty", "fileno", "encoding", "errors", "name", "mode", "newlines", "writable",
           "readable", "seekable", "buffer"))
LEVELS = {
    "debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING,
    "error": logging.ERROR, "critical": logging.CRITICAL}


# types of objects that stand for others; they say the real type by `__class__`
TYPES: set[type] = {*NUMBERS, Array}


def type_of(*args: Any, **kwargs: Any) -> Any:
    """What `type` gives: of a stand-in, the type of what it stands for."""
    if len(args) == 1 and not kwargs:
        x, = args
        return x.__class__ if type(x) in TYPES else type(x)
    return type(*[{k: _plain(v) for k, v in x.items()} if type(x) is dict else x for x in args],
                **kwargs)


def real(x: Any) -> Any:
    """What a stand-in stands for; of any other object, the object itself."""
    return object.__getattribute__(x, "_real") if issubclass(type(x), StandIn) else x


def held_by(x: StandIn) -> tuple[Any, Outward]:
    """What a stand-in stands for, and the run for which it records calls. This creates nothing that
    holds the stand-in. If another thread ended the run meanwhile, such an object would be changed
    (`replace_stand_ins.reclaim`)."""
    get = object.__getattribute__
    return get(x, "_real"), get(x, "_outward")


def called_plainly(function: Callable[..., Any], args: Sequence[Any],
                   kwargs: Mapping[str, Any]) -> tuple[Any, Sequence[Any], Mapping[str, Any]]:
    """Call a function that does not know stand-ins of numbers and arrays. Returns its result, and
    the arguments that it got. An argument that comes back is the original one."""
    arrays = [x for x in (*args, *kwargs.values()) if type(x) is Array]
    args = [_plain(x) for x in args]
    kwargs = {k: _plain(x) for k, x in kwargs.items()}
    made = function(*args, **kwargs)
    return next((x for x in arrays if real_of(x) is made), made), args, kwargs


def _plain(x: Any) -> Any:
    """An argument with plain numbers and arrays. Lists and their elements stay the same objects,
    because functions shuffle them and choose from them."""
    if type(x) in (list, tuple):
        plain = [_plain(y) if type(y) is not Array else y for y in x]
        if all(map(operator.is_, plain, x)):
            return x
        if type(x) is tuple:
            return tuple(plain)
        x[:] = plain
        return x
    if type(x) is Array:
        return guarded_array(x)
    return guarded_value(x) if type(x) in NUMBERS else x


class StandIn:
    """Looks like the object that it stands for, and records what is done with it."""
    __slots__ = ("_real", "_outward", "__weakref__")

    def __init__(self, real: Any, outward: Outward) -> None:
        object.__setattr__(self, "_real", real)
        object.__setattr__(self, "_outward", outward)

    __class__ = property(lambda self: type(object.__getattribute__(self, "_real")))

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        TYPES.add(cls)

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            return object.__getattribute__(self, name)
        real, outward = held_by(self)
        found = getattr(real, name)
        return (object.__getattribute__(self, "_attribute")(real, outward, name, found)
                if outward.live() else object.__getattribute__(self, "_afterwards")(found))

    def __setattr__(self, name: str, value: Any) -> None:
        real, outward = held_by(self)
        if outward.live():
            outward.rec.refuse(Prints(f"it changes {thing(type(real))}"))
        setattr(real, name, value)

    def __repr__(self) -> str:
        return repr(object.__getattribute__(self, "_real"))

    def __hash__(self) -> int:
        return hash(object.__getattribute__(self, "_real"))

    def __eq__(self, other: object) -> bool:
        mine = object.__getattribute__(self, "_real")
        return bool(mine == (object.__getattribute__(other, "_real")
                             if isinstance(other, StandIn) else other))

    def _attribute(self, real: Any, outward: Outward, name: str, found: Any) -> Any:
        return found

    def _afterwards(self, found: Any) -> Any:
        """What a run that is no longer recorded gets for an attribute."""
        return found


class Function(StandIn):
    """A stand-in for a Python function."""
    __slots__ = ("_does",)

    def __init__(self, real: Any, outward: Outward, does: Callable[..., Any]) -> None:
        super().__init__(real, outward)
        object.__setattr__(self, "_does", does)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        real, outward = held_by(self)
        if outward.live():
            return object.__getattribute__(self, "_does")(*args, **kwargs)
        # a run that is not recorded any more goes on with the stand-ins that it was given
        return outward.given(real(*map(_plain, args), **{k: _plain(x) for k, x in kwargs.items()}))

    def __instancecheck__(self, x: Any) -> bool:
        """isinstance(x, float), where `float` has a stand-in."""
        return isinstance(x, held_by(self)[0])


class Type(StandIn):
    """A stand-in for `type`, which knows what stand-ins stand for, also when the run is recorded no
    more and goes on with those that it has."""
    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return type_of(*args, **kwargs)
    declared_for_tracing.goes_by_no_size(__call__)

    def __instancecheck__(self, x: Any) -> bool:
        return isinstance(x, type)


class Stream(StandIn):
    """A stand-in for a file, or for a stream in memory."""
    __slots__ = ()

    def _attribute(self, real: Any, outward: Outward, name: str, found: Any) -> Any:
        if name in METHODS and isinstance(found, types.BuiltinFunctionType):
            return functools.partial(outward.written, found)
        if name not in STABLE:
            outward.rec.refuse(
                Calls(f"{type(real).__name__}.{name}, and the stream moves on when it is read"))
        return found

    def __iter__(self) -> Iterator[Any]:
        return self.__iter__()

    def __next__(self) -> Any:
        return self.__next__()

    def __enter__(self) -> Any:
        return self.__enter__()

    def __exit__(self, *exc: object) -> bool | None:
        return self.__exit__(*exc)


class Logger(StandIn):
    """A stand-in for a logger."""
    __slots__ = ()

    def _attribute(self, real: Any, outward: Outward, name: str, found: Any) -> Any:
        if name in LEVELS and getattr(type(real), name) is getattr(logging.Logger, name):
            return functools.partial(_logging, outward, real, LEVELS[name])
        if name in ("isEnabledFor", "getEffectiveLevel", "hasHandlers"):
            return functools.partial(outward.asked, found)
        if name != "name":
            outward.rec.refuse(Prints("it asks for the settings of a logger"))
        return found


def _logging(outward: Outward, real: logging.Logger, level: int, *args: Any, **kwargs: Any) -> None:
    outward.log(real, level, *args, **kwargs)
