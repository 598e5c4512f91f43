"""The level of `func.batch`: ops are noted, and run in groups when numbers are needed."""
from typing import Any

import numpy as np

from .. import dtypes
from ..autograd import function_levels as functions
from ..autograd import modes
from ..autograd.levels import Level, LevelTensor
from ..layouts import contiguous_format
from ..op_table import REGISTRY
from ..ops import pointwise_family, registry
from ..ops.changes_in_place import in_place
from ..ops.convert import copy_op, detach_op
from ..ops.random import draw_op
from ..tensor import new as new_tensor
from ..tensor_base import REQUIRES_GRAD, Base
from . import batch_scheduler, cell, outlines
from .batch_scheduler import Call, Part, Result
from .trees import mapped

state, GRAD, INFERENCE = modes.state, modes.GRAD, modes.INFERENCE
NUMBERS, UNKNOWN, TYPES = registry.OPERANDS, object(), list(dtypes.NAMED.values())
_NONE: dict = {}
new: Any = new_tensor
LOSES_HISTORY = (
    "func.batch: {}_ writes to memory that several tensors show (a view, or what has views), where "
    "a gradient is taken inside of the function. Use the op that is not in place, and cat, stack "
    "or where to put parts together")


class Memory:
    """What tensors that are views of one show. Its `result` is that of the whole; a write puts
    another one in its place."""
    __slots__ = ("result", "version")

    def __init__(self, result):
        self.result, self.version = result, 0


def _steps(chain):
    """The view ops of a chain, (op, attributes, which of the results), the first one first."""
    steps: list = []
    while chain is not None:
        chain, *step = chain
        steps.insert(0, step)
    return steps


def _has_detached(t):
    """Is a tensor a view without the history of what it is a view of?"""
    return t.memory is not None and any([op is detach_op for op, _, _ in _steps(t.chain)])


class PendingTensor(LevelTensor):
    """A tensor of one example, which may be computed later.

    `_array` is that of its outline, or its own once somebody asked for numbers. One that shares
    its memory with others is what its `chain` of view ops makes of the whole memory, and looks
    again after a write (`seen` is the version that it knows)."""
    __slots__ = ("result", "memory", "chain", "seen")
    level: Any
    result: Result
    memory: Any
    chain: Any
    seen: int
    _rg: int
    _is_one_of_many = True
    _array: Any = Base._array       # that of plain tensors: it is asked for all the time

    @property
    def value(self):
        """The tensor of the layer beneath, computed if it was not."""
        return self.level.numbers(self)

    def _as(self, cls):
        return self.value._as(cls)

    def __repr__(self, **_):            # type: ignore[override]
        return repr(self.value)


class EscapedTensor(PendingTensor):
    """What became of such a tensor when its level was left."""
    __slots__ = ()

    @property
    def _refused(self):
        raise RuntimeError(self.level.escaped)

    _array = _refused

    def __repr__(self, **_):            # type: ignore[override]
        return "EscapedTensor()"


