"""Running sums, products, extrema and log-sum-exps as Triton source, in the order that
`lower_llvm.rows.scan` states: bits are the CPU's. Its operators are used as they are.

An element of the tile is a line: a column of a (rows, n, columns). It takes 16 elements of its
line at a step and joins them as a group, then the carry of its block of 4096 and the block's base.
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from whet.ir.rows import BLOCK
from whet.passes.lower_llvm.builder import Val
from whet.passes.lower_llvm.rows import scan
from whet.passes.lower_llvm.rows.scan import GROUP

from . import scalar
from .builder import TYPE, Code, Module
from .source import source

if TYPE_CHECKING:
    from .source import Source

LINES = 128                         # of a program


def lower(kind: str, dtype: str, acc: str, out: str) -> Source:
    """The Source of a scan of elements of a type, computed in another, that gives a third."""
    for t in (dtype, acc, out):
        if t not in scalar.COMPUTE:
            raise scalar.Unsupported(t)
    return _Scan(kind, dtype, acc, out).source()


def computed(t: str) -> str:
    """The type that elements of a type are computed in."""
    return "f32" if t in scalar.HALF else t


class _Scan:
    def __init__(self, kind: str, dtype: str, acc: str, out: str) -> None:
        self.kind, self.dtype, self.out, self.f = kind, dtype, out, Code(Module())
        functions = {name: partial(self.function, name, computed(acc)) for name in ("exp", "log")}
        # they ask of the builder what both builders have
        self.op = cast("Any", scan.operator(kind, computed(dtype), computed(acc),
                                            functions))
        self.one: list[Val] = self.op.identity(self.f, 0)

    def function(self, name: str, t: str, f: Code, x: Val) -> Val:
        """A primitive as a function of the source's."""
        return scalar.primitive(f, name, t, x)

    def source(self) -> Source:
        f = self.f
        f.line(f"line = tl.program_id(0).to(tl.int64) * {LINES} + tl.arange(0, {LINES})")
        f.line("live = line < lines")
        f.line("first = line // columns * columns * n + line % columns")
        base = self.names("base", self.one)
        f.line(f"for b in range(0, n, {BLOCK}):")
        f.depth += 1
        carry = self.names("carry", self.one)
        f.line(f"for i in range(b, tl.minimum(b + {BLOCK}, n), {GROUP}):")
        f.depth += 1
        self.group(base, carry)
        f.depth -= 1
        self.put(base, self.op.join(f, base, carry))
        f.depth -= 1
        return source(f"scan_{self.kind}_kernel", f.mod,
                      [("x", scalar.POINTER[self.dtype]), *self.results,
                       ("n", "i32"), ("lines", "i64"), ("columns", "i64")],
                      f.lines, f"cdiv(lines, {LINES})")

    @property
    def results(self) -> list[tuple[str, str]]:
        """The parameters for results."""
        types = [self.out, "i64"][:scan.RESULTS[self.kind]]
        return [(f"y{k}", scalar.POINTER[t]) for k, t in enumerate(types)]

    def names(self, name: str, state: Sequence[Val]) -> list[Val]:
        """A state that loops carry."""
        made = []
        for k, s in enumerate(state):
            number = self.f.number_of(s)
            assert number is not None
            text = f'float("{number}")' if s.ty in ("float", "double") else repr(number)
            self.f.line(f"{name}{k} = tl.full([{LINES}], {text}, {TYPE[s.ty]})")
            made.append(Val(self.f, f"{name}{k}", s.ty))
        return made

    def put(self, names: Sequence[Val], state: Sequence[Val]) -> None:
        """Give a carried state new values, all at once."""
        new = [self.f.v(s.ty, s.ref) for s in state]
        for n, s in zip(names, new, strict=True):
            self.f.line(f"{n.ref} = {s.ref}")

    def element(self, k: int) -> list[Val]:
        """Element i + k of each line; the identity beyond the end."""
        f = self.f
        f.line(f"here{k} = live & (i + {k} < n)")
        f.line(f"at{k} = first + (i + {k}) * columns")
        x = scalar.load(f, self.dtype, f"tl.load(x + at{k}, here{k}, other=0)")
        position = f.v("i32", f"(tl.zeros([{LINES}], tl.int32) + i + {k}).to(tl.int32)")
        mask = Val(f, f"here{k}", "i1")
        return [f.sel(mask, s, e)
                for s, e in zip(self.op.element(f, x, position), self.one, strict=True)]

    def states(self) -> list[list[Val]]:
        """Sixteen elements of each line, each joined with those before it."""
        states = [self.element(k) for k in range(GROUP)]
        for d in (1, 2, 4, 8):
            states = [s if k < d else self.op.join(self.f, states[k - d], s)
                      for k, s in enumerate(states)]
        return states

    def group(self, base: Sequence[Val], carry: Sequence[Val]) -> None:
        """Sixteen elements of each line, and what is carried on."""
        states = self.states()
        self.store(base, carry, states)
        self.put(carry, self.op.join(self.f, carry, states[-1]))

    def store(self, base: Sequence[Val], carry: Sequence[Val],
              states: Sequence[Sequence[Val]]) -> None:
        """The results of a group."""
        f = self.f
        for k, s in enumerate(states):
            state = self.op.join(f, base, self.op.join(f, carry, s))
            for j, (t, y) in enumerate(self.op.results(f, state, computed(self.out))):
                stored = scalar.stored(y, self.out if j == 0 else t)
                f.line(f"tl.store(y{j} + at{k}, {stored}, here{k})")
