"""A process of its own for each level: there kernels are written for the level's target, and each
is compiled, so that its text is known. They are forked from one that has loaded whet."""

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
# Its own path comes first: what is beside the user's program may be called as Python's modules.
# Texts are for the target, and kept, before kernels are compiled: whet.jit does so as it loads.
# What whet itself compiles is for Python alone, and comes from the cache.
START = f"""
import json, os, sys, traceback
path, archive, threads, made = json.loads(sys.argv[1])
sys.path += [p for p in path if p and p not in sys.path]
from whet.cpu import native
from whet.passes.lower_llvm import targets
running = []
for target, file in made:
    running.append(os.fork())
    if not running[-1]:
        code = 1
        try:
            targets.write_for(target)
            native.sources = {{}}
            from {__name__} import main
            main(archive, threads, file)
            code = 0
        except BaseException:
            print(f"for {{target}}:", file=sys.stderr)
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
sys.exit(any([os.waitpid(child, 0)[1] for child in running]))
"""


def programs(
    archive: str, targets: Sequence[str], threads: int, folder: str
) -> list[list[LevelProgram]]:
    """The programs of the graph in an archive for each of some targets, made side by side;
    `threads` is the most that a launch may use."""
    env = {k: v for k, v in os.environ.items() if k not in ASIDE}
    made = [os.path.join(folder, t) for t in targets]
    arguments = json.dumps([sys.path, archive, threads, list(zip(targets, made))])
    command = [sys.executable, "-P", "-c", START, arguments]
    done = subprocess.run(
        command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace")
        raise RuntimeError(f"a process that makes code for {', '.join(targets)} failed:\n{said}")
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
    from .programs_within_bounds import Ways

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

