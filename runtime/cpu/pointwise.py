"""Pointwise ops on NumPy arrays: evaluates a scalar expression through a kernel that is compiled at
the first call.

A call looks up a plan by its operands' types, sizes and strides. A plan is a kernel, the numbers
with which it walks the operands, and how to make the results. An expression or type without a
compiled form gets a plan that runs the NumPy reference."""
import functools
import math
import os
from math import prod
from typing import Any

import numpy as np
from whet.cpu import allocator, float8, memory, native, taped_launches, tiered_compilation
from whet.dtypes import FROM_NUMPY, SHORT, STORED
from whet.ir import kernel as K
from whet.ir import scalar as S
from whet.ir.complex_parts import Inseparable, in_parts
from whet.ir.outline import broadcast_shapes, table
from whet.ir.symbolic_size import at_least, plan_for

PLANS = 4096                    # of one op; when a program has used more, they are made again
GRAIN_NS = 10_000
SMALL_COPY = 1 << 11            # elements that NumPy has moved before a plan is found
PLAIN_COPY = 1 << 19            # bytes of contiguous arrays of which the same is true


class Pointwise:
    """One pointwise op: `roots` are expressions over the elements of `nin` inputs, with one result
    each.

    Nothing is done before the first call. Inputs are arrays of any strides that broadcast to one
    shape, with types as the op wants them; a result has the type of its expression. With `anyhow`,
    one kernel does for operands of all strides, an element at a time.
    """
    __slots__ = ("name", "roots", "nin", "anyhow", "_flat", "_plans", "_typed")

    def __init__(self, name, roots, nin, anyhow=False):
        self.name, self.roots, self.nin, self.anyhow = name, tuple(roots), nin, anyhow
        self._flat, self._plans, self._typed = {}, {}, {}

    def __repr__(self):
        return f"Pointwise({self.name}: {', '.join(map(str, self.roots))})"

    def __call__(self, inputs, outs=None):
        """The results, as a list of arrays: new ones, or `outs`, which may be inputs but must not
        overlap one in another way.

        New results are dense, in the order in memory of the first input that has one.
        """
        n = self.nin             # one and two are written out: lists of arguments take a fifth more
        if n == 2:
            a, b = inputs
            flat = self._flat_of_two(a, b)
        elif n == 1:
            a, = inputs
            flat = self._flat_of_one(a)
        else:
            flat = self._flat_of_many(inputs)
        if flat is not None:
            addr, most, grain, dtype = flat
            shape = inputs[0].shape or next(x.shape for x in inputs if x.shape)
            out = memory.empty(shape, dtype) if outs is None else _fitting(outs, shape, dtype)
            if out is not None and (size := out.size) <= most:
                if n == 2:
                    native.launch(addr, size, grain, a, b, out)
                elif n == 1:
                    native.launch(addr, size, grain, a, out)
                else:
                    native.launch(addr, size, grain, *inputs, out)
                return [out]
        key = _key(inputs if outs is None else (*inputs, *outs))
        plan = self._plans.get(key) or self._make(key, inputs, outs)
        # NumPy scalars have no address of their own
        if plan.numbers:
            inputs = [a if a.__class__ is np.ndarray else np.asarray(a) for a in inputs]
        if outs is None:
            outs = [memory.empty(*new) for new in plan.news]
        plan.run(inputs, outs)
        return list(outs)

    # What `_keep_flat` kept for dense inputs such as these, in as few steps as their number allows:
    # usual calls come here, and take little longer than these steps do.

    def _flat_of_one(self, a):
        return self._flat.get(a.dtype) if a.shape and a.flags.c_contiguous else None

    def _flat_of_two(self, a, b):
        shape = a.shape
        if not shape or not a.flags.c_contiguous:
            return None
        other = b.shape
        if other == shape:
            return self._flat.get((a.dtype, b.dtype)) if b.flags.c_contiguous else None
        if other == () and b.__class__ is np.ndarray:
            return self._flat.get((a.dtype, b.dtype, "number"))
        return None

    def _flat_of_many(self, inputs):
        shape, types = None, []
        for x in inputs:
            sizes = x.shape
            if (sizes == shape or shape is None and sizes) and x.flags.c_contiguous:
                shape = sizes
                types.append(x.dtype)
            elif sizes == () and x.__class__ is np.ndarray:
                types += x.dtype, "number"
            else:
                return None
        return self._flat.get(tuple(types)) if shape else None

    def plan(self, inputs, outs):
        """The plan for operands like these, for callers that keep it."""
        key = _key((*inputs, *outs))
        return self._plans.get(key) or self._make(key, inputs, outs)

    def has_kernel(self, inputs, outs):
        """Does machine code compute this? If not, NumPy does, whose functions have other bits."""
        typed = Typed(self, inputs, outs)
        if not typed.compiled:
            return False
        from whet.passes.lower_llvm.elements import pointwise as lower
        return lower.has_form(typed.described("flat", "v" * len(typed.sizes)))

    def has_parts(self, inputs):
        """Is there a kernel for everything that is computed with complex numbers among these?"""
        try:
            in_parts(self.roots, tuple([FROM_NUMPY[a.dtype].short for a in inputs]))
        except Inseparable:
            return False
        return True

    def _make(self, key, inputs, outs):
        if len(inputs) != self.nin:
            raise TypeError(f"{self.name} takes {self.nin} inputs, got {len(inputs)}")
        types = tuple(a.dtype for a in (inputs if outs is None else (*inputs, *outs)))
        typed = self._typed.get(types)
        if typed is None:
            typed = self._typed[types] = Typed(self, inputs, outs)
        if allocator.is_absent():
            return _Unmade(typed, inputs, outs)

        def keep(plan):
            if len(self._plans) >= PLANS:
                self._plans.clear()
            self._plans[key] = plan
            if outs is None and len(self.roots) == 1:
                self._keep_flat(plan, inputs)
        with tiered_compilation.work(max(prod(a.shape) for a in (*inputs, *(outs or ())))):
            return plan_for(self, key, lambda: _Plan(typed, inputs, outs, self.anyhow), keep)

    def _keep_flat(self, plan, inputs):
        """Keep the plan of dense inputs for any number of elements."""
        if not plan.addr or plan.total > plan.most:
            return
        shape = plan.news[0][0]
        # of one element nothing can be told apart: its plan is no pattern for longer ones
        if (prod(shape) > 1 and all(a.shape == () or a.shape == shape and a.flags.c_contiguous
                                    for a in inputs)):
            types = [
                x for a in inputs for x in ((a.dtype, "number") if a.shape == () else (a.dtype,))]
            self._flat[types[0] if self.nin == 1
                       else tuple(types)] = (plan.addr, plan.most, plan.grain, plan.news[0][1])


