"""Recording: a real run of a function, with every primitive that executes written down.

The recorder is an observer of `ops.registry`: it runs each primitive as eager does and notes op, operands and results. Operands are
known by the array that they stand for, so a tensor made anew around the same memory is the same value. A tensor that neither the
recording made nor the function could reach before is something that the recorder has not seen: the function is refused.
"""
import collections
import gc
import os
import sys
import types
import weakref

import numpy as np
from whet.autograd import inplace as ip
from whet.autograd import modes
from whet.ir.graph import Node, Ref
from whet.ops import pointwise_family, registry
from whet.ops.creation import copied
from whet.tensor_base import Base

from .world import LIBRARY, ours

GUARDED = 64                     # elements of a tensor whose value may be a guard
QUIET = frozenset("contextlib functools dataclasses collections typing abc enum operator types copy numbers itertools keyword reprlib "
                  "_collections_abc inspect bisect heapq statistics fractions string textwrap re _weakrefset weakref".split())
PURE = frozenset("len isinstance issubclass getattr hasattr setattr delattr abs min max sum any all sorted iter next callable divmod pow round "
                 "chr ord format repr ascii bin hex oct __build_class__ id".split())
OWNERS = (list, dict, set, frozenset, str, bytes, tuple, int, float, complex, bool, slice, range, type(None), types.MappingProxyType, type,
          collections.deque, collections.OrderedDict, collections.defaultdict, BaseException, types.CellType, Base, type({}.keys()),
          type({}.values()), type({}.items()))
MODULES = frozenset(("math", "cmath", "operator", "_operator", "itertools", "_functools", "_collections", "_abc", "_struct", "_bisect", "_heapq"))


class Refused(Exception):
    """Why a run cannot be replayed."""


class Recorder:
    """The observer of one run."""

    def __init__(self, reachable):
        self.reachable = {id(t._array): t for t in reachable}
        self.nodes, self.number, self.arrays = [], {}, []
        self.memory = {}                     # value that is a view -> the value whose memory it shows
        self.outside, self.before = {}, {}   # value number -> the tensor that was there before, and a copy of what it held
        self.made, self.ids = [], set()      # tensors made inside
        self.reason = None

    # ---- values ------------------------------------------------------------------------------------------------------
    def value(self, t):
        """The number of a tensor's value."""
        a = t._array
        n = self.number.get(id(a))
        if n is None:
            before = self.reachable.get(id(a))
            if before is None:
                raise Refused(f"a tensor of shape {list(a.shape)} was made where the recorder cannot see")
            n = self.define(a)
            self.outside[n], self.before[n] = before, a.copy()
        return n

    def define(self, a):
        n = self.number[id(a)] = len(self.arrays)
        self.arrays.append(a)
        return n

    def operands(self, inputs):
        return tuple([Ref(self.value(x)) if registry.is_tensor(x) else x for x in inputs])

    def refuse(self, reason):
        """Stop recording; the run goes on as if nobody watched."""
        if self.reason is None:
            self.reason = f"{reason} ({where()})"
        state = modes.state
        if self in state.observers:
            state.observers = tuple(o for o in state.observers if o is not self)
            modes.refresh()

    # ---- what is observed --------------------------------------------------------------------------------------------
    def __call__(self, op, inputs, attrs):
        try:
            ins = self.operands(inputs)
        except Refused as e:
            self.refuse(str(e))
            return registry.apply(op, inputs, attrs)
        try:
            out = registry.execute(op, inputs, attrs)
        except BaseException:
            self.refuse(f"{op.name} raised an error")
            raise
        self.note("op", op, ins, attrs, out)
        return out

    def note(self, kind, op, ins, attrs, out):
        outs = []
        for t in out if type(out) is tuple else (out,):
            known = self.number.get(id(t._array))
            if known is not None and ins and known == ins[0] and type(out) is not tuple:
                self.ids.add(id(t))
                self.made.append(t)          # another tensor around the same array (detach)
                return
            if known is not None:
                self.refuse(f"{op.name} gave back one of its operands")
                return
            self.made.append(t)
            self.ids.add(id(t))
            outs.append(self.define(t._array))
            if kind == "op" and op.is_view:
                self.memory[outs[-1]] = self.memory.get(ins[0], ins[0])
        if "array" in attrs:                 # a constant: as it is now, whatever is written to it later
            attrs = {**attrs, "array": copied(attrs["array"])}
        self.nodes.append(Node(kind, op, ins, attrs, outs, where()))

    def draw(self, generator, op, shape):
        """Random numbers: drawn anew at each replay."""
        seed, offset = generator.take(op.blocks(shape))
        out = registry.execute(op, (), dict(shape=shape, seed=seed, offset=offset))
        self.note("draw", op, (), dict(shape=shape, generator=generator), out)
        if self.nodes and self.nodes[-1].kind == "draw":
            self.nodes[-1].value = seed, offset
        return out

    def inplace(self, op, t, args, attrs):
        if op.is_view or op.name == "resize":
            self.refuse(f"{op.name}_ changes a tensor's shape in place")
            return _reshape(op, t, attrs) if op.is_view else t.resize_(attrs["size"])
        try:
            ins = self.operands((t, *args))
        except Refused as e:
            self.refuse(str(e))
            return pointwise_family.inplace(op, t, args, attrs)
        node, base = t._node, t if t._base is None else t._base
        if modes.state.flags & modes.GRAD and id(base) not in self.ids and any(registry.is_tensor(x) and x.requires_grad for x in (t, *args)):
            self.refuse("what carries gradients is written to a tensor that was there before")
            return pointwise_family.inplace(op, t, args, attrs)
        try:
            pointwise_family.inplace_now(op, t, args, attrs, ip)
        except BaseException:
            self.refuse(f"{op.name}_ raised an error")
            raise
        self.nodes.append(Node("write", op, ins, attrs, [], where(), t._cell))
        if t._node is not node and not any(t is x for x in self.made):
            self.refuse("a tensor that was there before got a history")
        return t

    def ask(self, question, tensors):
        """Python goes on from what a question says of some tensors: a replay asks it again."""
        try:
            ins = self.operands(tensors)
        except Refused as e:
            self.refuse(str(e))
            return question(*[t._array for t in tensors])
        answer = question(*[t._array for t in tensors])
        self.nodes.append(Node("ask", None, ins, {"question": question}, [], where(), answer))
        return answer

    def concretize(self, t):
        """Python is about to see the value."""
        name = sys._getframe(1).f_code.co_name
        try:
            n = self.value(t)
        except Refused as e:
            self.refuse(str(e))
            return
        if name == "numpy":
            self.refuse("a tensor's memory was handed to NumPy")
        elif t._array.size > GUARDED:
            self.refuse(f"{t._array.size} numbers of a tensor became Python's")
        else:
            self.nodes.append(Node("guard", None, (Ref(n),), {}, [], where(), t._array.copy()))


