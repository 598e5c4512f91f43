"""Kernels of devices as their driver loads them, kept on disk: what an earlier process compiled is
read in a fraction of a millisecond, and Triton stays out of this one."""
from __future__ import annotations

import functools
import hashlib
from importlib import metadata
from typing import TYPE_CHECKING, Any, NamedTuple

from ..cpu import cache

if TYPE_CHECKING:
    from ..passes.lower_triton.source import Source


class Cubin(NamedTuple):
    """A binary for one kind of device, and what a launch of it needs."""
    binary: bytes
    name: str               # of the function in the binary
    warps: int
    shared: int             # bytes of dynamic shared memory
    scratch: int            # bytes of the device's memory for each program


@functools.lru_cache(None)
def store() -> Any:
    """The folder for binaries of this version of Triton; None without a cache."""
    try:
        version = metadata.version("triton")
    except metadata.PackageNotFoundError:
        raise RuntimeError("kernels for CUDA devices are compiled by Triton, which is not "
                           "installed: pip install 'whet[gpu]' (on Linux)") from None
    return cache.opened(cache.Named, f"cubins of triton {version}")


def cubin(source: Source, capability: int, aligned: tuple[str, ...]) -> Cubin:
    """A kernel's binary, from disk or from the compiler."""
    kept, name = store(), named(source, capability, aligned)
    found = kept and kept.find(name)
    if found is None:
        from ..passes.lower_triton import compile
        made = compile.compile(source, capability, aligned)
        found = made.binary, made.name, made.warps, made.shared, made.scratch
        if kept is not None:
            kept.put(name, found)
    return Cubin(*found)


def named(source: Source, capability: int, aligned: tuple[str, ...]) -> str:
    """A name for everything that determines a binary, except the compiler."""
    facts = (source.name, source.text, source.parameters, sorted(source.options().items()),
             capability, aligned)
    return hashlib.sha256(repr(facts).encode()).hexdigest()
