"""Graphs as bytes: they come back as they were, and no other bytes are taken for a graph."""
import hashlib

import numpy as np
import pytest
from whet.ir import serialize
from whet.ir.graph import Graph
from whet.ir.interpret import interpret
from whet.ir.serialize import dumps, loads

from tests import graphs


@pytest.mark.parametrize("name", graphs.CASES)
def test_bytes_and_back(name):
    f, _ = graphs.traced(name)
    for g in (f.recorded, f.graph):
        raw = dumps(g)
        assert loads(raw) == g and dumps(loads(raw)) == raw and b"pickle" not in raw
        assert loads(bytearray(raw)) == g == loads(memoryview(raw))


def test_large_constants_are_beside_the_text():
    f, args = graphs.traced("constants")
    raw = dumps(f.recorded)
    assert b"i64[100](@0)" in raw and np.arange(100).tobytes() in raw
    assert np.array_equal(interpret(loads(raw), *args), interpret(f.recorded, *args),
                          equal_nan=True)


def test_every_damaged_byte_is_noticed():
    raw = dumps(graphs.traced("constants")[0].recorded)
    for i in range(len(raw)):
        for new in (raw[i] ^ 1, raw[i] ^ 0x80):
            with pytest.raises(ValueError):
                loads(raw[:i] + bytes([new]) + raw[i + 1:])
    for cut in (b"", raw[:10], raw[:-1], raw[1:], raw + b"\0", raw[:40], raw[:13], raw * 2):
        with pytest.raises(ValueError):
            loads(cut)
    with pytest.raises(TypeError):
        loads("text")


def test_bytes_with_a_right_digest_are_a_graph_or_an_error():
    """The same with the digest made anew: whoever writes such bytes gets a ValueError, or a
    graph; nothing else, and nothing runs."""
    raw = dumps(graphs.traced("constants")[0].recorded)[:-serialize.DIGEST]
    read = 0
    for i in range(len(raw)):
        for new in {raw[i] ^ 1, raw[i] ^ 0x80, 0, 255, ord("9"), ord("(")} - {raw[i]}:
            body = raw[:i] + bytes([new]) + raw[i + 1:]
            try:
                read += isinstance(
                    loads(body + hashlib.blake2b(body, digest_size=serialize.DIGEST).digest()),
                    Graph)
            except ValueError:
                pass
    assert read > 100


@pytest.mark.parametrize("text", [
    'f32[99999999999999]("x")', "f32[4000000000](1.0)",
    "f32[1000000000,1000000000,1000000000](hex \"\")", "9" * 5000, "f32[2]@(99999999999)(1.0, 2.0)",
    "f32[1](@-1)", "whet.os", "slice(1)", "complex(1)", "Size(\"a\")", "device \"nowhere\"",
    "i8[1](True)", "u8[1](-1)", "bool[1](1)", "nan \"00\"", "1e999", "\\u0000", "[" * 5000])
def test_hostile_text(text):
    body = f'graph "f":\n  %0 = input "a" "x" : f32[3]\n  %1 = mul(%0, k={text}) : f32[3]\n  return %1'.encode(
    )
    body = serialize.MAGIC + len(body).to_bytes(8, "little") + bytes(8) + body
    try:
        g = loads(body + hashlib.blake2b(body, digest_size=serialize.DIGEST).digest())
    except ValueError:
        return
    assert text == "1e999" and g.nodes[0].attrs["k"] == float("inf")
