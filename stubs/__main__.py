"""`python -m stubs` writes the stubs; `python -m stubs --check` says which of them are out of
date."""
import sys

from .files import HERE, differences, every, write

if __name__ == "__main__":
    files = every()
    if "--check" in sys.argv[1:]:
        wrong = differences(files)
        print(*(f"out of date: {p}" for p in wrong), sep="\n")
        sys.exit(bool(wrong))
    write(files)
    print(f"{len(files)} stubs in {HERE}")
