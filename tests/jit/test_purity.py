"""The watch over recorded runs, by machine code and by Python."""
import contextlib
import gc
import importlib
import math
import os
import subprocess
import sys
import types

import numpy as np
import pytest
import whet
from whet import jit
from whet.cpu import native
from whet.jit.capture import purity
from whet.jit.guards import allowed_calls as library
from whet.jit.guards.incomparable_objects import Unread
from whet.jit.guards.outside_state import PastNames
from whet.jit.guards.walk_findings import MetCode
from whet.jit.values.code_origin import origin_of, origin_of_class, ours


def code(k):
    """Code of a new function of the framework's."""
    return next(c for c in compile(f"def f{k}(): return {k}", "<whet>", "exec").co_consts
                if isinstance(c, types.CodeType))


@pytest.fixture
def known():
    if not native.enabled():
        pytest.skip("there is no machine code that calls Python here")
    return purity.known_code()


def test_code_that_is_known(known):
    """It is in the table as long as it is there, however many others come and go."""
    held, before = [code(k) for k in range(9000)], len(known.held)
    for c in held:
        known.add(c)
        known.add(c)
    assert len(known.held) == before + 9000 and {id(c) for c in held} <= set(known.table)
    del held[::2]
    assert {id(c) for c in held} <= set(known.table) and len(known.held) == before + 4500
    for k in range(30000):
        known.add(code(k))
    assert ({id(c) for c in held} <= set(known.table) and 2 * known.used <= len(known.table) + 2
            and len(known.table) < 1 << 16)
    del held, c
    assert len(known.held) == before


NOTHING_UNREAD = types.SimpleNamespace(
    held_back={}, unread={}, met_code=MetCode(None))


class Seen(purity.Watch):
    """Notes what it is told."""

    def __init__(self):
        codes = {f.__code__ for f in (user, inner)}
        world = types.SimpleNamespace(
            codes=codes, watching=frozenset(), past_names=PastNames(False, False, False),
            unread=Unread(NOTHING_UNREAD, ()))
        super().__init__(world, lambda reason: None)
        self.events = []

    def __call__(self, frame, event, arg):
        self.events.append((event, frame.f_code.co_name, ours(frame)))
        super().__call__(frame, event, arg)


def inner(x):
    return len(x.shape) + x.sum()


def user(x):
    x.softmax(0)
    return inner(x * 2).reshape(1)[0]


@pytest.fixture
def no_collection():
    """No garbage is collected meanwhile: what others have to do at its end would be seen, too."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_only_our_own_business_is_passed_over(known, no_collection):
    x, told = whet.randn(3, 2), {}
    for _ in range(20):                      # until each call is made in the way that it stays with
        user(x)
    for way in ("python", "machine code"):
        with contextlib.ExitStack() as stack:
            w = stack.enter_context(Seen())
            if way == "machine code":
                known.begin(known.at, w)
            user(x)
            w.events.clear()
            user(x)
        told[way] = w.events[:w.events.index(("return", "user", False))], w.size_read_at
    (every, told_python), (some, told_native) = told.values()
    assert told_python == told_native is not None
    kinds, theirs = {"call", "return", "c_call"}, {"user", "inner"}
    assert ([e for e in every if e[1] in theirs and e[0] in kinds]
            == [e for e in some if e[1] in theirs])
    # of ours all that is seen is where the user is given what may depend on sizes
    assert {e for e in some if e[2]} == {("return", "shape", True)}
    assert len({e for e in every if e[2]}) > 1 and not {event for event, *_ in some} - kinds


def test_errors_and_profilers_are_as_they_were():
    calls = []

    def profile(frame, event, arg):
        calls.append(event)

    def f(x):
        raise ValueError("mine")
    sys.setprofile(profile)
    try:
        with pytest.raises(ValueError, match="mine"):
            jit.trace(f)(whet.ones(2))
        assert sys.getprofile() is profile
        n = len(calls)
        assert jit.trace(lambda x: x * 2)(whet.ones(2)).tolist() == [2, 2]
        assert sys.getprofile() is profile and len(calls) > n
    finally:
        sys.setprofile(None)
    assert jit.trace(lambda x: x * 3)(whet.ones(2)).tolist() == [3, 3] and sys.getprofile() is None


def test_numpys_random_numbers_of_another_kind_are_seen_too():
    before = np.random.get_bit_generator()
    for bits in np.random.PCG64(1), np.random.MT19937(1):
        np.random.set_bit_generator(bits)
        try:
            quiet, loud = jit.trace(lambda x: x * 2), jit.trace(lambda x: x * np.random.rand())
            assert (quiet(whet.ones(2)).tolist() == [2, 2] == quiet(whet.ones(2)).tolist()
                    and quiet.explain(data=True)["paths"])
            numbers = [loud(whet.ones(())).item() for _ in range(4)]
            assert loud.explain(data=True)["paths"]
            np.random.set_bit_generator(type(bits)(1))
            assert numbers == [np.float32(np.random.rand()) for _ in range(4)]
        finally:
            np.random.set_bit_generator(before)


def test_numpys_generators_are_not_loaded_by_a_recording():
    """To load them registers subclasses of abstract classes: the outside is another then."""
    program = """
