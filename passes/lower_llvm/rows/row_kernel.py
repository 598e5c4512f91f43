"""What the kernels of row programs share, whichever way the rows lie in memory: the plan of a
program's walks, and the arguments that begin every kernel."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whet.ir import scalar as sc
from whet.ir.rows import Keep, Store
from whet.passes.lower_llvm.rows.lanes import scalar_slot

if TYPE_CHECKING:
    from whet.ir.expressions import Expr
    from whet.ir.rows import Program
    from whet.passes.lower_llvm.builder import Module, Val


class Plan:
    """A program's walks with the kept values resolved: stored in an output that is written later
    anyway, or computed again."""

    def __init__(self, program: Program, store: bool = True) -> None:
        self.program, self.passes = program, program.passes
        self.walk_of = {k: w for w, p in enumerate(self.passes) for k in p.stages}
        # arg of a kept value -> the output that holds it meanwhile
        self.kept: dict[int, int] = {}
        expressions = {}                        # arg of a kept value -> its expression
        stages = program.stages
        kept_by: dict[int, int] = {}            # arg of a kept value -> its stage
        reads: list[set[int]] = []              # what each stage reads, also through kept values
        for k, s in enumerate(stages):
            used = set(sc.uses(s.expr))
            reads.append(used.union(*(reads[kept_by[a]] for a in used if a in kept_by)))
            if isinstance(s, Keep):
                kept_by[program.results[k]] = k
        for a, k in kept_by.items():
            last = max((self.walk_of[j] for j in self.walk_of if a in reads[j]), default=0)
            for j, (m, dtype) in enumerate(program.outputs):
                if (store and isinstance(stages[m], Store)
                        and self.walk_of[m] >= last > self.walk_of[k]
                        and dtype == program.values[a].dtype and j not in self.kept.values()):
                    self.kept[a] = j
                    break
            expressions[a] = stages[k].expr
        self.expressions, self.kept_by = expressions, kept_by
        self.stored = set(self.kept)            # the kept values that are not computed again

    def expression(self, k: int) -> Expr:
        """Stage k's expression, with kept values that this walk cannot read replaced by their
        own expressions."""
        walk, e = self.walk_of[k], self.program.stages[k].expr
        while True:
            gone = {a: self.expressions[a] for a in sc.uses(e) if a in self.expressions and not (
                a in self.stored and self.walk_of[self.kept_by[a]] < walk)}
            if not gone:
                return e
            e = sc.substitute(e, gone)

    def work(self, k: int) -> bool:
        """Does stage k do anything in its walk? A kept value that is computed again does not."""
        s = self.program.stages[k]
        return not isinstance(s, Keep) or self.program.results[k] in self.stored

    def hoist(self, roots: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        """(roots, uniform): the roots with every part that depends on row scalars only replaced
        by a new argument."""
        values = self.program.values
        uniform: list[Expr] = []
        found: dict[Expr, Expr] = {}
        types = sc.types(roots, [v.dtype for v in values])
        varies: dict[Expr, bool] = {}
        done: dict[Expr, Expr | None] = {}
        for e in sc.walk(*roots):
            varies[e] = (not values[e.value].extent.is_one_each_row if e.op == "arg" else any(
                varies[a] for a in e.args))
            if e.op == "const":
                done[e] = e
            elif not varies[e] and types[id(e)] is not None:
                done[e] = None                  # decided by the expression that uses it
            else:
                done[e] = (sc.Expr(
                    e.op, tuple(self._lift(a, done, uniform, found)
                                for a in e.args), e.value) if e.args else e)
        return [self._lift(r, done, uniform, found) for r in roots], uniform

    def roots(self, stages: Sequence[int]) -> tuple[list[Expr], list[Expr], list[str]]:
        """(expressions of stages of a walk without the parts that depend on row scalars only,
        those parts, the types of all arguments)"""
        roots, uniform = self.hoist([self.expression(k) for k in stages])
        dtypes = [v.dtype for v in self.program.values]
        return roots, uniform, dtypes + [sc.typeof(e, dtypes) for e in uniform]

    def _lift(self, e: Expr, done: dict[Expr, Expr | None], uniform: list[Expr],
              found: dict[Expr, Expr]) -> Expr:
        known = done[e]
        if known is not None:
            return known
        if e not in found:
            found[e] = sc.arg(len(self.program.values) + len(uniform))
            uniform.append(e)
        return found[e]


class Kernel:
    """What kernels of row programs in both orientations share. Argument slots, in order:

        per operand   its address; a scalar's number; nothing for the index
        per output    its address
        n, then what the orientation says, then strides in bytes

    With `partial` (programs of one walk) a unit of work is one span (2**k blocks) of what it is
    otherwise, and the outputs are, in order of stages, what is stored and the reductions' results
    of each span."""
    program: Program
    plan: Plan
    partial: bool

    def start(self, mod: Module, symbol: str) -> None:
        f = self.f = mod.kernel(symbol)
        self.at = 0
        program = self.program
        # the address of each operand, or its number; the index has none
        self.address = {
            i: scalar_slot(f, o.dtype, self.slot) if o.is_scalar else self.slot("ptr")
            for i, o in enumerate(program.operands) if not o.is_position}
        self.outs: Sequence[tuple[int, str]] = (
            program.block_outputs() if self.partial else program.outputs)
        self.out_address = [self.slot("ptr") for _ in self.outs]
        self.n = self.slot("i64")

    def slot(self, ty: str) -> Val:
        p = self.f.at(self.f.args[0], self.at, "i64")
        self.at += 1
        return self.f.load(ty, p)

    def out_of(self, k: int, result: int = 0) -> tuple[int, str]:
        """The output that stage k writes, and its type."""
        program = self.program
        if isinstance(program.stages[k], Keep):
            j = self.plan.kept[program.results[k]]
        else:
            j = next(j for j, o in enumerate(self.outs) if o[0] == k) + result
        return j, self.outs[j][1]

    def has_stride(self, k: int) -> bool:
        """Is output stage k a full one, with strides?"""
        return isinstance(self.program.stages[k], Store)
