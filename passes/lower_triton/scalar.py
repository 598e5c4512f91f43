"""Scalar expressions as Triton source, through the table of primitives that the LLVM lowering has:
`lower_llvm.scalar.PRIMITIVES`.

A primitive that is one line is that line; a longer one is a function beside the kernel, named after
it and its type (`exp_f32`), so that a kernel has a line for each operation of its expression. bool
and integers of all kinds are stored as bytes and signed integers of their size, halves as they are;
they are computed as `lower_llvm` computes them (a half as f32, rounded where the expression casts
and where it is stored).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from whet.ir import scalar as S
from whet.passes.lower_llvm import scalar as shared
from whet.passes.lower_llvm.scalar import COMPUTE, HALF, MEMORY, Unsupported

from .builder import TYPE, typed

if TYPE_CHECKING:
    from whet.ir.expressions import Expr

    from ..lower_llvm.builder import Val
    from .builder import Code

MEMORY = MEMORY | {"f16": "half", "bf16": "bfloat"}
POINTER = {
    t: "*" + {"half": "fp16", "bfloat": "bf16", "float": "fp32", "double": "fp64"}.get(m, m)
    for t, m in MEMORY.items()}
__all__ = [
    "COMPUTE", "HALF", "MEMORY", "POINTER", "Unsupported", "compute", "load", "results", "rounded",
    "title"]


def call(f: Code, name: str, write: Callable[..., Val], *xs: Val) -> Val:
    """write(f, *xs), in a function of its own if it is longer than a line."""
    helpers = f.mod.helpers
    ty = f.mod.helper(name, write, [x.ty for x in xs])
    if helpers[name][1].count("\n") <= 3:
        del helpers[name]
        return write(f, *xs)
    # a number as such would be a constant of the compiler's, which has no type
    return f.v(ty, f"{name}({', '.join(map(typed, xs))})")


def primitive(f: Code, op: str, t: str, *xs: Val) -> Val:
    """One primitive on operands of type t."""
    if op not in shared.PRIMITIVES:
        raise Unsupported(op)
    kind = COMPUTE[t] if t in HALF and op != "nextafter" else None
    name = f"{op}_{'f32' if kind else t}"
    return call(f, name, lambda f, *xs: shared.PRIMITIVES[op](f, "f32" if kind else t, *xs), *xs)


def convert(f: Code, x: Val, src: str, dst: str) -> Val:
    """A cast between computed forms."""
    if dst in HALF:
        if src == "f64" and dst == "f16":
            x = call(f, "odd_f32", shared._f64_to_f32_odd, x)
        elif src not in HALF:
            x = convert(f, x, src, "f32")
        return rounded(f, x, dst)
    src = "f32" if src in HALF else src
    if src == dst:
        return x
    return call(f, f"{src}_to_{dst}", lambda f, x: shared.convert(f, x, src, dst), x)


def rounded(f: Code, x: Val, t: str) -> Val:
    """x to the precision of a half type."""
    return f.v("float", f"{typed(x)}.to({TYPE[MEMORY[t]]}).to(tl.float32)")


def compute(f: Code, roots: Sequence[Expr], values: Sequence[Val | None],
            dtypes: Sequence[str]) -> tuple[list[Val], list[str]]:
    """(values of the roots, their types), from the values of the arguments; both in the form
    that they are computed in."""
    return shared.compute(f, roots, values, dtypes, 0, primitive, convert)


def load(f: Code, t: str, text: str, name: str | None = None) -> Val:
    """The value that `text` loads, in the form to compute in."""
    return f.v(
        COMPUTE[t],
        text + {"bool": " != 0", "f16": ".to(tl.float32)", "bf16": ".to(tl.float32)"}.get(t, ""),
        name)


def stored(x: Val, t: str) -> str:
    """What to store for a value of type t."""
    text = typed(x)
    return text if t not in ("bool", *HALF) else f"{text}.to({TYPE[MEMORY[t]]})"


def results(f: Code, roots: Sequence[Expr], values: Sequence[Val | None],
            dtypes: Sequence[str]) -> list[str]:
    """The roots as text of what is stored, each half rounded once."""
    known = S.types(roots, dtypes)
    once = [
        r.op == "cast" and r.value in HALF and known[id(r.args[0])] in ("f32", *HALF)
        for r in roots]
    xs, types = compute(f, [r.args[0] if o else r for r, o in zip(roots, once)], values, dtypes)
    return [stored(x, r.value if o else t) for x, t, r, o in zip(xs, types, roots, once)]


def title(*roots: Expr) -> str:
    """A name for a kernel, after its operations."""
    ops = [e.op for e in S.walk(*roots) if e.op not in ("arg", "const")] or ["copy"]
    return "_".join(ops if len(ops) <= 6 else [*ops[:6], f"and_{len(ops) - 6}"]) + "_kernel"
