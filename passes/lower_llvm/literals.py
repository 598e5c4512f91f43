"""Numbers as the text of LLVM IR spells them."""
from __future__ import annotations

import struct

FLOATS = ("half", "bfloat", "float", "double")


def literal(elem: str, v: float) -> str:
    """A constant of a scalar type as LLVM spells it; floats are exact in their own type."""
    if elem in FLOATS:
        v = float(v)
        if elem == "half":
            return f"0xH{struct.unpack('<H', struct.pack('<e', v))[0]:04X}"
        if elem == "bfloat":
            return "0xR%04X" % _bfloat_bits(v)
        if elem == "float":
            v = _to_f32(v)
        return f"0x{struct.unpack('<Q', struct.pack('<d', v))[0]:016X}"
    if elem == "i1":
        return "true" if v else "false"
    if elem == "ptr":
        return "null" if not v else f"inttoptr (i64 {v} to ptr)"
    return str(int(v))


def _to_f32(v: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", v))[0])
    except OverflowError:
        return float("inf") if v > 0 else float("-inf")


def _bfloat_bits(v: float) -> int:
    u = int(struct.unpack("<I", struct.pack("<f", _to_f32(v)))[0])
    if v != v:
        return u >> 16 | 0x40
    return (u + 0x7FFF + (u >> 16 & 1)) >> 16 & 0xFFFF
