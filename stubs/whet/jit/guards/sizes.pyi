# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.



class Dim:
    """A size that differs between calls, by name, with the range in which it is expected."""
    name: str
    multiple: int
    min: int
    max: int | None
    def __init__(self, name: str, *, min: int = 0, max: int | None = None, multiple: int = 1) -> None: ...
    def __contains__(self, size: int) -> bool: ...
