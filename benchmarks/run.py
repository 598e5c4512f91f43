"""Run benchmarks by name (all of them by default)."""
import importlib
import sys

ALL = ["overhead", "throughput", "products", "convolutions", "start"]


def main():
    """`python -m benchmarks.run [name ...]`"""
    for name in sys.argv[1:] or ALL:
        module = importlib.import_module(f"benchmarks.{name}")
        print(f"\n== {name}: {(module.__doc__ or '').splitlines()[0]}")
        module.main()


if __name__ == "__main__":
    main()
