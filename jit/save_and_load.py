"""Traced functions in files, by the names that TorchScript has for it: `jit.save`, `jit.load`."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .export import Exported, ExportError


def save(m: Any, f: Any, _extra_files: Mapping[str, str | bytes] | None = None) -> None:
    """Write what was traced with example inputs, or exported, into an archive, a path or a binary
    file: see `whet.export`. Modules are to be in eval mode. Of what was traced, all sizes of inputs
    may differ that can. `_extra_files`: texts by name, which `jit.load` gives back.

    >>> import io, whet
    >>> traced = whet.jit.trace(whet.nn.Linear(2, 3).eval(), whet.ones(1, 2))
    >>> file = io.BytesIO()
    >>> whet.jit.save(traced, file)
    >>> whet.jit.load(io.BytesIO(file.getvalue()))(whet.ones(5, 2)).shape
    whet.Size([5, 3])
    """
    if hasattr(type(m), "_examples"):        # a trace
        save_traced(m, f, _extra_files)
    elif isinstance(m, Exported):
        m.save(f, _extra_files)
    else:
        raise TypeError(f"jit.save(): expected a traced or an exported function, got "
                        f"{type(m).__name__}")


def save_traced(m: Any, f: Any, extra_files: Mapping[str, str | bytes] | None) -> None:
    """Export a trace for all sizes, or else for those of its examples, and write that."""
    if m._examples is None:
        raise RuntimeError(
            "jit.save(): the function was traced without example inputs, so it is not known "
            "what to export it for: jit.trace(f, example_inputs), or "
            "whet.export(f, *args).save(path)")
    args, kwargs = m._examples
    exported = m.export(*args, dynamic=True, **kwargs)
    try:
        exported.save(f, extra_files)
    except ExportError:
        if exported.sized is None:
            raise
        m.export(*args, **kwargs).save(f, extra_files)


def load(f: Any, map_location: Any = None,
         _extra_files: dict[str, Any] | None = None) -> Exported:
    """The function in an archive that `save` wrote, a path or a binary file. The values of
    `_extra_files` become the texts that are in it by these names.

    >>> import whet
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "doubled.whet")
    >>> whet.jit.save(whet.export(lambda x: x * 2, whet.ones(2)), path, {"note.txt": "twice"})
    >>> files = {"note.txt": ""}
    >>> whet.jit.load(path, _extra_files=files)(whet.tensor([1., 3.])), files
    (tensor([2., 6.]), {'note.txt': b'twice'})
    """
    from .export.read_archive import load as load_archive

    found = load_archive(f)
    if map_location is not None:
        found.to(map_location)
    files = {} if _extra_files is None else _extra_files
    files.update({name: found.extra_files[name] for name in files if name in found.extra_files})
    return found
