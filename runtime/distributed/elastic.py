"""What programs ask of launchers that start them again: `record`. There is none here."""
import sys

__all__ = ["record"]


def record(fn, error_handler=None):
    """A function whose errors a launcher should know of: the function itself.

    >>> from whet.distributed.elastic.multiprocessing.errors import record
    >>> record(len) is len
    True
    """
    return fn


# where PyTorch keeps it
for _name in ("multiprocessing", "multiprocessing.errors"):
    sys.modules[f"{__name__}.{_name}"] = sys.modules[__name__]
multiprocessing = errors = sys.modules[__name__]
