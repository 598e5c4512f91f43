"""Measures the code of the project: long files, long functions, functions of many branches, lines
over 100 columns.

    python -m tests.project.code_sizes            # what is larger than it may be, worst first
    python -m tests.project.code_sizes --write    # shorten the list of exceptions to what is needed

`sizes_of_code.json` beside this file lists the exceptions. `--write` lowers its figures and drops
entries; it never raises one, and adds none. Long lines are counted by folder, so that code can
move.
"""
import argparse
import ast
import json
import pathlib
from collections.abc import Iterator

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
LIST = HERE / "sizes_of_code.json"
FOLDERS = ("runtime", "jit", "ir", "passes", "stubs", "tests", "benchmarks", "examples")
FILE_LINES, JIT_FILE_LINES, FUNCTION_LINES, BRANCHES, COLUMNS = 600, 400, 50, 25, 100
BRANCH = (ast.If, ast.IfExp, ast.For, ast.While, ast.ExceptHandler, ast.match_case)
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
Sizes = dict[str, dict[str, int]]


def functions(node: ast.AST,
              name: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every function beneath a node, with its name: `Class.method.inner`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (*FUNCTION, ast.ClassDef)):
            inner = f"{name}.{child.name}" if name else child.name
            if isinstance(child, FUNCTION):
                yield inner, child
            yield from functions(child, inner)
        elif not isinstance(child, ast.expr):
            yield from functions(child, name)


def branches(function: ast.AST) -> int:
    """The branches of a function, without those of functions inside of it."""
    inside = [c for c in ast.iter_child_nodes(function) if not isinstance(c, FUNCTION)]
    return sum(isinstance(c, BRANCH) + branches(c) for c in inside)


def limit(kind: str, path: str) -> int:
    """How much of a kind a file, or a function of it, may have."""
    if kind == "file lines":
        return JIT_FILE_LINES if path.startswith("jit/") else FILE_LINES
    return {"function lines": FUNCTION_LINES, "branches": BRANCHES}[kind]


def measured() -> Sizes:
    """What is over its limit now: kind -> place -> size."""
    sizes: Sizes = {"file lines": {}, "function lines": {}, "branches": {}, "long lines": {}}

    def note(kind: str, path: str, place: str, size: int) -> None:
        if size > limit(kind, path):
            sizes[kind][place] = max(size, sizes[kind].get(place, 0))
    for file in sorted(f for folder in FOLDERS for f in (ROOT / folder).rglob("*.py")):
        path, text = file.relative_to(ROOT).as_posix(), file.read_text()
        lines = text.splitlines()
        note("file lines", path, path, len(lines))
        folder = path.partition("/")[0]
        long = sum(len(line) > COLUMNS for line in lines)
        sizes["long lines"][folder] = sizes["long lines"].get(folder, 0) + long
        for name, function in functions(ast.parse(text)):
            start = min([function.lineno, *(d.lineno for d in function.decorator_list)])
            note("function lines", path, f"{path}:{name}", (function.end_lineno or 0) - start + 1)
            note("branches", path, f"{path}:{name}", branches(function))
    return sizes


def listed() -> Sizes:
    """The exceptions."""
    sizes: Sizes = json.loads(LIST.read_text())
    return sizes


def shortened(now: Sizes, before: Sizes) -> Sizes:
    """The exceptions that are still needed, none larger than before."""
    return {
        kind: {
            place: min(size, now[kind][place]) for place, size in places.items()
            if place in now[kind]} for kind, places in before.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--write", action="store_true", help="shorten the list of exceptions")
    now = measured()
    if parser.parse_args().write:
        LIST.write_text(json.dumps(shortened(now, listed()), indent=1, sort_keys=True) + "\n")
        return
    for kind, places in now.items():
        print(f"{kind}: {len(places)}")
        for place, size in sorted(places.items(), key=lambda p: -p[1]):
            print(f"  {size:5}  {place}")


if __name__ == "__main__":
    main()
