"""Watching a run for what cannot be recorded: code that the world has not been searched for, and calls that do more than compute.

The interpreter tells of every call and return. Nearly all are the framework's own business, and machine code passes over them
(`passes/lower_llvm/calls/profile_function.py`): it knows the code of ours that no function of the user's leads to.
"""
import atexit
import collections
import contextvars
import ctypes as C
import datetime
import functools
import gc
import os
import random
import re
import sys
import threading
import types
import weakref

import numpy as np
from whet.cpu import native
from whet.passes.lower_llvm.calls import profile_function as L
from whet.tensor import Tensor
from whet.tensor_base import Base

from ..guards.origin import LIBRARY, computes, our_file, ours, standard
from ..guards.sizes import ASIDE, catches, tells
from ..report.reasons import Calls, Draws, Inspects

QUIET = frozenset("contextlib functools dataclasses collections typing abc enum operator types copy numbers itertools keyword reprlib "
                  "_collections_abc inspect bisect heapq statistics fractions string textwrap re _weakrefset weakref".split())
OWNERS = (list, dict, set, frozenset, str, bytes, tuple, int, float, complex, bool, slice, range, type(None), types.MappingProxyType, type,
          collections.deque, collections.OrderedDict, collections.defaultdict, BaseException, types.CellType, Base, type({}.keys()),
          type({}.values()), type({}.items()), np.generic, datetime.date, datetime.time, datetime.timedelta, re.Pattern, re.Match)
COMPUTING = ("numpy._core", "numpy.lib._", "numpy.linalg", "numpy.fft", "numpy.polynomial")
# (what of that reads, prints, or goes by settings)
NOT_COMPUTING = ("npyio_impl", "_utils_impl", "_datasource", "_format_impl", ".memmap", ".records", ".arrayprint")
LOCAL = frozenset("timestamp astimezone strftime ctime timetuple utctimetuple".split())       # of dates: they go by the place's time and words
STACK = frozenset("currentframe stack trace getouterframes getinnerframes getframeinfo getsource getsourcelines getsourcefile".split())
# names by which code asks who watches and what is still alive
WATCHING = frozenset("getprofile setprofile getrefcount isenabled get_objects get_referrers cProfile weakref WeakSet WeakKeyDictionary "
                     "WeakValueDictionary WeakMethod finalize".split())
COLLECTING = frozenset(("enable", "disable", "freeze", "unfreeze"))
SETTING = "set_", "seterr", "setbuf"         # NumPy's settings
ENVIRONMENT = frozenset(("getenv", "__getitem__", "encode", "decode", "get", "__contains__", "__setitem__", "__delitem__"))


@functools.lru_cache(4096)
def short(path):
    """A file's name."""
    return os.path.basename(path)


def own(code):
    """Is code the framework's, or the forward of a module that it has written?"""
    return own_file(code.co_filename)


@functools.lru_cache(4096)
def own_file(name):
    """Is a file of this name?"""
    return our_file(name) or name.startswith("<layer ")


