"""Access to the fields of CPython's objects and of ours, for the generators of native entries."""
from __future__ import annotations

from typing import TYPE_CHECKING

from ..builder import Val
from .op_layouts import CTX, FIELDS, IN_INFERENCE, INFERENCE, MISS, T
from .python_layouts import GC_HEAD, TYPE

if TYPE_CHECKING:
    from ..builder import Fn


def address_of(f: Fn, name: str) -> Val:
    """The address of a function or an object of C by its name."""
    return Val(f, f"@{name}", "ptr")


def word_at(f: Fn, p: Val, i: int | Val, ty: str = "i64") -> Val:
    """Word i of a table."""
    return f.load(ty, f.at(p, i, "i64"), 8)


def put_word(f: Fn, p: Val, i: int | Val, v: Val) -> None:
    """Write word i of a table."""
    f.store(v, f.at(p, i, "i64"), 8)


class Glue:
    """CPython and field access on a builder.Fn."""

    def __init__(self, f: Fn) -> None:
        self.f = f

    def ld(self, p: Val, off: int | Val, ty: str = "ptr") -> Val:
        return self.f.load(ty, self.f.bytes_at(p, off), 8 if ty != "i32" else 4)

    def st(self, v: Val, p: Val, off: int) -> None:
        self.f.store(v, self.f.bytes_at(p, off), 8)

    def ctx(self, name: str, ty: str = "ptr") -> Val:
        return self.ld(address_of(self.f, "whet_ctx"), CTX[name], ty)

    def modes(self, fail: str) -> Val:
        """The modes of the calling thread. If the cached ones belong to another thread, Python is
        asked for them. Another thread may replace the cache again as soon as that call returns.
        Leaves for `fail` with an error set."""
        f = self.f

        def ask() -> list[Val]:
            said = f.call("PyObject_CallNoArgs", "ptr", self.ctx("modes"))
            f.bail(self.null(said), fail)
            flags = f.call("PyLong_AsLongLong", "i64", said)
            self.dec(said)
            return [flags]

        own = f.cmp("eq", thread_number(f), self.ctx("thread", "i64"))
        return f.if_(own, lambda: [self.ctx("flags", "i64")], ask)[0]

    def inference_elsewhere(self, rg: Val, flags: Val) -> Val:
        """Not 0 for a tensor made in inference mode, by its bits, outside of that mode."""
        return rg & IN_INFERENCE & self.f.binary("xor", flags, INFERENCE)

    def i64(self, p: Val) -> Val:
        return self.f.conv("ptrtoint", p, "i64")

    def ptr(self, i: Val) -> Val:
        return self.f.conv("inttoptr", self.f.as_val(i, "i64"), "ptr")

    def null(self, p: Val) -> Val:
        return self.f.cmp("eq", p, 0)

    def same(self, p: Val, q: Val) -> Val:
        return self.f.cmp("eq", p, q)

    def absent(self, p: Val) -> Val:
        """Is a field NULL, or None as Python leaves it when it clears a field?"""
        return self.f.binary("or", self.null(p), self.same(p, address_of(self.f, "_Py_NoneStruct")))

    def inc(self, p: Val) -> None:
        self.f.call("Py_IncRef", "void", p)

    def dec(self, p: Val) -> None:
        self.f.call("Py_DecRef", "void", p)

    def leave_by_miss_or_error(self) -> None:
        """The last blocks of a function: "miss" returns MISS, "error" returns null, as an error is
        set."""
        f = self.f
        f.label("miss")
        f.ret(Val(f, f"inttoptr (i64 {MISS} to ptr)", "ptr"))
        f.label("error")
        f.ret(Val(f, "null", "ptr"))

    def type_of(self, o: Val) -> Val:
        return self.ld(o, TYPE)

    def none(self) -> Val:
        """A new reference to None."""
        n = address_of(self.f, "_Py_NoneStruct")
        self.inc(n)
        return n

    def new(self, type_name: str, fail: str) -> Val:
        """A new object of one of our types, with zeroed fields. Leaves for `fail` with an error set
        if memory is short."""
        f = self.f
        if type_name == "tensor":
            p = self.tensor_memory(fail)
        else:
            p = f.call("_PyObject_New", "ptr", self.ctx(type_name))
            f.bail(self.null(p), fail)
        for off in FIELDS[type_name]:
            self.st(f.as_val(0, "i64"), p, off)
        return p

    def tensor_memory(self, fail: str) -> Val:
        """A tensor without fields, behind the words by which the garbage collector tracks it once
        it has attributes or hooks (see `emit_set_attribute`). An object that the interpreter
        allocated would count as tracked, and trigger collections."""
        f = self.f
        p = f.call("PyObject_Malloc", "ptr", f.as_val(T["size"] + GC_HEAD, "i64"))
        f.if_(self.null(p), lambda: f.call("PyErr_NoMemory", "ptr") and [])
        f.bail(self.null(p), fail)
        for at in range(0, GC_HEAD, 8):
            self.st(f.as_val(0, "i64"), p, at)
        return f.call("PyObject_Init", "ptr", f.bytes_at(p, GC_HEAD), self.ctx("tensor"))

    def new_tensor(self, array: Val, fail: str) -> Val:
        """A leaf around an array, whose reference it takes over."""
        t = self.new("tensor", fail)
        self.st(array, t, T["array"])
        return t

    def cell_of(self, t: Val, fail: str) -> Val:
        """The version cell of a tensor. It is made when first needed: until then its slot is null,
        or None."""
        have = self.ld(t, T["cell"])

        def make() -> list[Val]:
            c = self.new("cell", fail)
            self.dec(have)
            self.st(c, t, T["cell"])
            return [c]
        return self.f.if_(self.absent(have), make, lambda: [have])[0]


def thread_number(f: Fn) -> Val:
    """The number of the calling thread. Its state's address would not identify it: an ended thread
    may have had the same."""
    return f.call("PyThreadState_GetID", "i64", f.call("PyThreadState_Get", "ptr"))
