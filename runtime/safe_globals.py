"""What `load` may call where a file names it, beside what it knows."""
import collections
import pickle

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "safe_globals"]

_SAFE: list = []


def latin_bytes(text, encoding):
    """Bytes, as pickles of protocol 2 write them."""
    if encoding not in ("latin1", "latin-1"):
        raise ValueError(f"the encoding {encoding}")
    return text.encode("latin1")


# containers that run no code of others, by the names that pickles have for them
_PLAIN = {
    ("_codecs", "encode"): latin_bytes, ("builtins", "bytearray"): bytearray,
    ("__builtin__", "bytearray"): bytearray, ("collections", "Counter"): collections.Counter}


def add_safe_globals(safe_globals):
    """Let `load` call these classes and functions where a file names them: each is an object, or a
    pair of one and the name that files have for it."""
    _SAFE.extend(safe_globals)


def get_safe_globals():
    """What `add_safe_globals` added."""
    return list(_SAFE)


def clear_safe_globals():
    """Forget what `add_safe_globals` added."""
    _SAFE.clear()


class safe_globals:
    """`add_safe_globals` for the length of a `with`."""

    def __init__(self, safe_globals):
        self.added = safe_globals

    def __enter__(self):
        self.before = get_safe_globals()
        add_safe_globals(self.added)

    def __exit__(self, *error):
        _SAFE[:] = self.before


def allowed(module, name, file):
    """What a file names, which holds a pickled object, if it may be called."""
    found = by_name().get((module, name))
    if found is None:
        raise pickle.UnpicklingError(
            f"Weights only load failed: {file} holds a pickled object of {module}.{name}, and "
            "loading it can run any code. If you trust where the file came from, load it with "
            "weights_only=False, or allow the name with whet.serialization.add_safe_globals.")
    return found


def by_name():
    """What may be called, by the module and name under which a file has it."""
    found: dict = dict(_PLAIN)
    for allowed in _SAFE:
        made, name = allowed if isinstance(allowed, tuple) else (
            allowed, f"{allowed.__module__}.{allowed.__qualname__}")
        module, _, last = name.rpartition(".")
        found[module, last] = made
    return found
