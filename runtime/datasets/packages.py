"""Packages that ship data, asked for when they are needed."""
import importlib


def package(name, installed_as):
    """A module of a package that whet does not depend on; `installed_as` is the package's name."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"these data come with {installed_as}, which is not there: "
                          f"pip install {installed_as}") from error
