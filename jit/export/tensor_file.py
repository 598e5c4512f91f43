"""Safetensors in memory: named arrays as bytes, and back as views of the bytes.

The format: 8 bytes of header length, a JSON header, the arrays' bytes one after the other.
Everything is checked before it is believed; damage raises ValueError."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from whet.safetensors import TYPES, check_header, spelled

ALIGN = 64  # the arrays' bytes begin at a multiple of this


def parts(arrays: Mapping[str, Any]) -> Iterator[Any]:
    """The bytes of a file, piece by piece."""
    flat = {k: np.ascontiguousarray(a).reshape(a.shape) for k, a in arrays.items()}
    order = sorted(flat, key=lambda k: -flat[k].itemsize)
    at, header = 0, {}
    for k in order:
        a = flat[k]
        letters, shape = spelled(a)
        header[k] = {"dtype": letters, "shape": shape, "data_offsets": [at, at + a.nbytes]}
        at += a.nbytes
    raw = json.dumps(header, separators=(",", ":")).encode()
    raw += b" " * (-(len(raw) + 8) % ALIGN)
    yield len(raw).to_bytes(8, "little") + raw
    for k in order:
        raw_bytes: Any = flat[k].reshape(-1).view(np.uint8)
        yield memoryview(raw_bytes)


def arrays(raw: memoryview) -> dict[str, Any]:
    """The arrays of a file's bytes, by name."""
    size = int.from_bytes(raw[:8], "little")
    if len(raw) < 8 or size > len(raw) - 8:
        raise ValueError("it ends within its header")
    try:
        header = json.loads(bytes(raw[8 : 8 + size]).decode())
    except RecursionError:
        raise ValueError("the header is nested too deeply") from None
    if not isinstance(header, dict):
        raise ValueError("the header is no object")
    header.pop("__metadata__", None)
    data = raw[8 + size :]
    if check_header(header) != len(data):
        raise ValueError("the header tells of more or fewer bytes than there are")
    return {k: array(data, e) for k, e in header.items()}


def array(data: memoryview, entry: Any) -> Any:
    """One array, where its entry says; copied where its layout is not that of its type."""
    low, high = entry["data_offsets"]
    dtype, shape = TYPES[entry["dtype"]], entry["shape"]
    if math.prod(shape) == 0:
        return np.empty(shape, dtype)
    a = np.frombuffer(data[low:high], np.uint8)
    if a.__array_interface__["data"][0] % dtype.itemsize:
        a = a.copy()
    return a.view(dtype).reshape(shape)
