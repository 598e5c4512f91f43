"""A Source to a cubin with Triton's compiler: no GPU, no torch, no C compiler.

    found = compile(source)          # for sm_90
    found.binary, found.registers, found.shared

Products and sums are never contracted (a fused multiply-add is where the source says so) and
subnormals are kept, as on the CPU.
"""
from __future__ import annotations

import functools
import linecache
import os
import re
import subprocess
import tempfile
from typing import Any, NamedTuple

from .source import Source


class Compiled(NamedTuple):
    """A kernel that a driver can load, and what it needs."""
    binary: bytes
    name: str               # of the function in the binary
    warps: int
    shared: int             # bytes of dynamic shared memory
    scratch: int            # bytes of global memory for each program
    ptx: str

    @property
    def registers(self) -> int:
        """Registers of each thread."""
        return usage(self.binary)[0]

    @property
    def stack(self) -> int:
        """Bytes of each thread: more than 0 where registers were spilled."""
        return usage(self.binary)[1]


def function(source: Source) -> Any:
    """The Triton function of a Source. Its text is found by the name of a file that there is
    not."""
    import triton
    import triton.language as tl
    file = f"<whet:{source.key}>"
    linecache.cache[file] = len(source.text), None, source.text.splitlines(True), file
    names = {"tl": tl, "triton": triton, "__name__": "whet.generated"}
    exec(compile_text(source.text, file, "exec"), names)
    return names[source.name]


# the builtin; below is the compiler of Sources
compile_text = compile


def options(source: Source) -> dict[str, Any]:
    """What the compiler is told besides the text."""
    return {"num_warps": source.warps, "num_stages": source.stages, "enable_fp_fusion": False,
            "enable_reflect_ftz": False}


@functools.lru_cache(1024)
def compile(source: Source, capability: int = 90, aligned: tuple[str, ...] = ()) -> Compiled:
    """The Source for NVIDIA GPUs of a compute capability. `aligned`: the parameters that are
    multiples of 16, numbers or addresses."""
    made = built(source, nvidia(capability), aligned)
    m = made.metadata
    return Compiled(made.kernel, m.name, m.num_warps, m.shared, m.global_scratch_size,
                    made.asm["ptx"])


def nvidia(capability: int) -> Any:
    """Triton's name of a compute capability."""
    from triton.backends.compiler import GPUTarget
    return GPUTarget("cuda", capability, 32)


def built(source: Source, target: Any, aligned: tuple[str, ...] = ()) -> Any:
    """What Triton makes of a Source for a target, with all forms of it on the way."""
    import triton
    from triton.compiler import ASTSource
    names = [n for n, _ in source.parameters]
    attrs = {(names.index(n),): [["tt.divisibility", 16]] for n in aligned}
    return triton.compile(
        ASTSource(function(source), dict(source.parameters), constexprs={}, attrs=attrs),
        target=target, options=options(source))


@functools.lru_cache(1024)
def usage(cubin: bytes) -> tuple[int, int]:
    """(registers, bytes of stack) of a thread, as `cuobjdump` has it, which comes with Triton."""
    import triton
    tool = os.path.join(os.path.dirname(triton.__file__), "backends", "nvidia", "bin", "cuobjdump")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        text = subprocess.run([tool, "-res-usage", file.name], capture_output=True, text=True,
                              check=True).stdout
    found = re.search(r"REG:(\d+) STACK:(\d+)", text)
    if found is None:
        raise RuntimeError(f"{tool} says nothing of registers: {text}")
    return int(found[1]), int(found[2])
