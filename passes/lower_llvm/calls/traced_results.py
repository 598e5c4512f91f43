"""The results of a traced call in machine code, built by the steps of its block."""
from ..builder import Val
from .object_access import Glue, _put, _word
from .op_layouts import A, T
from .tensor_views import share, window
from .traced_layouts import (
    ARGUMENT,
    AS_FLOAT,
    BASE,
    CONST,
    DESCR,
    DIMS,
    DROP,
    END,
    ENTRY,
    FRESH,
    HIDDEN,
    HIDDEN_VIEW,
    LEAF,
    MAX_DIMS,
    MAX_FRESH,
    MAX_OBJECTS,
    ND,
    NEW,
    OFFSET,
    PAIR,
    RG,
    SERIES,
    SOURCE,
    TABLE,
    VIEW,
    WORD,
    H,
)


def _array(f, g, kind, what, leaves, fresh):
    """The array that a pair stands for."""
    return f.if_(f.cmp("eq", kind, FRESH), lambda: [_word(f, fresh, what, "ptr")], lambda: [g.ld(f.if_(
        f.cmp("eq", kind, LEAF), lambda: [_word(f, leaves, what, "ptr")], lambda: [g.ptr(what)])[0], T["array"])])[0]


def _build(m):
    """build(block, leaves, fresh arrays, those seen): the result, by steps (kind, a, b) on a stack, above what is to be laid into Python's state."""
    f = m.fn("build", [("ptr", "block"), ("ptr", "leaves"), ("ptr", "fresh"), ("ptr", "seen")], "ptr", "internal")
    g = Glue(f)
    block, leaves, fresh, seen = f.args
    stack, made = f.alloca("i64", MAX_OBJECTS), f.alloca("i64", MAX_FRESH)
    height, left_over, hidden = f.alloca("i64", 1), f.alloca("i64", 1), f.alloca("i64", 1)        # what to let go of where memory ends: bits
    f.store(f.as_val(0, "i64"), hidden)
    f.store((f.as_val(1, "i64") << g.ld(block, H["fresh"], "i64")) - 1, left_over)
    at = f.bytes_at(block, g.ld(block, H["build_at"], "i64"))

    unfinished: list = []                            # the dictionary that could not be filled, the index of what could not be laid

    def step(i, top):
        row = f.at(at, f.binary("mul", i, 3), "i64")
        kind, a, b = (_word(f, row, k) for k in range(3))
        f.store(top, height)

        def flip(bits, i):
            f.store(f.load("i64", bits) ^ (f.as_val(1, "i64") << i), bits)

        def tensor(array):
            t = f.call("around", "ptr", array)
            f.bail(g.null(t), "fail")
            _put(f, made, a, t)
            return t

        def push(t):
            _put(f, stack, top, t)
            return [top + 1]

        def fresh_tensor():
            flip(left_over, a)
            return tensor(_word(f, fresh, a, "ptr"))

        def new():
            return push(fresh_tensor())

        def held(kind, a):
            return f.if_(f.cmp("eq", kind, CONST), lambda: [g.ptr(a)], lambda: f.if_(
                f.cmp("eq", kind, ARGUMENT), lambda: [_word(f, leaves, a, "ptr")], lambda: [_word(f, made, a, "ptr")]))[0]

        def view():
            row = f.at(f.bytes_at(block, g.ld(block, H["views_at"], "i64")), b, "i64")
            source, what, by, base = (_word(f, row, k) for k in (SOURCE, SOURCE + 1, BASE, BASE + 1))
            array, = f.if_(f.cmp("eq", source, FRESH), lambda: [_word(f, fresh, what, "ptr")], lambda: [_word(f, seen, what, "ptr")])
            t = tensor(window(f, g, array, _word(f, row, DESCR, "ptr"), _word(f, row, ND), f.at(row, DIMS, "i64"), f.at(row, DIMS + MAX_DIMS, "i64"),
                              _word(f, row, OFFSET), "fail"))
            flip(hidden, a)
            f.if_(f.cmp("ne", by, NEW), lambda: share(f, g, held(by, base), t, "fail"))
            g.st(_word(f, row, RG), t, T["rg"])

            def shown():
                flip(hidden, a)
                return push(t)
            return f.if_(f.cmp("eq", kind, VIEW), shown, lambda: [top])

        def aside():
            def hide():
                fresh_tensor()
                flip(hidden, a)

            def drop_tensor():
                flip(hidden, a)
                return [_word(f, made, a, "ptr")]

            def drop_array():
                flip(left_over, a)
                return [_word(f, fresh, a, "ptr")]

            def one():
                f.if_(f.cmp("eq", kind, HIDDEN), hide, lambda: g.dec(f.if_(f.cmp("eq", kind, DROP), drop_tensor, drop_array)[0]))
                return [top]
            viewing = f.binary("or", f.cmp("eq", kind, VIEW), f.cmp("eq", kind, HIDDEN_VIEW))
            return f.if_(viewing, view, one)

        def number():
            a_ = _word(f, fresh, a, "ptr")
            at = g.ld(a_, A["data"])
            x, = f.if_(f.cmp("eq", kind, AS_FLOAT), lambda: [f.call("PyFloat_FromDouble", "ptr", f.load("double", at, 8))],
                       lambda: [f.call("PyLong_FromLongLong", "ptr", f.load("i64", at, 8))])
            f.bail(g.null(x), "fail")
            flip(left_over, a)
            g.dec(a_)
            return push(x)

        def other():
            def known():
                x = held(kind, a)
                g.inc(x)
                return push(x)

            def several():
                first = top - a

                def fill(make, put):
                    x = f.call(make, "ptr", a)
                    f.bail(g.null(x), "fail")
                    f.loop(0, a, 1, lambda k: f.call(put, "i32", x, k, _word(f, stack, first + k, "ptr")) and None)
                    return [x]

                def table():
                    x = f.call("PyDict_New", "ptr")
                    f.bail(g.null(x), "fail")
                    keys = f.bytes_at(block, b)

                    def item(k):
                        v = _word(f, stack, first + k, "ptr")
                        f.bail(f.cmp("ne", f.call("PyDict_SetItem", "i32", x, _word(f, keys, k, "ptr"), v), 0), "table_fail")
                    unfinished.append(x)
                    f.loop(0, a, 1, item)
                    f.loop(0, a, 1, lambda k: g.dec(_word(f, stack, first + k, "ptr")))
                    return [x]
                x, = f.if_(f.cmp("eq", kind, PAIR), lambda: fill("PyTuple_New", "PyTuple_SetItem"), lambda: f.if_(
                    f.cmp("eq", kind, SERIES), lambda: fill("PyList_New", "PyList_SetItem"), table))
                _put(f, stack, first, x)
                return [first + 1]
            return f.if_(f.cmp("slt", kind, PAIR), lambda: f.if_(f.cmp("slt", kind, AS_FLOAT), known, number), several)
        return f.if_(f.cmp("eq", kind, NEW), new, lambda: f.if_(f.cmp("sgt", kind, TABLE), aside, other))
    f.loop(0, g.ld(block, H["build"], "i64"), 1, step, [f.as_val(0, "i64")])
    count, left = g.ld(block, H["left"], "i64"), f.bytes_at(block, g.ld(block, H["left_at"], "i64"))

    def lay(i):                                      # kind, where, what there
        row = f.at(left, f.binary("mul", i, 3), "i64")
        kind, where, what = _word(f, row, 0), _word(f, row, 1, "ptr"), _word(f, row, 2, "ptr")
        x = _word(f, stack, i, "ptr")

        def into(p):
            old = f.load("ptr", p, 8)
            f.store(x, p, 8)
            f.if_(g.null(old), lambda: None, lambda: g.dec(old))

        def within():
            failed = f.call("PyDict_SetItem", "i32", where, what, x)
            g.dec(x)
            f.bail(f.cmp("ne", failed, 0), "unlaid")

        def longer():
            failed = f.call("PyList_Append", "i32", where, x)
            g.dec(x)
            f.bail(f.cmp("ne", failed, 0), "unlaid")
        unfinished.append(i)

        def item():                                  # (what was laid before may have run anything, as its old value died)
            f.if_(f.cmp("ne", f.call("PyList_SetItem", "i32", where, g.i64(what), x), 0), lambda: f.call("PyErr_Clear", "void"))
        f.if_(f.cmp("eq", kind, WORD), lambda: into(where), lambda: f.if_(f.cmp("eq", kind, ENTRY), within, lambda: f.if_(
            f.cmp("eq", kind, END), longer, item)))
    f.loop(0, count, 1, lay)
    f.ret(_word(f, stack, count, "ptr"))
    f.label("unlaid")
    f.loop(unfinished[1] + 1, count + 1, 1, lambda i: g.dec(_word(f, stack, i, "ptr")))
    f.ret(Val(f, "null", "ptr"))
    f.label("table_fail")
    g.dec(unfinished[0])
    f.br("fail")
    f.label("fail")                                  # no memory for one of these
    f.loop(0, f.load("i64", height), 1, lambda i: g.dec(_word(f, stack, i, "ptr")))
    for bits, held_there in (left_over, fresh), (hidden, made):
        f.loop(0, MAX_FRESH, 1, lambda i, bits=bits, there=held_there: f.if_(
            f.cmp("ne", f.lshr(f.load("i64", bits), i) & 1, 0), lambda: g.dec(_word(f, there, i, "ptr"))) and None)
    f.ret(Val(f, "null", "ptr"))
