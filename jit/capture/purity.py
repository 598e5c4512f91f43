"""Watches a run for what cannot be recorded: code whose outside references were not searched, and
calls that do more than compute.

The interpreter reports every call and return. Nearly all of these are internal to the framework,
and machine code filters them out (`passes/lower_llvm/calls/profile_function.py`): it knows the code
of ours that never leads to the user's functions."""
from __future__ import annotations

import atexit
import ctypes as C
import functools
import gc
import sys
import threading
import types
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from whet import declared_for_tracing
from whet.cpu import native
from whet.passes.lower_llvm.calls import profile_function as L
from whet.tensor import Tensor

from ..guards import allowed_calls as known
from ..guards.asked_gradients import AskedGradients, names_gradients
from ..guards.bytecode import instructions, names_only_in_isinstance
from ..guards.locks import LocksOfRun
from ..guards.sizes import looks_beneath, may_catch_errors, tells_anything, tells_sizes
from ..refusals.reasons import Calls, Draws, Inspects, Reaches
from ..stand_ins.streams_and_functions import Function
from ..values.code_origin import makes_a_tuple, origin_of, ours
from .frames import WRAPPING, arguments_of, line_of

if TYPE_CHECKING:
    from ..guards.outside_state import World
    from ..refusals.reasons import Reason

STAND_IN = Function.__call__.__code__    # it gives Python's, or a guard
LENGTH = Tensor.__len__.__code__         # a guard where sizes are followed
IMPORTING = frozenset(("_frozen_importlib", "_frozen_importlib_external"))


class _Known:
    """The table, searched by machine code, of our code that never leads to the user's functions."""

    def __init__(self) -> None:
        self.held: dict[int, weakref.ref[types.CodeType]] = {}
        self.words, self.lock = (C.c_int64 * len(L.W))(), threading.RLock()
        self.table = (C.c_int64 * 0)()
        self.names = (C.c_int64 * L.KINDS)()
        for kind, name in (L.CALL, "call"), (L.RETURN, "return"), (L.C_CALL, "c_call"):
            self.names[kind] = id(sys.intern(name))
        self.words[L.W["tensor"] // 8], self.words[L.W["names"] // 8] = id(Tensor), C.addressof(
            self.names)
        self.grow(1 << 12)
        native.export("whet_watch", C.addressof(self.words))
        code = native.image("jit/watch", L.source, ["watched", "unwatched"])
        self.at = code["watched"]
        self.unwatched = native.function(code["unwatched"], "unwatched", "", native.METH_FASTCALL)
        atexit.register(self.held.clear)     # nothing is watched at exit
        self.begin = C.PYFUNCTYPE(None, C.c_void_p, C.py_object)(("PyEval_SetProfile", C.pythonapi))

    def grow(self, size: int) -> None:
        """Move the contents to another table that is not smaller."""
        # Threads may search the old one until the words have changed.
        before, self.table = self.table, (C.c_int64 * size)()
        self.words[L.W["table"] // 8], self.words[L.W["mask"] // 8], self.used = (C.addressof(
            self.table), size - 1, 0)
        for address in self.held:
            self.insert(address)
        del before

    def insert(self, address: int) -> None:
        i = L.slot(address, mask := len(self.table) - 1)
        while self.table[i] not in (0, L.GONE):
            i = i + 1 & mask
        self.used += self.table[i] == 0
        self.table[i] = address

    def add(self, code: types.CodeType) -> None:
        """Let machine code skip the calls of some code."""
        address = id(code)
        with self.lock:
            if address not in self.held:
                if 2 * self.used > len(self.table):
                    self.grow(2 * len(self.table) if 4
                              * len(self.held) > len(self.table) else len(self.table))
                self.held[address] = weakref.ref(code, lambda _: self.remove(address))
                self.insert(address)

    def remove(self, address: int) -> None:
        """Remove code that was freed."""
        with self.lock:
            del self.held[address]
            i = L.slot(address, mask := len(self.table) - 1)
            while self.table[i] != address:
                i = i + 1 & mask
            self.table[i] = L.GONE


