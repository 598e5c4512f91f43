"""The native entries: how `a + b`, `x.exp()` and every other op call runs without the interpreter where the same call ran before.

A *recipe* is what is left of an op's call once operand types, shapes, strides and attributes are known: a kernel, its arguments and
the results' layout (or, for a view, an offset and a layout). The Python side records a recipe the first time (runtime/cpu/entries.py);
`core` here looks it up by operation and operands, makes the results, runs the kernel and records the autograd node. Whatever it does
not know is a miss, and a miss is an ordinary call of the Python path, which raises all errors.

Layouts are in 8-byte words unless said otherwise. CTX is one block of memory shared with the Python side.
"""
from ..builder import Module, Val
from . import share_out as launching

HEAD = 16                                   # PyObject: reference count, type
# byte offsets of fields
T = dict(array=16, node=24, grad=32, cell=40, base=48, hist=56, rg=64, extra=72, dict=80, weak=88, size=96)
C = dict(v=16, h=24, writer=32, shown=40, aside=48, size=56)
MAX_IN, MAX_OUT, MAX_DIMS, MAX_SLOTS, BUCKETS = 5, 4, 6, 96, 4096
DOORS, THUNKS = 512, 160               # descriptors; those of methods come first, each with a function of its own
N = dict(op=16, attrs=24, seq=32, nin=40, pre_hooks=48, post_hooks=56, trace=64, released=72, out_array=80, out_cell=88, out_version=96,
         weak=104, edges=112, saved=112 + 8 * MAX_IN, versions=112 + 16 * MAX_IN, size=112 + 24 * MAX_IN)
# what a new object of each type has zeroed; a tensor gets its array at once
FIELDS = {"tensor": [T[k] for k in ("node", "grad", "cell", "base", "hist", "rg", "extra", "dict", "weak")],
          "cell": [C[k] for k in ("v", "h", "writer", "shown", "aside")], "node": range(HEAD, N["size"], 8)}
ELSIZE = 40                                 # of a dtype object (cpu/memory.py proves it)
A = dict(data=16, nd=24, dims=32, strides=40, base=48, descr=56, flags=64)
# words of CTX
CTX = {name: 8 * i for i, name in enumerate(
    ("thread", "flags", "seq", "tensor", "parameter", "node", "cell", "slow", "sync", "record", "empty", "stale", "away", "getitem", "reshape"))}
CTX["table"], CTX["desc"] = 256, 256 + 8 * BUCKETS
DESC = dict(op=0, attrs=8, slow=16, count=24, reflected=32, writer=40, size=48)
CTX_BYTES = CTX["desc"] + DESC["size"] * DOORS
# words of a recipe, as byte offsets
R = {name: 8 * i for i, name in enumerate(
    ("hash", "op", "attrs", "nin", "next", "kernel", "total", "grain", "nslots", "nouts", "flags", "saves", "itemsize"))}
R["metas"] = 8 * 16
R["operands"] = R["metas"] + 8 * MAX_IN
OPERAND = 8 * (3 + 2 * MAX_DIMS)            # kind, descr, nd, dims, strides
R["outs"] = R["operands"] + OPERAND * MAX_IN
OUT = 8 * (3 + 2 * MAX_DIMS)                # descr, nd, is it row-major (of a view: its byte offset), dims, strides
R["slots"] = R["outs"] + OUT * MAX_OUT
SLOT = 16                                   # kind, value
RECIPE_BYTES = R["slots"] + SLOT * MAX_SLOTS
NOTHING, TENSOR, FLOAT, INT, VALUE = range(5)                       # kinds of operands; VALUE: a number that is part of the key
CONST, DATA, RESULT, F32, F64, I64, VERDICT = range(7)              # kinds of slots; F32 ... point to a number of that type, VERDICT to a 0
DIFF, SAVES_OUT, VIEW, UNSAFE, NO_BASE, BY_VALUE = 1, 2, 4, 8, 16, 32
GRAD, INFERENCE, SPECIAL = 1, 2, 4
MISS = 1
TP_FREE = 74                                # the number of a type's slot that frees an object's memory


def _ptr(f, name):
    return Val(f, f"@{name}", "ptr")


class Glue:
    """CPython and field access on a builder.Fn."""

    def __init__(self, f):
        self.f = f

    def ld(self, p, off, ty="ptr"):
        return self.f.load(ty, self.f.bytes_at(p, off), 8 if ty != "i32" else 4)

    def st(self, v, p, off):
        self.f.store(v, self.f.bytes_at(p, off), 8)

    def ctx(self, name, ty="ptr"):
        return self.ld(_ptr(self.f, "whet_ctx"), CTX[name], ty)

    def i64(self, p):
        return self.f.conv("ptrtoint", p, "i64")

    def ptr(self, i):
        return self.f.conv("inttoptr", self.f.as_val(i, "i64"), "ptr")

    def null(self, p):
        return self.f.cmp("eq", p, 0)

    def same(self, p, q):
        return self.f.cmp("eq", p, q)

    def absent(self, p):
        """NULL or None: fields that Python cleared hold None."""
        return self.f.binary("or", self.null(p), self.same(p, _ptr(self.f, "_Py_NoneStruct")))

    def call(self, name, ret, *args):
        return self.f.call(name, ret, *args)

    def inc(self, p):
        self.f.call("Py_IncRef", "void", p)

    def dec(self, p):
        self.f.call("Py_DecRef", "void", p)

    def type_of(self, o):
        return self.ld(o, 8)

    def none(self):
        """A new reference to None."""
        n = _ptr(self.f, "_Py_NoneStruct")
        self.inc(n)
        return n

    def new(self, type_name, fail):
        """A new object of one of our types with all its fields zero; without memory for it leaves for `fail`, the error set."""
        f = self.f
        p = f.call("_PyObject_New", "ptr", self.ctx(type_name))
        f.bail(self.null(p), fail)
        for off in FIELDS[type_name]:
            self.st(f.as_val(0, "i64"), p, off)
        return p

    def new_tensor(self, array, fail):
        """A leaf around an array, whose reference it takes over."""
        t = self.new("tensor", fail)
        self.st(array, t, T["array"])
        return t

    def cell_of(self, t, fail):
        """The version cell of a tensor, made when first needed: until then its slot holds nothing, or None."""
        have = self.ld(t, T["cell"])

        def make():
            c = self.new("cell", fail)
            self.dec(have)
            self.st(c, t, T["cell"])
            return [c]
        return self.f.if_(self.absent(have), make, lambda: [have])[0]


