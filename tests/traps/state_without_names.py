"""What Python and libraries go by, and no code names: hooks of statements, registers of classes."""
import builtins
import collections.abc
import contextlib
import copy
import copyreg
from unittest import mock

import whet
from whet.utils.checkpoint import checkpoint, set_checkpoint_early_stop

from tests.traps.harness import Box, leaf, ramp, thrice, trap


@trap
def imports_are_hooked():
    """builtins.__import__ notes what is imported, and gives something else."""
    seen, real = [], builtins.__import__
    def hook(name, *args, **kwargs):
        if name != "math":
            return real(name, *args, **kwargs)
        seen.append(name)
        return Box(pi=4.0)
    def f(x):
        import math
        return x * math.pi
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        with mock.patch.object(builtins, "__import__", hook):
            results = list(thrice(lambda: f(ramp(2))))
        yield results, seen
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def class_statements_are_hooked():
    """builtins.__build_class__ changes what is made."""
    real = builtins.__build_class__
    def hook(body, name, *bases, **kwargs):
        made = real(body, name, *bases, **kwargs)
        if name == "Scale":
            made.by = 7.0
        return made
    def f(x):
        class Scale:
            by = 2.0
        return x * Scale.by
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        with mock.patch.object(builtins, "__build_class__", hook):
            results = list(thrice(lambda: f(ramp(2))))
        yield results
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def a_class_becomes_a_sequence():
    """By `register`, which patterns go by, and so one becomes a mapping."""
    class Pair:
        def __len__(self): return 2
        def __getitem__(self, i): return (2.0, 3.0)[i]
    class Names:
        def __len__(self): return 1
        def get(self, name, default=None): return 5.0
        def keys(self): return ["a"]
        def __getitem__(self, name): return 5.0
    pair, names = Pair(), Names()
    def f(x):
        match pair:
            case [a, b]:
                x = x * a + b
        match names:
            case {"a": a}:
                x = x - a
        return x
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        collections.abc.Sequence.register(Pair)
        yield from thrice(lambda: f(ramp(2)))
        collections.abc.Mapping.register(Names)
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def copies_are_registered():
    """`copyreg.pickle` says how objects of a class are copied."""
    class Scale:
        def __init__(self, by): self.by = by
    scale = Scale(2.0)
    def f(x): return x * copy.copy(scale).by + copy.deepcopy(scale).by
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        copyreg.pickle(Scale, lambda x: (Scale, (x.by * 10,)))
        yield from thrice(lambda: f(ramp(2)))
        del copyreg.dispatch_table[Scale]
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def warnings_are_always_said():
    """whet.set_warn_always outside, is_warn_always_enabled inside."""
    def f(x): return x * (2 if whet.is_warn_always_enabled() else 3)
    def calls(f):
        try:
            for always in (False, True, False):
                whet.set_warn_always(always)
                yield from thrice(lambda: f(ramp(2)))
        finally:
            whet.set_warn_always(False)
    return f, calls


@trap
def second_runs_end_early_or_not():
    """set_checkpoint_early_stop around the call, and a block that tells when it ends."""
    def block(x):
        y = x.sin()
        print("end")
        return y
    def f(x):
        checkpoint(block, x, use_reentrant=False).sum().backward()
        return x.grad
    def calls(f):
        for around in (contextlib.nullcontext, lambda: set_checkpoint_early_stop(False)):
            with around():
                yield from thrice(lambda: f(leaf(2)))
        yield from thrice(lambda: f(leaf(2)))
    return f, calls