def _key(arrays):
    """What a plan for these goes by."""
    if len(arrays) == 2:
        a, b = arrays
        return a.dtype, a.shape, a.strides, b.dtype, b.shape, b.strides
    return tuple([x for a in arrays for x in (a.dtype, a.shape, a.strides)])


def _runs_reference(elements):
    """Does NumPy compute so few elements if the kernel is in no cache? Not while launches are
    recorded."""
    return tiered_compilation.runs_reference(elements) and not taped_launches.listens()


def _fitting(outs, shape, dtype):
    """`outs` for a flat result, if it is contiguous and has the result's own type."""
    out, = outs
    return out if out.dtype == dtype and out.shape == shape and out.flags.c_contiguous else None


class Typed:
    """An op on operands of known types: its expressions, the types of its results, and the kernels
    used so far. `needs_no_kernel`: the reference gives the same bits as a kernel."""
    __slots__ = ("roots", "names", "dtypes", "sizes", "kernels", "compiled", "needs_no_kernel",
                 "picks")

    def __init__(self, op, inputs, outs):
        self.names: tuple[Any, ...] = tuple(
            FROM_NUMPY[a.dtype].short if a.dtype in FROM_NUMPY else None for a in inputs)
        known = S.types(op.roots, self.names)
        types = [known[id(r)] for r in op.roots]
        if None in types:
            raise TypeError(
                f"{op.name}: the result {op.roots[types.index(None)]} has no type: cast it to one")
        self.roots, self.dtypes = op.roots, [SHORT[t].np for t in types]
        # a result is cast to the type of its place
        if outs is not None:
            self.dtypes = [o.dtype for o in outs]
            wanted = [FROM_NUMPY[o.dtype].short for o in outs]
            self.roots = tuple(r if t == w else S.cast(r, w)
                               for r, t, w in zip(op.roots, types, wanted, strict=True))
        self.sizes = [a.dtype.itemsize for a in inputs] + [t.itemsize for t in self.dtypes]
        self.compiled = None not in self.names and os.environ.get("WHET_CPU") != "numpy"
        self.needs_no_kernel = S.has_one_value(self.roots, self.names)
        self.picks = [e for e in S.walk(*op.roots) if e.op == "pick"]
        self.kernels = {}

    def described(self, *walk):
        """The kernel for one way through memory: its space, its access, and whether it streams."""
        return K.Pointwise(self.roots, self.names, tuple(FROM_NUMPY[t].short for t in self.dtypes),
                           *walk)

    def walk(self, shape, strides, anyhow):
        """The way through operands of these strides."""
        inputs = len(self.names)
        if anyhow:
            return K.anyhow(shape, strides, inputs)
        packed = K.packed(shape, strides, self.sizes, inputs, self.picks)
        return packed or K.near(K.plan(shape, strides, self.sizes, inputs), self.sizes)

    def kernel(self, walk, stream, elements):
        """(the kernel's address, its nanoseconds per element). None if there is no compiled form,
        or if so few elements need none for now."""
        key = walk.space, walk.access, stream
        if key not in self.kernels:
            k = self.described(*key)
            if (self.needs_no_kernel and _runs_reference(elements)
                    and not native.at_hand(k.key)):
                return None
            from whet.passes.lower_llvm.elements import pointwise as lower
            from whet.passes.lower_llvm.scalar import Unsupported
            try:
                address = native.kernel(k.key, lambda module, symbol: lower.emit(k, module, symbol))
                self.kernels[key] = address, lower.nanoseconds(k)
            except Unsupported:
                self.kernels[key], self.compiled = None, False
        return self.kernels[key]


