"""What a recording runs.

There are three kinds: lists of launches for machine code (`launch_program.py`), stages of a device
(`device_program.py`), and parts of which data decides sizes (`program_in_parts.py`).

Every value has a *root*: the memory that it is in. Roots that move from call to call are passed
at each call: what was there before, results, what Python makes. The others are pieces of an arena,
which a call takes from the allocator as a whole and gives back (`arena.py`). What runs are the
kernels of eager mode, in its order, on the same layouts: the bits are eager's.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from whet.cpu import memory
from whet.ir.graph import Draw, Node, Type, Write
from whet.ir.interpret import step
from whet.passes.repeat_for_sizes import Plan

from ..machine_code.native_entry import latch
from ..refusals.replay_miss import Miss
from ..values.same_bits import copy_with_layout
from .launch_lists import LaunchList
from .random_draws import Draws

NOTHING_SPENT: Mapping[int, np.ndarray] = {}


def makes(node: Node) -> tuple[int, ...]:
    """The values that a node makes or writes to."""
    return tuple(node.outs) or tuple(map(int, node.written()))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, weakref_slot=True)
class Program:
    """A program and everything that a replay asks of it. Subclasses say how its steps run."""

    # where it comes from
    recorded: list[Node]  # the nodes of the run
    nodes: list[Node]  # the nodes that the passes left
    plan: Plan  # what the passes did, for the same nodes on other sizes
    origin: dict[int, int]  # recorded value -> the value whose memory it is in
    arrays: list[Type]  # the memory layout of each value
    outside: list[int]  # the inputs
    results: list[int]  # the results
    notes: list[str]  # what rewrites did or left alone, and why
    rewritten: list[Node] | None  # the nodes after named rewrites, if these did anything

    # what a call does
    steps: list[LaunchList | Node]  # in order: machine code runs the lists, Python the nodes
    called: list[Node]  # the nodes among the steps that are more than views
    fresh: Sequence[int] = ()  # values that a call allocates before it begins
    # the roots that are written to before the last step that may miss
    early: Set[int] = frozenset()
    undone: list[int]  # values that are restored if a call misses
    arena: int = 0  # bytes of the arena
    draws: Draws | None  # the random numbers that a call draws
    may_miss: bool  # may a call miss while it runs?
    # held while a call uses its memory; programs that share their checks share the lock
    lock: Any = field(default_factory=latch)
    # results that are views made by Python: value -> (root, bytes to its first element, its type)
    shown: Mapping[int, tuple[int, int, Type]] = field(default_factory=dict)

    # what it holds
    keep: list[Any] = field(default_factory=list)  # objects that the lists point to
    launches: int  # the number of launches in the lists
    hasty: set[str]  # keys of kernels that may still be the quickly compiled ones
    inputs: int  # bytes of the memory of the inputs
    # the results of a node that Python runs -> the bytes that it allocates
    needs: dict[tuple[int, ...], int] = field(default_factory=dict)
    is_on_device: bool = False  # does it work on another device than the CPU?
    counted: Set[int] = frozenset()  # the results whose sizes data decides

    # ---- running ---------------------------------------------------------------------------------
    @property
    def model(self) -> Program:
        """The program whose graphs describe this one: that of the recorded sizes."""
        return self

    # do sizes of its values depend on data?
    depends_on_counts: ClassVar[bool] = False

    @property
    def leading(self) -> Program:
        """The program for everything that depends on the sizes of arguments alone."""
        return self

    def led_by(self, leading: Program) -> Program:
        """This program with another leading one, for arguments of other sizes."""
        return leading

    def does_as(self, other: Program) -> bool:
        """Does it do the same as another program, for other sizes?"""
        return self.plan is other.plan

    def backward(self, of_run: Any, env: Sequence[Any]) -> Any:
        """The backward of a call that computed these values. `of_run`: the backward of the recorded
        run."""
        return of_run

    def distrust(self) -> None:
        """It gave other bits than a run: stop sharing plans with it."""

    def __call__(
        self, inputs: Sequence[np.ndarray], spent: Mapping[int, np.ndarray] = NOTHING_SPENT
    ) -> list[Any]:
        """Run with the arrays of the outside values. Returns the environment: the array of each
        value that a step or a caller needs. `spent`: arrays with the same layouts, by value, that
        may be overwritten with these values."""
        before: list[tuple[np.ndarray, np.ndarray]] = []
        try:
            env = self.with_memory(inputs, spent)
            if self.draws is not None:
                self.draws.take()
            before = [(env[n], copy_with_layout(env[n])) for n in self.undone]
            self.take_steps(env)
        except Exception as e:  # eager will raise it where the function can see it
            for a, b in before:
                a[...] = b
            # earlier work of a device has failed, and this is where that is reported
            if type(e) is Miss or getattr(e, "is_of_earlier_work", False):
                raise
            miss = Miss(f"an error was raised: {e}")
            miss.no_room = getattr(e, "is_out_of_memory", False)
            raise miss from None
        return env

    def with_memory(
        self, inputs: Sequence[np.ndarray], spent: Mapping[int, np.ndarray]
    ) -> list[Any]:
        """The environment at the start of a call: the inputs, and memory for the rest."""
        env: list[Any] = [None] * (len(self.arrays) + 1)
        for n, a in zip(self.outside, inputs):
            env[n] = a
        return env

    def take_steps(self, env: list[Any]) -> None:
        """Run all steps of a call."""
        raise NotImplementedError

    def forget(self) -> None:
        """Recompute what is kept of outside tensors, because one of them has other memory."""

    # ---- what it is ------------------------------------------------------------------------------
    @property
    def only_launches(self) -> LaunchList | None:
        """The program's list of launches, if that is all it consists of; else None."""
        return None

    @property
    def launches_and_views(self) -> LaunchList | None:
        """The program's list of launches, if it consists of that and of views (`shown`); else
        None."""
        return None

    def meaning(self, inputs: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
        """The values of the graph after the named rewrites, computed by the interpreter: the bits
        that the program must give. `inputs`: the arrays of a call by value, which are written
        to."""
        env = dict(inputs)
        streams: dict[int, tuple[int, int]] = {}
        for node in self.rewritten or ():
            if isinstance(node, Draw):
                g, shape = node.attrs["generator"], node.attrs["shape"]
                at = streams.get(id(g), node.position)
                if at is None:
                    raise ValueError("a draw has no position: it was not recorded")
                seed, offset = at
                streams[id(g)] = seed, offset + node.op.blocks(shape)
                env[node.outs[0]] = node.op.forward(shape=shape, seed=seed, offset=offset)
            else:
                step(node, env, self.arrays, ())
        return env

    def footprint(self) -> dict[str, int]:
        """The peak bytes of a call, as the allocator counts them: inputs, what the program keeps
        between calls, the arena, results, and what Python's steps allocate. The latter is known
        once they have run."""
        made = most = sum(memory.taken(self.arrays[n].nbytes) for n in (*self.fresh, *self.undone))
        for node in self.called:
            most = max(most, made + self.needs.get(makes(node), 0))
            if not (node.is_view or isinstance(node, Write)):
                made += sum(memory.taken(self.arrays[o].nbytes) for o in node.outs)
        arena = memory.taken(self.arena)
        return {
            "inputs": self.inputs, "kept": self.kept(), "arena": arena, "made": max(most, made)}

    def kept(self) -> int:
        """The bytes of the arrays that it holds."""
        return 0
