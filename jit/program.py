"""A recording as something to run: pointwise nodes fused, launches of kernels in one list for machine code, the rest called in order.

Every value has a *root*: the memory that it lies in. Roots that change from call to call (what was there before, results, what Python
steps make) are passed at each call; the others are memory of the program's own. What runs are the kernels of eager mode, in its
order, on the same layouts: the bits are eager's.
"""
import ctypes as C
import math
import struct

import numpy as np
from whet.cpu import entries, memory, native, reduce
from whet.cpu.pointwise import Pointwise
from whet.dtypes import FROM_NUMPY
from whet.ir import scalar as S
from whet.ir.graph import Ref
from whet.ir.rows import Operand
from whet.ops.pointwise_family import PointwiseOp
from whet.passes.fuse import PASSES

from .record import Refused

PASSED = ("f32", "f64", "i32", "i64")    # types of numbers that a kernel of rows takes by value
KEPT = 1 << 22                       # bytes that are copied at each call, for a replay that may miss late
MOST = 60                            # arguments of a launch


class Miss(Exception):
    """A value or a shape is another than when it was recorded: the replay is given up, nothing outside has been changed."""


class Program:
    """What to do with the arrays of a call. `results` are the numbers of the values to give back, `outside` those that are given."""

    def __init__(self, nodes, arrays, outside, results):
        self.arrays, self.outside = arrays, list(outside)
        self.results = list(dict.fromkeys(results))
        self.root = {n: n for n in self.outside}
        for node in nodes:
            for out in node.outs:
                self.root[out] = self.root[node.ins[0]] if node.kind == "op" and node.op.is_view else out
        self.moving = list(dict.fromkeys([*self.outside, *(self.root[n] for n in self.results)]))
        self.position = {r: i for i, r in enumerate(self.moving)}
        self.fresh = [r for r in self.moving if r not in set(self.outside)]
        self.recorded, self.origin = nodes, dict(self.root)        # (building gives some views a root of their own)
        nodes = self.live(nodes)
        self.check_order(nodes)
        with np.errstate(all="ignore"):
            seen = set(self.results) | set(self.moving)
            for one in PASSES:
                nodes = one(nodes, self.root, arrays, seen)
            self.nodes = nodes
        self.held, self.keep, self.launches, self.called = {}, [], 0, []
        with np.errstate(all="ignore"):
            self.build()

    # ---- what must be done -------------------------------------------------------------------------------------------
    def live(self, nodes):
        """The nodes that somebody sees, in order."""
        kept, roots, values = [], {self.root[n] for n in self.results} | set(self.outside), set(self.results)
        for node in reversed(nodes):
            if node.kind == "write":
                wanted = self.root[node.ins[0]] in roots
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
        outside, written, self.may_miss, self.draws, self.kept = set(self.outside), [], False, False, []
        for node in nodes:
            fails = node.kind in ("guard", "ask") or node.kind in ("op", "write") and node.op.may_fail
            self.may_miss |= fails
            self.draws |= node.kind == "draw"
            if written and fails:
                self.kept = list(dict.fromkeys(written))
                if sum(self.arrays[n].nbytes for n in self.kept) > KEPT:
                    raise Refused(f"a call may turn out otherwise at {node.line}, after large tensors from outside were written")
            if node.kind == "write" and self.root[node.ins[0]] in outside:
                written.append(self.root[node.ins[0]])

    # ---- making steps ------------------------------------------------------------------------------------------------
    def build(self):
        """The steps: lists of launches for machine code, views of memory that moves, and calls."""
        for r in self.outside:
            self.held[r] = template(self.arrays[r])
        last, entries_ = {}, []
        for i, node in enumerate(self.nodes):
            for x in (*node.refs(), *node.outs, *node.attrs.get("into", {}).values()):
                last[self.root[x]] = i
        dying = {}
        for r, i in last.items():
            dying.setdefault(i, []).append(r)
        self.free = {}
        machine = native.enabled()
        constants = self.constants = set()
        changed = {self.root[n.ins[0]] for n in self.nodes if n.kind == "write"}
        plan = [(i, node) for i, node in enumerate(self.nodes)][::-1]
        while plan:
            i, node = plan.pop()
            if node.kind == "op" and not node.ins and not node.op.random \
                    and self.root[node.outs[0]] not in changed and node.outs[0] not in self.position:
                self.held[node.outs[0]] = node.op.forward(**node.attrs)          # a constant: nobody writes to it
                constants.add(node.outs[0])
                continue
            view = node.kind == "op" and node.op.is_view
            words = None if view or not machine else self.launch(node)
            if words is None and node.kind == "rows":        # no kernel for it as one: as two
                plan += [(i, node.value[1]), (-1, node.value[0])]
                continue
            if words is not None:
                entries_.append(("words", words))
            elif view and self.view(node):
                if self.root[node.outs[0]] in self.position:
                    entries_.append(("view", node))
            else:
                self.by_python(node)
                entries_.append(("call", node))
            for r in dying.get(i, ()):
                a = self.held.get(r)
                if r not in self.position and a is not None and a.flags.c_contiguous and r not in constants:
                    self.free.setdefault((a.nbytes, a.dtype), []).append(a)
        needed, steps = set(self.results), []
        for kind, what in reversed(entries_):
            if kind == "words":
                if len(what) > 2:
                    needed.update(what[3].refs())
                steps.append((kind, what))
            elif kind == "call" or needed.intersection(what.outs):
                needed.update(what.refs())
                needed.update(what.attrs.get("into", {}).values())
                steps.append(("call", what))
        self.steps = self.join(steps[::-1])
        made = {o for node in self.called if node.kind != "write" for o in node.outs}
        self.fresh = [r for r in self.fresh if r not in made]
        self.env = [None] * len(self.arrays)
        for n, a in self.held.items():
            if self.root[n] not in self.position:
                self.env[n] = a

    def join(self, steps):
        """Launches that follow each other as one list."""
        out, words, count = [], [], 0
        for kind, what in [*steps, ("end", None)]:
            if kind == "words":
                words += what[0]
                count += what[1]
                if len(what) == 2:
                    continue
            if count:
                buffer = (C.c_int64 * len(words))(*words)
                self.keep.append(buffer)
                out.append((_machine(), C.addressof(buffer), count, *(what[2:] if kind == "words" else ())))
                self.launches += count
                words, count = [], 0
            if kind == "call":
                out.append(what)
                self.called.append(what)
        return out

    def memory(self, n):
        """Memory for value n, laid out as it was when recorded."""
        if n in self.held:
            return self.held[n]
        a = self.arrays[n]
        blocks = self.free.get((a.nbytes, a.dtype)) if n not in self.position and a.flags.c_contiguous else None
        m = self.held[n] = blocks.pop().reshape(-1).view().reshape(a.shape) if blocks else template(a)
        return m

    def view(self, node):
        """Views of our own memory, made once; of memory that moves, as they lie in its stand-in."""
        if node.ins[0] not in self.held:
            return False
        made = node.op.forward(self.held[node.ins[0]], *node.ins[1:], **node.attrs)
        made = made if type(made) is tuple else (made,)
        if not all(_alike(v, self.arrays[o]) for v, o in zip(made, node.outs)):
            return False
        self.held.update(zip(node.outs, made))
        return True

    def by_python(self, node):
        """The results of a node that Python computes move."""
        for o in node.outs:
            if self.root[o] != o or o not in self.position:
                self.root[o] = o
                self.position[o] = len(self.moving)
                self.moving.append(o)
            self.held.setdefault(o, template(self.arrays[o]))

    def launch(self, node):
        """A node as the words of launches, and their number; None where it is not launches alone."""
        ins = [self.held[x] if type(x) is Ref else x for x in node.ins]
        if any(self.arrays[o].size == 0 for o in node.outs) or any(type(x) is np.ndarray and x.dtype.kind == "c" for x in ins):
            return None
        if node.kind == "fused":
            into = node.attrs.get("into", {})
            outs = [self.held[into[o]] if o in into else self.memory(o) for o in node.outs]
            kernel = Pointwise("fused", node.roots, len(ins))
            return self.take(lambda: kernel(ins, outs), [*ins, *outs])
        if node.kind == "rows":
            return self.by_rows(node, ins)
        if node.kind == "op" and node.op.name == "cat" and all(type(x) is np.ndarray and x.dtype == ins[0].dtype for x in ins):
            return self.side_by_side(node, ins)
        if node.kind == "op" and node.op.memo:
            made = []
            if node.op.may_fail:
                for x in ins[1:]:
                    if type(x) is np.ndarray and not any(np.may_share_memory(x, self.held[c]) for c in self.constants):
                        x[...] = 0           # a stand-in's numbers are indices

            def run():
                r = node.op.forward(*ins, **node.attrs)
                made.extend(r if type(r) is tuple else (r,))
            return self.take(run, ins, made, node.outs, node)
        return self.in_place(node, ins) if node.kind == "write" else None

    def by_rows(self, node, ins):
        """A reduction of an expression."""
        shape = self.arrays[node.value[0].outs[0]].shape
        kinds = [Operand(FROM_NUMPY[x.dtype].short, "scalar" if number else "full") for x, number in
                 ((x, type(r) is not Ref) for x, r in zip(ins, node.ins))]
        if not shape or not any(o.kind == "full" for o in kinds) or any(o.kind == "scalar" and o.dtype not in PASSED for o in kinds):
            return None
        axes = node.attrs["dim"]
        axes = tuple(range(len(shape))) if axes is None else tuple(sorted(axes))
        program = reduce.program_of(f"fused_{node.op.kind}", node.op.kind, node.roots[0], tuple(kinds))
        operands = [x.item() if o.kind == "scalar" else np.broadcast_to(x, shape) for x, o in zip(ins, kinds)]
        if node.op.kind == "mean":
            operands.append(float(math.prod(shape[a] for a in axes)))
        made = []
        return self.take(lambda: made.append(reduce.rows(program, operands, axes)[0].reshape(self.arrays[node.outs[0]].shape)),
                         ins, made, node.outs)

    def side_by_side(self, node, ins):
        """A concatenation: each operand is copied to its place."""
        out, (dim,), at, words, count = self.memory(node.outs[0]), node.attrs.values(), 0, [], 0
        for x in ins:
            n = x.shape[dim] if x.ndim else 0
            part = out[(slice(None),) * dim + (slice(at, at + n),)]
            if part.size:
                got = self.take(lambda: Pointwise("copy", (S.arg(0),), 1)([x], [part]), [x, out])
                if got is None:
                    return None
                words, count = words + got[0], count + got[1]
            at += n
        return words, count

    def in_place(self, node, ins):
        """Writes to an operand that one kernel does."""
        a, op = ins[0], node.op
        if a.size == 0 or not a.flags.aligned:
            return None
        others = [x for x in ins[1:] if type(x) is np.ndarray]
        if any(x is not a and np.may_share_memory(x, a) for x in others):
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
        """Run something on stand-ins and note its launches; None where they cannot be repeated. Where a kernel checks its data, also
        where it says so, and the node, which Python does again to find the error."""
        tape = entries.Tape()
        entries._local.tape = tape
        try:
            with entries._state, native.taping(tape):
                run()
        except (IndexError, RuntimeError, ValueError):       # the numbers in the stand-ins do not suit it
            return None
        finally:
            entries._local.tape = None
        if tape.verdicts and (node is None or len(tape.verdicts) > 1) or not all(_alike(m, self.arrays[n]) for n, m in zip(outs, made)):
            return None
        if not all(any(type(a) is np.ndarray and np.may_share_memory(a, m) for _, _, _, *args in tape.launches for a in args) for m in made):
            return None                      # NumPy computed it
        renamed = [(m, self.memory(n)) for n, m in zip(outs, made)]
        words, count = [], 0
        for kernel, total, grain, *args in tape.launches:
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
        if not count:
            return None
        return (words, count, tape.verdicts[0], node) if tape.verdicts else (words, count)

    def argument(self, a, known, renamed, tape):
        """One argument of a launch as (number of a moving array, offset) or (-1, value)."""
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
            return -1, _address(a)
        for m, mine in renamed:
            if m.size and np.may_share_memory(a, m):
                return self.place(mine, _address(a) - _address(m))
        for x in known:
            if type(x) is np.ndarray and x.size and (a is x or np.may_share_memory(a, x)):
                return self.place(x, _address(a) - _address(x))
        if id(a) in tape.numbers or a.dtype == np.int64 and a.ndim == 1 and a.flags.owndata:      # a number, or a plan's table
            self.keep.append(a)
            return -1, _address(a)
        return None

    def place(self, a, offset):
        """An address in one of our arrays; None for one in a stand-in for memory that moves in a way not known here."""
        for r, i in self.position.items():
            m = self.held.get(r)
            if m is not None and m.size and np.may_share_memory(a, m):
                return i, _address(a) - _address(m) + offset
        if any(a is h and self.root[n] in self.position for n, h in self.held.items()):
            return None
        self.keep.append(a)
        return -1, _address(a) + offset

    # ---- running -----------------------------------------------------------------------------------------------------
    def __call__(self, given):
        """Run with the arrays of the outside values. Gives the environment: the array of each value that a step or a caller wants."""
        env = self.env.copy()
        for n, a in zip(self.outside, given):
            env[n] = a
        for n in self.fresh:
            if self.arrays[n] is not None:
                env[n] = template(self.arrays[n])
        moving, launch = self.moving, native.launch
        before = [(env[n], env[n].copy()) for n in self.kept]
        try:
            for step in self.steps:
                if type(step) is tuple:
                    launch(step[0], 1, 1, step[1], step[2], *[env[r] for r in moving])
                    if len(step) > 3 and step[3][0]:
                        step[3][0] = 0
                        self.do(step[4], env)                # raises what eager raises
                else:
                    self.do(step, env)
        except Exception as e:               # eager will raise it where the function can see it
            for a, b in before:
                a[...] = b
            if type(e) is Miss:
                raise
            raise Miss(f"an error was raised: {e}") from None
        return env

    def do(self, node, env):
        """A step that Python does."""
        ins = [env[x] if type(x) is Ref else x for x in node.ins]
        if node.kind == "guard":
            if ins[0].tobytes() != node.value.tobytes():
                raise Miss(f"the value that Python reads at {node.line}")
        elif node.kind == "ask":
            if node.attrs["question"](*ins) != node.value:
                raise Miss(f"what the values are asked at {node.line}")
        elif node.kind == "write":
            self.write(node, ins)
        elif node.kind == "fused":
            into = node.attrs.get("into", {})
            outs = [env[into[o]] if o in into else env[o] if env[o] is not None else template(self.arrays[o]) for o in node.outs]
            for o, r in zip(node.outs, Pointwise("fused", node.roots, len(ins))(ins, outs)):
                env[o] = r
        else:
            if node.kind == "draw":
                attrs = node.attrs
                g = attrs["generator"]
                seed, offset = g.take(node.op.blocks(attrs["shape"]))
                made = node.op.forward(shape=attrs["shape"], seed=seed, offset=offset)
            else:
                made = node.op.forward(*ins, **node.attrs)
            for o, r in zip(node.outs, made if type(made) is tuple else (made,)):
                r = np.asarray(r)
                if not _alike(r, self.arrays[o]):
                    raise Miss(f"the shape of what {node.op.name} gives at {node.line}")
                env[o] = r

    @staticmethod
    def write(node, ins):
        op, a = node.op, ins[0]
        if op.write is not None:
            op.write(*ins, **node.attrs)
        else:
            np.copyto(a, op.forward(*ins, **node.attrs), casting="unsafe")


def _address(a):
    return a.__array_interface__["data"][0]


def _alike(a, b):
    return a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype


def template(a):
    """Memory of an array's shape, strides and type."""
    if a.flags.c_contiguous or not a.size:
        m = memory.empty(a.shape, a.dtype)
        if m.strides == a.strides or not a.size:
            return m
        return np.ndarray(a.shape, a.dtype, m.reshape(-1), 0, a.strides)         # (of a single element any stride will do)
    low, high = np.lib.array_utils.byte_bounds(a)
    flat = memory.empty(high - low, np.uint8)
    return np.ndarray(a.shape, a.dtype, flat, _address(a) - low, a.strides)


def _machine():
    native.export("whet_pool_run", native.symbol("pool_run"))

    def source():
        from whet.passes.lower_llvm import program
        return program.source()
    return native.image("jit/program", source, ["program"])["program"]
