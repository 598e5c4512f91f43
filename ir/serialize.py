"""Graphs as bytes, without pickle: a line with the format, the text, the large constants, and a
digest of everything.

    whet graph 1\\n | length of the text, number of constants: u64 | text | for each constant: type
        letters, length: u64 | its bytes | digest

Loading runs nothing, and bytes that are not such a file raise ValueError.
"""
from __future__ import annotations

import hashlib
import struct

import numpy as np

from .graph import Graph
from .parse import ParseError, parse
from .values import Array, short, types

MAGIC = b"whet graph 1\n"
DIGEST = 16


def dumps(g: Graph) -> bytes:
    """The graph as bytes.

    >>> import whet
    >>> from whet.ir.serialize import dumps, loads
    >>> @whet.jit.trace
    ... def double(x):
    ...     return x * 2
    >>> _ = double(whet.ones(3))
    >>> loads(dumps(double.recorded)) == double.recorded
    True
    """
    table: list[Array] = []
    text = g.text(table).encode()
    out = [MAGIC, struct.pack("<QQ", len(text), len(table)), text]
    for a in table:
        raw = np.ascontiguousarray(a).tobytes()
        out += [struct.pack("<8sQ", short(a.dtype).encode(), len(raw)), raw]
    body = b"".join(out)
    return body + _digest(body)


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=DIGEST).digest()


def loads(raw: bytes) -> Graph:
    """The graph that `dumps` made bytes of; ValueError for other bytes."""
    raw = bytes(raw)
    if not raw.startswith(MAGIC):
        raise ValueError("these bytes are no graph")
    body, digest = raw[:-DIGEST], raw[-DIGEST:]
    if len(body) < len(MAGIC) + 16 or _digest(body) != digest:
        raise ValueError("the graph's bytes are damaged: their digest is another")
    at = len(MAGIC)

    def take(n: int) -> bytes:
        nonlocal at
        if n > len(body) - at:
            raise ValueError("the graph's bytes end too early")
        at += n
        return body[at - n:at]
    size, count = struct.unpack("<QQ", take(16))
    text, table = take(size), []
    for _ in range(min(count, len(body))):
        letters, n = struct.unpack("<8sQ", take(16))
        kind = types()[0].get(letters.rstrip(b"\0").decode("ascii", "replace"))
        if kind is None or n % kind.itemsize:
            raise ValueError("a constant of the graph has no known type")
        table.append(np.frombuffer(take(n), kind.np))
    if at != len(body):
        raise ValueError("the graph's bytes go on after their end")
    try:
        return parse(text.decode(), table)
    except UnicodeDecodeError as e:
        raise ValueError(f"the graph's text is damaged: {e}") from None
    except ParseError as e:
        raise ValueError(f"the graph's text is damaged: {e}") from None
