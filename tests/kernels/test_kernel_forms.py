"""Kernels in all their forms: a part of what `make sweep-kernels` does, and that it misses no
kernel."""

import ast
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from tests import planted, sweep_kernels
from tests.kernel_cases import FAMILIES, Operand, gaps

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.environ.get("WHET_CPU") == "numpy", reason="guards are for Linux"
)
GENERATORS = Path(__file__).parents[2] / "passes" / "lower_llvm"
SEED = int(os.environ.get("WHET_FUZZ_SEED", 0))


def test_a_part_of_the_sweep():
    forms, names = sweep_kernels.few_forms(), sweep_kernels.part(SEED, 36)
    found = sweep_kernels.sweep(forms, names)
    assert not found.wrong, "\n".join(found.wrong)
    assert found.cases == len(names) * len(forms)
    assert found.compiled > 0.8 * len(names) * sum(f.target != "numpy" for f in forms)
    assert {brief for x in found.met if isinstance(x, tuple) for brief in x[1:]} == {True, False}


def generators():
    """What writes kernels: functions and methods that are given a symbol, but for what only
    helps."""
    for path in GENERATORS.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            inside = node.body if isinstance(node, ast.ClassDef) else [node]
            for f in inside:
                if isinstance(f, ast.FunctionDef) and "symbol" in [a.arg for a in f.args.args]:
                    name = f"{path.stem}.{'' if f is node else node.name + '.'}{f.name}"
                    if f.name[0] != "_" and f.name != "start":
                        yield name


def test_every_generator_of_kernels_has_cases():
    claimed = {name for family in FAMILIES.values() for name in family.generators}
    assert set(generators()) == claimed, "a family in tests/kernel_cases must take each generator"
    for family in FAMILIES.values():
        names = [case.name for case in family().cases()]
        assert names and len(set(names)) == len(names), family


def test_what_is_written_between_elements_is_seen():
    a = Operand("f4", (3, 5), "gaps").make("a")
    before = gaps(a)
    a[...] = 7
    assert before.size == (2 * 15 - 1 - 15) * 4 and np.array_equal(gaps(a), before)
    np.lib.stride_tricks.as_strided(a, (29,), (4,))[1] = 3
    assert not np.array_equal(gaps(a), before)


def test_results_are_compared_by_their_bits():
    a = np.array([[1.0, 0.0], [np.nan, 2.0]], "f4")
    assert sweep_kernels.difference([a], [a.copy()]) is None
    assert "at (0, 1)" in sweep_kernels.difference([a], [a * np.array([1, -1], "f4")])
    assert "result 0 is" in sweep_kernels.difference([a], [a.astype("f8")])
    assert sweep_kernels.far([a], [a + 1e-4]) is None and "far" in sweep_kernels.far([a], [a + 1])


@pytest.mark.parametrize("fault", planted.FAULTS, ids=lambda fault: fault.what)
def test_faults_can_be_planted(fault, tmp_path):
    """They are texts of the sources as these are (`make planted` shows that each is caught)."""
    path = tmp_path / "whet" / fault.file
    path.parent.mkdir(parents=True)
    folder = "" if fault.file.startswith(("jit", "passes")) else "runtime"
    path.write_text((GENERATORS.parent.parent / folder / fault.file).read_text())
    fault.plant(tmp_path)
    compile(path.read_text(), fault.file, "exec")
