"""A multiply-add that is rounded once, with the machine's instruction or without."""
from __future__ import annotations

from typing import Any

from . import targets


def emit(f: Any, *xs: Any) -> Any:
    """a * b + c, of values of one type."""
    if xs[0].elem == "float" and targets.current().name == "baseline":
        return of_doubles(f, *xs)
    return f.intr("fma", *map(f.from_memory, xs))


def of_doubles(f: Any, *xs: Any) -> Any:
    """The fused multiply-add of floats without the instruction. The product is exact as a double.
    The sum is rounded to odd: if it is not exact, its last bit is set. Rounding it again, to a
    float, then gives the same as rounding once."""
    a, b, c = (f.conv("fpext", x, "double") for x in xs)
    p = a * b
    s = p + c
    part = s - p
    error = (p - (s - part)) + (c - part)
    bits = f.conv("bitcast", s, "i64")
    even = f.cmp("eq", bits & 1, 0)
    away = f.cmp("slt", f.binary("xor", f.conv("bitcast", error, "i64"), bits), 0)
    odd = bits + f.sel(away, f.const(bits.ty, -1), 1)
    wanted = f.cmp("one", error, 0.0) & even
    return f.conv("fptrunc", f.conv("bitcast", f.sel(wanted, odd, bits), "double"), "float")
