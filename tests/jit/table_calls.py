"""Calls that go through tables, and what is compared of them."""

import pytest
import whet
from whet import jit
from whet.cpu import native, tiered_compilation
from whet.jit.machine_code import table_index
from whet.jit.machine_code.native_entry import L
from whet.jit.policy import timing
from whet.jit.policy.timing import TURNS
from whet.jit.replay.recording import Recording
from whet.jit.trace import Traced

TRIED = TURNS + 1                # calls until they have been timed
compiled = pytest.mark.skipif(not native.enabled(),
                              reason="without machine code there are no tables")


def same(a, b):
    return (a.dtype is b.dtype and a.shape == b.shape
            and a.numpy(force=True).tobytes() == b.numpy(force=True).tobytes())


def never_slow(monkeypatch):
    """Whether eager is faster here is not what is tested, and is tried only once, at once."""
    monkeypatch.setattr(timing, "GROWTH", 10 ** 9)
    monkeypatch.setattr(timing, "EARLY", 0)
    monkeypatch.setattr(tiered_compilation, "among", lambda keys: [])
    monkeypatch.setattr(Recording, "slow", property(lambda r: False, lambda r, v: None),
                        raising=False)


def hits(f):
    """How many calls were made from tables."""
    tables = [r.tables.ready for rs in f._table.values() for r in rs]
    return sum(table_index.uses_of(table) for table in tables if table)


def is_launched(f):
    """Does machine code make a function's latest kind of calls without Python?"""
    ready = f._calls.policy.held[-1].tables.ready
    return ready is not None and ready[0][L.H["kind"] // 8] == L.LAUNCH


def armed(fn, *args, **kwargs):
    """A traced function whose calls like this one are made from a table."""
    f = fn if isinstance(fn, Traced) else jit.trace(fn)
    for _ in range(TRIED + 2):
        f(*args, **kwargs)
    before = hits(f)
    assert f._ready and equal(f(*args, **kwargs), f.fn(*args, **kwargs)) and hits(f) == before + 1
    return f


def equal(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, whet.Tensor):
        return same(a, b) and a.requires_grad == b.requires_grad and a.stride() == b.stride()
    if type(a) is dict:
        return list(a) == list(b) and all(equal(a[k], b[k]) for k in a)
    return all(map(equal, a, b)) and len(a) == len(b) if type(a) in (tuple, list) else a == b
