"""Builds the row program of a group of nodes found by `fuse_rows.py`: its operands, its stages, and
whether a kernel can read their layouts.

Nodes that are row programs themselves have their stages put in as they are. The stages of the
others compute what the nodes compute alone, in the same types.
"""
from __future__ import annotations

import enum
from collections.abc import Sequence, Set
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from whet.ir import rows as R
from whet.ir import scalar as S
from whet.ir.expressions import Expr
from whet.ir.graph import Fused, Node, OpNode, Ref, Rows
from whet.ir.row_layout import OperandAxes, Placed, Shape, extent_of, left, one_each, spread
from whet.ir.rows import Extent, Operand, Program
from whet.ir.values import Array
from whet.passes import fuse_pointwise
from whet.passes.group_edges import is_program
from whet.passes.listing import Arrays
from whet.passes.lower_llvm.elements.pointwise import work
from whet.passes.value_uses import Uses

MOST = 24                        # operands and results of a program
MANY = 16                        # units of work: enough for threads as they are
# Bytes of an array that stays in a cache: columns across it may be walked several times, and their
# numbers stored, whatever its lines are.
CACHED = 1 << 20
# Bytes of a line of a larger array, at least and at most, for the same. Vectors of shorter lines
# are mostly empty. Across longer ones a column's numbers are too far apart to be stored one by one.
SHORTEST_LINE, LONGEST_LINE = 32, 1024
NAMES = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "bool": "bool",
         **{f"{u}int{n}": f"{u and 'u' or 'i'}{n}" for u in ("", "u") for n in (8, 16, 32, 64)}}
NUMBERS = ("f32", "f64", "i32", "i64")       # types of numbers that a kernel of rows takes by value
REPEATED = 32                    # instructions that each reduction of what they make may repeat
STAGE = 1 << 20  # what stages define is numbered from here on, until the operands are known


Space: TypeAlias = tuple[Shape, tuple[int, ...]]         # a shape, and the axes that are reduced
Source: TypeAlias = Array | Ref              # an operand: a value, or a number
Strides: TypeAlias = tuple[Sequence[int], int]           # of an array, and its bytes an element


def program_of(node: OpNode,
               arrays: Arrays) -> tuple[Program, tuple[Array | float, ...], tuple[int, ...]] | None:
    """(the program that a node is, its operands, its axes); None where it has none."""
    ins = [arrays[x] if type(x) is Ref else x for x in node.ins]
    if any(type(x) is np.ndarray and NAMES.get(x.dtype.name) is None for x in ins):
        return None
    got = node.op.as_rows(*ins, **node.attrs)
    return got if any(o.is_full for o in got[0].operands) else None


def repays(node: Fused, arrays: Arrays) -> bool:
    """Is a kernel done several times sooner than what it makes is stored and read? Never where
    that stays in a cache."""
    made = sum(arrays[o].nbytes for o in node.outs)
    read = sum(
        a.itemsize * prod(n for n, s in zip(a.shape, a.strides, strict=True) if s)
        for a in (arrays[x] for x in dict.fromkeys(node.refs()))
    )
    return made > CACHED and 4 * read <= made and work(node.exprs) <= REPEATED


# ---- shapes --------------------------------------------------------------------------------------
class Walk(enum.Enum):
    """The contiguous part of the arrays that a kernel walks."""
    ROWS = enum.auto()           # the elements of a row
    PIECES = enum.auto()         # parts of a row
    COLUMNS = enum.auto()        # the rows


