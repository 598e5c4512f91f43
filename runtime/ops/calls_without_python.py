"""Calls of library functions without the functions' own Python, where that was found to do nothing
but call ops.

A function of the library examines its arguments (which form is meant, do the sizes fit) and calls
ops. Of tensors it reads types, layouts and flags; anything else that it reads is reported to
observers. The key of a call (`passes/lower_llvm/calls/call_keys.py`) has all of these and the
values of all other arguments, so calls with the same key lead to the same ops. The second of them
is observed. It qualifies if it only called ops on its arguments and on their results, and asked
questions about these. Later calls then repeat these ops without Python, as long as the answers are
the same. Both ways are timed, and the faster one is used.

Such a call may draw random numbers, and may end with a write in place. If it stops before the end,
because an answer differs or an op refuses the data, its draws are undone, and the function is
called.
"""
import functools
import operator
from time import perf_counter

import numpy as np

from .. import declared_for_tracing, devices, dtypes, random, tensor_base
from ..autograd import modes
from ..cpu import repeated_calls
from ..layouts import layout, memory_format
from ..tensor import Size
from . import registry
from .changes_in_place import in_place
from .observer import Observer
from .pointwise_family import inplace
from .registry import REGISTRY, apply, is_tensor

declared_for_tracing.only_computes(globals())
call_key = tensor_base.native_call_key
MISSED = object()
STEPS = 48                       # that a known call has at most: of more, ops take most of the time
TURNS = 10                       # calls in which the two ways are timed
FEW = 64                         # elements of a constant, which a known call keeps
KEYS = 1 << 10                   # of a function: so many are known, or known to be no such calls
PLAIN = bool | int | float | str | np.generic | None             # answers that can be compared
FRUITLESS = 32                   # keys in vain, until a function is left alone


class More(BaseException):
    """A call is about to do more than call ops."""


class Failed(Exception):
    """A call has raised `error`, and is not to be made again: it has drawn or written."""

    def __init__(self, error):
        self.error = error


