"""Run benchmarks by name (all of them by default)."""
import importlib
import os
import sys

# All contenders get the same threads: one by default, since their pools' spinning workers get in each other's way (THREADS=2 to see it).
THREADS = os.environ.setdefault("THREADS", "1")
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = THREADS

ALL = ["overhead", "throughput", "products", "convolutions", "start", "traced", "calls", "blocks"]


def main():
    """`python -m benchmarks.run [name ...]`"""
    for name in sys.argv[1:] or ALL:
        module = importlib.import_module(f"benchmarks.{name}")
        print(f"\n== {name}: {(module.__doc__ or '').splitlines()[0]}")
        module.main()


if __name__ == "__main__":
    main()
