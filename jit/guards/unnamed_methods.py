"""Methods that no code within reach names are held back from the walk over what a function can
reach.

An instance leads to its class, for its methods. But its `__init__` ran when it was made, and a
`reset` that only others call is not run by a call that finds the instance there: what these draw,
open or write does not count. They are walked after all where code could run them: it names one of
them, meets the class by another way than an instance, looks up names, or asks something for its
class and does more with that than to compare or name it. (What dataclasses write does no more.)
A method that is called nevertheless was not within reach, and the watch over the run refuses it.
"""
import types
from collections.abc import Set
from typing import Any

from .origin import users

Held = dict[str, types.FunctionType]


def may_be_held_back(c: type) -> set[str]:
    """The names of such methods of a class of the user's, if nobody names them. Others call what
    their own bases have, and Python calls what it has a name of its own for."""
    own = {k for b in c.__mro__ if users(b) for k in vars(b)}
    others = {k for b in c.__mro__ if not users(b) for k in vars(b)}
    return {k for k in own - others if not (k.startswith("__") and k.endswith("__"))} | {"__init__"}


def hold_back(b: type, names: Set[str]) -> Held:
    """What the body of a class has of these names, as far as it is code alone."""
    return {k: f for k in names if type(f := vars(b).get(k)) is types.FunctionType}


def let_through(walk: Any) -> bool:
    """Go on with what is held back and could be run after all; was there anything?"""
    could_be_any = walk.looks_up or walk.asking or walk.takes_classes
    found = []
    for i, held in list(walk.held_back.items()):
        names = held.keys() if could_be_any else held.keys() & walk.attributes
        found += [held[k] for k in sorted(names)]
        walk.held_back[i] = {k: f for k, f in held.items() if k not in names}
    walk.stack += found
    return bool(found)