class _Plan:
    """How to compute on operands with known types, sizes and strides."""
    __slots__ = ("roots", "news", "addr", "total", "most", "grain", "table", "numbers",
                 "awaited")

    def __init__(self, typed, inputs, outs, anyhow):
        shape = outs[0].shape if outs else common_shape(inputs)
        self.addr, self.table, self.total, self.most, self.grain = None, None, prod(shape), 0, 1
        self.roots, self.numbers = typed.roots, any(a.shape == () for a in inputs)
        self.awaited = None                  # a kernel that the reference stands in for
        if outs is None:
            self.news, strides = result_layouts(shape, inputs, typed.dtypes)
        else:
            self.news, strides = None, [o.strides for o in outs]
        if not typed.compiled or not self.total:
            return
        steps = [a.strides if a.shape == shape else K.spread(a, shape) for a in inputs]
        sizes = typed.sizes
        walk = typed.walk(shape, steps + strides, anyhow)
        run = (walk.shape[-1] * sizes[-1]
               if len(strides) == 1 and walk.space in ("flat", "rows") and walk.access[-1] == "v"
               else 0)
        stream = run >= 4096 and self.total * sizes[-1] >= _cache_bytes()
        self.take(typed, walk, stream)

    def take(self, typed, walk, stream):
        """Use an existing kernel for a walk."""
        kernel = typed.kernel(walk, stream, self.total)
        if kernel is None:
            self.awaited = (typed, walk, stream) if typed.compiled else None
            return
        self.addr, ns = kernel
        elements, self.total = self.total, K.units(walk)
        self.grain = at_least(math.floor(GRAIN_NS / (ns * elements / self.total)), 1)
        if walk.space == "flat":
            self.most = 0 if stream else (_cache_bytes() - 1) // typed.sizes[-1]
        else:
            self.table = table(K.tables(walk))

    def run(self, inputs, outs):
        """Compute, with a kernel if there is one by now."""
        if self.addr is None and self.awaited is not None and not _runs_reference(self.total):
            self.take(*self.awaited)
        if self.addr is None:
            self.reference(inputs, outs)
        else:
            native.launch(self.addr, self.total, self.grain, *inputs, *outs, self.table)

    def reference(self, inputs, outs):
        """Compute with NumPy, step by step."""
        values = S.evaluate(self.roots, inputs, lambda t: SHORT[t].np)
        with np.errstate(all="ignore"):
            for out, v in zip(outs, values):
                np.copyto(out, v, casting="unsafe")


class _Unmade:
    """A plan without a kernel, for callers that only want the layouts of the results."""
    __slots__ = ("news",)
    numbers = False

    def __init__(self, typed, inputs, outs):
        self.news = None
        if outs is None:
            self.news, _ = result_layouts(common_shape(inputs), inputs, typed.dtypes)

    def run(self, inputs, outs):
        """Nothing is computed."""


@functools.lru_cache(None)
def _cache_bytes():
    """The size of the last-level cache; results at least as large bypass it."""
    try:
        return max(os.sysconf("SC_LEVEL3_CACHE_SIZE"), 8 << 20)
    except (ValueError, OSError):
        return 32 << 20


