"""`docs/names.md`: written from the comparison, and read again by a test."""
import collections
import pathlib
import re
import textwrap

from .compare import ABSENT, OTHER, SAME

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "names.md"
WIDTH = 100
HEAD = """# Names of PyTorch

Every public name of PyTorch {version}, namespace by namespace: what is the same here, what differs,
and what is not here. `whet` stands for `torch`. The page is written by `python -m tests.names`,
which compares names and what functions take: names, order and defaults of parameters. What they
compute is compared by `python -m tests.opinfo`. [From PyTorch](from-pytorch.md) has what matters of
it in a screen.

Public is what a namespace lists in `__all__`, or defines. Functions and classes of C++ of which
PyTorch's documentation says nothing are left out ({silent} of them are not here): kernels of one
library, parts of TorchScript's compiler.

| namespace | same | differs | not here |
|---|---|---|---|
{counts}
"""
COUNTS = "| {} | {} | {} | {} |"


def write(found, silent, version):
    """Write the page: `found` is {namespace: [(name, status, how or why)]}."""
    unexplained = [f"{space}.{name}" for space, rows in found.items()
                   for name, status, said in rows if status == ABSENT and not said]
    if unexplained:
        raise SystemExit("no reason is given (tests/names/reasons.py) for " + " ".join(unexplained))
    lines = [COUNTS.format(f"`{space}`", *counts(rows)) for space, rows in found.items()]
    everything = [row for rows in found.values() for row in rows]
    lines.append(COUNTS.format("all", *counts(everything)))
    text = HEAD.format(version=version.split("+")[0], counts="\n".join(lines),
                       silent=sum(map(len, silent.values())))
    PAGE.write_text("\n".join([text, *map(section, found, found.values())]), "utf-8")


def counts(rows):
    """How many names are the same, differ, and are not here."""
    number = collections.Counter(status for _, status, _ in rows)
    return number[SAME], number[OTHER], number[ABSENT]


def section(space, rows):
    """A namespace: its names that are the same, then tables of the others."""
    same = [f"`{name}`" for name, status, _ in rows if status == SAME]
    parts = [f"## {space}\n"]
    if same:
        parts.append(textwrap.fill("Same: " + " ".join(same), WIDTH, break_on_hyphens=False,
                                   break_long_words=False) + "\n")
    for status, title in ((OTHER, "differs"), (ABSENT, "not here")):
        said = collections.defaultdict(list)
        for name, its, why in rows:
            if its == status:
                said[why].append(f"`{name}`")
        if said:
            parts.append(f"| {title} | |\n|---|---|")
            parts += [f"| {' '.join(names)} | {why} |" for why, names in said.items()]
            parts[-1] += "\n"
    return "\n".join(parts)


def read(text):
    """{namespace: [(name, status)]} of a page, and {namespace: counts} of its first table."""
    told = {m[1]: tuple(map(int, m.groups()[1:])) for m in re.finditer(
        r"^\| `?([\w.]+)`? \| (\d+) \| (\d+) \| (\d+) \|$", text, re.MULTILINE)}
    found = {}
    for part in text.split("\n## ")[1:]:
        space, _, body = part.partition("\n")
        same = re.search(r"^Same: ((?:`\w+`\s+)+)", body + "\n", re.MULTILINE)
        rows = [(name, SAME) for name in re.findall(r"`(\w+)`", same[1] if same else "")]
        for title, table in re.findall(r"^\| (differs|not here) \| \|\n\|---\|---\|\n((?:\|.*\n)+)",
                                       body + "\n", re.MULTILINE):
            for line in table.splitlines():
                rows += [(name, title) for name in re.findall(r"`(\w+)`", line.split(" | ")[0])]
        found[space] = rows
    return found, told
