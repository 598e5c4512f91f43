"""An object file becomes a shared library: by the compiler driver or linker of the system, else by
the one in the package `ziglang`."""

from __future__ import annotations

import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys

from ..errors import ExportError
from .targets import System

DRIVERS = "cc", "gcc", "clang"
# nothing may be missing at run time but what the C library has
OPTIONS = "-shared", "-Wl,-z,defs", "-Wl,-z,noexecstack", "-Wl,--as-needed"
LIBRARIES = "-lm", "-lpthread", "-lc"


def command(system: System, source: str, made: str) -> list[str] | None:
    """The command that links, or None where this machine has none for that system."""
    name = os.path.basename(made)
    if system.machine == platform.machine():
        for driver in (shutil.which(d) for d in DRIVERS):
            if driver is not None:
                return [driver, *OPTIONS, f"-Wl,-soname,{name}", "-o", made, source, *LIBRARIES]
    elif found := shutil.which(f"{system.machine}-linux-gnu-gcc"):
        return [found, *OPTIONS, f"-Wl,-soname,{name}", "-o", made, source, *LIBRARIES]
    if importlib.util.find_spec("ziglang") is not None:
        zig = [sys.executable, "-m", "ziglang", "cc", "-target", f"{system.machine}-linux-gnu"]
        return [*zig, *OPTIONS, f"-Wl,-soname,{name}", "-o", made, source, *LIBRARIES]
    linker = shutil.which("ld") or shutil.which("ld.lld")
    if linker is not None and system.machine == platform.machine():
        options = [o.removeprefix("-Wl,").replace(",", " ") for o in OPTIONS]
        split = [w for o in options for w in o.split()]
        return [linker, *split, "-soname", name, "-o", made, source, *LIBRARIES]
    return None


def link(system: System, source: str, made: str) -> None:
    """Link an object file. Raises ExportError with the command to run where it cannot be done."""
    run = command(system, source, made)
    if run is None:
        wanted = shlex.join(["cc", *OPTIONS, "-o", made, source, *LIBRARIES])
        raise ExportError(
            f"compile: no linker for {system.machine} was found: install a C compiler or "
            f"`whet[library]`; the object file is there, and this makes the library of it: "
            f"{wanted}"
        )
    done = subprocess.run(run, capture_output=True, text=True)
    if done.returncode:
        raise ExportError(f"compile: {shlex.join(run)} failed:\n{done.stderr.strip()}")
