"""CUDA graphs by PyTorch's names: none is captured, since a traced function's launches are made by
one call of machine code. Programs that only ask, or name the types, go on."""
from typing import Any, NoReturn

from .. import declared_for_tracing

__all__ = ["CUDAGraph", "graph", "is_current_stream_capturing"]


def _refuse(what: str) -> NoReturn:
    """Say what does the same."""
    raise RuntimeError(f"{what}: CUDA graphs are not captured. Trace the function instead "
                       f"(whet.jit.trace): its launches are then made by one call.")


class CUDAGraph:
    """The type of a captured graph. None can be made.

    >>> import whet
    >>> isinstance(None, whet.cuda.CUDAGraph)
    False
    """

    def __init__(self, keep_graph: bool = False):
        _refuse("CUDAGraph")


class graph:
    """A block whose launches would be captured. None can be entered.

    >>> import whet
    >>> whet.cuda.graph(None)
    Traceback (most recent call last):
        ...
    RuntimeError: graph: CUDA graphs are not captured. Trace the function instead \
(whet.jit.trace): its launches are then made by one call.
    """

    def __init__(self, cuda_graph: Any, pool: Any = None, stream: Any = None,
                 capture_error_mode: str = "global"):
        _refuse("graph")


@declared_for_tracing.goes_by_no_size
def is_current_stream_capturing() -> bool:
    """Is what a stream does being captured into a graph? No.

    >>> import whet
    >>> whet.cuda.is_current_stream_capturing()
    False
    """
    return False
