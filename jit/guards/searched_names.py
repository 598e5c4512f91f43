"""Dicts in modules that code only asks whether they contain something: `name in sys.modules`.

What such a dict holds is not read, so the walk does not go on to it: from `sys.modules` that would
be all that is loaded.
"""
from typing import Any

from .container_places import Names
from .name_places import Global


def leave_out(walk: Any, held: dict[str, Any], wanted: set[str], done: set[str]) -> set[str]:
    """Those of the names wanted of a module that lead on; of the others only keys are compared."""
    for name in wanted - walk.entered - done:
        x = held.get(name)
        if type(x) is dict and all(type(k) is str for k in x):
            wanted = wanted - {name}
            if (noted := f"in {name}") not in done:
                walk.places += Global(held, name), Names(x)
                done.add(noted)
    return wanted
