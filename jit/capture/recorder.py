"""The recorder: observes a real run of a function and notes every primitive that executes.

It is an observer of `ops.registry`: it runs each primitive as eager mode does and notes op,
operands and results. Operands are identified by their arrays, so two tensors that wrap the same
memory are the same value. A tensor that the recording did not make and the function could not reach
before is unknown, and refuses the recording. What the run makes is freed when eager frees it: see
`value_layouts.py`."""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from whet import devices, dtypes
from whet.autograd import modes
from whet.ir.graph import Draw, OpNode, Ref
from whet.layouts import contiguous_format
from whet.ops import registry
from whet.ops.creation import copied
from whet.random import Generator
from whet.random_generator_events import Copied, Event, Made, SeedAsked, StateTold
from whet.tensor_base import Base

from ..program.value_layouts import Originals, Values
from ..refusals.reasons import Foreign, Large, Memory, OlderGraph, Prints, Raises, Reason, Settings
from ..refusals.recording_errors import NoElements, Refused
from ..stand_ins.repeatable_call import Call, nothing
from ..values.code_origin import calls_only_ours
from ..values.varying_numbers import (
    NUMBERS,
    attributes_without_numbers,
    tensor_behind,
    value_of,
    without_numbers,
)
from .calls_behind_gradients import CallsBehindGradients
from .followed_sizes import FollowedSizes, Found
from .guarded_facts import GuardedFacts
from .memory_ceiling import COPIES, FEW
from .purity import Watch
from .reachable_tensors import ReachableTensors
from .run_memory import RunMemory
from .stand_ins_of_run import StandIns
from .tensors_of_run import TensorsOfRun
from .tried_code import TriedCode
from .user_code import UserCode
from .user_lines import user, where
from .variation import Variation
from .writes import Writes

if TYPE_CHECKING:
    from whet.ir.graph import Node
    from whet.ir.values import Array
    from whet.ops.registry import Op

    from .outside_calls import Outward

ERRORS = RuntimeError, ValueError, TypeError, IndexError, NotImplementedError
# numbers that vary make tensors of these types as they make them themselves
FILLED = {
    float: (dtypes.float32, dtypes.float64), int: (dtypes.float32, dtypes.float64, dtypes.int64),
    bool: ()}


Attrs: TypeAlias = Mapping[str, Any]


class RunningOp(NamedTuple):
    """An op that runs, until its results are noted. `sizes`: which of its attributes are sizes that
    are followed."""
    op: Op
    ins: tuple[Any, ...]
    attrs: Attrs
    sizes: Found


