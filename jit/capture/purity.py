"""Watching a run for what cannot be recorded: code that the world has not been searched for, and
calls that do more than compute.

The interpreter tells of every call and return. Nearly all are the framework's own business, and
machine code passes over them (`passes/lower_llvm/calls/profile_function.py`): it knows the code of
ours that no function of the user's leads to.
"""
from __future__ import annotations

import atexit
import ctypes as C
import functools
import gc
import inspect
import os
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
from ..guards.bytecode import only_asked_for
from ..guards.origin import makes_a_tuple, origin_of, ours
from ..guards.sizes import catches, informs, tells
from ..report.reasons import Calls, Draws, Inspects
from .asked_gradients import AskedGradients, names_gradients
from .stand_ins import Function

if TYPE_CHECKING:
    from ..guards.outside_state import World
    from ..report.reasons import Reason

STAND_IN = Function.__call__.__code__    # it gives Python's, or a guard
LENGTH = Tensor.__len__.__code__         # a guard where sizes are followed
IMPORTING = frozenset(("_frozen_importlib", "_frozen_importlib_external"))


class _Known:
    """Code of ours that no function of the user's leads to, in the table that machine code
    searches."""

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
        atexit.register(self.held.clear)     # nobody is watched at exit
        self.begin = C.PYFUNCTYPE(None, C.c_void_p, C.py_object)(("PyEval_SetProfile", C.pythonapi))

    def grow(self, size: int) -> None:
        """Another table, not smaller, with what is in this one."""
        # Threads may search the old one until the words have changed.
        before, self.table = self.table, (C.c_int64 * size)()
        self.words[L.W["table"] // 8], self.words[L.W["mask"] // 8], self.used = (C.addressof(
            self.table), size - 1, 0)
        for address in self.held:
            self.lay(address)
        del before

    def lay(self, address: int) -> None:
        i = L.slot(address, mask := len(self.table) - 1)
        while self.table[i] not in (0, L.GONE):
            i = i + 1 & mask
        self.used += self.table[i] == 0
        self.table[i] = address

    def add(self, code: types.CodeType) -> None:
        """Its calls need no look."""
        address = id(code)
        with self.lock:
            if address not in self.held:
                if 2 * self.used > len(self.table):
                    self.grow(2 * len(self.table) if 4
                              * len(self.held) > len(self.table) else len(self.table))
                self.held[address] = weakref.ref(code, lambda _: self.remove(address))
                self.lay(address)

    def remove(self, address: int) -> None:
        """The code is no more."""
        with self.lock:
            del self.held[address]
            i = L.slot(address, mask := len(self.table) - 1)
            while self.table[i] != address:
                i = i + 1 & mask
            self.table[i] = L.GONE


@functools.cache
def known_code() -> _Known | None:
    """What machine code knows; None where there is none."""
    return _Known() if native.enabled() else None


WRAPPING = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


