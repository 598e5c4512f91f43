"""Faults planted into kernels, one at a time, in a copy of the sources: the sweep must catch each.

    python -m tests.planted [numbers]           (also: make planted)

Each is of a kind that was found in use, or is near to it: a bound off by one, a mask that is
missing, scratch too short, a wrong stride in the brief form. What caught each goes into a table: a
kernel's own test, a page that nobody may touch, or other bits.
"""

import os
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests import sweep_kernels

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "benchmarks" / "results" / "planted.md"
HEADER = """# Faults planted into kernels

Each was planted alone into a copy of the sources; the sweep of kernels (forty cases of a family, in
two forms and by NumPy) caught it by the check that is named. Written by `make planted`.

| file | fault | caught by | at | in the form |
|---|---|---|---|---|"""
COUNT = 40  # cases of a family, drawn until one shows the fault


@dataclass
class Fault:
    """In `file` is `wrong` what was `right`. `family`: whose cases run it."""

    what: str
    file: str
    right: str
    wrong: str
    family: str

    def plant(self, folder):
        path = Path(folder, "whet", self.file)
        text = path.read_text()
        assert text.count(self.right) == 1, (
            f"{self.file} has {text.count(self.right)} times: {self.right}"
        )
        path.write_text(text.replace(self.right, self.wrong))


