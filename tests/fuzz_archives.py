"""`python -m tests.fuzz_archives --count 100000`: archives with damaged bytes.

Of damage to the file itself, which checksums see, an ArchiveError or the right result comes. Damage
to a member, put back with a right checksum, may mean something else: then anything may come but a
signal, code that runs, or much memory.
"""

import argparse
import io
import os
import pathlib
import random
import re
import tempfile
import tracemalloc
import zipfile

import whet
from whet.jit import load_archive
from whet.jit.export import ArchiveError

from tests.export import models, test_rounded_sizes

GOLDEN = pathlib.Path(__file__).parent / "golden"
MOST = 1 << 24  # bytes that a value may take
ROOM = 1 << 20  # bytes beside ten times the file
NAMES = "perceptron", "convolutional", "tied", "scored"
ROUNDED = "halves", "padded unet", "windows"  # these have formulas of sizes
SIZED = {"transformer": {"x": ("batch", "length", None)}}  # these have expressions of sizes


def originals():
    """[(bytes of an archive, arguments, result)]"""
    out = []
    cond = models.CONTROL["cond"], [whet.ones(3)]
    for name, dynamic in (*zip(NAMES, [None] * len(NAMES)), *SIZED.items(), ("cond", None)):
        fn, args = cond if name == "cond" else models.made()[name]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.whet")
            e = whet.export(fn, *args, dynamic=dynamic)
            e.save(path)
            with open(path, "rb") as f:
                out.append((f.read(), args, e(*args)))
    return out + [rounded(name) for name in ROUNDED]


def rounded(name):
    """(bytes, arguments, result) of an archive with formulas of sizes."""
    path = GOLDEN / f"format4-{name.replace(' ', '-')}.whet"
    _, inputs, _, sizes, _ = test_rounded_sizes.CASES[name]
    args = inputs(*sizes[0])
    with open(path, "rb") as f:
        return f.read(), args, load_archive(path)(*args)


# ---- damage to the file ----------------------------------------------------------
def flipped(raw, draw):
    """Some bits are others."""
    out = bytearray(raw)
    for _ in range(draw.choice((1, 1, 2, 8))):
        out[draw.randrange(len(out))] ^= 1 << draw.randrange(8)
    return bytes(out)


def cut(raw, draw):
    """A piece is missing."""
    i = draw.randrange(len(raw))
    return raw[:i] if draw.random() < 0.5 else raw[:i] + raw[i + draw.choice((1, 7, 64, 999)) :]


def grown(raw, draw):
    """There is a piece more."""
    i = draw.choice((0, len(raw), draw.randrange(len(raw))))
    return raw[:i] + draw.randbytes(draw.choice((1, 8, 300))) + raw[i:]


# ---- damage to a member ----------------------------------------------------------
def other_number(raw, draw):
    """A number in a text is another."""
    found = list(re.finditer(rb"-?\d+", raw))
    if not found:
        return flipped(raw, draw)
    m = draw.choice(found)
    new = draw.choice((0, 1, -1, 2, 7, 2**31, 2**40, 2**63, int(m[0]) + 1, int(m[0]) * 2))
    return raw[: m.start()] + str(new).encode() + raw[m.end() :]


def other_word(raw, draw):
    """A word in a text is another one of it."""
    found = list(re.finditer(rb"\w+", raw))
    if len(found) < 2:
        return flipped(raw, draw)
    m, n = draw.choice(found), draw.choice(found)
    return raw[: m.start()] + n[0] + raw[m.end() :]


def other_line(raw, draw):
    """A line is missing, or there twice, or elsewhere."""
    lines = raw.split(b"\n")
    i, j = draw.randrange(len(lines)), draw.randrange(len(lines))
    if draw.random() < 0.5:
        lines.insert(j, lines[i])
    else:
        lines.pop(i)
    return b"\n".join(lines)


FILE = flipped, cut, grown
TEXT = flipped, cut, grown, other_number, other_word, other_line


def in_member(raw, draw):
    """The file with one member damaged, its checksums right."""
    with zipfile.ZipFile(io.BytesIO(raw)) as z:
        parts = {i.filename: z.read(i) for i in z.infolist()}
    name = draw.choice((*parts, "graph.txt", "graph.txt"))
    parts[name] = draw.choice(TEXT)(parts[name] or b"0", draw)
    if draw.random() < 0.02:
        parts.pop(name)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for k, v in parts.items():
            z.writestr(k, v)
    return out.getvalue()


class Trial:
    """One damaged archive, which lies at a path."""

    def __init__(self, path, traced):
        self.path, self.traced = path, traced

    def load(self, raw):
        """The function in it; an ArchiveError otherwise."""
        with open(self.path, "wb") as f:
            f.write(raw)
        if not self.traced:
            return load_archive(self.path, most=MOST)
        tracemalloc.start()
        try:
            return load_archive(self.path, most=MOST)
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak <= 10 * len(raw) + ROOM, f"{peak} bytes for a file of {len(raw)}"

    def of_file(self, raw, args, wanted):
        """Damage to the file: True where it was refused."""
        try:
            made = self.load(raw)(*args)
        except ArchiveError:
            return True
        assert models.same(wanted, made), "a damaged file gives another result"
        return False

    def of_member(self, raw, args):
        """Damage to a member: True where it was refused."""
        try:
            loaded = self.load(raw)
        except ArchiveError:
            return True
        try:
            loaded(*args)
        except Exception as e:  # it may mean something else, which takes no such arguments
            return isinstance(e, ArchiveError)
        return False


def fuzz(count, seed, traced_every=10):
    """(how many were refused, of how many)"""
    draw, given, refused = random.Random(seed), originals(), 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.whet")
        for i in range(count):
            raw, args, wanted = draw.choice(given)
            trial = Trial(path, i % traced_every == 0)
            try:
                if draw.random() < 0.5:
                    refused += trial.of_file(draw.choice(FILE)(raw, draw), args, wanted)
                else:
                    refused += trial.of_member(in_member(raw, draw), args)
            except Exception:
                kept = os.path.join(tempfile.gettempdir(), "bad.whet")
                os.replace(path, kept)
                print(f"trial {i} of seed {seed} failed: its file is {kept}")
                raise
    return refused, count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    refused, count = fuzz(given.count, given.seed)
    rest = count - refused
    print(f"{count} damaged archives: {refused} refused, {rest} gave a result or an op's error")


if __name__ == "__main__":
    main()
