"""Runs machine code from Python: compiles IR text, finds kernels by key, and launches them over a
range of work.

Every kernel has one signature,  void kernel(i64* args, i64 begin, i64 end, i64 worker): `args`
holds one 8-byte slot per operand (data pointers, i64 integers, doubles as bits), `begin..end` is
this call's part of the work units, and `worker` the number of the thread that runs it (0 = the
caller).

`launch` is a builtin function made of LLVM code, and so is the thread pool behind it. If that is
impossible (`WHET_NATIVE=0`, an interpreter whose objects have other layouts), a Python function
with the same meaning calls the same kernels through ctypes."""
import atexit
import ctypes as C
import functools
import operator
import os
import struct
import sys
import threading
import time
import warnings

import numpy as np
from whet.passes.lower_llvm.calls.python_layouts import HEAD as HEAD

from . import (
    allocator,
    cache,
    guarded_memory,
    mapped_code,
    object_layouts,
    ordered_kernels,
    thread_pool,
    tiered_compilation,
)
from .launch_code import ERROR_MESSAGES, MAX_ARGS, runtime_text
from .object_layouts import int_layout

_SIG = C.CFUNCTYPE(None, C.c_void_p, C.c_int64, C.c_int64, C.c_int64)
_found: dict = {}                        # key -> address of everything that is loaded
# the same for what the cache brought and was not asked for yet
_loaded: dict = {}
_waiting: dict = {}                      # key -> entry of the cache that is loaded when asked for
_asked: set = set()                      # keys of the bytes that were asked for
# functions that are called with the IR text of what is compiled
on_compile: list = []
# key -> (IR text, symbol in it) of what is compiled, where code is wanted that leaves the process:
# the cache, which has no texts, gives nothing then and keeps nothing
sources: dict | None = None
# addresses that code may name and the process does not export
_exports: dict = {}
_providers: dict = {}            # the beginning of a name -> what exports it
_spent = threading.local()               # seconds
_lock = threading.RLock()
# what is called with the arguments of each launch, while they are recorded
_tape = C.c_void_p()
METH_FASTCALL, METH_KEYWORDS, METH_NOARGS, METH_O = 0x80, 0x2, 0x4, 0x8


# Compiling and loading

def _new_lock():
    global _lock
    _lock = threading.RLock()            # in the child of a fork the thread that held it is gone


def _leave_llvm():
    # the background's turn comes first: it may want the other
    tiered_compilation.translating().acquire()
    _lock.acquire()


def _let_in():
    _lock.release()
    tiered_compilation.translating().release()


# Not while another thread is in LLVM: its locks would never be free again in the child.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_leave_llvm, after_in_parent=_let_in, after_in_child=_new_lock)


def build(text, names):
    """Compile IR text; the address of each named function."""
    key = "text/" + cache.blake2b(text.encode(), digest_size=16).hexdigest()
    return image(key, lambda: text, names)


def kernel(key, emit):
    """The address of the kernel that `key` describes completely. If no cache has it, `emit(module,
    symbol)` writes it."""
    address = _found.get(key)
    if address is None:
        order = ordered_kernels.current()
        if order is not None and not at_hand(key) \
                and not (tiered_compilation.wanted() and at_hand(_quick(key))):
            order.take(key, emit)
        return (in_haste if tiered_compilation.wanted() else kernels)([(key, emit)])[0]
    return address


def at_hand(key):
    """Is a kernel in memory, or in the cache on disk?"""
    with _lock:
        return key in _found or _cached(key)


def kernels(wanted):
    """The addresses of many kernels, given as (key, emit). Those in no cache are compiled together,
    which is quicker.

    They share one module: what they call their helpers and tables must mean the same in all of
    them."""
    return _obtain([key for key, _ in wanted], lambda missing: _module(missing, dict(wanted)))


