"""Access to the fields of CPython's objects and of ours, for the generators of native entries."""
from ..builder import Val
from .op_layouts import CTX, FIELDS, T
from .python_layouts import GC_HEAD, TYPE


def _ptr(f, name):
    return Val(f, f"@{name}", "ptr")


def _word(f, p, i, ty="i64"):
    return f.load(ty, f.at(p, i, "i64"), 8)


def _put(f, p, i, v):
    f.store(v, f.at(p, i, "i64"), 8)


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
        return self.ld(o, TYPE)

    def none(self):
        """A new reference to None."""
        n = _ptr(self.f, "_Py_NoneStruct")
        self.inc(n)
        return n

    def new(self, type_name, fail):
        """A new object of one of our types with all its fields zero; without memory for it
        leaves for `fail`, the error set."""
        f = self.f
        if type_name == "tensor":
            p = self.tensor_memory(fail)
        else:
            p = f.call("_PyObject_New", "ptr", self.ctx(type_name))
            f.bail(self.null(p), fail)
        for off in FIELDS[type_name]:
            self.st(f.as_val(0, "i64"), p, off)
        return p

    def tensor_memory(self, fail):
        """A tensor without fields, behind the words by which the garbage collector tracks it once
        it has attributes or hooks (see `_set_attribute`). An object that the interpreter made
        would count as one that is tracked, and start collections."""
        f = self.f
        p = f.call("PyObject_Malloc", "ptr", f.as_val(T["size"] + GC_HEAD, "i64"))
        f.if_(self.null(p), lambda: f.call("PyErr_NoMemory", "ptr") and [])
        f.bail(self.null(p), fail)
        for at in range(0, GC_HEAD, 8):
            self.st(f.as_val(0, "i64"), p, at)
        return f.call("PyObject_Init", "ptr", f.bytes_at(p, GC_HEAD), self.ctx("tensor"))

    def new_tensor(self, array, fail):
        """A leaf around an array, whose reference it takes over."""
        t = self.new("tensor", fail)
        self.st(array, t, T["array"])
        return t

    def cell_of(self, t, fail):
        """The version cell of a tensor, made when first needed: until then its slot holds
        nothing, or None."""
        have = self.ld(t, T["cell"])

        def make():
            c = self.new("cell", fail)
            self.dec(have)
            self.st(c, t, T["cell"])
            return [c]
        return self.f.if_(self.absent(have), make, lambda: [have])[0]


def _thread(f):
    """The number of the calling thread (its state's address may be that of a thread which
    ended)."""
    return f.call("PyThreadState_GetID", "i64", f.call("PyThreadState_Get", "ptr"))
