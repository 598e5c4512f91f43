"""`python -m tests.fuzz_files --count 100000`: small files of three kinds with damaged bytes: an
archive, safetensors, an ONNX model.

Every byte of each is flipped, cut off and followed by others in turn; what is left of the count is
drawn. Of an archive, which has checksums, an ArchiveError or the right result comes. In the others
a byte of a number may be another number; what comes else is a Python error. Nothing may end
by a signal, take more than ten times the file's memory, start anything, or write a file.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import tracemalloc

import numpy as np
import whet
from whet.jit import load_archive
from whet.jit.export import ArchiveError

from tests.export import models
from tests.fuzz_archives import MOST, cut, flipped, grown

ROOM = 2 << 20  # bytes beside ten times the file: what Python keeps of errors and of modules
SECONDS = 30  # a trial takes no longer
# what would be code that runs, as Python's audit hooks name it
ACTS = ("os.system", "os.exec", "os.fork", "os.posix_spawn", "subprocess.Popen", "socket.connect",
        "pickle.find_class", "ctypes.dlopen", "os.remove", "os.rename", "shutil.rmtree")
_watch = {"on": False, "seen": []}


def hook(event, args):
    """Note what does more than read, while a damaged file is loaded."""
    if _watch["on"] and (event in ACTS or event == "open" and isinstance(args[1], str)
                         and set(args[1]) & set("wax+")):
        _watch["seen"].append((event, repr(args)[:200]))


class Archive:
    """A saved function, loaded and called."""

    ending, has_checksums = "whet", True

    def __init__(self, folder):
        fn, self.args = models.made()["perceptron"]
        whet.export(fn, *self.args, dynamic={"input": ("n", None)}).save(folder + "/a.whet")
        self.raw = read(folder + "/a.whet")
        self.wanted = load_archive(folder + "/a.whet")(*self.args)

    def load(self, path):
        return load_archive(path, most=MOST)

    def use(self, loaded):
        return models.same(self.wanted, loaded(*self.args))

    def is_error(self, e):
        return isinstance(e, ArchiveError)


class Tensors:
    """A file of safetensors."""

    ending, has_checksums = "safetensors", False

    def __init__(self, folder):
        held = {"weight": whet.randn(3, 5), "count": whet.arange(4), "half": whet.ones(2).half(),
                "on": whet.tensor([True, False]), "nothing": whet.ones(0, 3)}
        whet.save(held, folder + "/a.safetensors")
        self.raw = read(folder + "/a.safetensors")

    def load(self, path):
        return whet.load(path)

    def use(self, loaded):
        return all(np.asarray(t.numpy()).nbytes <= len(self.raw)
                   for t in loaded.values() if isinstance(t, whet.Tensor))

    def is_error(self, e):
        return isinstance(e, ValueError | RuntimeError | KeyError | TypeError | OSError)


class Onnx:
    """An ONNX model, loaded and called."""

    ending, has_checksums = "onnx", False

    def __init__(self, folder):
        fn, args = models.made()["perceptron"]
        self.x = args[0].numpy()
        whet.export(fn, *args).to_onnx(folder + "/a.onnx")
        self.raw = read(folder + "/a.onnx")

    def load(self, path):
        return whet.onnx.load(path)

    def use(self, loaded):
        loaded(self.x)
        return True

    def is_error(self, e):
        return isinstance(e, Exception)


KINDS = Archive, Tensors, Onnx


def read(path):
    with open(path, "rb") as f:
        return f.read()


def each_byte(raw):
    """The file with each byte flipped, all behind it cut off, it alone cut out, and one put in."""
    for i in range(len(raw)):
        yield raw[:i] + bytes([raw[i] ^ 1 << i % 8]) + raw[i + 1:]
        yield raw[:i] + bytes([raw[i] ^ 0xFF]) + raw[i + 1:]
        yield raw[:i]
        yield raw[:i] + raw[i + 1:]
        yield raw[:i] + b"\x00" + raw[i:]
        yield raw[:i] + b"\xff" + raw[i:]


def drawn(raw, draw):
    """Damage without end."""
    while True:
        yield draw.choice((flipped, flipped, cut, grown))(raw, draw)


class Trials:
    """The trials of one kind. `counts`: what came of them."""

    def __init__(self, kind, folder):
        self.kind, self.path = kind, os.path.join(folder, f"bad.{kind.ending}")
        self.counts = {"refused": 0, "an error in a call": 0, "a result": 0}
        self.one(kind.raw, False)  # modules are imported when the first file is read
        self.one(kind.raw[:-9], False)
        self.counts = dict.fromkeys(self.counts, 0)

    def one(self, raw, is_traced):
        """One damaged file."""
        with open(self.path, "wb") as f:
            f.write(raw)
        loaded = self.loaded(raw, is_traced)
        if loaded is None:
            self.counts["refused"] += 1
            return
        try:
            right = self.kind.use(loaded)
        except Exception as e:
            if not self.kind.is_error(e):
                raise
            self.counts["an error in a call"] += 1
            return
        assert right or not self.kind.has_checksums, "a damaged file gives another result"
        self.counts["a result"] += 1

    def loaded(self, raw, is_traced):
        """What is loaded; None where it is an error."""
        if is_traced:
            tracemalloc.start()
        _watch.update(on=True, seen=[])
        try:
            return self.kind.load(self.path)
        except Exception as e:
            if not self.kind.is_error(e):
                raise
            return None
        finally:
            _watch["on"] = False
            if is_traced:
                peak = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
                assert peak <= 10 * len(raw) + ROOM, f"{peak} bytes for a file of {len(raw)}"
            assert not _watch["seen"], f"loading does {_watch['seen']}"


def too_long(*_):
    raise AssertionError(f"a trial takes more than {SECONDS} seconds")


def fuzz(count, seed=0, kinds=KINDS, traced_every=10):
    """{ending: {what came: how often}}, for so many damaged files of each kind."""
    draw, found = random.Random(seed), {}
    sys.addaudithook(hook)
    signal.signal(signal.SIGALRM, too_long)
    with tempfile.TemporaryDirectory() as folder:
        for kind in (k(folder) for k in kinds):
            trials, step = Trials(kind, folder), 1 if count >= 6 * len(kind.raw) else 7
            todo = [*each_byte(kind.raw)][::step]
            random_ones = drawn(kind.raw, draw)
            for i in range(count):
                raw = todo[i] if i < len(todo) else next(random_ones)
                signal.alarm(SECONDS)
                try:
                    trials.one(raw, i % traced_every == 0)
                except BaseException:
                    kept = os.path.join(tempfile.gettempdir(), f"bad.{kind.ending}")
                    os.replace(trials.path, kept)
                    print(f"trial {i} of seed {seed} failed: its file is {kept}")
                    raise
                finally:
                    signal.alarm(0)
            found[kind.ending] = trials.counts
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for ending, counts in fuzz(given.count // len(KINDS), given.seed).items():
        said = ", ".join(f"{n} {what}" for what, n in counts.items())
        print(f"{sum(counts.values())} damaged files .{ending}: {said}", flush=True)


if __name__ == "__main__":
    main()
