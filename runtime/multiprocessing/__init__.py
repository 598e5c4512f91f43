"""Python's `multiprocessing`, whose queues and pipes send tensors by handle.

What comes in: tensors in messages and in the arguments of processes. What goes out: tensors over
the same memory in the other process, so that what one writes the other reads (training that way is
known as Hogwild). The memory has no name and is gone when the last process is, however it ends.

    import whet.multiprocessing as mp

    model.share_memory()
    workers = [mp.Process(target=train, args=(model,)) for _ in range(4)]

What makes it give up: a tensor with history, whose gradients do not cross processes; a sender that
ends before its message was received.
"""
import multiprocessing as _multiprocessing
from multiprocessing import *  # noqa: F403

from .sending import register
from .spawning import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    spawn,
    start_processes,
)

register()

_STRATEGY = "file_descriptor"


def get_all_sharing_strategies():
    """The ways in which tensors can be sent: there is one.

    >>> import whet.multiprocessing as mp
    >>> mp.get_all_sharing_strategies()
    {'file_descriptor'}
    """
    return {_STRATEGY}


def get_sharing_strategy():
    """The way in which tensors are sent.

    >>> import whet.multiprocessing as mp
    >>> mp.get_sharing_strategy()
    'file_descriptor'
    """
    return _STRATEGY


def set_sharing_strategy(new_strategy):
    """Choose the way in which tensors are sent.

    >>> import whet.multiprocessing as mp
    >>> mp.set_sharing_strategy("file_descriptor")
    """
    if new_strategy not in get_all_sharing_strategies():
        raise ValueError(f"set_sharing_strategy: {new_strategy!r} is none of "
                         f"{sorted(get_all_sharing_strategies())}; memory without a name needs "
                         "no other, since nothing of it is left behind")


__all__ = [*_multiprocessing.__all__, "ProcessContext", "ProcessException",
           "ProcessExitedException", "ProcessRaisedException", "get_all_sharing_strategies",
           "get_sharing_strategy", "set_sharing_strategy", "spawn", "start_processes"]
