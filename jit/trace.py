"""`jit.trace`: a function that records a real run of itself and afterwards replays it.

    key of the arguments -> recordings, each with what it read from outside (a World) and a Program

A call that no recording fits is an eager one, and is recorded (`dispatch/`). Whatever cannot be
recorded runs eagerly, with one warning that says why.
"""
from __future__ import annotations

import copy
import functools
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from whet import profiler_listeners
from whet.cpu import native
from whet.passes.pipeline import REWRITES

from .capture import purity
from .dispatch.calls import Calls
from .dispatch.traced_function import TracedFunction
from .guards.visitors_of_callables import TRACES
from .machine_code import native_entry, native_runner
from .report import explain, page, summary, verbosity
from .stand_ins import numpy_stand_in

if TYPE_CHECKING:
    from whet.ir.graph import Graph

    from .guards.sizes import Dynamic

VERIFY = "sample", "first", "always", "off"      # see `trace`
OWN = frozenset(("fn", "_ready"))                # what is set on the trace, not on the function


def _is_module(fn: object) -> bool:
    found = sys.modules.get("whet.nn.module")
    return found is not None and isinstance(fn, found.Module)


class Traced(native_entry.Entry):
    """A function that is recorded and replayed. See `trace`. Its other attributes are the
    function's own.

    >>> import whet
    >>> @whet.jit.trace
    ... def doubled(x):
    ...     return x * 2
    >>> doubled(whet.ones(2)), type(doubled) is whet.jit.Traced
    (tensor([2., 2.]), True)
    """
    # _ready: tables of recordings, for machine code to try in this order
    __slots__ = ("__dict__", "__weakref__", "_ready")
    _traces = TRACES
    # the inputs that `trace` was given: by place, and by name
    _examples: tuple[tuple[Any, ...], dict[str, Any]] | None = None

    def __init__(self, fn: Callable[..., Any], strict: bool = False, verify: str = VERIFY[0],
                 rewrites: Sequence[str] = (), dynamic: Dynamic = None) -> None:
        functools.update_wrapper(self, fn, updated=())
        subject = TracedFunction(fn, strict, verify, tuple(rewrites), dynamic)
        self._ready = None
        self._calls = Calls(subject, weakref.ref(self))

    # the trace of a module is one: it may be a part of another
    __class__ = property(lambda self: type(self.fn) if _is_module(self.fn) else Traced)

    # ---- in place of the function ----------------------------------------------------------------
    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
        """A call that no table fits."""
        return self._calls(args, kwargs or {})

    def __getattr__(self, name: str) -> Any:
        """What the function has (a traced module its parameters), so has its trace."""
        try:
            return getattr(self.__dict__["_calls"].subject.fn, name)
        except AttributeError:
            if name != "save":
                raise
        from .save_and_load import save  # as TorchScript's have it
        return functools.partial(save, self)

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if "_calls" in own and name not in own and name not in OWN:
            setattr(self.fn, name, value)
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.fn, name)

    def __copy__(self) -> Traced:
        return Traced(self.fn, *self._calls.subject.settings)

    def __deepcopy__(self, memo: dict[int, Any]) -> Traced:
        return Traced(copy.deepcopy(self.fn, memo), *self._calls.subject.settings)

    def __reduce__(self) -> Any:
        """By its name where that leads here, as functions are pickled; otherwise what it traces."""
        found: Any = sys.modules.get(getattr(self.fn, "__module__", None) or "")
        for name in getattr(self.fn, "__qualname__", "").split("."):
            found = getattr(found, name, None)
        return (self.fn.__qualname__ if found is self else
                (Traced, (self.fn, *self._calls.subject.settings)))

    # ---- what was given to `trace` ---------------------------------------------------------------
    @property
    def fn(self) -> Callable[..., Any]:
        """The function."""
        return self._calls.subject.fn

    @fn.setter
    def fn(self, fn: Callable[..., Any]) -> None:
        self._calls.subject.fn = fn

    strict = property(lambda self: self._calls.subject.strict)
    verify = property(lambda self: self._calls.subject.verify)
    rewrites = property(lambda self: self._calls.subject.rewrites)
    dynamic = property(lambda self: self._calls.subject.dynamic)

    # ---- telling ---------------------------------------------------------------------------------
    _table = property(lambda self: self._calls.recordings.by_key)
    _policy = property(lambda self: self._calls.policy)
    _why = property(lambda self: self._calls.refusals.why)
    _drift = property(lambda self: self._calls.refusals.drift)

    def explain(self, data: bool = False, full: bool = False) -> Any:
        """What became of the calls, why, and what to do about it, in one screen. `full` adds, for
        every recording, its graphs, its guards and what was not fused. `data` gives all of it as a
        dict."""
        if data:
            return explain.facts(self)
        return summary.full(self) if full else summary.screen(self)

    def __repr__(self) -> str:
        return repr(self.fn) if _is_module(self.fn) else f"<traced {summary.state(self)}>"

    def show(self, path: str | None = None) -> str:
        """Write a page with the graph of the most called recording, as recorded and as it runs;
        gives the path, of a new file where none is given. One that ends in .svg or .png becomes the
        pictures alone."""
        return page.show(self, path)

    def _repr_html_(self) -> str:
        return page.page(self)

    def export(self, *args: Any, **kwargs: Any) -> Any:
        """The function as a graph of its own: see `whet.export`."""
        from .export import export
        return export(self.fn, *args, **kwargs)

    @property
    def recorded(self) -> Graph | None:
        """The graph of the newest recording as it was recorded (see `whet.ir.graph`); None where
        there is none."""
        return next((explain.graphs(self, *x)[0] for x in explain.recordings(self)), None)

    @property
    def graph(self) -> Graph | None:
        """The graph of the newest recording as it runs, after all passes; None where there is
        none."""
        return next((explain.graphs(self, *x)[1] for x in explain.recordings(self)), None)