class _Known:
    """Code of ours that no function of the user's leads to, in the table that machine code searches."""

    def __init__(self):
        self.held, self.words = {}, (C.c_int64 * len(L.W))()       # address -> the code, weakly
        self.table, self.lock = None, threading.RLock()
        self.names = (C.c_int64 * L.KINDS)()
        for kind, name in (L.CALL, "call"), (L.RETURN, "return"), (L.C_CALL, "c_call"):
            self.names[kind] = id(sys.intern(name))
        self.words[L.W["tensor"] // 8], self.words[L.W["names"] // 8] = id(Tensor), C.addressof(self.names)
        self.grow(1 << 12)
        native.export("whet_watch", C.addressof(self.words))
        code = native.image("jit/watch", L.source, ["watched", "unwatched"])
        self.at, self.unwatched = code["watched"], native.function(code["unwatched"], "unwatched", "", native.METH_FASTCALL)
        atexit.register(self.held.clear)     # (while everything goes down nobody is watched)
        self.begin = C.PYFUNCTYPE(None, C.c_void_p, C.py_object)(("PyEval_SetProfile", C.pythonapi))

    def grow(self, size):
        """Another table, not smaller, with what is in this one."""
        before, self.table = self.table, (C.c_int64 * size)()            # (threads may search the old one until the words are others)
        self.words[L.W["table"] // 8], self.words[L.W["mask"] // 8], self.used = C.addressof(self.table), size - 1, 0
        for address in self.held:
            self.lay(address)
        del before

    def lay(self, address):
        i = L.slot(address, mask := len(self.table) - 1)
        while self.table[i] not in (0, L.GONE):
            i = i + 1 & mask
        self.used += self.table[i] == 0
        self.table[i] = address

    def add(self, code):
        """Its calls need no look."""
        address = id(code)
        with self.lock:
            if address not in self.held:
                if 2 * self.used > len(self.table):
                    self.grow(2 * len(self.table) if 4 * len(self.held) > len(self.table) else len(self.table))
                self.held[address] = weakref.ref(code, lambda _: self.remove(address))
                self.lay(address)

    def remove(self, address):
        """The code is no more."""
        with self.lock:
            del self.held[address]
            i = L.slot(address, mask := len(self.table) - 1)
            while self.table[i] != address:
                i = i + 1 & mask
            self.table[i] = L.GONE


@functools.cache
def _known():
    """What machine code knows; None where there is none."""
    return _Known() if native.enabled() else None


class Watch:
    """Looks at every call that the run makes: code that the world has not been searched for, and calls that do more than compute. `told`: where
    the framework first gave the user's code something that may depend on sizes (see sizes.py)."""
    of_users_calls = True

    def __init__(self, codes, refuse):
        self.codes, self.refuse = codes, refuse
        self.told = None
        self.runner = None                   # the code that calls the traced function
        self.looking = False
        self.aside = self.foreign = False    # is this an act outside of Python's state? did one of them run code of the user's?

    def __enter__(self):
        self.before, self.collecting = sys.getprofile(), gc.isenabled()
        self.random = _numpys_random()
        self.looking = True                  # (from here on there is something to withdraw)
        gc.disable()                         # what a collection calls is not the function's doing
        self.look()
        return self

    def look(self):
        """Be told of what happens from now on."""
        known = _known() if type(self) is Watch else None
        if known is None:
            sys.setprofile(self)
        else:
            known.begin(known.at, self)

    @staticmethod
    def unwatched(compute, *args):
        """Call something of ours that calls no code of the user's: what happens meanwhile needs no look."""
        known = _known()
        return compute(*args) if known is None else known.unwatched(compute, *args)

    def withdraw(self):
        """Look no more: all is as it was."""
        if self.looking:
            if self.before is None or callable(self.before):
                resume(self.before)
            else:
                self.before.enable()         # (cProfile)
            if self.collecting:
                gc.enable()
            self.looking = False             # (at last: where an interrupt ends this midway, it is done again)

    def __exit__(self, *exc):
        self.withdraw()
        if _numpys_random() != self.random:
            self.refuse(Draws("it draws from numpy.random"))

    def __call__(self, frame, event, arg):
        if self.aside:
            code = frame.f_code
            self.foreign |= event == "call" and not (ours(code) or _library(frame) or _helper(frame) or code.co_filename == "<string>")
        elif event == "call":
            self.called(frame)
        elif event == "c_call":
            if frame.f_code in self.codes:   # (other code was judged when it was called)
                self.native(arg)
        elif event == "return" and self.told is None and arg is not None and own(frame.f_code) and tells(arg):
            self.given(frame.f_code.co_name, frame.f_back)

    def given(self, name, frame):
        """A function of the framework's returns something to this frame, or to whom this frame works for."""
        while frame is not None and (_library(frame) or _helper(frame)):
            frame = frame.f_back
        if frame is not None and not own(frame.f_code) and name not in ASIDE:
            self.told = f"{short(frame.f_code.co_filename)}:{frame.f_lineno}"

    def called_with(self, frame):
        """Is it the framework's code that calls, with arguments of its own?"""
        return frame is not None and own(frame.f_code) and frame.f_code is not self.runner \
            and frame.f_globals.get("__name__") != "whet.nn.module"

    def called(self, frame):
        code = frame.f_code
        if self.told is None and code in self.codes and (catches(code) or self.called_with(frame.f_back) and tells(frame.f_locals)):
            self.told = f"{short(code.co_filename)}:{code.co_firstlineno}"
        if code in self.codes and not ours(code) and asks_who_watches(code):
            self.refuse(Inspects("it asks what is alive, or who watches"))
            self.withdraw()
        if ours(code):
            known = _known()
            if known is not None and code not in self.codes:
                known.add(code)
            return
        if code in self.codes:
            return
        back, importing = frame.f_back, False
        while back is not None and not ours(back.f_code) and back.f_code not in self.codes:      # (other code was judged when it was called)
            importing |= back.f_code.co_filename.startswith("<frozen importlib")
            back = back.f_back
        if back is None or ours(back.f_code) and (importing or _library(frame) or _helper(frame)):
            return                           # the framework's own business
        name = frame.f_globals.get("__name__", "")
        if _library(frame):
            if name.partition(".")[0] not in QUIET and not (name == "os" and code.co_name in ENVIRONMENT) \
                    or name == "inspect" and code.co_name in STACK:
                self.refuse(Calls(f"{name}.{code.co_name}"))
        elif _helper(frame):
            if not name.startswith(COMPUTING) or name.endswith(NOT_COMPUTING) or code.co_name.startswith(SETTING):
                self.refuse(Calls(f"{name}.{code.co_name}"))
        elif not (own(code) or code.co_filename.startswith("<") and (standard(name) or name.startswith("namedtuple_"))):
            self.refuse(Calls(f"{getattr(code, 'co_qualname', code.co_name)}, which was not within reach"))

    def native(self, fn):
        owner = getattr(fn, "__self__", None)
        module = getattr(fn, "__module__", None)
        if isinstance(owner, types.ModuleType) or owner is None and module:
            name = module or owner.__name__
            if not computes(name, fn.__name__):
                self.refuse(Calls(f"{name}.{fn.__name__}"))
        elif isinstance(owner, type):
            if owner.__module__.partition(".")[0] not in ("builtins", "numpy", "whet") and fn.__name__ not in ("__new__", "fromkeys"):
                self.refuse(Calls(f"{owner.__qualname__}.{fn.__name__}"))
        elif isinstance(owner, contextvars.ContextVar | types.GeneratorType):
            return                           # (what a variable holds is compared; generators from outside are not let in)
        elif isinstance(owner, np.ndarray):
            if fn.__name__ in ("tofile", "dump"):            # (what else a method changes is compared)
                self.refuse(Calls(f"{type(owner).__qualname__}.{fn.__name__}"))
        elif owner is not None and not isinstance(owner, OWNERS) or isinstance(owner, datetime.date) and fn.__name__ in LOCAL:
            what = f"{type(owner).__qualname__}.{fn.__name__}"
            self.refuse(Draws(f"it calls {what}") if isinstance(owner, random.Random) else Calls(what))


def resume(profile):
    """Have what was told of calls, or None, be told of them again."""
    profile.look() if isinstance(profile, Watch) else sys.setprofile(profile)


@functools.lru_cache(4096)
def asks_who_watches(code):
    """Could some code find that it is watched, by what is alive or by what profiles it?"""
    return not WATCHING.isdisjoint(code.co_names) or "gc" in code.co_names and not COLLECTING.isdisjoint(code.co_names)


def _numpys_random():
    """What tells whether NumPy's own generator of random numbers has moved."""
    g = np.random.get_bit_generator()
    # (of the usual one the bytes of its state, 624 words and a count: as Python's numbers they take 60 us)
    return C.string_at(g.ctypes.state_address, 625 * 4) if type(g) is np.random.MT19937 else repr(g.state)


def _library(frame):
    return library_file(frame.f_code.co_filename)


@functools.lru_cache(4096)
def library_file(name):
    """Is a file of this name one of the standard library's?"""
    return name.startswith(LIBRARY) and "site-packages" not in name or name.startswith("<frozen")


def _helper(frame):
    """Is it code of a library that the framework itself works with?"""
    return frame.f_globals.get("__name__", "").partition(".")[0] in ("numpy", "llvmlite", "ml_dtypes", "networkx")


