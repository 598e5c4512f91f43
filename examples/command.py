"""Runs the `main` of an example with what stands on the command line.

    python examples/spirals.py --epochs 3 --trace
"""
import argparse
import inspect
import time


def run(main):
    """Each parameter of `main` is an option, with the type of its default."""
    parser = argparse.ArgumentParser(
        description=inspect.getmodule(main).__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name, p in inspect.signature(main).parameters.items():
        if isinstance(p.default, bool):
            parser.add_argument(f"--{name}", action="store_true")
        else:
            parser.add_argument(f"--{name}", type=type(p.default), default=p.default)
    start = time.perf_counter()
    main(**vars(parser.parse_args()))
    print(f"{time.perf_counter() - start:.1f} s")
