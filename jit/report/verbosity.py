"""`WHET_SHOW=1..4`: messages on stderr about traced functions; each level adds to the one before.

    1  what ran: recorded, replayed or eager, and how long it took
    2  what was refused, and why
    3  the graphs of new recordings, as recorded and as they run
    4  the LLVM source of new kernels (those in the cache on disk are not new: see WHET_CACHE)

Read once. At 0 the classes here are not used, so nothing is on the way of a call.
"""
import os
import sys
from time import perf_counter
from typing import Any

from whet.cpu import native

from . import explain

# what became of a call, by the count that it adds to
WORDS = {
    "replayed": "replayed", "recorded": "recorded", "checked": "recorded again, to compare",
    "timed": "eager, to compare times", "failed": "eager", "set_up": "eager",
    "ordered": "eager"}


def level() -> int:
    """The number that WHET_SHOW says."""
    said = os.environ.get("WHET_SHOW", "") or "0"
    if said not in ("0", "1", "2", "3", "4"):
        raise ValueError(f"WHET_SHOW is a number from 0 to 4, not {said!r}")
    return int(said)


LEVEL = level()


def tell(text: object) -> None:
    """To stderr."""
    print(text, file=sys.stderr)


def telling(Traced: type[Any]) -> type[Any]:
    """The class of traced functions that tell what they do."""
    class Telling(Traced):
        __doc__ = Traced.__doc__

        def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
            kept, why, before, start = self._kept(), self._why, explain.tally(self), perf_counter()
            out = super().__call__(*args, **kwargs)
            took = (perf_counter() - start) * 1e3
            new, now = [r for r in self._kept() if r not in kept], explain.tally(self)
            what = next((words for k, words in WORDS.items() if now[k] > before[k]), "eager")
            tell(f"whet: {self._calls.subject.name}: {what} in {took:.3f} ms")
            if LEVEL >= 2 and self._why and self._why != why:
                tell(f"whet: {self._calls.subject.name}: not recorded: {self._why}")
            if LEVEL >= 3:
                for key, r in explain.recordings(self):
                    if r in new:
                        for g in explain.graphs(self, key, r):
                            tell(g)
            return out

        def _kept(self) -> list[Any]:
            return [r for _, r in explain.recordings(self)]
    return Telling


if LEVEL >= 4:
    native.on_compile.append(tell)