GENERATORS = "passes/lower_llvm/"
FAULTS = [
    Fault(
        "the end of a row's entries is looked for behind the last",
        GENERATORS + "products/sparse.py",
        "f.imin(k, self.last)",
        "f.imin(k, self.count)",
        "Sparse",
    ),
    Fault(
        "a row of entries has one more than its pointers say",
        GENERATORS + "products/sparse.py",
        "return f.sel(strange, 0, first), f.sel(strange, 0, last), strange",
        "return f.sel(strange, 0, first), f.sel(strange, 0, last + 1), strange",
        "Sparse",
    ),
    Fault(
        "the last columns of a row of a product have no mask",
        GENERATORS + "products/sparse.py",
        "work(at, 1, f.lanes_below(end - at, n))",
        "work(at, 1, f.lanes_below(end - at + 1, n))",
        "Sparse",
    ),
    Fault(
        "one line behind the last is added to a partial sum",
        GENERATORS + "rows/column_sums.py",
        'f.cmp("slt", i, end)',
        'f.cmp("sle", i, end)',
        "Columns",
    ),
    Fault(
        "a slot without a place is read and added",
        GENERATORS + "elements/axis_taps.py",
        'f.if_(f.cmp("sge", place, 0)',
        'f.if_(f.cmp("sge", place, -1)',
        "AxisTaps",
    ),
    Fault(
        "the last elements of a resized row have no mask",
        GENERATORS + "elements/axis_taps.py",
        "f.put(mask, (k.total(more), f.at(target, p, elem)))",
        "f.store(k.total(more), f.at(target, p, elem))",
        "AxisTaps",
    ),
    Fault(
        "the last elements of a picked row are read without a mask",
        GENERATORS + "elements/pointwise.py",
        "return f.load(ty, p) if mask is None else f.mload(ty, p, mask)",
        "return f.load(ty, p)",
        "Picks",
    ),
    Fault(
        "a later block of a picked row is the first one",
        GENERATORS + "elements/pointwise.py",
        "p = f.at(f.at(row, at, elem), i, elem)",
        "p = f.at(row, i, elem)",
        "Picks",
    ),
    Fault(
        "a place one after the last is read",
        GENERATORS + "elements/grid_sampling.py",
        'f.cmp("ult", place, most), mask)',
        'f.cmp("ule", place, most), mask)',
        "Taps",
    ),
    Fault(
        "the last vector of places has no mask",
        GENERATORS + "elements/grid_sampling.py",
        "f.put(mask, (total, f.at(target, p, elem)))",
        "f.store(total, f.at(target, p, elem))",
        "Taps",
    ),
    Fault(
        "one lane too many of a panel is written",
        GENERATORS + "factors/panel.py",
        "f.put(f.lanes_below(self.width - c, self.k.lanes),",
        "f.put(f.lanes_below(self.width - c + 1, self.k.lanes),",
        "Factors",
    ),
    Fault(
        "a panel's last vector is read without a mask",
        GENERATORS + "factors/panel.py",
        "f.store(f.mload(self.k.ty, f.at(source, c, self.k.elem), inside), self.at(i, c))",
        "f.store(f.load(self.k.ty, f.at(source, c, self.k.elem)), self.at(i, c))",
        "Factors",
    ),
    Fault(
        "a reflection is taken off its own column, too",
        GENERATORS + "factors/qr.py",
        'f.cmp("sgt", f.iota("i64", k.lanes), f.splat(j - start, k.lanes))',
        'f.cmp("sge", f.iota("i64", k.lanes), f.splat(j - start, k.lanes))',
        "Factors",
    ),
    Fault(
        "a row of R is written up to whole vectors",
        GENERATORS + "factors/qr.py",
        "f.put(f.lanes_below(w.width - c, lanes),",
        "f.put(f.lanes_below(w.stride - c, lanes),",
        "Factors",
    ),
    Fault(
        "what lies before a row of real numbers is read as their mirror image",
        GENERATORS + "fourier/kernels.py",
        "~f.lanes_below(before * -2 - k * n, n)",
        "~f.lanes_below(before * -2 - k * n - 2, n)",
        "Fourier",
    ),
    Fault(
        "the mask of what is read backwards is not turned",
        GENERATORS + "elements/operands.py",
        "f.mload(ty, at, self.reversed(mask))",
        "f.mload(ty, at, mask)",
        "Pointwise",
    ),
    Fault(
        "a convolution's numbers go on behind the last of a transform",
        GENERATORS + "fourier/kernels.py",
        'self.product(read(at, f.imin(left, w["n"] - at)), "chirp", at), 0)',
        'self.product(read(at, left), "chirp", at), 0)',
        "Fourier",
    ),
    Fault(
        "half of a transform of an odd number of real numbers is one number more",
        GENERATORS + "fourier/kernels.py",
        'self.write_complex(target, at, f.imin(left, f.sdiv(self.w["n"], 2) + 1 - at), z)',
        'self.write_complex(target, at, f.imin(left, f.sdiv(self.w["n"], 2) + 2 - at), z)',
        "Fourier",
    ),
    Fault(
        "a row's last vector of numbers is one too long",
        GENERATORS + "fourier/kernels.py",
        "mask = f.lanes_below(length - i, n)",
        "mask = f.lanes_below(length + 1 - i, n)",
        "Fourier",
    ),
    Fault(
        "a pair of a row and itself is stored before its place",
        GENERATORS + "products/distances.py",
        "f.lanes_below(number + 1 - j - v * lanes, lanes)",
        "f.lanes_below(number - j - v * lanes, lanes)",
        "Differences",
    ),
    Fault(
        "numbers behind a row are read for its differences",
        GENERATORS + "products/distances.py",
        "f.lanes_below(k - c - v * lanes, lanes)",
        "f.lanes_below(k + 1 - c - v * lanes, lanes)",
        "Differences",
    ),
    Fault(
        "a group of small matrices reads one of more than there are",
        GENERATORS + "products/small_matrices.py",
        "f.lanes_below(count, self.form.lanes)",
        "f.lanes_below(count + 1, self.form.lanes)",
        "Small",
    ),
    Fault(
        "the last group of small matrices is stored as a whole one",
        GENERATORS + "products/small_matrices.py",
        "mask = f.lanes_below(count * c_size, form.lanes)",
        "mask = f.lanes_below(form.group * c_size, form.lanes)",
        "Small",
    ),
    Fault(
        "the brief form's last steps are all of the block's",
        GENERATORS + "products/few_rows.py",
        "f.imin(end - k, lanes)",
        "end - k",
        "Few",
    ),
    Fault(
        "a mask of the brief form lets one lane more through",
        GENERATORS + "elements/pointwise.py",
        "lambda i, *carry: body(i, f.lanes_below(n - i, lanes), *carry)",
        "lambda i, *carry: body(i, f.lanes_below(n - i + 1, lanes), *carry)",
        "Pointwise",
    ),
    Fault(
        "the second half of a line of pairs is stored under the mask of the first",
        GENERATORS + "elements/operands.py",
        "f.lanes_below(parts, lanes), f.lanes_below(parts - lanes, lanes)",
        "f.lanes_below(parts, lanes), f.lanes_below(parts, lanes)",
        "Pointwise",
    ),
    Fault(
        "a turned tile is read with a wrong stride",
        GENERATORS + "elements/pointwise.py",
        "f.at(t, i * TILE, ty) if t is not None",
        "f.at(t, i * (TILE + 1), ty) if t is not None",
        "Pointwise",
    ),
    Fault(
        "a brief block of a column is longer than a block",
        GENERATORS + "products/one_row.py",
        "count = f.imin(count, BLOCK)",
        "count = count + 0",
        "One",
    ),
    Fault(
        "a brief column's second group finds another block in the copy",
        GENERATORS + "products/one_row.py",
        'one = f.cmp("sle", self.d["k"], BLOCK)',
        'one = f.cmp("eq", k0, 0)',
        "One",
    ),
    Fault(
        "no mask where columns end",
        GENERATORS + "rows/scan.py",
        "mask = f.lanes_below(columns - at, W)",
        "mask = f.lanes_below(W, W)",
        "Scans",
    ),
    Fault(
        "the stack of sums of blocks is too short",
        GENERATORS + "rows/lanes.py",
        "(self.ty, LEVELS * width)",
        "(self.ty, width)",
        "Long",
    ),
    Fault(
        "a gathering row goes on for one element",
        GENERATORS + "elements/gather.py",
        "return f.loop(whole, j1, 1, single, [worst])",
        "return f.loop(whole, j1 + 1, 1, single, [worst])",
        "Takes",
    ),
    Fault(
        "the last indices are looked at as a whole step",
        GENERATORS + "elements/gather.py",
        "whole = begin + ((end - begin) & -step)",
        "whole = begin + ((end - begin + 1) & -step)",
        "Takes",
    ),
    Fault(
        "the last bytes of a slice are copied by half a vector",
        GENERATORS + "elements/gather.py",
        "lambda: end(src, dst, lanes)",
        "lambda: end(src, dst, lanes // 2)",
        "Takes",
    ),
    Fault(
        "a tile of a product reads columns behind the last",
        GENERATORS + "products/gemm.py",
        "return f.load(ty, p) if mask is None else f.mload(ty, p, mask)",
        "return f.load(ty, p)",
        "Products",
    ),
    Fault(
        "a tile of a product writes columns behind the last",
        GENERATORS + "products/gemm.py",
        "f.store(y, p) if mask is None else f.put(mask, (y, p))",
        "f.store(y, p)",
        "Products",
    ),
    Fault(
        "panels of a product that are kept overlap",
        GENERATORS + "products/gemm.py",
        "j * (kb * self.s) + (MC",
        "j * (kb * (self.s // 2)) + (MC",
        "Products",
    ),
    Fault(
        "panels of a product are kept where there is no memory for them",
        GENERATORS + "products/gemm.py",
        "f.sel(keeps & along, tall, group)",
        "f.sel(along, tall, group)",
        "Products",
    ),
    Fault(
        "scratch for packed rows is too short",
        GENERATORS + "products/gemm.py",
        "a = MC * a_step(wide) if a_mode",
        "a = MC * a_step(wide) // 2 if a_mode",
        "Products",
    ),
    Fault(
        "scratch for a convolution's runs is too short",
        "cpu/window_parts.py",
        "return (limit + 1) * 40 + limit * 4 * taps",
        "return (limit + 1) * 32 + limit * 4 * taps",
        "Convolutions",
    ),
    Fault(
        "a convolution's last tile does not begin early",
        GENERATORS + "windows/winograd.py",
        "row0 = f.imin(i * t.rows, g.rows - t.rows)",
        "row0 = i * t.rows",
        "Winograd",
    ),
    Fault(
        "rows of a plane that lies outside the volume are read",
        GENERATORS + "windows/few_channels.py",
        'inside & f.cmp("ult", iy0 + r, g.h)',
        'f.cmp("ult", iy0 + r, g.h)',
        "Convolutions",
    ),
    Fault(
        "the planes of a volume have the first one's masks",
        GENERATORS + "windows/winograd.py",
        "runs.inside(e, row + r, f.const(\"i64\", q))",
        "runs.inside(e, f.const(\"i64\", r), f.const(\"i64\", q))",
        "Winograd",
    ),
    Fault(
        "the planes of weights overwrite each other's last channels",
        GENERATORS + "windows/winograd.py",
        "f.at(dst, z * channels, t.elem)",
        "f.at(dst, z * (channels - 1), t.elem)",
        "Winograd",
    ),
    Fault(
        "an update's last elements are stored without a mask",
        GENERATORS + "elements/optimizer_steps.py",
        "f.store(x, p) if mask is None else f.put(mask, (x, p))",
        "f.store(x, p)",
        "Many",
    ),
    Fault(
        "the last vector of a short row's keys is taken for a whole one",
        GENERATORS + "rows/sort.py",
        "f.loop(0, f.imin(self.n - i, self.keys.lanes), 1, put)",
        "f.loop(0, self.keys.lanes, 1, put)",
        "Sorts",
    ),
    Fault(
        "one item too few of those that were gathered is kept",
        GENERATORS + "rows/sort.py",
        'f.loop(0, count, 1, one, [f.const("i64", 0), equal + 1])',
        'f.loop(0, count, 1, one, [f.const("i64", 0), equal])',
        "Sorts",
    ),
    Fault(
        "elements are compared with what lies behind a short row",
        GENERATORS + "rows/ranks.py",
        "end, count = f.imin(i + W, n), f.const(own.ty, 0)",
        "end, count = i + W, f.const(own.ty, 0)",
        "Sorts",
    ),
    Fault(
        "items that are dealt begin one place late",
        GENERATORS + "rows/radix_sort.py",
        "f.store(to + 1, p)\n                items.store(item, b, to)",
        "f.store(to + 1, p)\n                items.store(item, b, to + 1)",
        "Sorts",
    ),
    Fault(
        "behind the last value another one is looked for",
        GENERATORS + "rows/search.py",
        "f.splat(end - 1, TOGETHER)",
        "f.splat(end, TOGETHER)",
        "Searches",
    ),
    Fault(
        "elements outside of all intervals have no count of their own",
        "cpu/histograms.py",
        "memory.empty((bins + 1,), indexed.I64)",
        "memory.empty((bins,), indexed.I64)",
        "Counts",
    ),
    Fault(
        "pieces of an arena overlap",
        "jit/program/arena.py",
        "return -(-size // ALIGN) * ALIGN",
        "return max(size // ALIGN, 1) * ALIGN",
        "Chains",
    ),
    Fault(
        "no mask where a row of windows ends",
        GENERATORS + "windows/pool_rows.py",
        "lambda: self.outputs(at, 1, g.ow - at)",
        "lambda: self.outputs(at, 1)",
        "Pools",
    ),
]


