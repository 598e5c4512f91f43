"""Each call of a library function that is known to be ops' calls, made both ways and compared.

    python -m pytest -p tests.ops.checked_calls tests/ops tests/nn

or `install()` in a program.
"""
from whet import declared_for_tracing, random
from whet.autograd import modes
from whet.ops import calls_without_python
from whet.ops.calls_without_python import MISSED, KnownCalls, Turns
from whet.ops.registry import is_tensor

declared_for_tracing.only_computes(globals())      # traced functions may come by
counts = {"known": 0, "other": 0}


class Differs(BaseException):
    """A known call gave something else than the function."""


def history(t, depth=12):
    """The ops that a tensor comes from, as text."""
    node = t._node if is_tensor(t) else t
    if node is None or depth == 0:
        return "leaf"
    edges = [e if e is None else history(e, depth - 1) for e in getattr(node, "edges", ())]
    return f"{getattr(node, 'op', type(node).__name__)}{edges}"


def facts(x, elements=True):
    """What is to be the same of a result."""
    if is_tensor(x):
        a = x._array
        seen = a.tobytes() if elements else None
        base = None if x._base is None else tuple(x._base.shape)
        return (type(x), a.dtype, a.shape, a.strides, seen, x.requires_grad, x.is_leaf, base,
                x._rg, history(x))
    return (type(x), [facts(y, elements) for y in x]) if isinstance(x, tuple | list) else x


class Before:
    """What a call may change, as it was: generators, and tensors that it is given, with those that
    they are views of."""

    def __init__(self, values):
        tensors = [x for x in calls_without_python.call_values(values, {}) if is_tensor(x)]
        self.tensors = [*tensors, *[t._base for t in tensors if t._base is not None]]
        self.cells = [t._shared() for t in self.tensors]
        self.elements = [t._array.copy() for t in self.tensors]
        self.fields = [(t._rg, t._node, t._hist, t._extra) for t in self.tensors]
        self.counts = [(c.v, c.h, c.writer) for c in self.cells]
        self.generators = [random.default_generator,
                           *[x for x in values if isinstance(x, random.Generator)]]
        self.positions = [(g._seed, g._offset) for g in self.generators]

    def after(self):
        """What has become of all that."""
        tensors = [(facts(t), c.v - v, c.h - h, c.writer) for t, c, (v, h, _) in zip(
            self.tensors, self.cells, self.counts)]
        return tensors, [(g._seed, g._offset) for g in self.generators]

    def restore(self):
        """Undo what the call did."""
        for t, c, a, fields, counts in zip(self.tensors, self.cells, self.elements, self.fields,
                                           self.counts):
            if c.v != counts[0]:
                t._array[...] = a
            t._rg, t._node, t._hist, t._extra = fields
        for c, (v, h, writer) in zip(self.cells, self.counts):
            c.v, c.h, c.writer = v, h, writer
        for g, (_, at) in zip(self.generators, self.positions):
            g._offset = at


def compare(calls, args, direct, again):
    """Raise where results differ."""
    one, other = direct, again
    counts["known"] += 1
    if one != other:
        raise Differs(f"{calls.fn.__name__}{args}: {one} and {other}")


def checked(self, args, kwargs):
    """In the place of `KnownCalls.__call__`."""
    key = calls_without_python.call_key(args, kwargs)
    if key is None:
        return MISSED
    values = (*args, *kwargs.values())
    before = Before(values)
    if key in self.table:
        known = self.table[key]
        try:
            out = MISSED if known is None else self.fn(*args, **kwargs)
        except Exception:
            return MISSED
    else:
        self.met.add(key)
        out = self.first(key, args, kwargs)
        known = self.table.get(key)
    if known is None or out is MISSED:
        counts["other"] += 1
        return MISSED if known is None and out is MISSED else out
    known = known.known if type(known) is Turns else known
    elements = "empty" not in self.fn.__name__

    def seen(x):
        return facts(x, elements), [x is t for t in before.tensors], before.after()
    direct = seen(out)
    before.restore()
    again = known(args, kwargs)
    if again is MISSED:
        return self.fn(*args, **kwargs)
    compare(self, values, direct, seen(again))
    return again


def install():
    """From now on, in this process."""
    KnownCalls.__call__ = checked
    calls_without_python.FRUITLESS = 1 << 60


def pytest_configure(config):
    install()


def pytest_unconfigure(config):
    assert not modes.state.observers
    print(f"\nknown calls compared: {counts}")
