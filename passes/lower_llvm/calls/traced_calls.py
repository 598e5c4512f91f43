"""A call of a traced function in machine code: the guards of its recordings as tables that are walked, then the launches.

A *block* is such a table, a row of 8-byte words: a header (`H`), where slots lie (places of Python's state whose object may be any of its
kind), rows for the arguments and the slots' objects, and what is compared outside of them: words of memory that must be zero or hold what they
held, and *soft* words that tell whether anything may have changed: the versions of dictionaries, where the interpreter has them, and gradients
that are not there. Only where a soft word differs the dictionaries themselves are compared. A block that fits either launches the program,
builds the result and lays what the call leaves into Python's state, or calls a Python function with the tensors and numbers. Whatever does not
fit is a miss, and the Python path's; so is a call of the function when a block was used as often as it says (`until`), which Python wants to
look at. `jit/guards/native_table.py` writes the blocks.
"""
from ..builder import Module, Val
from .op_calls import HEAD, MISS, A, C, Glue, T, _ptr, _thread, around, share, window

# the header, as byte offsets; pairs are (number, where) of a section
H = {name: 8 * i for i, name in enumerate((
    "kind", "flags", "count", "busy", "nargs", "names", "rows", "rows_at", "leaves", "numbers", "slots", "slots_at", "zeros", "zeros_at", "words",
    "words_at", "soft", "soft_at", "held", "held_at", "bare", "bare_at", "always", "always_at", "dicts", "dicts_at", "lists", "lists_at", "mask",
    "known_at", "check", "moving", "moving_at", "fresh", "fresh_at", "program", "list", "length", "away", "arena", "stopped", "build", "build_at",
    "views_at", "sources", "sources_at", "left", "left_at", "finish", "type", "size", "until"))}
HEADER = len(H)
LAUNCH, PYTHON, EAGER, INDEX = range(4)             # kinds of blocks; an index finds some by what they expect, see `_seek`
TENSOR, SAME, FLOAT, INT, EQUAL, TUPLE, LIST, DICT, AGAIN, ANY_FLOAT, ANY_INT = range(11)  # rows for objects: kind, object, words in all, ...
WORD, ENTRY, ITEM, END = range(4)                   # slots: at an address, in a dict, in a list; at the end of a list
ANY = 1                                             # in the place of an object that is compared: any may lie there
LEAF, OBJECT, FRESH, FLOAT_LEAF, INT_LEAF, SEEN = range(6)                  # where the address of an array, or a number, comes from
# Steps that build the result. First those that give an object of it, tuple, list and dict last; then what it is not made of itself: tensors that
# its views are of, which are let go of at the end, as are arrays that no tensor of it has.
NEW, CONST, ARGUMENT, ONCE_MORE, AS_FLOAT, AS_INT, PAIR, SERIES, TABLE, VIEW, HIDDEN, HIDDEN_VIEW, DROP, DROP_ARRAY = range(14)
MAX_OBJECTS, MAX_LEAVES, MAX_FRESH, MAX_MOVING, MAX_DIMS = 256, 24, 32, 256, 8
MOST = 1 << 40                                      # of an int that may be any
FRESH_WORDS = 3 + 2 * MAX_DIMS
# words of a view. The array is FRESH, or SEEN: one that was compared, and is held from then on. BASE: a step that gives it, NEW: none.
SOURCE, BASE, RG, DESCR, ND, OFFSET, DIMS = 0, 2, 4, 5, 6, 7, 8
TRIES = 8                                           # blocks that expect arguments of one fingerprint: so many are tried
TURN = 29                                           # bits by which a fingerprint is folded onto itself
J = dict(off=0, slow=8, missed=16, ready=24)        # the words shared with Python
TAG = HEAD + 8                                      # of a dict, its version
GOLDEN = -7046029254386353131
NAMES = ["traced_call", "traced_get", "traced_enter", "traced_take"]


def source(tags):
    """The IR text. `tags`: do dicts have versions?"""
    m = Module()
    for name in ("whet_ctx", "whet_jit", "whet_ndarray", "_Py_NoneStruct", "PyFloat_Type", "PyLong_Type", "PyTuple_Type", "PyList_Type",
                 "PyDict_Type", "PyUnicode_Type"):
        m.decls[name] = f"@{name} = external global i8"
    around(m)
    _items(m)
    _dict(m, tags)
    _outside(m, tags)
    _argument(m)
    _build(m)
    _enter(m)
    _finger(m)
    _seek(m)
    _doors(m)
    return m.text()


