"""The site of documents and reference (`make docs`)."""
import importlib.util
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def build():
    spec = importlib.util.spec_from_file_location("build_of_docs", ROOT / "docs" / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_has_an_entry(build, tmp_path):
    build.reference(tmp_path)
    page = (tmp_path / "reference" / "whet.md").read_text()
    assert "## relu\n\n```python\nrelu(" in page and "### Tensor.tolist\n" in page
    for module in ("whet.nn", "whet.profiler", "whet.models"):
        assert (tmp_path / "reference" / f"{module}.md").exists()


def test_docstrings_read_as_markdown(build):
    """Examples are programs, letters that Markdown would take are themselves."""
    said = build.prose("""`a_b` of __array__, *args and <b>.

        >>> x = 1
        >>> x
        1

        After it.""")
    assert said == (
        "`a_b` of \\_\\_array\\_\\_, \\*args and \\<b>.\n\n```pycon\n>>> x = 1\n>>> x\n1\n```\n\n"
        "After it.")


def test_links_to_folders_lead_to_lists_of_them(build, tmp_path):
    build.documents(tmp_path)
    assert "(benchmarks/results/index.md)" in (tmp_path / "index.md").read_text()
    listed = (tmp_path / "benchmarks" / "results" / "index.md").read_text()
    assert "[accuracy.md](accuracy.md)" in listed


def test_the_site_has_no_faults(tmp_path):
    for package in ("sphinx", "furo", "myst_parser"):
        pytest.importorskip(package, reason="the extra `docs` is not installed")
    out = subprocess.run([sys.executable, ROOT / "docs" / "build.py", "--to", tmp_path / "to"],
                         capture_output=True, text=True)
    assert out.returncode == 0, out.stdout + out.stderr
    assert "relu" in (tmp_path / "to" / "site" / "reference" / "whet.html").read_text()
