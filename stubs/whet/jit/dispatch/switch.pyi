# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any

class disable:
    """Inside, traced functions run eagerly: `with jit.disable():`."""
    def __enter__(self) -> Any: ...
    def __exit__(self, *exc: object) -> None: ...