class Watch:
    """Looks at every call that the run makes: code that the world has not been searched for, and
    calls that do more than compute. `told`: where the framework first gave the user's code
    something that may depend on sizes and is no guard (see sizes.py), `informed`: anything.
    `gradients`: which gradients from before the run it could have asked for."""
    of_users_calls = True

    def __init__(self, world: World, refuse: Callable[[Reason], object]) -> None:
        self.codes, self.watching, self.refuse = world.codes, world.watching, refuse
        self.world, self.unread = world, world.unread
        self.told: str | None = None
        self.informed: str | None = None
        self.gradients = AskedGradients(world.reads_unnamed)
        # are sizes Numbers, and the length of a tensor a guard?
        self.follows = False
        # the code that calls the traced function
        self.runner: types.CodeType | None = None
        self.looking = False
        # is this an act outside of Python's state? did one of them run code of the user's?
        self.aside = self.foreign = False
        self.beyond: set[types.CodeType] = set()     # code of the user's that was not read

    def __enter__(self) -> Self:
        self.before, self.collecting = sys.getprofile(), gc.isenabled()
        self.random = _numpys_random()
        self.looking = True                  # from here on there is something to undo
        gc.disable()                         # what a collection calls is not the function's doing
        self.look()
        return self

    def look(self) -> None:
        """Be told of what happens from now on."""
        known = known_code() if type(self) is Watch else None
        if known is None:
            sys.setprofile(self)
        else:
            known.begin(known.at, self)

    @staticmethod
    def unwatched(compute: Callable[..., Any], *args: Any) -> Any:
        """Call something of ours that calls no code of the user's: what happens meanwhile needs
        no look."""
        known = known_code()
        return compute(*args) if known is None else known.unwatched(compute, *args)

    def withdraw(self) -> None:
        """Look no more: all is as it was."""
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
        """The user's code could notice it: the run is not recorded."""
        self.refuse(Inspects("it asks what is alive, or who watches"))
        self.withdraw()

    def __exit__(self, *exc: object) -> None:
        self.withdraw()
        if _numpys_random() != self.random:
            self.refuse(Draws("it draws from numpy.random"))

    def random_is_noted(self) -> None:
        """NumPy's own generator was drawn from, and that is known."""
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
        elif (event == "return" and self.told is None and arg is not None and ours(frame)
              and not declared_for_tracing.is_sizeless(frame) and informs(arg)):
            self.returned(frame, arg)

    def returned(self, of: types.FrameType, x: Any) -> None:
        """A function of the framework's, in this frame, returns something to its caller, or to
        whom that works for."""
        code, frame = of.f_code, of.f_back
        while frame is not None and (origin := origin_of(frame.f_globals)) is not None:
            if origin.is_ours:
                return
            frame = frame.f_back
        if frame is not None:
            is_guarded = (code is STAND_IN or code in declared_for_tracing.TELLING
                          or code is LENGTH and self.follows)
            self.note_told(frame, is_guarded or not tells(x))

    def note_told(self, frame: types.FrameType, is_guarded: bool) -> None:
        """The user's code, in this frame, is told what may depend on sizes."""
        self.informed = self.informed or line_of(frame.f_code, frame.f_lineno)
        if not is_guarded:
            self.told = self.told or self.informed

    def called_with(self, frame: types.FrameType | None) -> bool:
        """Is it the framework's code that calls, with arguments of its own?"""
        origin = (None
                  if frame is None or frame.f_code is self.runner else origin_of(frame.f_globals))
        return origin is not None and origin.is_ours and origin.module != "whet.nn.module"

    def passed_on(self, frame: types.FrameType) -> set[int]:
        """The ids of what a wrapper of the framework's was given by the user's code, and gives to
        it, itself or by functions that it hands all of it: `@no_grad()` on the traced function,
        say, or `autograd.Function.apply`."""
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

    def is_told(self, frame: types.FrameType) -> bool:
        """Is there something among the arguments that a caller of the framework's has made?"""
        assert frame.f_back is not None
        known = self.passed_on(frame.f_back)
        return tells([x for x in frame.f_locals.values() if id(x) not in known])

    def called(self, frame: types.FrameType) -> None:
        code = frame.f_code
        if asks := names_gradients(code):
            self.gradients.begins(frame)
        if self.unread and not ours(frame):
            if (reason := self.unread.read_by(frame, code in self.codes)) is not None:
                self.refuse(reason.within(self.world))
        if code in self.codes:
            if (self.told is None and
                (catches(code) or self.called_with(frame.f_back) and self.is_told(frame))):
                self.told = line_of(code, code.co_firstlineno)
                self.informed = self.informed or self.told
            watching = self.watching.intersection(code.co_names)
            if watching and not watching <= only_asked_for(code):
                self.stop_watching()
            return
        origin = origin_of(frame.f_globals)
        if origin is not None and origin.is_ours:
            if not asks and (table := known_code()) is not None:
                table.add(code)
            return
        if not self.works_for_the_user(frame):
            return
        if origin is not None:
            self.beyond |= (new := self.unread.run_by(frame))
            if new or not known.code_only_computes(origin, code):
                self.refuse(Calls(f"{origin.module}.{code.co_name}"))
        elif not makes_a_tuple(code, frame.f_globals):
            self.beyond.add(code)
            self.refuse(Calls(f"{code.co_qualname}, which was not within reach"))
            if _asks_who_watches(frame):
                self.stop_watching()

    def works_for_the_user(self, frame: types.FrameType) -> bool:
        """Does code that is not ours run there on behalf of the user's? What the framework calls,
        and what an import does, is the framework's own business."""
        origin, back, importing = origin_of(frame.f_globals), frame.f_back, False
        while back is not None and back.f_code not in self.codes and not ours(back):
            importing |= (by := origin_of(back.f_globals)) is not None and by.module in IMPORTING
            back = back.f_back
        # A module of ours, imported for the first time, may make classes of text.
        importing |= back is not None and back.f_code.co_name == "<module>"
        return back is not None and (
            back.f_code in self.codes or not importing and origin is None)

    def native(self, f: Any, frame: types.FrameType) -> None:
        """A function of C is called by code of the user's, or by a library that works for it."""
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


def _asks_who_watches(frame: types.FrameType) -> bool:
    """Does code that was not read name, or is it given, something that tells who watches?"""
    said, names = frame.f_code.co_names, frame.f_globals
    found = [*frame.f_locals.values(), *(
        x for name in said for x in (names.get(name), sys.modules.get(name)))]
    inner = [held[name] for x in found if type(x) is types.ModuleType
             for name in said if name in (held := vars(x))]
    return any(map(known.tells_who_watches, [*found, *inner]))


def resume(profile: Any) -> None:
    """Have what was told of calls, or None, be told of them again."""
    profile.look() if isinstance(profile, Watch) else sys.setprofile(profile)


def _numpys_random() -> bytes | str | None:
    """What tells whether NumPy's own generator of random numbers has moved; None where it is not
    loaded."""
    if (loaded := sys.modules.get("numpy.random")) is None:
        return None
    g = loaded.get_bit_generator()
    if type(g) is not loaded.MT19937:
        return repr(g.state)
    # the bytes of its state, 624 words and a count: as Python's numbers they take 60 us
    return (C.c_char * (625 * 4)).from_address(g.ctypes.state_address).raw


def line_of(code: types.CodeType, line: int) -> str:
    """A line of a file, in short."""
    return f"{os.path.basename(code.co_filename)}:{line}"
