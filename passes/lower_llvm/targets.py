"""The machine code is generated for: vector width and features. Widths never change a bit of a
result.

What kernels need to know before any is compiled (the name and the vector width) is read from the
operating system, so that a process whose kernels are all in the cache does not load LLVM; what the
code generator needs is asked of LLVM when it runs.
"""
from __future__ import annotations

import functools
import os
import platform
from collections import namedtuple

BITS = {"avx512": 512, "avx2": 256, "neon": 128, "baseline": 128}
# A narrower target than the host's is compiled for these, as LLVM names them.
NAMED = {"avx512": "x86-64-v4", "avx2": "x86-64-v3", "neon": "generic", "baseline": "x86-64"}

# Targets of other machines that have more than their name says: the target, and the extensions.
EXTENDED = {"avx512_vnni": ("avx512", frozenset(("avx512_vnni",)))}

# Kernels are written with a test at each access whose bounds they know: `access_checks.py`.
CHECKED = os.environ.get("WHET_CHECK") == "2"


class Target(namedtuple("Target", "name bits native")):
    """What generators may ask of the machine: the target's name, the width of its vector registers,
    and whether code for it is compiled with all that the host has, as for its own best, or for a
    narrower machine."""
    __slots__ = ()

    @property
    def cpu(self) -> str:
        """As LLVM names it."""
        return processor()[0] if self.native else NAMED[self.name]

    @property
    def features(self) -> str:
        """LLVM's feature string, beyond what `cpu` says."""
        return processor()[1] if self.native else ""

    def lanes(self, elem_bytes: int = 4) -> int:
        """Elements of a vector register."""
        return int(self.bits // (8 * elem_bytes))


@functools.lru_cache(None)
def processor() -> tuple[str, str]:
    """LLVM's name of this machine's processor, and its feature string."""
    import llvmlite.binding as llvm
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@functools.lru_cache(None)
def identity() -> str:
    """A text that differs between machines whose code may differ. With /proc/cpuinfo it is found
    without LLVM."""
    try:
        with open("/proc/cpuinfo", "rb", buffering=0) as f:
            first = f.read(16384).decode("latin-1").split("\n\n")[0]
        # What is the same on every core, at any time.
        fixed = ("vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU ")
        lines = [line for line in first.splitlines() if line.startswith(fixed)]
        return "\n".join([platform.machine(), *lines])
    except OSError:
        return "\n".join([platform.machine(), *processor()])


@functools.lru_cache(None)
def host_features() -> frozenset[str]:
    """The names of the host's instruction set extensions, as the operating system spells them;
    without it, as LLVM does."""
    for line in identity().splitlines():
        if line.startswith(("flags", "Features")):
            return frozenset(line.partition(":")[2].split())
    features = processor()[1].split(",")
    return frozenset(f[1:].replace("-", "_") for f in features if f.startswith("+"))


def has(feature: str) -> bool:
    """Does code for the current target have this extension, beyond what the target's name implies?
    The spelling is the operating system's."""
    if _foreign:
        return feature in EXTENDED.get(_foreign[0], ("", ()))[1]
    return current().native and feature in host_features()


def _best() -> str:
    have = host_features()
    if platform.machine().lower() in ("arm64", "aarch64"):
        return "neon"
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd", "avx2", "fma"} <= have:
        return "avx512"
    return "avx2" if {"avx2", "fma", "f16c", "bmi2"} <= have else "baseline"


_foreign: list[str] = []         # the target of another machine that kernels are written for


def write_for(name: str) -> None:
    """From now on this process writes kernels for a target that may be another machine's. It
    compiles them for its own, so that it can still call them: with its own instructions they do
    the same. Code that was made before is not asked again, so it is said first."""
    _foreign[:] = [name]
    current.cache_clear()


def has_fma() -> bool:
    """Is a fused multiply-add to be written? The baseline has no instruction for it, and eager mode
    leaves products to NumPy there. Code that leaves the process has the C library's function."""
    return bool(_foreign) or current().name != "baseline"


@functools.lru_cache(None)
def current() -> Target:
    """The host's best target, or what `WHET_CPU` names, or the one that `write_for` was given."""
    best = _best()
    if _foreign:
        plain = EXTENDED.get(_foreign[0], _foreign)[0]
        return Target(plain, BITS[plain], True)
    name = os.environ.get("WHET_CPU") or best
    order = ["neon"] if best == "neon" else ["baseline", "avx2", "avx512"]
    if name not in order[:order.index(best) + 1]:
        raise ValueError(
            f"WHET_CPU={name}: this machine can run {', '.join(order[:order.index(best) + 1])}")
    return Target(name, BITS[name], name == best)


def at_once(products: int) -> int:
    """How many steps of this many chains of multiply-adds follow each other without a branch. Fewer
    than 8 chains wait for each other anyway."""
    return 1 if products < 8 else 4 if products <= 12 else 2
