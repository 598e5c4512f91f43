"""The machine code is generated for: vector width and features. Widths never change a bit of a result."""
import functools
import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """What generators may ask of the machine."""
    name: str            # "avx512", "avx2", "neon", "baseline"
    bits: int            # width of a vector register
    cpu: str             # as LLVM names it
    features: str

    def lanes(self, elem_bytes=4):
        """Elements of a vector register."""
        return self.bits // (8 * elem_bytes)


@functools.lru_cache(None)
def current():
    """The host's best target, or what `WHET_CPU` names."""
    import llvmlite.binding as llvm
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    name = os.environ.get("WHET_CPU") or ("avx512" if "+avx512f" in features else "avx2" if "+avx2" in features else "baseline")
    return Target(name, {"avx512": 512, "avx2": 256}.get(name, 128), cpu, features)
