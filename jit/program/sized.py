"""The program of one list of nodes for all sizes that go the same way: planned once on Extents, evaluated for each.

The nodes and the passes' decisions are those of a program for certain sizes (`like`). Which sizes differ is seen from the types of a second
program of the same nodes. The code that plans launches is run on outlines (see `ir/outline.py`) whose sizes are Extents: what it comes to is
a list of launches in which each word is a number or an expression, and what must be so of sizes for the list to be theirs.

Memory is laid out as a function of sizes, too: pieces of the arena that never live at once share a row of it, as long as the largest.
"""
import dataclasses
import math

import numpy as np
from whet.cpu import guard, memory
from whet.cpu.pointwise import move
from whet.cpu.taped_launches import Tape
from whet.ir.extent import Extent, Facts, Unsized, at_least, value
from whet.ir.graph import Ref
from whet.ir.outline import Outline, Room, Table, broadcast_to
from whet.ops.registry import MoveOp
from whet.passes import chain_products
from whet.passes.lower_llvm.scalar import Unsupported
from whet.passes.uses import is_view, written

from .arena import ALIGN
from .launch_entries import Fixed, InArena, Launch, Places
from .launch_lists import ARENA, MOST_ARRAYS
from .liveness import Roots
from .node_kinds import KINDS, members
from .sized_places import Row, SizedPlaces, SizedSteady, SizedTapes

UNIFORM = frozenset(("zeros", "full"))
# The nodes of a list are those that Python came to. What Python asks of sizes on the way to these ops is which are equal, 0 or 1, and what is
# contiguous, all of which a call's key and its symbols have in common with the recording; elsewhere it may ask how large they are.
FAMILIES = frozenset(("pointwise", "reduce", "rows", "contract"))
KNOWN = UNIFORM | frozenset("constant view reshape expand unsqueeze squeeze permute transpose slice unslice split cat stack index "
                            "index_select index_add copy fill clone detach masked_fill".split())
SIZES = frozenset(("size",))     # attributes that may be sizes


class Sizes:
    """Which sizes differ between the types of two lists: a symbol for each, with its two values."""

    def __init__(self, before, now):
        """`before`, `now`: sizes of what the calls are given, in one order."""
        pairs = dict.fromkeys((a, b) for a, b in zip(before, now, strict=True) if a != b)
        self.pairs = list(pairs)
        self.known = {p: i for i, p in enumerate(self.pairs)}

    def __len__(self):
        return len(self.pairs)


