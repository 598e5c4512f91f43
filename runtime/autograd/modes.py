"""Gradient modes: what is recorded now, on this thread."""
import functools
import itertools
import sys
import threading
import warnings
from typing import Any

from .. import declared_for_tracing, dtypes

declared_for_tracing.only_computes(globals())
# SPECIAL: something (saved-tensor hooks, anomaly mode, a trace) must see every op. CASTS: products
# are made in a smaller type, which these bits give. MUTE: tensors do not override functions (see
# function_protocol.py). LISTENED: a profiler has machine code note the calls that it makes; only
# the native entries read this bit. IDLE: gradients are switched on in inference mode, which records
# none all the same.
GRAD, INFERENCE, SPECIAL, CASTS, MUTE, LISTENED, IDLE = 1, 2, 4, 0x38, 0x40, 0x80, 0x100


class Walk:
    """The backward that runs: its nodes, those that are `needed` (None: all), and its targets.
    `at`: the node whose gradients are computed now."""
    __slots__ = ("nodes", "needed", "targets", "at", "__weakref__")

    def __init__(self, nodes, needed, targets):
        self.nodes, self.needed, self.targets, self.at = nodes, needed, targets, None


class _State(threading.local):
    flags = GRAD
    anomaly = False                        # record the forward line of every node
    check_nan = True
    saved_hooks: tuple[tuple, ...] = ()    # innermost last: (pack, unpack)
    observers: tuple = ()                         # innermost last: see ops/registry.apply
    function_modes: tuple = ()             # innermost last: see function_protocol.py
    # of the backward that runs: the gradients of nodes, and of leaves, that there are so far
    pending: tuple[dict, dict] | None = None
    walk: "Walk | None" = None
    autocast = None                        # the type that products are made in: see amp.py
    autocast_for = "cpu"                   # the kind of devices that it holds for
    casts = 0                              # both as bits of `flags`
    refuses_saved_hooks = None             # why hooks of saved tensors are not allowed
    exports = False                        # is a run recorded for others to compute?


state = _State()


def followed_sizes(t, for_user=False):
    """What to give for the sizes of a tensor; None for the plain ones. `for_user`: code of ours
    asks, as a user's would."""
    return state.observers[-1].sizes(t, for_user) if state.observers else None


def level_of(args):
    """The innermost level (see `levels.py`) that a tensor among the arguments belongs to: the
    function transform that records its history. None if there is none."""
    levels = [x.level for x in args if getattr(x, "_stands_for_another", False)]
    return (next((o for o in reversed(state.observers)
                  if any(o is x for x in levels)), None) if levels else None)


def deferred(tensors):
    """The active transform that defers ops (`func.batch`), for an op on these tensors; None if
    there is none, or if one of its own tensors requires a gradient: that op is computed at once."""
    level: Any = state.observers[-1] if state.observers else None
    return level if getattr(level, "puts_off", False) and not any(
        [t.requires_grad for t in tensors if level.owns(t)]) else None


def set_native_flags(flags):
    """Pass new flags to the native entries, which keep a copy for the current thread; returns what
    they hold. Replaced when the native entries are installed."""
    return flags


def set_flags(flags):
    flags = flags & ~CASTS | state.casts
    if flags & INFERENCE and flags & GRAD:
        flags = flags & ~GRAD | IDLE
    state.flags = flags
    set_native_flags(flags)


# (type, kind of devices) of products -> bits of the flags
_castings: dict = {(None, "cpu"): 0} | {
    made: bits << 3 for bits, made in enumerate(itertools.product(
        (dtypes.bfloat16, dtypes.float16), ("cpu", "cuda")), 1)}


def cast_products(dtype, device_type):
    """Let products on a kind of devices be made in a type; for None, in that of their operands.
    Gives what held before."""
    before = state.autocast, state.autocast_for
    state.autocast, state.autocast_for = dtype, device_type
    state.casts = 0 if dtype is None else _castings[dtype, device_type]
    set_flags(state.flags)
    return before


def casting(flags):
    """The (type, kind of devices) that these bits of the flags encode."""
    return next(known for known, bits in _castings.items() if bits == flags & CASTS)


class own_types:
    """Inside, products are made in the type of their operands."""
    __slots__ = ("before",)

    def __enter__(self):
        self.before = cast_products(None, state.autocast_for)

    def __exit__(self, *exc):
        cast_products(*self.before)


def enter(flags):
    """Begin a mode: set the flags and return the former ones. If an interrupt arrives meanwhile,
    the former ones are restored."""
    before = state.flags
    try:
        set_flags(flags)
        return before
    except BaseException:
        set_flags(before)
        raise


def refresh():
    """Work out SPECIAL again after anomaly mode, hooks, observers or modes changed."""
    special = SPECIAL if (state.anomaly or state.saved_hooks or state.observers
                          or state.function_modes) else 0
    set_flags(state.flags & ~SPECIAL | special)


