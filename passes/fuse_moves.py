"""Fuses moves of elements: joins, pads, rolls and flips are not copied, but become index arithmetic
in the pointwise kernel that reads them.

    %2 = neg(%0)
    %3 = cat(%2, %1, dim=0)                       ->      %5 = parts(%0, %1, %4){neg; cat; mul}
    %5 = mul(%3, %4)

An op that only moves elements is a list of copies to parts of its result (`Op.moves`). A group has
such ops of one shape, the pointwise kernels that compute what they move and nothing else reads
("sources"), and the kernel that reads what they made. It is computed part by part: in each part
every moved value is one source, or a number, so there the group is one pointwise kernel on views.
Each element is computed once, by the expressions that the nodes compute, in the same types: no bit
changes. What others want of the moved values is stored as well.

A group stands where the last of its nodes was: nothing may want one before, nor write to what it
reads.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from math import prod
from typing import NamedTuple, TypeAlias, TypeGuard

import numpy as np
from whet.ir import scalar as S
from whet.ir.expressions import Expr
from whet.ir.graph import Fused, Node, OpNode, Part, Parts, Ref
from whet.ir.groups import View
from whet.ir.memory_spans import address, in_turns
from whet.ir.row_layout import Shape
from whet.ir.values import Array
from whet.passes import fuse_pointwise
from whet.passes.index_boxes import CELLS, Box, box_of, boxes_of, elements, run_of
from whet.passes.listing import Arrays, Listing
from whet.passes.lower_llvm.elements.pointwise import work
from whet.passes.row_builder import NAMES
from whet.passes.value_uses import Uses

MOST = 40                        # operands and results of a kernel
MOST_PARTS = 16                  # parts with a kernel each
# Of more parts than that, those with less than one in so many elements share a kernel. It walks any
# memory, slowly.
LARGE = 32
CHEAP = 4                        # instructions that each move may compute once more for itself
RUN = 16                         # a part with fewer elements side by side is walked slowly
SLOW = 8                         # at most one in so many elements may be in such parts
SMALL = 1 << 14  # elements of which launches cost more than passing through memory once more
HALVES = ("f16", "bf16")
Key: TypeAlias = int | tuple[str, bytes]  # of an operand: a value, or a number by its type and bits
Seen: TypeAlias = tuple[Array | Ref, Array | None]  # an operand, and the view of it that is read


class Copy(NamedTuple):
    """One of the copies that a move is."""
    box: Box                     # where it goes
    # what computes its elements, over the operands; None where the one operand is read as it is
    root: Expr | None
    operands: list[Seen]         # as views of the box's shape


class Leaf(NamedTuple):
    """A moved value in one part of a group."""
    copy: Copy                   # the copy that has the part
    # the only copy of the move that is computed, where all others are of numbers
    only_computed: Copy | None


def fuse_moves(g: Listing) -> Listing:
    """The list with groups of moves and pointwise nodes fused into "parts" nodes. A fused node's
    `value` are the nodes that it was made of, its `roots` the `Part`s."""
    nodes = g.nodes
    if not any(moves(node) for node in nodes):
        return g
    search = GroupSearch(g)
    groups: dict[int, Node] = {}             # the place of a group's last node -> its node
    for may_begin in (search.computes, search.moves):
        for i in range(len(nodes)):
            if i in search.taken or not may_begin(i):
                continue
            for at in search.around(i):
                outs = wanted(at, search.uses, g.visible)
                made = joined([nodes[k] for k in at], g.arrays, outs)
                if isinstance(made, Parts):
                    groups[at[-1]] = made
                    search.taken.update(at)
                    break
    return g.of([
        groups.get(i, node) for i, node in enumerate(nodes)
        if i in groups or i not in search.taken])


def moves(node: Node) -> TypeGuard[OpNode]:
    """Does a node only copy elements of its operands, or numbers, into parts of its result?"""
    return (
        isinstance(node, OpNode)
        and node.op.moves is not None
        and node.op.write is None
        and node.op.write_by_kernels is None
        and not node.op.is_view
        and not node.op.may_fail
    )


def moving(node: Node, arrays: Arrays) -> TypeGuard[OpNode]:
    """Does a node only move elements, and may it be in a group?"""
    if not moves(node):
        return False
    a = arrays[node.outs[0]]
    return (
        bool(a.size and a.ndim)
        and a.flags.c_contiguous
        and NAMES.get(a.dtype.name) is not None
        and all(type(x) is Ref and arrays[x].dtype == a.dtype for x in node.ins)
    )


def computing(node: Node, arrays: Arrays) -> bool:
    """Is a node a pointwise kernel of real numbers whose results are row-major?"""
    if not fuse_pointwise.is_real(node, arrays):
        return False
    if isinstance(node, Fused):
        return "into" not in node.attrs and all(arrays[o].flags.c_contiguous for o in node.outs)
    return fuse_pointwise.fusible(node, arrays)


def cheap(node: Fused, arrays: Arrays) -> bool:
    """Does it take less time to compute a kernel's result again than to store and load it?"""
    return (
        work(node.exprs) <= CHEAP
        and sum(type(x) is Ref and arrays[x].ndim > 0 for x in node.ins) <= 2
    )


