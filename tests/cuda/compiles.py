"""Every kernel that the ops' samples launch, and those of large operands (`benchmarks/gpu.py`),
compiled without a GPU for sm_80, sm_90, sm_100 and gfx942; what they need there.

    python -m tests.cuda.compiles                       # all ops: a quarter of an hour
    python -m tests.cuda.compiles sort index
    python -m tests.cuda.compiles --write               # and the table of all of them

A kernel must not spill registers, unless `SPILL` says why. Nothing in its code may be approximate,
and no product may be contracted with a sum unless the source has it so (`targets.py`).
"""
import argparse
import collections
import functools
import importlib
import multiprocessing
import os
import statistics
from pathlib import Path
from typing import NamedTuple

from whet.cuda import device_state
from whet.cuda.simulated.driver import SimulatedDriver
from whet.cuda.simulated.idle import IdleDriver
from whet.passes.lower_triton import compile
from whet.passes.lower_triton.source import Source

from tests.cuda import sweep, targets

TABLE = Path(__file__).parent.parent.parent / "benchmarks" / "results" / "gpu_kernels.md"
FAMILIES = ("pointwise", "rows", "long_rows", "contract", "scans", "long_scans", "windows",
            "places", "order", "attention")
LARGE = "operands as in benchmarks/gpu.py"
MANY = ("two sums of 64 rows of features are kept at a time: smaller tiles spill nothing, and took "
        "longer on the H200")
# kernels that may spill, by name and target: so many bytes of each thread, and why
STEP = ("the assembler keeps to a number of registers with which one more program runs at a time, "
        "and parks some words for it")
SPILL = {
    ("matmul_kernel", "sm_80"): (16, STEP), ("matmul_add_kernel", "sm_80"): (8, STEP),
    ("matmul_kernel", "sm_100"): (24, STEP), ("pool_mean_kernel", "sm_80"): (24, STEP),
    ("cast_cast_cast_add_div_mul_and_1_kernel", "sm_80"): (8, STEP),
    ("cast_cast_cast_div_mul_cast_kernel", "sm_80"): (8, STEP),
    **{(f"attention_gradient_of_{what}", target): (size, MANY) for what, target, size in (
        ("keys", "sm_80", 336), ("keys", "sm_90", 64), ("keys", "gfx942", 1020),
        ("queries", "sm_80", 32))},
    ("attention_forward", "sm_100"): (24, STEP),
    ("attention_gradient_of_keys", "sm_100"): (8, STEP)}
# what is known to be wrong, by the family and the target, in words of `Built.wrong`
KNOWN = {(family, "gfx942"): "KiB of shared memory" for family in ("contract", "attention")}


def check(sources, capabilities=(80, 90)):
    """Compile sources; a kernel must not spill."""
    for source in sources:
        for capability in capabilities:
            made = compile.compile(source, capability)
            assert made.binary[:4] == b"\x7fELF", source.name
            assert not made.stack, f"{source.name} spills {made.stack} bytes for sm_{capability}"


class Kernel(NamedTuple):
    """A kernel as it was launched, and the family whose lowering wrote it."""
    family: str
    source: Source
    aligned: tuple[str, ...]


# ---- which kernels there are ---------------------------------------------------------------------
_written: dict[Source, str] = {}    # the family of each source


def listen():
    """Note from now on which family writes each source."""
    for family in FAMILIES:
        room = importlib.import_module(f"whet.passes.lower_triton.{family}")
        for name, write in list(vars(room).items()):
            if name.startswith("lower") and getattr(write, "__module__", "") == room.__name__:
                setattr(room, name, functools.partial(noted, write, family))


def noted(write, family, *args, **kwargs):
    """What a lowering writes."""
    made = write(*args, **kwargs)
    for one in made if isinstance(made, list | tuple) and type(made) is not Source else [made]:
        for source in [one] if isinstance(one, Source) else one:
            if source is not None:
                _written[source] = family
    return made


def large():
    """Launch what large operands need, on a device of an H100's size that computes nothing."""
    import whet

    from benchmarks import gpu
    for row in gpu.ROWS:
        row.run(whet, *row.tensors(whet))
        whet.cuda.synchronize()


def launched(name):
    """The kernels of an op's samples, or of large operands."""
    driver = IdleDriver() if name == LARGE else SimulatedDriver()
    with sweep.by_the_cpu(), device_state.use(driver) as m:
        try:
            large() if name == LARGE else sweep.check(name)
        except NotImplementedError:
            pass
        return [Kernel(_written[source], source, aligned) for _, source, aligned in m.kernels]


# ---- what they need ------------------------------------------------------------------------------
class Built(NamedTuple):
    """A kernel for a target: what it needs (None where it does not compile), and what is wrong."""
    kernel: Kernel
    target: str
    need: targets.Need | None
    wrong: list[str]

    @property
    def complaints(self):
        """What is wrong and not known, and spills that nobody gave a reason for."""
        known = KNOWN.get((self.kernel.family, self.target))
        found = [w for w in self.wrong if known is None or known not in w]
        spilled = self.need.spilled if self.need is not None else 0
        if spilled > SPILL.get((self.kernel.source.name, self.target), (0, ""))[0]:
            found.append(f"{spilled} bytes are spilled")
        return found