class Watch(Observer):
    """Notes what one call does: `steps`, each an op, a draw, a question or a write, which values
    its operands are, and the op's attributes or the answer, and the sizes of what an op makes that
    may be others for other data. Values are those of the call (see `call_values`), numbers
    that are operands, and what ops make, in this order. `steps` is None once something else has
    happened."""
    wants_parts = False

    def __init__(self, values):
        self.steps: list | None = []
        self.values, self.numbers, self.made = values, [], []
        self.where = {id(t): i for i, t in enumerate(values) if is_tensor(t)}
        # tensors that the function makes of what the key has, and their views; they are operands
        # alone
        self.constants: dict = {}
        self.states = [(t, state_of(t)) for t in values if is_tensor(t)]
        self.inside = False                  # of an op
        self.flags = None                    # the modes of the call, once it is watched
        self.draws: list = []
        # what is written to, and its version before, once something is
        self.written: tuple | None = None

    def __call__(self, op, inputs, attrs):
        self.inside = True
        try:
            outs = registry.execute(op, inputs, attrs)
        finally:
            self.inside = False
        made = outs if type(outs) is tuple else (outs,)
        if self.is_constant(op, inputs, attrs):
            self.constants.update({id(t): t for t in made})
        elif op.random or holds_data(attrs):
            self.steps = None
        elif self.steps is not None:
            varies = op.may_fail and any(map(is_tensor, inputs))
            sizes = [t._array.shape for t in made] if varies else None
            self.note(op, inputs, dict(attrs), sizes)
            self.add(made)
        return outs

    def is_constant(self, op, inputs, attrs):
        """Does an op make a constant of few elements, or views of one?"""
        if op.is_view:
            return id(inputs[0]) in self.constants
        return op is REGISTRY["constant"] and attrs["array"].size <= FEW

    def add(self, made):
        """Tensors that a step has made are values, too."""
        for t in made:
            self.where[id(t)] = -1 - len(self.made)
            self.made.append(t)
            self.states.append((t, state_of(t)))

    def draw(self, generator, op, shape):
        """Random numbers."""
        maker = op.maker(shape)
        out = self.unseen(drawn, generator, maker, self.draws)
        if self.steps is not None:
            self.note(DRAW, [generator], maker)
            self.add([out])
        return out

    def inplace(self, op, t, args, attrs):
        """A write. Nothing may follow."""
        steps, array = self.steps if self.is_unchanged() else None, t._array
        self.written = self.written or (t, version(t))
        if id(t) in self.constants:
            steps = None
        self.unseen(in_place, op, t, args, attrs)
        self.steps = steps if t._array is array else None
        self.note(Write(op), (t, *args), dict(attrs))
        self.states = [(x, state_of(x)) for x, _ in self.states]
        return t

    def unseen(self, run, *args):
        """Do something that no observer sees."""
        modes.state.observers = ()
        try:
            return run(*args)
        finally:
            modes.state.observers = (self,)

    def has_written(self):
        """Is something other than it was?"""
        return self.written is not None and version(self.written[0]) != self.written[1]

    def is_all(self):
        """Were steps all that happened?"""
        return bool(self.steps) and self.is_unchanged()

    def is_unchanged(self):
        """Are tensors as the last step left them? One may have been marked otherwise than by an
        op."""
        return all(state_of(t) == before for t, before in self.states)

    def ask(self, question, tensors):
        answer = question(*[t._array for t in tensors])
        if all([isinstance(x, PLAIN) for x in (answer if type(answer) is tuple else (answer,))]):
            self.note(Question(question), tensors, answer)
        else:
            self.steps = None
        return answer

    def note(self, what, operands, more, sizes=None):
        """Note one more step, where all is known of it."""
        if self.steps is not None:
            at = [self.place(x) for x in operands]
            if (None in at or len(self.steps) == STEPS or modes.state.flags != self.flags
                    or self.steps and type(self.steps[-1][0]) is Write):
                self.steps = None
            else:
                self.steps.append((what, at, more, sizes))

    def place(self, x):
        """Which value an operand is, those that ops made counted from -1 down; None for one that
        is unknown."""
        if is_tensor(x) and id(x) not in self.constants:
            return self.where.get(id(x))
        if isinstance(x, np.ndarray):
            return None
        self.numbers.append(x)
        return len(self.values) + len(self.numbers) - 1

    def counted(self, at):
        """What `place` returns, counted from 0 on, once there are no more numbers to come."""
        return at if at is None or at >= 0 else len(self.values) + len(self.numbers) - 1 - at

    def beside(self, source, made):
        return made

    def stop(self, *args, **kwargs):
        """What goes another way where an observer is begins here."""
        raise More


def _something_else(method):
    def call(self, *args, **kwargs):
        if not self.inside:
            self.steps = None
        return method(self, *args, **kwargs)
    return call


for _name in ("cond", "while_loop", "function"):
    setattr(Watch, _name, Watch.stop)
for _name, _method in vars(Observer).items():
    if callable(_method) and _name not in vars(Watch) and _name not in ("sizes", "computed"):
        setattr(Watch, _name, _something_else(_method))


def state_of(t):
    """What a tensor is beside its elements."""
    return (t._rg, id(t._node), id(t._base), id(t._grad), id(t._extra), id(t._array), version(t))


def version(t):
    """How often a tensor was written to."""
    return t._cell is not None and t._cell.v


class Question:
    """What is asked of arrays in a step."""
    __slots__ = ("ask",)

    def __init__(self, ask):
        self.ask = ask


DRAW = object()                  # a step that draws numbers from a generator


class Write:
    """The step that an op is in place of its first operand."""
    __slots__ = ("op",)

    def __init__(self, op):
        self.op = op


def drawn(generator, maker, draws):
    """The next numbers of a generator. `draws` has what `undo` needs to know of it."""
    blocks, make = maker
    seed, at = generator.take(blocks)
    draws.append((generator, (seed, at), blocks))
    return make(seed, at)


def undo(draws):
    """Undo the draws of a call: set generators back, except for those from which others have drawn
    since."""
    for generator, before, blocks in reversed(draws):
        generator.go_back(before, blocks)


def holds_data(x):
    """Is it an array, or is there one in it?"""
    if isinstance(x, dict):
        return any(map(holds_data, x.values()))
    return isinstance(x, np.ndarray) or is_tensor(x) or (
        isinstance(x, tuple | list) and any(map(holds_data, x)))


def call_values(args, kwargs):
    """The arguments of a call, in order; of a list with tensors, what is in it."""
    found = []
    for x in (*args, *kwargs.values()):
        if has_tensors(x):
            found += x
        else:
            found.append(x)
    return found


