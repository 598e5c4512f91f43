"""`core`: an op's call by its recipe. Its operands are looked up, its results made, its kernel run and its autograd node recorded."""
from ..builder import Val
from . import share_out as launching
from .object_access import Glue, _ptr, _thread
from .op_layouts import (
    BUCKETS,
    BY_VALUE,
    CONST,
    CTX,
    DATA,
    DIFF,
    F32,
    F64,
    FLOAT,
    GRAD,
    HEAD,
    INFERENCE,
    INT,
    MAX_DIMS,
    MAX_IN,
    MAX_OUT,
    MAX_SLOTS,
    MISS,
    NO_BASE,
    NOTHING,
    OPERAND,
    OUT,
    RESULT,
    SAVES_OUT,
    SLOT,
    SPECIAL,
    TENSOR,
    UNSAFE,
    VERDICT,
    VIEW,
    A,
    C,
    N,
    R,
    T,
)
from .tensor_views import share, window


def _mix(f, h, x):
    h = f.binary("mul", f.binary("xor", h, x), -7046029254386353131)
    return h ^ f.lshr(h, 29)


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
