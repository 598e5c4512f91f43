"""Calls a library that `exported.compile("model.so")` made, from Python, with NumPy alone.

    python examples/library/call.py ./digits.so x.npy
"""
import ctypes as C
import os
import sys

import numpy as np


class Value(C.Structure):
    """What the library tells of an input or a result."""
    _fields_ = [("name", C.c_char_p), ("dtype", C.c_char_p), ("ndim", C.c_int64),
                ("shape", C.POINTER(C.c_int64)), ("strides", C.POINTER(C.c_int64)),
                ("bytes", C.c_int64), ("alignment", C.c_int64)]


class Buffer(C.Structure):
    """What a call is given."""
    _fields_ = [("data", C.c_void_p), ("bytes", C.c_int64)]


class Threads(C.Structure):
    """What a context computes with."""
    _fields_ = [("threads", C.c_int64), ("executor", C.c_void_p), ("width", C.c_void_p),
                ("run", C.c_void_p)]


class Bounds(C.Structure):
    """What the library tells of a size that differs from call to call."""
    _fields_ = [("name", C.c_char_p), ("least", C.c_int64), ("most", C.c_int64)]


class Model:
    """A model with one context: call it with arrays. `prefix` is what its functions begin with.
    Where sizes differ from call to call, a call wants them by name, `sizes={"batch": 7}`."""

    def __init__(self, path, prefix=None, level=None, threads=1, weights=None):
        self.library = C.CDLL(os.path.abspath(path))
        self.prefix = prefix or os.path.splitext(os.path.basename(path))[0].lower()
        self.model, self.context = C.c_void_p(), C.c_void_p()
        names = [None if x is None else os.fsencode(x) for x in (weights, level)]
        self.check(self.function("model_create")(C.byref(self.model), *names))
        self.check(self.function("context_create")(
            C.byref(self.context), self.model, C.byref(Threads(threads))))
        self.results = list(self.values("result"))
        self.inputs = list(self.values("input"))
        self.sizes = list(self.all_sizes())

    def function(self, name, result=C.c_int):
        f = self.library[f"{self.prefix}_{name}"]
        f.restype = result
        return f

    def check(self, code):
        if code:
            raise ValueError(self.function("message", C.c_char_p)(code).decode())

    def values(self, which):
        about, i = self.function(which, C.POINTER(Value)), 0
        while v := about(C.c_int64(i)):
            v, i = v[0], i + 1
            yield v.name.decode(), np.dtype(v.dtype.decode()), tuple(v.shape[:v.ndim])

    def all_sizes(self):
        """The sizes that differ; a library of one size has no function for them."""
        if hasattr(self.library, f"{self.prefix}_size"):
            about, i = self.function("size", C.POINTER(Bounds)), 0
            while s := about(C.c_int64(i)):
                s, i = s[0], i + 1
                yield s.name.decode(), s.least, s.most

    def shapes(self, sizes):
        """The shapes of results for some sizes."""
        self.check(self.function("prepare")(self.context, sizes))
        about = self.function("context_result", C.POINTER(Value))
        for i in range(len(self.results)):
            v = about(self.context, C.c_int64(i))[0]
            yield tuple(v.shape[:v.ndim])

    def __call__(self, *inputs, sizes=None):
        shapes, chosen = [shape for _, _, shape in self.results], []
        if self.sizes:
            wanted = [(sizes or {})[name] for name, _, _ in self.sizes]
            chosen = [(C.c_int64 * len(wanted))(*wanted)]
            shapes = self.shapes(*chosen)
        outs = [np.empty(shape, dtype) for shape, (_, dtype, _) in zip(shapes, self.results)]
        ins = [np.ascontiguousarray(x) for x in inputs]
        given, made = ([(Buffer * len(a))(*[Buffer(x.ctypes.data, x.nbytes) for x in a]),
                        C.c_int64(len(a))] for a in (ins, outs))
        self.check(self.function("run")(self.context, *chosen, *given, *made))
        return outs

    def close(self):
        self.check(self.function("context_destroy")(self.context))
        self.check(self.function("model_destroy")(self.model))
        self.model, self.context = C.c_void_p(), C.c_void_p()


if __name__ == "__main__":
    for y in Model(sys.argv[1])(*map(np.load, sys.argv[2:])):
        print(y)
