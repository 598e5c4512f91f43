"""Row programs: computations over rows of elements, as data. All targets and the reference read the
same program.

The space is (rows) x (n elements of a row). A program has operands and stages; stages run in order,
each over the whole row:

    softmax:   m = max(x); e = keep(exp(x - m)); s = sum(e); store(e / s)

Operands are seen by expressions as arg(0), arg(1), ...; what stages define continues the numbering,
in order:

    Reduce      a row scalar (for the kinds of INDEXED two: the value, then its position as i64)
    Keep        a value per element for later stages; a lowering stores it, or computes it again to
                the same bits
    Store       an output per element; defines nothing
    StoreRow    an output per row, of row scalars; defines nothing

Types are written out: an expression sees an operand in its own type, and what a stage reduces or
stores has the type that the stage needs, so programs on f16 or bf16 cast to f32 where they compute
and back where they store. A reduction's result has its operand's type.

**The order of a sum or product** of n elements, a function of n alone: element i belongs to block i
// 4096 and in it to lane i % 32. A lane starts at the identity (+0 or 1) and takes its elements in
order; the 32 lanes are folded by halves: lane l with lane l
+ 16, then with l + 8, l + 4, l + 2, l + 1 (the lower lane on the left). Block results are combined
in pairs, neighbours first, level by level, an odd one at the end going up unchanged. A row without
elements gives the identity. Lanes that no element reached may be left out: they hold the identity.

Extrema are exact and need no order: NaN if any element is NaN (the canonical quiet NaN), +0 above
-0. Positions are those of the first greatest (or least) element; a NaN counts as greatest (or
least), zeros of both signs are equal. The greatest of no elements is the least number of the type
(and the least the greatest), its position 0. """
from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, TypeAlias

from . import scalar

LANES, BLOCK = 32, 4096
SUMS = ("sum", "prod")
EXACT = ("max", "min", "any", "all")
INDEXED = ("max_index", "min_index")
KINDS = SUMS + EXACT + INDEXED
HEAVY = frozenset(
    ("exp exp2 expm1 log log2 log10 log1p sin cos tan tanh sigmoid logit softplus silu mish gelu "
     "gelu_tanh tanhshrink pow erf erfc erfcx ndtr sinc lgamma digamma atan2"
     ).split())    # slow to compute
IDENTITY = {"sum": 0, "prod": 1, "any": False, "all": True}


class Extent(enum.StrEnum):
    """Along which dimensions of the space, rows r and elements i, a value varies. The texts are
    part of a program's key."""
    FULL = "full"               # x[r, i]
    ROW = "row"                 # x[r]
    COLUMN = "col"              # x[i], the same in all rows
    SCALAR = "scalar"           # x, one number
    POSITION = "index"          # i itself, which is not passed
    KEPT = "kept"               # x[r, i], which an earlier stage keeps

    @property
    def is_one_each_row(self) -> bool:
        """Is the value the same along each row?"""
        return self is Extent.ROW or self is Extent.SCALAR

    @property
    def index_text(self) -> str:
        """The indices by which an operand is read, as programs are shown."""
        return {Extent.FULL: "r,i", Extent.ROW: "r", Extent.COLUMN: "i"}.get(self, "")


class Defined(NamedTuple):
    """The type and the extent of an argument of a program's expressions."""
    dtype: str
    extent: Extent


@dataclass(frozen=True)
class Operand:
    """The type of what a program is passed, and along which dimensions it varies."""
    dtype: str
    extent: Extent = Extent.FULL

    @property
    def is_full(self) -> bool:
        """Is there an element for each place of each row?"""
        return self.extent is Extent.FULL

    @property
    def is_row(self) -> bool:
        """Is there one element for each row?"""
        return self.extent is Extent.ROW

    @property
    def is_column(self) -> bool:
        """Is there one element for each place, the same in all rows?"""
        return self.extent is Extent.COLUMN

    @property
    def is_scalar(self) -> bool:
        """Is it one number?"""
        return self.extent is Extent.SCALAR

    @property
    def is_position(self) -> bool:
        """Is it the number of a place in its row, which is not passed?"""
        return self.extent is Extent.POSITION


