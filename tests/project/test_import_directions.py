"""The folders depend on each other in one direction only."""
import ast
import functools
import pathlib

import pytest

from tests.project import import_circles

ROOT = pathlib.Path(__file__).parents[2]
# folder -> the folders that it may import at all, and those it may import only inside functions
# (loaded when first needed)
ALLOWED = {
    "ir": (set(), {"runtime"}),
    "passes": ({"ir"}, {"runtime"}),
    "jit": ({"passes", "ir", "runtime"}, set()),
    "runtime": ({"ir"}, set())}
# the only runtime files that may reach the compiler
REACH_THE_COMPILER = {"runtime/cpu", "runtime/cuda", "runtime/optim"}
PACKAGES = {"whet.ir": "ir", "whet.passes": "passes", "whet.jit": "jit"}


@functools.cache
def imported(path):
    """(module, is it inside a function) of every import in a file, made absolute."""
    tree, found = ast.parse(path.read_text()), []
    folder = path.relative_to(ROOT).parts[0]
    package = "whet" if folder == "runtime" else f"whet.{folder}"
    parts = path.relative_to(ROOT / folder).with_suffix("").parts
    own = [package, *parts[:-1]] if parts[-1] != "__init__" or len(parts) > 1 else [package]
    inside = {
        id(n) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef)
        for n in ast.walk(f)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(a.name, id(node) in inside) for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(own).split(".")
            base = base[:len(base) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            found.append((name, id(node) in inside))
            found += [(f"{name}.{a.name}", id(node) in inside) for a in node.names]
    return found


def folder_of(module):
    for prefix, folder in PACKAGES.items():
        if module == prefix or module.startswith(prefix + "."):
            return folder
    return "runtime" if module == "whet" or module.startswith("whet.") else None


FILES = sorted(p for f in ALLOWED for p in (ROOT / f).rglob("*.py") if "__pycache__" not in p.parts)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way(path):
    me = path.relative_to(ROOT).parts[0]
    always, lazily = ALLOWED[me]
    for module, inside in imported(path):
        to = folder_of(module)
        if to in (None, me) or to in always or (inside and to in lazily):
            continue
        # the name of the parent on the way to something allowed
        if module in ("whet", "whet.ir", "whet.passes", "whet.jit"):
            continue
        may_reach = to == "passes" and any(
            str(path.relative_to(ROOT)).startswith(d) for d in REACH_THE_COMPILER)
        assert may_reach, f"{path.relative_to(ROOT)} imports {module}: {me} must not depend on {to}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_peer_is_imported(path):
    for module, _ in imported(path):
        assert (module.split(".")[0]
                not in ("torch", "jax", "tensorflow", "onnxruntime")), f"{path} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_triton_is_imported_by_its_lowering_alone_and_late(path):
    for module, inside in imported(path):
        assert (module.split(".")[0] != "triton"
                or inside and "lower_triton" in path.parts), f"{path} imports {module}"


def test_op_files_know_no_target():
    for path in sorted((ROOT / "runtime" / "ops").rglob("*.py")):
        for module, _ in imported(path):
            assert module.split(".")[0] not in ("llvmlite", "triton"), f"{path} imports {module}"


def test_no_new_circles_of_imports():
    g = import_circles.graph()
    g.remove_edges_from(import_circles.listed())
    assert (not import_circles.circles(g)
            ), "these modules import each other: let one of them not know the other"


def test_an_import_backwards_that_is_not_needed_is_not_listed():
    g, listed = import_circles.graph(), import_circles.listed()
    spare = set(listed) - set(import_circles.needed(g, listed))
    assert not spare, "run `python -m tests.project.import_circles --write`"
