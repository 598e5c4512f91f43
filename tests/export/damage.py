"""Archives that are changed."""

import json
import zipfile


def rewritten(path, out, **members):
    """An archive with other members."""
    with zipfile.ZipFile(path) as z, zipfile.ZipFile(out, "w") as to:
        for i in z.infolist():
            name = i.filename if i.filename in members else i.filename.partition(".")[0]
            change = members.get(name, lambda raw: raw)
            raw = change(z.read(i))
            if raw is not None:
                to.writestr(i.filename, raw)
    return out


def with_formula(path, out, text):
    """An archive in which each size that is a formula has this text."""
    def change(raw):
        found = json.loads(raw)
        found["sizes"]["holes"] = [[*h[:2], text] if len(h) == 3 else h
                                   for h in found["sizes"]["holes"]]
        return json.dumps(found).encode()
    return rewritten(path, out, whet=change)


def format_of(path):
    """The version of an archive's format."""
    with zipfile.ZipFile(path) as z:
        return json.loads(z.read("whet.json"))["format"]
