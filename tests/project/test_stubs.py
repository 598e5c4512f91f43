"""The stubs are those of the live modules, and a user's script is checked against them."""
import ast
import importlib
import inspect
import os
import pathlib
import runpy
import shutil
import subprocess
import sys
import tomllib

import pytest
import whet

from stubs import files, names

ROOT = pathlib.Path(__file__).parents[2]
TYPED = ROOT / "tests" / "typed"


def test_the_stubs_are_what_the_command_writes():
    assert files.differences(files.every()) == [], "python -m stubs writes them anew"


@pytest.fixture(scope="module")
def said_by_mypy(tmp_path_factory):
    """mypy's errors in the two scripts: (file, line) of each."""
    cache = tmp_path_factory.mktemp("mypy")
    command = [
        sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={cache}",
        TYPED / "script.py", TYPED / "wrong.py"]
    out = subprocess.run(command, env={**os.environ, "MYPYPATH": str(ROOT / "stubs")},
                         capture_output=True, text=True, cwd=ROOT).stdout
    found = [line.split(":", 2) for line in out.splitlines() if ": error:" in line]
    return {(pathlib.Path(file).name, int(line)) for file, line, _ in found}


def marked():
    return {("wrong.py", i)
            for i, line in enumerate((TYPED / "wrong.py").read_text().splitlines(), 1)
            if line.endswith("# wrong")}


def test_mypy_finds_nothing_in_a_users_script_and_every_mistake_in_another(said_by_mypy):
    assert said_by_mypy == marked() and len(marked()) > 15


@pytest.mark.skipif(
    shutil.which("pyright") is None, reason="pyright needs node, and is asked where it is there")
def test_pyright_says_the_same(tmp_path):
    (tmp_path / "pyrightconfig.json").write_text(
        f'{{"include": ["."], "stubPath": "{ROOT / "stubs"}", "reportMissingModuleSource": false}}')
    for name in ("script.py", "wrong.py"):
        shutil.copy(TYPED / name, tmp_path)
    out = subprocess.run(["pyright", "-p", tmp_path], capture_output=True, text=True).stdout
    found = {(pathlib.Path(line.split(":")[0]).name, int(line.split(":")[1]))
             for line in out.splitlines() if " - error" in line}
    assert found == marked()


def test_the_users_script_runs():
    assert runpy.run_path(str(TYPED / "script.py"))["main"]() > 0.8


def test_every_package_is_installed_and_the_stubs_with_their_marker():
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    places = {"whet": "runtime", **{f"whet.{d}": d for d in ("jit", "ir", "passes")}}
    packages = {
        ".".join([name, *p.parent.relative_to(ROOT / folder).parts])
        for name, folder in places.items() for p in (ROOT / folder).rglob("__init__.py")}
    stubs = {
        ".".join(["whet-stubs", *p.parent.relative_to(files.HERE).parts])
        for p in files.HERE.rglob("*.pyi")}
    assert set(setup["packages"]) == packages | stubs
    assert (setup["package-dir"]["whet-stubs"] == "stubs/whet"
            and set(setup["package-data"]["*"]) == {"py.typed", "*.pyi"})
    assert ((ROOT / "runtime" / "py.typed").exists()
            and (files.HERE / "py.typed").read_text() == "partial\n")


def declared(name):
    """The functions of a stub: name -> its definitions."""
    path = files.path_of(name, {"whet", "whet.nn"})
    found: dict = {}
    for node in ast.parse((files.HERE / path).read_text()).body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(node)
    return found


@pytest.mark.parametrize("name",
                         ["whet", "whet.nn.functional", "whet.linalg", "whet.special", "whet.fft"])
