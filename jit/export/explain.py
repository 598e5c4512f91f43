"""What an exported function is, in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from whet.ir import cost
from whet.ir.drawing import amount
from whet.ir.values import Type


def explained(e: Any) -> str:
    """All of an Exported, in sections."""
    program = e.compiled.program
    held = program.footprint()
    flops = sum(cost.operations(n, e.graph.types) for n in e.graph.nodes)
    out = [
        f"{e.name}: {len(e.graph.nodes)} nodes, {program.launches} launches, "
        f"{amount(flops, 'flop')}, {amount(sum(held.values()))} at most"
    ]
    out += section("inputs", map(repr, e.inputs))
    out += section("results", map(repr, e.results))
    out += section(
        "constants",
        [f"{k}: {Type.of(t._array)}, {amount(t._array.nbytes)}" for k, t in e.constants.items()],
    )
    out += section("preconditions", map(repr, e.preconditions))
    out += section("rewrites", e.rewrites)
    out += section("kernels", [f"{i}. {kernel(n)}" for i, n in enumerate(program.nodes, 1)])
    return "\n".join(out)


def kernel(n: Any) -> str:
    """A node that the passes left, in a line."""
    said = " ".join(n.names)
    return f"{said}  # {n.line}" if n.line else said


def section(title: str, lines: Iterable[str]) -> list[str]:
    """Lines under a title; nothing where there are none."""
    found = list(lines)
    return [f"{title}:", *(f"  {line}" for line in found)] if found else []
