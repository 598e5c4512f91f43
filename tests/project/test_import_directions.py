"""The folders depend on each other in one direction only."""
import functools
import pathlib

from tests.project import import_circles, statements

ROOT = pathlib.Path(__file__).parents[2]
# folder -> the folders that it may import at all, and those it may import only inside functions
# loaded when first needed
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
    found = []
    folder = path.relative_to(ROOT).parts[0]
    package = "whet" if folder == "runtime" else f"whet.{folder}"
    parts = path.relative_to(ROOT / folder).with_suffix("").parts
    own = [package, *parts[:-1]] if parts[-1] != "__init__" or len(parts) > 1 else [package]
    for one in statements.imports(path):
        if one.level is None:
            found += [(name, one.in_function) for name in one.names]
        else:
            base = ".".join(own).split(".")
            base = base[:len(base) - one.level + 1] if one.level else []
            source = ".".join([*base, *([one.module] if one.module else [])])
            found.append((source, one.in_function))
            found += [(f"{source}.{name}", one.in_function) for name in one.names]
    return found


def folder_of(module):
    for prefix, folder in PACKAGES.items():
        if module == prefix or module.startswith(prefix + "."):
            return folder
    return "runtime" if module == "whet" or module.startswith("whet.") else None


FILES = sorted(p for f in ALLOWED for p in (ROOT / f).rglob("*.py") if "__pycache__" not in p.parts)


def imports_of_all():
    """(file, module, is it inside a function) of every import."""
    return [(path, module, inside) for path in FILES for module, inside in imported(path)]


def points_backwards(path, module, inside):
    """Does an import lead where its folder must not depend on anything?"""
    me, to = path.relative_to(ROOT).parts[0], folder_of(module)
    always, lazily = ALLOWED[me]
    if to in (None, me) or to in always or (inside and to in lazily):
        return False
    # the name of the parent on the way to something allowed
    if module in ("whet", "whet.ir", "whet.passes", "whet.jit"):
        return False
    return to != "passes" or not any(
        str(path.relative_to(ROOT)).startswith(d) for d in REACH_THE_COMPILER)


def test_imports_point_one_way():
    assert len(FILES) > 1000
    wrong = [f"{path.relative_to(ROOT)} imports {module}: "
             f"{path.relative_to(ROOT).parts[0]} must not depend on {folder_of(module)}"
             for path, module, inside in imports_of_all() if points_backwards(path, module, inside)]
    assert not wrong, "\n".join(wrong)


def test_no_peer_is_imported():
    wrong = [f"{path} imports {module}" for path, module, _ in imports_of_all()
             if module.split(".")[0] in ("torch", "jax", "tensorflow", "onnxruntime")]
    assert not wrong, "\n".join(wrong)


def test_triton_is_imported_by_its_lowering_alone_and_late():
    wrong = [f"{path} imports {module}" for path, module, inside in imports_of_all()
             if module.split(".")[0] == "triton" and not (inside and "lower_triton" in path.parts)]
    assert not wrong, "\n".join(wrong)


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
