"""Names for things that the user gave none."""

from __future__ import annotations

from collections.abc import Iterable


def unused(name: str, taken: Iterable[str]) -> str:
    """The name, with a number behind it if it is taken."""
    found, k = name, 1
    while found in taken:
        k += 1
        found = f"{name}_{k}"
    return found
