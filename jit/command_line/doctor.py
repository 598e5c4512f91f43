"""`whet doctor`: what this machine has, and what whet makes of it."""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import os
import platform
import time

import numpy as np
import whet
from whet.cpu import native
from whet.cpu.cache import root
from whet.passes.lower_llvm.targets import current

PACKAGES = "whet", "numpy", "llvmlite", "ml_dtypes", "networkx", "onnx", "onnxruntime", "triton"


def doctor(options: argparse.Namespace) -> int:
    """Say what there is. The exit code is 1 where something keeps whet from its speed."""
    problems: list[str] = []
    facts: dict[str, str] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} processors, {platform.platform()}",
        "Python": platform.python_version(),
        "versions": ", ".join(versions()),
    }
    facts["threads"] = str(whet.get_num_threads())
    facts.update(kernels(problems))
    facts.update(cache(problems))
    facts["a first kernel"] = f"{first_kernel() * 1e3:.1f} ms"
    width = max(map(len, facts))
    for name, said in facts.items():
        print(f"{name:<{width}}  {said}")
    for problem in problems:
        print(f"problem: {problem}")
    return 1 if problems else 0


def versions() -> list[str]:
    """Which of the packages are installed, with their versions."""
    out = []
    for name in PACKAGES:
        try:
            out.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return out


def kernels(problems: list[str]) -> dict[str, str]:
    """What kernels are compiled for."""
    if not native.enabled():
        problems.append(
            f"kernels are slower to call than they could be: native calls are {native.status()}"
        )
    return {
        "kernels": f"for {current().name}, vectors of {current().bits} bits; native calls "
        f"{native.status()}"
    }


def cache(problems: list[str]) -> dict[str, str]:
    """The folder of compiled kernels, and how much is in it."""
    folder = root()
    if folder is None:
        problems.append(
            "no cache: kernels are compiled anew in each process (WHET_CACHE says where it may be)"
        )
        return {"cache": "none"}
    sizes: list[int] = []
    for at, _, names in os.walk(folder):
        for name in names:
            # Other processes write to the cache: what was listed may be renamed by now.
            with contextlib.suppress(FileNotFoundError):
                sizes.append(os.path.getsize(os.path.join(at, name)))
    return {"cache": f"{folder}, {len(sizes)} files, {sum(sizes):,} bytes"}


def first_kernel() -> float:
    """The seconds until an op has given its first result."""
    x = whet.from_numpy(np.ones(1000, np.float32))
    start = time.perf_counter()
    (x * 2 + 1).tanh()
    return time.perf_counter() - start