def _word(f, p, i, ty="i64"):
    return f.load(ty, f.at(p, i, "i64"), 8)


def _put(f, p, i, v):
    f.store(v, f.at(p, i, "i64"), 8)


def _items(m):
    """unpack(dict, keys, n, out): the values of a dict that has just these keys in this order; 0 where it has others."""
    f = m.fn("unpack", [("ptr", "d"), ("ptr", "keys"), ("i64", "n"), ("ptr", "out")], "i64", "internal")
    d, keys, n, out = f.args
    at, key, value = (f.alloca("i64", 1) for _ in range(3))
    f.bail(f.cmp("ne", f.call("PyDict_Size", "i64", d), n), "no")
    f.store(f.as_val(0, "i64"), at)

    def item(i):
        f.bail(f.cmp("eq", f.call("PyDict_Next", "i32", d, at, key, value), 0), "no")
        k, want = f.load("ptr", key), _word(f, keys, i, "ptr")

        def equal():
            texts = f.binary("and", f.cmp("eq", _type(f, k), _ptr(f, "PyUnicode_Type")), f.cmp("eq", _type(f, want), _ptr(f, "PyUnicode_Type")))
            f.bail(f.binary("xor", texts, 1), "no")
            f.bail(f.cmp("ne", f.call("PyUnicode_Compare", "i32", k, want), 0), "no")
        f.if_(f.cmp("ne", k, want), equal)
        _put(f, out, i, f.load("i64", value))
    f.loop(0, n, 1, item)
    f.ret(f.as_val(1, "i64"))
    f.label("no")
    f.ret(f.as_val(0, "i64"))


def _type(f, o):
    return f.load("ptr", f.bytes_at(o, 8), 8)


def _dict(m, tags):
    """dict(row): does a dict hold what it held? row: dict, version, all of it?, n, then keys and values (0: no such key)."""
    f = m.fn("dict", [("ptr", "row")], "i64", "internal", "noinline")
    row, = f.args
    d, n = _word(f, row, 0, "ptr"), _word(f, row, 3)
    pairs = f.at(row, 4, "i64")
    at, key, value = (f.alloca("i64", 1) for _ in range(3))
    tag = f.load("i64", f.bytes_at(d, TAG), 8) if tags else None

    def walk():
        f.bail(f.cmp("ne", f.call("PyDict_Size", "i64", d), n), "no")
        f.store(f.as_val(0, "i64"), at)

        def item(i):
            f.bail(f.cmp("eq", f.call("PyDict_Next", "i32", d, at, key, value), 0), "no")
            f.bail(f.cmp("ne", f.load("i64", key), _word(f, pairs, i << 1)), "no")
            want = _word(f, pairs, (i << 1) + 1)
            f.bail(f.cmp("ne", f.load("i64", value), want) & f.cmp("ne", want, ANY), "no")
        f.loop(0, n, 1, item)

    def look():
        def one(i):
            x = f.call("PyDict_GetItemWithError", "ptr", d, _word(f, pairs, i << 1, "ptr"))
            f.bail(f.cmp("ne", x, _word(f, pairs, (i << 1) + 1, "ptr")), "other")
        f.loop(0, n, 1, one)
    f.if_(f.cmp("ne", _word(f, row, 2), 0), walk, look)
    if tags:
        _put(f, row, 1, tag)
    f.ret(f.as_val(1, "i64"))
    f.label("other")
    f.call("PyErr_Clear", "void")
    f.br("no")
    f.label("no")
    f.ret(f.as_val(0, "i64"))


