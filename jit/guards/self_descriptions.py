"""What functions and classes say of themselves: their names, texts and annotations, which only some
code asks for."""
from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from ..values.code_origin import HEAP, users
from .object_places import SAID, SelfDescription

if TYPE_CHECKING:
    from .outside_walk import Walk

# the special names of globals() that no code reads
UNNAMED = ("__builtins__", "__spec__", "__loader__")


def compare_self_descriptions(walk: Walk) -> None:
    """Watch what functions and classes say of themselves, as far as anybody asks for it."""
    names: tuple[str, ...] = ()
    done: set[int] = set()
    while True:
        attributes, makes_texts = walk.met_code.attributes, walk.facts.makes_texts
        now = SAID if walk.callables.are_asked_for_names else tuple(
            n for n in SAID if n in attributes or makes_texts and n in SAID[1:4:2])
        done, names = done if now == names else set(), now
        found = [x for x in walk.seen.values() if id(x) not in done and _speaks(x)]
        for x in found:
            done.add(id(x))
            if names:
                walk.add(SelfDescription(x, names))
            if "__globals__" in walk.met_code.attributes and isinstance(x, types.FunctionType):
                walk.other_entries(x.__globals__, UNNAMED)
        if not found:
            return
        walk.walk()


def _speaks(x: Any) -> bool:
    """Is it a user function or class?"""
    could = type(x) is types.FunctionType or (
        issubclass(type(x), type) and bool(x.__flags__ & HEAP))
    return could and users(x)
