"""Kernels that a recording will need, compiled beside the calls that come before it is made."""
import functools
import threading
import time
from hashlib import blake2b
from typing import Any

from whet.cpu import haste, native

from ..program import builder

PATIENCE = 10.0                  # seconds until the next recording compiles what it needs itself


class KernelsAhead:
    """A program is made of a run on the thread that compiles, and let go: what it leaves are
    kernels. The call that is recorded then finds most of its own, and waits for few."""

    def __init__(self, rec: Any) -> None:
        made = (ref() for ref in rec.made.values())
        found = (rec.values.number(t._array) for t in made if t is not None)
        results = list(dict.fromkeys(n for n in found if n is not None))
        self.build: Any = functools.partial(
            builder.build, rec.nodes, list(rec.arrays), list(rec.outside), results)
        self.name = _name(rec)
        self.over, self.began = threading.Event(), time.monotonic()
        if native.keeps() and native.kept(self.name) is not None:
            self.over.set()                  # An earlier process has left them in the cache.
        else:
            haste.beside(self.run)

    @property
    def is_awaited(self) -> bool:
        """Is it being made? A child of a fork has no thread that would be at it."""
        return not self.over.is_set() and time.monotonic() - self.began < PATIENCE

    def run(self) -> None:
        """Make the program."""
        try:
            self.build()
            if native.keeps():
                native.keep(self.name, b"made")
        except Exception:                    # The call that is recorded finds the same.
            pass
        finally:
            self.build = None
            self.over.set()


def _name(rec: Any) -> str:
    """What the run is known by to other processes: its operations, and types of values."""
    said = [n.op.name if n.op is not None else type(n).__name__ for n in rec.nodes]
    types = [f"{a.dtype.num}:{a.ndim}" for a in rec.arrays]
    return f"ahead/{blake2b(' '.join([*said, *types]).encode(), digest_size=16).hexdigest()}"