def _outside(m, tags):
    """outside(block): is what the function reaches from outside as it was?"""
    f = m.fn("outside", [("ptr", "block")], "i64", "internal")
    g = Glue(f)
    block, = f.args

    def section(name):
        return g.ld(block, H[name], "i64"), f.bytes_at(block, g.ld(block, H[name + "_at"], "i64"))
    zero = f.as_val(0, "i64")

    def differs(i, k, at):
        return f.load("i64", _word(f, at, (i + k) << 1, "ptr"), 8) ^ _word(f, at, ((i + k) << 1) + 1)

    def exact(bad):                                  # addresses of zeros; addresses and what they hold: four at a time
        n, at = section("zeros")
        bad, = f.loop(0, n, 4, lambda i, bad: [bad | _either([f.load("i64", _word(f, at, i + k, "ptr"), 8) for k in range(4)])], [bad])
        n, at = section("words")
        return f.loop(0, n, 4, lambda i, bad: [bad | _either([differs(i, k, at) for k in range(4)])], [bad])[0]

    def dicts(name):                                 # rows of `dict`, one after the other
        n, at = section(name)

        def one_dict(i, row):
            def compare():
                f.bail(f.cmp("eq", f.call("dict", "i64", row), 0), "changed")
            if tags:
                f.if_(f.cmp("ne", f.load("i64", f.bytes_at(_word(f, row, 0, "ptr"), TAG), 8), _word(f, row, 1)), compare)
            else:
                compare()
            return [f.at(row, (_word(f, row, 3) << 1) + 4, "i64")]
        f.loop(0, n, 1, one_dict, [at])
    n, at = section("soft")                          # what may change though it means the same: versions of dicts, gradients that are not there
    bad, = f.loop(0, n, 4, lambda i, bad: [bad | _either([differs(i, k, at) for k in range(4)])], [exact(zero)])

    def look():
        f.bail(f.cmp("ne", exact(zero), 0), "no")
        f.loop(0, n, 1, lambda i: _put(f, at, (i << 1) + 1, f.load("i64", _word(f, at, i << 1, "ptr"), 8)))
        count, bare = section("bare")
        some, = f.loop(0, count, 1, lambda i, some: [some | ~g.absent(f.load("ptr", _word(f, bare, i, "ptr"), 8))], [f.const("i1", 0)])
        f.bail(some, "changed")
        dicts("dicts")
    f.if_(f.cmp("ne", bad, 0), look)
    count, held = section("held")
    none, = f.loop(0, count, 1, lambda i, none: [none | g.absent(f.load("ptr", _word(f, held, i, "ptr"), 8))], [f.const("i1", 0)])
    f.bail(none, "no")
    dicts("always")

    n, at = section("lists")                        # list, n, items

    def one_list(i, row):
        x, size = _word(f, row, 0, "ptr"), _word(f, row, 1)
        f.bail(f.cmp("ne", g.ld(x, HEAD, "i64"), size), "no")
        items = g.ld(x, HEAD + 8)

        def item(k, bad):
            want = _word(f, row, k + 2)
            return [bad | f.cmp("ne", _word(f, items, k), want) & f.cmp("ne", want, ANY)]
        bad, = f.loop(0, size, 1, item, [f.const("i1", 0)])
        f.bail(bad, "no")
        return [f.at(row, size + 2, "i64")]
    f.loop(0, n, 1, one_list, [at])
    f.ret(f.as_val(1, "i64"))
    f.label("changed")                               # the next call must look again
    n, at = section("soft")
    f.loop(0, f.imin(n, 1), 1, lambda i: _put(f, at, 1, ~_word(f, at, 1)))
    f.br("no")
    f.label("no")
    f.ret(zero)