def _deallocs(m):
    for name, owned, weak in (("tensor", [T[k] for k in ("dict", "array", "node", "grad", "cell", "base", "extra")], T["weak"]),
                              ("cell", [C["writer"], C["aside"]], None)):
        f = m.fn(f"{name}_dealloc", [("ptr", "o")])
        g = Glue(f)
        o, = f.args
        tp = g.type_of(o)
        if weak is not None:
            f.if_(f.cmp("ne", g.ld(o, weak), 0), lambda: f.call("PyObject_ClearWeakRefs", "void", o))
        for off in owned:
            g.dec(g.ld(o, off))
        if name == "tensor":                     # a Python subclass is tracked by the garbage collector: its memory begins earlier
            def free_subclass():
                free = f.call("PyType_GetSlot", "ptr", tp, f.const("i32", TP_FREE))
                f.raw(f"call void {free.ref}(ptr {o.ref})")
            f.if_(f.cmp("eq", tp, g.ctx("tensor")), lambda: f.call("PyObject_Free", "void", o), free_subclass)
        else:
            f.call("PyObject_Free", "void", o)
        g.dec(tp)

    # A node that only the dying one holds goes on a list threaded through its `op` field: no recursion however long the chain.
    f = m.fn("node_dealloc", [("ptr", "o")])
    g = Glue(f)
    o, = f.args
    tp = g.type_of(o)
    head = f.alloca("i64", 1)
    g.dec(g.ld(o, N["op"]))
    g.st(f.as_val(0, "i64"), o, N["op"])
    f.store(o, head)
    f.br("loop")
    f.label("loop")
    cur = f.load("ptr", head)
    f.store(g.ld(cur, N["op"]), head)
    f.if_(f.cmp("ne", g.ld(cur, N["weak"]), 0), lambda: f.call("PyObject_ClearWeakRefs", "void", cur))
    for off in ("attrs", "pre_hooks", "post_hooks", "trace", "out_array", "out_cell"):
        g.dec(g.ld(cur, N[off]))
    for i in range(MAX_IN):
        g.dec(g.ld(cur, N["saved"] + 8 * i))
    for i in range(MAX_IN):
        child = g.ld(cur, N["edges"] + 8 * i)

        def maybe(child=child):
            mine = f.binary("and", g.same(g.type_of(child), tp), f.cmp("eq", g.ld(child, 0, "i64"), 1))

            def push():
                g.dec(g.ld(child, N["op"]))
                g.st(f.load("ptr", head), child, N["op"])
                f.store(child, head)
            f.if_(mine, push, lambda: g.dec(child))
        f.if_(f.cmp("ne", child, 0), maybe)
    f.call("PyObject_Free", "void", cur)
    g.dec(tp)
    f.cbr(g.null(f.load("ptr", head)), "done", "loop")
    f.label("done")


def _mix(f, h, x):
    h = f.binary("mul", f.binary("xor", h, x), -7046029254386353131)
    return h ^ f.lshr(h, 29)


def _thread(f):
    """The number of the calling thread (its state's address may be that of a thread which ended)."""
    return f.call("PyThreadState_GetID", "i64", f.call("PyThreadState_Get", "ptr"))


def _record(m):
    """whet_record(op, inputs, attrs, results): the Python side records a node."""
    f = m.fn("whet_record", [("ptr", "op"), ("ptr", "args"), ("ptr", "attrs"), ("ptr", "answer")], "ptr", "internal")
    g = Glue(f)
    box = f.alloca("i64", 4)
    for i, a in enumerate(f.args):
        f.store(a, f.at(box, i, "i64"), 8)
    f.ret(f.call("PyObject_Vectorcall", "ptr", g.ctx("record"), box, f.as_val(4, "i64"), Val(f, "null", "ptr")))