def test_stubs_help_and_signatures_agree(name):
    module = importlib.import_module(name)
    for fn, variants in declared(name).items():
        live = getattr(module, fn)
        for node in variants if len(variants) == 1 else ():
            shown = [
                a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            expected = [
                p.name for p in inspect.signature(live).parameters.values()
                if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
            assert shown == expected, fn
    public = {n for n, x in names.offered(name).items() if inspect.isroutine(x)}
    assert public == declared(name).keys()


KINDS = {
    "Tensor": whet.Tensor, "bool": bool, "_bool": bool, "int": int, "_int": int, "Size": whet.Size,
    "dtype": whet.dtype, "Self": whet.Tensor}


def fits(x, result):
    """Is this a result of the declared type, as far as it is one of tensors and simple things?"""
    text = ast.unparse(result)
    if text in KINDS:
        return isinstance(x, KINDS[text])
    if text.startswith("tuple[Tensor"):
        tensors = isinstance(x, tuple | list) and all(isinstance(t, whet.Tensor) for t in x)
        return tensors and (text.endswith("...]") or len(x) == text.count("Tensor"))
    kind = getattr(whet.return_types, text.lstrip("_"), None)
    return kind not in whet.return_types.all_return_types or type(x) is kind


ARGUMENTS = {
    "Tensor": lambda: whet.rand(3, 3) + 0.5, "Scalar": lambda: whet.rand(3, 3), "Number": lambda: 1,
    "float": lambda: 1.0, "_float": lambda: 1.0, "int": lambda: 1, "_int": lambda: 1,
    "Dims": lambda: 0, "Ints": lambda: 1, "Shape": lambda: (3, 3),
    "Sequence[Tensor]": lambda: [whet.eye(3)] * 2}


def tried(fn, node, first=0):
    """The result of the function for plain arguments, from the parameter `first` on; nothing
    where it wants something else."""
    args = (node.args.posonlyargs + node.args.args)[first:]
    needed = args[:max(len(args) - len(node.args.defaults), 0)]
    texts = [ast.unparse(a.annotation) for a in needed if a.annotation is not None]
    if (len(texts) == len(needed) and all(t in ARGUMENTS for t in texts)
            and not any(d is None for d in node.args.kw_defaults)):
        try:
            yield fn(*[ARGUMENTS[t]() for t in texts])
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
            pass


@pytest.mark.parametrize("name",
                         ["whet", "whet.nn.functional", "whet.linalg", "whet.special", "whet.fft"])
def test_results_are_of_the_declared_types(name):
    module, count = importlib.import_module(name), 0
    skipped = {"set_num_threads", "set_default_dtype", "manual_seed", "seed"}
    for fn, variants in declared(name).items():
        for node in variants:
            for result in tried(getattr(module, fn), node) if fn not in skipped else ():
                count += 1
                assert fits(result, node.returns), (fn, type(result), ast.unparse(node.returns))
    assert (count > {
        "whet": 400, "whet.nn.functional": 50, "whet.linalg": 25, "whet.special": 40,
        "whet.fft": 18}[name])


def test_results_of_methods_are_of_the_declared_types():
    tensor = next(n for n in ast.parse((files.HERE / "tensor.pyi").read_text()).body
                  if getattr(n, "name", "") == "Tensor")
    count = 0
    for node in tensor.body:
        setter = any("setter" in ast.unparse(d) for d in getattr(node, "decorator_list", ()))
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("__") and not setter:
            x = whet.rand(3, 3)
            is_property = any(ast.unparse(d) == "property" for d in node.decorator_list)
            fn = ((lambda x=x, name=node.name: getattr(x, name)) if is_property else getattr(
                x, node.name))
            for result in tried(fn, node, first=1):
                count += 1
                assert fits(result,
                            node.returns), (node.name, type(result), ast.unparse(node.returns))
    assert count > 350


def test_a_parameter_without_a_type_is_named(monkeypatch):
    def strange(input, gizmo): ...
    strange.__module__ = "whet.special"
    monkeypatch.setattr("whet.special.strange", strange, raising=False)
    with pytest.raises(SystemExit, match="strange.gizmo"):
        files.every()
