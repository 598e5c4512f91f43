"""Which threads make a run that is exported: `whet.compiler.is_exporting` says so."""
import contextlib
import threading
from collections.abc import Iterator

_local = threading.local()


def is_exporting() -> bool:
    """Is this thread's run one that `whet.export` makes?"""
    return getattr(_local, "exporting", False)


@contextlib.contextmanager
def exporting() -> Iterator[None]:
    """What runs inside, in this thread, is being exported.

    >>> import whet
    >>> from whet.export_runs import exporting
    >>> with exporting():
    ...     whet.compiler.is_exporting()
    True
    """
    before, _local.exporting = is_exporting(), True
    try:
        yield
    finally:
        _local.exporting = before
