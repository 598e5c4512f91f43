"""Scans of few lines, which are shared by many programs: the same bits, in four kernels.

`totals` joins the 16 elements of each group, `carries` the groups of each block of 4096 one after
the other, `bases` the blocks of each line; each of the two keeps what is before every group or
block. With these `results` joins every element. Parts of a state lie in arrays of their own: t0,
t1 ... of groups, c0 ... what is before them, k0 ... of blocks, b0 ... what is before those.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whet.ir.rows import BLOCK
from whet.passes.lower_llvm.builder import Val
from whet.passes.lower_llvm.rows.scan import GROUP

from . import scalar
from .long_rows import MEMORY
from .scans import LINES, _Scan
from .source import source

if TYPE_CHECKING:
    from .source import Source

GROUPS = BLOCK // GROUP             # of a block
Parameters = list[tuple[str, str]]


def lower(kind: str, dtype: str, acc: str, out: str) -> tuple[Source, ...]:
    """The kernels, in order, of a scan of elements of a type, computed in another, that gives a
    third."""
    for t in (dtype, acc, out):
        if t not in scalar.COMPUTE:
            raise scalar.Unsupported(t)
    return tuple([part(kind, dtype, acc, out).source()
                  for part in (_Totals, _Carries, _Bases, _Results)])


class _Part(_Scan):
    def arrays(self, name: str) -> Parameters:
        """The parameters for states that lie in memory."""
        return [(f"{name}{k}", MEMORY[s.ty]) for k, s in enumerate(self.one)]

    def load(self, name: str, at: str, mask: str) -> list[Val]:
        """States from memory."""
        return [self.f.v(s.ty, f"tl.load({name}{k} + {at}, {mask}, other=0)"
                         f"{'.to(tl.int1)' if s.ty == 'i1' else ''}")
                for k, s in enumerate(self.one)]

    def keep(self, name: str, at: str, state: Sequence[Val], mask: str) -> None:
        """States to memory."""
        for k, s in enumerate(state):
            self.f.line(f"tl.store({name}{k} + {at}, {s.ref}, {mask})")

    def count(self, of: str) -> None:
        """One number of each element of the tile."""
        self.f.line(f"t = tl.program_id(0).to(tl.int64) * {LINES} + tl.arange(0, {LINES})")
        self.f.line(f"live = t < {of}")
        self.f.line(f"groups = tl.cdiv(n, {GROUP})")
        self.f.line(f"blocks = tl.cdiv(n, {BLOCK})")

    def groups(self) -> None:
        """The tile's groups, and where their elements are."""
        self.count(f"lines * tl.cdiv(n, {GROUP})")
        self.f.line("line = t // groups")
        self.f.line("group = (t % groups).to(tl.int32)")
        self.f.line(f"i = group * {GROUP}")
        self.f.line("first = line // columns * columns * n + line % columns")

    def over(self, loop: str, inside: str, read: tuple[str, str],
             kept: tuple[str, str]) -> list[Val]:
        """Join states of an array (name, place) one after the other, and keep what is before
        each."""
        f = self.f
        state = self.names("state", self.one)
        f.line(f"for q in range(0, {loop}):")
        f.depth += 1
        f.line(f"inside = live & ({inside})")
        more = self.load(*read, "inside")
        self.keep(*kept, state, "inside")
        joined = self.op.join(f, state, more)
        self.put(state, [f.v(s.ty, f"tl.where(inside, {j.ref}, {s.ref})")
                         for s, j in zip(state, joined, strict=True)])
        f.depth -= 1
        return state

    def made(self, name: str, parameters: Parameters, count: str) -> Source:
        """The Source of the lines that were written."""
        return source(f"scan_{self.kind}_{name}", self.f.mod,
                      [*parameters, ("n", "i32"), ("lines", "i64"), ("columns", "i64")],
                      self.f.lines, f"cdiv({count}, {LINES})")


class _Totals(_Part):
    def source(self) -> Source:
        self.groups()
        self.keep("t", "t", self.states()[-1], "live")
        return self.made("totals", [("x", scalar.POINTER[self.dtype]), *self.arrays("t")],
                         f"lines * cdiv(n, {GROUP})")


class _Carries(_Part):
    def source(self) -> Source:
        self.count(f"lines * tl.cdiv(n, {BLOCK})")
        self.f.line(f"group = t % blocks * {GROUPS}")
        self.f.line("start = t // blocks * groups + group")
        found = self.over(f"{GROUPS}", "group + q < groups", ("t", "start + q"),
                          ("c", "start + q"))
        self.keep("k", "t", found, "live")
        return self.made("carries", [*self.arrays("t"), *self.arrays("c"), *self.arrays("k")],
                         f"lines * cdiv(n, {BLOCK})")


class _Bases(_Part):
    def source(self) -> Source:
        self.count("lines")
        self.over("blocks", "q < blocks", ("k", "t * blocks + q"), ("b", "t * blocks + q"))
        return self.made("bases", [*self.arrays("k"), *self.arrays("b")], "lines")


class _Results(_Part):
    def source(self) -> Source:
        self.groups()
        carry = self.load("c", "t", "live")
        base = self.load("b", f"line * blocks + group // {GROUPS}", "live")
        self.store(base, carry, self.states())
        return self.made("results", [("x", scalar.POINTER[self.dtype]), *self.results,
                                     *self.arrays("c"), *self.arrays("b")],
                         f"lines * cdiv(n, {GROUP})")