def kernel(node: Node, arrays: Arrays) -> Fused:
    """Such a node as a fused one."""
    return node if isinstance(node, Fused) else fuse_pointwise.alone(node, arrays)


class GroupSearch:
    """Looks for groups in a list. A group is given as the places of its nodes. `taken`: the places
    of nodes that are in a group already."""

    def __init__(self, g: Listing) -> None:
        self.nodes, self.arrays, self.visible = g.nodes, g.arrays, g.visible
        self.uses = Uses(g.nodes, g.root, views=True)
        self.taken: set[int] = set()

    def shape(self, k: int) -> Shape:
        """The shape of what node k makes."""
        shape: Shape = self.arrays[self.nodes[k].outs[0]].shape
        return shape

    def moves(self, k: int) -> bool:
        """Does node k move elements, so that it may be in a group?"""
        return moving(self.nodes[k], self.arrays)

    def computes(self, k: int) -> bool:
        """Is node k a kernel that may be in a group?"""
        return computing(self.nodes[k], self.arrays)

    def around(self, i: int) -> Iterator[list[int]]:
        """The groups around node i, the best one first."""
        for may_repeat in (True, False):
            at = self.with_moves_of(i, may_repeat)
            if at:
                grown = self.grown(at, may_repeat)
                if len(grown) > len(at):
                    yield grown
                yield at

    def with_moves_of(self, i: int, may_repeat: bool) -> list[int] | None:
        """A group around node i: the moves that it reads (or itself), the kernels whose results
        only these moves read, and the other readers of the moves. `may_repeat`: a cheap kernel may
        be computed again for each of several moves."""
        movers = self.moves_for(i)
        # A stack may have tens of thousands of parts, each of which would be searched for.
        if any(len(self.nodes[k].ins) > MOST_PARTS for k in movers):
            return None
        while True:
            stay = [k for k in movers if self.can_wait([k], {i, *movers})]
            if len(stay) == len(movers):
                break
            movers = stay
        at = {i, *movers}
        if i not in movers:
            at = self.with_readers(at, movers)
        readers = len(at) - len(movers)
        self.add_makers(at, movers, may_repeat)
        return sorted(at) if movers and len(at) > 1 and (readers or i in movers) else None

    def grown(self, at: Sequence[int], may_repeat: bool) -> list[int]:
        """A group, extended by kernels that go on from its results and by the moves that these
        read. In the list a sum of many moves is as many kernels, each after its move."""
        group = set(at)
        movers = [k for k in at if self.moves(k)]
        shape = self.shape(movers[0])
        while True:
            after = {u for k in group if k not in movers for o in self.nodes[k].outs
                     for u in self.uses.users.get(o, ()) if u not in group}
            if len(after) != 1:
                return sorted(group)
            u, = after
            if u in self.taken or not self.computes(u) or self.shape(u) != shape:
                return sorted(group)
            more = [k for k in self.moves_for(u) if k not in group]
            larger = {*group, u, *more}
            if not more or not self.can_wait(larger, larger):
                return sorted(group)
            movers += more
            self.add_makers(larger, movers, may_repeat)
            group = larger

    def moves_for(self, i: int) -> list[int]:
        """Node i itself if it moves elements, or else the moves that it reads and that have its
        shape."""
        if self.moves(i):
            movers = [i]
        else:
            shape = self.shape(i)
            makers = map(self.uses.maker.get, self.nodes[i].refs())
            movers = sorted({
                k for k in makers if k is not None and k not in self.taken
                and self.moves(k) and self.shape(k) == shape})
        moved = {x for k in movers for x in self.nodes[k].refs()}
        # What is moved twice is made first.
        return [k for k in movers if self.nodes[k].outs[0] not in moved]

    def can_wait(self, which: Iterable[int], together: set[int]) -> bool:
        """May these nodes be done at the place of the last of those `together`?"""
        last = max(together)
        return all(self.uses.later(k, last) and not self.uses.needed(k, last, together)
                   for k in which)

    def with_readers(self, at: set[int], movers: Sequence[int]) -> set[int]:
        """A group with the other readers of its moves, as far as all of it can be done in one
        place."""
        shape = self.shape(movers[0]) if movers else ()
        others = {u for k in movers for u in self.uses.users.get(self.nodes[k].outs[0], ())
                  if u not in at and u not in self.taken}
        for u in sorted(others):
            more = {*at, u}
            if (self.computes(u) and self.shape(u) == shape
                    and self.can_wait(more, more)):
                at = more
        return at

    def add_makers(self, at: set[int], movers: Sequence[int], may_repeat: bool) -> None:
        """Add to a group the kernels whose results only its moves read."""
        last, group = max(at), set(movers)
        for k in movers:
            for x in dict.fromkeys(self.nodes[k].refs()):
                p = self.uses.maker.get(x)
                if p is None or p in self.taken or p in at or self.nodes[k].ins.count(x) > 1:
                    continue
                if not self.computes(p) or not self.uses.later(p, last):
                    continue
                readers = self.moves_that_read(p, x, group)
                if readers == 1 or readers and may_repeat and self.is_cheap(p):
                    at.add(p)

    def moves_that_read(self, p: int, x: Ref, movers: Set[int]) -> int:
        """How often node p would be computed for the moves that read it. Moves that interleave
        their operands are one kernel, in which each counts once. 0 where another node reads the
        results, or they are seen from outside. `x`: the result of p that is asked about."""
        outs = self.nodes[p].outs
        if any(self.uses.root[o] != o or o in self.visible for o in outs):
            return 0
        users = [u for o in outs for u in self.uses.users.get(o, (-1,))]
        alone = all(u in movers and self.nodes[u].ins.count(x) < 2 for u in users)
        if not alone:
            return 0
        apart = {*users}
        return len(apart) if all(map(self.puts_in_turns, apart)) else len(users)

    def puts_in_turns(self, k: int) -> bool:
        """Does node k interleave its operands?"""
        node = self.nodes[k]
        assert isinstance(node, OpNode) and node.op.moves is not None
        own = [np.empty(self.arrays[x].shape, self.arrays[x].dtype) for x in node.refs()]
        out = np.empty(self.shape(k), self.arrays[node.outs[0]].dtype)
        return in_turns([part for part, _ in node.op.moves(out, *own, **node.attrs)])

    def is_cheap(self, p: int) -> bool:
        """Does it take less time to compute node p again than to store and load its result?"""
        return cheap(kernel(self.nodes[p], self.arrays), self.arrays)


