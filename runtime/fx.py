"""What programs ask of PyTorch's symbolic tracer by its name, `whet.fx`. There is none: a run is
recorded as it is, with its values (`whet.jit.trace`). So `wrap`, which tells that tracer to leave
a function whole, changes nothing, and nothing is ever a `Proxy`."""
import sys
from types import ModuleType

__all__ = ["Graph", "GraphModule", "Interpreter", "Node", "Proxy", "Tracer", "Transformer",
           "symbolic_trace", "wrap"]


def wrap(fn_or_name):
    """The function (or its name) itself.

    >>> import whet
    >>> whet.fx.wrap(len) is len
    True
    """
    return fn_or_name


def symbolic_trace(root, concrete_args=None):
    """Raises NotImplementedError: `whet.jit.trace` records runs."""
    raise NotImplementedError(
        "whet.fx.symbolic_trace is not supported: whet.jit.trace(f) records runs of f, and its "
        "show() draws the graph")


def get_proxy_mode():
    """None: no symbolic tracer is at work."""


experimental = sys.modules[f"{__name__}.experimental"] = ModuleType(f"{__name__}.experimental")
proxy_tensor = sys.modules[f"{__name__}.experimental.proxy_tensor"] = ModuleType(
    f"{__name__}.experimental.proxy_tensor")
vars(experimental)["proxy_tensor"] = proxy_tensor
vars(proxy_tensor)["get_proxy_mode"] = get_proxy_mode


class _Absent:
    """A part of the tracer."""

    def __init__(self, *args, **kwargs):
        symbolic_trace(None)


class Proxy(_Absent):
    """The class of symbolic values in PyTorch's tracer. Nothing creates one here."""


class Node(_Absent):
    """A node of a graph of the tracer."""


class Graph(_Absent):
    """A graph of the tracer: nodes in order."""


class GraphModule(_Absent):
    """A module that runs a graph."""


class Tracer(_Absent):
    """The tracer."""


class Interpreter(_Absent):
    """What runs a graph node by node."""


class Transformer(Interpreter):
    """What makes another graph of one."""