def has_tensors(x):
    """Is it a list with tensors in it?"""
    return type(x) in (list, tuple) and any(map(is_tensor, x))


class KnownCalls:
    """The calls of one function, whose arguments `check` is to see before. `table`: key -> a
    function of arguments that gives the result, or None where there is none; `met`: keys that came
    once; `is_open`: is it still asked whether calls are known?"""
    __slots__ = ("fn", "check", "table", "met", "vain", "is_open")

    def __init__(self, fn, check):
        self.fn, self.check, self.vain, self.is_open = fn, check, 0, True
        self.forget()

    def __call__(self, args, kwargs):
        """The result of a call that is known; MISSED for others."""
        if not self.is_open or (key := call_key(args, kwargs)) is None:
            return MISSED
        known = self.table.get(key, MISSED)
        if known is MISSED:
            return self.first(key, args, kwargs)
        try:
            return MISSED if known is None else known(args, kwargs)
        except MemoryError:
            raise
        except Failed as e:
            error = e.error
        except Exception:                    # it will be raised again
            return MISSED
        raise error

    def forget(self):
        """Nothing is known."""
        self.table, self.met = {}, set()

    def first(self, key, args, kwargs):
        """The result of a call whose key is in no table; MISSED where nothing was done."""
        if key not in self.met:
            if len(self.met) >= KEYS:
                self.met.clear()
            self.met.add(key)
            return MISSED
        if len(self.table) >= KEYS:
            self.table.clear()
        self.check(args, kwargs)
        watch = Watch(call_values(args, kwargs))
        try:
            modes.state.observers = (watch,)
            modes.set_flags(modes.state.flags | modes.SPECIAL)
            watch.flags = modes.state.flags
            out = self.fn(*args, **kwargs)
        except (More, Exception):            # it will be raised again
            if watch.has_written():
                raise
            undo(watch.draws)
            out, watch.steps = MISSED, None
        finally:
            modes.state.observers = ()
            modes.set_flags(modes.state.flags & ~modes.SPECIAL)
        known = known_call(watch, out, args, kwargs)
        self.settle(key, None if known is None else Turns(self, key, known))
        return out

    def settle(self, key, known):
        """What calls of a key are, or that they are none that are known."""
        self.table[key] = known
        self.vain += known is None
        if self.vain >= FRUITLESS and not any(self.table.values()):
            self.is_open = False             # nor will others be
            self.forget()


class Turns:
    """The first calls of a key, which are made in both ways in turn: the shorter one goes on."""
    __slots__ = ("calls", "key", "known", "seconds", "turn")

    def __init__(self, calls, key, known):
        self.calls, self.key, self.known, self.turn = calls, key, known, 0
        self.seconds = [float("inf")] * 2

    def __call__(self, args, kwargs):
        which, self.turn = self.turn % 2, self.turn + 1
        start = perf_counter()
        out = self.own(args, kwargs) if which else self.known(args, kwargs)
        self.seconds[which] = min(self.seconds[which], perf_counter() - start)
        if out is MISSED:                    # the data decides: the function is asked at once
            self.calls.settle(self.key, None)
        elif self.turn == TURNS:
            known, other = self.seconds
            self.calls.settle(self.key, self.known if known < other else None)
        return out

    def own(self, args, kwargs):
        """The function's own way."""
        try:
            return self.calls.fn(*args, **kwargs)
        except Exception as e:
            raise Failed(e) from None


