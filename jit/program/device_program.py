"""The program of a recording that works on a device: a program for the host, which runs first, and
stages. A stage is a list of the device's nodes, planned together: a Python function that allocates
memory and launches kernels (`whet.cuda.plans`). A node that cannot be planned, because somebody has
to wait for it, is a stage by itself."""
from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from whet.cuda import execute, plans
from whet.cuda.arrays import DeviceArray
from whet.cuda.device_state import current_stream, machine
from whet.ir.graph import Draw, Node, Ref

from .device_node_kinds import Work, launch
from .host_and_device import passes_number, reads
from .program import Program
from .random_draws import Draws

MOST_PLANS = 16                      # of one stage: alignments, numbers that are not parameters
U64 = np.dtype(np.uint64)
_kind, _held = attrgetter("_kind"), attrgetter("held")


@dataclasses.dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DeviceProgram(Program):
    """A program whose stages run on a device. `first`: the host's program, which runs before
    them."""
    first: OnHost | None
    stages: list[Stage]

    @property
    def spare(self) -> int:
        """The bytes on the device that copies of overwritten values may take."""
        found: int = execute.spare(self.stages[0].index) if self.stages else 0
        return found

    def take_steps(self, env: list[Any]) -> None:
        if self.first is not None:
            self.first.run(env)
        for stage in self.stages:
            stage.run(env, self.draws)

    def forget(self) -> None:
        if self.first is not None:
            self.first.program.forget()


class OnHost:
    """The host's part: `ins` are the inputs of its program, `outs` the values that later stages
    need."""

    def __init__(self, program: Program, ins: Sequence[int], outs: Sequence[int]) -> None:
        self.program, self.ins, self.outs = program, ins, outs

    def run(self, env: list[Any]) -> None:
        """Run it."""
        made = self.program([env[n] for n in self.ins])
        for n in self.outs:
            env[n] = made[n]


class Stage:
    """Nodes that run one after the other on device `index`. `wanted`: the values that other stages
    need."""

    def __init__(self, index: int, nodes: Sequence[Node], wanted: set[int], work: Work) -> None:
        self.index, self.nodes, self.work, self.wanted = index, list(nodes), work, wanted
        self.ins = reads(nodes)
        made = [o for n in nodes for o in n.outs]
        self.outs = [o for o in dict.fromkeys(made) if o in wanted]
        self.draws = [n for n in nodes if isinstance(n, Draw)]
        self.dying = self._dying()
        # numbers of the host that kernels receive at each call; plans depend on others
        self.passed = {x for x in self.ins if x not in work.there and all(
            passes_number(n, x) for n in self.nodes if Ref(x) in n.refs())}
        # where among what it is given arrays of the device are
        self.places = [i for i, x in enumerate(self.ins) if x in work.there]
        self.machine, self.plans = machine(), dict[Any, plans.Plan]()
        self.apart: list[Stage] = []         # its parts, where it cannot be planned as one
        self.can_plan = True
        self.at = 0                          # the node that is being done

    def _dying(self) -> list[list[int]]:
        """The values that die after each node."""
        last = {x: i for i, n in enumerate(self.nodes) for x in n.named()}
        found: list[list[int]] = [[] for _ in self.nodes]
        for x, i in last.items():
            if x not in self.wanted:
                found[i].append(x)
        return found

    # ---- a call ----------------------------------------------------------------------------------
    def run(self, env: list[Any], draws: Draws | None) -> None:
        """Run the stage. `env` has the values so far."""
        if self.apart:
            for stage in self.apart:
                stage.run(env, draws)
            return
        inputs = [env[n] for n in self.ins]
        for node in self.draws:
            assert draws is not None
            inputs += [np.asarray(x, U64) for x in draws.of(node)[::-1]]
        plan = self.plan(inputs)
        if plan is None and self.apart:
            return self.run(env, draws)
        made = (self.body(inputs) if plan is None or plan.run is None
                else plan.run(current_stream(self.index), *inputs))
        for n, a in zip(self.outs, made, strict=True):
            env[n] = a

    def body(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """Run the nodes on arrays, or on the stand-ins of a plan."""
        env = dict(zip(self.ins, inputs, strict=False))
        numbers = iter(inputs[len(self.ins):])
        for i, node in enumerate(self.nodes):
            self.at = i
            if isinstance(node, Draw):
                env[node.outs[0]] = self.work.drawn(node, [next(numbers), next(numbers)])
            else:
                launch(node, env, self.work)
            for x in self.dying[i]:
                env.pop(x, None)
        return tuple([env[n] for n in self.outs])

    def plan(self, inputs: Sequence[Any]) -> plans.Plan | None:
        """The plan for arrays like these. None if there is none: from then on the stage runs in
        parts, or without plans if it is a single node."""
        if not self.can_plan:
            return None
        if self.machine is not machine():
            self.machine = machine()
            self.plans.clear()
        arrays = [inputs[i] for i in self.places]
        kinds = [a.kind if k is None else k for a, k in zip(arrays, map(_kind, arrays))]
        values = [inputs[i].tobytes() for i in self.numbers_of_plans()]
        key = (*kinds, *values, self.sharing(inputs, arrays))
        plan = self.plans.get(key)
        if plan is None:
            try:
                plan, passed = plans.plan_of(self.index, inputs, self.body)
            except Exception:
                self.take_apart()
                return None
            fixed = self.passed.difference(self.ins[i] for i in passed if i < len(self.ins))
            if fixed:
                self.passed -= fixed
                return self.plan(inputs)
            if len(self.plans) >= MOST_PLANS:
                self.plans.clear()
            self.plans[key] = plan
        return plan

    def numbers_of_plans(self) -> list[int]:
        """The positions of the inputs that are numbers which plans depend on."""
        if len(self.passed) + len(self.places) == len(self.ins):
            return []
        return [i for i, x in enumerate(self.ins)
                if x not in self.passed and x not in self.work.there]

    @staticmethod
    def sharing(inputs: Sequence[Any], arrays: Sequence[DeviceArray]) -> Any:
        """Which operands share memory, and at what distance."""
        if len(set(map(id, map(_held, arrays)))) == len(arrays):
            return None
        return tuple([
            (i, tuple([(k, inputs[k].address - inputs[i].address) for k in others]))
            for i, others in plans.sharing(inputs).items() if len(others) > 1])

    def take_apart(self) -> None:
        """Split the stage: the node without a plan becomes a stage of its own."""
        if len(self.nodes) == 1:
            self.can_plan = False
            return
        parts = [self.nodes[:self.at], [self.nodes[self.at]], self.nodes[self.at + 1:]]
        parts = [p for p in parts if p]
        after: set[int] = set(self.wanted)
        made: list[Stage] = []
        for nodes in reversed(parts):
            made.append(Stage(self.index, nodes, after, self.work))
            after = after | set(made[-1].ins)
        self.apart = made[::-1]


class Single(Stage):
    """A node that is never planned: the host computes it, or it copies what the host has to a
    device."""

    def run(self, env: list[Any], draws: Draws | None) -> None:
        node, = self.nodes
        if isinstance(node, Draw):
            assert draws is not None
            seed, at = map(int, draws.of(node))
            env[node.outs[0]] = node.op.forward(shape=node.attrs["shape"], seed=seed, offset=at)
            return
        local = {n: env[n] for n in self.ins}
        launch(node, local, self.work)
        for n in self.outs:
            env[n] = local[n]
