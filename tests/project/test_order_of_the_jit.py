"""The packages of `jit/` are in one order: each imports only from those before it."""
import pathlib

from tests.project import import_circles

JIT = pathlib.Path(__file__).parents[2] / "jit"
# the modules of `export/` that libraries import; all others may import libraries
UNDER_LIBRARIES = ["unused_names", "layouts", "errors", "dims", "size_formulas", "sized_graph"]
# from what knows nothing of the others to what knows them all
ORDER = [
    "clocks", "values", "errors", "machine_code", "refusals", "stand_ins", "program", "guards",
    "tables", "capture", "gradient", "effects", "verify", "policy", "report", "replay", "dispatch",
    *(f"export.{name}" for name in UNDER_LIBRARIES), "export.library", "export", "quantize",
    "command_line"]
# what calls all of these: `trace`, `save`, and the package's own `__init__.py`
ON_TOP = {p.stem for p in JIT.glob("*.py")} - set(ORDER)
# imports that lead backwards in spite of this: a list that only shrinks
BACKWARDS: set[str] = set()


def package_of(module: str) -> str | None:
    """The part of `jit/` that a module is in, or None outside of it."""
    if module != "whet.jit" and not module.startswith("whet.jit."):
        return None
    path = module.removeprefix("whet.jit").lstrip(".").split(".")
    part = ".".join(path[:2])
    return part if part in ORDER else path[0] or "__init__"


def imports_backwards() -> set[str]:
    place = {name: i for i, name in enumerate(ORDER)}
    found = set()
    for module, other in import_circles.graph().edges:
        here, there = package_of(module), package_of(other)
        if here not in place or there is None:
            continue
        if there in ON_TOP or place[there] > place[here]:
            found.add(f"{module} -> {other}")
    return found


def test_each_package_has_its_place():
    packages = {".".join(p.parent.relative_to(JIT).parts) for p in JIT.glob("*/**/__init__.py")}
    modules = {"errors", "clocks", *(f"export.{name}" for name in UNDER_LIBRARIES)}
    assert packages | modules == set(ORDER)


def test_packages_import_only_from_those_before_them():
    found = imports_backwards()
    assert not found - BACKWARDS, f"these imports lead backwards in ORDER: {found - BACKWARDS}"
    assert not BACKWARDS - found, "what no longer leads backwards leaves the list"
