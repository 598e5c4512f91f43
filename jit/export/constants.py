"""The tensors that an exported function has in it, and their names."""

from __future__ import annotations

import re

from .recording import Recorded
from .unused_names import unused


def names(run: Recorded) -> dict[int, str]:
    """A name for each tensor from outside that a run read: as in `state_dict` for those of
    modules, else the user's variable."""
    own = of_modules(run)
    out: dict[int, str] = {}
    taken: set[str] = set()
    for value, t in run.outside.items():
        name = own.get(id(t)) or plain(run.names.of_tensor(t)) or "constant"
        out[value] = name = unused(name, taken)
        taken.add(name)
    return out


def of_modules(run: Recorded) -> dict[int, str]:
    """The names of parameters and buffers, by id."""
    found: dict[int, str] = {}
    several = len(run.modules) > 1
    for m in run.modules:
        prefix = plain(run.names.of_object(m)) if several else ""
        for name, t in (*m.named_parameters(), *m.named_buffers()):
            found.setdefault(id(t), f"{prefix}.{name}" if prefix else name)
    return found


def plain(name: str) -> str:
    """A name as the user writes it, `table['w'][0]`, as one with dots: `table.w.0`."""
    return ".".join(re.findall(r"\w+", name))