def _core(m):
    """core(op, inputs, n, attrs, writer) -> a new reference, null with an error set, or MISS.

    With a writer (the name of an in-place op) the result goes into the first operand's memory, and that operand is returned."""
    f = m.fn("core", [("ptr", "op"), ("ptr", "ins"), ("i64", "n"), ("ptr", "attrs"), ("ptr", "writer")], "ptr", "internal")
    g = Glue(f)
    op, ins, n, attrs, writer = f.args
    writing = f.cmp("ne", writer, 0)
    arrays, numbers, kinds = f.alloca("i64", MAX_IN), f.alloca("double", MAX_IN), f.alloca("i64", MAX_IN)
    typed = f.alloca("i64", MAX_IN)
    slots, outs = f.alloca("i64", MAX_SLOTS), f.alloca("i64", MAX_OUT)           # `outs`: the results' arrays, then the tensors around them
    wants, verdict, made = f.alloca("i64", 1), f.alloca("i64", 1), f.alloca("i64", 1)         # `made`: how many arrays are ours to let go of

    def word(p, i, ty="i64"):
        return f.load(ty, f.at(p, i, "i64"), 8)

    def put(p, i, v):
        f.store(v, f.at(p, i, "i64"), 8)

    # whose modes does CTX hold?
    here = _thread(f)

    def sync():
        r = f.call("PyObject_CallNoArgs", "ptr", g.ctx("sync"))
        f.bail(g.null(r), "error")
        g.dec(r)
    f.if_(f.cmp("ne", here, g.ctx("thread", "i64")), sync)
    flags = g.ctx("flags", "i64")
    f.bail(f.cmp("ne", flags & (SPECIAL | INFERENCE), 0), "miss")
    f.bail(f.cmp("sgt", n, MAX_IN), "miss")
    f.store(f.as_val(0, "i64"), wants)
    tensor_t, parameter_t = g.ctx("tensor"), g.ctx("parameter")

    # the operands, and a hash of what is known of them
    def operand(i, h):
        o = word(ins, i, "ptr")
        t = g.type_of(o)
        is_tensor = f.binary("or", g.same(t, tensor_t), g.same(t, parameter_t))

        def tensor():
            a = g.ld(o, T["array"])
            f.bail(g.null(a), "miss")
            f.bail(f.cmp("ne", g.type_of(a), _ptr(f, "whet_ndarray")), "miss")
            base = g.ld(o, T["base"])

            def fresh():
                f.bail(f.cmp("ne", g.ld(g.ld(o, T["cell"]), C["h"], "i64"), g.ld(o, T["hist"], "i64")), "miss")
            f.if_(g.absent(base), None_, fresh)
            rg = g.ld(o, T["rg"], "i64")
            f.bail(f.cmp("ne", rg & 2, 0), "miss")
            f.store(f.load("i64", wants) | (rg & 1), wants)
            nd = f.conv("zext", g.ld(a, A["nd"], "i32"), "i64")
            f.bail(f.cmp("sgt", nd, MAX_DIMS), "miss")
            f.bail(f.cmp("eq", g.ld(a, A["flags"], "i32") & 0x100, 0), "miss")
            dims, strides = g.ld(a, A["dims"]), g.ld(a, A["strides"])
            x = _mix(f, h, g.i64(g.ld(a, A["descr"])) + nd)
            x, = f.loop(0, nd, 1, lambda d, x: [_mix(f, _mix(f, x, word(dims, d)), word(strides, d))], [x])
            put(arrays, i, a)
            put(kinds, i, f.as_val(TENSOR, "i64"))
            return [x]

        def number():
            def real():
                f.store(g.ld(o, HEAD, "double"), f.at(numbers, i, "double"))
                put(kinds, i, f.as_val(FLOAT, "i64"))
                return [_mix(f, h, FLOAT)]

            def other():
                def whole():
                    v = f.call("PyLong_AsDouble", "double", o)
                    size = f.fabs(v)
                    f.bail(f.binary("xor", f.cmp("olt", size, 9007199254740992.0), 1), "unset")   # exact as a double

                    def failed():
                        f.bail(f.cmp("ne", f.call("PyErr_Occurred", "ptr"), 0), "unset")
                    f.if_(f.cmp("oeq", v, -1.0), failed)
                    f.store(v, f.at(numbers, i, "double"))
                    put(kinds, i, f.as_val(INT, "i64"))
                    return [_mix(f, h, INT)]

                def rest():
                    f.bail(f.cmp("ne", o, _ptr(f, "_Py_NoneStruct")), "miss")
                    put(kinds, i, f.as_val(NOTHING, "i64"))
                    return [_mix(f, h, 77)]
                return f.if_(g.same(t, _ptr(f, "PyLong_Type")), whole, rest)
            return f.if_(g.same(t, _ptr(f, "PyFloat_Type")), real, other)
        return f.if_(is_tensor, tensor, number)

    def None_():
        return []
    h, = f.loop(0, n, 1, operand, [_mix(f, g.i64(op), n)])

    # the recipe
    bucket = g.ld(f.bytes_at(_ptr(f, "whet_ctx"), CTX["table"]), (h & (BUCKETS - 1)) << 3)
    f.br("chain_in")
    f.label("chain_in")
    before = f.block
    f.br("chain")
    f.label("chain")
    at = len(f.lines)
    f.lines.append("")
    r = Val(f, f.new(), "ptr")
    f.bail(g.null(r), "miss")
    f.bail(f.cmp("ne", g.ld(r, R["hash"], "i64"), h), "next")
    f.bail(f.cmp("ne", g.ld(r, R["op"]), op), "next")
    f.bail(f.cmp("ne", g.ld(r, R["nin"], "i64"), n), "next")

    def matches(i, ok):
        q = f.bytes_at(r, R["operands"] + 0)
        q = f.bytes_at(q, i * OPERAND)
        kind, mine = word(q, 0), word(kinds, i)

        def tensor():
            a = word(arrays, i, "ptr")
            nd = f.conv("zext", g.ld(a, A["nd"], "i32"), "i64")
            dims, strides = g.ld(a, A["dims"]), g.ld(a, A["strides"])
            bad = f.binary("or", f.cmp("ne", word(q, 1), g.i64(g.ld(a, A["descr"]))), f.cmp("ne", word(q, 2), nd))
            diff, = f.loop(0, f.sel(bad, 0, nd), 1, lambda d, x: [
                x | (word(dims, d) ^ word(q, d + 3)) | (word(strides, d) ^ word(q, d + (3 + MAX_DIMS)))], [f.as_val(0, "i64")])
            return [f.binary("and", f.binary("xor", bad, 1), f.cmp("eq", diff, 0))]

        def number():
            same = f.cmp("eq", kind, mine)
            bits = f.cmp("eq", word(q, 1), word(numbers, i))
            by_value = f.cmp("ne", g.ld(r, R["flags"], "i64") & BY_VALUE, 0)
            is_number = f.cmp("ne", kind, NOTHING)
            return [f.binary("and", same, f.binary("or", bits, f.binary("xor", f.binary("and", by_value, is_number), 1)))]
        both = f.binary("and", f.cmp("eq", kind, TENSOR), f.cmp("eq", mine, TENSOR))
        good, = f.if_(both, tensor, number)
        return [f.binary("and", ok, good)]
    ok, = f.loop(0, n, 1, matches, [f.as_val(1, "i1")])
    f.bail(f.binary("xor", ok, 1), "next")
    theirs = g.ld(r, R["attrs"])

    def compare():
        e = f.call("PyObject_RichCompareBool", "i32", attrs, theirs, f.as_val(2, "i32"))
        f.bail(f.cmp("slt", e, 0), "error")
        return [f.cmp("eq", e, 1)]
    equal, = f.if_(g.same(attrs, theirs), lambda: [f.as_val(1, "i1")], compare)
    f.cbr(equal, "found", "next")
    f.label("next")
    follow = g.ld(r, R["next"])
    f.br("chain")
    f.lines[at] = f" {r.ref} = phi ptr [{bucket.ref}, %{before}], [{follow.ref}, %next]"

    f.label("found")
    rflags, nouts = g.ld(r, R["flags"], "i64"), g.ld(r, R["nouts"], "i64")
    _may_write(f, g, writing, r, flags, rflags, nouts, n, wants, ins, kinds, arrays, word)

    # the results
    f.store(f.as_val(0, "i64"), made)

    def result(i):
        q = f.bytes_at(f.bytes_at(r, R["outs"]), i * OUT)
        descr, nd, plain = word(q, 0, "ptr"), word(q, 1), word(q, 2)
        dims, strides = f.at(q, 3, "i64"), f.at(q, 3 + MAX_DIMS, "i64")

        def here():
            return [word(arrays, 0, "ptr")]

        def elsewhere():
            return f.if_(f.cmp("ne", rflags & VIEW, 0), view, fresh)

        def view():
            return [window(f, g, word(arrays, 0, "ptr"), descr, nd, dims, strides, word(q, 2), "lost")]

        def fresh():
            v = f.call("whet_array_new", "ptr", descr, nd, dims, f.sel(f.cmp("ne", plain, 0), Val(f, "null", "ptr"), strides))
            f.bail(g.null(v), "lost")
            return [v]
        v, = f.if_(writing, here, elsewhere)
        put(outs, i, v)
        f.store(f.sel(writing, 0, i + 1), made)
    f.loop(0, nouts, 1, result)

    # the kernel
    kernel = g.ld(r, R["kernel"])

    def launch():
        def slot(i):
            q = f.bytes_at(f.bytes_at(r, R["slots"]), i * SLOT)
            kind, value = word(q, 0), word(q, 1)

            def named():
                def data():
                    which, off = value & 255, value >> 8
                    return [g.i64(g.ld(word(arrays, which, "ptr"), A["data"])) + off]

                def more():
                    def out():
                        which, off = value & 255, value >> 8
                        return [g.i64(g.ld(word(outs, which, "ptr"), A["data"])) + off]

                    def number():
                        x = f.load("double", f.at(numbers, value, "double"))
                        place = f.at(typed, value, "i64")
                        f.if_(f.cmp("eq", kind, F32), lambda: f.store(f.conv("fptrunc", x, "float"), place, 8),
                              lambda: f.if_(f.cmp("eq", kind, F64), lambda: f.store(x, place, 8),
                                            lambda: f.store(f.conv("fptosi", x, "i64"), place, 8)) and None)
                        return [g.i64(place)]
                    def value_of():
                        return f.if_(f.cmp("eq", kind, VERDICT), lambda: [g.i64(verdict)], number)
                    return f.if_(f.cmp("eq", kind, RESULT), out, value_of)
                return f.if_(f.cmp("eq", kind, DATA), data, more)
            v, = f.if_(f.cmp("eq", kind, CONST), lambda: [value], named)
            put(slots, i, v)
        f.loop(0, g.ld(r, R["nslots"], "i64"), 1, slot)

        def release(run):
            # while a thread is away from the interpreter no recipe may be freed: it comes back to one
            block = _ptr(f, "whet_ctx")
            g.st(g.ctx("away", "i64") + 1, block, CTX["away"])
            th = f.call("PyEval_SaveThread", "ptr")
            run()
            f.call("PyEval_RestoreThread", "void", th)
            g.st(g.ctx("away", "i64") - 1, block, CTX["away"])
        launching.emit(f, kernel, slots, g.ld(r, R["total"], "i64"), g.ld(r, R["grain"], "i64"), release)
    f.store(f.as_val(0, "i64"), verdict)
    f.if_(f.cmp("ne", kernel, 0), launch)

    def let_go():
        f.loop(0, f.load("i64", made), 1, lambda i: g.dec(word(outs, i, "ptr")))
    f.bail(f.cmp("ne", f.load("i64", verdict), 0), "refused")       # an index out of range: Python finds the words

    src = word(ins, 0, "ptr")
    f.cbr(writing, "written", "around")
    f.label("written")
    cell = g.ld(src, T["cell"])                     # (made before the kernel ran)
    g.st(g.ld(cell, C["v"], "i64") + 1, cell, C["v"])
    g.inc(writer)
    g.dec(g.ld(cell, C["writer"]))
    g.st(writer, cell, C["writer"])
    g.inc(src)
    f.ret(src)

    # tensors around the results
    f.label("around")
    view = f.cmp("ne", rflags & VIEW, 0)

    def wrap(i):
        t = g.new_tensor(word(outs, i, "ptr"), "lost")
        put(outs, i, t)
        f.if_(view, lambda: share(f, g, src, t, "lost", flags, f.cmp("ne", rflags & UNSAFE, 0), f.cmp("eq", rflags & NO_BASE, 0)))
    f.loop(0, nouts, 1, wrap)
    single = f.cmp("eq", nouts, 1)

    def several():
        tup = f.call("PyTuple_New", "ptr", nouts)
        f.bail(g.null(tup), "lost")
        f.loop(0, nouts, 1, lambda i: f.call("PyTuple_SetItem", "i32", tup, i, word(outs, i, "ptr")) and None)
        return [tup]
    answer, = f.if_(single, lambda: [word(outs, 0, "ptr")], several)
    grads = f.binary("and", f.cmp("ne", f.load("i64", wants), 0), f.cmp("eq", (flags & GRAD) & (rflags & DIFF), 1))
    f.bail(f.binary("xor", grads, 1), "done")

    def python_record():
        args = f.call("PyTuple_New", "ptr", n)
        f.bail(g.null(args), "unwind")

        def give(i):
            o = word(ins, i, "ptr")
            g.inc(o)
            f.call("PyTuple_SetItem", "i32", args, i, o)
        f.loop(0, n, 1, give)
        a = f.call("whet_record", "ptr", op, args, attrs, answer)
        g.dec(args)
        f.bail(g.null(a), "unwind")
        g.dec(a)

    def native_record():
        t = answer
        node = g.new("node", "unwind")
        g.st(node, t, T["node"])                     # (the tensor's to let go of, should this end here)
        g.inc(op)
        g.st(op, node, N["op"])
        g.inc(attrs)
        g.st(attrs, node, N["attrs"])
        seq = g.ctx("seq", "i64")
        g.st(seq, node, N["seq"])
        g.st(seq + 1, _ptr(f, "whet_ctx"), CTX["seq"])
        g.st(n, node, N["nin"])
        saves = g.ld(r, R["saves"], "i64")

        def each(i):
            o = word(ins, i, "ptr")
            is_tensor = f.cmp("eq", word(kinds, i), TENSOR)

            def tensor():
                def edge():
                    made = g.ld(o, T["node"])
                    e = f.sel(g.absent(made), o, made)
                    g.inc(e)
                    put(f.bytes_at(node, N["edges"]), i, e)
                f.if_(f.cmp("ne", g.ld(o, T["rg"], "i64") & 1, 0), edge)

                def keep():
                    cell = g.ld(o, T["cell"])
                    v, = f.if_(g.absent(cell), lambda: [f.as_val(0, "i64")], lambda: [g.ld(cell, C["v"], "i64")])
                    put(f.bytes_at(node, N["versions"]), i, v)
                    return [o]
                bit = f.binary("lshr", saves, i) & 1
                kept, = f.if_(f.cmp("ne", bit, 0), keep, lambda: [word(f.bytes_at(r, R["metas"]), i, "ptr")])
                return [kept]
            kept, = f.if_(is_tensor, tensor, lambda: [o])
            g.inc(kept)
            put(f.bytes_at(node, N["saved"]), i, kept)
        f.loop(0, n, 1, each)

        def output():
            cell = g.cell_of(t, "unwind")
            g.inc(cell)
            g.st(cell, node, N["out_cell"])
            g.st(g.ld(cell, C["v"], "i64"), node, N["out_version"])
            arr = g.ld(t, T["array"])
            g.inc(arr)
            g.st(arr, node, N["out_array"])
        f.if_(f.cmp("ne", rflags & SAVES_OUT, 0), output)
        g.st(g.ld(t, T["rg"], "i64") | 1, t, T["rg"])
    f.if_(single, native_record, python_record)
    f.br("done")
    f.label("done")
    f.ret(answer)
    f.label("unwind")
    g.dec(answer)
    f.br("error")
    f.label("refused")
    let_go()
    f.br("miss")
    f.label("lost")                                  # no memory
    let_go()
    f.br("error")
    f.label("unset")
    f.call("PyErr_Clear", "void")
    f.br("miss")
    f.label("miss")
    f.ret(Val(f, f"inttoptr (i64 {MISS} to ptr)", "ptr"))
    f.label("error")
    f.ret(Val(f, "null", "ptr"))


