"""Guards of hand-written functions: an error names the argument that is no tensor, no flag or no
text, and arguments may have the names that NumPy, or another overload in PyTorch, has for them."""
import functools
import inspect
import sys
import types

import numpy as np

from .. import declared_for_tracing, function_protocol
from ..function_protocol import MINE, speakers
from . import calls_without_python, registry
from .argument_errors import name_argument, name_dtype, name_kind, name_text
from .public_functions import asked, hand_over

LAST = sys.maxsize                  # the position of what is given by name alone
# flags of which PyTorch, too, asks no more than their truth
BY_TRUTH = frozenset(("inplace", "return_indices", "get_infos"))
# flags of constructors, of which PyTorch takes None for False
MAY_BE_NONE = frozenset(("requires_grad", "pin_memory"))


def guarded(namespace, module, leads_to_ops=True):
    """Names of a module, each hand-written function among them naming the argument that should
    have been a tensor."""
    def plain(n, fn):
        return (not n.startswith("_") and inspect.isfunction(fn) and not hasattr(fn, "guarded")
                and fn.__code__.co_filename != "<whet>")
    return named({n: guard(fn, leads_to_ops) if plain(n, fn) else fn
                  for n, fn in namespace.items()}, module)


def named(namespace, module):
    """A module's names. Functions among them that pickles would not find by what they say of
    themselves (they are made by others, or stand before them) say that they are these."""
    def found(fn):
        there = sys.modules.get(fn.__module__)
        return fn is (namespace if fn.__module__ == module else vars(there) if there else {}).get(
            fn.__qualname__)

    functions = [(n, fn) for n, fn in namespace.items()
                 if type(fn) is types.FunctionType and not n.startswith("_")]
    # a function of several names is found by its own
    for n, fn in sorted(functions, key=lambda pair: pair[0] != pair[1].__name__):
        if not found(fn) and fn.__module__.partition(".")[0] == "whet":
            fn.__module__, fn.__qualname__ = module, n
        name_those_behind(fn, n)
    return namespace


def name_those_behind(fn, name):
    """Let functions behind one that users call have its name, not their own, which Python's errors
    of missing and unknown arguments would show."""
    while type(fn) is types.FunctionType:
        if fn.__qualname__[0] == "_" or "<" in fn.__qualname__:
            fn.__qualname__ = name
        fn = getattr(fn, "__wrapped__", None)


def guard(fn, leads_to_ops=True, asks=True):
    """A function that names an argument which should have been a tensor, where it would have spoken
    of a missing attribute. `leads_to_ops`: mostly it does nothing but call ops, and others may
    call these in its place (see `calls_without_python.py`). `asks`: is it for tensors and modes to
    say what it is?

    The functions are written against the tensor's own methods; what they trip over when handed
    something else is that something itself, which is how the argument is found again. A call that
    goes well pays for a frame alone.
    """
    flags = _flags(fn)
    first = min(flags.values(), default=LAST)
    # NumPy's names of arguments -> ours, once they came
    known: dict[tuple[str, ...], tuple[str, ...]] = {}

    def check(args, kwargs):
        for name in kwargs:
            if name in flags and type(kwargs[name]) is not bool:
                check_flag(fn.__name__, name, kwargs[name])
        if len(args) > first:
            _check_positions(fn, flags, args)

    leads_to_ops = leads_to_ops and not fn.__name__.endswith("__")
    calls = calls_without_python.calls_of(fn, check) if leads_to_ops else None

    @functools.wraps(fn)
    @declared_for_tracing.stands_for("fn")
    def call(*args, **kwargs):
        if calls is not None and (out := calls(args, kwargs)) is not calls_without_python.MISSED:
            return out
        if asks and speakers and (out := asked(call, args, kwargs)) is not MINE:
            return out
        ours = kwargs
        if known and (names := known.get(tuple(kwargs))):
            ours = dict(zip(names, kwargs.values()))
        if flags:
            check(args, ours)
        try:
            return fn(*args, **ours)
        except Exception as e:
            if not function_protocol.foreign(args, kwargs):
                renamed = _renamed_after(fn, e, args, ours)
                if renamed is None:
                    raise
                known[tuple(kwargs)] = tuple(renamed)
        if function_protocol.foreign(args, kwargs):
            return hand_over(call, args, kwargs)
        return fn(*args, **renamed)
    call.guarded = True
    return call


