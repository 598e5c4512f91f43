"""`autograd.Function` inside of function transforms.

Each transform that is active (`vmap`, `grad`, `jvp`) is a level. A level passes a call of the
user's Function on to the level beneath, by a Function that is made for this call. That one runs the
user's forward and backward, inside of a batch for `vmap`, directly for the others. So every level
that differentiates uses the user's backward. In the level's own history the call is one node, with
a context of its own that has the saved tensors as tensors of this level.
"""
import copy
import warnings
from contextlib import nullcontext
from types import SimpleNamespace

from ..dtypes import FLOAT
from ..ops import batching, registry
from ..ops.tangents import forward_product
from . import modes
from .function import FunctionCtx, attach, backward_of, call, evaluate, methods
from .levels import NeedsNumbers, variable


class _Inside:
    """Where the user's code of one call runs: directly in the level beneath, or in a batch
    (`inner`) on top of that."""

    def __init__(self, inner=None):
        self.inner = inner

    def enter(self):
        return nullcontext() if self.inner is None else self.inner

    def wrap(self, values, batched):
        if self.inner is None:
            return tuple(values)
        return tuple([
            self.inner.tensor(v, batched=True) if b and v is not None else v
            for v, b in zip(values, batched)])

    def unwrap(self, x):
        """(the value of a tensor beneath, is it batched?)"""
        if self.inner is None or not self.inner.owns(x):
            return x, False
        return x.value, x.batched

    def full(self, x):
        """The value of a result: batched, if there is a batch."""
        value, batched = self.unwrap(x)
        if self.inner is None or batched or not registry.is_tensor(value):
            return value
        return batching.repeated(value, self.inner.size)

    def gradient(self, x, batched):
        """The gradient of an argument, in the form that the level beneath expects."""
        if x is None or self.inner is None:
            return x
        value = self.full(x)
        return value if batched else value.sum(0)


class _Call:
    """One call of a Function in the layer beneath a level, and what its forward left."""

    def __init__(self, cls, kwargs, inside, batched):
        self.cls, self.kwargs, self.inside, self.batched = cls, kwargs, inside, batched
        self.__name__ = cls.__name__

    def apply(self, values):
        """(results, saved tensors, those saved for jvp) in the layer beneath. What was saved and is
        neither argument nor result comes as a further result, to have it there. None of them is
        kept here: a node of theirs holds this call."""
        made = call(self, values, {})
        saved = self.found(self.at, values, made)
        return (made[:self.count], saved,
                saved if self.at_forward is None else self.found(self.at_forward, values, made))

    @staticmethod
    def found(at, values, made):
        """The tensors at some positions."""
        return [None if place is None else (values, made)[place[0]][place[1]] for place in at]

    def forward(self, ctx, *values):
        own = self.own = FunctionCtx()
        own.needs_input_grad = ctx.needs_input_grad
        with self.inside.enter():
            args = self.inside.wrap(values, self.batched)
            result = evaluate(self.cls, own, args, self.kwargs)
            self.many = isinstance(result, tuple)
            made = list(result) if self.many else [result]
            self.count = len(made)
            self.at = [_place(x, args, made) for x in own._to_save]
            self.at_forward = (None if own._for_forward is None else [
                _place(x, args, made) for x in own._for_forward])
            self.dirty = [(_index(x, args), _index(x, made)) for x in own._dirty]
            self.nondiff = [_index(x, made) for x in own._nondiff]
            dirty = [j for _, j in self.dirty]
            lowered = [
                self.inside.unwrap(o)[0] if j in dirty else self.inside.full(o)
                for j, o in enumerate(made)]
        ctx.save_for_backward(*self.found(self.at, values, lowered))
        ctx.mark_dirty(*[lowered[j] for j in dirty])
        ctx.mark_non_differentiable(
            *[lowered[j] for j in [*self.nondiff, *range(self.count, len(lowered))]])
        ctx.set_materialize_grads(own._materialize)
        own._to_save = own._dirty = own._nondiff = ()
        return tuple(lowered)

    def is_batched(self, place):
        """Has a saved tensor a batch dimension, if there is a batch?"""
        return place is not None and (place[0] == 1 or self.batched[place[1]])

    def backward(self, ctx, *gs):
        with self.inside.enter():
            own = self.context(self.inside.wrap(ctx.saved_tensors, map(self.is_batched, self.at)))
            r = backward_of(self.cls)(own, *self.inside.wrap(gs[:self.count], [True] * self.count))
            r = r if isinstance(r, tuple) else (r,)
            return tuple([self.inside.gradient(x, b) for x, b in zip(r, self.batched)])

    def context(self, saved):
        """The context that the forward left, with these saved tensors."""
        own = copy.copy(self.own)
        own._to_save, own._saved, own._node = tuple(saved), None, None
        return own


