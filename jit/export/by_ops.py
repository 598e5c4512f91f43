"""A graph run op by op, on tensors that others watch: inside of a trace or a transform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whet.autograd import modes
from whet.ir.graph import Ask, Graph, Guard, Node, OpNode, Ref, Write
from whet.ops import pointwise_family, registry

from .errors import PreconditionError


def run(g: Graph, inputs: Sequence[Any], constants: Mapping[str, Any]) -> list[Any]:
    """The results for these tensors, as ops that a trace records and a transform batches."""
    arrays = iter(inputs)
    env = {x.value: constants[x.name] if x.place == "constant" else next(arrays) for x in g.inputs}
    with modes.no_grad():
        for n in g.nodes:
            ins = tuple([env[x] if type(x) is Ref else x for x in n.ins])
            if type(n) is OpNode:
                made = registry.apply(n.op, ins, dict(n.attrs))
                env.update(zip(n.outs, made if type(made) is tuple else (made,)))
            elif type(n) is Write:
                pointwise_family.inplace(n.op, ins[0], ins[1:], dict(n.attrs))
            elif not holds(n, ins):
                raise PreconditionError(
                    f"{g.name}: {n.head()} does not hold ({n.line}); it was exported for data "
                    "that go the recorded way"
                )
        return [env[v].clone() for v, _ in g.results]


def holds(n: Node, ins: tuple[Any, ...]) -> bool:
    """Are the data as they were when Python went on from them? What watches is asked, too."""
    if isinstance(n, Ask):
        return bool(registry.ask(n.question, *ins) == n.answer)
    assert isinstance(n, Guard)
    return repr(ins[0].tolist()) == repr(n.expected.tolist())  # also of NaN and of -0.0
