"""Hands `import whet` on to the package in `runtime/`.

Where the clone's folder is called `whet`, Python takes it for the package in every script that lies
beside it or is run from there. This file is what it finds then, installed or not.
"""
import importlib
import sys
import tomllib
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path

CLONE = Path(__file__).parent
# which folder is which package: {"whet": "runtime", "whet.jit": "jit", ...}
FOLDERS = tomllib.loads(
    (CLONE / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-dir"]


class PackagesOfTheClone:
    """Finds each package in its folder, as it is found when it is installed."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name in FOLDERS:
            folder = CLONE / FOLDERS[name]
            return spec_from_file_location(
                name, folder / "__init__.py", submodule_search_locations=[str(folder)])
        return None


if __name__ == "whet":                   # a clone under another name is no package
    sys.meta_path.insert(0, PackagesOfTheClone)
    sys.modules.pop("whet", None)
    importlib.import_module("whet")
