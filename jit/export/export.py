"""`whet.export`: a function or module becomes a graph of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from whet.amp import autocast
from whet.dtypes import bfloat16, float16
from whet.export_runs import exporting
from whet.ir.graph import Graph
from whet.ir.interpret import interpret
from whet.passes.pipeline import REWRITES

from ..dispatch.code_that_ran import CodeThatRan
from ..dispatch.traced_function import TracedFunction
from ..machine_code.native_entry import Entry
from ..values.same_bits import near, same_bits
from . import training
from .automatic_dims import AutomaticDims, is_automatic
from .describe_trees import Arguments
from .dims import Dims, Values, declared
from .errors import ExportError
from .exported import Exported, Samples
from .graph_values import inputs, results
from .recording import ExportSession, Recorded, attempt
from .signature import Parameter, Signature, bound_call, parameters
from .simplify import Simplified
from .sized_export import REFUSALS, Sized
from .sized_graph import SizedGraph


def _wrapped(fn: Any) -> Callable[..., Any]:
    """What is exported of a function, of a module or of what was traced."""
    if isinstance(fn, Entry):
        fn = fn.fn
    if not callable(fn):
        raise TypeError(f"export(): expected a function or a module, got {type(fn).__name__}")
    made: Callable[..., Any] = fn
    return made


def export(
    fn: Callable[..., Any],
    /,
    *args: Any,
    dynamic: Any = None,
    rewrites: Iterable[str] = (),
    dtype: Any = None,
    **kwargs: Any,
) -> Exported:
    """A function or module as a graph of its own: `Exported`. It is recorded in one run on the
    example arguments, without gradients.

    >>> import whet
    >>> def scale(batch, by=2.0):
    ...     return {"scaled": batch["x"] * by}
    >>> exported = whet.export(scale, {"x": whet.ones(3)})
    >>> exported({"x": whet.arange(3.0)})
    {'scaled': tensor([0., 2., 4.])}
    >>> exported.preconditions
    [`batch.x` is f32[3], `by` is 2.0]

    Tensors that are read from outside become constants, copied as they are now. Numbers and texts
    among the arguments become parts of the graph, which a call is compared with. What does more
    than compute raises ExportError, with the line: writes to arguments or to what is outside,
    output, random numbers. Call `.eval()` on modules first.

    `dynamic` says which sizes differ: `{"x": {0: whet.jit.Dim("batch", max=64)}}`, or `{"x":
    ("batch", None)}`. The function is recorded at several; what is not the same function of all of
    them is an ExportError.

    >>> x = whet.ones(4, 3, 2)
    >>> e = whet.export(lambda x: x.flatten(1) * 2, x, dynamic={"x": ("batch", None, None)})
    >>> e.results, e(whet.ones(7, 3, 2)).shape
    ([output: f32[batch,6]], whet.Size([7, 6]))
    >>> whet.export(whet.nn.Linear(2, 3).eval(), whet.ones(4, 2), dynamic=True).inputs
    [input: f32[batch,2]]

    `rewrites` names what may change bits: see `whet.jit.trace`. What constants alone make is
    computed beforehand in any case, which changes none.

    `dtype=whet.bfloat16` (or float16) makes products and convolutions in that type, as `autocast`
    does: their weights are held in it."""
    with exporting(), in_type(dtype):
        return _exported(_wrapped(fn), checked(rewrites), dynamic, args, kwargs)


def in_type(dtype: Any) -> contextlib.AbstractContextManager[Any]:
    """Where products and convolutions are made in a type; None: as the function has them."""
    if dtype is None:
        return contextlib.nullcontext()
    if dtype not in (bfloat16, float16):
        raise ValueError(f"export(): dtype is bfloat16 or float16, not {dtype}")
    found: contextlib.AbstractContextManager[Any] = autocast("cpu", dtype=dtype)
    return found


def _exported(
    fn: Callable[..., Any], names: tuple[str, ...], dynamic: Any, args: Any, kwargs: Any
) -> Exported:
    """What `export` gives: recorded, simplified by rewrites of these names, and checked."""
    recording = ExportRuns(fn, names, args, kwargs)
    run, size_read_at = recording.first()
    if not is_automatic(dynamic):
        return made_for(recording, run, size_read_at, names, dynamic)
    automatic = AutomaticDims(dynamic, run.input_names, run.input_arrays, recording.passes)
    for attempt_ in automatic.attempts():
        try:
            return made_for(recording, run, size_read_at, names, attempt_)
        except ExportError:
            if not attempt_:
                raise
    raise ExportError("nothing was recorded")


def made_for(
    recording: ExportRuns, run: Recorded, size_read_at: str | None, names: tuple[str, ...],
    dynamic: Any
) -> Exported:
    """What the run of the example comes to, where the sizes that `dynamic` names may differ.
    `size_read_at`: the line where Python read a size."""
    dims = declared(dynamic, run.input_names, run.input_arrays)
    fn = recording.fn
    name = getattr(fn, "__name__", type(fn).__name__)
    if dims is None:
        made, sized = Simplified(run, name, names), None
        sizes: list[Any] = [None] * len(run.values)
        runs = [run]
    else:
        before = list(dims.dims)
        search = recording.of_all_sizes(dims, run, size_read_at)
        made, runs, sizes = (
            Simplified(run, name, names, search.holes),
            [*search.runs.values()],
            search.results,
        )
        sized = SizedGraph(made.graph, dims, made.holes)
        sized.leave_out_too_small()
    signature = Signature(
        recording.parameters, run.output, inputs(made.graph, dims), results(made.graph, sizes)
    )
    samples = Samples(run.input_arrays, run.made)
    exported = Exported(name, made.graph, made.constants, signature, made.rewrites, samples, sized)
    for r in runs:
        check(exported, r, bool(names))
    if dims is not None:
        search.leave_out_small_sizes(lambda run: gives(exported, run, bool(names)))
        dims.tell_raised(before)
    exported.samples.results = run.made
    return exported


def graph_as_written(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], resized: Any = None
) -> tuple[Graph, dict[str, Any], Samples]:
    """The graph of a call, the arrays of its constants, and the call. Nothing is computed
    beforehand. `resized`: the array that takes the place of an input's, by its number."""
    fn = fn.fn if isinstance(fn, Entry) else fn
    run, _ = ExportRuns(fn, (), tuple(args), dict(kwargs)).first(lambda: Arguments(resized))
    made = Simplified(run, getattr(fn, "__name__", type(fn).__name__), (), fold=False)
    return made.graph, made.constants, Samples(run.input_arrays, run.made)


