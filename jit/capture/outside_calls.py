"""Calls that act outside of Python's state (`print`, writing to streams, warnings, logging,
caches), clocks, and functions of numbers.

While a function is recorded, stand-ins lie in the places where it finds these (names of modules,
attributes, cells). They do what is asked, and note it: a replay does it again, in the same order,
after everything that can still make it give up. The text must be made of what does not change from
call to call, of numbers that were seen to vary and of tensors without a history, which are passed
on as they come.
"""
import functools
import gc
import io
import logging
import math
import re
import sys
import types
import warnings
import weakref

import numpy as np
from whet.autograd import modes
from whet.dtypes import dtype
from whet.ops.python import CLOCKS, NUMERIC, clock
from whet.tensor import Tensor
from whet.tensor_base import Base

from ..guards.origin import ours
from ..report.reasons import Caches, Inspects, Prints
from ..report.type_names import thing
from .numpy_arrays import MAKERS, Array, takes, tensor_of
from .output import METHODS, frame_above, handlers_of, is_pythons_own, line_at, log_at, shows_warnings_plainly, warn_at
from .stand_ins import CACHED, LEVELS, Cache, Function, Logger, StandIn, Stream, real
from .varying_numbers import NUMBERS, Number, plain, reclaim, through, value_of
from .varying_texts import Text

TIMES, MATH = tuple(CLOCKS.values()), {f: name for name, f in NUMERIC.items()}
# of numbers
ASKED = {
    math.isnan: lambda v: v != v,
    math.isinf: lambda v: abs(v) == math.inf,
    math.isfinite: lambda v: abs(v) < math.inf}
KNOWN = frozenset((*TIMES, *MATH, *ASKED))
# of a text: how each thing becomes text
CONVERSIONS = re.compile(r"%[#0\- +]*\d*(?:\.\d+)?[hlL]?([a-zA-Z%])").findall
NUMERALS = frozenset("diouxXeEfFgG")         # (those of numbers)
# logging.info and the others
MODULE = {getattr(logging, name): level for name, level in LEVELS.items()}
SMALL = 1000                     # elements of a tensor that is copied for its text
EQUAL = tuple, types.MethodType              # what is the same to a recording where it is equal
NEVER = frozenset((int, float, complex, bool, str, bytes, type(None), list, tuple, dict, set, frozenset, type, types.ModuleType, types.CellType,
                   # (of others an abstract class is asked)
                   types.CodeType, types.MethodType, Tensor))
FIXED = (int, float, complex, bool, str, bytes, type(None), dtype)


def stands(x):
    """Is there a stand-in for such an object?"""
    t = type(x)
    if t is np.ndarray:
        return takes(x)
    if t is types.BuiltinFunctionType:
        return (x is print or x is warnings.warn or x in KNOWN or x in MAKERS
                or isinstance(x.__self__, io.IOBase) and x.__name__ in METHODS)
    if t is functools.partial:
        return stands(x.func)
    if t is types.FunctionType:
        return x in MODULE or x is logging.getLogger or x in MAKERS
    return t not in NEVER and isinstance(x, io.IOBase | logging.Logger | CACHED)


# during a run that name leads to a stand-in
PRINT = print


class Call:
    """A call that a replay repeats: what does it, with what, and how many nodes were recorded
    before."""
    __slots__ = ("does", "args", "kwargs", "after", "recipes", "ready", "calm")

    def __init__(self, does, args, kwargs, after, ready=None, calm=None):
        self.does, self.args, self.kwargs, self.after, self.recipes = does, args, kwargs, after, None
        # would it do its part, without raising, as things are now?
        self.ready = ready or _yes
        self.calm = calm or _yes             # would it run no code of the user's?


