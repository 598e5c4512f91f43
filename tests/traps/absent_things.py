"""Names that are not there until somebody adds them, and modes that are on without effect."""
import builtins
import contextlib
import functools
import math
import operator
from unittest import mock

import whet
import whet.nn.functional as F
from whet import nn

from tests.traps.harness import Box, leaf, mlp, outcome, ramp, thrice, trap


@contextlib.contextmanager
def _gone_after(*owners):
    """What is added by the name `added` goes again."""
    try:
        yield
    finally:
        for owner in owners:
            if "added" in vars(owner):
                del owner.added


@trap
def a_name_that_a_library_has_not_comes():
    """getattr with a default, hasattr and AttributeError, of modules that are not the user's."""
    def f(x):
        try:
            y = x * math.added
        except AttributeError:
            y = x
        own = getattr(F, "added", None)
        return (y if own is None else own(y)) * (2 if hasattr(nn, "added") else 1)
    def calls(f):
        with _gone_after(math, F, nn):
            for owner, added in ((math, 3.0), (F, whet.relu), (nn, 1), (F, whet.tanh)):
                yield from thrice(lambda: f(ramp(3) - 1))
                owner.added = added
            yield from thrice(lambda: f(ramp(3) - 1))
        yield from thrice(lambda: f(ramp(3) - 1))
    return f, calls


@trap
def a_module_by_another_name_gets_one():
    """getattr with a default of modules in a tuple, and of one in a module."""
    def f(x):
        for m in (whet.nn.functional, math):
            found = getattr(m, "added", None)
            if found is not None:
                return found(x)
        return x * (3 if hasattr(whet.nn.init, "added") else 2)
    def calls(f):
        with _gone_after(math, F, nn.init):
            for owner, added in ((nn.init, 0), (math, whet.exp), (F, whet.relu)):
                yield from thrice(lambda: f(ramp(3) - 1))
                owner.added = added
            yield from thrice(lambda: f(ramp(3) - 1))
    return f, calls


@trap
def gradients_are_switched_on_in_inference_mode():
    """enable_grad and set_grad_enabled within inference_mode: on, and without effect."""
    model = mlp()
    def f(x, mode):
        with whet.inference_mode(), mode():
            y = x * 2
            z = model(y.reshape(1, 3)) + F.dropout(y, 0.5).sum()
            w = whet.ones(2, requires_grad=True)
        asked = whet.is_grad_enabled()
        return y, z, x.view(-1).requires_grad, w.is_inference(), asked, y.grad_fn is None
    def calls(f):
        def on():
            return whet.set_grad_enabled(True)
        for mode in (whet.enable_grad, on, contextlib.nullcontext, whet.no_grad):
            yield from thrice(lambda: [f(x, mode) for x in (leaf(3), ramp(3))])
        with whet.inference_mode():
            yield from thrice(lambda: f(leaf(3), on))
            with whet.enable_grad():
                yield from thrice(lambda: (f(leaf(3), whet.no_grad), whet.is_grad_enabled()))
            yield from thrice(lambda: f(leaf(3), contextlib.nullcontext))
    return f, calls


@trap
def a_backward_is_asked_for_in_inference_mode():
    """Within the function, in modes that the caller chooses."""
    def f(x):
        with whet.enable_grad():
            y = (x * x).sum()
            on = whet.is_grad_enabled()
        return y, on, outcome(y.backward)
    def calls(f):
        for mode in (contextlib.nullcontext, whet.inference_mode, whet.no_grad,
                     lambda: whet.inference_mode(False)):
            with mode():
                yield from thrice(lambda: f(leaf(3)))
        with whet.inference_mode(), whet.set_grad_enabled(True):
            yield from thrice(lambda: f(leaf(3)))
    return f, calls


@trap
def names_of_libraries_are_made_at_run_time():
    """A name that a module gets later, loses, or has something else by."""
    tools = Box(library=F, names=["relu", "added"])
    def f(x):
        for name in tools.names:
            x = getattr(tools.library, name, whet.exp)(x)
        for name in ("add" + "ed", "p" + "i"):
            x = x * vars(math).get(name, 2.0)
        try:
            return operator.attrgetter(tools.names[1])(F)(x)
        except AttributeError:
            return x
    def calls(f):
        def some():
            yield from thrice(lambda: f(ramp(3) - 1))
        with _gone_after(math, F, whet):
            yield from some()
            for owner, added in ((F, whet.tanh), (math, 3.0), (F, whet.sin)):
                owner.added = added
                yield from some()
            with mock.patch.object(F, "relu", whet.sigmoid):
                yield from some()
            with mock.patch.object(math, "pi", 3.0):
                yield from some()
            tools.library = whet
            yield from some()
            with mock.patch.object(whet, "relu", whet.square):
                yield from some()
            whet.added = whet.cos
            yield from some()
        yield from some()
    return f, calls


@trap
def a_dotted_name_is_resolved_in_a_library():
    """Its parts are modules, of which one is exchanged for another object."""
    names = Box(of="nn.functional.relu")
    get = math.__getattribute__
    def f(x):
        return functools.reduce(getattr, names.of.split("."), whet)(x) * 2
    def g(x):
        return x * get(names.of[-2:])
    def calls(f):
        yield from thrice(lambda: f(ramp(3) - 1))
        with mock.patch.object(nn, "functional", Box(relu=whet.sin)):
            yield from thrice(lambda: f(ramp(3) - 1))
        names.of = "nn.functional.added"
        with _gone_after(F):
            F.added = whet.cos
            yield from thrice(lambda: f(ramp(3) - 1))
            F.added = whet.exp
            yield from thrice(lambda: f(ramp(3) - 1))
        names.of = "pi"
        yield from thrice(lambda: whet.jit.trace(g)(ramp(3)))
    return f, calls


@trap
def a_name_comes_among_the_builtins():
    """NameError until then, and after it has gone again."""
    def f(x):
        try:
            return x * added
        except NameError:
            return x
    def calls(f):
        with _gone_after(builtins):
            yield from thrice(lambda: f(ramp(3)))
            builtins.added = 3.0
            yield from thrice(lambda: f(ramp(3)))
        yield from thrice(lambda: f(ramp(3)))
    return f, calls
