# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from os import PathLike
from typing import Any, Callable, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Traced(Generic[P, R]):
    """A function that is recorded and replayed. See `trace`. Its other attributes are the function's own."""
    def explain(self, data: bool = False, full: bool = False) -> Any: """What became of the calls, why, and what to do about it, in one screen."""
    def export(self, *args: Any, **kwargs: Any) -> Any: """The function as a graph of its own: see `whet.export`."""
    @property
    def graph(self) -> Any: """The graph of the newest recording as it runs, after all passes; None where there is none."""
    @property
    def recorded(self) -> Any: ...
    def show(self, path: str | PathLike[str] | None = None) -> str: ...
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    def __get__(self, owner: Any, cls: Any = None) -> Callable[..., R]: ...
