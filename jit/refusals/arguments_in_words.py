"""Describes in words what a key says of the arguments of a call, and how two calls differ."""
from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
from whet import dtypes
from whet.ir.graph import Type
from whet.tensor_base import Base

from ..values import numbers_as_sizes
from ..values.immutable_types import PLAIN
from ..values.tensor_facts import Look
from ..values.varying_numbers import DTYPES
from .type_names import thing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..guards.signature import Key


def arguments(fn: Callable[..., Any], key: Key) -> list[tuple[str, Any]]:
    """What a key says of the arguments: (path as the user writes it, its description), tensors
    and values in order."""
    try:
        parameters = list(inspect.signature(getattr(fn, "forward", fn)).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    plain = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    out: list[tuple[str, Any]] = []
    for i, d in enumerate(key[0]):
        _leaves(d, plain[i] if i < len(plain) else f"{rest}[{i - len(plain)}]", out)
    for name, d in key[1] or ():
        _leaves(d, str(name), out)           # of a hidden argument it is more than a text
    return out


def _leaves(d: Any, path: str, out: list[tuple[str, Any]]) -> None:
    if (type(d) is tuple and isinstance(d[0], type) and len(d) == 2 and type(d[1]) is tuple
            and not issubclass(d[0], Base)):
        for i, x in enumerate(d[1]):
            if issubclass(d[0], dict):
                _leaves(x[1], f"{path}[{x[0][1]!r}]", out)
            elif hasattr(d[0], "_fields"):
                _leaves(x, f"{path}.{(*d[0]._fields, '__dict__')[i]}", out)
            elif issubclass(d[0], list | tuple | slice):
                _leaves(x,
                        f"{path}.{('start', 'stop', 'step')[i]}" if d[0] is slice
                        else f"{path}[{i}]", out)
            else:
                _leaves(x[1], f"{path}.{x[0]}", out)
        return
    out.append((path, d))


def is_tensor(d: Any) -> bool:
    """Is it the description of a tensor, or of a NumPy array that is an input as tensors
    are?"""
    return (type(d) is tuple and len(d) > 2 and isinstance(d[0], type)
            and issubclass(d[0], Base | np.ndarray))


def varies(d: Any) -> bool:
    """Is it the description of a number that may be any?"""
    return type(d) is tuple and len(d) == 2 and d[0] in DTYPES and d[1] is DTYPES[d[0]]


def is_length(d: Any) -> bool:
    """Is it the description of a number that became a size?"""
    return type(d) is tuple and len(d) > 1 and d[0] is int and d[1] is numbers_as_sizes.NAME


def in_words(d: Any) -> str:
    """A description in words."""
    if is_length(d):
        return str(d[-1])
    if varies(d):
        return f"any {d[0].__name__}"
    if type(d) is int:
        return f"the same tensor as number {d}"
    if d[0] is np.ndarray and isinstance(d[-1], type):
        return f"any {d[-1].__name__}"       # a NumPy number
    if is_tensor(d):
        return tensor_in_words(Look(*d[:len(Look._fields)]))
    if d[0] is range:
        return repr(range(*d[1:]))
    if d[0] in (float, complex):             # a key has their text
        return str(d[1])
    if by_identity(d):
        return thing(d[0])
    if len(d) == 2:
        return repr(d[1])
    # of a NumPy number: its bits, or a NaN itself
    return repr(np.frombuffer(d[2], d[1])[0] if type(d[2]) is bytes else d[2])


def tensor_in_words(look: Look) -> str:
    """What a tensor was, its numbers aside."""
    sizes = ",".join(map(str, look.shape))
    facts = [f"{dtypes.FROM_NUMPY[look.dtype].short}[{sizes}]"]
    if not Type(look.dtype, look.shape, look.strides).contiguous:
        facts.append(f"strides {look.strides}")
    if look.flags & 1:
        facts.append("requires_grad")
    if not look.has_no_grad:
        facts.append("with a gradient")
    if not look.has_no_node:
        facts.append("with a history")
    if not look.has_no_base:
        facts.append("a view")
    return ", ".join(facts)


def by_identity(d: Any) -> bool:
    """Does a description say no more of an object than which it is?"""
    return type(d) is tuple and len(d) == 2 and d[0] not in PLAIN and type(d[1]) is int


# earlier kinds of arguments that one is compared with: of a thousand not all
NEAR = 32
# the rest of a key
MODES = ("the grad mode is another", "the default dtype is another",
         "the default device is another", "the number of threads is another")


def differing(fn: Callable[..., Any], keys: Iterable[Key]) -> list[list[str] | None]:
    """For each key but the first: how its arguments differ from those of the most similar key
    among the last ones before it."""
    out: list[list[str] | None] = []
    before: list[tuple[dict[str, Any], tuple[Any, ...]]] = []
    for key in keys:
        facts = dict(arguments(fn, key))
        best = None
        for other in before[-NEAR:]:
            names = [k for k in {**facts, **other[0]} if facts.get(k) != other[0].get(k)]
            now, then = ([in_words(x[k]) if k in x else "left out" for k in names]
                         for x in (facts, other[0]))
            found = [
                f"{k} is another {facts[k][0].__qualname__}"
                if k in facts and by_identity(facts[k]) and a == b else f"{k} is {a}, not {b}"
                for k, a, b in zip(names, now, then)]
            found += [what for what, a, b in zip(MODES, key[2:], other[1]) if a != b]
            if best is None or len(found) < len(best):
                best = found
        out.append(best)
        before.append((facts, key[2:]))
    return out