def around(m):
    """around(array): a leaf around an array whose reference it takes; null with an error set, and the array let go of."""
    f = m.fn("around", [("ptr", "a")], "ptr", "internal")
    g = Glue(f)
    f.ret(g.new_tensor(f.args[0], "lost"))
    f.label("lost")
    g.dec(f.args[0])
    f.ret(Val(f, "null", "ptr"))


def window(f, g, arr, descr, nd, dims, strides, offset, fail):
    """A new array that shows the memory of another, from `offset` bytes behind its first element on."""
    g.inc(descr)
    v = f.call("whet_NewFromDescr", "ptr", _ptr(f, "whet_ndarray"), descr, f.conv("trunc", nd, "i32"), dims, strides,
               f.bytes_at(g.ld(arr, A["data"]), offset), g.ld(arr, A["flags"], "i32") & 0x400, f.as_val(0, "ptr"))
    f.bail(g.null(v), fail)
    g.inc(arr)
    f.call("whet_SetBaseObject", "i32", v, arr)
    return v


def share(f, g, src, t, fail, flags=None, unsafe=None, based=True):
    """Make the new tensor `t` a view of `src`: one version cell, the base whose history it follows, and with `flags` what the view may be used
    for."""
    cell = g.cell_of(src, fail)
    g.inc(cell)
    g.st(cell, t, T["cell"])
    g.st(g.ld(cell, C["h"], "i64"), t, T["hist"])

    def base():
        b = g.ld(src, T["base"])

        def inherit():
            g.inc(b)
            return [b, g.ld(src, T["rg"], "i64") & 12]

        def own():
            g.inc(src)
            return [src, f.as_val(0, "i64")]
        root, bits = f.if_(g.absent(b), own, inherit)
        g.st(root, t, T["base"])
        if flags is None:
            return
        silent = f.sel(f.cmp("eq", flags & GRAD, 0), 4, f.as_val(0, "i64"))
        g.st(bits | silent | f.sel(unsafe, 8, f.as_val(0, "i64")), t, T["rg"])
    if based is True:
        base()
    else:
        f.if_(based, base)


