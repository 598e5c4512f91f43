# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.



class device:
    """A device: `device("cpu")`, `device("cuda", 1)`, `device("cuda:1")`."""
    def __init__(self, type: str | int | device, index: int | None = None) -> None: ...
    @property
    def index(self) -> int | None: ...
    @property
    def type(self) -> str: ...
