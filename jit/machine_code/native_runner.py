"""The machine code that runs lists of launches."""
import functools
from typing import Any

from whet.cpu import native


@functools.lru_cache(None)
def machine() -> tuple[int, Any, int]:
    """The machine code that runs a list of launches, as an address and as a Python function, and
    the kernel that compares memory."""
    from whet.passes.lower_llvm.calls import launch_list
    native.export("whet_pool_run", native.symbol("pool_run"))
    at = native.image("jit/program", launch_list.source, launch_list.NAMES)
    same = native.image("jit/same", launch_list.compare, ["same"])["same"]
    return at["program"], native.function(at["run"], "run"), same
