"""What kernels are compiled for without a GPU, what they need there, and what their code must not
have: an approximation, lost subnormals, a fused multiply-add that nobody asked for."""
import functools
import math
import os
import re
import subprocess
import tempfile
from typing import NamedTuple

from whet.passes.lower_triton import compile

# a line of LLVM's language with a number in it: how many elements, which operation
_WIDTH = r"(?:<(\d+) x )?(?:float|double|half|bfloat)"
_ASKED = re.compile(r"call (?:\w+ )*" + _WIDTH + r">? @llvm\.(?:nvvm\.)?fma")
_OF_DOTS = re.compile(r"call (?:\w+ )*" + _WIDTH + r">? @llvm\.fmuladd")
# an sm_80 adds and multiplies numbers of bfloat16 by fused multiply-adds, with 1 and with -0
_BY_FMA = re.compile(r"\bf(?:add|sub|mul) (?:<(\d+) x )?bfloat")
_MADE = re.compile(r"\bfma\.rn(?:\.\w+)*?\.(?:f|bf)(?:64|32|16)(x2)?\b")
# that a number is no NaN, say, LLVM finds out and writes down: no licence
_FREE = re.compile(r"\b(?:f(?:add|sub|mul|div|rem|neg|cmp)|call)(?: \w+)* "
                   r"(contract|fast|afn|arcp|reassoc)\b")
_AMD_FMA = re.compile(r"\bv_(?:pk_)?(?:fma|fmac|mad|mac)\w*_f(?:16|32|64)")
_MADE_OF_FMA = re.compile(r"\b(?:fdiv|[us](?:div|rem)|[us]itofp|fpto[us]i)\b"
                          r"|\.(?:sqrt|fm[au]|exp|log|rcp)")
_APPROXIMATE = re.compile(r"\S*(?:approx|\.ftz|div\.full)\S*")
_PLAIN = re.compile(r"^\s*(?:@%p\d+ )?((?:mul|add|sub)\.f(?:32|64)\S*)", re.M)


class Need(NamedTuple):
    """What a kernel needs of a processor: registers of a thread, bytes of memory for those that
    were spilled, bytes of shared memory, the warps of a program, and which part of the warps that a
    processor holds at most run at a time."""
    registers: int
    spilled: int
    shared: int
    warps: int
    occupancy: float


