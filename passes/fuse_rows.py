"""Row programs from nodes: reductions along some axes, with what feeds them and what is computed
from them, are one kernel.

    %1 = amax(%0, dim=(1,), keepdim=True)
    %3 = fused(%0, %1){sub; exp}
    %4 = sum(%3, dim=(1,), keepdim=True)    ->    %5 = rows(%0, axes=(1,)){
    %5 = div(%3, %4)                                  amax; sub; exp; sum; div}

A group has a shape and axes. Its nodes are pointwise ones on that shape ("full" values) or on what
is left without the axes ("row" values), and ops that are row programs themselves (reductions,
softmax, norms), whose stages are put in as they are. A row value may be seen through views that put
its axes back or repeat it along them. A result is stored if somebody outside of the group wants it;
a group stands where the last of its nodes was, so nothing may want one before, nor write to what it
reads. The stages compute what the nodes compute alone, in the same types, and a reduction's order
is that of `ir.rows`: no bit changes.
"""
from __future__ import annotations

from collections.abc import Sequence, Set
from math import prod
from typing import Any, TypeAlias

import numpy as np
from whet.ir import rows as R
from whet.ir import scalar as S
from whet.ir.expressions import Expr
from whet.ir.graph import Fused, Node, OpNode, Ref, Rows
from whet.ir.row_layout import Placed, Shape, kind_of, left, one_each, spread
from whet.ir.rows import Operand, Program
from whet.ir.values import Array
from whet.passes import fuse_pointwise
from whet.passes.held_longer import Held
from whet.passes.listing import Arrays, Listing, Roots
from whet.passes.lower_llvm.elements.pointwise import work
from whet.passes.uses import Uses, drop_unused, is_view

MOST = 24                        # operands and results of a program
MOST_NODES = 60
MANY = 16                        # units of work: enough for threads as they are
# Bytes of an array that stays in a cache: columns across it may be walked several times, and their
# numbers stored, whatever its lines are.
CACHED = 1 << 20
# Bytes of a line of a larger array, at least and at most, for the same. Vectors of shorter lines
# are mostly empty. Across longer ones a column's numbers lie too far apart to be stored one by one.
SHORTEST_LINE, LONGEST_LINE = 32, 1024
NAMES = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "bool": "bool",
         **{f"{u}int{n}": f"{u and 'u' or 'i'}{n}" for u in ("", "u") for n in (8, 16, 32, 64)}}
NUMBERS = ("f32", "f64", "i32", "i64")       # types of numbers that a kernel of rows takes by value
AGAIN = 32  # instructions that are done again for each reduction of what they make
STAGE = 1 << 20  # what stages define is numbered from here on, until the operands are known


Space: TypeAlias = tuple[Shape, tuple[int, ...]]         # a shape, and the axes that are reduced
Source: TypeAlias = Array | Ref              # an operand: a value, or a number


class _Group:
    def __init__(self, i: int, shapes: set[Shape], space: Space | None = None) -> None:
        self.at, self.shapes, self.space = [i], shapes, space
        self.node: Rows | None = None
        # of its nodes, those that others compute for themselves too
        self.again: tuple[int, ...] = ()


def rows(g: Listing) -> Listing:
    """The list with groups of reductions and pointwise nodes as "rows" nodes; `value` are the
    nodes that one stands for, `roots` is its `Rows`."""
    nodes, root, arrays, visible = g.nodes, g.root, g.arrays, g.visible
    uses = Uses(nodes, root)
    groups: dict[int, _Group] = {}           # node -> its group
    held = Held(g, uses)

    def join(other: _Group | None, group: _Group, i: int) -> _Group:
        if other is None or other is group or held.longer(other.at, group.at, i):
            return group
        if not _join(other, group, i, uses, arrays, visible):
            return group
        groups.update(dict.fromkeys(group.at, other))
        groups.update(dict.fromkeys(other.at, other))
        return other
    for i, node in enumerate(nodes):
        group = _start(i, node, arrays)
        if group is None:
            continue
        groups[i] = group
        for other in [groups.get(uses.maker.get(root[x], -1)) for x in node.refs()]:
            group = join(other, group, i)
        if group.space:                      # others that reduce the same
            for x in {root[x]: x for k in group.at for x in nodes[k].refs()}:
                for other in [groups.get(u) for u in uses.users.get(x, ()) if u < i]:
                    if other is not None and other.space == group.space:
                        group = join(other, group, i)
    _repeat(groups, uses, arrays, visible)
    return drop_unused(g.of(_put(nodes, root, groups)))