def _flags(fn):
    """name -> position of the flags of a function: the parameters that are bool by default. The
    arguments of layers may be anything."""
    fn = inspect.unwrap(fn)
    code, defaults = fn.__code__, fn.__defaults__ or ()
    n, named = code.co_argcount, fn.__kwdefaults__ or {}
    if fn.__name__ in ("__init__", "forward"):
        return {}
    found = {code.co_varnames[i]: i for i, v in enumerate(defaults, n - len(defaults))
             if type(v) is bool}
    found |= {k: LAST for k, v in named.items() if type(v) is bool}
    return {name: i for name, i in found.items() if name not in BY_TRUTH}


def _check_positions(fn, flags, args):
    for name, i in flags.items():
        if i < len(args) and type(args[i]) is not bool:
            check_flag(fn.__name__, name, args[i])


def check_flag(name, argument, v):
    """Raise TypeError where a flag is neither a bool nor a whole number."""
    if v is None and argument in MAY_BE_NONE:
        return
    if registry.is_tensor(v) or not hasattr(v, "__index__") and not isinstance(v, np.bool_):
        raise TypeError(f"{name}(): argument '{argument}' must be bool, not {v.__class__.__name__}")


def check_text(name, argument, v):
    """Raise TypeError where one of some words is wanted, and this is no text."""
    if not isinstance(v, str):
        raise TypeError(f"{name}(): argument '{argument}' must be str, not {v.__class__.__name__}")


def _renamed_after(fn, e, args, kwargs):
    """The arguments by our names, where an error came of those by others'; None where it is another
    one. Raises a better one where it can."""
    if isinstance(e, AttributeError):
        name_argument(fn, e, args, kwargs)
    elif isinstance(e, KeyError):
        name_dtype(fn, e)
    elif isinstance(e, TypeError):
        renamed = _by_our_names(fn, kwargs)
        if renamed is None and "argument '" not in str(e):
            name_kind(fn, args, kwargs)
        return renamed
    elif isinstance(e, ValueError | RuntimeError | IndexError):
        name_text(fn, e, args, kwargs)
        name_kind(fn, args, kwargs)
    return None


# what NumPy, or another overload in PyTorch, calls a parameter -> our names for it
OTHER_NAMES = {"axis": ("dim", "dims"), "axes": ("dim", "dims"), "keepdims": ("keepdim",),
               "x": ("input", "self"), "a": ("input", "self"),
               # The last: of the method.
               "shape": ("size",),
               "x1": ("input", "self"), "x2": ("other",), "split_size": ("split_size_or_sections",),
               "sections": ("indices_or_sections",), "indices": ("indices_or_sections",),
               "input": ("self", "A", "x", "tensor"), "input2": ("L", "tau"), "input3": ("other",),
               "the_template": ("other",),
               "tensor": ("other",)}


def _by_our_names(fn, kwargs):
    """The arguments of a call that was refused because it names some as others do; None where that
    is not why."""
    names = inspect.signature(fn).parameters
    if any(p.kind is p.VAR_KEYWORD for p in names.values()):
        return None
    renamed = {
        next((n for n in OTHER_NAMES.get(k, ()) if k not in names and n in names), k): v
        for k, v in kwargs.items()}
    return (renamed if len(renamed) == len(kwargs) and renamed.keys() != kwargs.keys()
            and renamed.keys() <= names.keys() else None)


# what a method calls its dimensions, which callers may name as NumPy does, what else has other
# names, and those of its operands that must be tensors
RENAMED = frozenset(("indices_or_sections", "split_size_or_sections", "L", "tau"))
DIMS = frozenset(("dim", "dims"))
OPERANDS = frozenset("""other mat1 mat2 mat vec vec1 vec2 tensor tensor1 tensor2 tensors src source
                        value values index indices mask x y q weight weights bias bins target min
                        max end batch1 batch2 input2 input3""".split())


def overridable(fn):
    """A function that hands over to its operands what it cannot take."""
    ready = hasattr(fn, "guarded") or fn.__code__.co_filename == "<whet>"
    return fn if ready else guard(fn)


def needs_guard(fn):
    """Is it a hand-written method with arguments to name, of a dimension or of another tensor, with
    some that have other names, or with flags?"""
    if not inspect.isfunction(fn) or hasattr(fn, "guarded"):
        return False
    code = inspect.unwrap(fn).__code__
    return (not (DIMS | OPERANDS | RENAMED).isdisjoint(code.co_varnames[:code.co_argcount])
            or bool(_flags(fn)))