def walk(shape: Shape, axes: tuple[int, ...], fulls: Sequence[Sequence[int]],
         of_rows: Sequence[Sequence[int]], sizes: Sequence[int]) -> Walk | None:
    """How arrays of these strides can be walked without a copy; None where they cannot. `fulls`
    has the strides of full operands and results, `of_rows` those of row operands; `sizes` their
    item sizes."""
    def merged(dims: Sequence[int], strides: Sequence[Sequence[int]]) -> list[list[int]]:
        out: list[list[int]] = []
        for a in dims:
            steps = [s[a] for s in strides]
            if (shape[a] > 1 and out
                    and all(p == q * shape[a] for p, q in zip(out[-1], steps, strict=True))):
                out[-1] = steps
            elif shape[a] > 1:
                out.append(steps)
        return out

    inner, outer = (merged(axes, fulls),
                    merged([a for a in range(len(shape)) if a not in axes], [*fulls, *of_rows]))
    if len(outer) > 2 or len(inner) > 2:
        return None
    if all(s == b for s, b in zip(inner[-1], sizes, strict=False)):
        return Walk.ROWS if len(inner) == 1 else Walk.PIECES
    if (len(inner) > 1 or not outer
            or any(s not in (0, b) for s, b in zip(outer[-1], sizes, strict=True))
            or not any(outer[-1][:len(fulls)])):
        return None
    # what is the same in all columns is read so by kernels that do not share long columns among
    # threads
    return (Walk.COLUMNS if all(outer[-1]) or prod(shape[a] for a in axes) < 2 * R.BLOCK
            or prod(shape[:axes[0]]) >= MANY else None)


# ---- the program ---------------------------------------------------------------------------------
def built(space: Space, uses: Uses, arrays: Arrays, visible: Set[int],
          at: Sequence[int], repeated: tuple[int, ...] = ()) -> Rows | None:
    """The node of the group of nodes at these places, as `_Builder.build` has it. Kernels go by an
    operand that varies in all directions: where there is none (as in `x[:, None] - y`), those whose
    elements are contiguous are taken as such."""
    builder = _Builder(space, uses, arrays, visible)
    node = builder.build(at, repeated)
    if node is None and builder.has_no_full_operand:
        node = _Builder(space, uses, arrays, visible, partly_varying=True).build(at, repeated)
    return node


class _Value(NamedTuple):
    """What a program computes with: an operand, or the result of a node of the group."""
    is_full: bool                # has it an element for each of the shape, or one for each row?
    expr: Expr


class _Stage(NamedTuple):
    """A stage of the program while it is made."""
    kind: type[Any]              # of `ir.rows`: Reduce, Keep, Store or StoreRow
    parts: tuple[Any, ...]       # what makes one: the kind of a reduction, then the expression
    defines: list[Expr]          # the arguments by which later stages name what it computes

    @property
    def expr(self) -> Expr:
        """The expression that it computes."""
        e: Expr = self.parts[-1]
        return e

    def of(self, e: Expr) -> _Stage:
        """A stage of this kind that computes another expression."""
        return self._replace(parts=(*self.parts[:-1], e))