def _start(i: int, node: Node, arrays: Arrays) -> _Group | None:
    """A group of one node; None if it can be in none."""
    if not fuse_pointwise.is_real(node, arrays):
        return None
    if (
        isinstance(node, Fused)
        and arrays[node.outs[0]].flags.c_contiguous
        or fuse_pointwise.fusible(node, arrays)
    ):
        return _Group(i, {arrays[node.outs[0]].shape})
    if (
        isinstance(node, OpNode)
        and node.op.family in ("reduce", "rows")
        and type(node.ins[0]) is Ref
        and arrays[node.ins[0]].ndim
    ):
        got = _program(node, arrays)
        if got is not None:
            shape = arrays[node.ins[[o.kind for o in got[0].operands].index("full")]].shape
            axes = tuple(sorted(a % len(shape) for a in got[2]))
            if 0 not in shape and prod(shape[a] for a in axes) > 1:
                return _Group(i, set(), (shape, axes))
    return None


def alone(i: int, uses: Uses, arrays: Arrays, visible: Set[int]) -> Rows | None:
    """Node i, an op that is a row program, as a "rows" node; None if it is none."""
    group = _start(i, uses.nodes[i], arrays)
    return (
        None
        if group is None or group.space is None
        else _built(group.space, uses, arrays, visible, [i])
    )


def _program(node: OpNode,
             arrays: Arrays) -> tuple[Program, tuple[Array | float, ...], tuple[int, ...]] | None:
    """(the program that a node is, its operands, its axes); None where it has none."""
    ins = [arrays[x] if type(x) is Ref else x for x in node.ins]
    if any(type(x) is np.ndarray and NAMES.get(x.dtype.name) is None for x in ins):
        return None
    got = node.op.as_rows(*ins, **node.attrs)
    return got if any(o.kind == "full" for o in got[0].operands) else None


def _join(a: _Group, b: _Group, i: int, uses: Uses, arrays: Arrays, visible: Set[int]) -> bool:
    """Make two groups one that stands at node i, if that may be."""
    space = a.space or b.space
    if space is None or b.space not in (None, space):
        return False
    shape, axes = space
    allowed = (shape, *left(shape, axes))
    at = sorted(a.at + b.at)
    together = set(at)
    if any(s not in allowed for s in a.shapes | b.shapes) or len(at) > MOST_NODES:
        return False
    if any(not uses.later(k, i) or uses.needed(k, i, together) for k in at):
        return False
    node = _built(space, uses, arrays, visible, at)
    if node is None:
        return False
    a.at, a.shapes, a.space, a.node = at, a.shapes | b.shapes, space, node
    return True


def _repeat(groups: dict[int, _Group], uses: Uses, arrays: Arrays, visible: Set[int]) -> None:
    """Let each of the groups that read a large result, which little is read for, compute it for
    itself: then it is nowhere stored."""
    for i, node in enumerate(uses.nodes):
        if (
            groups.get(i) is None
            or groups[i].at != [i]
            or groups[i].space is not None
            or not visible.isdisjoint(node.outs)
        ):
            continue
        node = node if isinstance(node, Fused) else fuse_pointwise.alone(node, arrays)
        readers = {u for o in node.outs for u in uses.users.get(o, ())}
        takers = {groups[u]: groups[u].space for u in readers if u in groups}
        if not readers or not readers <= groups.keys():
            continue
        if any(
            not space or not uses.later(i, g.at[-1]) for g, space in takers.items()
        ) or not _repays(node, arrays):
            continue
        made = {g: space and _built(space, uses, arrays, visible, sorted([*g.at, i]), (*g.again, i))
                for g, space in takers.items()}
        if None not in made.values():
            for g, one in made.items():
                g.at, g.again, g.node = sorted([*g.at, i]), (*g.again, i), one
                groups[i] = g


