"""Names for what runs, under PyTorch's names for NVIDIA's profiler: whet's own shows them."""
import threading

from ..profiler import record_function

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]
_started: dict = {}


class _OfThread(threading.local):
    """The names that a thread has given and not ended, the last one last."""

    def __init__(self):
        self.entered = []


_thread = _OfThread()


def range_push(msg):
    """Name what runs from here to `range_pop`; gives how many such names are around it.

    >>> import whet
    >>> from whet.cuda import nvtx
    >>> with whet.profiler.profile() as p:
    ...     _ = nvtx.range_push("mine")
    ...     _ = nvtx.range_pop()
    >>> [e.name for e in p.events()]
    ['mine']
    """
    entered = _thread.entered
    entered.append(record_function(msg))
    entered[-1].__enter__()
    return len(entered) - 1


def range_pop():
    """The name that was given last ends; gives how many names were around it, or -1 where there is
    none."""
    if not _thread.entered:
        return -1
    _thread.entered.pop().__exit__()
    return len(_thread.entered)


def range_start(msg):
    """Name what runs from here to `range_end` of the number that this gives."""
    number = max(_started, default=0) + 1
    _started[number] = record_function(msg)
    _started[number].__enter__()
    return number


def range_end(range_id):
    """A name ends."""
    _started.pop(range_id).__exit__()


def mark(msg):
    """Name this moment."""
    with record_function(msg):
        pass


class range(record_function):
    """Name what runs inside: `with nvtx.range("loss"):`, or as a decorator."""
    __slots__ = ()

    def __init__(self, msg, *args, **kwargs):
        super().__init__(msg.format(*args, **kwargs))

    def _clone(self):
        made = type(self).__new__(type(self))
        record_function.__init__(made, self.name)
        return made
