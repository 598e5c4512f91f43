"""The LLVM text of all kernels and native entries, to prove that a change of the generators
changes none of it.

    python -m tests.kernel_texts before.json            writes what is generated now
    python -m tests.kernel_texts after.json before.json compares it, too

The cases of `tests/kernel_cases` run once in a process for each target. Each kernel that one of
them asks for is written twice, in full and briefly. What is compiled to run them is compiled
without optimisation, and no cache is read.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

from tests.sweep_kernels import targets


class Texts:
    """What was generated in this process: the digest of a text, by its kernel and form."""

    def __init__(self, folder=None):
        self.digests, self.folder = {}, folder

    def note(self, key, text):
        """Keep a text's digest, and the text where somebody asked for texts."""
        self.digests[key] = hashlib.sha256(text.encode()).hexdigest()
        if self.folder:
            Path(self.folder, self.digests[key][:24]).write_text(f"; {key}\n{text}")

    def listen(self):
        """Note every text that is generated from here on."""
        from whet.cpu import native

        module, image, compiled = native._module, native.image, native._compile

        def kernels(keys, emits, brief=False):
            for key in keys:
                for form in (False, True):
                    self.note(f"{key} {'brief' * form}", module([key], emits, form)[0])
            return module(keys, emits, brief)

        def whole(key, write, names):
            self.note(key, write())
            return image(key, write, names)

        native._module, native.image = kernels, whole
        native._compile = lambda text, symbols, opt=2: compiled(text, symbols, 0)


def entries():
    """The native entries that no case asks for here: `import whet` has them, or nothing does."""
    from whet.cpu.launch_code import runtime_text
    from whet.passes.lower_llvm.calls import op_calls, repeated_lists, traced_calls

    return {
        "runtime": runtime_text,
        "entries of ops": op_calls.source,
        "rounds": repeated_lists.source,
        "traced calls, dicts with versions": lambda: traced_calls.source(True),
        "traced calls, dicts without": lambda: traced_calls.source(False),
    }


def serve(path, folder):
    """Run all cases in this process, and write the digests."""
    texts = Texts(folder)
    import whet

    texts.listen()
    from tests.kernel_cases import FAMILIES

    for name, source in entries().items():
        texts.note(name, source())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for family in FAMILIES.values():
            for case in family().cases():
                case.call(*map(whet.from_numpy, case.arrays()))
        f = whet.jit.trace(lambda x, y: (x * y).sum(), verify="off")
        for _ in range(4):
            f(whet.ones(3), whet.ones(3))
    Path(path).write_text(json.dumps(texts.digests))


def generated(folder=None):
    """The digests of all texts, of all targets of this machine."""
    found = {}
    with tempfile.TemporaryDirectory() as scratch:
        for target in targets():
            path = f"{scratch}/{target}.json"
            command = [sys.executable, "-m", "tests.kernel_texts", "--serve", path]
            environment = {**os.environ, "WHET_CPU": target, "WHET_CACHE": "0"}
            subprocess.run(command + ([folder] if folder else []), env=environment, check=True)
            digests = json.loads(Path(path).read_text())
            found.update({f"{target} {key}": digest for key, digest in digests.items()})
            print(f"{target}: {len(digests)} texts", flush=True)
    return found


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("after")
    a.add_argument("before", nargs="?")
    a.add_argument("--serve", action="store_true")
    a.add_argument("--texts", help="a folder that takes the texts themselves")
    a = a.parse_args()
    if a.serve:
        return serve(a.after, a.before)
    after = generated(a.texts)
    Path(a.after).write_text(json.dumps(after, indent=0))
    before = json.loads(Path(a.before).read_text()) if a.before else after
    differ = [k for k in {**before, **after} if before.get(k) != after.get(k)]
    print(f"{len(after)} texts, {len(differ)} differ", *differ[:20], sep="\n")
    return int(bool(differ))


if __name__ == "__main__":
    sys.exit(main())