def _module(keys, emits, brief=False):
    """The IR text of kernels, and their symbols in it."""
    from whet.passes.lower_llvm.modules import new_module
    module, symbols = new_module(brief), {key: f"kernel{i or ''}" for i, key in enumerate(keys)}
    for key, symbol in symbols.items():
        module.writing = key
        emits[key](module, symbol)
    return module.text(), symbols


def _quick(key):
    """The key of the quickly compiled version of a kernel."""
    return f"haste/{key}"


def in_haste(wanted):
    """The addresses of many kernels, given as (key, emit), that are optimised only later. Those in
    no cache are compiled quickly, together."""
    emits = dict(wanted)
    quick = {_quick(key): key for key in emits}

    def write(missing):
        text, symbols = _module([quick[q] for q in missing], emits, brief=True)
        return text, {q: symbols[quick[q]] for q in missing}
    with _lock:
        missing = [key for key in emits if key not in _found and not _cached(key)]
        for key, target in zip(missing, _obtain(list(map(_quick, missing)), write, 0), strict=True):
            _found[key], place = tiered_compilation.trampoline(target)
            tiered_compilation.put_off(key, emits[key], _found[key], place)
        return [_found[key] for key, _ in wanted]


def _compiled_well(emits):
    """Compile kernels with optimisation. Needs no lock."""
    return _translated(*_module(list(emits), emits))


def _kept(entry):
    """Load and keep code; returns the address of each of its kernels."""
    _keep(entry)
    return {key: _found[key] for key in entry.names}


tiered_compilation.lock = lambda: _lock
tiered_compilation.translate, tiered_compilation.keep = _compiled_well, _kept
ordered_kernels.compilers.update({False: kernels, True: in_haste})
ordered_kernels.is_there = _found.__contains__


def image(key, write, names):
    """Addresses of the functions `names` in the IR text that `write()` gives if it is in no cache:
    name -> address.

    The code may name functions and objects of CPython and libc, and what `export` announced."""
    def all_of_it(missing):
        return write(), {f"{key}:{name}": name for name in names}
    return dict(zip(names, _obtain([f"{key}:{name}" for name in names], all_of_it), strict=True))


def by_address():
    """The key of all that was asked for in this process, by its address."""
    return {address: key for key, address in _found.items()}


def export(name, address):
    """Let code compiled from now on name this address: `@name = external global i8`."""
    _exports[name] = address


def provide(prefix, bring):
    """Register `bring(name)` as the function that exports names with this prefix when loaded code
    needs them. Code of several kernels names what each of them needs, and a process may want only
    one of them."""
    _providers[prefix] = bring


def _obtain(keys, write, opt=2):
    with _lock:
        missing = [key for key in dict.fromkeys(keys) if key not in _found and not _cached(key)]
        if missing:
            start = time.thread_time()
            try:
                with _unwatched():
                    _compile(*write(missing), opt)
            finally:
                _spent.seconds = compiling_seconds() + time.thread_time() - start
        return [_found[key] for key in keys]


def compiling_seconds():
    """The seconds that this thread has spent so far on kernels in no cache."""
    return getattr(_spent, "seconds", 0.0)


class _unwatched:
    """A context in which a profile function that only judges the user's calls is not called:
    writing a kernel takes thousands of internal calls."""

    def __enter__(self):
        profile = sys.getprofile()
        self.profile = profile if getattr(profile, "of_users_calls", False) else None
        if self.profile is not None:
            sys.setprofile(None)

    def __exit__(self, *exc):
        if self.profile is not None:
            self.profile.look()


@functools.lru_cache(None)
def _store():
    """The cache on disk; None if there is none, or if nothing is compiled. What it held at the
    start is loaded: as one image if it stands alone, the rest on demand."""
    store = None if os.environ.get("WHET_CPU") == "numpy" else cache.connect()
    if store is not None:
        alone = []
        for entry in store.start():
            if entry.kind == "flat" and not entry.slots:
                alone.append(entry)
            else:
                _waiting.update(dict.fromkeys(entry.names, entry))
        if alone:
            code, names = mapped_code.join(alone)
            at = mapped_code.load(code, (), _resolve)
            _loaded.update({key: at + offset for key, offset in names.items()})
        atexit.register(lambda: keeps() and store.pack(_found.keys() | _asked))
    return store


