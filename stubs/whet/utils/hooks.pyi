# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any

class RemovableHandle:
    """What a `register_..._hook` returns; `remove()` takes the hook out again."""
    id: int
    hooks_dict_ref: Any
    extra_dict_ref: Any
    def __init__(self, hooks_dict: dict[int, Any], *, extra_dict: Any = ()) -> None: ...
    def remove(self) -> None: """Take the hook away (a second call does nothing)."""
    def __enter__(self) -> Any: ...
    def __exit__(self, *exc: object) -> None: ...