class Recorder(Writes):
    """The observer of one run."""

    def __init__(self, reachable: Sequence[Base], variation: Variation = Variation(),
                 watched: Sequence[Array] = (), code: UserCode = UserCode()) -> None:
        self.reachable = ReachableTensors(reachable, watched)
        self.tensors = TensorsOfRun()
        self.code, self.variation, self.guarded = code, variation, GuardedFacts()
        self.stand_ins = StandIns(self)
        self.nodes: list[Node] = []
        self.values, self.run_memory = Values(), RunMemory()
        # value number -> the tensor that existed before; what these held
        self.outside: dict[int, Base] = {}
        self.originals = Originals(self.values)
        self.running: RunningOp | None = None
        self.in_control_flow = 0             # the nesting depth of control flow functions
        # calls that act outside of Python's state: see outside_calls.py
        self.acts: list[Call] = []
        self.outward: Outward | None = None  # makes and notes such calls
        # ids of the tensors among the arguments that were others at the previous call, and of those
        # that stand for numbers in Python's state that vary
        self.new_arguments: Set[int] = frozenset()
        self.followed = FollowedSizes()      # sizes that Python has read
        self.calls_behind_gradients = CallsBehindGradients()
        # why the recording was refused; does that hold for some calls only?
        self.reason: Reason | None = None
        self.passing = False
        self.tried_code: TriedCode | None = None  # while code is tried

    # ---- values ----------------------------------------------------------------------------------
    def value(self, t: Base) -> int:
        """The number of a tensor's value."""
        a = t._array
        n = self.values.number(a)
        if n is None:
            before = self.reachable.before(t)
            if before is None:
                if t.is_meta:
                    raise Refused(NoElements())
                made = self.tensors.wrapped.get(id(a))
                raise Refused(Foreign(a.shape, made) if made or modes.state.pending is None
                              else OlderGraph(a.shape))
            n = self.enter(a, before)
        if self.values.held is not None:
            self.values.held.append(a)
        return n

    def line_of(self, t: Base) -> str:
        """The user's line that made a tensor."""
        n = self.values.number(t._array)
        return next((node.line for node in self.nodes if n in node.outs), "")

    def enter(self, a: Array, tensor: Base) -> int:
        """Number the array of an outside tensor."""
        n = self.values.from_outside(a)
        self.outside[n] = tensor
        if n in self.values.devices:
            Watch.unwatched(self.originals.note_first_use, n)
        else:
            self.originals.note_first_use(n)
        return n

    def operands(self, inputs: Iterable[Any]) -> tuple[Any, ...]:
        return tuple([Ref(self.value(x)) if registry.is_tensor(x) else x for x in inputs])

    def depends_on_time(self) -> set[int]:
        """The values that depend on a clock."""
        found: set[int] = set()
        roots: dict[int, bool] = {}
        for n in self.nodes:
            if (n.kind == "op" and n.op is not None and n.op.random
                    or any(x in found or self.values.root(x) in roots for x in n.refs())):
                found.update(n.outs)
                if n.written():
                    roots.update((self.values.root(x), True) for x in n.written())
                    found.update(k for k in range(len(self.values.arrays))
                                 if self.values.root(k) in roots)
        return found

    def forget(self, values: Iterable[int]) -> None:
        """Make values unknown: what a node makes inside is not visible outside of it."""
        for n in values:
            self.values.forget(n)

    def own(self, n: int) -> bool:
        """Is a value in memory that the tried code has made?"""
        for node in reversed(self.nodes):
            if n in node.outs and node.op is not None and node.op.is_view:
                n = node.ins[0]
        since = 0 if self.tried_code is None else self.tried_code.first_value
        return n >= since and n not in self.outside

    # ---- control flow ----------------------------------------------------------------------------
    def cond(self, pred: Base, true_fn: Callable[..., Any], false_fn: Callable[..., Any],
             operands: Sequence[Any]) -> Any:
        from .control_flow import cond
        return cond(self, pred, true_fn, false_fn, operands)

    def while_loop(self, cond_fn: Callable[..., Any], body_fn: Callable[..., Any],
                   carried: tuple[Any, ...]) -> Any:
        from .control_flow import while_loop
        return while_loop(self, cond_fn, body_fn, carried)

    @staticmethod
    def user() -> FrameType | None:
        """The user's current frame."""
        return user()

    def stop_tried_code(self, reason: object) -> None:
        """End the code that is tried, if any is: it may not do what it is about to do."""
        if self.tried_code is not None:
            self.tried_code.stop(reason)

    def refuse(self, reason: Reason | str) -> None:
        """Refuse the recording; the run goes on unwatched."""
        self.stop_tried_code(reason)
        if self.reason is None:
            self.reason = (Settings(reason) if type(reason) is str else Reason.of(reason)).at(
                where())
        state = modes.state
        if self in state.observers:
            state.observers = tuple(o for o in state.observers if o is not self)
            modes.refresh()

    # ---- what is observed ------------------------------------------------------------------------
    def __call__(self, op: Op, inputs: tuple[Any, ...], attrs: Attrs) -> Any:
        return self.unwatched_if_ours(op, self.run, op, inputs, attrs)

    def run(self, op: Op, inputs: tuple[Any, ...], attrs: Attrs) -> Any:
        """Run an op as eager does, and record it."""
        inputs, attrs = self.without_scalars(inputs, attrs)
        if (op.name == "full" and type(attrs["value"]) in NUMBERS
                and attrs["dtype"] in FILLED[type(value_of(attrs["value"]))]):
            with modes.no_grad():
                x = tensor_behind(attrs["value"])
                if (attrs["dtype"] is not dtypes.float32 or type(value_of(attrs["value"])) is int
                        or self.ask(_modest, (x,))):
                    return x.to(attrs["dtype"]).expand(
                        attrs["size"]).clone(memory_format=contiguous_format)
        inputs, attrs = self.numbers(op, inputs), attributes_without_numbers(attrs)
        known, sizes = self.followed.split_attributes(attrs)
        try:
            ins = self.operands(inputs)
        except Refused as e:
            self.refuse(e.reason)
            return registry.apply(op, inputs, attrs)
        self.between(len(self.nodes))
        before, self.running = self.running, RunningOp(op, ins, known, sizes)
        try:
            out = registry.execute(op, inputs, attrs)
        except BaseException:
            self.raised(op)
            raise
        finally:
            left, self.running = self.running, before
        if left is not None:
            self.note_results(left, out)
        self.run_memory.ceiling.after_operation()
        return out

    def carry_out(self, compute: Callable[[], Any], used: Iterable[Any]) -> Any:
        """Call internal code, unwatched if everything that it uses is internal."""
        kinds = {type(x): x for x in used}
        quiet = not modes.state.saved_hooks and all(map(calls_only_ours, kinds.values()))
        return Watch.unwatched(compute) if quiet else compute()

    def few_copies(self) -> float:
        """The bytes that copies of overwritten values may take, if programs can be checked without
        them."""
        return (self.originals.met + self.run_memory.ceiling.growth) // COPIES + FEW

    def between(self, nodes: int) -> None:
        """Called before an operation, with the number of nodes so far. Drops what the run no longer
        needs, as eager mode has done by now."""
        if self.run_memory.is_over_copies(nodes):
            self.originals.give_up()

    def computed(self, outs: Any) -> None:
        """Called with the results of the running op, before hooks see them."""
        running = self.running
        if running is not None and modes.state.saved_hooks:
            self.running = None
            self.note_results(running, outs)

    def note_results(self, running: RunningOp, outs: Any) -> None:
        """Record the results of an op."""
        self.note(running.op, running.ins, running.attrs, outs)
        self.followed.note_at_last_node(self.nodes, running.sizes)

    def raised(self, op: Op) -> None:
        """An op raised an error: whether it does so again may depend on the numbers."""
        if op.may_fail or not isinstance(sys.exc_info()[1], (*ERRORS, registry.Stopped)):
            self.refuse(Raises(f"{op.name} raised an error"))

    def note(self, op: Op, ins: tuple[Any, ...], attrs: Attrs, out: Any,
             position: tuple[int, int] | None = None) -> None:
        """Record an op. For a random draw, `position` is where the generator was."""
        outs = []
        for t in out if type(out) is tuple else (out,):
            known = self.values.number(t._array)
            if known is not None and ins and known == ins[0] and type(out) is not tuple:
                # another tensor around the same array (detach)
                self.tensors.add(t)
                return
            if known is not None:
                return self.refuse(f"{op.name} gave back one of its operands")
            self.tensors.add(t)
            try:
                outs.append(self.values.made(t._array, [x for x in ins if type(x) is Ref]))
            except (MemoryError, Refused) as e:
                self.refuse(e.reason if isinstance(e, Refused) else Large(str(e)))
                return
            if op.is_view:
                self.values.memory[outs[-1]] = self.values.root(ins[0])
                if op.reach and t._array.size and not self.values.inside(outs[-1]):
                    self.refuse(Memory(f"{op.name} shows memory outside of the tensor that the "
                                       "function was given"))
                    return
        self.followed.made(op, ins, outs)
        # a constant: as it is now, whatever is written to it later
        if "array" in attrs:
            attrs = {**attrs, "array": copied(devices.on_host(attrs["array"]))}
        if op.may_fail:
            self.run_memory.released.look(len(self.nodes))
        self.nodes.append(
            OpNode(op, ins, attrs, outs, where()) if position is
            None else Draw(op, attrs, outs, where(), position))
        self.calls_behind_gradients.ran(op, ins, outs, out)

    def draw(self, generator: Generator, op: Op, shape: Iterable[int]) -> Any:
        """Record a random draw; each replay draws again."""
        self.stop_tried_code("it draws random numbers")
        (shape,), sizes = self.followed.split_in_order(shape=without_numbers(tuple(shape)))
        stream = self.stand_ins.streams.drawn(generator, op.blocks(shape))
        seed, offset = generator.take(op.blocks(shape))
        out = registry.execute(op, (), dict(shape=shape, seed=seed, offset=offset))
        self.note(op, (), dict(shape=shape, generator=stream), out, (seed, offset))
        self.followed.note_at_last_node(self.nodes, sizes)
        return out

    def read(self, setting: Callable[[], object]) -> None:
        """Make one of our settings a guard, because the run read it."""
        was = setting()
        self.acts.append(Call(nothing, [], {}, len(self.nodes), lambda: setting() == was))

    def goes_by(self, holder: Any) -> None:
        """Make the attributes of an internal object a guard."""
        self.guarded.settings.append(holder)

    def warns(self, message: str, category: type[Warning], stacklevel: int) -> bool:
        """Record a warning of ours; a replay repeats it."""
        frame: FrameType | None = sys._getframe(2)
        for _ in range(stacklevel - 1):
            if frame is None or frame.f_code is self.code.caller:
                break
            frame = frame.f_back
        if frame is None or frame.f_code is self.code.caller:
            self.refuse(Prints("whet warns of the line that calls the traced function"))
            return False
        if self.outward is not None:
            self.outward.repeat(message, category, frame)
        return True

    def positioned(self, generator: Generator, event: Event) -> bool:
        """A generator is moved: record the event."""
        if isinstance(event, SeedAsked) and not self.stand_ins.streams.note(generator, event):
            origin: Any = self.stand_ins.streams.at(generator).origin
            self.read(lambda: origin._seed)
            return True
        if not isinstance(event, Made | Copied | StateTold):
            self.stop_tried_code("it positions random numbers")
        return self.stand_ins.streams.note(generator, event)


def _modest(a: Array) -> bool:
    return bool(abs(a.item()) <= 1e38)


def escaped(refs: Iterable[Callable[[], Base | None]], held: Mapping[int, int]) -> Base | None:
    """One of these tensors that somebody still holds, given weak references to them. `held`: how
    often graphs and gradients hold each, by id."""
    t = object()
    alone = sys.getrefcount(t)
    for ref in refs:
        t = ref()
        n = held.get(id(t), 0)
        if t is not None and (not n or sys.getrefcount(t) != alone + n):
            return t
    return None
