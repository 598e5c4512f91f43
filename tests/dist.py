"""The wheel and the sdist as users get them: `make dist` builds both, then runs this.

    python -m tests.dist build/dist

The wheel is made from the sdist, so one that lacks a file is found by what follows. It is installed
into an empty environment, and README's first program runs from a folder where no source lies. Then
pip says what each extra brings, without installing it.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).parents[1]
# what the programs of an environment are called with: nothing of this clone, nor of its caches
OUTSIDE = {name: value for name, value in os.environ.items()
           if name not in ("PYTHONPATH", "VIRTUAL_ENV") and not name.startswith("WHET_")}
SETUP = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = SETUP["project"]["optional-dependencies"]
FILES_OF_PACKAGES = (".py", ".pyi", ".css", ".js", "py.typed")


def first_program():
    """The first program in README.md."""
    return re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1]


def files_of_packages():
    """The names that the files of all packages have in a wheel."""
    setup = SETUP["tool"]["setuptools"]
    folders = setup["package-dir"]
    for package in setup["packages"]:
        parts = package.split(".")
        top = next(k for k in range(len(parts), 0, -1) if ".".join(parts[:k]) in folders)
        folder = ROOT.joinpath(folders[".".join(parts[:top])], *parts[top:])
        for file in folder.iterdir():
            if file.name.endswith(FILES_OF_PACKAGES):
                yield "/".join([*parts, file.name])


def missing_from(wheel):
    """The files of packages that a wheel lacks."""
    with zipfile.ZipFile(wheel) as opened:
        return sorted(set(files_of_packages()) - set(opened.namelist()))


def run(*command, **options):
    """What a program prints; its errors end this one."""
    print("$", *command, flush=True)
    return subprocess.run(list(map(str, command)), check=True, text=True, env=OUTSIDE,
                          stdout=subprocess.PIPE, **options).stdout


def megabytes(folder):
    """The size of all files below a folder."""
    return sum(f.lstat().st_size for f in pathlib.Path(folder).rglob("*") if f.is_file()) / 1e6


def installed(wheel, folder):
    """Python of a new environment that has a wheel and what it needs. Says how much that is."""
    run(sys.executable, "-m", "venv", folder / "venv")
    python = folder / "venv" / "bin" / "python"
    run(python, "-m", "pip", "download", "-q", "-d", folder / "downloads", wheel)
    files = sorted((folder / "downloads").iterdir(), key=lambda f: -f.stat().st_size)
    print(f"downloads: {megabytes(folder / 'downloads'):.0f} MB, of it",
          ", ".join(f"{f.name.partition('-')[0]} {f.stat().st_size / 1e6:.0f}" for f in files[:4]))
    before = megabytes(folder / "venv")
    run(python, "-m", "pip", "install", "-q", "--no-index", "--find-links", folder / "downloads",
        wheel)
    print(f"installed: {megabytes(folder / 'venv') - before:.0f} MB")
    return python


def brought_by(python, wheel, extra):
    """The names of the packages that an extra adds, by pip."""
    told = run(python, "-m", "pip", "install", "-q", "--dry-run", "--report", "-",
               f"{wheel}[{extra}]")
    return sorted(item["metadata"]["name"] for item in json.loads(told)["install"]
                  if item["metadata"]["name"] != "whet")


def check_extras(python, wheel):
    """Each extra brings what it names."""
    for extra, wanted in EXTRAS.items():
        names = brought_by(python, wheel, extra)
        print(f"whet[{extra}]:", ", ".join(names))
        lacking = [w for w in map(name_of, wanted) if normal(w) not in map(normal, names)]
        if lacking:
            sys.exit(f"whet[{extra}] does not bring {', '.join(lacking)}")


def name_of(requirement):
    """The package that a requirement is of."""
    return re.match(r"[\w.-]+", requirement)[0]


def normal(name):
    """A package's name in the one way in which an index writes it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def main():
    wheel, = pathlib.Path(sys.argv[1]).resolve().glob("*.whl")
    if missing := missing_from(wheel):
        sys.exit(f"the wheel lacks {', '.join(missing)}")
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        python = installed(wheel, folder)
        program = folder / "train.py"
        program.write_text(first_program())
        print(run(python, program, cwd=folder))
        where = run(python, "-c", "import whet; print(whet.__file__)", cwd=folder)
        if not where.startswith(str(folder)):
            sys.exit(f"the program ran with another whet: {where}")
        check_extras(python, wheel)


if __name__ == "__main__":
    main()