native_entry.begin(Traced, Traced._call)
if native.enabled():
    # Machine code of all recordings: a new machine compiles it here, not in a user's first call.
    native_runner.machine()
    numpy_stand_in.stands_as_memory()
    purity.known_code()


@functools.cache
def _telling() -> type[Traced]:
    return verbosity.telling(Traced)


def _check_options(verify: str, rewrites: Sequence[str]) -> None:
    """Are these options of `trace` ones that it has?"""
    if verify not in VERIFY:
        raise ValueError(
            f"trace(): verify is one of {', '.join(map(repr, VERIFY))}, not {verify!r}")
    unknown = [name for name in rewrites if name not in REWRITES]
    if type(rewrites) is str or unknown:
        raise ValueError(
            f"trace(): rewrites are a list of some of {', '.join(map(repr, REWRITES))}, not "
            f"{rewrites!r}")


def trace(fn: Callable[..., Any] | None = None, example_inputs: Any = None, *, strict: bool = False,
          verify: str = VERIFY[0], rewrites: Sequence[str] = (), dynamic: Dynamic = None,
          example_kwarg_inputs: Mapping[str, Any] | None = None, check_trace: bool = True,
          check_inputs: Any = None, check_tolerance: float = 1e-5) -> Any:
    """A function that records itself and replays the recording, with the results and effects of
    eager mode to the bit.

    >>> import whet
    >>> @whet.jit.trace
    ... def f(x):
    ...     return (x * 2 + 1).tanh()
    >>> f(whet.zeros(2)), f(whet.ones(2))
    (tensor([0.7616, 0.7616]), tensor([0.9951, 0.9951]))

    `strict=True` raises an error if the function cannot be compiled, instead of running it eagerly.
    `example_inputs` (a tensor or a tuple of arguments) and `example_kwarg_inputs` are for a first
    call at once. They are not needed, except for `save`.

    `verify` says which calls are compared with eager ones:

    - "first": a new program is run on copies of the inputs of the recorded run, and must give its
      bits. If the run writes to much memory, the program is compared with the next call instead.
    - "sample", the default: the same, and calls 16, 32, 64, ... of a recording are made eagerly and
      recorded again. There are fewer if this would take more than a hundredth of the time.
    - "always": every call is made eagerly and compared: what a trace would miss is found at once.
    - "off": none.

    `rewrites` names optimisations that may change bits, within the bounds that the file of each in
    `passes/` states. "fold_batch_norm" puts eval-mode batch norms into the weights before them.
    "reassociate" multiplies several matrices in the cheapest order, and merges numbers into one.
    Calls through which gradients flow are left as they are. `explain()` says what was done.

    A call whose tensors have other sizes is made eagerly once, and its program is derived from one
    for other sizes. `dynamic=False` records each size on its own. A dict from names of arguments to
    dimensions (`{"x": {0: whet.jit.Dim("batch", max=64)}}`) says which sizes may differ. These are
    compiled at their first call, however many there are; all others are recorded on their own.

    `check_trace`, `check_inputs` and `check_tolerance` are PyTorch's, for what `verify` says.
    """
    if fn is None:
        return functools.partial(trace, strict=strict, verify=verify, rewrites=rewrites,
                                 dynamic=dynamic)
    _check_options(verify, rewrites)
    if not callable(fn):
        raise TypeError(f"trace(): expected a function, got {type(fn).__name__}")
    traced = (fn if isinstance(fn, Traced) else (Traced if not verbosity.LEVEL else _telling())(
        fn, strict, verify, rewrites, dynamic))
    if example_inputs is not None or example_kwarg_inputs is not None:
        _call_with_examples(traced, example_inputs, example_kwarg_inputs or {})
    return traced


def _call_with_examples(traced: Traced, inputs: Any, kwargs: Mapping[str, Any]) -> None:
    args = (() if inputs is None else tuple(inputs) if isinstance(inputs, tuple | list)
            else (inputs,))
    traced(*args, **kwargs)
    traced.__dict__["_examples"] = args, dict(kwargs)


def _noted(listener: Any) -> Callable[[], None]:
    """What traced functions do, for a profiler."""
    from .dispatch.profiler_spans import attach
    return attach(listener)


profiler_listeners.register(_noted)