def _either(xs):
    """All bits of some words."""
    return xs[0] if len(xs) == 1 else _either(xs[:len(xs) // 2]) | _either(xs[len(xs) // 2:])


def _argument(m):
    """argument(block, row, objects, leaves): is an argument, or a part of one, as it was? Tensors go to `leaves`, parts to `objects`."""
    f = m.fn("argument", [("ptr", "block"), ("ptr", "row"), ("ptr", "objects"), ("ptr", "leaves")], "i64", "internal")
    g = Glue(f)
    block, row, objects, leaves = f.args
    kind, o = _word(f, row, 0), _word(f, objects, _word(f, row, 1), "ptr")
    t = g.type_of(o)

    def must(ok):
        f.bail(f.binary("xor", ok, 1), "no")
    # row of a tensor: leaf, type, dtype, dimensions, rg, flags of the array, (gradient, node, base), who it is, (size, stride) ...
    f.bail(f.cmp("ne", kind, TENSOR), "plain")
    must(g.same(t, _word(f, row, 4, "ptr")))
    a = g.ld(o, T["array"])
    f.bail(g.null(a), "no")
    must(g.same(g.type_of(a), _ptr(f, "whet_ndarray")))
    nd = f.conv("zext", g.ld(a, A["nd"], "i32"), "i64")
    bad = (g.ld(a, A["descr"], "i64") ^ _word(f, row, 5)) | (nd ^ _word(f, row, 6)) | (g.ld(o, T["rg"], "i64") ^ _word(f, row, 7))
    bad = bad | ((f.conv("zext", g.ld(a, A["flags"], "i32"), "i64") & 0x500) ^ _word(f, row, 8))
    there = f.as_val(0, "i64")
    for i, field in enumerate(("grad", "node", "base")):
        there = there | (f.conv("zext", f.binary("xor", g.absent(g.ld(o, T[field])), 1), "i64") << i)
    bad = bad | (there ^ _word(f, row, 9)) | (f.conv("zext", g.absent(g.ld(o, T["extra"])), "i64") ^ 1)
    f.bail(f.cmp("ne", bad, 0), "no")

    def up_to_date():                                # a view whose base was not given another history
        f.bail(f.cmp("ne", g.ld(g.ld(o, T["cell"]), C["h"], "i64"), g.ld(o, T["hist"], "i64")), "no")
    f.if_(g.absent(g.ld(o, T["base"])), lambda: None, up_to_date)
    held = g.ld(o, T["dict"])                        # attributes
    f.if_(g.absent(held), lambda: None, lambda: f.bail(f.cmp("ne", _word(f, held, 2), 0), "no"))
    dims, strides = g.ld(a, A["dims"]), g.ld(a, A["strides"])
    bad, = f.loop(0, nd, 1, lambda d, bad: [
        bad | (_word(f, dims, d) ^ _word(f, row, (d << 1) + 11)) | (_word(f, strides, d) ^ _word(f, row, (d << 1) + 12))], [f.as_val(0, "i64")])
    f.bail(f.cmp("ne", bad, 0), "no")
    mine = _word(f, row, 10, "ptr")

    def nobody():                                    # it must be none of the tensors that are known
        mask, known = g.ld(block, H["mask"], "i64"), f.bytes_at(block, g.ld(block, H["known_at"], "i64"))
        h = f.lshr(f.binary("mul", f.lshr(g.i64(o), 4), GOLDEN), 40)

        def more(i):
            x = _word(f, known, i & mask, "ptr")
            f.bail(g.same(x, o), "no")
            return f.cmp("ne", x, 0)
        f.while_(more, lambda i: [i + 1], [h])
    f.if_(g.null(mine), nobody, lambda: must(g.same(mine, o)))
    _put(f, leaves, _word(f, row, 3), o)
    f.br("yes")

    f.label("plain")
    value = _word(f, row, 3)
    for k, name in ((SAME, "same"), (FLOAT, "float"), (INT, "int"), (EQUAL, "equal"), (TUPLE, "tuple"), (LIST, "list"), (DICT, "dictionary"),
                    (ANY_FLOAT, "any_float"), (ANY_INT, "any_int")):
        f.bail(f.cmp("eq", kind, k), name)
    must(g.same(o, _word(f, leaves, value, "ptr")))  # AGAIN
    f.br("yes")
    f.label("same")
    f.cbr(f.cmp("eq", g.i64(o), value), "yes", "no")
    f.label("float")
    must(g.same(t, _ptr(f, "PyFloat_Type")))
    f.cbr(f.cmp("eq", g.ld(o, HEAD, "i64"), value), "yes", "no")
    f.label("int")
    must(g.same(t, _ptr(f, "PyLong_Type")))
    over = f.alloca("i32", 1)
    v = f.call("PyLong_AsLongLongAndOverflow", "i64", o, over)
    f.bail(f.cmp("ne", f.load("i32", over), 0), "no")
    f.cbr(f.cmp("eq", v, value), "yes", "no")
    f.label("any_float")
    must(g.same(t, _ptr(f, "PyFloat_Type")))
    _put(f, leaves, value, o)
    f.br("yes")
    f.label("any_int")
    must(g.same(t, _ptr(f, "PyLong_Type")))
    v = f.call("PyLong_AsLongLongAndOverflow", "i64", o, over)
    f.bail(f.cmp("ne", f.load("i32", over), 0) | f.cmp("ugt", v + MOST, 2 * MOST), "no")
    _put(f, leaves, value, o)
    f.br("yes")
    f.label("equal")                                 # str or bytes
    other = g.ptr(value)
    must(g.same(t, g.type_of(other)))
    f.cbr(f.cmp("eq", f.call("PyObject_RichCompareBool", "i32", o, other, f.as_val(2, "i32")), 1), "yes", "no")

    def parts(items):
        f.bail(f.cmp("ne", g.ld(o, HEAD, "i64"), value), "no")
        start = _word(f, row, 4)
        items = items()
        f.loop(0, value, 1, lambda i: _put(f, objects, start + i, _word(f, items, i)))
        f.br("yes")
    f.label("tuple")
    must(g.same(t, _ptr(f, "PyTuple_Type")))
    parts(lambda: f.bytes_at(o, HEAD + 8))
    f.label("list")
    must(g.same(t, _ptr(f, "PyList_Type")))
    parts(lambda: g.ld(o, HEAD + 8))
    f.label("dictionary")
    must(g.same(t, _ptr(f, "PyDict_Type")))
    got = f.call("unpack", "i64", o, f.at(row, 5, "i64"), value, f.at(objects, _word(f, row, 4), "i64"))
    f.cbr(f.cmp("ne", got, 0), "yes", "no")
    f.label("yes")
    f.ret(f.as_val(1, "i64"))
    f.label("no")
    f.ret(f.as_val(0, "i64"))


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


def _mixed(f, h, v):
    """A fingerprint with one more word."""
    h = f.binary("mul", h ^ v, GOLDEN)
    return h ^ f.lshr(h, TURN)


def _finger(m):
    """finger(h, object, type of tensors, do numbers count?): the fingerprint h with a tensor's sizes, or an int; other objects leave it as it is."""
    f = m.fn("finger", [("i64", "h"), ("ptr", "o"), ("ptr", "tensor"), ("i64", "numbers")], "i64", "internal")
    g = Glue(f)
    h, o, tensor, numbers = f.args
    t = g.type_of(o)

    def shape():
        a = g.ld(o, T["array"])
        f.bail(g.null(a), "as_it_is")
        f.bail(f.binary("xor", g.same(g.type_of(a), _ptr(f, "whet_ndarray")), 1), "as_it_is")
        dims, nd = g.ld(a, A["dims"]), f.conv("zext", g.ld(a, A["nd"], "i32"), "i64")
        return f.loop(0, nd, 1, lambda d, h: [_mixed(f, h, _word(f, dims, d))], [_mixed(f, h, nd)])

    def number():
        over = f.alloca("i32", 1)
        v = f.call("PyLong_AsLongLongAndOverflow", "i64", o, over)
        return [_mixed(f, h, v)]
    counts = f.binary("and", g.same(t, _ptr(f, "PyLong_Type")), f.cmp("ne", numbers, 0))
    h, = f.if_(g.same(t, tensor), shape, lambda: f.if_(counts, number, lambda: [f.args[0]]))
    f.ret(h)
    f.label("as_it_is")
    f.ret(f.args[0])


def _seek(m):
    """seek(index, args, kwargs, always): as `enter`, with the blocks of an index that expect arguments like these. An index has rows of a
    fingerprint and a block (0: none), each as near behind its place as there was room. Its flags: positions of ints that do not count."""
    f = m.fn("seek", [("ptr", "index"), ("ptr", "args"), ("ptr", "kw"), ("i64", "always")], "ptr", "internal")
    g = Glue(f)
    index, args, kw, always = f.args
    tensor, aside = g.ld(index, H["type"]), g.ld(index, H["flags"], "i64")

    def positional(i, h):
        counts = f.binary("and", f.lshr(aside, f.imin(i, 63)), 1) ^ 1
        return [f.call("finger", "i64", h, _word(f, f.bytes_at(args, HEAD + 8), i, "ptr"), tensor, counts)]
    h, = f.loop(0, g.ld(args, HEAD, "i64"), 1, positional, [f.as_val(0, "i64")])
    at, key, value = (f.alloca("i64", 1) for _ in range(3))

    def named():
        f.store(f.as_val(0, "i64"), at)
        f.store(f.as_val(0, "i64"), key)
        f.store(f.as_val(0, "i64"), value)

        def item(_, h):
            f.call("PyDict_Next", "i32", kw, at, key, value)
            return [f.call("finger", "i64", h, f.load("ptr", value, 8), tensor, f.as_val(0, "i64"))]
        return f.loop(0, f.call("PyDict_Size", "i64", kw), 1, item, [h])
    h, = f.if_(g.null(kw), lambda: [h], named)
    mask, rows = g.ld(index, H["mask"], "i64"), f.bytes_at(index, g.ld(index, H["known_at"], "i64"))
    miss = g.ptr(f.as_val(MISS, "i64"))

    def there(i, tries, r):
        block = _word(f, rows, ((i & mask) << 1) + 1)
        return f.binary("and", f.binary("and", f.cmp("ne", block, 0), f.cmp("slt", tries, TRIES)), g.same(r, miss))

    def one(i, tries, r):
        at = (i & mask) << 1
        return [i + 1, *f.if_(f.cmp("eq", _word(f, rows, at), h),
                              lambda: [tries + 1, f.call("enter", "ptr", _word(f, rows, at + 1, "ptr"), args, kw, always)], lambda: [tries, r])]
    _, _, r = f.while_(there, one, [f.lshr(h, 8), f.as_val(0, "i64"), miss])
    f.ret(r)


def _doors(m):
    """What Python calls."""
    # all(blocks, args, kwargs, always): the first block of a tuple (block, what it points to, ...) that fits
    f = m.fn("all", [("ptr", "blocks"), ("ptr", "args"), ("ptr", "kw"), ("i64", "always")], "ptr", "internal")
    g = Glue(f)
    blocks, args, kw, always = f.args
    n = g.ld(blocks, HEAD, "i64")
    items = f.bytes_at(blocks, HEAD + 8)
    miss = g.ptr(f.as_val(MISS, "i64"))
    g.inc(blocks)

    def one(i, r):
        block = g.ld(_word(f, items, i, "ptr"), A["data"])
        return [i + 2, *f.if_(f.cmp("eq", g.ld(block, H["kind"], "i64"), INDEX), lambda: [f.call("seek", "ptr", block, args, kw, always)],
                              lambda: [f.call("enter", "ptr", block, args, kw, always)])]
    _, r = f.while_(lambda i, r: f.binary("and", f.cmp("slt", i, n), g.same(r, miss)), one, [f.as_val(0, "i64"), miss])
    g.dec(blocks)
    f.ret(r)

    f = m.fn("traced_call", [("ptr", "self"), ("ptr", "args"), ("ptr", "kw")], "ptr")
    g = Glue(f)
    self, args, kw = f.args
    shared = _ptr(f, "whet_jit")
    f.bail(f.cmp("ne", g.ld(shared, J["off"], "i64"), 0), "slow")
    blocks = f.load("ptr", f.bytes_at(self, g.ld(shared, J["ready"], "i64")), 8)
    f.bail(g.absent(blocks), "slow")
    r = f.call("all", "ptr", blocks, args, kw, f.as_val(0, "i64"))
    f.bail(f.cmp("eq", g.i64(r), MISS), "slow")
    f.ret(r)
    f.label("slow")
    box = f.alloca("i64", 3)
    f.store(self, box, 8)
    _put(f, box, 1, args)
    _put(f, box, 2, f.sel(g.null(kw), _ptr(f, "_Py_NoneStruct"), kw))
    f.ret(f.call("PyObject_Vectorcall", "ptr", g.ld(shared, J["slow"]), box, f.as_val(3, "i64"), Val(f, "null", "ptr")))

    # enter(blocks, args, kwargs): the result, or MISSED, however often the blocks were used
    f = m.fn("traced_enter", [("ptr", "self"), ("ptr", "argv"), ("i64", "count")], "ptr")
    g = Glue(f)
    _, argv, _ = f.args
    kw = _word(f, argv, 2, "ptr")
    kw = f.sel(g.same(kw, _ptr(f, "_Py_NoneStruct")), Val(f, "null", "ptr"), kw)
    r = f.call("all", "ptr", _word(f, argv, 0, "ptr"), _word(f, argv, 1, "ptr"), kw, f.as_val(1, "i64"))

    def missed():
        x = g.ld(_ptr(f, "whet_jit"), J["missed"])
        g.inc(x)
        return [x]
    r, = f.if_(f.cmp("eq", g.i64(r), MISS), missed, lambda: [r])
    f.ret(r)

    # take(address): was this word 0? It is 1 now
    f = m.fn("traced_take", [("ptr", "self"), ("ptr", "o")], "ptr")
    g = Glue(f)
    word = f.call("PyLong_AsVoidPtr", "ptr", f.args[1])
    free = f.cmp("eq", f.load("i64", word), 0)
    f.store(f.as_val(1, "i64"), word)
    f.ret(f.call("PyBool_FromLong", "ptr", f.conv("zext", free, "i64")))

    # a traced function in a class is a method
    f = m.fn("traced_get", [("ptr", "self"), ("ptr", "owner"), ("ptr", "cls")], "ptr")
    g = Glue(f)
    self, owner, _ = f.args

    def itself():
        g.inc(self)
        return [self]
    r, = f.if_(g.null(owner), itself, lambda: [f.call("PyMethod_New", "ptr", self, owner)])
    f.ret(r)
