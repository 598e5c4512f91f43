"""The nodes of `cond` and `while_loop`: ops that hold programs and choose between them, or repeat
them, by values."""
from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from whet.cpu.memory import empty
from whet.ir.memory_spans import address
from whet.ops.registry import Op

from ..program import builder
from ..program.launch_lists import ARENA
from ..program.machine_code_loops import Rounds
from ..values.same_bits import template
from .unreached_code import NotANode

if TYPE_CHECKING:
    from whet.ir.graph import Node
    from whet.ir.values import Array, Type

    from ..program.launch_program import LaunchProgram


class Body:
    """Nodes as a program, from `inputs`, which are operands of the control node, to `results`.
    `arrays` are the layouts of values."""
    of_any_size: Mapping[int, Type] | None = None    # types with expressions of sizes in them

    def __init__(self, arrays: Any, nodes: Sequence[Node], results: Iterable[int]) -> None:
        inside = {o for n in nodes for o in n.outs}
        self.nodes, self.results = nodes, list(results)
        self.inputs = list(dict.fromkeys(
            int(x) for n in nodes for x in n.refs() if x not in inside))
        self.program = self.built(arrays)

    def built(self, arrays: Any) -> LaunchProgram:
        """Build the program; raises NotANode if it cannot be a body."""
        program = builder.build(self.nodes, arrays, self.inputs, self.results)
        inside, origin = {o for n in self.nodes for o in n.outs}, program.origin
        if any(n not in inside or origin[n] != n for n in self.results):
            raise NotANode("a result is a view, or an operand")
        if any(n.kind == "draw" or n.op is not None and n.op.random
               or any(origin[x] not in inside for x in n.written()) for n in self.nodes):
            raise NotANode("it writes to tensors from outside, or draws random numbers")
        return program

    def place(self, operands: Sequence[int]) -> None:
        """Note the positions of its inputs among these operands."""
        self.at = [operands.index(n) for n in self.inputs]

    def launches(self) -> tuple[int, int, list[Any]] | None:
        """Its one list of launches, and what the list uses: positions of operands, ("made",
        position of a result), and `ARENA`."""
        alone = self.program.only_launches
        if alone is None or self.program.checks:
            return None
        operands, made = (dict(zip(self.inputs, self.at)),
                          {ARENA: ARENA, **{n: ("made", i) for i, n in enumerate(self.results)}})
        return (alone.address, alone.words,
                [operands[n] if n in operands else made[n] for n in alone.values])

    def types_of(self, values: Iterable[int]) -> dict[int, Any]:
        """The types of some values."""
        arrays = self.program.arrays if self.of_any_size is None else self.of_any_size
        return {v: arrays[v] for v in values}

    def for_sizes(self, nodes: Sequence[Node], types: Mapping[int, Type]) -> Body:
        """The body for any sizes, which can only be written as ONNX: its nodes and the types of
        its values have expressions of sizes in them."""
        made = copy.copy(self)
        made.nodes, made.of_any_size = nodes, types
        return made

    def onnx(self, b: Any, operands: Sequence[Any]) -> list[Any]:
        """The results in ONNX, for values of a node's operands."""
        numbers = {v for n in self.nodes for v in n.values()} | set(self.results)
        types = self.types_of(numbers)
        inputs = {n: operands[i] for n, i in zip(self.inputs, self.at)}
        made: list[Any] = b.inside(self.nodes, types, inputs, self.results)
        return made

    def __call__(self, arrays: Sequence[Array]) -> list[Array]:
        env = self.program([arrays[i] for i in self.at])
        return [env[n] for n in self.results]


class Control(Op):
    """The op of a control-flow node. `bodies`: name -> Body."""
    family = "control"

    def __init__(self, name: str, **bodies: Body) -> None:
        super().__init__(name, register=False)
        self.bodies = bodies

    def makes(self, types: Sequence[Type]) -> list[Type]:
        """The types of the results, for operands of these types."""
        raise NotImplementedError

    def way(self) -> Any:
        """What it does with the bodies, whatever these are."""
        return None

    def with_bodies(self, bodies: dict[str, Body]) -> Control:
        """The op with other bodies, which do the same at other sizes."""
        return type(self)(self.name, **bodies)

    def join(self) -> None:
        """Called when the bodies know the positions of their operands."""

    @property
    def may_fail(self) -> bool:
        return any(b.program.may_miss for b in self.bodies.values())


class Cond(Control):
    """The results of one of two bodies, chosen by a predicate."""

    def makes(self, types: Sequence[Type]) -> list[Type]:
        body = self.bodies["true"]
        return [body.program.arrays[v] for v in body.results]

    def forward(self, *arrays: Array) -> tuple[Array, ...]:
        return tuple(self.bodies["true" if arrays[0].item() else "false"](arrays))

    def onnx(self, b: Any, *operands: Any) -> Any:
        """The operator `If`."""
        graphs = {}
        for name in ("true", "false"):
            inner = b.body()
            graphs[name] = inner.graph(name, (), self.bodies[name].onnx(inner, operands))
        return b.several("If", b.one_truth(operands[0]),
                         then_branch=graphs["true"], else_branch=graphs["false"])