def copy(folder):
    """The sources as a package that stands before the one installed."""
    whet = Path(folder, "whet")
    shutil.copytree(ROOT / "runtime", whet)
    for name in ("jit", "ir", "passes"):
        shutil.copytree(ROOT / name, whet / name)
    shutil.copytree(ROOT / "tests", Path(folder, "tests"), ignore=shutil.ignore_patterns("traps"))


def caught(fault, seed=0):
    """What catches a fault: the first of what goes wrong, or None."""
    with tempfile.TemporaryDirectory() as folder:
        copy(folder)
        fault.plant(folder)
        before, here = os.environ.get("PYTHONPATH"), os.getcwd()
        os.environ["PYTHONPATH"] = folder
        os.chdir(folder)
        try:
            names = sweep_kernels.part(seed, COUNT, [fault.family])
            wrong = sweep_kernels.sweep(sweep_kernels.few_forms(), names).wrong
        finally:
            os.chdir(here)
            os.environ.pop("PYTHONPATH") if before is None else os.environ.update(PYTHONPATH=before)
    return wrong[0] if wrong else None


def by(wrong):
    """Which check says so."""
    return (
        "a kernel's test"
        if "whet: kernel" in wrong
        else "a guarded page"
        if re.search("Segmentation|Bus error|-11", wrong)
        else "other bits"
    )


def row(fault, wrong):
    """A fault and what caught it, as a row of the table."""
    form, case = re.match(r"\[(.*?)\] (.*)", wrong, re.S).groups() if wrong else ("", "")
    said = re.search(r"reads .*|writes .*|wrote .*", case)
    shown = said[0].split(";")[0] if said else re.split(", (?:brief|full|while)", case)[0]
    found = by(wrong) if wrong else "NOT CAUGHT"
    return f"| `{fault.file}` | {fault.what} | {found} | {shown[:100]} | {form.strip()} |"


def main():
    asked = sys.argv[1:]
    rows = []
    for k, fault in enumerate(FAULTS):
        if not asked or str(k) in asked:
            rows.append(row(fault, caught(fault)))
            print(k, rows[-1], flush=True)
    if not asked:
        TABLE.write_text("\n".join([HEADER, *rows]) + "\n")
    return int(any("NOT CAUGHT" in r for r in rows))


if __name__ == "__main__":
    sys.exit(main())
