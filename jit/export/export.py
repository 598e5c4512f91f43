"""`whet.export`: a function or module becomes a graph of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import BoundArguments
from typing import Any

from whet.ir.graph import Graph
from whet.ir.interpret import interpret
from whet.passes.pipeline import REWRITES

from ..dispatch.subject import Subject
from ..guards.native_entry import Entry
from ..verify.same_bits import near, same_bits
from . import training
from .describe import Arguments
from .errors import ExportError
from .exported import Exported, Samples
from .graph_values import values
from .recording import ExportSession, Recorded, attempt
from .signature import Signature, bound_call, parameters
from .simplify import Simplified


def export(
    fn: Callable[..., Any],
    /,
    *args: Any,
    dynamic: Any = None,
    rewrites: Iterable[str] = (),
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
    than compute raises ExportError, with the line: writes to arguments or to what lies outside,
    output, random numbers. Call `.eval()` on modules first.

    `rewrites` names what may change bits: see `whet.jit.trace`. What constants alone make is
    computed beforehand in any case, which changes none."""
    if isinstance(fn, Entry):
        fn = fn.fn
    if not callable(fn):
        raise TypeError(f"export(): expected a function or a module, got {type(fn).__name__}")
    names = checked(rewrites)
    bound, arguments = bound_call(fn, args, kwargs), Arguments()
    given = parameters(bound, arguments)
    subject = Subject(fn, True, "first", names, None)
    run = recorded(subject, arguments, bound)
    name = getattr(fn, "__name__", type(fn).__name__)
    made = Simplified(run, name, names)
    signature = Signature(
        given, run.output, values(made.graph, given=True), values(made.graph, given=False)
    )
    exported = Exported(
        name, made.graph, made.constants, signature, made.rewrites, Samples(run.given, run.made)
    )
    check(exported, run, bool(names))
    return exported


def graph_as_written(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Graph, dict[str, Any]]:
    """The graph of a call and the arrays of its constants, nothing computed beforehand."""
    fn = fn.fn if isinstance(fn, Entry) else fn
    bound, arguments = bound_call(fn, tuple(args), dict(kwargs)), Arguments()
    parameters(bound, arguments)
    run = recorded(Subject(fn, True, "first", (), None), arguments, bound)
    made = Simplified(run, getattr(fn, "__name__", type(fn).__name__), (), fold=False)
    return made.graph, made.constants


def recorded(subject: Subject, arguments: Arguments, bound: BoundArguments) -> Recorded:
    """A run of a function; raises ExportError where it cannot be exported, or modules are in
    training mode that matters."""

    def again() -> tuple[Recorded | None, ExportError | None]:
        return attempt(ExportSession(subject, arguments, bound.args, bound.kwargs))

    session = ExportSession(subject, arguments, bound.args, bound.kwargs)
    run, error = attempt(session)
    if training.in_training(session.modules):
        now = training.said(run, error)
        training.refuse(again, now, session.modules)
    if run is None:
        raise error or ExportError("nothing was recorded")
    return run


def checked(rewrites: Iterable[str]) -> tuple[str, ...]:
    """The names of rewrites."""
    names = (rewrites,) if isinstance(rewrites, str) else tuple(rewrites)
    for name in names:
        if name not in REWRITES:
            raise ValueError(
                f"export(): rewrites are some of {', '.join(map(repr, REWRITES))}, not {name!r}"
            )
    return names


def check(exported: Exported, run: Recorded, is_rewritten: bool) -> None:
    """Compare the program with the run that was recorded; where rewrites changed bits, with what
    the graph means."""
    made, wanted = exported.run(run.given), run.made
    if is_rewritten:
        constants = [
            exported.constants[x.name] for x in exported.graph.inputs if x.place == "constant"
        ]
        wanted = interpret(exported.graph, *run.given, *constants)
        if not all(map(near, wanted, run.made)):
            raise ExportError(
                f"{exported.name}: a rewrite moved a result by more than its rounding"
            )
        exported.samples.results = wanted
    for v, a, b in zip(exported.results, made, wanted, strict=True):
        if not same_bits(a, b):
            raise ExportError(
                f"{exported.name}: the exported program gives other bits for result `{v.name}` "
                "than the run: please report this"
            )
