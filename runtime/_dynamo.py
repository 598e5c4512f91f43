"""What programs ask of PyTorch's compiler by its inner name, `whet._dynamo`: marks for it change
nothing, since Python's own run is recorded."""
from .compiler import allow_in_graph, assume_constant_result, disable, is_compiling, reset

__all__ = ["allow_in_graph", "assume_constant_result", "disable", "graph_break", "is_compiling",
           "mark_dynamic", "mark_static", "mark_static_address", "maybe_mark_dynamic", "reset"]


def mark_dynamic(t, index, **bounds):
    """Nothing: sizes that change are seen to change."""


maybe_mark_dynamic = mark_static = mark_dynamic


def mark_static_address(t, guard=True):
    """Nothing: the memory of what a function reaches is looked up at each call."""


def graph_break(msg=""):
    """Nothing: what cannot be recorded ends a recording by itself."""