def wanted(at: Sequence[int], uses: Uses, visible: Set[int]) -> list[int]:
    """The results of the nodes at these places that other nodes read, or that are seen from
    outside."""
    inside = set(at)
    return [
        o
        for k in at
        for o in uses.nodes[k].outs
        if o in visible or any(u not in inside for u in uses.users.get(o, ()))
    ]


def joined(members: Sequence[Node], arrays: Arrays, outs: Sequence[int]) -> str | Parts:
    """The node of a group that makes `outs`, or the reason why there is none, as text."""
    movers = [m for m in members if moving(m, arrays)]
    if any(len(m.ins) > MOST_PARTS for m in movers):
        return f"it would be more than {MOST_PARTS} parts"
    shape = arrays[movers[0].outs[0]].shape
    if any(arrays[o].shape != shape for o in outs):
        return "what is moved is used elsewhere"
    makers = {o: m for m in members for o in m.outs}
    ins: list[Array | Ref] = []
    at: dict[Key, int] = {}
    for m in members:
        for x in (m if moving(m, arrays) else kernel(m, arrays)).ins:
            if type(x) is not Ref or x not in makers:
                operand(x, ins, at)
    found = [c for c in (_copies(m, makers, arrays) for m in movers) if c is not None]
    if len(found) < len(movers):
        return "it moves elements one by one"
    several = sum(map(len, found))
    boxes = boxes_of(shape, [[copy.box for copy in copies] for copies in found])
    if boxes is None:
        return f"it would be more than {CELLS} parts"
    readers = [m for m in members if not moving(m, arrays) and arrays[m.outs[0]].shape == shape
               and _reads(m, movers)]
    if readers:
        slow = _slow(boxes, several, shape)
        if slow is not None:
            return slow
    out: list[Part] = []
    least = prod(shape) / LARGE if len(boxes) > MOST_PARTS else 0
    for box, which in boxes:
        leaves = {
            m.outs[0]: Leaf(copies[k], _only_computed(copies))
            for m, copies, k in zip(movers, found, which, strict=True)
        }
        part = Kernel(at, ins, arrays, box, elements(box) < least).part(leaves, readers, outs)
        if isinstance(part, str):
            return part
        out.append(part)
    if len({(p.roots, None if p.shared else p.box) for p in out}) > MOST_PARTS:
        return f"it would be more than {MOST_PARTS} kernels"
    return Parts(tuple(ins), list(outs), members[-1].line, members, tuple(out))