@dataclass(frozen=True)
class Reduce:
    kind: str
    expr: scalar.Expr

    @property
    def has_position(self) -> bool:
        """Does it find where the extremum is, too?"""
        return self.kind in INDEXED

    @property
    def defined_count(self) -> int:
        """How many values later stages can use: the result, and its position if it has one."""
        return 2 if self.has_position else 1


@dataclass(frozen=True)
class Keep:
    expr: scalar.Expr
    defined_count: ClassVar[int] = 1


@dataclass(frozen=True)
class Store:
    expr: scalar.Expr
    defined_count: ClassVar[int] = 0


@dataclass(frozen=True)
class StoreRow:
    expr: scalar.Expr
    defined_count: ClassVar[int] = 0


Stage: TypeAlias = Reduce | Keep | Store | StoreRow


@dataclass(frozen=True)
class Pass:
    """One walk over the row: the stages (by number) that need no row scalar of this walk or of a
    later one."""
    stages: tuple[int, ...]
    rows: tuple[int, ...]          # StoreRow stages that can be computed when this walk is over


NAMES = {Keep: "keep", Store: "store", StoreRow: "store_row"}        # of stages, as they are shown


@dataclass(frozen=True, eq=False)
class Program:
    """A checked row program. `values[i]` says what arg(i) is."""
    name: str
    operands: tuple[Operand, ...]
    stages: tuple[Stage, ...]
    values: tuple[Defined, ...] = field(init=False)
    results: tuple[int, ...] = field(init=False)    # for each stage the first arg that it defines
    # (stage, dtype) of each output in order
    outputs: tuple[tuple[int, str], ...] = field(init=False)
    key: str = field(init=False)            # describes the program completely

    def __post_init__(self) -> None:
        values = [Defined(o.dtype, o.extent) for o in self.operands]
        results: list[int] = []
        outputs: list[tuple[int, str]] = []
        for k, s in enumerate(self.stages):
            where = f"{self.name}, stage {k}"
            results.append(len(values))
            used = scalar.uses(s.expr)
            if used and used[-1] >= len(values):
                raise ValueError(f"{where}: arg({used[-1]}) is not defined yet")
            t = scalar.typeof(s.expr, [v.dtype for v in values])
            if t is None:
                raise ValueError(f"{where}: a bare number has no type: cast it")
            if isinstance(s, Reduce):
                self._check(where, s, t)
                values.append(Defined(t, Extent.ROW))
                if s.has_position:
                    values.append(Defined("i64", Extent.ROW))
            elif isinstance(s, Keep):
                values.append(Defined(t, Extent.KEPT))
            else:
                if (isinstance(s, StoreRow)
                        and not all(values[i].extent.is_one_each_row for i in used)):
                    raise ValueError(f"{where}: a row output is made of row scalars")
                outputs.append((k, t))
        for name, v in ((("values", tuple(values)), ("results", tuple(results)),
                         ("outputs", tuple(outputs)), ("key", self._key()))):
            object.__setattr__(self, name, v)

    def __reduce__(self) -> tuple[Any, ...]:
        return made, (self.name, self.operands, self.stages)

    def _key(self) -> str:
        order = scalar.walk(*(s.expr for s in self.stages))
        at = {e: k for k, e in enumerate(order)}
        values = ("" if e.value is None else repr(e.value) for e in order)
        nodes = (f"{e.op}{value}({','.join(str(at[a]) for a in e.args)})"
                 for e, value in zip(order, values, strict=True))
        stages = (f"{type(s).__name__}{getattr(s, 'kind', '')}{at[s.expr]}" for s in self.stages)
        return ";".join((*(f"{o.extent}:{o.dtype}" for o in self.operands), *nodes, *stages))

    @staticmethod
    def _check(where: str, s: Reduce, t: str) -> None:
        if s.kind not in KINDS:
            raise ValueError(f"{where}: unknown reduction {s.kind!r}")
        if s.kind in SUMS and t not in ("f32", "f64", "i64"):
            raise ValueError(f"{where}: a {s.kind} is computed in f32, f64 or i64, not {t}")
        if s.kind in ("any", "all") and t != "bool":
            raise ValueError(f"{where}: {s.kind} is of bool, not {t}")
        if s.kind in ("max", "min", *INDEXED) and t in ("c64", "c128"):
            raise ValueError(f"{where}: complex numbers have no order")

    def __str__(self) -> str:
        def sig(o: Operand) -> str:
            return o.extent if o.is_position else f"{o.dtype}[{o.extent.index_text}]"

        lines = [
            f"{self.name}({', '.join(f'x{i}: {sig(o)}' for i, o in enumerate(self.operands))}):"]
        for s, at in zip(self.stages, self.results, strict=True):
            what = s.kind if isinstance(s, Reduce) else NAMES[type(s)]
            names = ", ".join(f"x{at + i}" for i in range(s.defined_count))
            lines.append(f"  {names}{' = ' if names else ''}{what} {s.expr}")
        return "\n".join(lines)

    def block_outputs(self) -> list[tuple[int, str]]:
        """What a block of a row gives when rows are shared out in blocks: (stage, dtype) of what
        is stored and of each result."""
        outs = []
        for k, (s, at) in enumerate(zip(self.stages, self.results, strict=True)):
            if isinstance(s, Store):
                outs.append((k, scalar.typeof(s.expr, [v.dtype for v in self.values])))
            elif isinstance(s, Reduce):
                outs += [(k, self.values[at + j].dtype) for j in range(s.defined_count)]
        return outs

    @functools.cached_property
    def passes(self) -> list[Pass]:
        """The fewest walks over the row, as Passes in order."""
        ready = [0] * len(self.operands)        # the walk in which a value can be used
        walks: dict[int, list[int]] = {}
        rows: dict[int, list[int]] = {}
        for k, s in enumerate(self.stages):
            at = max((ready[i] for i in scalar.uses(s.expr)), default=0)
            if isinstance(s, Reduce):
                ready += [at + 1] * s.defined_count
            elif isinstance(s, Keep):
                ready.append(at)
            (rows if isinstance(s, StoreRow) else walks).setdefault(at, []).append(k)
        last = max([0, *walks, *(a - 1 for a in rows)])
        after = [
            tuple(k for a in sorted(rows) if max(a - 1, 0) == w for k in rows[a])
            for w in range(last + 1)]
        return [Pass(tuple(walks.get(w, ())), after[w]) for w in range(last + 1)]


