"""Traced functions in files, by the names that TorchScript has for it: `jit.save`, `jit.load`."""
from __future__ import annotations

import os
from typing import Any


def save(m: Any, f: str | os.PathLike[str], _extra_files: Any = None) -> None:
    """Write what was traced with example inputs, or exported, into an archive: see `whet.export`.
    Modules are to be in eval mode.

    >>> import whet, tempfile
    >>> traced = whet.jit.trace(whet.nn.Linear(2, 3).eval(), whet.ones(1, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     whet.jit.save(traced, f"{folder}/linear.whet")
    ...     whet.jit.load(f"{folder}/linear.whet")(whet.ones(1, 2)).shape
    whet.Size([1, 3])
    """
    if hasattr(type(m), "_examples"):        # a trace
        examples = m._examples
        if examples is None:
            raise RuntimeError(
                "jit.save(): the function was traced without example inputs, so it is not known "
                "what to export it for: jit.trace(f, example_inputs), or "
                "whet.export(f, *args).save(path)")
        m = m.export(*examples)
    if not hasattr(m, "to_onnx"):
        raise TypeError(f"jit.save(): expected a traced or an exported function, got "
                        f"{type(m).__name__}")
    m.save(f)