class SizedProgram:
    """The planning, for sizes like `values`. `other`: the program of the second sizes; `steady`: see `builder.build`. Raises Unsized where
    something is no function of sizes. Kinds of nodes use it as they use a `ProgramBuilder`."""
    draws = None

    def __init__(self, like, other, sizes, values, steady):
        made = {*like.outside, *like.fresh, *like.shown}
        if like.called or like.rewritten is not None or like.draws is not None or guard.SIDE or not made.issuperset(like.results):
            raise Unsized("it has steps that Python does")
        self.like, self.other, self.sizes = like, other, sizes
        self.facts, self.samples = Facts(values), list(zip(*sizes.pairs, strict=True))
        self.outside, self.results, self.nodes = like.outside, like.results, like.nodes
        self.roots = Roots(like.recorded, like.outside, like.results)
        written = {self.roots[n.ins[0]] for n in like.recorded if n.kind == "write"} & set(self.outside)
        self.keep, self.constants, self.entries = [], set(), []
        self.arrays = self.types()
        self.places = SizedPlaces(self.arrays, self.roots)
        self.held = self.places.held
        self.steady = SizedSteady({n: t for n, t in steady.items() if n not in written}, (), written, self.roots, self.arrays)
        self.tapes = SizedTapes(self.arrays, self.places)
        self.tapes.stopped = like.stopped
        self.take = self.tapes.take
        self.plan()

    # ---- sizes -------------------------------------------------------------------------------------------------------
    def symbol(self, a, b):
        """The size of something that is given: a number, or a symbol."""
        return a if a == b else self.facts.symbols[self.sizes.known[a, b]]

    def types(self):
        """An outline of each value."""
        like, other, made = self.like, self.other, {}
        for n in self.outside:
            a, b = like.arrays[n], other.arrays[n]
            shape = [self.symbol(x, y) for x, y in zip(a.shape, b.shape, strict=True)]
            plain = Outline(shape, a.dtype)
            if a.contiguous and b.contiguous:
                made[n] = plain
            elif a.strides != b.strides:
                raise Unsized("what it is given has gaps that differ")
            else:
                made[n] = Outline(shape, a.dtype, a.strides)
        others = {id(n): m for n, m in zip(like.recorded, other.recorded, strict=True)}
        for node in like.recorded:
            if node.op is not None and node.op.family not in FAMILIES and node.op.name not in KNOWN:
                raise Unsized(f"{node.op.name} may go by how large sizes are")
            self.infer(node, others[id(node)], made)
        for node in self.nodes:
            for m in node.flat():
                if any(o not in made for o in m.outs):
                    self.infer(m, m, made)
        for n, a in made.items():
            if like.arrays[n].dtype != a.dtype or any(self.at(a.shape, k) != p.arrays[n].shape for k, p in enumerate((like, other))):
                raise Unsized("an op makes other sizes than it made")
        return made

    def infer(self, node, other, made):
        """What a node makes."""
        if node.kind not in ("op", "draw") or not node.outs:
            return
        ins = [made[x] if type(x) is Ref else self.same(x, y) for x, y in zip(node.ins, other.ins)]
        attrs = self.attributes(node, other, ins)
        if not self.whole(node, ins):
            raise Unsized("a part of a tensor is not there")
        if not node.ins:
            out = self.created(node, attrs)
        elif isinstance(node.op, MoveOp):
            out = Outline(node.op.shape(*ins, **attrs), ins[0].dtype)
        elif node.op.write is not None:      # (a copy of the first operand, changed)
            out = Outline(ins[0].shape, ins[0].dtype)
        else:
            out = self.dry(lambda: node.op.forward(*ins, **attrs))
        made.update(zip(node.outs, out if type(out) is tuple else (out,), strict=True))

    def created(self, node, attrs):
        """What an op without operands makes."""
        o = node.outs[0]
        a, b = self.like.arrays[o], self.other.arrays[o]
        if a.shape == b.shape:
            return Outline(a.shape, a.dtype, a.strides)
        if node.op.name not in UNIFORM:
            raise Unsized(f"{node.op.name} makes numbers that go by sizes")
        return Outline([x if x == y else self.natural(x, y, ()) for x, y in zip(a.shape, b.shape, strict=True)], a.dtype)

    def dry(self, run):
        """Run something on outlines without launching anything."""
        made = []
        try:
            Tape(dry=True).listen(lambda: made.append(run()))
        except (IndexError, RuntimeError, ValueError, TypeError, AttributeError, Unsupported) as e:
            raise Unsized(f"an op refuses outlines: {e!r}") from None
        return made[0]

    def same(self, x, y):
        """A number among the operands."""
        if type(x) is type(y) and (x is y or repr(x) == repr(y)):
            return x
        raise Unsized("a number that goes by sizes is an operand")

    def attributes(self, node, other, ins):
        """The attributes of a node, with Extents where they differ between the two lists."""
        if node is other:
            return node.attrs
        return {k: self.attribute(v, other.attrs[k], ins if k in SIZES else None) for k, v in node.attrs.items()}

    @staticmethod
    def whole(node, ins):
        """Does a view of parts find all of them? (Else eager mode raises an error, or takes fewer.)"""
        if node.op.name == "split":
            return sum(node.attrs["sizes"]) == ins[0].shape[node.attrs["dim"]]
        if node.op.name != "slice":
            return True
        dims = iter(ins[0].shape)
        for x in node.attrs["index"]:
            n = None if x is None else next(dims)
            ends = [k for k in x[:2] if k is not None] if type(x) is tuple else [] if x is None else [x + 1]
            if not all(k <= n for k in ends):
                return False
        return True

    def attribute(self, x, y, ins):
        if type(x) is not type(y):
            raise Unsized("an attribute is of another kind")
        if type(x) in (tuple, list) and len(x) == len(y):
            return type(x)([self.attribute(a, b, ins) for a, b in zip(x, y, strict=True)])
        if type(x) is int and x != y and ins is not None:
            return self.natural(x, y, ins)
        if type(x) is np.ndarray:
            if x.shape != y.shape or x.tobytes() != y.tobytes():
                raise Unsized("a constant goes by sizes")
            return x
        if x is not y and x != y:
            raise Unsized("an attribute goes by sizes")
        return x

    def natural(self, x, y, ins):
        """The size, or the product of sizes that follow each other, of the operands (or a symbol) that is `x` of the first sizes and `y` of the
        second; Unsized where there is none, or several."""
        found = {}
        for shape in ([a.shape for a in ins if type(a) is Outline] or [self.facts.symbols]):
            for i in range(len(shape)):
                n = 1
                for k in range(i, len(shape)):
                    n = n * shape[k]
                    if type(n) is Extent and (*self.at([n], 0), *self.at([n], 1)) == (x, y):
                        found[n.text()] = n
        if len(found) != 1:
            raise Unsized(f"an attribute goes by sizes in {len(found)} ways")
        return next(iter(found.values()))

    def at(self, shape, k):
        """Sizes as they were in one of the two lists."""
        names = {"floor": math.floor, **self.facts.functions, **{f"s{i}": v for i, v in enumerate(self.samples[k])}}
        return tuple([eval(n.text(), names) if type(n) is Extent else n for n in shape])

    # ---- launches ----------------------------------------------------------------------------------------------------
    def plan(self):
        """Plan all nodes."""
        if chain_products.wanted(self.nodes, self.arrays):
            raise Unsized("so much lies between products that they take rows in turn")
        for n in self.outside:
            self.held[n] = self.places.moved(n)
        changed = {self.roots[x] for n in self.nodes for x in written(n)}
        others = {id(n): m for n, m in zip(self.like.nodes, self.other.nodes, strict=True)}
        todo = list(self.nodes)[::-1]
        while todo:
            node = todo.pop()
            node = self.resized(node, others.get(id(node), node))
            if node.kind == "op" and not node.ins and not node.op.random and not sized_type(self.arrays[node.outs[0]]) \
                    and self.roots[node.outs[0]] not in changed and node.outs[0] not in self.roots.position:
                a = node.op.forward(**node.attrs)
                self.held[node.outs[0]] = Outline(a.shape, a.dtype, a.strides, Room(a.nbytes, a))
                self.constants.add(node.outs[0])
                continue
            if is_view(node):
                self.view(node)
                continue
            self.tapes.begin()
            entries = self.launches(node)
            if entries is None:
                if not KINDS[node.kind].splits(True) or node.kind in ("fused", "roll"):
                    raise Unsized(f"{node.kind if node.op is None else node.op.name} is no launch")
                todo += members(node)[::-1]
                continue
            self.entries.append(entries)
        self.lay()

    def launches(self, node):
        """The entries of a node's launches, or None."""
        if node.kind in ("chain", "parts", "picks", "roll"):
            return None
        if node.kind == "op" and not node.ins and node.op.name in UNIFORM:
            out = self.places.memory(node.outs[0])
            x = np.full((), node.attrs.get("value", 0), out.dtype)
            return self.take(lambda: move(out, broadcast_to(x, out.shape)), [out, x])
        return KINDS[node.kind].launches(self, node)

    def view(self, node):
        """Views of what is held."""
        made = self.dry(lambda: node.op.forward(self.held[node.ins[0]], *node.ins[1:], **node.attrs))
        self.held.update(zip(node.outs, made if type(made) is tuple else (made,)))

    def as_indices(self, xs):
        """(There are no elements.)"""

    def resized(self, node, other):
        """A node with its attributes, and what its group knows of sizes, as Extents."""
        if node.kind == "rows":
            work = node.roots
            shape = tuple([n if n == m else self.natural(n, m, [self.arrays[x] for x in (*node.refs(), *node.outs)])
                           for n, m in zip(work.shape, other.roots.shape, strict=True)])
            made = node.like()
            made.work = dataclasses.replace(work, shape=shape)
            made.ins = tuple([x if type(x) is Ref else self.number(x, y, shape) for x, y in zip(node.ins, other.ins, strict=True)])
            return made
        if node.kind in ("op", "write") and node is not other and node.attrs:
            attrs = self.attributes(node, other, [self.arrays[x] for x in node.refs()])
            made = node.like()
            made.attrs = attrs
            return made
        if any(type(x) is not Ref and not (x is y or same_number(x, y)) for x, y in zip(node.ins, other.ins)):
            raise Unsized("a number that goes by sizes is an operand")
        return node

    def number(self, x, y, shape):
        """A number that a row program is given: how many elements there are, perhaps."""
        if same_number(x, y):
            return x
        n = self.natural(int(x), int(y), [Outline(shape, np.float32)]) if float(x) == int(x) and float(y) == int(y) else None
        if n is None:
            raise Unsized("a number goes by sizes")
        return Count(n)

    # ---- the list ----------------------------------------------------------------------------------------------------
    def lay(self):
        """Make one list of all launches: places of the arrays that move, rows of the arena, tables behind the launches."""
        entries = [e for step in self.entries for e in step]
        places = {}
        for e in entries:
            for p in e.positions():
                places.setdefault(p, len(places))
        if len(places) > MOST_ARRAYS:
            raise Unsized("too many arrays")
        pieces = self.lives()
        self.arena = self.pack(pieces)
        words = [w for e in entries for w in e.words(Places(places, len(places)))]
        self.keep += [a.array for e in entries for a in e.arguments() if type(a) is Fixed]
        self.count = len(words)
        self.tables = []                     # places of words that are addresses in the list itself
        for i in range(self.count):
            if type(words[i]) is Table:
                self.tables.append(i)
                table, words[i] = words[i], 8 * len(words)
                words += table
        self.list, self.values = words, [*(self.roots.moving[i] for i in places), *([ARENA] if pieces else [])]
        self.work = [x for e in entries if type(e) is Launch for x in (e.total, e.grain)]
        self.number = sum(e.launches for e in entries)

    def lives(self):
        """The pieces of the arena, in the order of the steps that touch them first."""
        pieces = {}
        for i, step in enumerate(self.entries):
            for p in [a.piece for e in step for a in e.arguments() if type(a) is InArena]:
                pieces[id(p)] = p
                p.first = i if p.first is None else p.first
                p.last = i
        return list(pieces.values())

    def pack(self, pieces):
        """Give each piece its row; the size of the arena."""
        rows, at = [], 0
        for p in pieces:
            room = -(-value(p.size) // ALIGN)
            free = [r for r in rows if r.last < p.first]
            row = min(free, key=lambda r: abs(value(r.size) // ALIGN - room), default=None)
            if row is None:
                row = Row()
                rows.append(row)
            row.last, row.size, p.row = p.last, at_least(p.size, row.size), row
        for row in rows:
            row.at = at
            at = at + -(-row.size // ALIGN) * ALIGN
        return at_least(at, memory.SMALLEST) if rows else 0


class Count:
    """A number of elements, as a number for a row program."""

    def __init__(self, n):
        self.n = n

    dtype, ndim, shape = np.dtype(np.float32), 0, ()

    def item(self):
        """The number."""
        return 1.0 * self.n


def sized_type(a):
    """Has a value sizes that differ?"""
    return any(type(n) is Extent for n in (*a.shape, *a.strides))


def same_number(x, y):
    """Are two numbers among operands one, to the bit?"""
    if isinstance(x, np.ndarray | np.generic):
        return x.dtype == y.dtype and x.tobytes() == y.tobytes()
    return type(x) is type(y) and repr(x) == repr(y)
