"""`whet.distributed`: programs for one process or for many ask here which they are. This process is
alone: there is no communication between processes, as in a PyTorch that was built without it."""

__all__ = ["get_rank", "get_world_size", "is_available", "is_initialized",
           "is_torchelastic_launched"]


def is_available():
    """False: processes cannot send each other tensors.

    >>> import whet
    >>> whet.distributed.is_available() and whet.distributed.is_initialized()
    False
    """
    return False


def is_initialized():
    """Has a group of processes been set up? None can be."""
    return False


def is_torchelastic_launched():
    """Was this process started as one of many? No."""
    return False


def get_rank(group=None):
    """The number of this process within a group: there is no group."""
    raise ValueError("Default process group has not been initialized: this process is alone")


get_world_size = get_rank
