"""Run benchmarks by name (all of them by default)."""
import importlib
import os
import sys

# All contenders get the same threads: one by default, since their pools' spinning workers get in
# each other's way (THREADS=2 to see it).
THREADS = os.environ.setdefault("THREADS", "1")
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = THREADS

# measures several numbers of threads itself
SEVERAL = {"blocks", "exported", "loaders"}
ALL = [
    "overhead", "throughput", "products", "convolutions", "start", "traced", "gradients", "calls",
    "blocks", "exported", "mixes", "new_sizes", "transforms", "memory", "loaders", "wide"]


def main():
    """`python -m benchmarks.run [name ...]`"""
    processors = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    for name in sys.argv[1:] or ALL:
        if processors:                       # (XLA takes as many threads as it finds processors)
            os.sched_setaffinity(0, processors if name in SEVERAL else processors[:int(THREADS)])
        module = importlib.import_module(f"benchmarks.{name}")
        print(f"\n== {name}: {(module.__doc__ or '').splitlines()[0]}")
        module.main()


if __name__ == "__main__":
    main()
