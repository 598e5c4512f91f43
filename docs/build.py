"""The documents, and a reference of all that is public, as a site: `make docs`.

Pages and links are the files' own: the documents lie in the site as they lie here. The order of
the menu is that of the table in the README, the reference is made of the live modules.
"""
import argparse
import importlib
import inspect
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
README = ROOT / "README.md"              # the first page of the site
sys.path.insert(0, str(ROOT))
import whet

from stubs import names

LINK = re.compile(r"\]\(([^)#:\s]+)([^)\s]*)\)")
PUBLISHED = "*.md", "LICENSE", "docs/*.md", "examples/**/*", "benchmarks/results/*.md"
# what Sphinx is told; its own files of settings are not needed
SETTINGS = {"project": "whet", "extensions": "myst_parser",
            "html_theme": "furo", "html_title": "whet", "html_show_sphinx": 0,
            "html_copy_source": 0, "myst_heading_anchors": 3, "pygments_style": "friendly"}


def documents(source):
    """Copy what is published; a link to a folder leads to a page that lists it."""
    for pattern in PUBLISHED:
        for file in ROOT.glob(pattern):
            if file.is_file() and "__pycache__" not in file.parts:
                to = source / ("index.md" if file == README else file.relative_to(ROOT))
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, to)
    for page in sorted(source.rglob("*.md")):
        def whole(m, page=page):
            folder = page.parent / m[1]
            return f"]({m[1].rstrip('/')}/{listed(folder)})" if folder.is_dir() else m[0]
        page.write_text(LINK.sub(whole, page.read_text("utf-8")), "utf-8")


def listed(folder):
    """The name of the page that a folder has, which is made where there is none."""
    if not any((folder / name).exists() for name in ("README.md", "index.md")):
        files = sorted(p.name for p in folder.iterdir())
        (folder / "index.md").write_text(
            "\n".join([f"# {folder.name}", "", *(f"- [{name}]({name})" for name in files)]))
    return "README.md" if (folder / "README.md").exists() else "index.md"


def modules():
    """The modules that have stubs, and what else `import whet` leads to."""
    led_to = [getattr(whet, name) for name in sorted(whet._LAZY) if not name.startswith("_")]
    return dict.fromkeys([*names.PUBLIC, *(m.__name__ for m in led_to if inspect.ismodule(m))])


def reference(source):
    """Write a page for each public module."""
    (source / "reference").mkdir()
    for module in modules():
        said = [f"# {module}", prose(importlib.import_module(module).__doc__)]
        for name, x in names.offered(module).items():
            said += [f"## {name}", entry(name, x)]
            if isinstance(x, type) and names.is_ours(x):
                said += [f"### {name}.{m}\n\n{entry(m, f)}" for m, f in sorted(vars(x).items())
                         if not m.startswith("_") and inspect.isroutine(f) and f.__doc__]
        (source / "reference" / f"{module}.md").write_text("\n\n".join(said) + "\n", "utf-8")


def entry(name, x):
    """How something is called, and what it says of itself."""
    try:
        head = f"{name}{inspect.signature(x)}"
        head = f"```{'text' if '<' in head else 'python'}\n{head}\n```\n\n"
    except (TypeError, ValueError):
        head = ""
    said = x.__doc__ if isinstance(x, type) or inspect.isroutine(x) else f"`{x!r}`"
    return head + prose(said)


def prose(doc):
    """A docstring as Markdown: examples are programs, and nothing but code is marked."""
    out, within = [], False
    for line in inspect.cleandoc(doc or "").split("\n"):
        begins = line.startswith(">>>")
        if begins and not within or within and not line.strip():
            out.append("```pycon" if begins else "```")
            within = begins
        out.append(line if within or line.startswith("    ") else plain(line))
    return "\n".join([*out, *(["```"] if within else [])])


def plain(line):
    """Letters that mean something in Markdown mean themselves, but in code."""
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(p if i % 2 else re.sub(r"([\\*_<\[\]#$])", r"\\\1", p)
                   for i, p in enumerate(parts))


def menu(source):
    """The documents in the order of the README's table, what else there is, and the reference."""
    every = sorted(p.relative_to(source).as_posix() for p in source.rglob("*.md"))
    links = [m[1] for m in LINK.finditer((source / "index.md").read_text("utf-8"))]
    told = [link for link in dict.fromkeys(links) if link in every]
    documents = told + [p for p in every if p.startswith("docs/") and p not in told]
    reference = [p for p in every if p.startswith("reference/")]
    more = [p for p in every if p not in {"index.md", *documents, *reference}]
    return "".join(
        "\n```{toctree}\n:hidden:\n:caption: %s\n\n%s\n```\n" % (title, "\n".join(pages))
        for title, pages in (
            ("Documents", documents), ("Reference", reference), ("Figures and more", more)))


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--to", type=pathlib.Path, default=ROOT / "build" / "docs")
    to = options.parse_args().to.resolve()
    shutil.rmtree(to, ignore_errors=True)
    source = to / "source"
    documents(source)
    reference(source)
    with open(source / "index.md", "a", encoding="utf-8") as first:
        first.write(menu(source))
    told = [word for name, value in SETTINGS.items() for word in ("-D", f"{name}={value}")]
    command = [sys.executable, "-m", "sphinx", "-C", "-q", "-W", "--keep-going", *told]
    code = subprocess.run([*command, source, to / "site"]).returncode
    print("the site has faults" if code else to / "site" / "index.html")
    return code


if __name__ == "__main__":
    sys.exit(main())
