"""One call of a traced function."""
from typing import Any


class Invocation:
    """What a call was given, by which `key` it is known, of which of the policy's kinds it is, and
    when it began."""
    __slots__ = ("args", "begun", "given", "key", "kind", "kwargs")

    def __init__(
        self, args: Any, kwargs: Any, key: Any, given: Any, kind: Any, begun: float
    ) -> None:
        self.args, self.kwargs, self.key, self.given = args, kwargs, key, given
        self.kind, self.begun = kind, begun
