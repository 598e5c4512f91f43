"""Packages that ship data, asked for when they are needed."""
import importlib
import importlib.util
import pathlib


def package(name, installed_as):
    """A module of a package that whet does not depend on; `installed_as` is the package's name."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise _missing(installed_as) from error


def file_of(name, installed_as, *parts):
    """The path of a file in a package. The package is not imported, nor what it depends on."""
    try:
        spec = importlib.util.find_spec(name)
    except ValueError:                   # something stands in its place in `sys.modules`
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise _missing(installed_as)
    return pathlib.Path(spec.submodule_search_locations[0], *parts)


def _missing(installed_as):
    return ImportError(f"these data come with {installed_as}, which is not there: "
                       f"pip install {installed_as}")
