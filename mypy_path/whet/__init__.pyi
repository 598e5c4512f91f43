"""What mypy finds under the name `whet`: `ir` and `passes` as they are, all else as anything. An installed `whet` is made of four folders,
which mypy does not put together by itself."""
from typing import Any

def __getattr__(name: str) -> Any: ...
