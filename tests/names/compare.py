"""The status of each public name: same, differs, or not here."""
import inspect
import types

from .reasons import DIFFERS, NOT_HERE
from .signatures import difference, of_method, statements
from .spaces import TENSOR, find, public

SAME, OTHER, ABSENT = "same", "differs", "not here"


def compared(torch, whet, namespace):
    """([(name, status, how or why)], names that PyTorch says nothing of) of a namespace."""
    theirs, ours = find(torch, namespace), find(whet, namespace)
    names, silent = public(namespace, theirs)
    rows = [(name, *status(torch, f"{namespace}.{name}", getattr(theirs, name, None), ours))
            for name in names]
    return rows, [name for name in silent if not hasattr(ours, name)]


def status(torch, path, x, ours):
    """(status, how it differs or why it is not here) of one name."""
    name = path.rpartition(".")[2]
    if not hasattr(ours, name):
        return ABSENT, reason(path)
    if (said := DIFFERS.get(path)) is not None:
        return (OTHER, said) if said else (SAME, "")
    y = inspect.getattr_static(ours, name) if isinstance(ours, type) else getattr(ours, name)
    said = different(torch, path, x, y)
    return (OTHER, said) if said else (SAME, "")


def reason(path):
    """The words for a name that is not here: its own, or those of the family it belongs to."""
    own = NOT_HERE.get(path)
    if own is None:
        found = [why for start, why in NOT_HERE.items()
                 if start.endswith("*") and path.startswith(start[:-1])]
        own = found[0] if found else ""
    return own


def different(torch, path, x, y):
    """How two objects of one name are not alike."""
    if isinstance(x, types.ModuleType | property | types.GetSetDescriptorType):
        return ""
    if isinstance(x, type) and not callable(y):
        return "no class"
    if not callable(x) or is_made_in_c(x):
        return ""
    space, _, name = path.rpartition(".")
    family = space.rpartition(".")[2]
    prefix = f"{family}_" if family in ("linalg", "fft", "special") else ""
    said = statements(torch, x, name, prefix)
    skip = 0
    if space == TENSOR:
        skip = 0 if isinstance(y, staticmethod) else 1
        said = [[of_method(form) for form in forms] for forms in said]
    return min((difference(forms, y, skip) for forms in said), key=len, default="")


def is_made_in_c(x):
    """A class of C++, whose calls no signature tells."""
    return isinstance(x, type) and "__init__" not in vars(x)
