"""A Source to a cubin with Triton's compiler: no GPU, no torch, no C compiler.

    found = compile(source)          # for sm_90
    found.binary, found.registers, found.shared

Products and sums are never contracted (a fused multiply-add is where the source says so) and
subnormals are kept, as on the CPU.
"""
from __future__ import annotations

import functools
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
    return triton.compile(ast_source(source, aligned), target=target, options=source.options())


def ast_source(source: Source, aligned: tuple[str, ...]) -> Any:
    """A Source as Triton's compiler takes it."""
    from triton.compiler import ASTSource
    function, constants = source.function(), source.constants()
    names = list(function.arg_names)
    kinds = dict(source.parameters)
    return ASTSource(
        function, {n: kinds.get(n, "constexpr") for n in names},
        constexprs={(names.index(n),): v for n, v in constants.items()},
        attrs={(names.index(n),): [["tt.divisibility", 16]] for n in aligned})


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