def _cached(key):
    """Take a key's code from the cache; False if it is not there, or if its IR text is wanted."""
    store = _store()
    if sources is not None:
        return False
    if key in _loaded:
        _found[key] = _loaded.pop(key)
    elif store is not None:
        entry = _waiting.get(key) or store.find(key)
        if entry is None:
            return False
        _load(entry)
    return key in _found


def keeps():
    """Is there a cache on disk to which this process adds?"""
    return sources is None and _store() is not None


def cached(key):
    """The bytes that this process or an earlier one kept; None if there are none."""
    with _lock:
        entry = _waiting.get(key) or _store().find(key)
        if entry is None:
            return None
        _asked.add(key)
        return entry.code


def keep(key, data):
    """Keep bytes for later processes."""
    with _lock:
        _waiting[key] = entry = cache.Entry("data", {key: 0}, (), data)
        _store().put(entry)


def _compile(text, symbols, opt=2):
    """Compile IR text, load it and keep it; `symbols` says the name in the text of each key."""
    _keep(_translated(text, symbols, opt))


def _translated(text, symbols, opt=2):
    """Compile IR text to machine code, without loading it."""
    from whet.passes.lower_llvm import compile
    for tell in on_compile:
        tell(text)
    if sources is not None:
        sources.update({key: (text, symbol) for key, symbol in symbols.items()})
    try:
        code = compile.object_code(text, opt)
    except RuntimeError as error:
        error.add_note("while compiling " + ", ".join(symbols))
        raise
    image = mapped_code.flatten(code)
    if image is None:
        return cache.Entry("object", dict(symbols), (), code)
    starts = {key: image.names[name] for key, name in symbols.items()}
    return cache.Entry("flat", starts, tuple(image.slots.items()), image.code)


def _keep(entry):
    """Load machine code, and keep it for later processes."""
    _load(entry)
    if keeps():
        _store().put(entry)


def _load(entry):
    if entry.kind == "flat":
        at = mapped_code.load(entry.code, entry.slots, _resolve)
        _found.update({key: at + offset for key, offset in entry.names.items()})
    else:
        from whet.passes.lower_llvm import compile
        itself = next(iter(entry.names)).startswith("support:")
        at = compile.load_object(entry.code,
                                 entry.names.values(),
                                 _exports if itself else {**_exports, **_support()})
        _found.update({key: at[name] for key, name in entry.names.items()})


@functools.lru_cache(None)
def _libraries():
    found = [C.pythonapi, C.CDLL(None)]
    # what LLVM calls where the machine has no instruction
    for name in ("libm.so.6", "libgcc_s.so.1"):
        try:
            found.append(C.CDLL(name))
        except OSError:
            pass
    return found


def _support():
    """Functions that generated code calls and not every system has: name -> address."""
    from whet.passes.lower_llvm import compile
    return image("support", lambda: compile.SUPPORT, compile.SUPPORT_NAMES)


def _resolve(name):
    """The address of a name that code uses: ours, CPython's or libc's."""
    from whet.passes.lower_llvm import compile
    for prefix, bring in _providers.items():
        if name not in _exports and name.startswith(prefix):
            bring(name)
    if name in _exports:
        return _exports[name]
    if name in compile.SUPPORT_NAMES:
        return _support()[name]
    for library in _libraries():
        try:
            return C.cast(getattr(library, name), C.c_void_p).value
        except AttributeError:
            pass
    raise RuntimeError(f"machine code names {name}, which this process does not have")


# Python callables made of machine code

