"""One call of a traced function."""
from typing import Any


class Invocation:
    """What a call was given, by which `key` it is known, of which of the policy's kinds it is, and
    when it began: `begun` by the clock, `worked` by what the thread has worked."""
    __slots__ = ("args", "begun", "given", "key", "kind", "kwargs", "worked")

    def __init__(
        self, args: Any, kwargs: Any, key: Any, given: Any, kind: Any, begun: float,
        worked: float = 0.0
    ) -> None:
        self.args, self.kwargs, self.key, self.given = args, kwargs, key, given
        self.kind, self.begun, self.worked = kind, begun, worked
