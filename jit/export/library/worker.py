"""A process of its own that makes a level: there kernels are written for the level's target, and
each is compiled, so that its text is known."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence

from ..errors import ExportError
from .level_parts import LevelProgram

# what would have kernels be others than a library's
ASIDE = ("WHET_CPU", "WHET_CHECK", "WHET_GUARD", "WHET_NATIVE", "WHET_JIT", "WHET_SHOW")
# Its own path comes first: what lies beside the user's program may be called as Python's modules.
# Texts are for the target, and kept, before anything is compiled: whet.jit does so as it loads.
START = f"""
import json, sys
path, archive, target, *arguments = json.loads(sys.argv[1])
sys.path += [p for p in path if p and p not in sys.path]
from whet.cpu import native
from whet.passes.lower_llvm import targets
targets.write_for(target)
native.sources = {{}}
from {__name__} import main
main(archive, *arguments)
"""


def programs(
    archive: str, targets: Sequence[str], threads: int, folder: str
) -> list[list[LevelProgram]]:
    """The programs of the graph in an archive for each of some targets, made side by side;
    `threads` is the most that a launch may use."""
    env = {k: v for k, v in os.environ.items() if k not in ASIDE}
    env["WHET_CACHE"] = "0"
    made, running = [os.path.join(folder, t) for t in targets], []
    for target, path in zip(targets, made):
        arguments = json.dumps([sys.path, archive, target, threads, path])
        command = [sys.executable, "-P", "-c", START, arguments]
        running.append(
            subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        )
    said = [p.communicate()[1].decode(errors="replace") for p in running]
    for target, p, text in zip(targets, running, said):
        if p.returncode:
            raise RuntimeError(f"the process that makes code for {target} failed:\n{text}")
    found = []
    for path in made:
        with open(path, "rb") as f:
            found.append(pickle.load(f))  # what our own process has written
        if isinstance(found[-1], ExportError):
            raise found[-1]
    return found


def main(archive: str, threads: int, path: str) -> None:
    """Write the programs of an archive's graph for the target that kernels are written for: one,
    or several where its sizes differ."""
    from whet.cpu import thread_pool

    thread_pool.set_num_threads(threads)
    import whet

    from .level_program import built
    from .sized_ways import Ways

    exported = whet.load(archive)
    made: list[LevelProgram] | ExportError
    try:
        if exported.sized is None:
            made = [built(exported.graph, exported.constants)]
        else:
            made = Ways(exported).find()
    except ExportError as e:
        made = e
    with open(path, "wb") as f:
        pickle.dump(made, f)