class Outward:
    """The calls of one run, and the stand-ins that note them."""

    def __init__(self, rec, watch, world, slots):
        self.rec, self.watch, self.given, self.left, self.busy = rec, watch, {}, [], False
        self.known = world.seen              # objects that are guarded, by id
        self.moving = frozenset(map(id, world.grads))        # those of them that are soon others
        self.slots = frozenset(map(id, slots))               # tensors that may be others
        # met: what could have a stand-in, and has none
        self.streams, self.met = (sys.stdout, sys.stderr), world.met
        rec.outward = self

    def stand_in(self, x):
        """What a run finds in place of an object."""
        made = self.given.get(id(x))
        if made is None:
            self.given[id(x)] = made = self.make(x)
        return made

    def make(self, x):
        if type(x) is np.ndarray:
            return self.rec.numpys.stand_in(x)
        if isinstance(x, types.FunctionType | types.BuiltinFunctionType) and x in MAKERS:
            return Function(x, self, functools.partial(self.rec.numpys.make, x))
        if isinstance(x, functools.partial):
            return functools.partial(self.stand_in(x.func), *x.args, **x.keywords)
        if isinstance(x, io.IOBase | logging.Logger | CACHED):
            return (Stream if isinstance(x, io.IOBase) else
                    Logger if isinstance(x, logging.Logger) else Cache)(x, self)
        if x in MATH:
            return Function(x, self, functools.partial(through, x, MATH[x]))
        # (a replay must get the same answer, not have the same number)
        if x in ASKED:
            return Function(x, self, lambda v: bool(ASKED[x](v)) if type(v) in NUMBERS else x(v))
        if x in TIMES:
            return Function(x, self, lambda: self.time(x))
        if x is logging.getLogger:
            return Function(x, self, lambda *name: self.stand_in(x(*name)))
        if type(x) is types.FunctionType:
            return Function(x, self, functools.partial(self.log, logging.root, MODULE[x]))
        if x is warnings.warn:
            return Function(x, self, self.warn)
        if x is float or x is int:
            return Function(x, self, functools.partial(self.number, x))
        if x is id:
            return Function(x, self, self.identity)
        return Function(x, self, self.print if x is print else functools.partial(self.written, x))

    # ---- what stand-ins do -----------------------------------------------------------------------
    def live(self):
        """Does the run go on, in this thread, and is this not part of another such call?"""
        return not self.busy and self.rec in modes.state.observers

    def time(self, x):
        """A clock is looked at."""
        if self.rec.trying is not None:
            self.rec.trying("it looks at a clock")
        with modes.no_grad():
            t = clock(name=x.__name__)
        return Number(t._array.item(), t, self.rec, 0)

    @staticmethod
    def number(kind, *args, **kwargs):
        """float() or int(), which of a tensor's number or one that varies are others at each
        call."""
        x = args[0] if len(args) == 1 and not kwargs else None
        if (type(x) is Array and tensor_of(x)._array.size == 1
                and tensor_of(x)._array.dtype.kind in "fiu"):
            x = x.item()
        if type(x) is Tensor and x._array.size == 1 and x._array.dtype.kind in "fiu":
            x = x.item()
        if type(x) not in NUMBERS or type(value_of(x)) is bool:
            return kind(*args, **kwargs) if x is None else kind(x)
        if type(value_of(x)) is kind:
            return x
        return x * 1.0 if kind is float else through(math.trunc, "trunc", x)

    def do(self, does, args, kwargs, ready=None, calm=None, now=None):
        """Make a call (by `now` where that is another function), and note it."""
        rec, watch = self.rec, self.watch
        if rec.trying is not None:
            rec.trying("it acts outside of Python's state")
        if ((does is not PRINT or kwargs.get("file") is None)
                and (sys.stdout, sys.stderr) != self.streams):
            rec.refuse(Prints("it prints, logs or warns to a stream that it has put there itself"))
        rec.acts.append(Call(does, args, kwargs, len(rec.nodes), ready, calm))
        state = modes.state
        before, self.busy, watch.aside = state.observers, True, True
        state.observers = tuple(o for o in before if o is not rec)
        modes.refresh()
        try:
            return (now or does)(*[_value(x) for x in args],
                                 **{k: _value(x) for k, x in kwargs.items()})
        except BaseException:
            state.observers = before
            rec.refuse(Prints("what it writes or prints raised an error"))
            raise
        finally:
            if rec.reason is None:
                state.observers = before
            self.busy, watch.aside = False, False
            modes.refresh()

    def texts(self, args, result_is_used=False):
        """The arguments, with Texts for strings that Numbers were written into."""
        return self.rec.texts.arguments(self.rec.user(), args, result_is_used)

    def passed(self, x):
        """An argument as a replay can have it again."""
        if type(x) in FIXED or type(x) in NUMBERS or type(x) is Text:
            return x
        # (of a tensor that is refused)
        return x if isinstance(x, Base) and self.bare(x) else str(x)

    @staticmethod
    def bare(t):
        """Does the text of a tensor say nothing but its numbers?"""
        return not t.requires_grad and not t._extra

    def kept(self, x):
        """The same where only the text of the moment is wanted: of a small tensor a copy, which
        nobody writes to."""
        x = self.passed(x)
        if type(x) is Tensor and x._array.size <= SMALL:
            with modes.no_grad():
                return x.clone()
        return x

    def print(self, *args, **kwargs):
        """print()"""
        file = kwargs.get("file")
        if isinstance(file, Stream):
            file = kwargs["file"] = object.__getattribute__(file, "_real")
        if file is None and sys.stdout is not self.streams[0]:           # (redirected, inside)
            if issubclass(type(sys.stdout), Stream):
                file = kwargs["file"] = real(sys.stdout)
            elif type(sys.stdout) is io.StringIO and id(sys.stdout) not in self.met:
                out = self.do(PRINT, [self.kept(x) for x in self.texts(args)],
                              {**kwargs, "file": sys.stdout})
                # (the run made it, and who reads it is refused: this leaves nothing behind)
                self.rec.acts = self.rec.acts[:-1]
                return out
        if (file is not None and not isinstance(file, io.IOBase)
                or not kwargs.keys() <= {"sep", "end", "file", "flush"}):
            self.rec.refuse(Prints("it prints to an object of its own"))
            return PRINT(*args, **kwargs)
        return self.do(PRINT, [self.kept(x) for x in self.texts(args)],
                       kwargs, lambda: not getattr(file or sys.stdout, "closed", False),
                       lambda: is_pythons_own(file or sys.stdout))

    def written(self, method, *args):
        """A method of a stream that writes."""
        stream = method.__self__
        args = [
            plain(x) if type(x) in NUMBERS else tuple(x) if method.__name__ == "writelines" else x
            for x in self.texts(args, True)]
        return self.do(method, args, {}, lambda: not stream.closed, lambda: is_pythons_own(stream))

    def warn(self, message, category=None, stacklevel=1, source=None):
        """warnings.warn()"""
        category = type(message) if isinstance(message, Warning) else category or UserWarning
        if source is not None or type(message) is not str:
            self.rec.refuse(Prints("it warns of an object of its own"))
        frame, left = sys._getframe(2), max(stacklevel, 1) - 1
        while left and frame is not None and not ours(frame):
            frame, left = frame.f_back, left - 1
        # the line is not the function's own: it is another at each call
        outside = frame is None or ours(frame)
        here, filters = (line_at(frame_above(frame, left) if outside else frame),
                         list(warnings.filters))
        return self.do(functools.partial(warn_at, None if outside else here, left),
                       [*self.texts([message]), category], {}, lambda: warnings.filters == filters,
                       shows_warnings_plainly,
                       functools.partial(warn_at, here, 0))

    def repeat(self, message, category, frame):
        """A warning of ours, of a line that a frame is at."""
        filters = list(warnings.filters)
        self.do(functools.partial(warn_at, line_at(frame), 0), [message, category], {},
                lambda: warnings.filters == filters,
                shows_warnings_plainly)

    def log(self, logger, level, msg, *args, **kwargs):
        """A method of a logger."""
        if kwargs:
            self.rec.refuse(Prints("it logs with settings of its own"))
            return logger.log(level, msg, *args, **kwargs)
        frame = sys._getframe(2)
        where = frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
        ways = [way for way in CONVERSIONS(msg) if way != "%"] if type(msg) is str else []
        plain_places = (type(msg) is str and len(ways) == len(args) and "*" not in msg
                        and "%(" not in msg if args else self.passed(msg) is msg)
        if not plain_places or not all(map(self.fits, args, ways)):
            if not self.asked(logger.isEnabledFor, level):
                return None
            self.rec.refuse(Prints("it logs an object of its own, or by a text with places of "
                                   "another kind than %s or %d"))
            return log_at(logger, level, where, msg, *args)
        msg, *args = self.texts([msg, *args])
        passed = [
            self.passed(msg),
            *(x.detach() if isinstance(x, Base) and way in NUMERALS else self.passed(x)
              for x, way in zip(args, ways))]
        return self.do(functools.partial(log_at, logger, level, where), passed, {}, None,
                       lambda: all(is_pythons_own(h) for h in handlers_of(logger)))

    def fits(self, x, way):
        """Does something become text in a certain way as what a replay has in its place does?"""
        return (type(x) in FIXED or type(x) in NUMBERS or way == "s"
                or isinstance(x, Base) and (way in NUMERALS or self.bare(x)))

    def cached(self, function, *args, **kwargs):
        """A call of a function with a cache. A replay makes it again where the cache holds what
        it held."""
        args, kwargs = ([plain(x) if type(x) in NUMBERS else x for x in args],
                        {k: plain(x) if type(x) in NUMBERS else x for k, x in kwargs.items()})
        before = function.cache_info()
        out = function(*args, **kwargs)
        now = function.cache_info()
        if now.misses != before.misses:
            self.rec.passing = True
            self.rec.refuse(Caches(f"it fills the cache of {function.__qualname__}"))
        elif not all(type(x) in FIXED or id(x) in self.known and type(x).__hash__ is object.__hash__ for x in (*args, *kwargs.values())) \
                or not all(type(x) in FIXED or isinstance(x, Base) and id(x) in self.known for x in (out if type(out) is tuple else (out,))):
            self.rec.refuse(Caches(f"it reads objects from the cache of {function.__qualname__}"))
        else:
            contents = cached_by(function)

            def as_it_was():
                return set(map(id, cached_by(function))) == ids
            ids = set(map(id, contents))
            # (they live as long: no other object gets the id of one)
            as_it_was.contents = contents
            self.rec.acts.append(
                Call(functools.partial(function, *args, **kwargs), [], {}, len(self.rec.nodes),
                     as_it_was))
        return out

    def identity(self, x):
        """id(): the same at each call only for what is compared by identity."""
        i = id(x)
        if i in self.slots:                  # (recorded once more, with this one alone)
            self.rec.pinned.add(i)
        elif i not in self.known or i in self.moving or isinstance(x, EQUAL):
            self.rec.refuse(
                Inspects(
                    f"it asks for the `id` of {thing(type(x))}, which may be another at each call"))
        return i

    def asked(self, question, *args):
        """Python goes on from an answer: a replay must get the same."""
        answer = question(*args)
        self.do(_nothing, [], {}, lambda: question(*args) == answer)
        return answer

    # ---- afterwards ------------------------------------------------------------------------------
    def describe(self, results):
        """The calls' arguments as recipes."""
        for c in self.rec.acts:
            c.recipes, c.args = [results.argument(x) for x in c.args], None

    def overtaken(self):
        """Is a tensor written to after it was printed?"""
        return any(
            isinstance(x, Base) and self.changes(x, c.after) for c in self.rec.acts for x in c.args)

    def changes(self, t, after):
        rec = self.rec

        def root(n):
            n = rec.memory.get(n, n)
            return "outside" if n in rec.outside else n

        return any(n.kind == "write" and root(n.ins[0]) == root(rec.value(t))
                   for n in rec.nodes[after:])

    def take_back(self):
        """The real objects wherever the run left stand-ins."""
        self.rec.outward = None
        self.left += [(weakref.ref(x), object.__getattribute__(x, "_real"))
                      for x in self.given.values() if isinstance(x, StandIn)]
        self.given.clear()
        reclaim(self.left)


def cached_by(function):
    """The keys and results that a function with a cache holds, among other things."""
    held = gc.get_referents(function)
    return [*held, *(x for d in held if type(d) is dict for x in (*d, *d.values()))]


def _nothing():
    pass


def _yes():
    return True


def _value(x):
    return value_of(x) if type(x) in NUMBERS else x.text if type(x) is Text else x