def _place(x, args, made):
    """Where a saved tensor is found: (0, which argument), (1, which result); one that is neither
    becomes a further result."""
    if x is None:
        return None
    i = _index(x, args)
    if i is not None:
        return 0, i
    j = _index(x, made)
    if j is None:
        j = len(made)
        made.append(x)
    return 1, j


def _index(x, among):
    return next((i for i, y in enumerate(among) if y is x and x is not None), None)


def _finished(level, done, cls, args, outs, saved, others):
    """The results as tensors of the level, with its history. `others` makes a tensor of the
    level of a saved one."""
    edges = level.edges(args) if modes.state.flags & modes.GRAD else (None,) * len(args)
    outs = list(outs)
    for i, j in done.dirty:
        level.replace(args[i], outs[j])
        outs[j] = args[i]
    ctx = done.context(())
    ctx.needs_input_grad = tuple([e is not None for e in edges])
    ctx._to_save = tuple([
        None if at is None else
        args[at[1]] if at[0] == 0 else outs[at[1]] if at[1] < len(outs) else others(x)
        for at, x in zip(done.at, saved)])
    ctx._dirty = tuple([args[i] for i, _ in done.dirty])
    ctx._nondiff = tuple([outs[j] for j in done.nondiff])
    return attach(cls, ctx, tuple(outs) if done.many else outs[0], args, edges)


# ---- in a batch ----------------------------------------------------------------------------------
class VmapInfo:
    """What a Function's `vmap` gets to know about the batch."""

    def __init__(self, batch_size, randomness):
        self.batch_size, self.randomness = batch_size, randomness


def batched(level, cls, args, kwargs):
    """A call with arguments of a batch: by the Function's own rule, or its code run on the whole
    batch, or on each example."""
    values = [a.value if level.owns(a) else a for a in args]
    flags = [level.has_batch(a) for a in args]
    if "vmap" in methods(cls):
        return _by_rule(level, cls, args, values, flags)
    made = _Call(cls, kwargs,
                 _Inside(type(level)(level.size, level.randomness) if any(flags) else None), flags)
    try:
        outs, saved, _ = level.beneath(made.apply, values)
    except NeedsNumbers:
        return _each(level, cls, args, kwargs, values, flags)
    outs = [level.tensor(o, batched=any(flags)) if registry.is_tensor(o) else o for o in outs]
    return _finished(level, made, cls, args, outs, saved,
                     lambda x: level.tensor(x, batched=any(flags)))


def _by_rule(level, cls, args, values, flags):
    """`cls.vmap(info, in_dims, *args)` in the layer beneath gives (outputs, their batch
    dimensions)."""
    in_dims = tuple([0 if b else None for b in flags])
    result, dims = level.beneath(cls.vmap, VmapInfo(level.size, level.randomness), in_dims, *values)
    many = isinstance(result, tuple)
    parts = result if many else (result,)
    dims = dims if isinstance(dims, tuple) else (dims,) * len(parts)
    outs = [
        level.tensor(x if not d else level.beneath(x.movedim, d, 0), batched=d is not None)
        if registry.is_tensor(x) else x for x, d in zip(parts, dims)]
    result, ctx = tuple(outs) if many else outs[0], FunctionCtx()
    edges = level.edges(args) if modes.state.flags & modes.GRAD else (None,) * len(args)
    if any(e is not None for e in edges):
        if "setup_context" not in methods(cls):
            raise RuntimeError(
                f"{cls.__name__}: a Function with a `vmap` is differentiated inside of vmap by "
                "its `setup_context`: define it, and a forward without `ctx`")
        ctx.needs_input_grad = tuple([e is not None for e in edges])
        with modes.no_grad():
            cls.setup_context(ctx, args, result)
    return attach(cls, ctx, result, args, edges)


_warned: set = set()