def _forever(thing):
    """Never free this: machine code points to it even when the interpreter shuts down."""
    C.pythonapi.Py_IncRef(C.py_object(thing))


class MethodDef(C.Structure):
    """CPython's PyMethodDef."""
    _fields_ = [("name", C.c_char_p), ("meth", C.c_void_p), ("flags", C.c_int), ("doc", C.c_char_p)]


def function(addr, name, doc="", flags=METH_FASTCALL):
    """A builtin function: name(a, b) calls `ptr addr(ptr self, ptr args, i64 nargs)`."""
    definition = MethodDef(name.encode(), addr, flags, doc.encode())
    _forever(definition)
    make = C.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = C.py_object, [C.c_void_p, C.c_void_p, C.py_object]
    return make(C.addressof(definition), None, __name__)


class TypeSlot(C.Structure):
    """CPython's PyType_Slot."""
    _fields_ = [("slot", C.c_int), ("func", C.c_void_p)]


class TypeSpec(C.Structure):
    """CPython's PyType_Spec."""
    _fields_ = [("name", C.c_char_p), ("basicsize", C.c_int), ("itemsize", C.c_int),
                ("flags", C.c_uint), ("slots", C.POINTER(TypeSlot))]


# flags of a type: as usual and open to subclasses; and with words for the garbage collector
PLAIN, COLLECTED = 1 << 18 | 1 << 10, 1 << 18 | 1 << 14 | 1 << 10


def make_type(name, size, slots, flags=PLAIN):
    """A native type of `size` bytes; `slots` are (number, address) as in CPython's typeslots.h.
    It and its code live for ever."""
    table = (TypeSlot * (len(slots) + 1))(*(TypeSlot(number, address) for number, address in slots))
    spec = TypeSpec(name.encode(), size, 0, flags, table)
    make = C.pythonapi.PyType_FromSpec
    make.restype, make.argtypes = C.py_object, [C.c_void_p]
    made = make(C.addressof(spec))
    for thing in (made, spec):
        _forever(thing)
    return made


def _obstacle():
    """The reason why this process cannot call machine code as builtins; empty if it can."""
    if os.environ.get("WHET_NATIVE") == "0":
        return "WHET_NATIVE=0"
    if os.environ.get("WHET_CPU") == "numpy":
        return "WHET_CPU=numpy: nothing is compiled"
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return "it needs CPython with its global lock"
    if os.name != "posix" or C.sizeof(C.c_void_p) != 8 or sys.byteorder != "little":
        return "it needs a POSIX system with 64-bit little-endian words"
    return ""


def _proved():
    """Do the objects that machine code reads have the stated memory layouts?"""
    unknown = object_layouts.unproved(object_layouts.NEEDED)
    if unknown:
        object_layouts.warn(unknown, object_layouts.PLAIN)
    return not unknown


# the runtime's own functions: name -> address; empty where it is off
_runtime: dict | None = None
_status = "not loaded yet"


def _start():
    """Load the runtime, once."""
    global _runtime, _status
    if _status != "not loaded yet":
        return _runtime
    with _lock:
        if _runtime is None:
            _runtime, why = {}, _obstacle()
            if not why and not _proved():
                why = "objects have another layout in memory than expected"
            if not why:
                try:
                    _runtime = _load_runtime()
                except Exception as error:       # whatever it is, everything works without
                    why = f"{type(error).__name__}: {error}"
                    warnings.warn(f"whet calls its kernels through ctypes, which is slower: {why}",
                                  RuntimeWarning,
                                  stacklevel=3)
            _status = f"off: {why}" if why else "on"
        return _runtime


