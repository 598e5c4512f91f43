"""Docstrings are read alone, in an editor or by `help()`: none begins by pointing at the one above
it in the file, as "The same in place." does."""
import ast
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
FOLDERS = ("ir", "jit", "passes", "runtime")
# "The same as `f`" names what it points at, and "the same memory without history" points nowhere
POINTS_AT_THE_ONE_ABOVE = re.compile(
    r"The same([,.:;]| (as|by|counted|for|from|in|like|of|where|with|without)\b(?! `))"
    r"|(Those|That|These) of |Of |As before|And |Its \w+\.$")


def leaning(source: str) -> list[str]:
    """Names of functions and classes whose docstrings need the one above."""
    found = [n for n in ast.walk(ast.parse(source))
             if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    return [n.name for n in found if POINTS_AT_THE_ONE_ABOVE.match(ast.get_docstring(n) or "")]


def test_a_docstring_that_leans_on_another_is_seen():
    shown = '''
def doubled(x):
    """x twice."""
def doubled_(x):
    """The same in place."""
def again(x):
    """The same as `doubled`."""
'''
    assert leaning(shown) == ["doubled_"]


def test_docstrings_stand_alone():
    files = [f for folder in FOLDERS for f in sorted((ROOT / folder).rglob("*.py"))]
    assert len(files) > 500
    found = {str(f.relative_to(ROOT)): leaning(f.read_text()) for f in files}
    assert not {f: names for f, names in found.items() if names}
