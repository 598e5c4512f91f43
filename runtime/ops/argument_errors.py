"""Errors that name the argument at fault: what a call that failed was given is looked at again.

A call that goes well pays nothing for this.
"""
import inspect

import numpy as np

from .. import dtypes
from . import registry

PLAIN = (int, float, bool, complex, str, bytes)
# What arguments must be, by their names: one word means one thing everywhere. A whole number; a
# whole number or several; a text.
WHOLE = frozenset("""
    decimals downscale_factor edge_order group groups hop_length interpolation_mode n_fft num_groups
    storage_offset upscale_factor win_length""".split())
SIZES = frozenset("normalized_shape output_size physical_layout repeats shape size".split())
TEXTS = frozenset("driver interpolation norm".split())


def checked_input(name, x):
    """The first argument of a function, which must be a tensor."""
    if not registry.is_tensor(x):
        raise TypeError(
            f"{name}(): argument 'input' (position 1) must be Tensor, not {x.__class__.__name__}")
    return x


def check_numbers_fit(name, input, *numbers):
    """Raise where a number that is taken in the type of a tensor of integers does not lie within
    it: it would wrap around there, and stand for another one."""
    if not (registry.is_tensor(input) and input.dtype.category == dtypes.INT):
        return
    limits = dtypes.iinfo(input.dtype)
    least = limits.min if input.dtype.is_signed else -limits.max
    for x in numbers:
        # What varies in a trace, as a size does, is an int64, and would notice a question.
        varies = input.dtype is dtypes.int64 and isinstance(x, int) and type(x) is not int
        if not varies and not registry.is_tensor(x) and not least <= x <= limits.max:
            raise RuntimeError(f"{name}: value cannot be converted to type {input.dtype} without "
                               f"overflow: {x}")


def _named_arguments(fn, args, kwargs):
    """(name, value) of what a call was given."""
    return [*zip(inspect.signature(fn).parameters, args), *kwargs.items()]


def name_kind(fn, args, kwargs):
    """Raise TypeError where an argument is of another kind than its name says."""
    for name, v in _named_arguments(fn, args, kwargs):
        wanted = _wanted(name, v)
        if wanted and not (v is None and _may_be_none(fn, name)):
            raise TypeError(
                f"{fn.__name__}(): argument '{name}' must be {wanted}, not {_kind_of(v)}") from None


def _wanted(name, v):
    """What an argument of this name must be, where it is not that."""
    if name in WHOLE and not _is_whole(v):
        return "int"
    # A pool keeps the sizes that are None.
    if name in SIZES and not all([_is_whole(x) for x in v if x is not None]
                                 if isinstance(v, list | tuple) else [_is_whole(v)]):
        return "int or tuple of ints"
    if name in TEXTS and not isinstance(v, str):
        return "str"
    return None


def _is_whole(v):
    """Is it a whole number, or does it stand for some?"""
    return registry.is_tensor(v) or hasattr(v, "__index__")


def _may_be_none(fn, name):
    parameter = inspect.signature(fn).parameters.get(name)
    return parameter is not None and parameter.default is None


def _kind_of(v):
    """The name of a value's type, or of the first element of a list that is no whole number."""
    if isinstance(v, list | tuple):
        v = next((x for x in v if x is not None and not _is_whole(x)), v)
    return v.__class__.__name__


def name_argument(fn, error, args, kwargs):
    """Raise TypeError where the AttributeError came of an argument that is not what the function
    is written for."""
    names = list(inspect.signature(fn).parameters)
    arguments = [(names[min(i, len(names) - 1)], i, v) for i, v in enumerate(args)]
    arguments += [(p, names.index(p) if p in names else len(args), v) for p, v in kwargs.items()]
    # A function that is a method first has a tensor there, or the argument to name.
    method = names[:1] == ["self"]
    called = fn.__qualname__.removesuffix(".__init__").removesuffix(".forward")
    lacks = error.obj
    itself = [
        g for g in arguments
        if g[2] is lacks or isinstance(g[2], list | tuple) and any(x is lacks for x in g[2])]
    wanted = f"something with `{error.name}`"
    if (not registry.is_tensor(lacks)
            and (hasattr(registry.Tensor, error.name or "") or isinstance(lacks, np.dtype))):
        wanted = "Tensor"
    if fn.__name__ in ("__init__", "forward"):
        itself = [g for g in itself if g[1]]
    at_fault = [(p, i, lacks) for p, i, _ in itself]
    at_fault += [g for g in arguments if _may_have_become(g[2], lacks)]
    for p, i, v in at_fault[:1]:
        raise TypeError(
            f"{called}(): argument '{p}' (position {max(i + 1 - method, 1)}) must be {wanted}, "
            f"not {v.__class__.__name__}") from None


def name_text(fn, error, args, kwargs):
    """Raise TypeError where Python was to make a number of an argument that is a text."""
    if not str(error).startswith(("could not convert string to float", "invalid literal for int")):
        return
    for p, v in _named_arguments(fn, args, kwargs):
        if isinstance(v, str):
            raise TypeError(
                f"{fn.__name__}(): argument '{p}' must be a number, not str") from None


def _may_have_become(argument, found):
    """Could a function have computed `found` from an argument that is no tensor, or taken it out
    of it?"""
    if isinstance(argument, np.generic) and type(found) is type(argument.item()):
        return True
    if isinstance(argument, np.ndarray | np.generic):
        return isinstance(found, np.ndarray | np.generic | np.dtype)
    return (type(argument) is type(found) and type(found) in PLAIN
            or registry.is_tensor(argument) and registry.is_tensor(found))


def name_dtype(fn, error):
    """Raise TypeError where a NumPy type was looked up that tensors do not have, and
    NotImplementedError where it is one in which nothing is computed."""
    asked = error.args[0] if error.args else None
    stored = [d for d in dtypes.NAMED.values()
              if d.category == dtypes.STORED and asked in (d.np, d.short)]
    if stored:
        raise NotImplementedError(
            f"\"{fn.__name__}\" not implemented for '{stored[0].letter}'") from None
    if error.args and isinstance(error.args[0], np.dtype):
        raise TypeError(
            f"{fn.__name__}(): an operand is a numpy.ndarray of type {error.args[0]}, which "
            "tensors cannot have") from None