def _repays(node: Fused, arrays: Arrays) -> bool:
    """Is a kernel done several times sooner than what it makes is stored and read? (Not so in a
    cache.)"""
    made = sum(arrays[o].nbytes for o in node.outs)
    read = sum(
        a.itemsize * prod(n for n, s in zip(a.shape, a.strides, strict=True) if s)
        for a in (arrays[x] for x in dict.fromkeys(node.refs()))
    )
    return made > CACHED and 4 * read <= made and work(node.exprs) <= AGAIN


def again(
    node: Rows, members: Sequence[Node], shape: Shape, root: Roots, arrays: Arrays
) -> Rows | None:
    """A group of nodes on a shape of other sizes than that of `node`; None where no kernel takes
    it."""
    at = [k for k, m in enumerate(members) if not is_view(m)]
    return _built((shape, node.placed.axes), Uses(members, root), arrays, set(node.outs), at)


def _put(nodes: Sequence[Node], root: Roots, groups: dict[int, _Group]) -> list[Node]:
    """The list with each group at the place of its last node, and views of what it makes after
    it."""
    out: list[Node] = []
    inside: dict[int, _Group] = {}
    gone: set[int] = set()
    for group in groups.values():
        if group.node is not None:
            gone.update(group.at)
            for k in group.at:
                inside.update(dict.fromkeys(nodes[k].outs, group))
    waiting: dict[int, list[Node]] = {}
    for i, node in enumerate(nodes):
        if i not in gone:
            maker = inside.get(root[node.ins[0]]) if is_view(node) else None
            if maker is None or i > maker.at[-1]:
                out.append(node)
            else:
                waiting.setdefault(id(maker), []).append(node)
        elif i == groups[i].at[-1] and (made := groups[i].node) is not None:
            out += [made, *waiting.get(id(groups[i]), ())]
    return out


# ---- shapes --------------------------------------------------------------------------------------
def way(shape: Shape, axes: tuple[int, ...], fulls: Sequence[Sequence[int]],
        rows_: Sequence[tuple[int, ...]], sizes: Sequence[int]) -> str | None:
    """How arrays of these strides can be walked without a copy: "rows" (elements of a row lie side
    by side, or in pieces), "columns" (rows do), None (neither). `fulls` has the strides of full
    operands and results, `rows_` those of row operands; `sizes` their item sizes."""
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
                    merged([a for a in range(len(shape)) if a not in axes], [*fulls, *rows_]))
    if len(outer) > 2 or len(inner) > 2:
        return None
    if all(s == b for s, b in zip(inner[-1], sizes, strict=False)):
        return "rows" if len(inner) == 1 else "pieces"
    if (len(inner) > 1 or not outer
            or any(s not in (0, b) for s, b in zip(outer[-1], sizes, strict=True))
            or not any(outer[-1][:len(fulls)])):
        return None
    # what is the same in all columns is read so by kernels that do not share long columns among
    # threads
    return ("columns" if all(outer[-1]) or prod(shape[a] for a in axes) < 2 * R.BLOCK
            or prod(shape[:axes[0]]) >= MANY else None)


