"""The place of a context variable: what it holds in the caller's context. See `places.py`.
"""
from __future__ import annotations

from collections.abc import Sequence
from contextvars import Context, ContextVar
from typing import TYPE_CHECKING, Any

from . import spots
from .places import ABSENT, Single
from .spots import Spot

if TYPE_CHECKING:
    from ..refusals.user_names import Names


class ContextValue(Single):
    """What a context variable holds, or that it holds nothing.

    Each thread and each task has a context of its own, so machine code cannot know where to look.
    Nothing stands there for a number during a run: a token would keep it for later."""
    __slots__ = ()
    can_be_set = False

    def __init__(self, owner: ContextVar[Any]) -> None:
        self.owner = owner
        super().__init__(owner, self.look())

    def look(self) -> Sequence[Any]:
        now = self.owner.get(ABSENT)
        return () if now is ABSENT else (now,)

    def spot(self, i: int) -> Spot | None:
        return spots.ContextValue(self.owner)

    def restore(self) -> None:
        """Only a token can have it hold nothing again."""
        for x in self.objects:
            self.owner.set(x)

    def is_shown(self, names: Names) -> bool:
        return True

    def say(self, owner: Any) -> str:
        return f"the context variable `{owner.name}` changed"


def default_of(variable: ContextVar[Any]) -> tuple[Any, ...]:
    """What a context variable gives where it holds nothing; empty where that is an error.

    >>> from contextvars import ContextVar
    >>> from whet.jit.guards.context_places import default_of
    >>> default_of(ContextVar("a", default=1.0)), default_of(ContextVar("b"))
    ((1.0,), ())
    """
    try:
        return (Context().run(variable.get),)
    except LookupError:
        return ()
