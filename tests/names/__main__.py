"""See the package's docstring."""
import argparse
import collections
import sys
import warnings


def main():
    warnings.simplefilter("ignore")
    try:
        import torch
    except ModuleNotFoundError:
        print(f"skipped: torch is not installed for {sys.executable}")
        return 0
    import whet

    from . import page
    from .compare import SAME, compared
    from .spaces import NAMESPACES
    parser = argparse.ArgumentParser(prog="tests.names")
    parser.add_argument("--only", nargs="*", help="namespaces, of which what is not the same "
                                                  "is printed")
    only = parser.parse_args().only
    found, silent = {}, {}
    for namespace in NAMESPACES:
        if only is None or namespace in only or namespace.removeprefix("torch.") in only:
            found[namespace], silent[namespace] = compared(torch, whet, namespace)
    if only is not None:
        for namespace, rows in found.items():
            for name, status, said in rows:
                if status != SAME:
                    print(f"{namespace}.{name}: {status}: {said}")
            print(namespace, dict(collections.Counter(status for _, status, _ in rows)))
        return 0
    page.write(found, silent, torch.__version__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
