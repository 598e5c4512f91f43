"""What programs ask of PyTorch's compiler by its inner name, `whet._dynamo`: marks for it change
nothing, since Python's own run is recorded."""
import sys
from types import ModuleType

from ..compiler import (
    allow_in_graph,
    assume_constant_result,
    compile,
    disable,
    is_compiling,
    list_backends,
    reset,
    set_stance,
)
from ..compiler_settings import Settings

__all__ = ["allow_in_graph", "assume_constant_result", "config", "disable", "graph_break",
           "is_compiling", "is_dynamo_supported", "list_backends", "mark_dynamic", "mark_static",
           "mark_static_address", "maybe_mark_dynamic", "optimize", "reset", "set_stance"]

config = sys.modules[f"{__name__}.config"] = Settings(
    f"{__name__}.config", suppress_errors=False, verbose=False, cache_size_limit=8,
    recompile_limit=8, accumulated_cache_size_limit=256, accumulated_recompile_limit=256,
    dynamic_shapes=True, assume_static_by_default=True, automatic_dynamic_shapes=True,
    capture_scalar_outputs=False, capture_dynamic_output_shape_ops=False,
    force_parameter_static_shapes=True, allow_unspec_int_on_nn_module=False,
    inline_inbuilt_nn_modules=True, optimize_ddp=True, guard_nn_modules=True)

utils = sys.modules[f"{__name__}.utils"] = ModuleType(f"{__name__}.utils")


def is_compile_supported(device_type):
    """Whether functions on such a device can be traced."""
    return device_type in ("cpu", "cuda")


vars(utils)["is_compile_supported"] = is_compile_supported


def is_dynamo_supported():
    """True: `whet.compile` records runs on every platform."""
    return True


def optimize(backend="inductor", *, nopython=False, disable=False, dynamic=None):
    """A decorator: `whet.compile` of a function. `nopython` is its `fullgraph`."""
    return compile(backend=backend, fullgraph=nopython, disable=disable, dynamic=dynamic)


def mark_dynamic(t, index, **bounds):
    """Nothing: sizes that change are seen to change."""


maybe_mark_dynamic = mark_static = mark_dynamic


def mark_static_address(t, guard=True):
    """Nothing: the memory of what a function reaches is looked up at each call."""


def graph_break(msg=""):
    """Nothing: what cannot be recorded ends a recording by itself."""