def beyond(what):
    """Refuse the recording under way, if there is one: something happens that a replay would not
    do."""
    if state.observers:
        state.observers[-1].refuse(what)


_always = False


def set_warn_always(b):
    """Let warnings that are said once in a process be said every time.

    >>> import whet
    >>> whet.set_warn_always(False)
    >>> whet.is_warn_always_enabled()
    False
    """
    global _always
    if not isinstance(b, bool):
        raise TypeError(f"set_warn_always expects a bool, but got {type(b).__name__}")
    beyond("it sets whether warnings are said every time")
    _always = b


def is_warn_always_enabled():
    """Are warnings said every time? See `set_warn_always`."""
    return read(lambda: _always)


def is_news(said, key):
    """Is something to be said that is said once in a process? It is noted in `said`."""
    if key in said and not _always:
        return False
    said.add(key)
    return True


def warn(message, category=UserWarning, stacklevel=1, once=False):
    """`warnings.warn`, at a line of the user's code. A recorder is notified, unless the warning is
    given `once` in a process. Python shows a warning once a line."""
    stacklevel = _level_of_the_user(stacklevel)
    if once or not state.observers or not state.observers[-1].warns(message, category, stacklevel):
        warnings.warn(message, category, stacklevel + 1)


def _level_of_the_user(level):
    """This level, seen from whoever warns, or the next one above it that is no code of ours; this
    one where there is none."""
    found: Any = sys._getframe(level + 1)
    above = level
    while found is not None and _is_ours(found.f_globals):
        found, above = found.f_back, above + 1
    return level if found is None else above


def _is_ours(names):
    """Are these the globals of code of ours?"""
    return id(names) in declared_for_tracing.GENERATED \
        or str(names.get("__name__")).partition(".")[0] == "whet"


def read(setting):
    """The value of a setting: `setting()`. A recorder is notified that it was read."""
    if state.observers:
        state.observers[-1].read(setting)
    return setting()


def goes_by(holder):
    """Tell the recording under way, if there is one, that the result depends on the attributes of
    an object of whet."""
    if state.observers:
        state.observers[-1].goes_by(holder)


@declared_for_tracing.goes_by_no_size
def is_grad_enabled():
    """Is gradient recording on, on this thread?

    >>> import whet
    >>> with whet.no_grad():
    ...     whet.is_grad_enabled()
    False
    """
    return bool(state.flags & (GRAD | IDLE))


@declared_for_tracing.goes_by_no_size
def is_inference_mode_enabled():
    """Is inference mode on, on this thread?

    >>> import whet
    >>> whet.is_inference_mode_enabled()
    False
    """
    return bool(state.flags & INFERENCE)


def _switched(on):
    """The flags of now with the recording of gradients switched on, or off."""
    return state.flags | GRAD if on else state.flags & ~(GRAD | IDLE)


class _Mode:
    """A context manager that is also a decorator (of functions and generators)."""
    __slots__ = ("_before",)
    _before: Any                    # what is set again: of most modes, the flags
    _sets = GRAD | IDLE             # of these flags, the ones that the mode sets

    def __call__(self, fn):
        import inspect
        if inspect.isclass(fn):
            raise TypeError(
                f"{type(self).__name__}: decorate functions, not the class {fn.__name__}")
        again = self._clone
        if inspect.isgeneratorfunction(fn):
            @functools.wraps(fn)
            def generator(*args, **kwargs):
                with again():
                    it = fn(*args, **kwargs)
                go, sent = it.send, None
                while True:
                    try:
                        with again():
                            item = go(sent)
                    except StopIteration as stop:
                        return stop.value
                    try:
                        go, sent = it.send, (yield item)
                    except GeneratorExit:
                        with again():
                            it.close()
                        raise
                    except BaseException as e:
                        go, sent = it.throw, e
            return generator

        @functools.wraps(fn)
        def wrapped(*args, **kwargs):
            with again():
                return fn(*args, **kwargs)
        return wrapped

    def _clone(self):
        return type(self)()

    def __exit__(self, *exc):
        try:
            set_flags(self._flags_after())
        except BaseException:            # an interrupt came in the midst of it
            set_flags(self._flags_after())
            raise

    def _flags_after(self):
        """The flags of now, but those that the mode sets as they were. A mode may have been made
        long before, and be left after others that began within it."""
        return state.flags & ~self._sets | self._before & self._sets


class _Bare(_Mode):
    """A mode without arguments, which decorates without parentheses too."""
    __slots__ = ()

    def __new__(cls, fn=None):
        self = object.__new__(cls)
        return self if fn is None else self(fn)