def _may_write(f, g, writing, r, flags, rflags, nouts, n, wants, ins, kinds, arrays, word):
    """In place: leave for the Python path unless nothing is recorded (nor need be for the base of a view), the result fits the first
    operand exactly, and no other operand shares its memory in another way than being it."""
    def check():
        f.bail(f.cmp("ne", f.load("i64", wants) & flags & GRAD, 0), "miss")
        f.bail(f.cmp("ne", rflags & (VIEW | BY_VALUE), 0), "miss")
        f.bail(f.cmp("ne", nouts, 1), "miss")
        f.bail(f.cmp("ne", word(kinds, 0), TENSOR), "miss")
        base = g.ld(word(ins, 0, "ptr"), T["base"])
        f.if_(g.absent(base), lambda: None, lambda: f.bail(f.cmp("ne", g.ld(base, T["rg"], "i64") & flags & GRAD, 0), "miss"))
        a = word(arrays, 0, "ptr")
        f.bail(f.cmp("ne", g.ld(a, A["flags"], "i32") & 0x401, 0x401), "miss")
        q = f.bytes_at(r, R["outs"])
        nd = f.conv("zext", g.ld(a, A["nd"], "i32"), "i64")
        f.bail(f.cmp("ne", word(q, 0), g.i64(g.ld(a, A["descr"]))), "miss")
        f.bail(f.cmp("ne", word(q, 1), nd), "miss")
        dims, strides = g.ld(a, A["dims"]), g.ld(a, A["strides"])
        item = f.at(q, 3 + MAX_DIMS, "i64")
        diff, size = f.loop(0, nd, 1, lambda d, x, s: [
            x | (word(dims, d) ^ word(q, d + 3)) | (word(strides, d) ^ word(item, d)), f.binary("mul", s, word(dims, d))],
            [f.as_val(0, "i64"), f.as_val(1, "i64")])
        f.bail(f.cmp("ne", diff, 0), "miss")
        low = g.i64(g.ld(a, A["data"]))
        widest = g.ld(r, R["itemsize"], "i64")
        high = low + size * widest

        def other(i):
            def tensor():
                b = word(arrays, i, "ptr")
                f.bail(f.cmp("eq", g.ld(b, A["flags"], "i32") & 1, 0), "miss")
                at = g.i64(g.ld(b, A["data"]))
                bdims = g.ld(b, A["dims"])
                bnd = f.conv("zext", g.ld(b, A["nd"], "i32"), "i64")
                count, = f.loop(0, bnd, 1, lambda d, s: [f.binary("mul", s, word(bdims, d))], [f.as_val(1, "i64")])
                itself = f.binary("and", f.binary("and", f.cmp("eq", at, low), f.cmp("eq", count, size)),
                                  g.same(g.ld(b, A["descr"]), g.ld(a, A["descr"])))
                apart = f.binary("or", f.cmp("sge", at, high), f.cmp("sle", at + count * widest, low))
                f.bail(f.binary("xor", f.binary("or", itself, apart), 1), "miss")
            f.if_(f.cmp("eq", word(kinds, i), TENSOR), tensor)
        f.loop(1, n, 1, other)
        g.cell_of(word(ins, 0, "ptr"), "error")     # what may fail does so before anything is written
    f.if_(writing, check)


def _nodes(m):
    """What the engine asks of a node at every step, without the interpreter."""
    # edges: a tuple with None where nothing flows
    f = m.fn("node_edges", [("ptr", "o"), ("ptr", "closure")], "ptr")
    g = Glue(f)
    o, _ = f.args
    n = g.ld(o, N["nin"], "i64")
    t = f.call("PyTuple_New", "ptr", n)
    f.bail(g.null(t), "fail")

    def edge(i):
        e = f.load("ptr", f.at(f.bytes_at(o, N["edges"]), i, "i64"), 8)
        e = f.sel(g.null(e), _ptr(f, "_Py_NoneStruct"), e)
        g.inc(e)
        f.call("PyTuple_SetItem", "i32", t, i, e)
    f.loop(0, n, 1, edge)
    f.br("fail")
    f.label("fail")
    f.ret(t)

    # saved_inputs(): the inputs if none was written since, else (and after a release) the Python method decides
    f = m.fn("node_saved_inputs", [("ptr", "o"), ("ptr", "unused")], "ptr")
    g = Glue(f)
    o, _ = f.args
    n = g.ld(o, N["nin"], "i64")
    f.bail(f.cmp("ne", g.ld(o, N["released"], "i64"), 0), "slow")
    tensor_t, parameter_t = g.ctx("tensor"), g.ctx("parameter")

    def current(i):
        x = f.load("ptr", f.at(f.bytes_at(o, N["saved"]), i, "i64"), 8)
        f.bail(g.null(x), "slow")
        t = g.type_of(x)

        def version():
            cell = g.ld(x, T["cell"])
            v, = f.if_(g.absent(cell), lambda: [f.as_val(0, "i64")], lambda: [g.ld(cell, C["v"], "i64")])
            f.bail(f.cmp("ne", v, f.load("i64", f.at(f.bytes_at(o, N["versions"]), i, "i64"), 8)), "slow")
        f.if_(f.binary("or", g.same(t, tensor_t), g.same(t, parameter_t)), version)
    f.loop(0, n, 1, current)
    t = f.call("PyTuple_New", "ptr", n)
    f.bail(g.null(t), "fail")

    def saved(i):
        x = f.load("ptr", f.at(f.bytes_at(o, N["saved"]), i, "i64"), 8)
        g.inc(x)
        f.call("PyTuple_SetItem", "i32", t, i, x)
    f.loop(0, n, 1, saved)
    f.br("fail")
    f.label("fail")
    f.ret(t)
    f.label("slow")
    box = f.alloca("i64", 1)
    f.store(o, box, 8)
    f.ret(f.call("PyObject_Vectorcall", "ptr", g.ctx("stale"), box, f.as_val(1, "i64"), Val(f, "null", "ptr")))

    # release(): drop what was saved
    f = m.fn("node_release", [("ptr", "o"), ("ptr", "unused")], "ptr")
    g = Glue(f)
    o, _ = f.args
    n = g.ld(o, N["nin"], "i64")
    tensor_t, parameter_t = g.ctx("tensor"), g.ctx("parameter")

    def drop(i):
        at = f.at(f.bytes_at(o, N["saved"]), i, "i64")
        x = f.load("ptr", at, 8)

        def clear():
            t = g.type_of(x)
            mine = f.binary("or", g.same(t, tensor_t), g.same(t, parameter_t))

            def tensor():
                g.st(f.as_val(1, "i64"), o, N["released"])
                f.store(Val(f, "null", "ptr"), at, 8)
                g.dec(x)
            f.if_(mine, tensor)
        f.if_(f.cmp("ne", x, 0), clear)
    f.loop(0, n, 1, drop)
    out = g.ld(o, N["out_cell"])

    def outputs():
        g.st(f.as_val(1, "i64"), o, N["released"])
        arr = g.ld(o, N["out_array"])
        g.st(Val(f, "null", "ptr"), o, N["out_array"])
        g.st(Val(f, "null", "ptr"), o, N["out_cell"])
        g.dec(arr)
        g.dec(out)
    f.if_(g.absent(out), lambda: [], outputs)
    f.ret(g.none())