@functools.cache
def known_code() -> _Known | None:
    """The table that machine code searches; None if there is no machine code."""
    return _Known() if native.enabled() else None


class Watch:
    """Watches every call in a run, for code that was not searched and for calls that do more than
    compute. `size_read_at`: where the framework first gave the user's code something that may
    depend on sizes and is not a guard (see sizes.py). `read_at`: where it gave it anything.
    `gradients`: which gradients from before the run could have been asked for."""
    of_users_calls = True

    def __init__(self, world: World, refuse: Callable[[Reason], object]) -> None:
        self.codes, self.watching, self.refuse = world.codes, world.watching, refuse
        self.world, self.unread = world, world.unread
        self.size_read_at: str | None = None
        self.read_at: str | None = None
        self.locks = LocksOfRun(world.unread.locks)
        self.gradients = AskedGradients(world.past_names.reads_slots)
        # the outermost frame that may catch an error, where none could be raised so far
        self.catching: types.FrameType | None = None
        # are sizes Numbers, and the length of a tensor a guard?
        self.follows = False
        # the code that calls the traced function
        self.runner: types.CodeType | None = None
        self.looking = False
        # is this an act outside of Python's state? did one of them run user code?
        self.aside = self.foreign = False
        self.beyond: set[types.CodeType] = set()     # user code that was not read
        # code of methods that `dataclass` has written in the run
        self.written: set[types.CodeType] = set()

    def __enter__(self) -> Self:
        self.before, self.collecting = sys.getprofile(), gc.isenabled()
        self.random = _numpys_random()
        self.looking = True                  # from here on there is something to undo
        gc.disable()                         # what a collection calls is not the function's doing
        self.look()
        return self

    def look(self) -> None:
        """Start watching."""
        known = known_code() if type(self) is Watch else None
        if known is None:
            sys.setprofile(self)
        else:
            known.begin(known.at, self)

    @staticmethod
    def unwatched(compute: Callable[..., Any], *args: Any) -> Any:
        """Call internal code that calls no user code, without watching it."""
        known = known_code()
        return compute(*args) if known is None else known.unwatched(compute, *args)

    def withdraw(self) -> None:
        """Stop watching and restore everything."""
        if self.looking:
            if self.before is None or callable(self.before):
                resume(self.before)
            else:
                self.before.enable()         # cProfile
            if self.collecting:
                gc.enable()
            # Last: where an interrupt ends this midway, it is done again.
            self.looking = False

    def stop_watching(self) -> None:
        """Stop watching, because the user's code could notice it; the run is not recorded."""
        self.refuse(Inspects("it asks what is alive, or who watches"))
        self.withdraw()

    def __exit__(self, *exc: object) -> None:
        self.withdraw()
        if (x := self.locks.one_not_free()) is not None:
            self.refuse(Reaches("a lock that another thread holds, or that it does not give back",
                                x, self.world))
        if _numpys_random() != self.random:
            self.refuse(Draws("it draws from numpy.random"))

    def random_is_noted(self) -> None:
        """Note that NumPy's own generator was drawn from, by a draw that is recorded."""
        self.random = _numpys_random()

    def __call__(self, frame: types.FrameType, event: str, arg: Any) -> None:
        if self.aside:
            names = frame.f_globals
            self.foreign |= (event == "call" and origin_of(names) is None
                             and not makes_a_tuple(frame.f_code, names))
        elif event == "call":
            self.called(frame)
        elif event == "c_call":
            self.native(arg, frame)
        elif (event == "return" and self.size_read_at is None and arg is not None and ours(frame)
              and not declared_for_tracing.is_sizeless(frame) and tells_anything(arg)):
            self.returned(frame, arg)
        elif event == "return" and frame is self.catching:
            self.catches_no_more()

    def returned(self, of: types.FrameType, x: Any) -> None:
        """A framework function, in this frame, returns a result to its caller or to the code for
        which the caller works."""
        code, frame = of.f_code, of.f_back
        while frame is not None and (origin := origin_of(frame.f_globals)) is not None:
            if origin.is_ours:
                return
            frame = frame.f_back
        if frame is not None:
            is_guarded = (code is STAND_IN or code in declared_for_tracing.TELLING
                          or code is LENGTH and self.follows)
            self.note_read(frame, is_guarded or not tells_sizes(x))

    def note_read(self, frame: types.FrameType, is_guarded: bool) -> None:
        """Note that the user's code, in this frame, learns something that may depend on sizes."""
        self.read_at = self.read_at or line_of(frame.f_code, frame.f_lineno)
        if not is_guarded:
            self.size_read_at = self.size_read_at or self.read_at

    def called_with(self, frame: types.FrameType | None) -> bool:
        """Does framework code make this call, with arguments of its own?"""
        origin = (None
                  if frame is None or frame.f_code is self.runner else origin_of(frame.f_globals))
        return origin is not None and origin.is_ours and origin.module != "whet.nn.module"

    def passed_on(self, frame: types.FrameType) -> set[int]:
        """The ids of what a framework wrapper received from the user's code and passes back to it,
        directly or through functions that pass everything on. Examples: `@no_grad()` on the traced
        function, `autograd.Function.apply`."""
        inner = []
        while (frame.f_back is not None and frame.f_back.f_code is not self.runner
               and ours(frame.f_back)):
            inner.append(frame)
            frame = frame.f_back
        code, held, above = frame.f_code, frame.f_locals, frame.f_back
        by_user = above is not None and (above.f_code is self.runner or above.f_code in self.codes)
        if not by_user or code.co_flags & WRAPPING != WRAPPING:
            return set()
        first = code.co_argcount + code.co_kwonlyargcount
        args, kwargs = (held.get(name, ()) for name in code.co_varnames[first:first + 2])
        if not all(any(x is args for x in f.f_locals.values()) for f in inner):
            return set()
        return set(map(id, (*args, *(kwargs.values() if kwargs else ()))))

    def is_given_sizes(self, frame: types.FrameType) -> bool:
        """Does a frame have an argument that a framework caller made of sizes?"""
        assert frame.f_back is not None
        known = self.passed_on(frame.f_back)
        return tells_sizes([x for x in arguments_of(frame) if id(x) not in known])

    def users_code_begins(self, frame: types.FrameType) -> None:
        """Note whether the user's code, in a frame that begins, could learn of sizes."""
        code = frame.f_code
        if looks_beneath(code) or self.called_with(frame.f_back) and self.is_given_sizes(frame):
            self.may_read_sizes(code)
        elif self.catching is None and may_catch_errors(code):
            self.catching = frame
            sys.setprofile(self)             # of machine code, which knows some of our code already

    def may_raise(self, frame: types.FrameType) -> bool:
        """Could a function of ours that others call raise an error for some sizes?"""
        by = None if frame.f_back is None else origin_of(frame.f_back.f_globals)
        return not (declared_for_tracing.is_sizeless(frame)
                    or by is not None and (by.is_ours or by.module in IMPORTING))

    def may_read_sizes(self, code: types.CodeType) -> None:
        """Note that some code of the user's may learn of sizes."""
        self.size_read_at = self.size_read_at or line_of(code, code.co_firstlineno)
        self.read_at = self.read_at or self.size_read_at
        self.catches_no_more()

    def catches_no_more(self) -> None:
        """What may catch an error ends, or is known to matter."""
        if self.catching is not None:
            self.catching = None
            self.look()

    def called(self, frame: types.FrameType) -> None:
        code = frame.f_code
        if asks := names_gradients(code):
            self.gradients.begins(frame)
        if reads := code in declared_for_tracing.READING_UNNAMED:
            reason = self.unread.read_by_ours(frame)
        else:
            reason = (self.unread.read_by(frame, code in self.codes)
                      if self.unread and not ours(frame) else None)
        if reason is not None:
            self.refuse(reason.within(self.world))
        if code in self.codes:
            if self.locks:
                self.locks.begins(code, self.unread.said_by(code))
            if self.size_read_at is None:
                self.users_code_begins(frame)
            watching = self.watching.intersection(code.co_names)
            if watching and not watching <= names_only_in_isinstance(code):
                self.stop_watching()
            return
        origin = origin_of(frame.f_globals)
        if origin is not None and origin.is_ours:
            if self.catching is not None and self.may_raise(frame):
                self.may_read_sizes(self.catching.f_code)
            if not (asks or reads) and (table := known_code()) is not None:
                table.add(code)
            return
        if not self.works_for_the_user(frame):
            return
        if origin is not None:
            self.beyond |= (new := self.unread.run_by(frame))
            if new or not known.code_only_computes(origin, code):
                self.refuse(Calls(f"{origin.module}.{code.co_name}"))
        elif not (makes_a_tuple(code, frame.f_globals) or self.is_written(frame)):
            self.beyond.add(code)
            self.refuse(Calls(f"{code.co_qualname}, which was not within reach"))
            if _asks_who_watches(frame):
                self.stop_watching()

    def is_written(self, frame: types.FrameType) -> bool:
        """Is this code that `dataclass` has written of a class's fields in this run, and that goes
        by nothing but its arguments? A builtin that it names is not compared."""
        code = frame.f_code
        if frame.f_back is not None and frame.f_back.f_code is known.WRITES_METHODS:
            self.written.update(_with_those_within(code))
        return code in self.written and "LOAD_GLOBAL" not in {
            name for name, *_ in instructions(code)}

    def works_for_the_user(self, frame: types.FrameType) -> bool:
        """Is this code foreign code that runs on behalf of the user? Code that the framework calls,
        and imports, are the framework's own business."""
        origin, back, importing = origin_of(frame.f_globals), frame.f_back, False
        while back is not None and back.f_code not in self.codes and not ours(back):
            importing |= (by := origin_of(back.f_globals)) is not None and by.module in IMPORTING
            back = back.f_back
        # A module of ours, imported for the first time, may make classes of text.
        importing |= back is not None and back.f_code.co_name == "<module>"
        return back is not None and (
            back.f_code in self.codes or not importing and origin is None)

    def native(self, f: Any, frame: types.FrameType) -> None:
        """The user's code, or a library that works for it, calls a C function."""
        if frame.f_code in self.codes:
            problem = known.problem_of_call(f) or self.unread.read_by_template(f)
        elif ours(frame):
            return
        elif origin_of(frame.f_globals) is None:
            if known.tells_who_watches(f):
                self.stop_watching()
            return                           # The code was judged when it was called.
        else:
            problem = known.problem_of_call_beneath(f, frame.f_code)
            if problem is not None and not self.works_for_the_user(frame):
                return
        if problem is not None:
            self.refuse(problem)