def _load_runtime():
    thread_pool.get_num_threads()
    for name, address in {
            **thread_pool.state(), **allocator.exports(), "whet_ndarray": id(np.ndarray),
            "whet_tape": C.addressof(_tape)}.items():
        export(name, address)
    found = image(f"runtime/{int_layout()}/{guarded_memory.SIDE}",
                  runtime_text, ["launch", "proof", *thread_pool.NAMES, *allocator.NAMES])
    ints = [0, -1, 1, 2**30, -2**30, 2**45 + 7, 2**60 - 1, 2**60, 2**63 - 1, -2**63]
    numbers = np.zeros(len(ints) + 5, np.int64)
    function(found["launch"], "launch")(found["proof"], 1, 1, numbers, len(numbers), 1.5, None,
                                        2 ** 64 - 1, *ints)
    start, one_and_a_half = (numbers.__array_interface__["data"][0],
                             struct.unpack("<q", struct.pack("<d", 1.5))[0])
    if numbers.tolist() != [start, len(numbers), one_and_a_half, 0, -1, *ints]:
        raise RuntimeError("arguments are not passed as they should be")
    allocator.begin(found, make_type, function)
    if "pool_stop" in found:
        thread_pool.started(found["pool_stop"])
    for name, address in found.items():
        export("whet_" + name, address)
    return found


def enabled():
    """Can this process call machine code as builtins? If not, everything works through ctypes:
    slower, with the same results."""
    return bool(_start())


def status():
    """"on", or "off" and why: can machine code be called as builtins?"""
    _start()
    return _status


class taping:
    """A context in which `tape(*args)` is called with the arguments of each launch. If it returns
    True, nothing is launched. The context is entered twice, nested: an interrupt may end the first
    exit midway, and machine code must never call a tape that no longer exists."""

    def __init__(self, tape):
        self.tape = tape

    def __enter__(self):
        _tape.value = id(self.tape)

    def __exit__(self, *exc):
        _tape.value = None


def symbol(name):
    """The address of one of the runtime's own functions, for machine code to call:
    `pool_run(kernel, args, total, grain)`."""
    try:
        return _start()[name]
    except KeyError:
        raise LookupError(f"the native runtime has no {name}; it is {_status}") from None


def __getattr__(name):
    # Made at first use: `import whet` alone compiles nothing.
    if name != "launch":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()["launch"] = made = (function(symbol("launch"), "launch", _launch.__doc__)
                                  if enabled() else _launch)
    return made


def _launch(addr, total, grain, *args):
    """launch(addr, total, grain, *args)

    Run kernel `addr` over work units 0..total, split over the threads in pieces of at least `grain`
    units. An argument is an ndarray (its data pointer), an int (64 bits), a float (a double's bits)
    or None (0). From 2 grains on the work is split, from 5 on the GIL is released. `grain` may
    bound how many threads take part (passes/lower_llvm/calls/distribute_units.py)."""
    if allocator.is_absent():                     # `taping` is of machine code
        return
    head = []
    for i, a in enumerate((addr, total, grain)):
        try:
            head.append(operator.index(a))
        except TypeError:
            raise TypeError(ERROR_MESSAGES["head"].format(number=i + 1, kind=type(a))) from None
    addr, total, grain = head
    if len(args) > MAX_ARGS:
        raise TypeError(ERROR_MESSAGES["few"])
    slots = (C.c_int64 * max(1, len(args)))()
    for i, a in enumerate(args):
        if isinstance(a, np.ndarray):
            slots[i] = a.__array_interface__["data"][0]
        elif isinstance(a, float):
            slots[i] = struct.unpack("<q", struct.pack("<d", a))[0]
        elif a is not None:
            try:
                a = operator.index(a)
            except TypeError:
                raise TypeError(ERROR_MESSAGES["odd"].format(number=i + 4, kind=type(a))) from None
            if not -2**63 <= a < 2**64:
                raise OverflowError(ERROR_MESSAGES["low"] if a < 0 else "int too big to convert")
            slots[i] = a
    if not addr:
        raise ValueError(ERROR_MESSAGES["null"])
    if total > 0:
        _SIG(addr)(C.addressof(slots), 0, total, 0)
