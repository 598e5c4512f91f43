"""Functions with a cache (`functools.lru_cache`): the contents of the cache, and calls that hit it.

A recorded call that finds what an earlier one gave is repeated by replays where the same entry is
still there. What was found is compared as anything else that a run can read, so the walk before the
run looks at what caches hold.

A cache keeps what it is given for good. So the recording ends before a call that fills one, and
what that call reads is plain. Its callers hold numbers that vary nevertheless, so that they find
stand-ins again when it is over.
"""
from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from whet.tensor import Size
from whet.tensor_base import is_strided

from ..refusals.reasons import Caches
from ..values.code_origin import users
from ..values.instance_state import has_dict, own_dict
from ..values.varying_numbers import NUMBERS, guarded_value
from .repeatable_call import FIXED, Call
from .streams_and_functions import StandIn, held_by

if TYPE_CHECKING:
    from ..capture.outside_calls import Outward

CACHED = type(functools.lru_cache(len))
DEPTH = 8                        # of containers in containers that are looked through


def entries_of(function: Any) -> list[tuple[Any, Any]]:
    """The keys and results in a cache. If it is bounded, the most recently used entry comes last.

    C's cache has no attribute for them. It lets the garbage collector see its type, then key,
    result and link of each entry, or the one dict that it has where nothing bounds it.
    """
    held = gc.get_referents(function)
    if function.cache_parameters()["maxsize"] is None:
        return list(held[1].items())
    ends = 1 + 3 * function.cache_info().currsize
    return list(zip(held[1:ends:3], held[2:ends:3]))


def _dict_of(function: Any) -> dict[Any, Any]:
    """The dict that maps a cache's keys to its entries."""
    of_type, *held = gc.get_referents(function)
    bounded = function.cache_parameters()["maxsize"] is not None
    found: dict[Any, Any] = held[3 * function.cache_info().currsize if bounded else 0]
    return found


@functools.lru_cache(None)
def _with_names(**names: Any) -> None:
    """A function to call with a keyword, so that its cache shows the mark that C puts before
    keywords in a key."""


_with_names(name=None)
BEFORE_NAMES = next(iter(_dict_of(_with_names)))[0]


def finds(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Does a cache hold the result for these arguments? The key is built as C builds it.

    >>> import functools
    >>> from whet.jit.stand_ins.caches import finds
    >>> double = functools.cache(lambda n: 2 * n)
    >>> finds(double, (3,), {}), double(3), finds(double, (3,), {})
    (False, 6, True)
    """
    typed, key = function.cache_parameters()["typed"], args
    if kwargs:
        key += (BEFORE_NAMES, *[y for pair in kwargs.items() for y in pair])
    if typed:
        key += (*map(type, args), *map(type, kwargs.values()))
    is_bare = not kwargs and not typed and len(args) == 1 and type(args[0]) in (int, str)
    try:
        return (args[0] if is_bare else key) in _dict_of(function)
    except TypeError:                        # no hash
        return False


def is_data(x: Any, depth: int = DEPTH) -> bool:
    """Is this a constant, a tensor, or a container or instance that holds such?"""
    if type(x) in FIXED or is_strided(x):
        return True
    if depth == 0:
        return False
    if type(x) in (set, frozenset):
        return all(type(y) in FIXED for y in x)
    if type(x) in (list, tuple):
        return all(is_data(y, depth - 1) for y in x)
    if type(x) is dict:
        return all(is_data(y, depth - 1) for pair in x.items() for y in pair)
    return not isinstance(x, type) and users(type(x)) and has_dict(x) \
        and is_data(own_dict(x), depth - 1)


def data_in(function: Any) -> list[Any]:
    """The data in a cache that a run may read."""
    return [result for _, result in entries_of(function) if is_data(result)]


def containers_in(x: Any) -> Iterator[Any]:
    """Data of a cache, and what it is made of, as far as that holds something."""
    yield x
    parts = (x.values() if type(x) is dict else x if type(x) in (list, tuple) else
             [own_dict(x)] if users(type(x)) and has_dict(x) else ())
    for part in parts:
        yield from containers_in(part)


class Cache(StandIn):
    """A function with a cache (functools.lru_cache)."""
    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function, outward = held_by(self)
        args, kwargs = tuple([_key(x) for x in args]), {k: _key(x) for k, x in kwargs.items()}
        if not finds(function, args, kwargs):
            out = outward.fill(function, args, kwargs)
        elif outward.live():
            out = found(outward, function, args, kwargs)
        else:
            out = function(*args, **kwargs)
        # Code that compares it with what Python's state holds finds the stand-in there.
        return outward.stand_ins.get(id(out), out) if callable(out) else out

    def __get__(self, owner: object, cls: type | None = None) -> Callable[..., Any]:
        return self if owner is None else functools.partial(self, owner)

    def _attribute(self, real: Any, outward: Outward, name: str, found: Any) -> Any:
        if not name.startswith("__"):
            outward.rec.refuse(Caches(f"it asks for {name} of a cache"))
        return found


def found(outward: Outward, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Handle a call of a function whose cache has the result."""
    rec, out = outward.rec, function(*args, **kwargs)
    if not (all(_finds_one_entry(outward, x) for x in (*args, *kwargs.values()))
            and _is_compared(outward, out)):
        rec.refuse(Caches(f"it reads objects from the cache of {function.__qualname__}"))
    else:
        entries = [(key, result) for key, result in entries_of(function) if result is out]
        wanted = {(id(key), id(result)) for key, result in entries}

        # By id: `entries` lives as long, so no other object gets the id of one.
        def as_it_was(entries: Any = entries) -> bool:
            return wanted <= {(id(key), id(result)) for key, result in entries_of(function)}
        rec.acts.append(
            Call(functools.partial(function, *args, **kwargs), [], {}, len(rec.nodes), as_it_was))
    return out


def _key(x: Any) -> Any:
    """An argument without Numbers: no cache may keep these."""
    if type(x) in NUMBERS:
        return guarded_value(x)
    return type(x)([_key(y) for y in x]) if type(x) in (tuple, Size) else x


def _finds_one_entry(outward: Outward, x: Any) -> bool:
    """Does this argument lead to the same cache entry at each call?"""
    kind: Any = type(x)
    if kind in (tuple, Size):
        return all(_finds_one_entry(outward, y) for y in x)
    return kind in FIXED or id(x) in outward.known and kind.__hash__ is object.__hash__


def _is_compared(outward: Outward, x: Any) -> bool:
    """Is this a constant, or something that is compared before each replay?"""
    if type(x) is tuple:
        return all(_is_compared(outward, y) for y in x)
    return type(x) in FIXED or id(x) in outward.known
