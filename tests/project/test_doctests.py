"""Every example in a docstring runs and prints what it says."""
import ast
import doctest
import pathlib

import pytest

from tests.project import statements

ROOT = pathlib.Path(__file__).parents[2]


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


FOUND = list(examples())


def test_there_are_examples():
    assert len(FOUND) > 50


@pytest.mark.parametrize("path, name, doc, line", FOUND, ids=[f"{p}:{n}" for p, n, _, _ in FOUND])
def test_example(path, name, doc, line):
    test = doctest.DocTestParser().get_doctest(doc, {}, name, str(path), line)
    out = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(test, out=out.append)
    assert runner.failures == 0, "".join(out)
