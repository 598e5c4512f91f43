"""The run that is exported: recorded as `jit.trace` records one, and held to more.

Nothing of a run may be lost in what is exported. Writes to what was there before, changes of
Python's state, output and random numbers are refused, each with its line.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NoReturn

from whet.autograd import modes

from ..capture.session import Session, Unrecorded
from ..capture.user_lines import where
from ..capture.variation import Variation
from ..dispatch.code_that_ran import CodeThatRan
from ..dispatch.invocation import Invocation
from ..dispatch.learned_variation import Learned
from ..dispatch.traced_function import TracedFunction
from ..effects.run_findings import Findings
from ..guards.visitors import Unwatchable
from ..policy.ledger import Kind
from ..refusals.reasons import Changes, Draws, OnDevice, Prints, Reason
from ..refusals.recording_errors import Refused
from ..refusals.user_names import Names
from ..stand_ins.repeated_output import is_warning
from ..values.same_bits import copy_with_layout
from ..values.tensor_sources import Argument
from .describe_trees import Arguments, ResultParts
from .errors import ExportError
from .recomputed_attributes import recomputed
from .tree_structure import Part


class WritesOutside(Reason):
    """It writes to a tensor that was there before."""

    instead = "Work on a copy (x.clone()) and return it: an exported function changes nothing."


class DrawsNumbers(Draws):
    """It draws random numbers."""

    instead = (
        "An exported function gives the same for the same input: pass random numbers as an "
        "argument. Dropout draws in training mode: call .eval() on the module first."
    )


class Outputs(Prints):
    """It prints or logs."""

    instead = "Do this outside: an exported function does nothing but compute."


class Recorded:
    """What a run was: nodes and the layouts of values, the values of arguments and of constants,
    the result's parts, and results' arrays as the run made them. `followed`: what became of the
    sizes that Python read, where these were followed."""

    def __init__(self, run: ExportSession, found: Findings, output: ResultParts,
                 part: Part) -> None:
        rec = run.rec
        for index in rec.values.devices.values():
            raise Refused(OnDevice(index))
        self.nodes, self.arrays = list(rec.nodes), list(rec.values.arrays)
        is_followed = run.variation.sizes and not rec.followed.is_incomplete
        self.followed = rec.followed if is_followed else None
        self.inputs = [rec.value(t) for t in run.arguments.tensors]
        self.input_names = run.arguments.names
        inputs = set(self.inputs)
        self.outside = {n: t for n, t in rec.outside.items() if n not in inputs}
        self.names = Names(run.world, run.subject.fn, run.call.key)
        self.modules = run.modules
        self.output, self.values, self.result_names = part, output.values, output.names
        self.input_arrays = [copy_with_layout(t._array) for t in run.arguments.tensors]
        self.made = [copy_with_layout(found.rec.values.array(n)) for n in output.values]


class ExportSession(Session):
    """One run of a function that is exported. `recorded` is what became of it. `ran`: the only
    code that is read, if earlier runs have shown that not all can be."""

    def __init__(
        self,
        subject: TracedFunction,
        arguments: Arguments,
        args: Any,
        kwargs: Any,
        follows: bool = False,
        ran: CodeThatRan | None = None,
    ) -> None:
        learned = Learned()
        learned.arrays_are_known = True
        if ran is not None:
            learned.ran = ran
            learned.fix_numbers()
        key, flat = learned.key(args, kwargs)
        call = Invocation(args, kwargs, key, flat, Kind(0.0, ()), 0.0)
        super().__init__(subject, learned, call,
                         Variation(items=True, sizes=follows, extremes=follows))
        self.arguments, self.lines = arguments, list[str]()
        self.recorded: Recorded | None = None
        self.may_learn = False               # Did it show code that is read from now on?
        self.modules: list[Any] = []

    def search(self) -> None:
        try:
            super().search()
        except Unwatchable as e:
            if self.learned.ran is not None:
                raise
            self.see_what_runs(e.reason)
            super().search()
        self.modules = modules_of(self.subject.fn, self.world)

    def see_what_runs(self, reason: Reason) -> None:
        """Not all that the function reaches can be compared: run it once, to read from now on the
        code alone that ran."""
        self.learned.ran = CodeThatRan(reason.named(self.subject.fn, self.call.key))
        self.learned.fix_numbers()
        with self.learned.ran:
            self.unwatched()

    def numbers_become_known(self) -> None:
        self.learned.fix_numbers()

    def arrays_become_known(self) -> None:
        pass

    def unwatchable(self, error: Any) -> None:
        self.refuse(error.reason)

    def failed(self, error: Any) -> None:
        self.may_learn = self.has_learned()
        self.refuse(error.reason)

    def refuse(self, reason: Reason) -> NoReturn:
        """The function cannot be exported: tensors and generators are as they were."""
        self.restore()
        why = reason.named(self.subject.fn, self.call.key).full()
        raise ExportError(f"{self.subject.name} cannot be exported: {why}")

    def restore(self) -> None:
        """Put back what the run wrote to tensors that were there before, and the generators."""
        if not hasattr(self, "rec"):
            return
        rec = self.rec
        for n, was in rec.originals.copies.items():
            a = rec.originals.real(n)
            if a.flags.writeable:
                a[...] = was
        for g in rec.stand_ins.streams.moved():
            g._seed, g._offset = rec.stand_ins.streams.starts[id(g)]

    def exchange(self) -> None:
        super().exchange()
        do = self.outward.do

        def noted(*args: Any, **kwargs: Any) -> Any:
            line, before = where(), len(self.rec.acts)
            out = do(*args, **kwargs)
            if is_warning(args[0]):          # whoever exports has been warned: that is enough
                self.rec.acts = self.rec.acts[:before]
            self.lines += [line] * (len(self.rec.acts) - before)
            return out

        self.outward.do = noted  # type: ignore[method-assign]

    def observe(self) -> Any:
        before, modes.state.exports = modes.state.exports, True
        try:
            return super().observe()
        finally:
            modes.state.exports = before

    def conclude(self, out: Any) -> None:
        rec = self.rec
        for t in self.arguments.tensors:
            rec.value(t)
        found = Findings(self, out)
        found.nothing_escaped()
        found.account()
        self.only_computes(found)
        results = ResultParts(lambda recipe: rec.value(recipe.source.find(self.leaves)))
        part = results.part(found.result, "")
        self.recorded = Recorded(self, found, results, part)

    def only_computes(self, found: Findings) -> None:
        """Raise Refused where the run did more than compute."""
        rec = self.rec
        for n in rec.nodes:
            if n.op is not None and (n.kind == "draw" or n.op.random):
                raise Refused(DrawsNumbers(f"it draws random numbers ({n.op.name})", n.line))
        if found.draws or rec.stand_ins.draws.made:
            raise Refused(DrawsNumbers("it draws random numbers"))
        for n in rec.nodes:
            for root in [rec.values.root(x) for x in n.written()]:
                if root in rec.outside:
                    raise Refused(WritesOutside(f"it writes to {self.called(found, root)}", n.line))
        if found.effects.bumps or found.grads or found.effects.marks:
            raise Refused(WritesOutside("it changes a tensor that was there before"))
        every = self.run.whole.changes()
        again = recomputed(every, rec, [rec.value(t) for t in self.arguments.tensors])
        changes = [c for c in every if c.key not in again]
        if changes:
            raise Refused(Changes(self.run.whole, changes[0]))
        left = found.left
        if left.growths or left.filled or any(s.key not in again for s, _ in left.effects):
            raise Refused(WritesOutside("it changes Python's state"))
        if self.lines:
            raise Refused(Outputs("it prints or logs").at(self.lines[0]))

    def called(self, found: Findings, value: int) -> str:
        """What the user calls a value from outside."""
        source = found.source_of(self.rec.outside[value])
        if isinstance(source, Argument):
            return f"its argument `{self.arguments.names[self.place(value)]}`"
        name = Names(self.world, self.subject.fn, self.call.key).of_tensor(self.rec.outside[value])
        return f"`{name}`" if name else "a tensor from outside"

    def place(self, value: int) -> int:
        """Which of the arguments' tensors a value is."""
        return [self.rec.value(t) for t in self.arguments.tensors].index(value)


def attempt(session: ExportSession) -> tuple[Recorded | None, ExportError | None]:
    """What a run was, or why it cannot be exported."""
    # NumPy loads its generators when they are first asked for, which a watch takes for a draw
    importlib.import_module("numpy.random")
    with modes.no_grad():
        try:
            session.result()
        except Unrecorded:
            pass
        except ExportError as e:
            return None, e
    if session.recorded is None:
        return None, ExportError(
            f"{session.subject.name} cannot be exported: its run was not recorded"
        )
    return session.recorded, None


def modules_of(fn: Callable[..., Any], world: Any) -> list[Any]:
    """The modules that a function reaches and that are no parts of others."""
    from whet.nn import Module

    own = fn if isinstance(fn, Module) else getattr(fn, "__self__", None)
    if isinstance(own, Module):
        return [own]
    found = [x for x in world.seen.values() if isinstance(x, Module)]
    inner = {id(m) for x in found for m in x.modules() if m is not x}
    return [x for x in found if id(x) not in inner]
