"""NumPy arrays in a run that is recorded.

Arrays that a function is given, or finds outside of it, are inputs as tensors are: a replay reads what they hold then. Python's functions
and NumPy's would read them past every observer, so the run finds an `Array` in the place of each. What NumPy computes of those is noted as
a node (`ops/numpy_calls.py`) and gives another; whet takes the memory behind them; and whatever else looks at their numbers makes
these a guard, on which the replay then depends.
"""
import operator
import sys
import weakref

import numpy as np
from whet.autograd import modes
from whet.dtypes import FROM_NUMPY
from whet.ir.graph import Guard, Ref, Write
from whet.ir.spans import address, span
from whet.ops.numpy_calls import Told, Unsaid, find, numpy_call, raising
from whet.ops.registry import REGISTRY, apply, is_tensor
from whet.ops.strided import as_strided_op, element_strides
from whet.tensor import wrap

from ..report.reasons import OfNumPy
from .numpy_stand_in import Array, made_of, real_of, stand_for, tensor_of, unwrapped
from .output import warn_of
from .user_lines import where
from .varying_numbers import NUMBERS, plainly, reclaim, tensor_behind

COMPARED = 1 << 16               # bytes of an array that a replay compares
# functions that change their first operand, by their path
WRITES = frozenset(("copyto", "put", "place", "putmask", "put_along_axis", "fill_diagonal", "ndarray.fill", "ndarray.sort", "ndarray.partition",
                    "ndarray.put"))
ADDRESSES = np.shares_memory, np.may_share_memory
UNSET = {np.empty_like: np.zeros_like}       # what leaves memory as it is, which would be another at each call
# what makes arrays without asking its operands
MAKERS: frozenset = frozenset((np.array, np.asarray, np.ascontiguousarray, np.asanyarray, np.zeros, np.empty, np.ones, np.full))
# those of them that are there to be written to
BLANK = {np.zeros: np.zeros, np.empty: np.zeros, np.ones: np.ones, np.full: np.full}
# code that names these may read memory in ways that only an array of NumPy's allows
EXACT = frozenset(("memoryview", "bytes", "bytearray", "shuffle", "permutation", "permuted", "unpack", "unpack_from", "pack_into",
                   "__array_interface__", "__array_struct__", "nditer", "vectorize", "frompyfunc", "apply_along_axis", "flat"))


def takes(x):
    """Can this array be an input?"""
    return type(x) is np.ndarray and x.dtype in FROM_NUMPY and x.dtype.isnative and x.flags.aligned \
        and all(s % x.itemsize == 0 for s in x.strides)


def layout(x):
    """What an array is, its numbers aside."""
    return x.dtype, x.shape, x.strides, x.flags.writeable


for _function in MAKERS:                     # while their names still lead to them
    find(_function.__name__)