def _reshape(op, t, attrs):
    from whet.ops.view import reshape_inplace
    return reshape_inplace(op, t, attrs)


def where():
    """The user's line that runs now."""
    f = sys._getframe(1)
    while f is not None and ours(f.f_code):
        f = f.f_back
    return "" if f is None else f"{os.path.basename(f.f_code.co_filename)}:{f.f_lineno}"


# ---- what cannot be recorded -------------------------------------------------------------------------------------------
class Watch:
    """Looks at every call that the run makes: code that the world has not been searched for, and calls that do more than compute."""

    def __init__(self, codes, refuse):
        self.codes, self.refuse = codes, refuse

    def __enter__(self):
        self.before, self.collecting = sys.getprofile(), gc.isenabled()
        gc.disable()                         # what a collection calls is not the function's doing
        self.random = np.random.get_state(legacy=False)["state"]["pos"], np.random.get_state(legacy=False)["state"]["key"][:4].tolist()
        self.depth = 0
        sys.setprofile(self)
        return self

    def __exit__(self, *exc):
        sys.setprofile(self.before)
        if self.collecting:
            gc.enable()
        now = np.random.get_state(legacy=False)["state"]
        if (now["pos"], now["key"][:4].tolist()) != self.random:
            self.refuse("it draws from numpy.random")

    def __call__(self, frame, event, arg):
        if event == "call":
            self.called(frame)
        elif event == "c_call":
            if frame.f_code in self.codes:   # (other code was judged when it was called)
                self.native(arg)

    def called(self, frame):
        code = frame.f_code
        if ours(code) or code in self.codes:
            return
        back, importing = frame.f_back, False
        while back is not None and (_library(back) or _helper(back)):
            importing |= back.f_code.co_filename.startswith("<frozen importlib")
            back = back.f_back
        if back is None or ours(back.f_code) and (importing or _library(frame) or _helper(frame)):
            return                           # the framework's own business
        name = frame.f_globals.get("__name__", "")
        if _library(frame):
            if name.partition(".")[0] not in QUIET:
                self.refuse(f"it calls {name}.{code.co_name}")
        elif _helper(frame):
            self.refuse(f"it calls {name}.{code.co_name}")
        elif not code.co_filename.startswith("<"):           # (made by dataclasses, namedtuple and the like)
            self.refuse(f"it calls {code.co_qualname if hasattr(code, 'co_qualname') else code.co_name}, which was not within reach")

    def native(self, fn):
        owner = getattr(fn, "__self__", None)
        module = getattr(fn, "__module__", None)
        if isinstance(owner, types.ModuleType) or owner is None and module:
            name = module or owner.__name__
            if name == "builtins" and fn.__name__ in PURE or name in MODULES or name.partition(".")[0] in ("numpy", "whet"):
                return
            self.refuse(f"it calls {name}.{fn.__name__}")
        elif owner is not None and not isinstance(owner, OWNERS) and not isinstance(owner, type):
            self.refuse(f"it calls {type(owner).__qualname__}.{fn.__name__}")


def _library(frame):
    name = frame.f_code.co_filename
    return name.startswith(LIBRARY) and "site-packages" not in name or name.startswith("<frozen")


def _helper(frame):
    """Is it code of a library that the framework itself works with?"""
    return frame.f_globals.get("__name__", "").partition(".")[0] in ("numpy", "llvmlite", "ml_dtypes", "networkx")


def escaped(tensors):
    """One of the tensors that somebody still holds, given the only list of them."""
    refs = [weakref.ref(t) for t in tensors]
    tensors.clear()
    return next((r() for r in refs if r() is not None), None)