class Nvidia:
    """A compute capability. `kept`: bytes of shared memory of a multiprocessor."""
    registers, warps, programs = 1 << 16, 64, 32

    def __init__(self, capability, kept):
        self.name, self.capability, self.kept = f"sm_{capability}", capability, kept << 10

    def build(self, source, aligned=()):
        """Triton's kernel, what it needs, and what is wrong with it."""
        made = compile.built(source, compile.nvidia(self.capability), aligned)
        assert made.kernel[:4] == b"\x7fELF", source.name
        registers, stack = compile.usage(made.kernel)
        m = made.metadata
        need = Need(registers, stack, m.shared, m.num_warps,
                    self.occupancy(registers, m.shared, m.num_warps))
        found = wrong(source, made.asm["llir"], made.asm["ptx"])
        return need, found + self.serialized(made.asm["ptx"])

    def serialized(self, ptx):
        """Must the products of a Hopper's tensor cores wait for one another? The assembler says
        so, where it moves sums between them."""
        if "wgmma" not in ptx:
            return []
        from triton.backends.nvidia.compiler import get_ptxas
        with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
            file.write(ptx)
            file.flush()
            said = subprocess.run([
                get_ptxas(self.capability).path, "-v", f"--gpu-name={self.name}a", file.name,
                "-o", os.devnull], text=True, capture_output=True, check=True).stderr
        return ["products wait for one another"] if "serialized" in said else []

    def occupancy(self, registers, shared, warps):
        """The part of the warps. Registers come by 256 for each warp, shared memory by 128 bytes
        and 1 KiB for each program."""
        each = math.ceil(registers * 32 / 256) * 256 * warps
        fits = [self.programs, self.warps // warps, self.registers // each]
        fits.append(self.kept // (math.ceil(shared / 128) * 128 + 1024))
        return min(fits) * warps / self.warps


class Amd:
    """An architecture of AMD's: four units of 512 registers and 8 waves each, 64 KiB shared."""
    units, registers, waves, kept = 4, 512, 8, 64 << 10

    def __init__(self, name):
        self.name = name

    def build(self, source, aligned=()):
        """The same."""
        from triton.backends.compiler import GPUTarget
        made = compile.built(source, GPUTarget("hip", self.name, 64), aligned)
        assert made.asm["hsaco"][:4] == b"\x7fELF", source.name
        text, m = made.asm["amdgcn"], made.metadata

        def told(what):
            return int(re.search(rf"\.{what}:\s+(\d+)", text)[1])
        # what lies in the other file of registers counts, too: both are one
        registers = told("vgpr_count")
        need = Need(registers, told("private_segment_fixed_size"), m.shared, m.num_warps,
                    self.occupancy(registers, m.shared, m.num_warps))
        found = wrong_for_amd(made.asm["llir"], text)
        if m.shared > self.kept:
            found.append(f"{m.shared >> 10} KiB of shared memory, of which there are "
                         f"{self.kept >> 10}")
        return need, found

    def occupancy(self, registers, shared, warps):
        """The part of the waves: registers come by 8, a program's waves lie on all units."""
        on_a_unit = min(self.waves, self.registers // (math.ceil(max(registers, 1) / 8) * 8))
        fits = [on_a_unit * self.units // warps]
        if shared:
            fits.append(self.kept // (math.ceil(shared / 512) * 512))
        return min(fits) * warps / (self.units * self.waves)


TARGETS = {t.name: t for t in (Nvidia(80, 164), Nvidia(90, 228), Nvidia(100, 228), Amd("gfx942"))}


# ---- what code must not have ---------------------------------------------------------------------
# kernels of halves may have an exponential whose error lies far below a half's
OF_HALVES = {"attention_forward", "attention_gradient_of_queries", "attention_gradient_of_keys"}


def wrong(source, llvm, ptx):
    """What is approximate, or contracted, in a kernel's code for NVIDIA's devices."""
    allowed = {"ex2.approx.f32"} if source.name in OF_HALVES else set()
    found = sorted(set(_APPROXIMATE.findall(ptx)) - allowed) + free_of_rules(llvm)
    found += sorted(set(_PLAIN.findall(ptx)))        # the assembler may contract those
    asked, of_dots, halves = (lanes(p.findall(llvm)) for p in (_ASKED, _OF_DOTS, _BY_FMA))
    made = lanes("2" if two else "" for two in _MADE.findall(ptx))
    if asked and "tl.fma" not in source.text or of_dots and "tl.dot" not in source.text:
        found.append(f"{asked + of_dots} fma that the source does not ask for")
    if made > asked + of_dots + halves:
        found.append(f"{made} fma, of which LLVM's code has {asked + of_dots + halves}")
    return found


def wrong_for_amd(llvm, assembly):
    """The same for AMD's devices. Their quotients, roots and divisions of integers are made of
    fused multiply-adds: none is looked for where there are such."""
    found = free_of_rules(llvm)
    if ".amdhsa_float_denorm_mode_32 3" not in assembly:
        found.append("subnormals are lost")
    if not _MADE_OF_FMA.search(llvm) and _AMD_FMA.search(assembly):
        found.append("fma that nobody asked for")
    return found


def free_of_rules(llvm):
    """Licences to change numbers that operations of LLVM's language have."""
    return sorted({f"`{flag}` in LLVM's code" for flag in _FREE.findall(llvm)})


def lanes(widths):
    """How many elements operations of some widths have; '' is one."""
    return sum(int(w or 1) for w in widths)


@functools.lru_cache(None)
def assemblers():
    """The versions of the assemblers that come with Triton, by capability."""
    from triton.backends.nvidia.compiler import get_ptxas
    found = {}
    for t in TARGETS.values():
        if isinstance(t, Nvidia):
            said = subprocess.run([get_ptxas(t.capability).path, "--version"], text=True,
                                  capture_output=True, check=True).stdout
            found[t.name] = re.search(r"release ([\d.]+)", said)[1]
    return found
