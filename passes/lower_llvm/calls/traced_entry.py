"""`enter`: one block tried on a call. Arguments are compared, the launches run, the result is built."""
from ..builder import Val
from .object_access import Glue, _ptr, _put, _thread, _word
from .op_layouts import HEAD, MISS, A, T
from .traced_layouts import EAGER, ENTRY, FLOAT_LEAF, FRESH_WORDS, ITEM, LAUNCH, MAX_DIMS, MAX_FRESH, MAX_LEAVES, MAX_MOVING, MAX_OBJECTS, H, J
from .traced_results import _array


def _enter(m):
    """enter(block, args, kwargs, always): a new reference to the result, null with an error set, or MISS. `always`: also when it was used as
    often as it says."""
    f = m.fn("enter", [("ptr", "block"), ("ptr", "args"), ("ptr", "kw"), ("i64", "always")], "ptr", "internal")
    g = Glue(f)
    block, args, kw, always = f.args
    objects, leaves, fresh, seen = (f.alloca("i64", n) for n in (MAX_OBJECTS, MAX_LEAVES, MAX_FRESH, MAX_FRESH))
    arrays, slots, ints = f.alloca("i64", MAX_MOVING), f.alloca("i64", MAX_MOVING + 3), f.alloca("i64", MAX_LEAVES)

    def head(name, ty="i64"):
        return g.ld(block, H[name], ty)
    nargs = g.ld(args, HEAD, "i64")
    f.bail(f.binary("and", f.cmp("sge", head("count"), head("until")), f.cmp("eq", always, 0)), "miss")
    f.bail(f.cmp("eq", head("kind"), EAGER), "eager")
    f.bail(f.cmp("ne", nargs, head("nargs")), "miss")
    names, = f.if_(g.null(kw), lambda: [f.as_val(0, "i64")], lambda: [f.call("PyDict_Size", "i64", kw)])
    f.bail(f.cmp("ne", names, head("names")), "miss")

    def sync():
        r = f.call("PyObject_CallNoArgs", "ptr", g.ctx("sync"))
        f.bail(g.null(r), "error")
        g.dec(r)
    f.if_(f.cmp("ne", _thread(f), g.ctx("thread", "i64")), sync)
    f.bail(f.cmp("ne", g.ctx("flags", "i64"), head("flags")), "miss")
    check = head("check", "ptr")

    def ask():                                       # (before any reference is borrowed)
        r = f.call("PyObject_CallNoArgs", "ptr", check)
        f.bail(g.null(r), "error")
        g.dec(r)
        f.bail(g.same(r, _ptr(f, "_Py_NoneStruct")), "miss")
    f.if_(f.cmp("ne", check, 0), ask)

    # the arguments
    f.loop(0, nargs, 1, lambda i: _put(f, objects, i, _word(f, f.bytes_at(args, HEAD + 8), i)))
    _put(f, objects, nargs, kw)
    at = f.bytes_at(block, head("slots_at"))

    def slot(i):
        row = f.at(at, i << 2, "i64")                # kind, where, what there, object
        kind, where, what = _word(f, row, 0), _word(f, row, 1, "ptr"), _word(f, row, 2, "ptr")

        def entry():
            x = f.call("PyDict_GetItemWithError", "ptr", where, what)
            f.bail(g.null(x), "other")
            return [x]

        def item():
            f.bail(f.cmp("sge", g.i64(what), g.ld(where, HEAD, "i64")), "miss")
            return [_word(f, g.ld(where, HEAD + 8), g.i64(what), "ptr")]
        x, = f.if_(f.cmp("eq", kind, ENTRY), entry, lambda: f.if_(f.cmp("eq", kind, ITEM), item, lambda: [f.load("ptr", where, 8)]))
        f.bail(g.null(x), "miss")
        _put(f, objects, _word(f, row, 3), x)
    f.loop(0, head("slots"), 1, slot)

    def argument(i, row):
        f.bail(f.cmp("eq", f.call("argument", "i64", block, row, objects, leaves), 0), "miss")
        return [f.at(row, _word(f, row, 2), "i64")]
    f.loop(0, head("rows"), 1, argument, [f.bytes_at(block, head("rows_at"))])
    n = head("leaves")
    every = n + head("numbers")

    def apart(i, same):
        one = _word(f, leaves, i)
        return f.loop(0, i, 1, lambda k, same: [f.binary("or", same, f.cmp("eq", one, _word(f, leaves, k)))], [same])
    same, = f.loop(1, n, 1, apart, [f.as_val(0, "i1")])
    f.bail(same, "miss")
    f.bail(f.cmp("eq", f.call("outside", "i64", block), 0), "miss")
    f.bail(f.cmp("ne", head("kind"), LAUNCH), "python")

    # the launches
    busy = head("busy", "ptr")
    f.bail(f.cmp("ne", f.load("i64", busy), 0), "miss")      # another thread is in the program's memory
    rows = f.bytes_at(block, head("fresh_at"))
    count, held = f.alloca("i64", 1), f.alloca("i64", 1)
    f.store(f.as_val(0, "i64"), count)
    f.store(f.as_val(0, "i64"), held)

    def result(i):
        row = f.at(rows, f.binary("mul", i, FRESH_WORDS), "i64")
        strides = f.sel(f.cmp("ne", _word(f, row, 2), 0), Val(f, "null", "ptr"), f.at(row, 3 + MAX_DIMS, "i64"))
        v = f.call("whet_array_new", "ptr", _word(f, row, 0, "ptr"), _word(f, row, 1), f.at(row, 3, "i64"), strides)
        f.bail(g.null(v), "lost")
        _put(f, fresh, i, v)
        f.store(i + 1, count)
    f.loop(0, head("fresh"), 1, result)
    nmoving, at = head("moving"), f.bytes_at(block, head("moving_at"))

    def address(i):
        row = f.at(at, i << 1, "i64")
        kind, what = _word(f, row, 0), _word(f, row, 1)

        def array():
            a = _array(f, g, kind, what, leaves, fresh)
            return [a, g.ld(a, A["data"], "i64")]

        def number():                                # where it is; of an int, where a copy is
            x = _word(f, leaves, what, "ptr")

            def whole():
                at = f.at(ints, what, "i64")
                f.store(f.call("PyLong_AsLongLong", "i64", x), at)
                return [g.i64(at)]
            return [x, *f.if_(f.cmp("eq", kind, FLOAT_LEAF), lambda: [g.i64(f.bytes_at(x, HEAD))], whole)]
        a, data = f.if_(f.cmp("slt", kind, FLOAT_LEAF), array, number)
        _put(f, arrays, i, a)
        _put(f, slots, i + 2, data)
    f.loop(0, nmoving, 1, address)
    sources = f.bytes_at(block, head("sources_at"))

    def hold(i):                                     # what views of the result show: from here on others may give a tensor another array
        row = f.at(sources, i << 1, "i64")
        a = _array(f, g, _word(f, row, 0), _word(f, row, 1), leaves, fresh)
        g.inc(a)
        _put(f, seen, i, a)
        f.store(i + 1, held)
    f.loop(0, head("sources"), 1, hold)

    def let_go_of(array, n):
        f.loop(0, f.load("i64", n), 1, lambda i: g.dec(_word(f, array, i, "ptr")))
    _put(f, slots, 0, head("list"))
    _put(f, slots, 1, head("length"))
    program, arena = head("program", "ptr"), head("arena")

    def take():
        room = f.call("whet_heap_take", "ptr", arena)
        f.bail(g.null(room), "full")
        f.store(room, f.at(slots, nmoving + 2, "i64"))
    f.if_(f.cmp("ne", arena, 0), take)

    def run():
        f.raw(f"call void {program.ref}(ptr {slots.ref}, i64 0, i64 1, i64 0)")

    def let_go():                                    # long work: other threads of Python's go on, and must free nothing that is in use
        f.loop(0, nmoving, 1, lambda i: g.inc(_word(f, arrays, i, "ptr")))
        f.store(f.as_val(1, "i64"), busy)
        thread = f.call("PyEval_SaveThread", "ptr")
        run()
        f.call("PyEval_RestoreThread", "void", thread)
        f.store(f.as_val(0, "i64"), busy)
        f.loop(0, nmoving, 1, lambda i: g.dec(_word(f, arrays, i, "ptr")))
    f.loop(0, every, 1, lambda i: g.inc(_word(f, leaves, i, "ptr")))       # (as a result is made the collector may run, and with it anything)
    f.if_(f.cmp("ne", head("away"), 0), let_go, run)
    f.if_(f.cmp("ne", arena, 0), lambda: f.call("whet_heap_give", "void", f.load("ptr", f.at(slots, nmoving + 2, "i64")), arena) and None)

    def done():
        let_go_of(seen, held)
        f.loop(0, every, 1, lambda i: g.dec(_word(f, leaves, i, "ptr")))
    stopped = head("stopped", "ptr")

    def whole():                                     # a check ended the list: all is made, nothing is laid anywhere
        word = f.load("ptr", stopped, 8)

        def otherwise():
            f.store(f.as_val(0, "i64"), word)
            f.store(f.as_val(0, "i64"), stopped)
            let_go_of(fresh, count)
            done()
        f.if_(g.null(word), lambda: None, otherwise)
        f.bail(f.cmp("ne", word, 0), "miss")
    f.if_(g.null(stopped), lambda: None, whole)
    g.st(head("count") + 1, block, H["count"])
    r = f.call("build", "ptr", block, leaves, fresh, seen)
    done()
    f.ret(r)

    f.label("python")
    f.loop(0, every, 1, lambda i: g.inc(_word(f, leaves, i, "ptr")))
    r = f.call("PyObject_Vectorcall", "ptr", head("finish", "ptr"), leaves, every, Val(f, "null", "ptr"))
    f.loop(0, every, 1, lambda i: g.dec(_word(f, leaves, i, "ptr")))
    f.bail(g.null(r), "error")
    missed = g.same(r, g.ld(_ptr(f, "whet_jit"), J["missed"]))

    def forget():
        g.dec(r)
        return [g.ptr(f.as_val(MISS, "i64"))]

    def counted():
        g.st(head("count") + 1, block, H["count"])
        return [r]
    r, = f.if_(missed, forget, counted)
    f.ret(r)

    f.label("eager")                                 # eager is faster: for all arguments, or a first one of this type and size
    f.bail(f.cmp("eq", head("type"), 0), "simply")
    f.bail(f.cmp("slt", nargs, 1), "miss")
    first = g.ld(args, HEAD + 8)
    f.bail(f.cmp("ne", g.type_of(first), head("type", "ptr")), "miss")
    a = g.ld(first, T["array"])
    f.bail(g.null(a), "miss")
    dims, nd = g.ld(a, A["dims"]), f.conv("zext", g.ld(a, A["nd"], "i32"), "i64")
    size, = f.loop(0, nd, 1, lambda d, s: [f.binary("mul", s, _word(f, dims, d))], [f.as_val(1, "i64")])
    f.bail(f.cmp("ne", size, head("size")), "miss")
    f.br("simply")
    f.label("simply")
    g.st(head("count") + 1, block, H["count"])
    f.ret(f.call("PyObject_Call", "ptr", head("finish", "ptr"), args, kw))
    f.label("full")
    f.call("PyErr_NoMemory", "ptr")
    f.br("lost")
    f.label("lost")
    let_go_of(fresh, count)
    let_go_of(seen, held)
    f.br("error")
    f.label("other")
    f.call("PyErr_Clear", "void")
    f.br("miss")
    f.label("miss")
    f.ret(Val(f, f"inttoptr (i64 {MISS} to ptr)", "ptr"))
    f.label("error")
    f.ret(Val(f, "null", "ptr"))