class _Builder:
    """Makes the program of a group. `partly_varying`: operands that vary in one direction alone,
    with their elements side by side, are full ones."""

    def __init__(self, space: Space, uses: Uses, arrays: Arrays,
                 visible: Set[int], partly_varying: bool = False) -> None:
        self.shape, self.axes = space
        self.partly_varying = partly_varying
        self.has_no_full_operand = False
        self.uses, self.arrays, self.visible = uses, arrays, visible
        self.kept, _ = left(*space)
        self.ins: list[Source | None] = []       # None: the index of an element
        self.operands: list[Operand] = []
        self.operand_axes: list[OperandAxes] = []
        self.numbered: dict[object, Expr] = {}
        self.stages: list[_Stage] = []
        self.reduced: dict[tuple[str, Expr], list[Expr]] = {}
        self.types: dict[int, str] = {}
        self.known: dict[int, _Value] = {}       # what the nodes of the group make

    def build(self, at: Sequence[int], repeated: tuple[int, ...] = ()) -> Rows | None:
        """The node of the group of nodes at these places; None where there is no program for it.
        What the `repeated` ones make is stored nowhere."""
        nodes = self.uses.nodes
        outs = self.stored(at, repeated)
        if not outs or not all(self.add(nodes[k]) for k in at) \
                or len(self.operands) + len(outs) > MOST:
            return None
        for full, e in (self.known[x] for x in outs):
            self.stages.append(_Stage(R.Store if full else R.StoreRow, (e,), []))
        self.keep()
        members = [nodes[k] for k in sorted({*at, *self.views(at)})]
        work = Placed(self.finished(), self.shape, self.axes, tuple(self.operand_axes))
        made = Rows(tuple(self.ins), outs, nodes[at[-1]].line, members, self.axes, work)
        return made if self.suits(made) else None

    def stored(self, at: Sequence[int], repeated: tuple[int, ...]) -> list[int]:
        """What the nodes at these places make for others."""
        inside = set(at)
        return [x for k in at if k not in repeated for x in self.uses.nodes[k].outs
                if x in self.visible
                or any(u not in inside for u in self.uses.users.get(x, ()))]

    def views(self, at: Sequence[int]) -> set[int]:
        """The views of what the group makes that nodes of it read, by their places."""
        todo, found = [x for k in at for x in self.uses.nodes[k].refs()], set()
        while todo:
            x = todo.pop()
            if x not in self.known and self.uses.root[x] in self.known:
                k = self.uses.maker[x]
                found.add(k)
                todo += self.uses.nodes[k].refs()
        return found

    def suits(self, node: Rows) -> bool:
        """Do the kernels take the operands in their layouts, and is that worth it?"""
        program = node.placed.program
        fulls, of_rows = self.strides(node)
        if not fulls:
            self.has_no_full_operand = True
            return False
        outer = [a for a in range(len(self.shape)) if a not in self.axes and self.shape[a] > 1]
        if sorted(outer, key=lambda a: -sum(abs(st[a]) for st, _ in fulls)) != outer:
            return False
        stores = self.stores(node)
        fulls += [(self.dense_strides(y), self.arrays[y].itemsize) for y in stores]
        if any(x not in self.visible and self.made_of_little(x)
               and all(map(self.reduces, self.uses.users.get(x, ()))) for x in stores):
            return False
        how = walk(self.shape, self.axes, [s for s, _ in fulls], [s for s, _ in of_rows],
                   [size for _, size in (*fulls, *of_rows)])
        if how is Walk.PIECES:
            return not any(isinstance(s, R.Reduce) and s.has_position for s in program.stages)
        if how is Walk.COLUMNS and (stores or len(program.passes) > 1):
            return self.columns_suit(stores, max(size for _, size in fulls))
        return how is not None

    def strides(self, node: Rows) -> tuple[list[Strides], list[Strides]]:
        """The strides of the full operands, and those of the row operands."""
        fulls: list[Strides] = []
        of_rows: list[Strides] = []
        ins = [self.arrays[x] if type(x) is Ref else x for x in node.ins]
        for x, o in zip(node.placed.operands(ins), node.placed.program.operands, strict=True):
            if o.is_full or o.is_row:
                (fulls if o.is_full else of_rows).append((x.strides, x.itemsize))
        return fulls, of_rows

    def stores(self, node: Rows) -> list[int]:
        """The results that have an element for each of the shape."""
        stages = node.placed.program.stages
        last = stages[len(stages) - len(node.outs):]
        return [y for y, s in zip(node.outs, last, strict=True) if isinstance(s, R.Store)]

    def dense_strides(self, y: int) -> list[int]:
        """The strides of a result of the whole shape."""
        size = self.arrays[y].itemsize
        return [prod(self.shape[a + 1:]) * size for a in range(len(self.shape))]

    def columns_suit(self, stores: Sequence[int], size: int) -> bool:
        """May columns be walked several times, and these results be stored? `size`: the bytes of
        the largest element."""
        line = prod(self.shape[self.axes[-1] + 1:]) * size
        return prod(self.shape) * size <= CACHED or line >= SHORTEST_LINE and (
            not stores or line <= LONGEST_LINE and not any(map(self.made_of_little, stores)))

    def reduces(self, k: int) -> bool:
        """Is the node at this place a reduction?"""
        node = self.uses.nodes[k]
        return isinstance(node, OpNode) and node.op.family in ("reduce", "rows")

    def made_of_little(self, x: int) -> bool:
        """Could others compute a result rather than read it? See `repeat` in `fuse_rows.py`."""
        node = self.uses.nodes[self.uses.maker[x]]
        return (isinstance(node, Fused) or fuse_pointwise.fusible(node, self.arrays)) and repays(
            node if isinstance(node, Fused) else fuse_pointwise.alone(node, self.arrays),
            self.arrays,
        )

    # ---- operands
    def operand(self, x: Source, has: OperandAxes = OperandAxes.ALL,
                may_be_full: bool = False) -> _Value | None:
        """A node's operand; None where it cannot be one. `may_be_full`: even where it varies in
        one direction alone."""
        if isinstance(x, Ref) and self.uses.root[x] in self.known:
            return self.seen(x, has)
        key: tuple[Any, ...]
        if isinstance(x, Ref):
            a = spread(self.arrays[x], self.shape, self.axes, has)
            dtype = NAMES.get(self.arrays[x].dtype.name)
            extent = (Extent.FULL if self.partly_varying and may_be_full and a.shape[-1] > 1
                      and a.strides[-1] == a.itemsize else extent_of(a, self.axes))
            key = x, has, extent
        else:
            extent, dtype, key = Extent.SCALAR, NAMES.get(x.dtype.name), (x.dtype.str, x.tobytes())
        if dtype is None or extent is Extent.SCALAR and dtype not in NUMBERS:
            return None
        return _Value(not extent.is_one_each_row, self.number(key, x, dtype, extent, has))

    def number(self, key: object, x: Source | None, dtype: str, extent: Extent,
               has: OperandAxes = OperandAxes.ALL) -> Expr:
        """The argument of an operand of the program."""
        if key not in self.numbered:
            self.numbered[key] = S.arg(len(self.operands))
            self.types[len(self.operands)] = dtype
            self.ins.append(x)
            self.operands.append(R.Operand(dtype, extent))
            self.operand_axes.append(has)
        return self.numbered[key]

    def seen(self, x: Ref, has: OperandAxes) -> _Value | None:
        """What the group made, as it is or through a view; None where the view moves elements."""
        base = self.uses.root[x]
        value = self.known[base]
        a, b = spread(self.arrays[x], self.shape, self.axes, has), self.arrays[base]
        if not value.is_full:
            if extent_of(a, self.axes) is not Extent.ROW:
                return None
            a = one_each(a, self.axes)
        shape = self.shape if value.is_full else self.kept
        if (not b.flags.c_contiguous or b.size != prod(shape)
                or a.__array_interface__["data"][0] != b.__array_interface__["data"][0]):
            return None
        natural = b.reshape(shape).strides
        if any(n > 1 and s != t for n, s, t in zip(shape, a.strides, natural, strict=True)):
            return None
        return value

    # ---- nodes
    def add(self, node: Node) -> bool:
        """Put a node into the program; False where one of its operands cannot be one of that."""
        return self.add_program(node) if is_program(node) else self.add_pointwise(node)

    def add_pointwise(self, node: Node) -> bool:
        """A pointwise node: its expressions. False where an operand cannot be one."""
        if not isinstance(node, Fused):
            node = fuse_pointwise.alone(node, self.arrays)
        shape = self.arrays[node.outs[0]].shape
        by: dict[int, Expr] = {}
        has = OperandAxes.ALL if shape in (self.shape, self.kept) else OperandAxes.KEPT
        for k, x in enumerate(node.ins):
            got = self.operand(x, has, shape == self.shape)
            if got is None or got.is_full and shape != self.shape:
                return False
            by[k] = got.expr
        for o, e in zip(node.outs, node.exprs, strict=True):
            e, stored = S.substitute(e, by), NAMES[self.arrays[o].dtype.name]
            self.known[o] = _Value(
                shape == self.shape, e if S.typeof(e, self.types) == stored else S.cast(e, stored))
        return True

    def add_program(self, node: OpNode) -> bool:
        """A node that is a program itself: its stages. False where an operand cannot be one."""
        found = program_of(node, self.arrays)
        assert found is not None             # those who grouped the nodes saw that it is one
        program, xs, _ = found
        by: dict[int, Expr] = {}
        for k, (o, x) in enumerate(zip(program.operands, xs, strict=True)):
            got = self.operand_of_program(node, k, o, x)
            if got is None or o.is_row and got.is_full \
                    or S.typeof(got.expr, self.types) != o.dtype:
                return False
            by[k] = got.expr
        values: list[_Value] = []
        for s, at in zip(program.stages, program.results, strict=True):
            e = S.substitute(s.expr, by)
            if isinstance(s, R.Reduce):
                by.update((at + j, x) for j, x in enumerate(self.reduction(s.kind, e)))
            elif isinstance(s, R.Keep):
                by[at] = e
            else:
                values.append(_Value(isinstance(s, R.Store), e))
        self.known.update(zip(node.outs, values, strict=True))
        return True

    def operand_of_program(self, node: OpNode, k: int, o: Operand,
                           x: Array | float) -> _Value | None:
        """The k-th operand of a node that is a program itself: what it is there, and its value."""
        if o.is_position:
            return _Value(True, self.number("index", None, o.dtype, Extent.POSITION))
        if o.is_scalar:
            return self.operand(np.asarray(x, {"f32": "f4", "f64": "f8", "i64": "i8"}[o.dtype]))
        if type(x) is not np.ndarray:
            return None
        has = (OperandAxes.REDUCED if o.is_column
               else OperandAxes.KEPT if o.is_row and x.ndim < len(self.shape)
               else OperandAxes.ALL)
        return self.operand(node.ins[k], has)

    def reduction(self, kind: str, e: Expr) -> list[Expr]:
        """The results of a reduction; each is done once."""
        if (kind, e) not in self.reduced:
            self.reduced[kind, e] = self.stage(
                R.Reduce, (kind, e), S.typeof(e, self.types), *["i64"] * (kind in R.INDEXED))
        return self.reduced[kind, e]

    def stage(self, kind: type[Any], parts: tuple[Any, ...], *types: str) -> list[Expr]:
        """Add a stage; the arguments that it defines."""
        made = [S.arg(STAGE + len(self.types) + j) for j in range(len(types))]
        self.types.update((e.value, t) for e, t in zip(made, types, strict=True))
        self.stages.append(_Stage(kind, parts, made))
        return made

    # ---- the whole
    def keep(self) -> None:
        """Keep the costly values that more than one walk needs."""
        values = [
            e for full, e in self.known.values()
            if full and any(x.op in R.HEAVY for x in S.walk(e))]
        while values:
            e = values.pop(0)
            walks = {} if e.op == "arg" else self.walks_that_need(e)
            if len(set(walks.values())) < 2:
                continue
            first = min(walks)
            kept, = self.stage(R.Keep, (e,), S.typeof(e, self.types))
            self.stages.insert(first, self.stages.pop())
            self.stages[first + 1:] = [
                s.of(S.replace(s.expr, e, kept)) for s in self.stages[first + 1:]]
            values = [S.replace(v, e, kept) for v in values]

    def walks_that_need(self, e: Expr) -> dict[int, int]:
        """The stages that compute a value, each with the walk over the row that it is done in."""
        walks: dict[int, int] = {}
        ready: dict[int, int] = {}           # argument -> the walk before which it is known
        for k, stage in enumerate(self.stages):
            at = max((ready.get(i, 0) for i in S.uses(stage.expr)), default=0)
            ready.update((x.value, at + (stage.kind is R.Reduce)) for x in stage.defines)
            if stage.kind is not R.StoreRow and any(x is e for x in S.walk(stage.expr)):
                walks[k] = at
        return walks

    def finished(self) -> Program:
        """The program, its arguments numbered in order."""
        new, n = {}, len(self.operands)
        for stage in self.stages:
            for x in stage.defines:
                new[x.value] = S.arg(n)
                n += 1
        stages = tuple(
            s.kind(*s.parts[:-1], S.substitute(s.expr, new)) for s in self.stages)
        return R.made("rows", tuple(self.operands), stages)