def _doors(m):
    """The callables: apply(op, inputs, attrs), nb_* slots, methods and functions by descriptor number."""
    f = m.fn("apply", [("ptr", "self"), ("ptr", "argv"), ("i64", "count")], "ptr")
    g = Glue(f)
    _, argv, count = f.args
    f.bail(f.cmp("ne", count, 3), "slow")
    op, ins, attrs = (f.load("ptr", f.at(argv, i, "i64"), 8) for i in range(3))
    f.bail(f.cmp("ne", g.type_of(ins), _ptr(f, "PyTuple_Type")), "slow")
    empty = f.cmp("eq", f.call("PyDict_Size", "i64", attrs), 0)
    attrs = f.sel(empty, g.ctx("empty"), attrs)
    r = f.call("core", "ptr", op, f.bytes_at(ins, 24), g.ld(ins, 16, "i64"), attrs, Val(f, "null", "ptr"))
    f.bail(f.cmp("eq", g.i64(r), MISS), "slow")
    f.ret(r)
    f.label("slow")
    f.ret(f.call("PyObject_Vectorcall", "ptr", g.ctx("slow"), argv, count, Val(f, "null", "ptr")))

    # door(number, argv, count, kwnames): a descriptor's op on `count` positional operands
    f = m.fn("door", [("i64", "k"), ("ptr", "argv"), ("i64", "count"), ("ptr", "kw")], "ptr", "internal")
    g = Glue(f)
    k, argv, count, kw = f.args
    d = f.bytes_at(f.bytes_at(_ptr(f, "whet_ctx"), CTX["desc"]), k * DESC["size"])
    f.bail(f.cmp("ne", kw, 0), "slow")
    f.bail(f.cmp("ne", count, g.ld(d, DESC["count"], "i64")), "slow")
    r = f.call("core", "ptr", g.ld(d, DESC["op"]), argv, count, g.ld(d, DESC["attrs"]), g.ld(d, DESC["writer"]))
    f.bail(f.cmp("eq", g.i64(r), MISS), "slow")
    f.ret(r)
    f.label("slow")
    f.ret(f.call("PyObject_Vectorcall", "ptr", g.ld(d, DESC["slow"]), argv, count, kw))

    # binary slots: the left or the right operand is a tensor
    f = m.fn("binary", [("i64", "k"), ("ptr", "a"), ("ptr", "b")], "ptr", "internal")
    g = Glue(f)
    k, a, b = f.args
    box = f.alloca("i64", 2)
    f.store(a, box, 8)
    f.store(b, f.at(box, 1, "i64"), 8)
    d = f.bytes_at(f.bytes_at(_ptr(f, "whet_ctx"), CTX["desc"]), k * DESC["size"])
    r = f.call("core", "ptr", g.ld(d, DESC["op"]), box, f.as_val(2, "i64"), g.ld(d, DESC["attrs"]), Val(f, "null", "ptr"))
    f.bail(f.cmp("eq", g.i64(r), MISS), "slow")
    f.ret(r)
    f.label("slow")
    left = f.call("PyType_IsSubtype", "i32", g.type_of(a), g.ctx("tensor"))

    def direct():
        return [f.call("PyObject_Vectorcall", "ptr", g.ld(d, DESC["slow"]), box, f.as_val(2, "i64"), Val(f, "null", "ptr"))]

    def swapped():
        f.store(b, box, 8)
        f.store(a, f.at(box, 1, "i64"), 8)
        return [f.call("PyObject_Vectorcall", "ptr", g.ld(d, DESC["reflected"]), box, f.as_val(2, "i64"), Val(f, "null", "ptr"))]
    r, = f.if_(f.cmp("ne", left, 0), direct, swapped)
    f.ret(r)

    for name in SLOTS:
        k = SLOTS.index(name)
        if name in UNARY:
            f = m.fn(f"nb_{name}", [("ptr", "a")], "ptr")
            box = f.alloca("i64", 1)
            f.store(f.args[0], box, 8)
            f.ret(f.call("door", "ptr", f.as_val(k, "i64"), box, f.as_val(1, "i64"), Val(f, "null", "ptr")))
        else:
            f = m.fn(f"nb_{name}", [("ptr", "a"), ("ptr", "b")], "ptr")
            f.ret(f.call("binary", "ptr", f.as_val(k, "i64"), *f.args))

    # a method has its operand in `self`: put in front of the others; more than a few are left to a tuple-free slow call
    f = m.fn("method", [("i64", "k"), ("ptr", "self"), ("ptr", "argv"), ("i64", "count"), ("ptr", "kw")], "ptr", "internal")
    g = Glue(f)
    k, self, argv, count, kw = f.args
    names, = f.if_(f.cmp("ne", kw, 0), lambda: [f.call("PyTuple_Size", "i64", kw)], lambda: [f.as_val(0, "i64")])
    box = f.alloca("i64", 65)
    f.bail(f.cmp("sgt", names + count, 64), "many")
    f.store(self, box, 8)
    f.loop(0, names + count, 1, lambda i: f.store(f.load("ptr", f.at(argv, i, "i64"), 8), f.at(box, i + 1, "i64"), 8))
    f.ret(f.call("door", "ptr", k, box, count + 1, kw))
    f.label("many")
    e = f.load("ptr", _ptr(f, "PyExc_TypeError"))
    f.call("PyErr_SetString", "void", e, Val(f, "@too_many", "ptr"))
    f.ret(Val(f, "null", "ptr"))
    for k in range(THUNKS):
        f = m.fn(f"method{k}", [("ptr", "self"), ("ptr", "argv"), ("i64", "count"), ("ptr", "kw")], "ptr")
        f.ret(f.call("method", "ptr", f.as_val(k, "i64"), *f.args))

    # a function's `self` is its descriptor's number
    f = m.fn("function", [("ptr", "self"), ("ptr", "argv"), ("i64", "count"), ("ptr", "kw")], "ptr")
    f.ret(f.call("door", "ptr", f.call("PyLong_AsSsize_t", "i64", f.args[0]), *f.args[1:]))

    f = m.fn("next_number", [("ptr", "self"), ("ptr", "none")], "ptr")
    g = Glue(f)
    seq = g.ctx("seq", "i64")
    g.st(seq + 1, _ptr(f, "whet_ctx"), CTX["seq"])
    f.ret(f.call("PyLong_FromLongLong", "ptr", seq))

    # set_flags(flags): the modes of the calling thread
    f = m.fn("set_flags", [("ptr", "self"), ("ptr", "flags")], "ptr")
    g = Glue(f)
    v = f.call("PyLong_AsLongLong", "i64", f.args[1])
    g.st(v, _ptr(f, "whet_ctx"), CTX["flags"])
    g.st(_thread(f), _ptr(f, "whet_ctx"), CTX["thread"])
    f.ret(g.none())

    # wrap(array): a leaf tensor
    f = m.fn("wrap", [("ptr", "self"), ("ptr", "a")], "ptr")
    g = Glue(f)
    a = f.args[1]
    f.bail(f.cmp("ne", g.type_of(a), _ptr(f, "whet_ndarray")), "convert")
    g.inc(a)
    f.br("make")
    f.label("convert")
    box = f.alloca("i64", 1)
    f.store(a, box, 8)
    made = f.call("PyObject_Vectorcall", "ptr", g.ld(_ptr(f, "whet_ctx"), 8 * 20), box, f.as_val(1, "i64"), Val(f, "null", "ptr"))
    f.bail(g.null(made), "error")
    end = f.block
    f.br("make")
    f.label("make")
    arr = f.v("ptr", f"phi ptr [{a.ref}, %ok{_before(f)}], [{made.ref}, %{end}]")
    f.ret(f.call("around", "ptr", arr))
    f.label("error")
    f.ret(Val(f, "null", "ptr"))


