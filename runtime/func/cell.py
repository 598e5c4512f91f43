"""`cell`: a function that `func.batch` takes for one op."""
from functools import wraps
from typing import Any

from ..autograd import modes
from ..autograd.levels import NeedsNumbers
from ..ops import batching
from ..random import fork_rng
from ..tensor import Tensor, wrap
from . import outlines
from .trees import like, tensors
from .vmap import BatchLevel

state = modes.state


class _Tensor:
    """Stands for a tensor in the form of arguments."""

    def __repr__(self):
        return "a tensor"


TENSOR, LEAF = _Tensor(), object()


def _apart(value, found):
    """The form of a value, which can be a key: all but its tensors, which are `found`."""
    if isinstance(value, Tensor):
        found.append(value)
        return TENSOR
    if isinstance(value, dict):
        return type(value), tuple(value), tuple([_apart(x, found) for x in value.values()])
    if isinstance(value, tuple | list):
        return type(value), None, tuple([_apart(x, found) for x in value])
    # Equal numbers may have other signs: 0.0 and -0.0.
    return LEAF, type(value), value, str(value) if type(value) is float else None


def _together(form, values):
    """A value of this form, with the next tensors of an iterator."""
    if form is TENSOR:
        return next(values)
    kind, names, parts = form[:3]
    if kind is LEAF:
        return parts
    made = [_together(x, values) for x in parts]
    if names is not None:
        return kind(zip(names, made))
    return kind(*made) if hasattr(kind, "_fields") else kind(made)


class CellOp:
    """A function as an op of `func.batch`. Its operands are the tensors among its arguments."""
    is_view = False

    def __init__(self, func):
        self.func, self.name = func, getattr(func, "__name__", "cell")
        self.kinds: dict = {}           # of a call -> its kind, the result on stand-ins

    def called(self, values, attrs):
        """The result for some operands."""
        args, kwargs = _together(attrs["form"], iter(values))
        return self.func(*args, **kwargs)

    def alone(self, inputs, attrs):
        """One call."""
        return self.checked(tuple(tensors(self.called(inputs, attrs))), attrs, 0)

    def checked(self, outs, attrs, first):
        """The results, if they have the shapes seen before, compared from dimension `first` on."""
        shapes = [t._array.shape[first:] for t in outs]
        if shapes != attrs["shapes"]:
            raise RuntimeError(
                f"func.cell: `{self.name}` returned tensors of the shapes {attrs['shapes']} "
                f"before, and {shapes} now, for arguments of the same kind. Only a function of its "
                "arguments alone may be a cell: call this one without `cell`")
        return outs

    def batch(self, n, inputs, batched, attrs):
        """The calls of a group, as `vmap` makes them."""
        try:
            return self._batch(n, inputs, batched, attrs)
        except NeedsNumbers as e:
            raise NeedsNumbers(
                f"func.cell: `{self.name}` depends on the numbers in its tensors, which a cell "
                "may not: call it without `cell`") from e

    def _batch(self, n, inputs, batched, attrs):
        with BatchLevel(n, "different") as level:
            lifted = [level.tensor(x, batched=True) if b else x for x, b in zip(inputs, batched)]
            outs = [(t.value, t.batched) if level.owns(t) else (t, False)
                    for t in tensors(self.called(lifted, attrs))]
        full = tuple([t if b else batching.repeated(t, n) for t, b in outs])
        return self.checked(full, attrs, 1)

    def kind_of(self, key, operands, attrs):
        """The kind of a call, and the outlines of its results. A cell that reads elements while
        only shapes are known has none."""
        if len(self.kinds) >= outlines.MOST_KINDS:
            self.kinds.clear()
        try:
            result = self._tried(operands, attrs)
        except (RuntimeError, ValueError, IndexError):
            result = None
        found: Any = (None, None)
        if tensors(result):
            made = tuple([outlines.outline(t._array) for t in tensors(result)])
            found = outlines.Kind(self, made, (...,) * len(operands), key[0], operands), result
        self.kinds[key] = found
        return found

    def _tried(self, operands, attrs):
        """The result for stand-ins, which only whet sees."""
        observers, flags, state.observers = state.observers, state.flags, ()
        modes.set_flags(0)
        try:
            with fork_rng():
                return self.called([wrap(o.array).clone() for o in operands], attrs)
        finally:
            state.observers = observers
            modes.set_flags(flags)


def cell(func):
    """A function that `func.batch` takes for one op: what it does to many examples is noted once
    for each call, and not for each op in it.

    Elsewhere it is the function itself. Like a function for `vmap`, it may not depend on the
    numbers of its tensors, nor write to tensors from outside.

    >>> import whet
    >>> @whet.func.cell
    ... def joined(left, right):
    ...     return whet.tanh(left + 2 * right)
    >>> def total(tree):
    ...     return tree if whet.is_tensor(tree) else joined(total(tree[0]), total(tree[1]))
    >>> a = whet.tensor(0.5)
    >>> whet.func.batch(total)([(a, a), (a, (a, a)), a])
    [tensor(0.9051), tensor(0.9805), tensor(0.5000)]
    """
    op = CellOp(func)

    @wraps(func)
    def call(*args, **kwargs):
        note = getattr(state.observers[-1], "note_cell", None) if state.observers else None
        return func(*args, **kwargs) if note is None else note(op, args, kwargs)
    return call


def note(level, op, args, kwargs):
    """A call of a cell inside of `func.batch`; run like any other code where a gradient is taken
    inside, and where types are changed by `autocast`."""
    found: list = []
    form = _apart((args, kwargs), found)
    results = level.operands(found)
    if not results or state.autocast is not None or any(
            [t.requires_grad for t in found if level.owns(t)]):
        return op.func(*args, **kwargs)
    key = (level.mode(), form, *[r.outline for r in results])
    attrs = {"form": form}
    try:
        kind, result = op.kinds.get(key) or op.kind_of(key, [r.outline for r in results], attrs)
    except TypeError:
        kind = None
    if kind is None:
        return op.func(*args, **kwargs)
    attrs["shapes"] = kind.shapes
    return like(result, level.noted(kind, op, results, attrs))