def _slow(boxes: Sequence[tuple[Box, Sequence[int]]], several: int, shape: Shape) -> str | None:
    """Why kernels for these boxes would be slower than the moves and one kernel; None if they are
    not."""
    total = prod(shape)
    if len(boxes) > several + 1 and total < SMALL:
        return f"it would be {len(boxes)} kernels for few elements"
    short = [b for b, _ in boxes if run_of(b, shape) < RUN and run_of(b, shape) < total]
    if sum(map(elements, short)) * SLOW > total:
        return "parts of it would have too few elements side by side"
    return None


def why(a: OpNode, b: OpNode, arrays: Arrays) -> str | None:
    """The reason why a node and its reader, one of which moves elements, cannot be fused; None if
    nothing about the two prevents it."""
    if moves(a) and moves(b):
        return "what was moved is moved again"
    move, other = (a, b) if moves(a) else (b, a)
    if not moving(move, arrays):
        return f"{move.op.name} makes what no kernel moves"
    if not computing(other, arrays):
        return f"{other.op.name} is no kernel of row-major results"
    if move is a and arrays[a.outs[0]].shape != arrays[b.outs[0]].shape:
        return (
            f"their shapes differ: {list(arrays[a.outs[0]].shape)} and "
            f"{list(arrays[b.outs[0]].shape)}")
    got = joined([a, b], arrays, b.outs)
    return got if type(got) is str else None


def _reads(node: Node, moves: Sequence[Node]) -> bool:
    return any(m.outs[0] in node.refs() for m in moves)


def operand(x: Array | Ref, ins: list[Array | Ref], at: dict[Key, int]) -> int:
    """The place of an operand among `ins`, to which it is added if it is new. `at` has the
    places."""
    key: Key = int(x) if isinstance(x, Ref) else (x.dtype.str, x.tobytes())
    if key not in at:
        at[key] = len(ins)
        ins.append(x)
    return at[key]


