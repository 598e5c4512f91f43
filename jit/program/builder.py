"""Building a program of recorded nodes: passes, memory for each value, the launches of each node, one list of words."""
import ctypes as C
import struct

import numpy as np
from whet import tensor_base
from whet.cpu import entries, guard, haste, memory, native
from whet.cpu.pointwise import GRAIN_NS, Pointwise
from whet.cpu.rows import rows
from whet.dtypes import FROM_NUMPY
from whet.ir import scalar as S
from whet.ir import verify
from whet.ir.graph import Graph, Group, Input, Ref, Type
from whet.ir.spans import address, span
from whet.ops.pointwise_family import PointwiseOp
from whet.passes.fuse_epilogues import CONTRACTIONS
from whet.passes.lower_llvm.calls import share_out
from whet.passes.lower_llvm.calls.launch_list import CHECK, RECORD
from whet.passes.lower_llvm.elements import many_tensors
from whet.passes.lower_llvm.elements.pointwise import nanoseconds
from whet.passes.lower_llvm.scalar import Unsupported
from whet.passes.pipeline import planned, rewrite
from whet.passes.uses import is_view, written

from ..capture.refused import Late, Refused
from ..capture.value_layouts import Addresses
from ..verify.same_bits import template
from . import chains, contractions, moves, plan_cache
from .arena import Own, Piece, Ranges, plan, plan_apart
from .loops import Rounds, machines
from .program import ARENA, Program, lies_as

KEPT = 1 << 22                       # bytes that are copied at each call, for a replay that may miss late
MOST = 60                            # arguments of a launch
PASSING = 1000                       # arrays that one list of launches is given
LONG = 5                             # grains of work from which other threads of Python's run meanwhile


def build(nodes, arrays, outside, results, steady=(), rewrites=(), like=None, ends=()):
    """A program. `results` are the numbers of the values to give back, `outside` those that are given.
    `steady` are tensors (by number) that are among the latter at each call: what is made of them alone may be kept. `rewrites`: names
    of what may change bits. `like`: a program of the same nodes on other sizes, if there is one (rewrites choose by sizes: with them none is).
    `ends`: (generator of random numbers, the Position where a call leaves it), of those that it does more with than draw."""
    return Program(ProgramBuilder(nodes, arrays, outside, results, steady, rewrites, like, ends))


