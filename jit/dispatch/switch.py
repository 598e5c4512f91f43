"""Switches tracing off: with `whet.jit.disable`, or with `WHET_JIT=0` for a whole process."""
import os
import threading

from ..machine_code import native_entry


class _Switch(threading.local):
    off = 0                      # how often tracing is turned off on this thread


_switch = _Switch()
_OFF = os.environ.get("WHET_JIT") == "0"


def is_off() -> bool:
    """Is tracing switched off on this thread?"""
    return _OFF or _switch.off > 0


class disable:
    """Inside, traced functions run eagerly: `with jit.disable():`.

    >>> import whet
    >>> double = whet.jit.trace(lambda x: x * 2)
    >>> with whet.jit.disable():
    ...     double(whet.ones(2))
    tensor([2., 2.])
    """

    def __enter__(self) -> None:
        _switch.off += 1
        native_entry.switch(1)

    def __exit__(self, *exc: object) -> None:
        _switch.off -= 1
        native_entry.switch(-1)