# ---- what is moved where -------------------------------------------------------------------------
def _copies(node: OpNode, makers: Mapping[int, Node], arrays: Arrays) -> list[Copy] | None:
    """The copies that a move consists of, in order; None where the destination of one is no box.
    `makers`: the nodes of the group, by what they make."""
    out = np.empty(arrays[node.outs[0]].shape, arrays[node.outs[0]].dtype)
    own = [np.empty(arrays[x].shape, out.dtype) for x in node.ins]  # apart from each other
    move = node.op.moves
    assert move is not None
    found: list[Copy] = []
    for j, (part, x) in enumerate(move(out, *own, **node.attrs)):
        if not part.size:
            continue
        got = box_of(out, part)
        if got is None:
            return None
        box, kept = got
        if type(x) in (bool, int, float):
            found.append(Copy(box, None, [(np.asarray(x, out.dtype), None)]))
            continue
        i = next(
            (i for i, a in enumerate(own) if type(x) is np.ndarray and np.may_share_memory(x, a)),
            None,
        )
        if i is None:
            return None

        def view(a: Array, i: int = i, j: int = j, part: Array = part,
                 kept: Sequence[bool] = kept) -> Array:
            """An array of the source's shape, moved as the source is."""
            x = move(out, *[a if k == i else b for k, b in enumerate(own)], **node.attrs)[j][1]
            return np.broadcast_to(x, part.shape)[tuple([slice(None) if k else None for k in kept])]
        ref = node.ins[i]
        maker = makers.get(ref)
        if maker is None:
            found.append(Copy(box, None, [(ref, view(arrays[ref]))]))
        else:
            root, operands = _computed(kernel(maker, arrays), ref, own[i].shape, view, arrays)
            found.append(Copy(box, root, operands))
    return found


def _computed(maker: Fused, ref: Ref, shape: Shape, view: Callable[[Array], Array],
              arrays: Arrays) -> tuple[Expr, list[Seen]]:
    """The expression of a value that a kernel makes, and the kernel's operands, each moved by
    `view` as the value is."""
    operands: list[Seen] = []
    for y in maker.ins:
        a = arrays[y] if type(y) is Ref else y
        operands.append((y, view(np.broadcast_to(a, shape)) if a.ndim else None))
    return maker.exprs[maker.outs.index(ref)], operands


def _only_computed(copies: Sequence[Copy]) -> Copy | None:
    """The only copy of a move whose source is computed, where all others put numbers; else None."""
    computed = [copy for copy in copies if copy.root is not None]
    numbers = all(type(copy.operands[0][0]) is not Ref for copy in copies if copy.root is None)
    return computed[0] if len(computed) == 1 and numbers else None