class ProgramBuilder:
    """What it takes to make a program, for arguments see `build`."""

    def __init__(self, nodes, arrays, outside, results, steady=(), rewrites=(), like=None, ends=()):
        self.ends = ends
        self.arrays, self.outside = list(arrays), list(outside)
        self.results = list(dict.fromkeys(results))
        self.inputs = reached(self.arrays[n] for n in self.outside)          # bytes
        self.root = {n: n for n in self.outside}
        for node in nodes:
            for out in node.outs:
                self.root[out] = self.root[node.ins[0]] if node.kind == "op" and node.op.is_view else out
        self.moving = list(dict.fromkeys([*self.outside, *(self.root[n] for n in self.results)]))
        self.position = {r: i for i, r in enumerate(self.moving)}
        given = set(self.outside)
        self.fresh = [r for r in self.moving if r not in given]
        self.recorded, self.origin = nodes, dict(self.root)        # (building gives some views a root of their own)
        nodes = self.live(nodes)
        self.check_order(nodes)
        self.written = {self.root[n.ins[0]] for n in nodes if n.kind == "write"} & set(self.outside)
        self.steady = {n: t for n, t in dict(steady).items() if n not in self.written}
        self.meaning, self.notes, self.lasting, self.derived = None, [], set(), {}       # of named rewrites; see `said`, `from_steady`
        with np.errstate(all="ignore"):
            if rewrites:
                before, visible = nodes, set(self.results) | set(self.moving)
                nodes, self.lasting, self.notes = rewrite(nodes, self.root, self.arrays, visible, rewrites, set(self.steady))
                self.meaning = nodes if nodes != before else None
            self.nodes, self.plan = planned(nodes, self.root, self.arrays, set(self.results) | set(self.moving),
                                            self.check if verify.CHECK else None,
                                            like.plan if like is not None and not rewrites else None, plan_cache)
        self.held, self.keep, self.launches, self.called, self.guards, self.packed = {}, [], 0, [], [], {}       # packed: see contractions.py
        self.checks, self.stopped = {}, C.c_int64()          # address of what a check looks at -> its node; the one that ended a list, or 0
        self.names, self.ranges = {}, Ranges()       # stand-ins: their values by id; what lies where: a piece of the arena, or (which of those
        self.addresses = Addresses()         # of stand-ins
        self.own, self.parts, self.heirs, self.local = set(), [], [], {}     # that move, its first element). Roots in pieces; all stand-ins
        self.hasty = set()                   # keys of kernels that may be compiled in haste so far
        with np.errstate(all="ignore"), haste.recording():
            self.build()
        self.hasty.discard(None)
        # what was recorded is forgotten, but for its types
        self.arrays = [Type.of(a) for a in self.arrays]

    def check(self, nodes):
        """Is this a graph that means something? (Asked between passes where the settings want it.)"""
        verify.verify(Graph.of(nodes, self.arrays, [Input(n, "") for n in self.outside], [(n, "") for n in self.results]))

    # ---- what must be done -------------------------------------------------------------------------------------------
    def live(self, nodes):
        """The nodes that somebody sees, in order."""
        kept, roots, values = [], {self.root[n] for n in self.results} | set(self.outside), set(self.results)
        for node in reversed(nodes):
            if node.kind == "write":
                wanted = self.root[node.ins[0]] in roots or node.op.may_fail
            elif node.kind == "op":
                wanted = any(o in values for o in node.outs) or node.op.may_fail
            else:
                wanted = True
            if wanted:
                kept.append(node)
                values.update(x for x in node.ins if type(x) is Ref)
                roots.update(self.root[x] for x in node.ins if type(x) is Ref)
        return kept[::-1]

    def check_order(self, nodes):
        """A replay that misses must have changed nothing: what is written outside before it can miss is kept, to be put back."""
        outside, written, self.may_miss, self.draws, self.kept = set(self.outside), [], False, bool(self.ends), []
        for node in nodes:
            fails = node.kind in ("guard", "ask") or node.kind in ("op", "write") and node.op.may_fail
            self.may_miss |= fails
            self.draws |= node.kind == "draw"
            if written and fails:
                self.kept = list(dict.fromkeys(written))
                if sum(self.arrays[n].nbytes for n in self.kept) > KEPT:
                    late = Late("large tensors from outside are written before a call may turn out otherwise", node.line)
                    raise late if node.kind == "guard" else Refused(late.reason)
            if node.kind == "write" and self.root[node.ins[0]] in outside:
                written.append(self.root[node.ins[0]])

    # ---- making steps ------------------------------------------------------------------------------------------------
    def from_steady(self, node):
        """The values from outside that a node's results, which rewrites want to be kept, depend on, where all of them are steady; or None."""
        if not node.outs or not self.lasting.issuperset(node.outs) or not self.position.keys().isdisjoint(node.outs) or node.attrs.get("into") \
                or node.kind not in ("op", "fused", "rows", "many") or is_view(node) or tensor_base.NativeNode is None:
            return None                      # (without native cells there are no versions to compare)
        found = [self.derived.get(self.root[x]) or ([self.root[x]] if self.root[x] in self.steady else None) for x in node.refs()]
        return None if None in found else list(dict.fromkeys(n for ns in found for n in ns))

    def build(self):
        """The steps: lists of launches for machine code, views of memory that moves, and calls."""
        for r in self.outside:
            self.hold(r, self.addresses.like(self.arrays[r]))
        last, entries_ = {}, []
        for i, node in enumerate(self.nodes):
            for x in (*node.refs(), *node.outs, *node.attrs.get("into", {}).values()):
                last[self.root[x]] = i
        dying = {}
        for r, i in last.items():
            dying.setdefault(i, []).append(r)
        self.free, self.blocks = {}, set()
        self.seat()
        compiled = native.enabled()
        constants = self.constants = set()
        changed = {self.root[x] for n in self.nodes for x in written(n)}
        shown = []                           # pieces that views of Python's show
        todo = [(i, node) for i, node in enumerate(self.nodes)][::-1]
        while todo:
            i, node = todo.pop()
            if node.kind == "op" and not node.ins and not node.op.random \
                    and self.root[node.outs[0]] not in changed and node.outs[0] not in self.position:
                self.hold(node.outs[0], node.op.forward(**node.attrs))           # a constant: nobody writes to it
                constants.add(node.outs[0])
                continue
            view = node.kind == "op" and node.op.is_view
            kept, sources, self.rooms = len(self.keep), self.from_steady(node), {}
            if sources:
                for o in node.outs:          # (memory of its own, for all calls)
                    self.hold(o, template(self.arrays[o]))
                    constants.add(o)
            words = None if view or not compiled else self.launch(node)
            if words is not None and sources:
                self.derived.update((o, sources) for o in node.outs)
                words = contractions.unless(self, sources, words[0]), words[1]
            if words is None:
                del self.keep[kept:]         # what the attempt wanted to be kept
            if words is None and (node.kind in ("rows", "parts", "picks", "many", "contract", "chain", "roll") or compiled and node.kind == "fused"):
                parts = apart(node)          # no kernel for it as one, and NumPy would give other bits
                todo += [(i if m is parts[-1] else -1, m) for m in parts[::-1]]
                continue
            if words is not None:
                entries_.append(("words", words, []))
            elif view and self.view(node):
                if self.root[node.outs[0]] in self.position:
                    entries_.append(("view", node, self.looks(node)))
            else:
                looks = self.looks(node)
                shown += looks if view else []
                self.by_python(node)
                entries_.append(("call", node, looks))
            for r in dying.get(i, ()):
                if r in self.own and r not in self.position and self.held[r].flags.c_contiguous:
                    a = self.held[r]
                    self.free.setdefault((a.nbytes, a.dtype), []).append(a)
        needed, steps = set(self.results), []
        for kind, what, looks in reversed(entries_):
            if kind == "words":
                steps.append((kind, what, looks))
            elif kind == "call" or needed.intersection(what.outs):
                needed.update(what.refs())
                needed.update(what.attrs.get("into", {}).values())
                steps.append((kind, what, looks))
        steps.reverse()
        self.arena, forbidden = arena([*steps, ("end", None, shown)], self.heirs)
        self.steps = self.join([*guarded(forbidden), *steps])
        views = [] if self.called else [o for kind, what, _ in steps if kind == "view" for o in what.outs]
        self.shown = {o: (self.root[o], address(self.held[o]) - address(self.held[self.root[o]]), Type.of(self.arrays[o])) for o in views}
        made = {o for node in self.called if node.kind != "write" for o in node.outs}
        self.fresh = [r for r in self.fresh if r not in made]
        self.local = {n: (piece.offset + at, Type.of(self.arrays[n])) for n, (piece, at) in self.local.items() if piece.offset is not None}
        self.env = [None] * (len(self.arrays) + 1)           # (the last is the arena's)
        for n in needed:
            if n in self.held and n not in self.local and self.root[n] not in self.position:
                self.env[n] = self.held[n]

    def looks(self, node):
        """The pieces that a step of Python's finds its operands in."""
        found = []
        for x in (*node.refs(), *node.attrs.get("into", {}).values()):
            at = self.piece(x) if self.root[x] not in self.position else None
            if at is not None:
                self.local[int(x)] = at
                found.append(at[0])
        return found

    def piece(self, x):
        """Where a value lies in the arena: (the piece, the bytes to its first element), or None."""
        a = self.held.get(x)
        if a is None or not a.size:
            return None
        low, what = self.ranges.at(span(a)[0]) or (0, None)
        return (what, address(a) - low) if type(what) is Piece else None

    def join(self, steps):
        """Launches that follow each other as one list, with the values whose arrays it is given."""
        out, words, count, places = [], [], 0, {}
        for kind, what, _ in [*steps, ("end", None, None)]:
            given = {what[0][i] for i in self.passed(what[0])} if kind == "words" else set()
            if count and (kind in ("call", "end") or kind == "words" and len(places.keys() | given) > PASSING):
                out.append(self.listed(words, count, places))
                words, count, places = [], 0, {}
            if kind == "words":
                new = sorted(given - places.keys())
                places.update(zip(new, range(len(places), len(places) + len(new))))
                words += what[0]
                count += what[1]
            elif kind != "end":
                out.append(what)             # (a view needs no number that the list being made up computes)
                if kind == "call":
                    self.called.append(what)
        return out

    @staticmethod
    def passed(words):
        """Where in a list the numbers of moving arrays stand."""
        at = 0
        while at < len(words):
            if words[at] in (RECORD, CHECK):
                if words[at] == RECORD:
                    yield at + 2
                at += 4
            else:
                end = at + 4 + 2 * words[at + 3]
                yield from (i for i in range(at + 4, end, 2) if words[i] >= 0)
                at = end

    def listed(self, words, count, places):
        """A list for machine code; the moving arrays get the places where it is given them, the arena the last one."""
        words = list(words)
        for i in self.passed(words):
            words[i] = places[words[i]]
        for i, w in enumerate(words):
            if type(w) is Own:
                words[i - 1:i + 1] = len(places), w.piece.offset + w
        buffer = (C.c_int64 * len(words))(*words)
        self.keep.append(buffer)
        self.launches += count
        return _work(words) >= LONG, C.addressof(buffer), len(words), [*(self.moving[i] for i in places), *([ARENA] if self.arena else [])]

    def hold(self, n, a):
        """Let an array stand for value n."""
        self.held[n] = a
        self.names.setdefault(id(a), []).append(n)
        if n in self.position and a.size:
            self.ranges.put(*span(a), (self.position[n], address(a)))
        return a

    def memory(self, n):
        """Memory for value n, laid out as it was when recorded."""
        if n in self.held:
            return self.held[n]
        a = self.arrays[n]
        if n in self.position:
            return self.hold(n, self.addresses.like(a))
        blocks = self.free.get((a.nbytes, a.dtype)) if a.flags.c_contiguous else None
        self.own.add(n)
        return self.hold(n, self.part(blocks.pop().reshape(-1).view().reshape(a.shape) if blocks else self.addresses.like(a)))

    def part(self, a):
        """Let an array stand for a piece of the arena."""
        self.parts.append(a)                 # (no other may come to lie where it is)
        if a.size:
            low, high = span(a)
            self.ranges.put(low, high, Piece(high - low))
        return a

    def view(self, node):
        """Views of our own memory, made once; of memory that moves, as they lie in its stand-in."""
        if node.ins[0] not in self.held:
            return False
        made = node.op.forward(self.held[node.ins[0]], *node.ins[1:], **node.attrs)
        made = made if type(made) is tuple else (made,)
        if not all(_alike(v, self.arrays[o]) for v, o in zip(made, node.outs)):
            return False
        for o, v in zip(node.outs, made):
            self.hold(o, v)
        return True

    def by_python(self, node):
        """The results of a node that Python computes move."""
        for o in node.outs:
            if self.root[o] != o or o not in self.position:
                self.root[o] = o
                self.position[o] = len(self.moving)
                self.moving.append(o)
                self.hold(o, self.held[o] if o in self.held else self.addresses.like(self.arrays[o]))
            elif o not in self.held:
                self.hold(o, self.addresses.like(self.arrays[o]))

    def launch(self, node):
        """A node as the words of launches, and their number; None where it is not launches alone."""
        if node.kind == "roll":
            return self.rolled(node.value)
        ins = [self.held[x] if type(x) is Ref else x for x in node.ins]
        if any(self.arrays[o].size == 0 for o in node.outs) or any(type(x) is np.ndarray and x.dtype.kind == "c" for x in ins):
            return None
        if node.kind == "fused":
            into = node.attrs.get("into", {})
            outs = [self.held[into[o]] if o in into else self.memory(o) for o in node.outs]
            kernel = Pointwise("fused", node.roots, len(ins))
            self.inherit(node)
            return self.take(lambda: kernel(ins, outs), [*ins, *outs])
        if node.kind == "rows":
            return self.by_rows(node, ins)
        if node.kind == "parts":
            return self.by_parts(node, ins)
        if node.kind == "picks":
            return self.by_picks(node, ins)
        if node.kind == "many":
            return self.in_parts(node)
        if node.kind == "chain":
            return chains.launches(self, node)
        if node.kind == "contract" or node.kind == "op" and node.op.name in CONTRACTIONS:
            words = contractions.launches(self, node, ins)
            if words is not None or not (node.kind == "op" and node.op.memo):
                return words
        if moves.can(node):
            return moves.launches(self, node, ins)
        if node.kind == "op" and (node.op.memo or node.op.launches):
            made = []
            if node.op.may_fail:
                self.as_indices(ins[1:])

            def run():
                r = node.op.forward(*ins, **node.attrs)
                made.extend(r if type(r) is tuple else (r,))
            return self.take(run, ins, made, node.outs, node)
        return self.in_place(node, ins) if node.kind == "write" else None

    def inherit(self, node):
        """A pointwise kernel may put a result where an operand is that nobody needs any more, if element lies on element."""
        refs, into = dict.fromkeys(node.refs()), node.attrs.get("into", {})
        busy = {self.root[x] for x in into.values()}
        for x in refs:
            old = self.piece(x)
            alone = old is not None and self.root[x] not in busy and all(y is x or self.root[y] != self.root[x] for y in refs)
            if alone and self.held[x].flags.c_contiguous:
                self.heirs += [(old[0], self.piece(o)[0]) for o in node.outs if o not in into and o in self.own and self.root[o] not in self.position
                               and _alike(self.held[x], self.held[o]) and old[0].size == self.held[x].nbytes]

    def by_rows(self, node, ins):
        """A row program."""
        work, made = node.roots, []

        def run():
            outs = rows(work.program, work.operands(ins), work.axes)
            made.extend(y.reshape(self.arrays[o].shape) for y, o in zip(outs, node.outs, strict=True))
        return self.take(run, ins, made, node.outs)

    def by_parts(self, node, ins):
        """A kernel for each part of the results."""
        into, words, count = node.attrs.get("into", {}), [], 0
        outs = [self.held[into[o]] if o in into else self.memory(o) for o in node.outs]
        for part in node.roots:
            xs, ys, kernel = part.inputs(ins), [part.of(y) for y in outs], Pointwise("parts", part.roots, len(part.operands), part.shared)
            got = self.take(lambda xs=xs, ys=ys, kernel=kernel: kernel(xs, ys), [*ins, *outs])
            if got is None:
                return None
            words, count = words + got[0], count + got[1]
        return words, count

    def by_picks(self, node, ins):
        """A kernel that gathers, and notes where it would read outside of a table."""
        (part,), bad, outs = node.roots, np.zeros(1, np.int64), [self.memory(o) for o in node.outs]
        xs, kernel = [*part.inputs(ins), bad], Pointwise("picks", part.roots, len(part.operands) + 1)

        def run():
            entries.verdict(bad)
            kernel(xs, outs)
        words = self.take(run, [*ins, *outs], node=next(m for m in node.flat() if m.op.may_fail))
        bad[0] = 0                           # (stand-ins hold any numbers)
        return words

    def in_parts(self, node):
        """One kernel over many tensors: a table of their blocks and sizes, then each operand's addresses."""
        into, count = node.attrs.get("into", {}), len(node.value)
        sizes = [self.arrays[m.outs[0]].size for m in node.value]
        blocks = [-(-n // many_tensors.BLOCK) for n in sizes]
        table = np.stack([np.cumsum([0, *blocks])[:-1], sizes], 1, dtype=np.int64).reshape(-1)
        try:
            kernel = native.kernel(f"many/{node.roots.key}", lambda module, symbol: many_tensors.emit(node.roots, module, symbol))
        except Unsupported:
            return None
        grain = max(1, int(GRAIN_NS / nanoseconds(node.roots) * sum(blocks) / sum(sizes)))
        places = [self.spot(x) for operand in zip(*[m.ins for m in node.value]) for x in operand]
        places += [self.spot(into.get(o, o)) for result in zip(*[m.outs for m in node.value]) for o in result]
        self.keep.append(table)
        return [kernel, sum(blocks), grain, len(places) + 2, -1, address(table), -1, count, *[w for place in places for w in place]], 1

    def spot(self, x):
        """Where a value is, or a number: as `argument`."""
        if type(x) is not np.ndarray:
            return self.place(self.memory(x), 0)
        self.keep.append(x)
        return -1, address(x)

    def rolled(self, loop):
        """A loop as two launches: one puts addresses into a table, the other goes round."""
        body = build(loop.body, self.arrays, list(loop.inputs), list(loop.results))
        if body.alone is None or body.checks:
            return None
        moves, first = {}, {}
        for name, (kind, value, *more) in loop.inputs.items():
            if value not in self.held or kind == "along" and value in loop.blocks and value not in self.blocks:
                return None
            first[name] = self.place(self.held[value], more[0] if kind == "along" else 0)
            if kind == "carried":
                moves[name] = more[0], 0
            elif kind == "along":
                moves[name] = name, more[1]
        carried = {result for result, _ in moves.values()}
        blocks = {}
        for result, (kind, values, *more) in loop.results.items():
            a = self.arrays[result]
            if kind == "kept":
                head, s = more
                if head not in blocks:
                    blocks[head] = self.part(self.addresses.like(Type(a.dtype, (loop.rounds * loop.several, *a.shape))))
                for value, i in zip(values, range(s, len(blocks[head]), loop.several)):
                    self.hold(value, blocks[head][i, ...])
                moves[result], first[result] = (result, loop.several * a.nbytes), self.place(blocks[head][s, ...], 0)
            else:
                mine, other = self.memory(values), self.part(self.addresses.like(a))
                if result in carried:        # two pieces of memory in turn
                    moves[result], moves["spare", result] = (("spare", result), 0), (result, 0)
                    mine, other = (mine, other) if loop.rounds % 2 else (other, mine)
                    first["spare", result] = self.place(other, 0)
                first[result] = self.place(mine, 0)
        if None in first.values() or not moves:
            return None
        if body.arena:
            first[ARENA] = -1, Own(0, Piece(body.arena))
        rounds = Rounds(None, body.alone[1:], moves)
        pairs = rounds.table(lambda name: first[name])
        if len(pairs) > MOST - 2:
            return None
        table = self.part(np.empty(len(pairs), np.int64))
        self.blocks.update(blocks)
        self.keep += [body, rounds]
        self.hasty |= body.hasty
        code, args = rounds.arguments(table, loop.rounds)
        words = [machines()["fill"], 1, 1, len(pairs) + 2, *self.place(table, 0), -1, len(pairs)]
        for pair in pairs:
            words += pair if type(pair) is tuple else (-1, pair)
        words += [code, 1, 1, len(args)]
        for x in args:
            words += self.place(x, 0) if type(x) is np.ndarray else (-1, x)
        return words, 2

    def as_indices(self, xs):
        """The numbers of stand-ins may be indices: good ones."""
        for x in xs:
            if type(x) is np.ndarray and not any(np.may_share_memory(x, self.held[c]) for c in self.constants):
                x[...] = 0

    def checked(self, flag, wanted, node):
        """The words that end the list where a launch put another number into `flag`."""
        self.keep.append(flag)
        self.checks[address(flag)] = node
        return [CHECK, address(flag), int(wanted), C.addressof(self.stopped)]

    def seat(self):
        """Give each draw two numbers that it reads its seed and position from: a call writes them at its start, with one turn for each stream."""
        draws, streams = [n for n in self.nodes if n.kind == "draw"], {}
        self.drawn, self.seats = np.zeros((len(draws), 2), np.uint64), {id(n): i for i, n in enumerate(draws)}
        for i, n in enumerate(draws):
            g, places, starts = streams.setdefault(id(n.attrs["generator"]), (n.attrs["generator"], [], [0]))
            places.append(i)
            starts.append(starts[-1] + n.op.blocks(n.attrs["shape"]))
        self.streams = [(g, np.array(places), np.array(starts[:-1], np.uint64), starts[-1]) for g, places, starts in streams.values()]
    def entwined(self, x, y):
        """Do two values share memory? (Where they come from outside, their stand-ins never do.)"""
        return np.may_share_memory(self.held[x], self.held[y]) or np.may_share_memory(self.arrays[x], self.arrays[y])

    def in_place(self, node, ins):
        """Writes to an operand that one kernel does."""
        a, op = ins[0], node.op
        if a.size == 0 or not a.flags.aligned:
            return None
        others = [x for x in ins[1:] if type(x) is np.ndarray]
        if any(self.entwined(node.ins[0], x) for x in node.ins[1:] if type(x) is Ref and x != node.ins[0]):
            return None
        if op.name == "copy" and not node.attrs:
            src, = others
            t, wanted = FROM_NUMPY[src.dtype].short, FROM_NUMPY[a.dtype].short
            kernel = Pointwise("copy", (S.arg(0) if t == wanted else S.cast(S.arg(0), wanted),), 1)
            return self.take(lambda: kernel([src], [a]), ins)
        if isinstance(op, PointwiseOp) and op.result is None and not node.attrs and all(
                x.dtype == a.dtype and (x.shape == a.shape or x.ndim == 0) for x in others):
            kernel, number, t = op.plan(ins)
            if t is FROM_NUMPY[a.dtype]:
                xs = [x if type(x) is np.ndarray else op._number(x, number, t) for x in ins]
                return self.take(lambda: kernel(xs, [a]), xs)
        return None

    def take(self, run, known, made=(), outs=(), node=None):
        """Run something on stand-ins and note its launches; None where they cannot be repeated. `outs`: the values, or arrays, that what it
        made is. A kernel that checks its data is one of a node, and a check follows it."""
        tape = entries.Tape(dry=True)
        entries._local.tape = tape
        try:
            with entries._state, (taping := native.taping(tape)), taping:
                run()
        except (IndexError, RuntimeError, ValueError, Unsupported):          # the numbers in the stand-ins do not suit it, or no kernel does
            return None
        finally:
            entries._local.tape = None
        if tape.verdicts and node is None or not all(lies_as(m, n if type(n) is np.ndarray else self.arrays[n]) for n, m in zip(outs, made)):
            return None
        if not all(any(type(a) is np.ndarray and np.may_share_memory(a, m) for _, _, _, *args in tape.launches for a in args) for m in made):
            return None                      # NumPy computed it
        return self.words(tape, known, [(m, n if type(n) is np.ndarray else self.memory(n)) for n, m in zip(outs, made)], node)

    def words(self, tape, known, renamed=(), node=None):
        """A tape's launches as words, and their number; None where an argument is something unknown. `renamed`: (array on the tape, ours)."""
        words, count, known = [], 0, {id(x): x for x in known if type(x) is np.ndarray and x.size}
        for kernel, total, grain, *args in tape.launches:
            self.hasty.add(haste.behind(kernel))
            if len(args) > MOST:
                return None
            if total > 0:
                words += [kernel, total, max(grain, 1), len(args)]
                count += 1
                for a in args:
                    pair = self.argument(a, known, renamed, tape)
                    if pair is None:
                        return None
                    words += pair
                for a in args:
                    if any(a is v for v in tape.verdicts):
                        words += self.checked(a, 0, node)
        return (words, count) if count else None

    def argument(self, a, known, renamed, tape):
        """One argument of a launch as (number of a moving array, offset) or (-1, value). `known`: arrays by id."""
        if a is None:
            return -1, 0
        if isinstance(a, float):
            return -1, struct.unpack("<q", struct.pack("<d", a))[0]
        if isinstance(a, int):
            return -1, a if a < 1 << 63 else a - (1 << 64)
        if not isinstance(a, np.ndarray):
            return None
        if any(a is v for v in tape.verdicts):
            self.keep.append(a)
            return -1, address(a)
        for m, mine in renamed:
            if m.size and np.may_share_memory(a, m):
                return self.place(mine, address(a) - address(m))
        if id(a) in known:                   # (most are operands themselves)
            return self.place(a, 0)
        for x in known.values():
            if np.may_share_memory(a, x):
                return self.place(x, address(a) - address(x))
        for m, size in (*tape.scratch.values(), *[(m, m.nbytes) for m in tape.partial]):
            if np.may_share_memory(a, m):
                piece = self.rooms.setdefault(id(m), Piece(0))
                piece.size = max(piece.size, size, 1)
                return -1, Own(address(a) - address(m), piece)
        if id(a) in tape.numbers or a.dtype == np.int64 and a.ndim == 1 and a.flags.owndata:      # a number, or a plan's table
            self.keep.append(a)
            return -1, address(a)
        return None

    def place(self, a, offset):
        """An address in one of our arrays; None for one in a stand-in for memory that moves in a way not known here."""
        low, what = self.ranges.at(span(a)[0]) or (0, None) if a.size else (0, None)      # (stand-ins lie apart)
        if type(what) is Piece:
            return -1, Own(address(a) - low + offset, what)
        if what is not None:
            return what[0], address(a) - what[1] + offset
        if any(self.held[n] is a and self.root[n] in self.position for n in self.names.get(id(a), ())):
            return None
        self.keep.append(a)
        return -1, address(a) + offset


def reached(arrays):
    """The bytes of memory that arrays lie in."""
    total, end = 0, 0
    for low, high in sorted(span(a) for a in arrays if a.size):
        if high > end:
            total += memory.taken(high - max(low, end))
            end = high
    return total


def arena(steps, heirs):
    """Find the place of each piece that steps work on: the bytes to take at a call (what is large enough begins at a round address), and under
    a guard the pages among them that nobody may touch."""
    pieces = []
    for i, (kind, what, looks) in enumerate(steps):
        for piece in (*looks, *(w.piece for w in (what[0] if kind == "words" else ()) if type(w) is Own)):
            if piece.first is None:
                pieces.append(piece)
            piece.touch(i)
    if not pieces:
        return 0, ()
    return plan_apart(pieces) if guard.SIDE else (max(plan(pieces, heirs), memory.SMALLEST), ())


def guarded(forbidden):
    """The steps that keep everybody off pages of the arena, if there are any."""
    arena, steps = Piece(0), []
    arena.offset = 0
    for k in range(0, len(forbidden), PASSING):
        pages = [Own(at, arena) for at in forbidden[k:k + PASSING]]
        words = [native.kernel("guard/forbid", guard.forbid), 1, 1, len(pages) + 1]
        steps.append(("words", ([*words, *[word for x in (len(pages), *pages) for word in (-1, x)]], 1), ()))
    return steps


def apart(node):
    """The nodes that one stands for."""
    return node.apart() if isinstance(node, Group) else list(node.members)


def _alike(a, b):
    return a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype

def _work(words):
    """The work of launches, in grains."""
    at, work = 0, 0.0
    while at < len(words):
        kernel, total, grain, n = words[at:at + 4]
        at += 4
        if kernel not in (RECORD, CHECK):
            at, work = at + 2 * n, work + total / share_out.grain(grain)
    return work