class no_grad(_Bare):
    """Record nothing inside: `with no_grad():` or `@no_grad()`.

    >>> import whet
    >>> x = whet.ones(2, requires_grad=True)
    >>> with whet.no_grad():
    ...     y = x * 2
    ...
    >>> y.requires_grad
    False
    """
    __slots__ = ()

    def __enter__(self):
        self._before = enter(_switched(False))


class enable_grad(_Bare):
    """Record again inside a `no_grad` block.

    >>> import whet
    >>> x = whet.ones(2, requires_grad=True)
    >>> with whet.no_grad(), whet.enable_grad():
    ...     y = x * 2
    ...
    >>> y.requires_grad
    True
    """
    __slots__ = ()

    def __enter__(self):
        self._before = enter(_switched(True))


class set_grad_enabled(_Mode):
    """Switch recording on or off: as a statement for good, as a context manager for a block.

    >>> import whet
    >>> with whet.set_grad_enabled(False):
    ...     whet.is_grad_enabled()
    ...
    False
    """
    __slots__ = ("mode",)

    def __init__(self, mode):
        if not isinstance(mode, bool):
            mode = bool(mode)
        self._before, self.mode = state.flags, mode
        set_flags(_switched(mode))

    def __call__(self, fn):
        set_flags(self._flags_after())
        return super().__call__(fn)

    def _clone(self):
        return type(self)(self.mode)

    def __enter__(self):
        enter(_switched(self.mode))


class inference_mode(_Mode):
    """As `no_grad`, and results can never be used where a gradient is recorded later.

    >>> import whet
    >>> with whet.inference_mode():
    ...     y = whet.ones(2) * 2
    ...
    >>> y.is_inference()
    True
    """
    __slots__ = ("mode",)
    _sets = GRAD | IDLE | INFERENCE
    mode: bool

    def __new__(cls, mode=True):
        self = object.__new__(cls)
        if callable(mode):
            self.mode = True
            return self(mode)
        self.mode = mode
        return self

    def _clone(self):
        return type(self)(self.mode)

    def __enter__(self):
        flags = state.flags & ~(GRAD | IDLE | INFERENCE)
        self._before = enter(flags | (INFERENCE if self.mode else GRAD))


class set_detect_anomaly(_Mode):
    """Remember the forward line of every recorded op, and stop at the first NaN that a backward
    produces.

    >>> import whet
    >>> x = whet.zeros(1, requires_grad=True)
    >>> with whet.autograd.set_detect_anomaly(True):
    ...     (x + 1).sum().backward()
    >>> x.grad
    tensor([1.])
    """
    __slots__ = ("mode", "check_nan", "_anomaly")

    def __init__(self, mode, check_nan=True):
        self.mode, self.check_nan = mode, check_nan
        self._anomaly = state.anomaly, state.check_nan
        self._apply(mode, check_nan)

    @staticmethod
    def _apply(mode, check_nan):
        state.anomaly, state.check_nan = mode, check_nan
        refresh()

    def _clone(self):
        return type(self)(self.mode, self.check_nan)

    def __enter__(self):
        self._apply(self.mode, self.check_nan)

    def __exit__(self, *exc):
        self._apply(*self._anomaly)


class detect_anomaly(set_detect_anomaly):
    """`with detect_anomaly():` — see `set_detect_anomaly`.

    >>> import whet
    >>> x = whet.zeros(1, requires_grad=True)
    >>> with whet.autograd.detect_anomaly():
    ...     x.sqrt().sum().mul(0).backward()
    Traceback (most recent call last):
        ...
    RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.
    """
    __slots__ = ()

    def __init__(self, check_nan=True):
        super().__init__(True, check_nan)

    def _clone(self):
        return type(self)(self.check_nan)


def is_anomaly_enabled():
    """Does `set_detect_anomaly` hold?"""
    return bool(state.anomaly)


def is_anomaly_check_nan_enabled():
    """Does a backward stop at the first NaN, where `set_detect_anomaly` holds?"""
    return bool(state.check_nan)


class saved_tensors_hooks:
    """Call `pack(tensor)` for each tensor saved for backward inside, and `unpack(packed)` when
    it is needed.

    >>> import whet
    >>> x = whet.tensor([2.0], requires_grad=True)
    >>> with whet.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), whet.from_numpy):
    ...     y = x.exp()
    >>> y.backward()
    >>> x.grad
    tensor([7.3891])
    """

    def __init__(self, pack_hook, unpack_hook):
        self.hooks = pack_hook, unpack_hook

    def __enter__(self):
        if state.refuses_saved_hooks is not None:
            raise RuntimeError(state.refuses_saved_hooks)
        state.saved_hooks += (self.hooks,)
        refresh()

    def __exit__(self, *exc):
        state.saved_hooks = state.saved_hooks[:-1]
        refresh()
