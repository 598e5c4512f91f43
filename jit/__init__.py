"""Tracing: `@jit.trace` records a run of a function and replays it as compiled code."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from whet.lazy_names import lazy_names as _lazy_names

from .dispatch.switch import disable
from .errors import TraceError, TraceWarning
from .guards.sizes import Dim
from .scripting import (
    Attribute,
    Error,
    ScriptFunction,
    ScriptWarning,
    TracerWarning,
    TracingCheckError,
    _overload,
    _overload_method,
    annotate,
    fork,
    freeze,
    ignore,
    interface,
    is_scripting,
    is_tracing,
    isinstance,
    optimize_for_inference,
    optimized_execution,
    script,
    script_if_tracing,
    script_method,
    set_fusion_strategy,
    trace_module,
    unused,
    wait,
)
from .trace import Traced, trace

# the name that torchvision's ops use
_script_if_tracing = script_if_tracing

if TYPE_CHECKING:
    import os

    from .export import Exported
    from .export.read_archive import Loaded


def load_archive(path: str | os.PathLike[str], check: bool = True,
                 most: int | None = None) -> Loaded:
    """The exported function in an archive, as `whet.load` gives it. `check=False` passes over the
    checksums; `most` is how many bytes a value may take, at first half of the machine's memory."""
    from .export.read_archive import load
    return load(path, check, most)


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    """Write a traced or exported function into an archive, a path or a binary file. Of what was
    traced, all sizes of inputs may differ that can: see `save_and_load.py`.

    >>> import os, tempfile
    >>> import whet
    >>> from whet import jit
    >>> double = jit.trace(lambda x: x + x, (whet.ones(2),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "double.whet")
    ...     jit.save(double, path)
    ...     print(jit.load(path)(whet.ones(3)))
    tensor([2., 2., 2.])
    """
    from .save_and_load import save
    save(m, f, _extra_files)


def load(f: Any, map_location: Any = None, _extra_files: Any = None) -> Exported:
    """The function in an archive that `save` wrote.

    >>> import whet
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "doubled.whet")
    >>> whet.jit.save(whet.export(lambda x: x * 2, whet.ones(2)), path)
    >>> whet.jit.load(path)(whet.tensor([1., 3.]))
    tensor([2., 6.])
    """
    from .save_and_load import load
    return load(f, map_location, _extra_files)


__getattr__, __dir__ = _lazy_names(
    __name__, modules={"export": "export"},
    members=dict.fromkeys(
        ("ScriptModule", "RecursiveScriptModule", "TopLevelTracedModule", "TracedModule"),
        "script_module"))

__all__ = ["Attribute", "Dim", "Final", "TraceError", "TraceWarning", "Traced", "annotate",
           "disable", "fork", "freeze", "ignore", "interface", "is_scripting", "is_tracing", "load",
           "optimize_for_inference", "save", "script", "script_if_tracing", "trace",
           "trace_module", "unused", "wait"]
