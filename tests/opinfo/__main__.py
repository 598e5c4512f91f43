"""See the package's docstring."""
import argparse
import importlib
import importlib.util
import json
import subprocess
import sys
import traceback

from .findings import RAISED, SKIPPED, Finding, entries, table

PARTS = ("operators", "modules", "optimizers", "wrong_arguments")
NEEDS = ("torch", "expecttest", "hypothesis")


def worker(part, names):
    """Write the findings of some entries, one a line, each entry announced before it runs."""
    module = importlib.import_module(f"tests.opinfo.{part}")
    from .calls import reset
    for name in names:
        print(json.dumps({"begins": name}), flush=True)
        try:
            for f in module.findings(name):
                print(json.dumps(vars(f)), flush=True)
        except Exception as e:      # an entry whose samples cannot be made
            said = f"{type(e).__name__}: {e} at {traceback.extract_tb(e.__traceback__)[-1]}"
            print(json.dumps(vars(Finding(part, name, "entry", SKIPPED, said))), flush=True)
        reset()


def run(part, names):
    """The findings of entries, in a process that begins again behind an entry that ended it."""
    while names:
        command = [sys.executable, "-m", "tests.opinfo", "--worker", "--part", part,
                   "--only", *names]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for line in process.stdout:
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if "begins" in said:
                names, now = names[names.index(said["begins"]) + 1:], said["begins"]
            else:
                yield Finding(**said)
        if process.wait() == 0:
            return
        yield Finding(part, now, "entry", RAISED, f"the process ended with {process.returncode}")


def main():
    parser = argparse.ArgumentParser(prog="tests.opinfo")
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--every", nargs=2, type=int, default=(1, 0), metavar=("N", "REST"),
                        help="the entries whose number leaves REST when divided by N")
    parser.add_argument("--json", help="a file that the findings are added to, one a line")
    parser.add_argument("--worker", action="store_true")
    options = parser.parse_args()
    lacking = [n for n in NEEDS if importlib.util.find_spec(n) is None]
    if lacking:
        print(f"skipped: {', '.join(lacking)} not installed for {sys.executable}")
        return 0
    if options.worker:
        return worker(options.part, options.only)
    found = []
    for part in [options.part] if options.part else PARTS:
        known = importlib.import_module(f"tests.opinfo.{part}").names()
        step, rest = options.every
        names = [n for i, n in enumerate(known) if i % step == rest
                 and (not options.only or n in options.only or n.split(".")[0] in options.only)]
        for f in run(part, names):
            found.append(f)
            if options.json:
                with open(options.json, "a") as file:
                    file.write(json.dumps(vars(f)) + "\n")
    print("\n".join([*entries(found), "", *table(found)]))
    return any(not f.good for f in found)


if __name__ == "__main__":
    sys.exit(main())