def _views(m):
    """Views of a tensor when nothing is recorded: of an array (view_of), by basic indices (subscript), in another shape (reshape)."""
    # unrecorded(tensor): its array if a view of it may be made here, else null
    f = m.fn("unrecorded", [("ptr", "o")], "ptr", "internal")
    g = Glue(f)
    o, = f.args
    t = g.type_of(o)
    f.bail(f.binary("xor", f.binary("or", g.same(t, g.ctx("tensor")), g.same(t, g.ctx("parameter"))), 1), "no")
    arr = g.ld(o, T["array"])
    f.bail(g.null(arr), "no")
    f.bail(f.cmp("ne", g.type_of(arr), _ptr(f, "whet_ndarray")), "no")
    f.bail(f.cmp("ne", _thread(f), g.ctx("thread", "i64")), "no")
    flags = g.ctx("flags", "i64")
    f.bail(f.cmp("ne", flags & (SPECIAL | INFERENCE), 0), "no")
    grad = f.cmp("ne", flags & GRAD, 0)
    rg = g.ld(o, T["rg"], "i64")
    f.bail(f.binary("and", grad, f.cmp("ne", rg & 1, 0)), "no")
    f.bail(f.cmp("ne", rg & 2, 0), "no")
    base = g.ld(o, T["base"])

    def fresh():
        f.bail(f.cmp("ne", g.ld(g.ld(o, T["cell"]), C["h"], "i64"), g.ld(o, T["hist"], "i64")), "no")
    f.if_(g.absent(base), lambda: [], fresh)
    f.ret(arr)
    f.label("no")
    f.ret(Val(f, "null", "ptr"))

    # view(tensor, array): steals the array
    f = m.fn("view", [("ptr", "src"), ("ptr", "arr")], "ptr", "internal")
    g = Glue(f)
    src, arr = f.args
    t = g.new_tensor(arr, "lost")
    share(f, g, src, t, "unwind", g.ctx("flags", "i64"), f.as_val(0, "i1"), f.as_val(1, "i1"))
    f.ret(t)
    f.label("lost")
    g.dec(arr)
    f.br("error")
    f.label("unwind")
    g.dec(t)
    f.br("error")
    f.label("error")
    f.ret(Val(f, "null", "ptr"))

    # part(tensor, its array, nd, dims, strides, offset): the view of that layout
    f = m.fn("part", [("ptr", "src"), ("ptr", "arr"), ("i64", "nd"), ("ptr", "dims"), ("ptr", "strides"), ("i64", "offset")], "ptr", "internal")
    g = Glue(f)
    src, arr, nd, dims, strides, offset = f.args
    v = window(f, g, arr, g.ld(arr, A["descr"]), nd, dims, strides, offset, "fail")
    f.ret(f.call("view", "ptr", src, v))
    f.label("fail")
    f.ret(Val(f, "null", "ptr"))

    f = m.fn("view_of", [("ptr", "self"), ("ptr", "argv"), ("i64", "count")], "ptr")
    g = Glue(f)
    src, arr = f.load("ptr", f.args[1], 8), f.load("ptr", f.at(f.args[1], 1, "i64"), 8)

    def sync():
        r = f.call("PyObject_CallNoArgs", "ptr", g.ctx("sync"))
        f.bail(g.null(r), "error")
        g.dec(r)
    f.if_(f.cmp("ne", _thread(f), g.ctx("thread", "i64")), sync)
    g.inc(arr)
    f.ret(f.call("view", "ptr", src, arr))
    f.label("error")
    f.ret(Val(f, "null", "ptr"))
    _subscript(m)
    _reshape(m)


def _subscript(m):
    """tensor[key] for ints, slices without a step, None and Ellipsis; anything else is the Python function's."""
    f = m.fn("subscript", [("ptr", "o"), ("ptr", "key")], "ptr")
    g = Glue(f)
    o, key = f.args
    dims, strides, one, box = f.alloca("i64", 64), f.alloca("i64", 64), f.alloca("i64", 1), f.alloca("i64", 2)
    arr = f.call("unrecorded", "ptr", o)
    f.bail(g.null(arr), "slow")
    nd = f.conv("zext", g.ld(arr, A["nd"], "i32"), "i64")
    adims, astrides = g.ld(arr, A["dims"]), g.ld(arr, A["strides"])
    f.store(key, one, 8)
    is_tuple = g.same(g.type_of(key), _ptr(f, "PyTuple_Type"))
    items, n = f.if_(is_tuple, lambda: [f.bytes_at(key, 24), g.ld(key, 16, "i64")], lambda: [f.bytes_at(one, 0), f.as_val(1, "i64")])
    f.bail(f.cmp("sgt", n, 16), "slow")
    f.bail(f.cmp("sgt", nd, 32), "slow")
    none, dots = _ptr(f, "_Py_NoneStruct"), _ptr(f, "_Py_EllipsisObject")

    def word(p, i, ty="i64"):
        return f.load(ty, f.at(p, i, "i64"), 8)

    def put(p, i, v):
        f.store(v, f.at(p, i, "i64"), 8)

    # how many dimensions are named; nothing but the four kinds
    def count(i, named, ellipses):
        x = word(items, i, "ptr")
        t = g.type_of(x)
        is_dim = f.binary("or", g.same(t, _ptr(f, "PyLong_Type")), g.same(t, _ptr(f, "PySlice_Type")))
        is_dots = g.same(x, dots)
        known = f.binary("or", f.binary("or", is_dim, is_dots), g.same(x, none))
        f.bail(f.binary("xor", known, 1), "slow")
        return [named + f.conv("zext", is_dim, "i64"), ellipses + f.conv("zext", is_dots, "i64")]
    named, ellipses = f.loop(0, n, 1, count, [f.as_val(0, "i64"), f.as_val(0, "i64")])
    f.bail(f.cmp("sgt", named, nd), "slow")
    f.bail(f.cmp("sgt", ellipses, 1), "slow")

    def integer(x):
        """An exact int as i64 (leaves for the slow path where it does not fit)."""
        v = f.call("PyLong_AsSsize_t", "i64", x)

        def failed():
            f.bail(f.cmp("ne", f.call("PyErr_Occurred", "ptr"), 0), "unset")
        f.if_(f.cmp("eq", v, -1), failed)
        return v

    def copy(d, out, times):
        def one_dim(k, d, out):
            put(dims, out, word(adims, d))
            put(strides, out, word(astrides, d))
            return [d + 1, out + 1]
        return f.loop(0, times, 1, one_dim, [d, out])

    def bound(x, size, default):
        def given():
            f.bail(f.cmp("ne", g.type_of(x), _ptr(f, "PyLong_Type")), "slow")
            v = integer(x)
            v = f.sel(f.cmp("slt", v, 0), v + size, v)
            return [f.imin(f.imax(v, 0), size)]
        return f.if_(g.same(x, none), lambda: [default], given)[0]

    def each(i, d, out, offset):
        x = word(items, i, "ptr")
        t = g.type_of(x)

        def number():
            v = integer(x)
            size = word(adims, d)
            v = f.sel(f.cmp("slt", v, 0), v + size, v)
            f.bail(f.binary("or", f.cmp("slt", v, 0), f.cmp("sge", v, size)), "slow")
            return [d + 1, out, offset + v * word(astrides, d)]

        def not_number():
            def part():
                f.bail(f.binary("xor", g.same(g.ld(x, 32), none), 1), "slow")
                size, step = word(adims, d), word(astrides, d)
                lo = bound(g.ld(x, 16), size, f.as_val(0, "i64"))
                hi = bound(g.ld(x, 24), size, size)
                put(dims, out, f.imax(hi - lo, 0))
                put(strides, out, step)
                return [d + 1, out + 1, offset + f.sel(f.cmp("sgt", hi, lo), lo * step, 0)]           # (as NumPy has it)

            def rest():
                def axis():
                    put(dims, out, f.as_val(1, "i64"))
                    put(strides, out, f.as_val(0, "i64"))
                    return [d, out + 1, offset]

                def skip():
                    d2, out2 = copy(d, out, nd - named)
                    return [d2, out2, offset]
                return f.if_(g.same(x, none), axis, skip)
            return f.if_(g.same(t, _ptr(f, "PySlice_Type")), part, rest)
        return f.if_(g.same(t, _ptr(f, "PyLong_Type")), number, not_number)
    zero = f.as_val(0, "i64")
    d, out, offset = f.loop(0, n, 1, each, [zero, zero, zero])
    d, out = copy(d, out, nd - d)
    f.ret(f.call("part", "ptr", o, arr, out, dims, strides, offset))
    f.label("unset")
    f.call("PyErr_Clear", "void")
    f.br("slow")
    f.label("slow")
    f.store(o, box, 8)
    put(box, 1, key)
    f.ret(f.call("PyObject_Vectorcall", "ptr", g.ctx("getitem"), box, f.as_val(2, "i64"), Val(f, "null", "ptr")))


