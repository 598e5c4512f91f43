"""One call of a traced function."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import clocks

if TYPE_CHECKING:
    from ..guards.signature import FlatArguments, Key
    from ..policy.ledger import Kind

# what a function is called with
Args: TypeAlias = Sequence[Any]
Kwargs: TypeAlias = Mapping[str, Any]


class Invocation:
    """A call: its arguments, also as `flat` lists, its `key`, its kind in the policy, and when it
    began.

    `seconds_aside`: the time of compiling kernels for later calls meanwhile. `declined`: could a
    recording be made without a run, which is not worth it now? `new_arguments`: the ids of the
    tensors among the arguments that were others at the recorded call before."""
    __slots__ = ("args", "begun", "declined", "flat", "key", "kind", "kwargs", "new_arguments",
                 "seconds_aside")

    def __init__(
        self, args: Args, kwargs: Kwargs, key: Key, flat: FlatArguments, kind: Kind, begun: float
    ) -> None:
        self.args, self.kwargs, self.key, self.flat = args, kwargs, key, flat
        self.kind, self.begun, self.seconds_aside = kind, begun, 0.0
        self.declined = False
        self.new_arguments: Set[int] = frozenset()

    @contextlib.contextmanager
    def aside(self, account: Callable[[float], None]) -> Iterator[None]:
        """Inside, kernels are compiled: `account` receives the seconds, which the account of the
        call has not."""
        start = clocks.clock()
        yield
        took = clocks.clock() - start
        account(took)
        self.begun += took
        self.seconds_aside += took