def known_call(watch, out, args, kwargs):
    """What a call is that was watched and gave `out`, as a function of its arguments; None where
    that cannot be told."""
    if not watch.is_all():
        return None
    steps = [_prepared(what, [watch.counted(i) for i in at], more, sizes)
             for what, at, more, sizes in watch.steps]
    several = isinstance(out, tuple)
    found = [watch.counted(watch.where.get(id(t))) if is_tensor(t) else None
             for t in (out if several else (out,))]
    write = None
    if type(steps[-1][0]) is Write:
        last, _, operands, attrs, _ = steps.pop()
        write = functools.partial(_write, last.op, last.op.writes or last.op, operands, attrs)
    if None in found and not (write and out is None):
        return None
    kept = [*kwargs, *[frozen(x) for x in watch.values if not is_tensor(x)]]
    parts = call_values if any(map(has_tensors, (*args, *kwargs.values()))) else None
    made = [watch.counted(-1 - i) for i in range(len(watch.made))]
    if len(steps) == 1 and not write and found == made and (
            type(out) is tuple or not several) and steps[0][0] is not DRAW:
        (op, _, operands, attrs, _), = steps
        if not watch.steps[0][1]:
            return functools.partial(_made, op, attrs, kept)
        return functools.partial(_one, op, operands, attrs, watch.numbers, parts, kept)
    make = None if not several else type(out)._make if hasattr(out, "_make") else type(out)
    result = (_nothing if out is None else _picked(found) if several
              else operator.itemgetter(found[0]))
    return functools.partial(_several, steps, write, watch.numbers, parts, kept, result, make)


def frozen(x):
    """What keeps objects alive that a key knows by address, whatever becomes of a list of them."""
    return tuple(map(frozen, x)) if isinstance(x, tuple | list) else x


def _prepared(what, at, more, sizes):
    """A step as it is taken: (what, its only operand's place or None, a function that gives its
    operands or None where it has none, more, sizes)."""
    return what, at[0] if len(at) == 1 else None, _picked(at) if at else None, more, sizes


def _picked(at):
    """A function that gives such values of a tuple, as one; of a list as one or the other."""
    first = at[0] if at else 0
    return operator.itemgetter(*at) if len(at) > 1 else operator.itemgetter(
        slice(first, first + len(at)))


def _made(op, attrs, kept, args, kwargs):
    """A new tensor by an op without operands."""
    return registry.apply_without_operands(op, attrs)


def _one(op, picked, attrs, numbers, parts, kept, args, kwargs):
    """The call of an op in the place of a function's."""
    values = tuple(parts(args, kwargs)) if parts else (*args, *kwargs.values())
    return apply(op, picked((*values, *numbers) if numbers else values), attrs)


def _several(steps, write, numbers, parts, kept, result, make, args, kwargs):
    """The calls of ops, of which some give the result, and a write at the end."""
    values = parts(args, kwargs) if parts else [*args, *kwargs.values()]
    values += numbers
    if steps:
        draws: list = []
        try:
            if not _taken(steps, values, draws):
                undo(draws)
                return MISSED
            if write:
                write(values)
        except Exception:
            undo(draws)
            raise
    else:
        write(values)
    return result(values) if make is None else make(tuple(result(values)))


def _taken(steps, values, draws):
    """Take the steps. Are answers and sizes those that were?"""
    for what, at, picked, more, sizes in steps:
        if type(what) is Question:
            if what.ask(*[t._array for t in picked(values)]) != more:
                return False
        elif what is DRAW:
            values.append(drawn(values[at], more, draws))
        else:
            out = (apply(what, (values[at],), more) if at is not None
                   else apply(what, picked(values), more) if picked
                   else registry.apply_without_operands(what, more))
            if type(out) is tuple:
                if sizes is not None and [t._array.shape for t in out] != sizes:
                    return False
                values += out
            else:
                if sizes is not None and out._array.shape != sizes[0]:
                    return False
                values.append(out)
    return True


def _write(op, known, picked, attrs, values):
    """An op in place of its first operand; machine code may know it by `known`."""
    operands = tuple(picked(values))
    if tensor_base.native_write(known, operands, attrs, op.writer) is not None:
        return
    t, *others = operands
    before = version(t)
    try:
        inplace(op, t, others, attrs)
    except Exception as e:
        if version(t) != before:
            raise Failed(e) from None
        raise


def _nothing(values):
    """What a call gives that gives nothing."""


ALL: list[KnownCalls] = []


def calls_of(fn, check):
    """The calls of a function, for `guard` to ask; None where there is no machine code."""
    if call_key is None:
        return None
    made = KnownCalls(fn, check)
    ALL.append(made)
    return made


def forget():
    """Nothing is known of any function."""
    for calls in ALL:
        calls.forget()


dtypes.on_default_change.append(forget)
devices.on_default_change.append(forget)
if call_key is not None:
    repeated_calls.know_calls_by(
        Size, (bool, type(None), type(...), str, dtypes.dtype, devices.device,
               layout, memory_format, random.Generator))