# ---- the kernel of a part ------------------------------------------------------------------------
class Kernel:
    """The making of one part. `at`: where each operand stands among those of the node. Where the
    kernel is shared with other parts, each use of an operand is an argument of its own, as it may
    not be the same one there."""

    def __init__(self, at: dict[Key, int], ins: list[Array | Ref], arrays: Arrays,
                 box: Box, shared: bool = False) -> None:
        self.at, self.ins, self.arrays, self.box, self.shared = at, ins, arrays, box, shared
        # operand, as it is seen -> its argument
        self.known: dict[tuple[int, View | None], Expr] = {}
        self.operands: list[tuple[int, View | None]] = []       # the arguments
        self.types: list[str] = []

    def part(self, leaves: dict[int, Leaf], readers: Sequence[Node],
             outs: Sequence[int]) -> str | Part:
        """The part, or the reason why there is none, as text. `leaves`: by the values that are
        moved."""
        known: dict[int, Expr] = {}
        for x, leaf in leaves.items():
            value = self.moved(x, leaf)
            if value is None:
                return "an operand has a type that no kernel reads"
            known[x] = value
        if not all([self.add(m, known) for m in readers]):
            return "an operand has a type that no kernel reads"
        roots = tuple([known[o] for o in outs])
        if len(self.types) + len(roots) > MOST:
            return f"a kernel would have more than {MOST} operands"
        if any(e.op == "arg" and self.types[e.value] in HALVES for e in roots):
            # It computes in float32, which makes signalling NaNs quiet.
            return "a kernel would not keep the bits of what it moves"
        return Part(self.box, roots, tuple(self.operands), self.shared)

    def moved(self, x: int, leaf: Leaf) -> Expr | None:
        """The expression of a moved value in this part; None where an operand has a type that no
        kernel reads."""
        inner = tuple([
            slice((a - c) // t, (b - 1 - c) // t + 1, max(s // t, 1))
            for (a, b, s), (c, _, t) in zip(self.box, leaf.copy.box)])
        args = self.arguments(
            [(y, None if view is None else view[inner]) for y, view in leaf.copy.operands])
        if args is None:
            return None
        root = leaf.copy.root
        value = self.stored(
            args[0] if root is None else S.substitute(root, dict(enumerate(args))), x)
        if leaf.only_computed is None or not self.shared:
            return value
        return self.either(x, root is not None, value, leaf.only_computed)

    def either(self, x: int, computed: bool, value: Expr, elsewhere: Copy) -> Expr:
        """One expression that is a computed value here and a number elsewhere. Where the number is
        meant, the value is computed of arbitrary elements and dropped."""
        here = self.number(np.asarray(computed))
        if computed:
            return S.where(here, value, self.number(np.zeros((), self.arrays[x].dtype)))
        assert elsewhere.root is not None
        ends = [(y, None if view is None else self.first(y)) for y, view in elsewhere.operands]
        args = self.arguments(ends)
        assert args is not None
        other = self.stored(S.substitute(elsewhere.root, dict(enumerate(args))), x)
        return S.where(here, other, value)

    def add(self, node: Node, known: dict[int, Expr]) -> bool:
        """Put the expressions of a kernel on the whole shape into `known`, the values that there
        are; False where it cannot be."""
        one, whole = kernel(node, self.arrays), tuple([slice(*b) for b in self.box])
        args: list[Expr | None] = []
        shape = self.arrays[one.outs[0]].shape
        for x in one.ins:
            if type(x) is Ref and x in known:
                args.append(known[x])
            else:
                turned = type(x) is Ref and self.arrays[x].ndim
                view = np.broadcast_to(self.arrays[x], shape)[whole] if turned else None
                args.append(self.argument(x, view))
        by = {i: e for i, e in enumerate(args) if e is not None}
        if len(by) < len(args):
            return False
        known.update(
            {
                o: self.stored(S.substitute(e, by), o)
                for o, e in zip(one.outs, one.exprs, strict=True)
            }
        )
        return True

    def number(self, x: Array) -> Expr:
        """The argument for a number of a type that kernels read."""
        found = self.argument(x, None)
        assert found is not None
        return found

    def first(self, x: Array | Ref) -> Array:
        """The first element of an operand, as an array of no dimensions."""
        a = self.arrays[x] if isinstance(x, Ref) else x
        return a[(0,) * a.ndim + (...,)]

    def arguments(self, seen: Sequence[Seen]) -> list[Expr] | None:
        """The arguments for some operands; None where one has a type that is none of a kernel's."""
        found = [self.argument(x, view) for x, view in seen]
        args = [e for e in found if e is not None]
        return args if len(args) == len(found) else None

    def argument(self, x: Array | Ref, view: Array | None) -> Expr | None:
        """The kernel's argument for an operand; None for a type that kernels do not have."""
        a = self.arrays[x] if isinstance(x, Ref) else x
        name = NAMES.get(a.dtype.name)
        if name is None:
            return None
        key = (
            operand(x, self.ins, self.at),
            None if view is None else (address(view) - address(a), view.shape, view.strides),
        )
        if self.shared or key not in self.known:
            self.known[key] = S.arg(len(self.types))
            self.operands.append(key)
            self.types.append(name)
        return self.known[key]

    def stored(self, e: Expr, x: int) -> Expr:
        """An expression in the type in which memory would hold it."""
        name = NAMES[self.arrays[x].dtype.name]
        return e if S.typeof(e, self.types) == name else S.cast(e, name)