def _with_those_within(code: types.CodeType) -> list[types.CodeType]:
    """Some code, and that of the functions that it makes."""
    within = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return [code, *(inner for c in within for inner in _with_those_within(c))]


def _asks_who_watches(frame: types.FrameType) -> bool:
    """Does code that was not read name, or receive, something that reveals a profiler?"""
    said, names = frame.f_code.co_names, frame.f_globals
    found = [*frame.f_locals.values(), *(
        x for name in said for x in (names.get(name), sys.modules.get(name)))]
    inner = [held[name] for x in found if type(x) is types.ModuleType
             for name in said if name in (held := vars(x))]
    return any(map(known.tells_who_watches, [*found, *inner]))


def resume(profile: Any) -> None:
    """Install a profile function that was removed, or none."""
    profile.look() if isinstance(profile, Watch) else sys.setprofile(profile)


def _numpys_random() -> bytes | str | None:
    """The state by which a draw from NumPy's own generator is noticed; None if it is not loaded."""
    if (loaded := sys.modules.get("numpy.random")) is None:
        return None
    g = loaded.get_bit_generator()
    if type(g) is not loaded.MT19937:
        return repr(g.state)
    # the bytes of its state, 624 words and a count: as Python's numbers they take 60 us
    return (C.c_char * (625 * 4)).from_address(g.ctypes.state_address).raw