class NextValue(NamedTuple):
    """Where a carried value comes from at the end of a round."""
    is_made: bool                # by the round's body, or else it was carried already
    place: int                   # among the body's results, or among what was carried

    def after(self, made: Sequence[Array], before: Sequence[Array]) -> Array:
        """The value after a round that made `made` from `before`."""
        return made[self.place] if self.is_made else before[self.place]


class While(Control):
    """Rounds of a body. The first operands are carried. `following`: where the next value of each
    comes from. If body and question are launches alone, machine code runs the rounds."""

    def __init__(self, name: str, following: Iterable[NextValue], **bodies: Body) -> None:
        super().__init__(name, **bodies)
        self.following = list(following)
        self.rounds: Rounds | None = None

    def makes(self, types: Sequence[Type]) -> list[Type]:
        return list(types[:len(self.following)])

    def way(self) -> Any:
        return self.following

    def with_bodies(self, bodies: dict[str, Body]) -> Control:
        return While(self.name, self.following, **bodies)

    def join(self) -> None:
        """Find out whether machine code can run the rounds."""
        ask, body = self.bodies["ask"], self.bodies["body"]
        asking, working = ask.launches(), body.launches()
        delays = [self.delay(k) for k in range(len(self.following))]
        self.delays = [d for d in delays if d is not None]
        if (asking is None or working is None or len(self.delays) < len(delays)
                or ask.program.arrays[ask.results[0]].dtype != bool):
            return
        # A result is read for as many rounds as it is handed on. It has a piece of memory for each
        # of them and one to write to, and these take turns.
        self.turns = [1 + max(rounds for result, rounds in self.delays if rounds and result == i)
                      for i in range(len(body.results))]
        moves: dict[Any, tuple[Any, int]] = {
            k: ((c.place, 0) if c.is_made else c.place, 0) for k, c in enumerate(self.following)
            if self.delays[k][1]}
        moves.update({
            (i, t): ((i, (t + 1) % n), 0) for i, n in enumerate(self.turns) for t in range(n)})
        # A result is known by its place among all, and by whose turn it is.
        (*question, read), (*work, used) = asking, working
        self.rounds = Rounds((*question, [
            "pred" if type(x) is tuple else "asking" if x == ARENA else x for x in read]), (*work, [
                (x[1], 0) if type(x) is tuple else x for x in used]), moves, "pred")

    def onnx(self, b: Any, *operands: Any) -> Any:
        """The operator `Loop`."""
        ask, body = self.bodies["ask"], self.bodies["body"]
        n, inner = len(self.following), b.body()
        before = [inner.add_input(x) for x in operands[:n]]
        count, going = inner.add_input(b.number(0, "i64")), inner.add_input(b.number(True, "bool"))
        made = body.onnx(inner, [*before, *operands[n:]])
        after = [c.after(made, before) for c in self.following]
        asked = inner.one_truth(ask.onnx(inner, [*after, *operands[n:]])[0])
        graph = inner.graph("rounds", [count, going, *before], [asked, *after])
        first = b.one_truth(ask.onnx(b, operands)[0])
        return b.several("Loop", None, first, *operands[:n], body=graph)

    def delay(self, k: int) -> tuple[int, int] | None:
        """Which result of the body the value at position k was, and how many rounds ago; (k, 0) if
        it never changes. None if it is neither, because values exchange places."""
        c = self.following[k]
        if c == NextValue(is_made=False, place=k):
            return k, 0
        for rounds in range(1, len(self.following) + 1):
            if c.is_made:
                return c.place, rounds
            c = self.following[c.place]
        return None

    def forward(self, *arrays: Array) -> tuple[Array, ...]:
        after = (self.run_by_python(arrays) if self.rounds is None
                 else self.run_by_machine_code(self.rounds, arrays))
        return tuple([a.copy(order="K") if any(a is x for x in arrays) else a for a in after])

    def run_by_python(self, arrays: Sequence[Array]) -> list[Array]:
        """The carried values after the rounds, which Python runs one by one."""
        ask, body = self.bodies["ask"], self.bodies["body"]
        now, n = list(arrays), len(self.following)
        while ask(now)[0].item():
            made = body(now)
            now[:n] = [c.after(made, now) for c in self.following]
        return now[:n]

    def run_by_machine_code(self, run: Rounds, arrays: Sequence[Array]) -> list[Array]:
        """The carried values after the rounds, which machine code runs."""
        ask, body = self.bodies["ask"].program, self.bodies["body"].program
        memory = {(i, t): template(body.arrays[v])
                  for i, v in enumerate(self.bodies["body"].results) for t in range(self.turns[i])}
        by_name: dict[Any, Array] = {
            **dict(enumerate(arrays)), **memory,
            "pred": template(ask.arrays[self.bodies["ask"].results[0]]),
            "asking": empty(ask.arena, np.uint8), ARENA: empty(body.arena, np.uint8)}
        rounds = run(lambda name: address(by_name[name]))
        after = []
        for k, (result, delay) in enumerate(self.delays):
            if 0 < delay <= rounds:
                after.append(memory[result, (rounds - delay) % self.turns[result]])
                continue
            for _ in range(rounds if delay else 0):      # no result has come through to here
                k = self.following[k].place
            after.append(arrays[k])
        return after
