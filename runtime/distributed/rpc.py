"""What programs ask of calls on other processes by their name, `whet.distributed.rpc`. There are
none: a group has one process. Libraries that import this for a part of them work without that
part."""

__all__ = ["init_rpc", "is_available", "remote", "rpc_async", "rpc_sync", "shutdown"]


def is_available():
    """False: there are no calls on other processes.

    >>> import whet
    >>> whet.distributed.rpc.is_available()
    False
    """
    return False


def init_rpc(name, backend=None, rank=-1, world_size=None, rpc_backend_options=None):
    """Raises NotImplementedError: a group has one process."""
    raise NotImplementedError(
        "whet.distributed.rpc is not supported: a group has one process, which calls functions "
        "itself")


def rpc_sync(to, func, args=None, kwargs=None, timeout=-1.0):
    """Raises NotImplementedError: a group has one process."""
    init_rpc(to)


rpc_async = remote = rpc_sync


def shutdown(graceful=True, timeout=0):
    """Raises NotImplementedError: nothing was set up."""
    init_rpc("")