# ---- the program ---------------------------------------------------------------------------------
def _built(space: Space, uses: Uses, arrays: Arrays, visible: Set[int],
           at: Sequence[int], again: tuple[int, ...] = ()) -> Rows | None:
    """The node of the group of nodes at these places, as `_Builder.build` has it. Kernels go by an
    operand that varies in all directions: where there is none (as in `x[:, None] - y`), those whose
    elements lie side by side are taken as such."""
    builder = _Builder(space, uses, arrays, visible)
    node = builder.build(at, again)
    if node is None and builder.bare:
        node = _Builder(space, uses, arrays, visible, True).build(at, again)
    return node


class _Builder:
    """Makes the program of a group."""

    def __init__(self, space: Space, uses: Uses, arrays: Arrays,
                 visible: Set[int], outer: bool = False) -> None:
        self.shape, self.axes = space
        # may operands that vary in one direction be full ones? has a program only such?
        self.outer, self.bare = outer, False
        self.uses, self.arrays, self.visible = uses, arrays, visible
        self.kept, _ = left(*space)
        self.ins: list[Source | None] = []       # None: the index of an element
        self.operands: list[Operand] = []
        self.places: list[str] = []
        self.numbered: dict[object, Expr] = {}
        # (class, kind and expression, what it defines)
        self.stages: list[tuple[type[Any], tuple[Any, ...], list[Expr]]] = []
        self.reduced: dict[tuple[str, Expr], list[Expr]] = {}
        self.types: dict[int, str] = {}
        # value -> (is it full?, its expression)
        self.known: dict[int, tuple[bool, Expr]] = {}

    def build(self, at: Sequence[int], again: tuple[int, ...] = ()) -> Rows | None:
        """The node of the group of nodes at these places; None where there is no program for it.
        What is computed `again` is stored nowhere."""
        nodes, inside = self.uses.nodes, set(at)
        outs: list[int] = []
        passing = {o for k in again for o in nodes[k].outs}
        for k in at:
            node = nodes[k]
            if (not (self.program_of(node) if isinstance(node, OpNode)
                     and node.op.family != "pointwise" else self.pointwise(node))):
                return None
        for x, (full, e) in self.known.items():
            if x not in passing and (x in self.visible
                                     or any(u not in inside for u in self.uses.users.get(x, ()))):
                outs.append(x)
                self.stages.append((R.Store if full else R.StoreRow, (e,), []))
        if not outs or len(self.operands) + len(outs) > MOST:
            return None
        self.keep()
        members = [nodes[k] for k in sorted({*at, *self.views(at)})]
        work = Placed(self.finished(), self.shape, self.axes, tuple(self.places))
        made = Rows(tuple(self.ins), outs, nodes[at[-1]].line, members, self.axes, work)
        return made if self.suits(made) else None

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
        """Do the kernels take the operands as they lie, and is that worth it?"""
        program = node.placed.program
        fulls: list[tuple[Sequence[int], int]] = []
        rows_: list[tuple[tuple[int, ...], int]] = []
        ins = [self.arrays[x] if type(x) is Ref else x for x in node.ins]
        given = node.placed.operands(ins)
        for x, o in zip(given, program.operands, strict=True):
            if o.kind in ("full", "row"):
                (fulls if o.kind == "full" else rows_).append((x.strides, x.itemsize))
        if not fulls:
            self.bare = True
            return False
        outer = [a for a in range(len(self.shape)) if a not in self.axes and self.shape[a] > 1]
        if sorted(outer, key=lambda a: -sum(abs(st[a]) for st, _ in fulls)) != outer:
            return False
        stores = []
        for y, stage in zip(node.outs, program.stages[len(program.stages) - len(node.outs):],
                            strict=True):
            if isinstance(stage, R.Store):
                item = self.arrays[y].itemsize
                fulls.append(
                    ([prod(self.shape[a + 1:]) * item for a in range(len(self.shape))], item))
                stores.append(y)
        if any(x not in self.visible and self.made_of_little(x)
               and all(map(self.reduces, self.uses.users.get(x, ()))) for x in stores):
            return False
        how = way(self.shape,
                  self.axes, [s for s, _ in fulls], [s for s, _ in rows_],
                  [b for _, b in (*fulls, *rows_)])
        if how == "pieces":
            return not any(isinstance(s, R.Reduce) and s.kind in R.INDEXED for s in program.stages)
        if how == "columns" and (stores or len(program.passes) > 1):
            size = max(b for _, b in fulls)
            line = prod(self.shape[self.axes[-1] + 1:]) * size
            return prod(self.shape) * size <= CACHED or line >= SHORTEST_LINE and (
                not stores or line <= LONGEST_LINE and not any(map(self.made_of_little, stores)))
        return how is not None

    def reduces(self, k: int) -> bool:
        """Is the node at this place a reduction?"""
        node = self.uses.nodes[k]
        return isinstance(node, OpNode) and node.op.family in ("reduce", "rows")

    def made_of_little(self, x: int) -> bool:
        """Could others compute a result rather than read it? (See `_repeat`.)"""
        node = self.uses.nodes[self.uses.maker[x]]
        return (isinstance(node, Fused) or fuse_pointwise.fusible(node, self.arrays)) and _repays(
            node if isinstance(node, Fused) else fuse_pointwise.alone(node, self.arrays),
            self.arrays,
        )

    # ---- operands
    def operand(self, x: Source, place: str = "whole",
                full: bool = False) -> tuple[bool, Expr] | None:
        """(is it full?, the expression) of a node's operand; None where it cannot be one.
        `full`: it may be."""
        if isinstance(x, Ref) and self.uses.root[x] in self.known:
            return self.seen(x, place)
        key: tuple[Any, ...]
        if isinstance(x, Ref):
            a, dtype = (spread(self.arrays[x], self.shape, self.axes,
                               place), NAMES.get(self.arrays[x].dtype.name))
            kind = ("full" if self.outer and full and a.shape[-1] > 1
                    and a.strides[-1] == a.itemsize else kind_of(a, self.axes))
            key = x, place, kind
        else:
            kind, dtype, key = "scalar", NAMES.get(x.dtype.name), (x.dtype.str, x.tobytes())
        if dtype is None or kind == "scalar" and dtype not in NUMBERS:
            return None
        return kind in ("full", "col"), self.number(key, x, dtype, kind, place)

    def number(self, key: object, x: Source | None, dtype: str, kind: str,
               place: str = "whole") -> Expr:
        """The argument of an operand of the program."""
        if key not in self.numbered:
            self.numbered[key] = S.arg(len(self.operands))
            self.types[len(self.operands)] = dtype
            self.ins.append(x)
            self.operands.append(R.Operand(dtype, kind))
            self.places.append(place)
        return self.numbered[key]

    def seen(self, x: Ref, place: str) -> tuple[bool, Expr] | None:
        """What the group made, as it is or through a view; None where the view moves elements."""
        base = self.uses.root[x]
        full, e = self.known[base]
        a, b = spread(self.arrays[x], self.shape, self.axes, place), self.arrays[base]
        if not full:
            if kind_of(a, self.axes) != "row":
                return None
            a = one_each(a, self.axes)
        shape = self.shape if full else self.kept
        if (not b.flags.c_contiguous or b.size != prod(shape)
                or a.__array_interface__["data"][0] != b.__array_interface__["data"][0]):
            return None
        natural = b.reshape(shape).strides
        if any(n > 1 and s != t for n, s, t in zip(shape, a.strides, natural, strict=True)):
            return None
        return full, e

    # ---- nodes
    def pointwise(self, node: Node) -> bool:
        if not isinstance(node, Fused):
            node = fuse_pointwise.alone(node, self.arrays)
        shape = self.arrays[node.outs[0]].shape
        by: dict[int, Expr] = {}
        place = "whole" if shape in (self.shape, self.kept) else "plain"
        for k, x in enumerate(node.ins):
            got = self.operand(x, place, shape == self.shape)
            if got is None or got[0] and shape != self.shape:
                return False
            by[k] = got[1]
        for o, e in zip(node.outs, node.exprs, strict=True):
            e, stored = S.substitute(e, by), NAMES[self.arrays[o].dtype.name]
            self.known[o] = (shape == self.shape,
                             e if S.typeof(e, self.types) == stored else S.cast(e, stored))
        return True

    def program_of(self, node: OpNode) -> bool:
        """A node that is a program itself: its stages."""
        found = _program(node, self.arrays)
        assert found is not None             # it is a row program, as `_start` saw
        program, given, _ = found
        by: dict[int, Expr] = {}
        values: list[tuple[bool, Expr]] = []
        for k, (o, x) in enumerate(zip(program.operands, given, strict=True)):
            got: tuple[bool, Expr] | None
            if o.kind == "index":
                got = True, self.number("index", None, o.dtype, "index")
            elif o.kind == "scalar":
                got = self.operand(np.asarray(x, {"f32": "f4", "f64": "f8", "i64": "i8"}[o.dtype]))
            elif type(x) is not np.ndarray:
                return False
            else:
                got = self.operand(
                    node.ins[k],
                    "axes" if o.kind == "col" else
                    "plain" if o.kind == "row" and x.ndim < len(self.shape) else "whole")
            if got is None or o.kind == "row" and got[0] or S.typeof(got[1], self.types) != o.dtype:
                return False
            by[k] = got[1]
        for s, at in zip(program.stages, program.results, strict=True):
            e = S.substitute(s.expr, by)
            if isinstance(s, R.Reduce):
                if (s.kind, e) not in self.reduced:          # each is done once
                    t = S.typeof(e, self.types)
                    self.reduced[s.kind, e] = self.stage(R.Reduce, (s.kind, e), t,
                                                         *["i64"] * (s.kind in R.INDEXED))
                by.update((at + j, x) for j, x in enumerate(self.reduced[s.kind, e]))
            elif isinstance(s, R.Keep):
                by[at] = e
            else:
                values.append((isinstance(s, R.Store), e))
        self.known.update(zip(node.outs, values, strict=True))
        return True

    def stage(self, what: type[Any], parts: tuple[Any, ...], *types: str) -> list[Expr]:
        """Add a stage; the arguments that it defines."""
        made = [S.arg(STAGE + len(self.types) + j) for j in range(len(types))]
        self.types.update((e.value, t) for e, t in zip(made, types, strict=True))
        self.stages.append((what, parts, made))
        return made

    # ---- the whole
    def keep(self) -> None:
        """Keep the costly values that more than one walk needs."""
        values = [
            e for full, e in self.known.values()
            if full and any(x.op in R.HEAVY for x in S.walk(e))]
        while values:
            e, walks = values.pop(0), {}
            ready: dict[int, int] = {}
            if e.op == "arg":
                continue
            for k, (what, parts, made) in enumerate(self.stages):
                at = max((ready.get(i, 0) for i in S.uses(parts[-1])), default=0)
                ready.update((x.value, at + (what is R.Reduce)) for x in made)
                if what is not R.StoreRow and any(x is e for x in S.walk(parts[-1])):
                    walks[k] = at
            if len(set(walks.values())) < 2:
                continue
            first = min(walks)
            kept, = self.stage(R.Keep, (e,), S.typeof(e, self.types))
            self.stages.insert(first, self.stages.pop())
            self.stages[first + 1:] = [
                (w, (*p[:-1], S.replace(p[-1], e, kept)), m) for w, p, m in self.stages[first + 1:]]
            values = [S.replace(v, e, kept) for v in values]

    def finished(self) -> Program:
        """The program, its arguments numbered in order."""
        new, n = {}, len(self.operands)
        for _, _, made in self.stages:
            for x in made:
                new[x.value] = S.arg(n)
                n += 1
        stages = tuple(
            what(*parts[:-1], S.substitute(parts[-1], new)) for what, parts, _ in self.stages)
        return R.made("rows", tuple(self.operands), stages)
