"""What a library can be made for, by name: a system, and the levels of processors in it."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from typing import NamedTuple

from whet.passes.lower_llvm.merged_object import Machine
from whet.passes.lower_llvm.targets import EXTENDED, host_features

from ..errors import ExportError


class Kind(NamedTuple):
    """A level of processors: its name, what a processor must have for it, the target that kernels
    are written for, and the processor as LLVM calls it."""

    name: str
    need: int
    target: str
    cpu: str


class System(NamedTuple):
    """A system that libraries are for: as `platform.machine` and as LLVM call it."""

    machine: str
    object: Machine
    kinds: tuple[Kind, ...]


X86 = System(
    "x86_64",
    Machine("x86_64-unknown-linux-gnu", "x86-64"),
    (
        Kind("x86-64-v4-vnni", 5, "avx512_vnni", "cascadelake"),
        Kind("x86-64-v4", 4, "avx512", "x86-64-v4"),
        Kind("x86-64-v3", 3, "avx2", "x86-64-v3"),
        Kind("x86-64-v2", 2, "baseline", "x86-64-v2"),
    ),
)
ARM = System(
    "aarch64",
    Machine("aarch64-unknown-linux-gnu", "generic"),
    (Kind("aarch64-linux", 1, "neon", "generic"),),
)
SYSTEMS = X86, ARM
HERE = "host"  # the name of all levels of this machine's system


def chosen(names: str | Sequence[str], has_bytes: bool) -> System:
    """The system, with the levels of these names, the best first. What a level has beyond others'
    vectors is for graphs that compute with bytes. Raises ExportError for unknown names,
    or of several systems."""
    names = [names] if isinstance(names, str) else list(names)
    known = {k.name: (s, k) for s in SYSTEMS for k in s.kinds}
    if names == [HERE]:
        names = [n for n in here() if known[n][1].target not in EXTENDED
                 or has_bytes and can_be_made(known[n][1])]
    unknown = [n for n in names if n not in known]
    systems = {known[n][0].machine: known[n][0] for n in names if n in known}
    if unknown or len(systems) != 1:
        said = ", ".join(map(repr, unknown)) if unknown else "levels of several systems"
        raise ExportError(
            f"compile: targets are {HERE!r} or levels of one system among {', '.join(known)}; "
            f"not {said}"
        )
    for n in names:
        if not can_be_made(known[n][1]):
            raise ExportError(f"compile: {n} is made on machines that have its instructions")
    (system,) = systems.values()
    return system._replace(kinds=tuple(k for k in system.kinds if k.name in names))


def can_be_made(kind: Kind) -> bool:
    """Can its kernels be compiled here? They are called on the way: wider vectors than this machine
    has are taken apart, other instructions are not."""
    return EXTENDED.get(kind.target, ("", frozenset[str]()))[1] <= host_features()


def here() -> list[str]:
    """The levels of this machine's system."""
    for system in SYSTEMS if sys.platform == "linux" else ():
        if system.machine == platform.machine():
            return [k.name for k in system.kinds]
    raise ExportError(
        f"compile: there are no libraries for {sys.platform} on {platform.machine()} yet; "
        "`target` names a level of Linux"
    )
