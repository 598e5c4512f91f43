"""What the documents show is there, and runs."""
import functools
import pathlib
import re

import pytest
import whet

ROOT = pathlib.Path(__file__).parents[2]
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.md")], key=str)
# what was there once stays in the changelog
READ = [path for path in DOCUMENTS if path.name != "CHANGELOG.md"]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def named(paths):
    return [str(path.relative_to(ROOT)) for path in paths]


RUN = [path for path in READ if BLOCK.search(path.read_text())]


def test_the_documents_with_programs_are_found():
    assert {"README.md", "docs/tracing.md"} <= set(named(RUN))


@pytest.mark.parametrize("path", RUN, ids=named(RUN))
def test_programs_run_in_order(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file, lines = tmp_path / "document.py", [""] * (path.read_text().count("\n") + 1)
    for block in BLOCK.finditer(path.read_text()):
        first = path.read_text()[:block.start(1)].count("\n")
        body = block[1].splitlines()
        lines[first:first + len(body)] = body
    file.write_text("\n".join(lines))
    if "import onnx" in file.read_text():
        pytest.importorskip("onnx")
    whet.manual_seed(0)
    exec(compile(file.read_text(), str(file), "exec"), {"__name__": "document"})


@pytest.mark.parametrize("path", sorted(ROOT.glob("docs/from-*.md")), ids=lambda p: p.stem)
def test_names_in_tables_for_newcomers_are_there(path):
    names = set(re.findall(r"`(?:import )?(whet(?:\.\w+)+)", path.read_text()))
    assert len(names) > 5
    for name in names:
        functools.reduce(getattr, name.split(".")[1:], whet)


def test_names_that_are_said_to_be_understood_are():
    x = whet.arange(6.0).reshape(2, 3)
    assert whet.equal(x.sum(axis=0, keepdims=True), x.sum(dim=0, keepdim=True))
    assert whet.equal(whet.concatenate([x, x], axis=1), whet.cat([x, x], dim=1))
    slope, value = whet.func.grad_and_value(lambda x: x ** 2)(whet.tensor(3.0))
    assert (slope.item(), value.item()) == (6.0, 9.0)


@pytest.mark.parametrize("path", READ, ids=named(READ))
def test_links_lead_somewhere(path):
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text()):
        assert (path.parent / link).exists(), f"{path.name}: {link}"


@pytest.mark.parametrize("path", READ, ids=named(READ))
def test_files_that_are_named_are_there(path):
    for name in set(re.findall(r"`([\w/]+/[\w]*(?:\.\w+)?)(?:: \w+)?`", path.read_text())):
        if (name.split("/")[0] in ("runtime", "jit", "ir", "passes", "tests", "docs", "stubs",
                                   "benchmarks", "examples")):
            assert (ROOT / name).exists(), f"{path.name}: {name}"
        elif name.endswith(".py"):
            assert (ROOT / "runtime" / name).exists(), f"{path.name}: runtime/{name}"


def named_in_files(text):
    """(file, name) of what a document says that a file has."""
    return [
        *re.findall(r"`([\w/]+\.py)` \(`(\w+)`\)", text),
        *[(file, name) for name, file in re.findall(r"`(\w+)` (?:in|of) `([\w/]+\.py)`", text)]]


def test_what_is_named_in_files_is_found():
    everything = [pair for path in READ for pair in named_in_files(path.read_text())]
    assert ("passes/pipeline.py", "REWRITES") in everything and len(everything) > 8


@pytest.mark.parametrize("path", READ, ids=named(READ))
def test_what_is_named_in_files_is_there(path):
    for file, name in named_in_files(path.read_text()):
        at = ROOT / file if (ROOT / file).exists() else ROOT / "runtime" / file
        assert re.search(rf"\b{name}\b", at.read_text()), f"{path.name}: {file}: {name}"


# a file of users', which is none here
OF_USERS = {"hubconf.py"}


def test_files_that_the_code_names_are_there():
    code = [path for folder in ("runtime", "ir", "passes", "jit", "stubs", "benchmarks")
            for path in (ROOT / folder).rglob("*.py")]
    # `numpy_arrays.py` is a file of any folder, `guards/places.py` one of a folder of this name
    ends = {"/".join(path.parts[-n:]) for folder in (*{p.parent for p in code}, ROOT / "tests")
            for path in folder.glob("*.*") for n in range(1, len(path.parts))}
    missing = {f"{path.relative_to(ROOT)}: {name}" for path in code
               for name in re.findall(r"(?<![\w/*.])([\w/]*\w\.(?:py|md|js))(?=[`: ,;.)\n])",
                                      path.read_text())
               if name not in ends | OF_USERS and not (ROOT / name).exists()}
    assert not missing