@functools.lru_cache(4096)
def made(name: str, operands: tuple[Operand, ...], stages: tuple[Stage, ...]) -> Program:
    """The program of these: equal ones are one, with one plan for each layout."""
    return Program(name, operands, stages)


def run(program: Program, operands: Sequence[Any], n: int,
        to_dtype: Callable[[str], Any]) -> list[Any]:
    """The program with NumPy on 2-d operands (rows, n), slow and sure up to the order of sums: the
    outputs in order.

    Row operands are (rows, 1), column operands (1, n), scalars NumPy scalars, index operands
    None."""
    import numpy as np
    vals = [
        np.arange(n)[None] if o.is_position else np.asarray(v)
        for o, v in zip(program.operands, operands, strict=True)]
    rows = max((v.shape[0]
                for v, o in zip(vals, program.operands, strict=True) if o.is_full or o.is_row),
               default=1)
    outs = []
    for s in program.stages:
        t = to_dtype(scalar.typeof(s.expr, [v.dtype for v in program.values]))
        with np.errstate(all="ignore"):
            v, = scalar.evaluate((s.expr,), vals, to_dtype)
            wide = np.broadcast_to(
                np.asarray(v).astype(t, copy=False), (rows, 1 if isinstance(s, StoreRow) else n))
            if isinstance(s, Keep):
                vals.append(wide)
            elif isinstance(s, Store | StoreRow):
                outs.append(wide.copy())
            elif s.has_position:
                at = (np.argmax if s.kind == "max_index" else np.argmin)(wide, 1, keepdims=True)
                vals += [np.take_along_axis(wide, at, 1), at]
            elif s.kind in ("max", "min"):
                ends = (False, True) if t.kind == "b" else (-np.inf, np.inf)
                ends = (np.iinfo(t).min, np.iinfo(t).max) if t.kind in "iu" else ends
                extremum, start = (np.max, ends[0]) if s.kind == "max" else (np.min, ends[1])
                vals.append(extremum(wide, 1, keepdims=True, initial=start).astype(t, copy=False))
            else:
                fold: Any = {"sum": np.sum, "prod": np.prod, "any": np.any, "all": np.all}[s.kind]
                vals.append(fold(wide, 1, keepdims=True).astype(t, copy=False))
    return outs