class Arrays:
    """The arrays of one run."""

    def __init__(self, rec):
        self.rec, self.known, self.lent = rec, {}, []        # known: id of an array -> what stands for it; lent: all of those, weakly
        self.roots, self.snapshots, self.handed = set(), set(), []
        self.around = {}                     # id of an array that was found outside -> a tensor around it
        self.wrote, self.asks, self.described = False, False, set()

    def stand_in(self, real, given=False):
        """What the run finds in the place of an array that was there before. Was the function `given` it? (Then there is a tensor around it.)"""
        made = self.known.get(id(real))
        if not given and id(real) not in self.around:
            t = self.around[id(real)] = wrap(real)
            self.rec.borrowed[id(t)] = t
            self.rec.reachable.setdefault(id(real), t)
        if made is None:
            made = self.known[id(real)] = self.lend(real, wrap(real))
            made_of(made).add("there before")
        return made

    def lend(self, real, tensor, snapshot=False):
        """Something that stands for an array or for a number of NumPy's; `tensor` is around the same memory."""
        x = stand_for(real, tensor, self.rec, {"a snapshot"} if snapshot else set())
        self.rec.hidden.append(tensor)
        self.lent.append(weakref.ref(x))
        return x

    def root(self, x):
        """The value whose memory it shows."""
        n = self.rec.value(tensor_of(x))
        return self.rec.memory.get(n, n)

    def pin(self, x):
        """Python goes on from its numbers: a replay needs the same."""
        real, rec = real_of(x), self.rec
        if real.nbytes > COMPARED:
            rec.refuse(OfNumPy(f"it goes on from {real.size} numbers of a NumPy array"))
            return
        n = rec.value(tensor_of(x))
        rec.nodes.append(Guard(Ref(n), tensor_of(x)._array.copy(), where()))

    def hand(self, x):
        """Others get the array itself: what it holds must stay."""
        self.pin(x)
        self.handed.append((real_of(x), real_of(x).tobytes()))

    def untouched(self):
        """Do the arrays that were handed out hold what they held?"""
        return all(a.tobytes() == was for a, was in self.handed)

    def of(self, t):
        """`t.numpy()`: something that stands for the array."""
        with modes.no_grad():
            a = t._array
            part = apply(as_strided_op, (t.detach(),), dict(size=a.shape, stride=element_strides(a), offset=0, base_stride=element_strides(a)))
        if not self.asks:
            self.asks = True
            self.rec.read(lambda: tuple(np.geterr().values()))
        return self.lend(part._array, wrap(part._array))

    def problem(self, differentiable):
        """What the run did that a replay does not, in words, once everything that it gives back, or leaves behind, has been described.
        `differentiable`: do gradients flow through results?"""
        if not self.untouched():
            return "it writes to a NumPy array past all operations"
        if self.wrote and differentiable:
            return "it writes to a NumPy array, and gives results through which gradients flow"
        for x in [x for r in self.lent if (x := r()) is not None]:
            if id(x) in self.described and "a snapshot" in made_of(x):
                return "it gives back an array that shows another one's memory in a place that depends on numbers"
            if id(x) not in self.described and "there before" not in made_of(x):
                return "a NumPy array that it made is still in use afterwards, but not returned"
        return None

    def take_back(self):
        """The real arrays wherever the run left what stands for them."""
        self.known.clear()
        reclaim([(r, real_of(x)) for r in self.lent if (x := r()) is not None])
        if self.rec is not None:
            self.rec.numpys = self.rec = None           # (nobody asks any more)

    # ---- calls ---------------------------------------------------------------------------------------------------------
    def operand(self, x):
        """For `Told`."""
        t = type(x)
        if t is Array:
            return "scalar" if isinstance(real_of(x), np.generic) else "array", tensor_of(x)
        if t in NUMBERS:
            return "number", tensor_behind(x)
        if t is np.ndarray and takes(x):     # (of the run's own making, from what is the same each time)
            from whet.ops.creation import literal
            return "array", literal(x)
        return None

    def tell(self, name, function, args, kwargs):
        """(attributes of the node, operands); None where it cannot be said as text."""
        try:
            if find(name) is not function:
                return None
            told = Told(self.operand)
            with modes.no_grad():
                attrs = dict(function=name, args=tuple([told(x) for x in args]), kwargs=tuple([(k, told(x)) for k, x in kwargs.items()]),
                             errors=raising())
            return attrs, tuple(told.tensors)
        except (Unsaid, AttributeError):
            return None

    def call(self, name, function, args, kwargs):
        """What NumPy's function gives, noted."""
        function = UNSET.get(function, function)
        plain_args, plain_kwargs = unwrapped(args), unwrapped(kwargs)
        if any(map(is_tensor, (*_flat(args), *_flat(tuple(kwargs.values()))))) or function in ADDRESSES:
            if function in ADDRESSES:
                self.rec.refuse(OfNumPy("it asks where NumPy arrays lie in memory"))
            return function(*plain_args, **plain_kwargs)
        out = kwargs.get("out")
        out = out[0] if type(out) is tuple and len(out) == 1 else out
        if out is not None:
            return self.change(name, function, out, args, kwargs, plain_args, plain_kwargs)
        if name.startswith("operator.i") and name[10:] in INPLACE and isinstance(plain_args[0], np.generic):
            return self.call(name := "operator." + _reflected(name[10:]), find(name), args, kwargs)
        if name in WRITES or name.startswith("operator.i") and name[10:] in INPLACE or name == "operator.setitem":
            return self.change(name, function, args[0], args, kwargs, plain_args, plain_kwargs)
        told = self.tell(name, function, args, kwargs)
        before = [(t._array, t._array.tobytes()) for t in told[1] if t._array.nbytes <= COMPARED] if told and not name.startswith("operator") else ()
        made = self.informed(function, plain_args, plain_kwargs)
        if self.rec.reason:
            return made
        if any(a.tobytes() != was for a, was in before):
            self.rec.refuse(OfNumPy(f"it changes a NumPy array by {name}"))
            return made
        if told is None or not all(isinstance(y, np.generic) and y.dtype in FROM_NUMPY or takes(y) for y in _several(made)):
            if made is None:
                self.rec.refuse(OfNumPy(f"it calls {name}"))
            self.pin_all(args, kwargs)
            return made
        attrs, tensors = told
        shown = [self.shown(y, tensors) for y in _several(made)]
        if all(x is not None for x in shown):
            return _like(made, shown)
        snapshot = [t for t in tensors if any(type(y) is np.ndarray and _overlap(y, t._array) for y in _several(made))]
        with modes.no_grad():
            results = apply(numpy_call, tensors, attrs)
        if self.rec.reason:
            return made
        for t in snapshot:                   # (the result is a copy, where NumPy shows memory)
            self.snapshots.add(self.rec.memory.get(n := self.rec.value(t), n))
        out = []
        for y, t in zip(_several(made), results if type(results) is tuple else (results,), strict=True):
            out.append(self.lend(y if isinstance(y, np.generic) else t._array, t, bool(snapshot)))
            self.roots.add(self.rec.value(t))
        return _like(made, out)

    def informed(self, function, args, kwargs):
        """What a function gives. Where NumPy warns of the numbers in it, that happens in the user's line, and is no recording."""
        settings, log = np.geterr(), _Log()
        if not {"warn", "raise", "ignore"}.issuperset(settings.values()):
            self.rec.refuse(OfNumPy("NumPy is told to call, print or log where numbers are wrong"))
            return function(*args, **kwargs)
        with np.errstate(**{kind: "log" if way == "warn" else way for kind, way in settings.items()}, call=log):
            made = function(*args, **kwargs)
        if log.said:
            self.rec.refuse(OfNumPy("NumPy warns of numbers"))
            for message in log.said:
                warn_of(self.rec.user(), message, RuntimeWarning)
        return made

    def shown(self, y, tensors):
        """A part of an operand's memory, as an array that stands for it; None where it is memory of its own, or no place in it tells."""
        if type(y) is not np.ndarray or any(t._array.size == 0 for t in tensors) or not y.size:
            return None
        for t in tensors:
            a = t._array
            if not _overlap(y, a) or a.dtype != y.dtype or (address(y) - address(a)) % a.itemsize:
                continue
            if len(tensors) > 1:             # (where it lies may depend on the other operands)
                return None
            with modes.no_grad():
                part = apply(as_strided_op, (t,), dict(size=y.shape, stride=element_strides(y), offset=(address(y) - address(a)) // a.itemsize,
                                                       base_stride=element_strides(a)))
            return self.lend(part._array, wrap(part._array))
        return None

    def pin_all(self, args, kwargs):
        """A call that is not noted: what it read must be the same."""
        for x in (*_flat(args), *_flat(tuple(kwargs.values()))):
            if type(x) is Array:
                self.pin(x)
            else:
                plainly(x)

    def change(self, name, function, target, args, kwargs, plain_args, plain_kwargs):
        """A call that changes an array."""
        if type(target) is not Array or name == "operator.setitem" and not isinstance(real_of(target), np.ndarray):
            self.pin_all(args, kwargs)
            return function(*plain_args, **plain_kwargs)
        static = name == "operator.setitem" and not any(type(x) in (Array, np.ndarray, list) or type(x) in NUMBERS for x in _flat((args[1],)))
        if static and not _is_all(args[1]):
            part = self.call("operator.getitem", operator.getitem, (target, args[1]), {})
            if type(part) is Array and isinstance(real_of(part), np.ndarray):
                return self.change(name, function, part, (part, ..., args[2]), {}, (real_of(part), ..., plain_args[2]), {})
        rec, refusal = self.rec, None
        if rec.trying is not None:
            rec.trying("it writes to a NumPy array")
        root = self.root(target)
        if "a snapshot" in made_of(target) or self.frozen(root, real_of(target)):
            refusal = "it writes to a NumPy array of which others have seen the memory"
        elif root not in self.roots and "there before" not in made_of(target) and root not in self.before():
            refusal = "it writes to a tensor's memory through NumPy"
        told = None
        if refusal is None and real_of(target).flags.writeable:
            told = self.tell(name, function, args, kwargs)
            if told is None:
                refusal = f"it changes a NumPy array by {name}"
        if refusal is not None or told is None:
            if refusal is not None:
                rec.refuse(OfNumPy(refusal))
            made = function(*plain_args, **plain_kwargs)
            return target if made is real_of(target) else made
        attrs, tensors = told
        with modes.no_grad():
            try:
                made = apply(numpy_call, tensors, {**attrs, "writes": [t is tensor_of(target) for t in tensors].index(True)})
            except FloatingPointError:
                made = self.informed(function, plain_args, plain_kwargs)
                return target if made is real_of(target) else made
        if rec.reason is None:
            n, m = rec.value(tensor_of(target)), rec.value(made)
            rec.nodes.append(Write(REGISTRY["copy"], (Ref(n), Ref(m)), {}, where(), None, False))
        rec.originals.write(real_of(target))
        np.copyto(real_of(target), made._array)
        self.wrote = True
        return None if name == "operator.setitem" or name in WRITES else target

    def frozen(self, root, real):
        """Must an array stay as it is, as others have seen its memory?"""
        return root in self.snapshots or any(_overlap(real, a) for a, _ in self.handed)

    def before(self):
        """The roots of arrays that were there before."""
        return {n for x in self.known.values() if (n := self.rec.values.number(real_of(x))) is not None}

    def make(self, function, *args, **kwargs):
        """A function that makes arrays is called by the user's code."""
        if sys._getframe(2).f_code not in self.rec.codes:
            return function(*args, **kwargs)
        values = [*_flat(args), *_flat(tuple(kwargs.values()))]
        if any(map(is_tensor, values)):
            if len(args) != 1 or not is_tensor(args[0]) or function in BLANK:
                return function(*args, **kwargs)
            args = args[0].numpy(),
            values = list(args)
        if not (function in BLANK or any(type(x) is Array or type(x) in NUMBERS for x in values)):
            return function(*args, **kwargs)
        function = BLANK.get(function, function)
        return self.call(function.__name__, function, args, kwargs)


class _Log:
    """What NumPy has to say."""

    def __init__(self):
        self.said = []

    def write(self, text):
        """A line."""
        self.said.append(text.removeprefix("Warning: ").rstrip())


INPLACE = frozenset(("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"))


def _reflected(name):
    """The name of an operator that makes a new array."""
    return name + "_" if name in ("and", "or") else name


def _is_all(index):
    return index is ... or type(index) is slice and index == slice(None)


def _several(made):
    return made if isinstance(made, tuple | list) else (made,)


def _like(made, parts):
    if not isinstance(made, tuple | list):
        return parts[0]
    return type(made)._make(parts) if hasattr(type(made), "_make") else type(made)(parts)


def _overlap(a, b):
    if not a.size or not b.size:
        return False
    (low, high), (first, end) = span(a), span(b)
    return low < end and first < high


def _flat(x):
    """The parts of nested tuples and lists."""
    if type(x) in (tuple, list):
        return [z for y in x for z in _flat(y)]
    if type(x) is slice:
        return _flat((x.start, x.stop, x.step))
    return [z for y in x.values() for z in _flat(y)] if type(x) is dict else [x]
