"""The schema of an operator, as PyTorch writes it, from the annotations of a Python function."""
import functools
import inspect
import operator
import types
import typing
from collections.abc import Sequence

from . import devices, dtypes, layouts
from .tensor import Tensor

KINDS: dict = {
    Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str",
    dtypes.dtype: "ScalarType", devices.device: "Device", layouts.layout: "Layout"}
NUMBERS = {int, float, bool}
# names that annotations in texts may use
NAMES = {"Tensor": Tensor, "device": devices.device, "dtype": dtypes.dtype, "types": types,
         "Optional": typing.Optional, "List": typing.List, "Sequence": Sequence,  # noqa: UP006
         "Union": typing.Union}


def infer_schema(prototype_function, /, *, mutates_args, op_name=None, tags=()):
    """The schema of a function with annotations. `mutates_args` has the names of the arguments that
    it writes to, or is "unknown".

    >>> import whet
    >>> def scaled(x: whet.Tensor, times: float = 2.0) -> whet.Tensor: ...
    >>> whet.library.infer_schema(scaled, mutates_args=())
    '(Tensor x, float times=2.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function)
    hints = _hints(prototype_function)

    def wrong(what):
        return ValueError(f"infer_schema(func): {what} Got func with signature {signature}")
    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError("mutates_args must either be a sequence of the names of the arguments "
                         "that are mutated or the string 'unknown'.")
    missing = [] if mutates_args == "unknown" else set(mutates_args) - set(signature.parameters)
    if missing:
        raise wrong(f"{missing} in mutates_args were not found in the custom op's signature.")
    parts, written = [], 0
    for name, p in signature.parameters.items():
        if p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            raise wrong("We do not support positional-only args, varargs, or varkwargs.")
        if name not in hints:
            raise wrong(f"Parameter {name} must have a type annotation.")
        kind = _of_parameter(hints[name])
        if kind is None:
            raise wrong(f"Parameter {name} has unsupported type {hints[name]}.")
        if kind.startswith("Tensor") if mutates_args == "unknown" else name in mutates_args:
            if not kind.startswith("Tensor"):
                raise wrong(f"Parameter {name} is in mutates_args but only Tensors or collections "
                            "of Tensors can be mutated.")
            kind = kind.replace("Tensor", f"Tensor(a{written}!)", 1)
            written += 1
        if p.kind is p.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        parts.append(f"{kind} {name}{_default(p, wrong)}")
    if "return" not in hints:
        raise wrong("No return type annotation was provided. Please add one.")
    return f"{op_name or ''}({', '.join(parts)}) -> {_of_results(hints['return'], wrong)}"


def _hints(function):
    """{parameter, or "return": type}, where annotations may be texts."""
    names = {**NAMES, **getattr(function, "__globals__", {})}
    found = {}
    for name, hint in inspect.get_annotations(function).items():
        if isinstance(hint, str):
            try:
                hint = eval(hint, names)
            except Exception:
                raise ValueError(
                    f"infer_schema(func): Unsupported type annotation {hint}. It is not a type."
                ) from None
        found[name] = type(None) if hint is None else hint
    return found


def _of_parameter(hint):
    """The schema's word for a type; None where it has none."""
    inside = _without_none(hint)
    if inside is not None:
        kind = _of_parameter(inside)
        return kind and f"{kind}?"
    if _is_union(hint):
        return "Scalar" if set(typing.get_args(hint)) == NUMBERS else None
    if typing.get_origin(hint) in (list, Sequence):
        kind = _of_parameter(*typing.get_args(hint))
        return kind and f"{kind}[]"
    return KINDS.get(hint) if isinstance(hint, type) else None


def _is_union(hint):
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def _without_none(hint):
    """What an optional type is where it is not None; None for other types."""
    if not _is_union(hint) or type(None) not in typing.get_args(hint):
        return None
    rest = [t for t in typing.get_args(hint) if t is not type(None)]
    return functools.reduce(operator.or_, rest)


def _default(p, wrong):
    if p.default is p.empty:
        return ""
    if isinstance(p.default, str):
        return f'="{p.default}"'
    if p.default is None or isinstance(p.default, int | float):
        return f"={p.default}"
    if isinstance(p.default, dtypes.dtype):
        return f"={p.default.name}"
    raise wrong(f"Parameter {p.name} has an unsupported default value type {type(p.default)}.")


def _of_results(hint, wrong):
    """What stands behind the arrow."""
    if hint is type(None):
        return "()"
    several = typing.get_origin(hint) is tuple
    kinds = [_of_parameter(t) for t in (typing.get_args(hint) if several else (hint,))]
    if None in kinds:
        raise wrong(f"Return has unsupported type {hint}.")
    return f"({', '.join(kinds)})" if several else kinds[0]
