"""A clone works where it lies, whatever its folder is called."""
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tomllib

import pytest

ROOT = pathlib.Path(__file__).parents[2]
FOLDERS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-dir"]
SCRIPT = """
import whet
import whet.nn.functional as F
from whet import nn

@whet.jit.trace
def f(x):
    return F.relu(x) + 1

for _ in range(4):
    assert f(whet.ones(2)).tolist() == [2, 2]
print(*[package.__file__ for package in (whet, whet.jit, whet.ir, whet.passes, nn)], sep="\\n")
"""
# without the site nothing tells Python of an install: what whet needs is on the path by itself
INSTALLED = [], {}
NOT_INSTALLED = ["-S"], {"PYTHONPATH": sysconfig.get_path("purelib")}


@pytest.fixture(scope="module")
def beside_the_clone(tmp_path_factory):
    parent = tmp_path_factory.mktemp("parent")
    for folder in FOLDERS.values():
        shutil.copytree(ROOT / folder, parent / "whet" / folder,
                        ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("__init__.py", "pyproject.toml"):
        shutil.copy(ROOT / file, parent / "whet")
    (parent / "script.py").write_text(SCRIPT)
    return parent


@pytest.mark.parametrize("flags, paths", [INSTALLED, NOT_INSTALLED],
                         ids=["installed", "not_installed"])
@pytest.mark.parametrize("run_from", ["the_parent", "elsewhere"])
def test_a_script_beside_a_clone_called_whet_finds_the_package(
        beside_the_clone, flags, paths, run_from, tmp_path):
    script = beside_the_clone / "script.py"
    out = subprocess.run(
        [sys.executable, *flags, script], capture_output=True, text=True,
        cwd=beside_the_clone if run_from == "the_parent" else tmp_path,
        env={**os.environ, **paths})
    assert out.returncode == 0, out.stderr
    clone = beside_the_clone / "whet"
    assert [pathlib.Path(line).relative_to(clone).as_posix() for line in out.stdout.split()] == [
        "runtime/__init__.py", "jit/__init__.py", "ir/__init__.py", "passes/__init__.py",
        "runtime/nn/__init__.py"]


def test_a_clone_of_another_name_is_no_package(beside_the_clone, tmp_path):
    (tmp_path / "sharp").mkdir()
    shutil.copy(ROOT / "__init__.py", tmp_path / "sharp")
    shutil.copy(ROOT / "pyproject.toml", tmp_path / "sharp")
    program = "import sharp, sys; assert 'whet' not in sys.modules"
    subprocess.run([sys.executable, "-S", "-c", program], cwd=tmp_path, check=True)
