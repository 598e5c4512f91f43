"""One call of a traced function."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ..policy import timing

if TYPE_CHECKING:
    from ..guards.signature import Given
    from ..policy.ledger import Kind
    from ..report.names import Key

# what a function is called with
Args: TypeAlias = Sequence[Any]
Kwargs: TypeAlias = Mapping[str, Any]


class Invocation:
    """What a call was given, by which `key` it is known, of which of the policy's kinds it is, and
    when it began. `seconds_aside`: what went into compiling kernels for later calls meanwhile;
    `declined`: a recording could be made without a run, which is not worth it now."""
    __slots__ = ("args", "begun", "declined", "given", "key", "kind", "kwargs", "seconds_aside")

    def __init__(
        self, args: Args, kwargs: Kwargs, key: Key, given: Given, kind: Kind, begun: float
    ) -> None:
        self.args, self.kwargs, self.key, self.given = args, kwargs, key, given
        self.kind, self.begun, self.seconds_aside = kind, begun, 0.0
        self.declined = False

    @contextlib.contextmanager
    def aside(self, account: Callable[[float], None]) -> Iterator[None]:
        """Inside, kernels are compiled: `account` is told the seconds, which the account of the
        call has not."""
        start = timing.clock()
        yield
        took = timing.clock() - start
        account(took)
        self.begun += took
        self.seconds_aside += took
