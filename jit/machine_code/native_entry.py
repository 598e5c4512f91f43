"""The callable base of traced functions, whose machine code walks tables; what it shares with
Python, and its lock.

Without machine code `enter` is None: there are no tables then."""
import ctypes as C
import threading
import types
from typing import Any

from whet import tensor_base
from whet.cpu import native
from whet.cpu.object_layouts import field, word
from whet.passes.lower_llvm.calls.python_layouts import SLOT_DEFINITION, SLOT_OFFSET

from .cpython_layouts import layouts

MISSED = object()


class PyEntry:
    """The callable base of traced functions, in plain Python."""
    __slots__ = ()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._call(args, kwargs)      # type: ignore[attr-defined]    # (see Traced)

    def __get__(self, owner: Any, cls: Any = None) -> Any:
        return self if owner is None else types.MethodType(self, owner)


class Latch:
    """A lock that no thread waits for and that machine code can see: held while a program's memory
    is in use."""
    __slots__ = ("at", "word")

    def __init__(self) -> None:
        self.word = C.c_int64()
        self.at = C.addressof(self.word)

    def acquire(self, blocking: bool = False) -> bool:
        return bool(take(self.at))

    def release(self) -> None:
        self.word.value = 0


def _source(tags: bool) -> str:
    from whet.passes.lower_llvm.calls import traced_calls
    return str(traced_calls.source(tags))


def _load() -> tuple[Any, ...]:
    """(the base class, `enter`, `take`, the words shared with machine code, the generator's
    layout)."""
    if not native.enabled() or tensor_base.native_apply is None:
        return PyEntry, None, None, None, None
    from whet.passes.lower_llvm.calls import traced_layouts as L
    words = (C.c_int64 * 4)()
    native._forever(words)
    native._forever(MISSED)
    words[L.J["missed"] // 8] = id(MISSED)
    native.export("whet_jit", C.addressof(words))
    at = native.image(f"jit/traced/{layouts.tags}", lambda: _source(layouts.tags), L.NAMES)
    base = native.make_type("whet.jit.Entry",
                            native.HEAD, [(50, at["traced_call"]), (54, at["traced_get"])])
    return (base, native.function(at["traced_enter"], "enter"),
            native.function(at["traced_take"], "take", flags=native.METH_O), words, L)


Entry: Any
Entry, enter, take, _shared, L = _load()
latch: Any = threading.Lock if enter is None else Latch
_lock = threading.Lock()


def _offset_of_ready(cls: type) -> int:
    """Where an instance of the class has its tables."""
    return int(word(field(vars(cls)["_ready"], SLOT_DEFINITION) + SLOT_OFFSET))


def begin(cls: type, slow: Any) -> None:
    """Tell the machine code where traced functions keep their tables, and what is called where
    none fits."""
    if enter is not None:
        native._forever(slow)
        native._forever(cls)
        _shared[L.J["slow"] // 8] = id(slow)
        _shared[L.J["ready"] // 8] = _offset_of_ready(cls)


def switch(by: int) -> None:
    """Count the threads on which tracing is off: while there is one, machine code asks Python."""
    if enter is not None:
        with _lock:
            _shared[L.J["off"] // 8] += by
