"""What whet computes with, in words: `whet.__config__.show()`."""
from importlib import metadata

__all__ = ["parallel_info", "show"]


def show():
    """The versions of what computes, a line each.

    >>> import whet
    >>> "NumPy" in whet.__config__.show()
    True
    """
    from . import __version__
    return "\n".join([f"whet {__version__} built with:",
                      f"  - NumPy {metadata.version('numpy')}",
                      f"  - llvmlite {metadata.version('llvmlite')}", ""])


def parallel_info():
    """How many threads compute."""
    from .cpu.thread_pool import get_num_threads
    return f"whet.get_num_threads() : {get_num_threads()}\n"
