"""The name of a type in a sentence."""


def thing(t: type) -> str:
    """Something of a type: `a Counter`, `an Agent`."""
    name = t.__qualname__.rpartition("<locals>.")[2]
    return f"{'an' if name[:1].lower() in tuple('aeiou') else 'a'} {name}"


def full_thing(t: type) -> str:
    """Something of a type, named with its module where that is not Python's own: `a
    collections.Counter`."""
    name = t.__qualname__.rpartition("<locals>.")[2]
    full = name if t.__module__ in ("builtins", "__main__") else f"{t.__module__}.{name}"
    return f"{'an' if full[:1].lower() in tuple('aeiou') else 'a'} {full}"
