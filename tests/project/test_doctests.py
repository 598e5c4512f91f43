"""Every example in a docstring runs and prints what it says."""
import ast
import contextlib
import doctest
import importlib
import inspect
import pathlib

import pytest
import whet
from whet.cuda import device_state
from whet.cuda.simulated.driver import SimulatedDriver

from tests.project import statements

ROOT = pathlib.Path(__file__).parents[2]
# spaces whose functions are made from statements, and get docstrings of them
MADE = """whet whet.special whet.linalg whet.nn whet.nn.functional whet.nn.init whet.sparse
    whet.array_api""".split()


def examples():
    """(file, name, docstring, line) of every docstring with an example."""
    for folder in ("runtime", "ir", "passes", "jit"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text()
            if ">>>" not in text:
                continue
            tree = statements.tree(text)
            for node in [tree, *statements.below(tree)]:
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                    doc = ast.get_docstring(node)
                    if doc and ">>>" in doc:
                        yield (path.relative_to(ROOT), getattr(node, "name", "module"), doc,
                               getattr(node, "lineno", 1))


def made_examples():
    """(name, docstring) of every docstring with an example that stands in no file."""
    written = {inspect.cleandoc(doc) for _, _, doc, _ in FOUND}
    spaces = [importlib.import_module(name) for name in MADE]
    for space in [*spaces, whet.Tensor]:
        for name, found in vars(space).items():
            doc = inspect.getdoc(found) if callable(found) else None
            if doc and ">>>" in doc and doc not in written:
                written.add(doc)
                yield f"{space.__name__}.{name}", doc


FOUND = list(examples())
MADE_FOUND = list(made_examples())


def test_there_are_examples():
    assert len(FOUND) > 50 and len(MADE_FOUND) > 300


@pytest.mark.parametrize("form, call", [
    (whet.exp, "whet.exp(whet.tensor([0., 1.]))"),
    (whet.Tensor.exp, "whet.tensor([0., 1.]).exp()"),
    (whet.Tensor.exp_, "whet.tensor([0., 1.]).exp_()")])
def test_an_op_shows_its_example_in_each_of_its_forms(form, call):
    assert f"\n>>> {call}\ntensor([1.0000, 2.7183])" in inspect.getdoc(form)


@pytest.mark.parametrize("path, name, doc, line", FOUND, ids=[f"{p}:{n}" for p, n, _, _ in FOUND])
def test_example(path, name, doc, line):
    # where there is no GPU, what is said of one is tried on a simulated one
    on_device = "cuda" in path.parts
    if on_device:
        pytest.importorskip("triton")
    with device_state.use(SimulatedDriver()) if on_device else contextlib.nullcontext():
        check(doc, name, str(path), line)


@pytest.mark.parametrize("name, doc", MADE_FOUND, ids=[name for name, _ in MADE_FOUND])
def test_made_example(name, doc):
    check(doc, name, "", 1)


def check(doc, name, path, line):
    """Run the examples of a docstring."""
    test = doctest.DocTestParser().get_doctest(doc, {}, name, path, line)
    out = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(test, out=out.append)
    assert runner.failures == 0, "".join(out)