class PendingLevel(Level):
    """One call of `func.batch`."""
    name = "func.batch"
    puts_off = True

    def __init__(self):
        self.bits = TYPES.index(dtypes.get_default_dtype()) << 3
        super().__init__()
        self.pending: list = []         # calls that are noted and were not run
        self.tensors: list = []         # all tensors of this level
        self.outside: dict = {}         # of tensors from outside, by id: (tensor, its Result)
        self.views: dict = {}           # of tensors from outside: (a view, the tensor)
        self.places: dict = {}          # where in the whole memory the elements of a view are
        self.has_history = False        # did the op at hand get a tensor that requires grad?

    @property
    def quiet(self):
        """Does a backward run here that records nothing, though the layer beneath may?"""
        return bool(self.bits & 4)

    @quiet.setter
    def quiet(self, value):
        self.bits = self.bits & ~4 | (4 if value else 0)

    def __exit__(self, *exc):
        super().__exit__(*exc)
        self.let_go()
        self.pending.clear()

    def let_go(self):
        """The function has returned: its tensors may not be used from now on."""
        for t in self.tensors:
            t.__class__ = EscapedTensor
        self.tensors.clear()

    # ---- tensors ----
    def tensor(self, value):
        return self.of(Result(outlines.outline(value._array), value))

    def of(self, result):
        """A tensor that shows a result."""
        t = new(PendingTensor)
        t.level, t.result, t.memory, t._array = self, result, None, result.outline.array
        self.tensors.append(t)
        return t

    def twin(self, t):
        r = self.sharing(self.current(t), t)
        r.chain = t.chain
        return r

    def sharing(self, result, source, *step):
        """A tensor that shows the memory of `source`, after another view op."""
        memory = source.memory
        if memory is None:
            memory = source.memory = Memory(source.result)
            source.chain, source.seen = None, 0
        t = self.of(result)
        t.memory, t.chain, t.seen = memory, (source.chain, *step), memory.version
        return t

    def replace(self, t, r):
        t.result, t.memory, t._array = r.result, r.memory, r._array
        if r.memory is not None:
            t.chain, t.seen = r.chain, r.seen

    def current(self, t):
        """The result that a tensor shows now."""
        memory = t.memory
        if memory is not None and t.seen != memory.version:
            part = self.of(memory.result)
            for op, attrs, i in _steps(t.chain):
                part = self.compute(op, (part,), attrs)
                part = part if i is None else part[i]
            t.result, t.seen = part.result, memory.version
        return t.result

    def numbers(self, t):
        """The tensor of the layer beneath that `t` stands for."""
        value = self.tensors_of([self.current(t)])[0]
        t._array = value._array
        return value

    def tensors_of(self, results):
        """The tensors of the layer beneath for some results."""
        missing = [r for r in results if r.tensor is None]
        if missing:
            self.run()
            if any([r.tensor is None and r.block is None for r in missing]):
                raise RuntimeError(
                    f"{self.name}: a tensor was not computed, since an error was raised before")
            self.beneath_fully(batch_scheduler.take, missing)
        return [r.tensor for r in results]

    # ---- ops ----
    def __call__(self, op, inputs, attrs):
        if not attrs:
            known = self.at_sight(op, inputs)
            if known is not None:
                return known
        if not inputs and state.observers[0] is self:
            return self.tensor(registry.execute(op, inputs, attrs))
        outs = self.compute(op, inputs, attrs)
        if self.has_history:
            self.has_history = False
            self.finish(op, inputs, attrs, outs)
        elif op.is_view and self.owns(inputs[0]):
            registry.share(op, inputs[0], outs, state.flags)
        return outs

    def at_sight(self, op, inputs):
        """The result of an op of one or two of this level's tensors, where no more has to be
        looked at: most are such. None for others."""
        operands, key = [], [op, state.flags & 3 | self.bits]
        for x in inputs:
            if type(x) is not PendingTensor or x.level is not self or x._rg & REQUIRES_GRAD:
                return None
            memory = x.memory
            r = x.result if memory is None or memory.version == x.seen else self.current(x)
            operands.append(r)
            key.append(r.outline)
        kind = outlines.known(tuple(key))
        return self.noted_plainly(kind, op, operands, _NONE) if kind and kind.is_plain else None

    def noted_plainly(self, kind, op, operands, attrs):
        """The tensor of a call of one result in memory of its own, which is noted."""
        call = Call(kind, op, operands, attrs)
        self.pending.append(call)
        t = new(PendingTensor)
        t.level, t.result, t.memory, t._array = self, call, None, kind.array
        self.tensors.append(t)
        return t

    def compute(self, op, inputs, attrs):
        if attrs:
            key = [op, state.flags & 3 | self.bits, *attrs.items(), *map(type, attrs.values())]
        else:
            key = [op, state.flags & 3 | self.bits]
        operands, ours = [], False
        for x in inputs:
            if type(x) is PendingTensor and x.level is self:
                memory = x.memory
                r = x.result if memory is None or memory.version == x.seen else self.current(x)
                if x._rg & REQUIRES_GRAD:
                    self.has_history = True
                ours = True
            elif type(x) in NUMBERS:
                key += type(x), x if x or type(x) is not float else str(x)
                continue
            else:
                found = self.outside.get(id(x)) or self.from_outside(x)
                if found is None:
                    return self.at_once(op, inputs, attrs)
                r = found[1]
            operands.append(r)
            key.append(r.outline)
        key = tuple(key)        # type: ignore[assignment]
        if not ours and (op.is_view or op is detach_op or not operands):
            return self.from_outside_alone(op, inputs, attrs, key)
        try:
            kind = outlines.known(key, UNKNOWN)
        except TypeError:                   # an attribute that cannot be a key
            return self.at_once(op, inputs, attrs)
        if kind is UNKNOWN:
            kind = outlines.kind_of(key, op, inputs, attrs, [r.outline for r in operands])
        if kind is None:
            return self.at_once(op, inputs, attrs)
        if kind.is_plain:
            return self.noted_plainly(kind, op, operands, attrs)
        return self.noted(kind, op, operands, attrs, inputs)

    def noted(self, kind, op, operands, attrs, inputs=()):
        """Tensors for the results of a call, which is noted."""
        call = Call(kind, op, operands, attrs)
        self.pending.append(call)
        if type(kind.outlines) is tuple:
            call.parts = [Part(o, call) for o in kind.outlines]
            if op.is_view:
                return tuple([self.sharing(p, inputs[0], op, attrs, i)
                              for i, p in enumerate(call.parts)])
            return tuple([self.of(p) for p in call.parts])
        return self.sharing(call, inputs[0], op, attrs, None)

    def mode(self):
        """The gradient mode, as it is part of what makes calls equal."""
        return state.flags & 3 | self.bits

    def operands(self, tensors):
        """What tensors show."""
        return [self.current(t) if self.owns(t) else
                (self.outside.get(id(t)) or self.from_outside(t))[1] for t in tensors]

    def note_cell(self, op, args, kwargs):
        return cell.note(self, op, args, kwargs)

    def from_outside(self, x):
        """A tensor from outside, in the form in which it is kept; None if it is none."""
        if not registry.is_tensor(x):
            return None
        found = x, Result(outlines.outline(x._array, is_outside=True), x)
        self.outside[id(x)] = found
        return found

    def from_outside_alone(self, op, inputs, attrs, key):
        """A new tensor, or a view of one from outside. That is made once, since tensors that are
        shared are known by being the same object."""
        if op is detach_op:
            return self.beneath(registry.apply, op, inputs, attrs)
        if not op.is_view:
            return self.at_once(op, inputs, attrs)
        key = *key, id(inputs[0])
        try:
            found = self.views.get(key)
        except TypeError:
            return self.beneath(registry.apply, op, inputs, attrs)
        if found is None:
            # with the tensor, whose id no other object has while it is kept
            found = self.views[key] = self.beneath(registry.apply, op, inputs, attrs), inputs[0]
        return found[0]

    def at_once(self, op, inputs, attrs):
        """An op that is not put off: in the layer beneath, on what its operands stand for."""
        values = tuple([x.value if self.owns(x) else x for x in inputs])
        outs = self.beneath(registry.apply, op, values, attrs)
        if op.is_view and not self.owns(inputs[0]):
            return outs
        made = [Result(outlines.outline(t._array), t)
                for t in (outs if type(outs) is tuple else (outs,))]
        many = type(outs) is tuple
        if op.is_view:
            tensors = [self.sharing(r, inputs[0], op, attrs, i if many else None)
                       for i, r in enumerate(made)]
        else:
            tensors = [self.of(r) for r in made]
        return tuple(tensors) if many else tensors[0]

    def now(self, f, *args):
        """f(*args) in the layer beneath, with what tensors among the arguments stand for."""
        return self.beneath(f, *mapped(lambda t: t.value if self.owns(t) else t, args))

    def draw(self, generator, op, shape):
        return self.tensor(self.beneath(draw_op, generator, op, shape))

    def function(self, cls, args, kwargs):
        return functions.as_it_is(self, cls, args, kwargs)

    # ---- writes ----
    def inplace(self, op, t, args, attrs):
        if not self.owns(t):
            return self.write_outside(op, t, args, attrs)
        if t.memory is not None and not op.is_view and state.flags & GRAD and any(
                [self.owns(x) and x.requires_grad for x in (t, *args)]):
            raise RuntimeError(LOSES_HISTORY.format(op.name))
        return super().inplace(op, t, args, attrs)

    def write_outside(self, op, t, args, attrs):
        """A write to a tensor from outside. What was noted before it sees the tensor as it was."""
        if any([self.owns(x) and x.requires_grad for x in args]) and state.flags & GRAD:
            raise RuntimeError(
                f"{self.name}: {op.name}_ writes what a gradient is taken of inside of the "
                "function into a tensor from outside of it: use the op that is not in place")
        if (op.is_view or op.name == "resize") and any([t is v for v, _ in self.views.values()]):
            raise RuntimeError(
                f"{self.name}: {op.name}_ of a view of a tensor from outside: use the op that is "
                "not in place")
        self.run()
        values = tuple([x.value if self.owns(x) else x for x in args])
        r = self.beneath(in_place, op, t, values, attrs)
        self.outside.clear()
        return r

    def write(self, op, t, args, attrs):
        """A write in place. No memory is overwritten: from now on `t`, and all tensors that share
        its memory, refer to another result."""
        r = args[0] if op is copy_op else self.compute(op, (t, *args), attrs)
        self.has_history = False
        pointwise_family.check_fits(r._array, t, op.name + "_")
        r = self.fitted(r, t).result
        memory = t.memory
        whole = t.result if memory is None else memory.result
        after = self.put(memory, t, r) if memory is not None and t.chain else r
        if self.flags & GRAD and (not state.flags & GRAD or _has_detached(t)):
            after = self.overwritten(whole, after)
        t._array = after.outline.array if t.memory is None or not t.chain else t._array
        if memory is None:
            t.result = after
        else:
            memory.result = after
            memory.version += 1

    def overwritten(self, before, after):
        """What is written without a record keeps the history that it has."""
        before, after = self.tensors_of([before, after])
        made = self.beneath_fully(before.clone)
        self.beneath_in(state.flags & ~GRAD, made.copy_, after)
        return Result(outlines.outline(made._array), made)

    def fitted(self, r, t):
        """A tensor with the shape and type of `t`."""
        a = t._array
        if r.dtype is not t.dtype:
            r = r.to(t.dtype)
        if r._array.shape != a.shape:
            r = r.expand(a.shape)
        if not self.owns(r) or r._array.strides != a.strides:
            r = self.compute(REGISTRY["clone_format"], (r,), {"memory_format": contiguous_format})
        return r

    def put(self, memory, t, r):
        """The whole memory with another part in the place of a view."""
        whole = self.of(memory.result)
        shape = whole._array.shape
        key = shape, tuple([(op, tuple(attrs.items()), i) for op, attrs, i in _steps(t.chain)])
        places = self.places.get(key)
        if places is None:
            places = self.places[key] = self.beneath(
                registry.apply, REGISTRY["constant"], (), {"array": _places(shape, t.chain)})
        if places.dtype is not dtypes.int64:
            raise RuntimeError(
                f"{self.name}: a view of another type than its base cannot be written to")
        flat = whole.reshape(-1).scatter(0, places, self.of(r).reshape(-1))
        return flat.reshape(shape).result

    # ---- running what is pending ----
    def run(self):
        """Run what was noted."""
        if self.pending:
            calls, self.pending = self.pending, []
            batch_scheduler.run(calls, self.run_group)

    def run_group(self, calls):
        """Run calls that were noted in the same mode."""
        mode = calls[0].kind.mode
        quiet, self.quiet = self.quiet, mode & 4
        try:
            self.beneath_in(state.flags & ~3 | mode & 3, batch_scheduler.run_group, calls)
        finally:
            self.quiet = quiet

    def beneath_fully(self, f, *args):
        """f(*args) in the layer beneath, in the mode in which the level was entered."""
        return self.beneath_in(state.flags & ~3 | self.flags & 3, f, *args)

    def beneath_in(self, flags, f, *args):
        """f(*args) in the layer beneath, in a mode that is not that of now. Operands of products
        were made smaller already where `autocast` wants it."""
        before = state.flags
        with modes.own_types():
            modes.set_flags(flags)
            try:
                return self.beneath(f, *args)
            finally:
                modes.set_flags(before)

    # ---- what Python asks ----
    def refuse_numbers(self, t):
        self.numbers(t)

    def listed(self, t):
        return self.beneath(t.value.tolist if self.owns(t) else t.tolist)

    def exposed(self, t):
        if self.owns(t):
            return self.beneath(_copy_of, t.value)
        return super().exposed(t)

    def asked(self, t, what):
        if self.owns(t) and what in ("address", "place in memory"):
            self.numbers(t)
        return super().asked(t, what)

    def ask(self, question, tensors):
        return self.beneath(registry.ask, question,
                            *[t.value if self.owns(t) else t for t in tensors])


def _copy_of(t):
    return t.detach().clone().numpy()


def _places(shape, chain):
    """Where in memory of this shape the elements of a view are, in order."""
    places = np.arange(int(np.prod(shape))).reshape(shape)
    for op, attrs, i in _steps(chain):
        places = op.forward(places, **attrs)
        places = places if i is None else places[i]
    return places.reshape(-1).copy()