def _reshape(m):
    """tensor.reshape(2, 3) of row-major memory to sizes that fit (one may be -1); anything else is the Python function's."""
    f = m.fn("reshape", [("ptr", "o"), ("ptr", "argv"), ("i64", "n"), ("ptr", "kw")], "ptr")
    g = Glue(f)
    o, argv, n, kw = f.args
    dims, strides, box = f.alloca("i64", 32), f.alloca("i64", 32), f.alloca("i64", 34)
    f.bail(f.cmp("ne", kw, 0), "slow")
    f.bail(f.cmp("sgt", n, 32), "slow")
    f.bail(f.cmp("slt", n, 1), "slow")
    arr = f.call("unrecorded", "ptr", o)
    f.bail(g.null(arr), "slow")
    f.bail(f.cmp("eq", g.ld(arr, A["flags"], "i32") & 1, 0), "slow")
    nd = f.conv("zext", g.ld(arr, A["nd"], "i32"), "i64")
    adims = g.ld(arr, A["dims"])

    def word(p, i, ty="i64"):
        return f.load(ty, f.at(p, i, "i64"), 8)
    total, = f.loop(0, nd, 1, lambda d, s: [f.binary("mul", s, word(adims, d))], [f.as_val(1, "i64")])
    f.bail(f.cmp("eq", total, 0), "slow")

    def size(i, product, unknown):
        x = word(argv, i, "ptr")
        f.bail(f.cmp("ne", g.type_of(x), _ptr(f, "PyLong_Type")), "slow")
        v = f.call("PyLong_AsSsize_t", "i64", x)
        f.bail(f.cmp("slt", v, -1), "slow")
        f.bail(f.cmp("eq", v, 0), "slow")
        f.bail(f.cmp("sgt", v, total), "slow")

        def minus():
            f.bail(f.cmp("ne", f.call("PyErr_Occurred", "ptr"), 0), "unset")
            f.bail(f.cmp("sge", unknown, 0), "slow")
            return [product, i]
        p, u = f.if_(f.cmp("eq", v, -1), minus, lambda: [f.binary("mul", product, v), unknown])
        f.bail(f.cmp("sgt", p, total), "slow")
        f.store(v, f.at(dims, i, "i64"), 8)
        return [p, u]
    product, unknown = f.loop(0, n, 1, size, [f.as_val(1, "i64"), f.as_val(-1, "i64")])

    def infer():
        f.bail(f.cmp("ne", f.srem(total, product), 0), "slow")
        f.store(f.sdiv(total, product), f.at(dims, unknown, "i64"), 8)
    f.if_(f.cmp("sge", unknown, 0), infer, lambda: f.bail(f.cmp("ne", product, total), "slow"))
    unit = g.ld(g.ld(arr, A["descr"]), ELSIZE, "i64")

    def stride(k, step):
        i = n - 1 - k
        f.store(step, f.at(strides, i, "i64"), 8)
        return [f.binary("mul", step, word(dims, i))]
    f.loop(0, n, 1, stride, [unit])
    f.ret(f.call("part", "ptr", o, arr, n, dims, strides, f.as_val(0, "i64")))
    f.label("unset")
    f.call("PyErr_Clear", "void")
    f.br("slow")
    f.label("slow")
    f.bail(f.cmp("sgt", n, 32), "many")
    f.store(o, box, 8)
    names, = f.if_(f.cmp("ne", kw, 0), lambda: [f.call("PyTuple_Size", "i64", kw)], lambda: [f.as_val(0, "i64")])
    f.loop(0, n + names, 1, lambda i: f.store(word(argv, i, "ptr"), f.at(box, i + 1, "i64"), 8))
    f.ret(f.call("PyObject_Vectorcall", "ptr", g.ctx("reshape"), box, n + 1, kw))
    f.label("many")
    f.call("PyErr_SetString", "void", f.load("ptr", _ptr(f, "PyExc_TypeError")), Val(f, "@too_many", "ptr"))
    f.ret(Val(f, "null", "ptr"))


def _before(f):
    """The number of the first `ok` block of this function."""
    return next(line[2:-1] for line in f.lines if line.startswith("ok"))


ASARRAY = 8 * 20                            # the word of CTX with numpy.asarray
UNARY = ("negative", "absolute")
SLOTS = ("add", "subtract", "multiply", "true_divide", "matrix_multiply", *UNARY)      # the first descriptors, in this order
NAMES = ["tensor_dealloc", "cell_dealloc", "node_dealloc", "apply", "next_number", "set_flags", "wrap", "view_of",
         "subscript", "reshape", "node_edges", "node_saved_inputs", "node_release", *[f"nb_{s}" for s in SLOTS],
         "function", *[f"method{k}" for k in range(THUNKS)]]


def source():
    """The IR text of the entries."""
    m = Module()
    for name in ("whet_ctx", "whet_ndarray", "_Py_NoneStruct", "PyFloat_Type", "PyLong_Type", "PyTuple_Type", "PySlice_Type", "_Py_EllipsisObject"):
        m.decls[name] = f"@{name} = external global i8"
    m.decls["PyExc_TypeError"] = "@PyExc_TypeError = external global ptr"
    m.tables["too_many"] = '@too_many = internal constant [19 x i8] c"too many arguments\\00"'
    around(m)
    _deallocs(m)
    _record(m)
    _core(m)
    _nodes(m)
    _views(m)
    _doors(m)
    return m.text()