def common_shape(inputs):
    """The shape that the inputs broadcast to."""
    shapes = {a.shape for a in inputs} - {()}
    return broadcast_shapes(*shapes) if len(shapes) > 1 else shapes.pop() if shapes else ()


def result_layouts(shape, inputs, dtypes):
    """How new results are allocated, and their strides: dense, with the inputs' order in memory."""
    order = _order(shape, inputs)
    rows = tuple(range(len(shape)))
    strides = [_dense(shape, order, t.itemsize) for t in dtypes]
    if order == rows:
        return [(shape, t) for t in dtypes], strides
    return [(shape, t, s) for t, s in zip(dtypes, strides, strict=True)], strides


def _order(shape, inputs):
    """The dimensions from the outermost in memory: of two, the one with larger strides in the first
    input that distinguishes them."""
    steps = [K.spread(a, shape) for a in inputs if a.ndim]

    def inside(i, j):
        """Does dimension i lie inside j? None where no input tells."""
        for st in steps:
            if st[i] and st[j] and shape[i] != 1 != shape[j] and st[i] != st[j]:
                return abs(st[i]) < abs(st[j])
        return None
    order = list(range(len(shape)))
    for k in range(len(shape) - 2, -1, -1):
        at = k
        for other in range(k + 1, len(shape)):
            wrong = inside(order[at], order[other])
            if wrong:
                order[at], order[other] = order[other], order[at]
                at = other
            elif wrong is not None:
                break
    return tuple(order)


def _dense(shape, order, itemsize):
    """The byte strides of a dense array whose dimensions, from the outermost in memory, are
    `order`."""
    strides, step = [0] * len(shape), itemsize
    for d in reversed(order):
        strides[d] = step
        step *= max(shape[d], 1)
    return tuple(strides)


# ---- copying -------------------------------------------------------------------------------------
_CAST = {t: Pointwise(f"copy to {t}", (S.cast(S.arg(0), t),), 1)
         for t, d in SHORT.items() if d.category != STORED}
_MOVE = Pointwise("copy", (S.arg(0),), 1)
_ADD = Pointwise("add", (S.arg(0) + S.arg(1),), 2)
# unsigned numbers that have an element's bits, by its bytes
BITS = {
    1: np.dtype(np.uint8), 2: np.dtype(np.uint16), 4: np.dtype(np.uint32), 8: np.dtype(np.uint64)}


def copy(dst, src):
    """Write `src`, broadcast and cast, into `dst`; both may have any strides and may overlap.
    Returns dst."""
    t = dst.dtype
    if src.dtype == t and (dst.size < SMALL_COPY or (
            dst.nbytes < PLAIN_COPY and dst.flags.c_contiguous and
            (src.flags.c_contiguous or not src.ndim))):
        taped_launches.written_by_numpy()
        np.copyto(dst, src, casting="unsafe")
        return dst
    if src.ndim and np.may_share_memory(dst, src):
        src = src.copy()
    if src.dtype == t:
        move(dst, src)
    elif STORED in (FROM_NUMPY[t].category, FROM_NUMPY[src.dtype].category):
        float8.copy(dst, src, copy)
    else:
        _CAST[FROM_NUMPY[t].short]([src], [dst])
    return dst


def move(dst, src):
    """`copy` by a single kernel, between arrays of one type that do not overlap."""
    bits = BITS.get(dst.itemsize, dst.dtype)
    _MOVE([src.view(bits)], [dst.view(bits)])


def add_onto(dst, src):
    """Add `src`, of the same shape and type, to `dst` by a single kernel. No two elements of `dst`
    lie in one place."""
    _ADD([dst, src], [dst])


def copy_of_few(dst, src):
    """`copy` by a single kernel, for so few elements that NumPy's call overhead dominates. False if
    that is impossible, or if the arrays may overlap; then nothing was done."""
    if (not 0 < dst.size <= SMALL_COPY or {dst.dtype, src.dtype} - FROM_NUMPY.keys()
            or "c" in dst.dtype.kind + src.dtype.kind or np.may_share_memory(dst, src)
            or STORED in (FROM_NUMPY[dst.dtype].category, FROM_NUMPY[src.dtype].category)):
        return False
    if src.dtype == dst.dtype:
        move(dst, np.broadcast_to(src, dst.shape))
    else:
        _CAST[FROM_NUMPY[dst.dtype].short]([np.broadcast_to(src, dst.shape)], [dst])
    return True


def fill(dst, value):
    """Write a number into every element of `dst`. Returns dst."""
    return copy(dst, np.asarray(value, dst.dtype))
