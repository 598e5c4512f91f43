"""Finds circles of imports; those inside of functions count too.

    python -m tests.project.import_circles            # the circles
    python -m tests.project.import_circles --write    # drop exceptions that are not needed

`import_circles.json` beside this file lists the imports that still point backwards. `--write` adds
none.
"""
import argparse
import functools
import json
import pathlib
from collections.abc import Iterator

import networkx as nx

from tests.project import statements

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
LIST = HERE / "import_circles.json"
FOLDERS = {"ir": "whet.ir", "passes": "whet.passes", "jit": "whet.jit", "runtime": "whet"}


def modules() -> dict[str, pathlib.Path]:
    """Every module of the project, by its name."""
    found = {}
    for folder, package in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join([package, *(p for p in parts if p != "__init__")])] = path
    return found


def imports(module: str, path: pathlib.Path, known: dict[str, pathlib.Path]) -> Iterator[str]:
    """The modules of the project that a module imports anywhere as it runs."""
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for one in statements.imports(path):
        if one.for_types_alone:
            continue
        if one.level is None:
            yield from (name for name in one.names if name in known)
        else:
            base = package[:len(package) - one.level + 1] if one.level else []
            source = ".".join([*base, *([one.module] if one.module else [])])
            for name in one.names:
                full = f"{source}.{name}"
                if full in known or source in known:
                    yield full if full in known else source


@functools.cache
def _imports_of_all() -> list[tuple[str, str]]:
    known = modules()
    return [(name, other) for name, path in known.items()
            for other in imports(name, path, known) if other != name]


def graph() -> "nx.DiGraph[str]":
    """Which module imports which."""
    return nx.DiGraph(_imports_of_all())


def circles(g: "nx.DiGraph[str]") -> list[list[str]]:
    """Modules that lead back to themselves, those of one circle together."""
    return [sorted(c) for c in nx.strongly_connected_components(g) if len(c) > 1]


def listed() -> list[tuple[str, str]]:
    """The imports that still point backwards."""
    return [tuple(line.split(" -> ")) for line in json.loads(LIST.read_text())]


def needed(g: "nx.DiGraph[str]", exceptions: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The exceptions without which there would be a circle."""
    forward = nx.DiGraph(g)
    forward.remove_edges_from(exceptions)
    return [(a, b) for a, b in exceptions if g.has_edge(a, b) and nx.has_path(forward, b, a)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--write", action="store_true", help="drop exceptions that are not needed")
    g = graph()
    if parser.parse_args().write:
        lines = [f"{a} -> {b}" for a, b in needed(g, listed())]
        LIST.write_text(json.dumps(lines, indent=1) + "\n")
        return
    for circle in circles(g):
        print(len(circle), " ".join(circle))


if __name__ == "__main__":
    main()
