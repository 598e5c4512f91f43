"""Operands that bring their own meaning of functions: PyTorch's protocol `__torch_function__`.

A function of tensors that cannot take its operands looks among them for such that say, with
`__torch_function__(func, types, args, kwargs)`, what the function is of them. So calls of ordinary
tensors pay nothing. Ops refuse what they cannot take before they write anything.
"""


def has_own(x):
    """Does an operand's type say what functions are of it?"""
    return hasattr(type(x), "__torch_function__")


def operands(args, kwargs):
    """Those of the arguments of a call, and of what is in their lists, that have a say in what the
    call does: of each type the first, subclasses before what they are made from."""
    found: list = []
    for x in (*args, *kwargs.values()):
        for y in x if type(x) in (list, tuple) else (x,):
            if has_own(y) and not any(type(y) is type(z) for z in found):
                at = next((i for i, z in enumerate(found) if issubclass(type(y), type(z))),
                          len(found))
                found.insert(at, y)
    return found


def hand_over(func, args, kwargs):
    """What the operands say that a public function is of them. Each may leave it to the next."""
    found = operands(args, kwargs)
    types = tuple([type(x) for x in found])
    for x in found:
        result = type(x).__torch_function__(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = f"{getattr(func, '__module__', None) or 'whet'}.{func.__name__}"
    raise TypeError(f"no implementation found for '{name}' on types that implement "
                    f"__torch_function__: {[t.__qualname__ for t in types]}")