def _each(level, cls, args, kwargs, values, flags):
    """The Function for each example in turn: its code looks at numbers."""
    if modes.is_news(_warned, cls):
        warnings.warn(
            f"vmap: {cls.__name__} looks at the numbers of its arguments, so it runs for each "
            "example in turn. A static method `vmap(info, in_dims, *args)` says how to do all of "
            "them at once.",
            UserWarning,
            stacklevel=5)
    calls = [_Call(cls, kwargs, _Inside(), [False] * len(args)) for _ in range(level.size)]

    kept = []

    def every():
        made = [
            c.apply([v.select(0, i) if b else v for v, b in zip(values, flags)])
            for i, c in enumerate(calls)]
        kept.extend([saved for _, saved, _ in made])
        return [_stack(column) for column in zip(*[outs for outs, _, _ in made])]

    def backward(ctx, *gs):
        parts = [g.value if level.owns(g) else g for g in gs]
        split = [level.has_batch(g) for g in gs]

        def rows():
            found = []
            for i, (c, saved) in enumerate(zip(calls, kept)):
                r = backward_of(c.cls)(c.context(saved),
                                       *[p.select(0, i) if b else p for p, b in zip(parts, split)])
                found.append(r if isinstance(r, tuple) else (r,))
            return [None if column[0] is None else _stack(column) for column in zip(*found)]
        return tuple([None if x is None else level.tensor(x, batched=True)
                      for x in level.beneath(rows)])
    outs = [level.tensor(x, batched=True) for x in level.beneath(every)]
    looped = SimpleNamespace(backward=backward, __name__=cls.__name__)
    edges = level.edges(args) if modes.state.flags & modes.GRAD else (None,) * len(args)
    return attach(looped, FunctionCtx(), tuple(outs) if calls[0].many else outs[0], args, edges)


def _stack(column):
    from ..ops.join import stack
    return stack(column)


# ---- in forward mode -----------------------------------------------------------------------------
def with_tangents(level, cls, args, kwargs):
    """A call with dual tensors: tangents by the Function's `jvp`, or by its backward transposed."""
    values = [a.value if level.owns(a) else a for a in args]
    tangents = [a.tangent if level.owns(a) else None for a in args]
    made = _Call(cls, kwargs, _Inside(), [False] * len(args))
    outs, saved, saved_for_jvp = level.beneath(made.apply, values)
    found = level.derive(_tangents, tangents, made, outs, saved, saved_for_jvp, count=len(outs))
    outs = [level.tensor(o, t) if registry.is_tensor(o) else o for o, t in zip(outs, found)]
    return _finished(level, made, cls, args, outs, saved, level.tensor)


def _tangents(tangents, done, outs, saved, saved_for_jvp):
    if all(t is None for t in tangents):
        return [None] * len(outs)
    if "jvp" in methods(done.cls):
        r = done.cls.jvp(done.context(saved_for_jvp), *tangents)
        return r if isinstance(r, tuple) else (r,)
    recorded = bool(modes.state.flags & modes.GRAD)
    with modes.enable_grad():
        live = [
            j for j, o in enumerate(outs)
            if registry.is_tensor(o) and o.dtype.category >= FLOAT and j not in done.nondiff]
        us = [variable(o.new_zeros(o.shape)) if j in live else None for j, o in enumerate(outs)]
        context = done.context(saved)
        context.needs_input_grad = tuple([t is not None for t in tangents])
        gs = backward_of(done.cls)(context, *us)
        gs = gs if isinstance(gs, tuple) else (gs,)
        pairs = [(g, t) for g, t in zip(gs, tangents)
                 if g is not None and t is not None and g.requires_grad]
        found = iter(forward_product(pairs, [us[j] for j in live], recorded))
    return [next(found) if j in live else None for j in range(len(outs))]


# ---- as it is ------------------------------------------------------------------------------------
def as_it_is(level, cls, args, kwargs):
    """A call on what the arguments stand for."""
    values = [a.value if level.owns(a) else a for a in args]
    made = _Call(cls, kwargs, _Inside(), [False] * len(args))
    outs, saved, _ = level.beneath(made.apply, values)
    outs = [level.tensor(o) if registry.is_tensor(o) else o for o in outs]
    return _finished(level, made, cls, args, outs, saved, level.tensor)
