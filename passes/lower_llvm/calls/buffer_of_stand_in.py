"""The buffer protocol of the stand-in for a NumPy array in a recorded run, in machine code.

C functions read arrays as memory, without calling any method. The stand-in exposes the memory of
the array itself: it calls `whet_array_behind`, which returns the array."""
from __future__ import annotations

from ..builder import Module, Val
from .object_access import Glue, address_of

VIEW_OWNER = 8                   # of a `Py_buffer`: the object that hears when it is no longer used


def source() -> str:
    """The IR text of `get_buffer(self, view, flags)`."""
    m = Module()
    m.decls["whet_array_behind"] = "@whet_array_behind = external global i8"
    f = m.fn("get_buffer", [("ptr", "self"), ("ptr", "view"), ("i32", "flags")], "i32")
    g = Glue(f)
    self, view, flags = f.args
    null = Val(f, "null", "ptr")
    box = f.alloca("i64", 1)
    f.store(self, box, 8)
    real = f.call("PyObject_Vectorcall", "ptr", address_of(f, "whet_array_behind"), box,
                  f.as_val(1, "i64"), null)
    f.bail(g.null(real), "error")
    failed = f.call("PyObject_GetBuffer", "i32", real, view, flags)
    g.dec(real)
    f.ret(failed)
    f.label("error")
    g.st(null, view, VIEW_OWNER)
    f.ret(f.as_val(-1, "i32"))
    return m.text()