def built(kernel, names=tuple(targets.TARGETS)):
    """A kernel for each target."""
    made = []
    for name in names:
        try:
            need, wrong = targets.TARGETS[name].build(kernel.source, kernel.aligned)
        except Exception as error:
            need, wrong = None, [f"{type(error).__name__}: {error}"[:300]]
        made.append(Built(kernel, name, need, wrong))
    return made


def all_built(names, jobs, told=print):
    """Every kernel of some ops for every target."""
    found: list[Built] = []
    with multiprocessing.get_context("spawn").Pool(jobs, listen) as pool:
        kernels: dict[Kernel, str] = {}
        for name, made in zip(names, pool.imap(launched, names), strict=True):
            for kernel in made:
                kernels.setdefault(kernel, name)
        told(f"{len(kernels)} kernels")
        for n, made in enumerate(pool.imap_unordered(built, kernels, 4), 1):
            found += made
            for b in made:
                if b.complaints:
                    told(f"{kernels[b.kernel]}: {b.kernel.source.name}, {b.target}: "
                         f"{'; '.join(b.complaints)}")
            if n % 100 == 0:
                told(f"{n} compiled")
    return found


# ---- the table -----------------------------------------------------------------------------------
COLUMNS = ("family", "kernels", "target", "registers: median, most", "shared memory, most", "spill",
           "occupancy: median, least", "least of")
HEADER = """# What kernels need of a GPU

{kernels} kernels: those that the samples of {ops} ops launch, forward and backward, and those of
large operands (`benchmarks/gpu.py`), with the hints of alignment that they were launched with. Each
was compiled without a GPU, by Triton {triton} with ptxas {ptxas},
for four targets. Registers are those of a thread. The occupancy is the part of the warps (waves)
that a processor holds at most, from registers, shared memory and warps of a program: median, and
the least with its kernel. Written by `make gpu-kernels`.

{wrong}
"""
FINE = """\
No kernel has an approximate instruction (but the exponential in attention of halves), loses
subnormals, or has a fused multiply-add beyond those of its source: PTX was searched, and LLVM's
code for licences to contract. No products of a Hopper's tensor cores wait for one another."""


def row(family, target, found):
    """A row of the table."""
    needs = [b.need for b in found]
    worst = min(found, key=lambda b: (b.need.occupancy, -b.need.registers))
    spilled = [n.spilled for n in needs if n.spilled]
    registers = [n.registers for n in needs]
    spills = f"{len(spilled)}, up to {max(spilled)} bytes" if spilled else "none"
    return (f"| {family} | {len(found)} | {target} | {statistics.median_low(registers)}, "
            f"{max(registers)} | {max(n.shared for n in needs) / 1024:.3g} KiB | {spills} | "
            f"{statistics.median_low([n.occupancy for n in needs]):.0%}, "
            f"{worst.need.occupancy:.0%} | `{worst.kernel.source.name}` |")


def table(found, ops):
    """The table as text."""
    import triton
    groups = collections.defaultdict(list)
    for b in found:
        if b.need is not None:
            groups[b.kernel.family, b.target].append(b)
    ptxas = ", ".join(f"{v} ({k})" for k, v in targets.assemblers().items())
    wrong = [f"- `{b.kernel.source.name}`, {b.target}: {'; '.join(b.complaints)}"
             for b in found if b.complaints]
    lines = [HEADER.format(kernels=len({b.kernel for b in found}), ops=ops, ptxas=ptxas,
                           triton=triton.__version__, wrong="\n".join(wrong) or FINE)]
    lines += [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for family in FAMILIES:
        for target in targets.TARGETS:
            if groups[family, target]:
                lines.append(row(family, target, groups[family, target]))
    lines += ["", "What spills, and why:", ""]
    lines += [f"- `{name}`, {target}, {size} bytes at most: {why}."
              for (name, target), (size, why) in SPILL.items()]
    known = [f"`{b.kernel.source.name}`, {b.target}: {'; '.join(b.wrong)}"
             for b in found if b.wrong and not b.complaints]
    lines += ["", "What could not be launched there:", "",
              *(f"- {what} ({n} kernels)" for what, n in collections.Counter(known).items())]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.name}")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="processes")
    args = parser.parse_args()
    names = args.names or [*sweep.TESTED, LARGE]
    found = all_built(names, args.jobs, functools.partial(print, flush=True))
    text = table(found, len(names) - (LARGE in names))
    print(text)
    if args.write:
        TABLE.write_text(text + "\n")
    return int(any(b.complaints for b in found))


if __name__ == "__main__":
    raise SystemExit(main())