import abc, sys, warnings, whet
from whet import jit
warnings.simplefilter("error")
class Scaled(abc.ABC):
    scale = 2.0
class Rule(Scaled):
    pass
f = jit.trace(lambda x: x * Rule().scale)
assert "numpy.random" not in sys.modules
assert [f(whet.ones(2)).tolist() for _ in range(3)] == [[2, 2]] * 3
assert f.explain(data=True)["paths"] and "numpy.random" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_import_system_says_what_is_ours():
    def copied(x):
        return x
    names = dict(vars(sys.modules["whet.tensor"]))
    elsewhere = types.FunctionType(copied.__code__, names)
    assert ours(whet.nn.Module.forward) and ours(whet.flatten) and ours(whet.nn.ReLU.forward)
    assert not ours(copied) and not ours(elsewhere)
    said = {"__module__": "whet.nn.module", "__qualname__": "Module"}
    own = type("Module", (), {**said, "forward": copied})
    assert origin_of_class(own) is None and origin_of_class(whet.nn.Module).is_ours
    assert origin_of_class(types.SimpleNamespace).is_pythons
    assert origin_of_class(np.ndarray).is_of_a_library


def test_functions_of_the_library_are_known_as_the_objects_that_they_are():
    sine, own = math.sin, lambda x: x
    own.__module__, own.__name__ = "math", "sin"
    assert library.only_computes(sine) and library.only_computes(len)
    assert not any(map(library.only_computes, (os.remove, np.fromfile, own)))
    assert library.tells_who_watches(sys.modules["weakref"])
    assert not library.tells_who_watches(gc.collect)


def test_what_only_computes_is_declared_where_it_is_defined():
    for module in "whet.ops.pointwise", "whet.tensor", "whet.nn.functional", "whet.autograd.modes":
        assert origin_of(vars(importlib.import_module(module))).only_computes, module
    for module in ("whet.serialization", "whet.autograd.engine", "whet.cpu.thread_pool",
                   "whet.jit.trace"):
        assert not origin_of(vars(importlib.import_module(module))).only_computes, module


def test_a_branch_that_is_not_taken_starts_no_backward():
    w = whet.ones(2, requires_grad=True)
    loss = (w * w).sum()

    def other(x):
        loss.backward()
        return x * 2
    f = jit.trace(lambda x: whet.cond(x.sum() > 0, lambda x: x + 1, other, (x,)))
    for _ in range(3):
        assert f(whet.ones(2)).tolist() == [2, 2]
    assert w.grad is None
    loss.backward()
    assert w.grad.tolist() == [2, 2]
