"""The stub files as a whole: made, compared, written."""
from pathlib import Path

from .module import stub
from .names import rooms
from .signatures import UNKNOWN

HERE = Path(__file__).parent / "whet"


def path_of(name, packages):
    """The file of the module `whet.nn.linear`: `nn/linear.pyi`."""
    parts = name.split(".")[1:]
    return Path(*parts, "__init__.pyi") if name in packages else Path(*parts).with_suffix(".pyi")


def every():
    """The text of each stub, by its path beneath `stubs/whet`."""
    modules = rooms()
    packages = {name.rpartition(".")[0] for name in modules} | {"whet"}
    files = {path_of(name, packages): stub(module, modules) for name, module in modules.items()}
    if UNKNOWN:
        raise SystemExit("no type is known for (see stubs/vocabulary.py and stubs/results.py):\n"
                         + "\n".join(sorted(set(UNKNOWN))))
    for package in packages - modules.keys() - {""}:
        files[path_of(package, packages)] = ""
    # modules without a stub are read from their source
    files[Path("py.typed")] = "partial\n"
    return files


def differences(files):
    """The paths at which something else lies than what belongs there."""
    there = {p.relative_to(HERE) for p in HERE.rglob("*") if p.is_file() and p.suffix != ".pyc"}
    return sorted(p for p in there | files.keys()
                  if p not in files or p not in there or (HERE / p).read_text() != files[p])


def write(files):
    """Write what differs; remove what does not belong there."""
    for path in differences(files):
        if path in files:
            (HERE / path).parent.mkdir(parents=True, exist_ok=True)
            (HERE / path).write_text(files[path])
        else:
            (HERE / path).unlink()
