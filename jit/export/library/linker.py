"""An object file becomes a shared library: by the compiler driver or linker of the system, else by
the one in the package `ziglang`."""

from __future__ import annotations

import importlib.util
import os
import platform
import shlex
import shutil
import subprocess

from ..errors import ExportError
from .targets import System

DRIVERS, LINKERS = ("cc", "gcc", "clang"), ("ld", "ld.lld")
# nothing may be missing at run time but what the C library has
OPTIONS = "-shared", "-z", "defs", "-z", "noexecstack", "--as-needed"
LIBRARIES = "-lm", "-lpthread", "-lc"


def command(system: System, source: str, made: str) -> list[str] | None:
    """The command that links, or None where this machine has none for that system."""
    options = [*OPTIONS, "-soname", os.path.basename(made)]
    driven = [options[0], f"-Wl,{','.join(options[1:])}"]
    here = system.machine == platform.machine()
    for name in DRIVERS if here else (f"{system.machine}-linux-gnu-gcc",):
        if driver := shutil.which(name):
            return [driver, *driven, "-o", made, source, *LIBRARIES]
    if found := zig():
        target = ["-target", f"{system.machine}-linux-gnu"]
        return [found, "cc", *target, *driven, "-o", made, source, *LIBRARIES]
    for name in LINKERS if here else ():
        if linker := shutil.which(name):
            return [linker, *options, "-o", made, source, *LIBRARIES]
    return None


def zig() -> str | None:
    """The compiler in the package `ziglang`, if it is installed."""
    package = importlib.util.find_spec("ziglang")
    if package is None or package.origin is None:
        return None
    return os.path.join(os.path.dirname(package.origin), "zig")


def link(system: System, source: str, made: str) -> None:
    """Link an object file. Raises ExportError with the command to run where it cannot be done."""
    run = command(system, source, made)
    if run is None:
        driven = [OPTIONS[0], f"-Wl,{','.join(OPTIONS[1:])}"]
        wanted = shlex.join(["cc", *driven, "-o", made, source, *LIBRARIES])
        raise ExportError(
            f"compile: no linker for {system.machine} was found: install a C compiler or "
            f"`whet[library]`; the object file is there, and this makes the library of it: "
            f"{wanted}"
        )
    done = subprocess.run(run, capture_output=True, text=True)
    if done.returncode:
        raise ExportError(f"compile: {shlex.join(run)} failed:\n{done.stderr.strip()}")
