"""Calls that go through tables, and what is compared of them."""
import dataclasses
import types

import numpy as np
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
    """Are two results of the same class, and the same to the bit?"""
    if type(a) is not type(b):
        return False
    if isinstance(a, whet.Tensor):
        return (same(a, b) and a.requires_grad == b.requires_grad and a.stride() == b.stride()
                and a.is_inference() == b.is_inference())
    if isinstance(a, np.ndarray):
        return (a.dtype is b.dtype and a.shape == b.shape and a.strides == b.strides
                and a.flags.writeable == b.flags.writeable and a.tobytes() == b.tobytes())
    if isinstance(a, np.generic):
        return a.dtype is b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return list(a) == list(b) and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, tuple | list):
        return (len(a) == len(b) and all(map(equal, a, b))
                and getattr(a, "__dict__", None) == getattr(b, "__dict__", None))
    if dataclasses.is_dataclass(a) or isinstance(a, types.SimpleNamespace):
        return equal(vars(a), vars(b))
    return a == b


def replays_by_table(fn, make, alone=True):
    """A traced function whose calls, with the arguments that `make` gives for a number, come to
    eager's results, the later ones by its table. `alone`: does machine code make these without
    Python? None: either."""
    f = fn if isinstance(fn, Traced) else jit.trace(fn)
    for k in range(TRIED + 6):
        assert equal(f(*make(k)), f.fn(*make(k)))
    before, fresh = hits(f), (-3, 99)
    for k in fresh:
        assert equal(f(*make(k)), f.fn(*make(k)))
    assert hits(f) == before + len(fresh) and alone in (None, is_launched(f))
    return f
