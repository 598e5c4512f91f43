"""What came of one call on both sides, and tables of many."""
import collections
import dataclasses

EQUAL, VALUE, TYPE, SHAPE = "equal", "wrong value", "wrong type", "wrong shape or structure"
RAISED, MISSING, SKIPPED = "raised", "missing", "skipped"
MATCHED, SILENT, OTHER = "error matched", "error not raised", "error of another type"
KINDS = (EQUAL, VALUE, TYPE, SHAPE, RAISED, MISSING, SKIPPED, MATCHED, SILENT, OTHER)
GOOD = frozenset((EQUAL, SKIPPED, MATCHED))


@dataclasses.dataclass(frozen=True)
class Finding:
    """One call. `part` is a PyTorch list, `name` an entry of it, `what` a variant of the
    entry with its type, and `said` the call and the difference, for people."""
    part: str
    name: str
    what: str
    kind: str
    said: str = ""

    @property
    def good(self):
        return self.kind in GOOD


class Differs(Exception):
    """Two results are not the same; `kind` says in which way."""

    def __init__(self, kind, said):
        super().__init__(said)
        self.kind = kind


class Missing(Exception):
    """A public name of PyTorch that whet does not have."""


def table(findings):
    """Lines that count each kind of finding, by part and sort of call."""
    counts = collections.defaultdict(collections.Counter)
    for f in findings:
        counts[f"{f.part}: {f.what.split()[0]}"][f.kind] += 1
        counts["all"][f.kind] += 1
    for row, c in counts.items():
        yield f"{row:28s} " + ", ".join(f"{k} {c[k]}" for k in KINDS if c[k])


def entries(findings):
    """Lines of the entries that differ: how often in which way, and the first such call."""
    groups = collections.defaultdict(list)
    for f in findings:
        if not f.good:
            groups[f.part, f.name, f.what, f.kind].append(f)
    for (part, name, what, kind), found in sorted(groups.items()):
        yield f"{part} {name} [{what}] {kind} x{len(found)}: {found[0].said}"
