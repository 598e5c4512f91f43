"""A process of its own that makes a level: there kernels are written for the level's target, and
each is compiled, so that its text is known.

    python -m whet.jit.export.library.worker model.whet avx2 8 level
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence

from .level_program import LevelProgram

# what would have kernels be others than a library's
ASIDE = ("WHET_CPU", "WHET_CHECK", "WHET_GUARD", "WHET_NATIVE", "WHET_JIT", "WHET_SHOW")


def programs(archive: str, targets: Sequence[str], threads: int, folder: str) -> list[LevelProgram]:
    """The programs of the graph in an archive for some targets, made side by side; `threads` is
    the most that a launch may use."""
    env = {k: v for k, v in os.environ.items() if k not in ASIDE}
    env |= {"WHET_CACHE": "0", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    made, running = [os.path.join(folder, t) for t in targets], []
    for target, path in zip(targets, made):
        command = [sys.executable, "-P", "-m", __name__, archive, target, str(threads), path]
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
    return found


def main(archive: str, target: str, threads: str, path: str) -> None:
    """Write the program of an archive's graph for a target."""
    from whet.cpu import native, pool
    from whet.passes.lower_llvm import targets

    targets.write_for(target)
    native.sources = {}
    pool.set_num_threads(int(threads))
    import whet

    from .level_program import built

    exported = whet.load(archive)
    made = built(exported.graph, exported.constants)
    with open(path, "wb") as f:
        pickle.dump(made, f)


if __name__ == "__main__":
    main(*sys.argv[1:])
