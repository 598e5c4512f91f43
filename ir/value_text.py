"""Python values as exact text; `ir/text_reader.py` reads it back.

An array is a type with its elements, `f32[2](1.0, nan)`, their bytes, `f32[1](hex "0000c07f")`, or
a name in a table beside the text, `f32[1000](@0)`; without brackets it is a NumPy scalar.
Everything is written to the bit.
"""
from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from . import question_names
from .values import Array, Ref, Type, short

WRITTEN = 64                             # elements of an array that is written out

Table = list[Array]


def value_text(x: object, table: Table | None = None) -> str:
    """A Python value as text that says all of it. Arrays too large to be written out go to
    `table`."""
    if isinstance(x, np.ndarray | np.generic):
        return _array_text(x, table)
    say = _WRITTEN.get(type(x))
    return _of_ours(x) if say is None else say(x, table)


def _array_text(a: Array | np.generic, table: Table | None) -> str:
    head = str(Type.of(a)) if type(a) is np.ndarray else short(a.dtype)
    a = np.asarray(a)
    if a.size > WRITTEN:
        if table is None:
            return f"{head}(...)"
        table.append(np.ascontiguousarray(a).reshape(a.shape))
        return f"{head}(@{len(table) - 1})"
    with np.errstate(all="ignore"):
        wide = a.astype(np.float64) if a.dtype.kind in "fV" else a           # bfloat16 is of kind V
        numbers = wide.reshape(-1).tolist()
        same = np.array(numbers, wide.dtype).astype(a.dtype).tobytes() == a.tobytes()
    return (f"{head}({', '.join(map(value_text, numbers))})"
            if same else f'{head}(hex "{a.tobytes().hex()}")')


def _float_text(x: float) -> str:
    usual = x == x or struct.pack("<d", x) == struct.pack("<d", math.nan)
    return repr(x) if usual else f'nan "{struct.pack("<d", x).hex()}"'


def _several(xs: Any, table: Table | None) -> str:
    return ", ".join([value_text(y, table) for y in xs])


_WRITTEN: dict[type, Callable[[Any, Table | None], str]] = {
    Ref: lambda x, table: repr(x),
    int: lambda x, table: str(x),
    bool: lambda x, table: str(x),
    type(None): lambda x, table: "None",
    type(...): lambda x, table: "...",
    float: lambda x, table: _float_text(x),
    complex: lambda x, table: f"complex({_float_text(x.real)}, {_float_text(x.imag)})",
    str: lambda x, table: json.dumps(x),
    bytes: lambda x, table: f'bytes "{x.hex()}"',
    tuple: lambda x, table: f"({_several(x, table)}{',' if len(x) == 1 else ''})",
    list: lambda x, table: f"[{_several(x, table)}]",
    slice: lambda x, table: f"slice{value_text((x.start, x.stop, x.step), table)}",
}


def _of_ours(x: Any) -> str:
    """A value of one of whet's own types; of any other type it can be shown, but not read back."""
    t = type(x)
    if t.__module__.startswith("whet"):
        if t.__name__ == "Size":
            return f"Size{value_text(tuple(x))}"
        if t.__name__ == "dtype":
            return f"whet.{x.name}"
        if t.__name__ in ("layout", "memory_format"):
            return repr(x)
        if t.__name__ == "device":
            return f'device "{x}"'
    return f"<{t.__name__}>"


def question_text(fn: Callable[..., Any], table: Table | None) -> str:
    """A question about values, by the name of its code and what it closed over."""
    try:
        name, cells, defaults = question_names.name_of(fn)
    except question_names.Unknown:
        return json.dumps(getattr(fn, "__qualname__", type(fn).__name__))
    said = [
        *(f"{k}={value_text(v, table)}" for k, v in cells.items()),
        *(value_text(v, table) for v in defaults)]
    return json.dumps(name) + (f"{{{', '.join(said)}}}" if said else "")


def types_text(types: Any, values: Any) -> str:
    """The types of values, as they stand after what makes them."""
    if types is None or not values:
        return ""
    found = [types[v] for v in values]
    return f" : {', '.join(str(t if type(t) is Type else Type.of(t)) for t in found)}"