class ExportRuns:
    """The runs of a function that is exported. `parameters`: of the call."""

    def __init__(
        self, fn: Callable[..., Any], rewrites: tuple[str, ...], args: Any, kwargs: Any
    ) -> None:
        self.fn, self.args, self.kwargs = fn, args, kwargs
        self.subject = TracedFunction(
            fn, strict=True, verify="first", rewrites=rewrites, dynamic=None)
        self.parameters: list[Parameter] = []
        self.ran: CodeThatRan | None = None  # the only code that is read, if not all can be

    def run(
        self, arguments: Callable[[], Arguments] = Arguments, follows: bool = False
    ) -> tuple[ExportSession, Recorded | None, ExportError | None]:
        """A run, or the last of several: one may show code that the next reads. `follows`: are
        sizes numbers that are followed?"""
        while True:
            inputs = arguments()
            bound = bound_call(self.fn, self.args, self.kwargs)
            self.parameters = parameters(bound, inputs)
            session = ExportSession(
                self.subject, inputs, bound.args, bound.kwargs, follows, self.ran)
            run, error = attempt(session)
            self.ran = session.learned.ran
            if not session.may_learn:
                return session, run, error

    def first(
        self, arguments: Callable[[], Arguments] = Arguments
    ) -> tuple[Recorded, str | None]:
        """The run of the example, and the line where Python read a size. Raises ExportError
        where it cannot be exported, or modules are in training mode that matters."""
        session, run, error = self.run(arguments)
        if training.in_training(session.modules):
            now = training.outcome_text(run, error)
            training.refuse(lambda: self.run(arguments)[1:], now, session.modules)
        if run is None:
            raise error or ExportError("nothing was recorded")
        return run, session.watch.size_read_at

    def followed(self) -> Recorded | None:
        """The run of the example, where all sizes that Python read were followed."""
        parameters = self.parameters
        session, run, _ = self.run(follows=True)
        self.parameters = parameters
        is_whole = run is not None and run.followed and session.watch.size_read_at is None
        return run if is_whole else None

    def of_all_sizes(self, dims: Dims, run: Recorded, size_read_at: str | None) -> Sized:
        """What the recordings at several sizes come to. Ops may compute with sizes that the
        function did not ask for: these are followed where they are needed."""
        def record(values: Values) -> tuple[Recorded | None, ExportError | None, str | None]:
            return self.of_sizes(dims, values)

        followed = None if size_read_at is None else self.followed()
        try:
            return Sized(dims, run, size_read_at, followed, record)
        except ExportError:
            followed = self.followed() if size_read_at is None else None
            if followed is None:
                raise
        return Sized(dims, run, size_read_at, followed, record)

    def passes(self, dims: Dims, values: Values) -> bool:
        """Can the function be recorded at these sizes?"""
        parameters = self.parameters
        try:
            return self.of_sizes(dims, values)[0] is not None
        except Exception:       # the function's own, at a size that it is not for
            return False
        finally:
            self.parameters = parameters

    def of_sizes(
        self, dims: Dims, values: Values
    ) -> tuple[Recorded | None, ExportError | None, str | None]:
        """A run of other sizes."""
        session, run, error = self.run(
            lambda: Arguments(lambda i, a: dims.resized(i, a, values)))
        return run, error, session.watch.size_read_at


def checked(rewrites: Iterable[str]) -> tuple[str, ...]:
    """The names of rewrites."""
    names = (rewrites,) if isinstance(rewrites, str) else tuple(rewrites)
    for name in names:
        if name not in REWRITES:
            raise ValueError(
                f"export(): rewrites are some of {', '.join(map(repr, REWRITES))}, not {name!r}"
            )
    return names


def gives(exported: Exported, run: Recorded, is_rewritten: bool) -> bool:
    """Does an exported function give the results of a run? An error is no result that is wrong."""
    try:
        check(exported, run, is_rewritten)
    except ExportError:
        return False
    except REFUSALS:
        return True
    return True


def check(exported: Exported, run: Recorded, is_rewritten: bool) -> None:
    """Compare the program with the run that was recorded; where rewrites changed bits, with what
    the graph means."""
    made, wanted = exported.run(run.input_arrays), run.made
    if is_rewritten:
        g = exported.graph_at(exported.sizes(run.input_arrays))
        constants = [exported.constants[x.name] for x in g.inputs if x.place == "constant"]
        wanted = interpret(g, *run.input_arrays, *constants)
        if not all(map(near, wanted, run.made)):
            raise ExportError(
                f"{exported.name}: a rewrite moved a result by more than its rounding"
            )
        run.made = wanted
    for v, a, b in zip(exported.results, made, wanted, strict=True):
        if not same_bits(a, b):
            raise ExportError(
                f"{exported.name}: the exported program gives other bits for result `{v.name}` "
                "than the run: please report this"
            )
