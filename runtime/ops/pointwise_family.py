"""The pointwise family: an op is a scalar expression.

    softsign = pointwise("softsign", lambda input: input / (1 + absolute(input)), samples=reals(-6,
        6))

From the expression come the kernel for every dtype and layout, promotion, broadcasting, the
in-place and `out=` forms, and the gradient: the derivative of the expression, itself a pointwise op
(so any order). Parameters with a default are plain numbers unless a tensor is passed; they are
operands of the kernel, so their values never cause another compilation.
"""
import functools
import inspect

import numpy as np

from .. import declared_for_tracing, devices, dtypes, tensor_base
from ..autograd import inplace as ip
from ..autograd import modes
from ..autograd.engine import cast_gradient
from ..autograd.node import Node, Shape, without_write
from ..cpu import repeated_calls, taped_launches
from ..cpu.pointwise import Pointwise
from ..dtypes import BOOL, COMPLEX, FLOAT, FROM_NUMPY, INT, STORED
from ..ir.outline import numeral
from ..ir.symbolic_size import SYMBOLIC
from ..size_arguments import broadcasts_to
from ..tensor import wrap
from . import registry
from .batching import aligned, example_ndim
from .out_memory import put_out, takes_as_it_is
from .out_types import OutType, is_cast
from .promotion import Promotion
from .registry import REGISTRY, Op, apply, apply_without_operands

_scalar = None


def scalar():
    """The scalar language (imported when the first expression is built)."""
    global _scalar
    if _scalar is None:
        from ..ir import scalar as s
        _scalar = s
    return _scalar


KINDS = {"b": BOOL, "i": INT, "f": FLOAT, "c": COMPLEX, "8": STORED}


class PointwiseOp(Op):
    """One scalar expression with its promotion rule.

    promote: a `Promotion`, by its name. keep: operand positions that take no part in promotion (a
    condition). result: None (the type of the expression), a short dtype name, or "real" (the real
    type of a complex result). kinds: which of bool, int, float, complex may come in. complex: the
    expression for complex operands, if it is another one. complex_vjp: the gradients of complex
    operands, if the function has no complex derivative. wide: for f32 operands everything is
    computed in f64 and rounded once, the gradients too; for formulas that lose digits, if speed
    matters less. at_result: the gradient of the only operand is the same, to the bit, if it is
    evaluated at the result. onnx: the operator of the ONNX standard that computes this op, if there
    is one (see `onnx`). doc: what it computes, in a sentence. example: operands and their result,
    as "[3., 5.], [4., 12.] -> [5., 13.]" (see `docstrings.py`).
    """
    family = "pointwise"
    is_repeatable = dynamic_numbers = numbers_by_size = any_sizes = True
    # written in place by the launch that makes something new
    writes = property(lambda self: self)

    def __init__(self, name, fn, *, vjp=None, promote="default", keep=(), kinds="bifc",
                 differentiable=None, result=None, samples=None, register=True, saves=None,
                 doc=None, check=None, complex=None, complex_vjp=None, wide=False, at_result=False,
                 onnx=None, one_type=False, example=None, out_type=None):
        self.standard, self.one_type, self.example = onnx, one_type, example
        self.fn, self.vjp_fn, self.complex_fn, self.complex_vjp = fn, vjp, complex, complex_vjp
        ps = list(inspect.signature(fn).parameters.values())
        self.params = ps
        self.nin = len(ps)
        self.promotion, self.keep, self.result = Promotion(promote), frozenset(keep), result
        self.gives_real = result == "real"
        keeps = (self.nin, self.promotion) == (1, Promotion.COMMON) and result in (None, "real")
        self.out_type = out_type or (OutType.RESULT if keeps else OutType.CASTS)
        self.kinds = frozenset(KINDS[k] for k in kinds)
        self.check, self.wide, self.at_result = check, wide, at_result
        self._plans: dict = {}
        self._roots: dict = {}
        self._grads: dict = {}
        self._reads: dict = {}               # answers of `reads`
        dtypes.on_default_change.append(self._plans.clear)
        super().__init__(
            name, samples=samples, register=register, doc=doc,
            differentiable=differentiable if differentiable is not None else result != "bool")
        self.wants_needs = self.nin > 1
        self._needs = None

    # ---- the expression ----
    @property
    def root(self):
        return self._expression(False)

    def _expression(self, complex_):
        """The op as an expression: of real, or of complex operands."""
        fn = self.complex_fn if complex_ and self.complex_fn else self.fn
        root = self._roots.get(fn)
        if root is None:
            s = scalar()
            xs = s.args(self.nin)
            named = {p.name: x for p, x in zip(self.params, xs) if p.kind is p.KEYWORD_ONLY}
            root = self._roots[fn] = s.lift(fn(*xs[:self.nin - len(named)], **named))
        return root

    @functools.cached_property
    def into_out(self):
        """The op that writes its result into its first operand, which it does not read."""
        root = scalar().substitute(self.root, {k: scalar().arg(k + 1) for k in range(self.nin)})
        names = ["out", *(p.name for p in self.params)]
        return of_expression(f"{self.name}_out", root, names, differentiable=False, wide=self.wide)

    def gradient(self, i, complex_=False):
        """(op, positions): the pointwise op that computes operand i's gradient, and what it
        reads of (g, y, *inputs)."""
        complex_ = complex_ and (self.complex_fn or self.complex_vjp) is not None
        key = ("complex", i) if complex_ else i
        got = self._grads.get(key)
        if got is None:
            got = self._grads[key] = self._derive(i, complex_)
        return got

    def _derive(self, i, complex_):
        s = scalar()
        n = self.nin
        g, y = s.arg(n), s.arg(n + 1)
        vjp = (self.complex_vjp or not self.complex_fn and self.vjp_fn) if complex_ else self.vjp_fn
        if vjp:
            e = vjp(g, y, *s.args(n))[i]
        else:
            root = self._expression(complex_)
            e, = s.differentiate(root, g, [i])
            if e is not None:
                e = s.replace(e, root, y)
        if e is None:
            return None
        used = s.uses(e)
        if used == [n] and e is g:
            return "pass"
        return self._gradient_op(s, e, i, used, complex_)

    def _gradient_op(self, s, e, i, used, complex_):
        n = self.nin
        expr = s.substitute(e, {u: s.arg(k) for k, u in enumerate(used)})
        names = ["g" if u == n else "y" if u == n + 1 else f"x{u}" for u in used]
        op = of_expression(
            f"{self.name}_grad{i if self.nin > 1 else ''}", expr, names, differentiable=True,
            wide=self.wide, keep=tuple(k for k, u in enumerate(used) if u in self.keep),
            # it may conjugate
            complex_vjp=complex_ and (
                lambda g, y, *xs: s.differentiate(expr, g, range(len(xs)), complex=True)))
        op.base = self
        return op, tuple(used)

    def _find_needs(self):
        """What the backward of any operand reads: decides what is saved."""
        need, out = set(), False
        for i in range(self.nin):
            if i in self.keep and self.promotion is not Promotion.NONE:
                continue
            for complex_ in {False, COMPLEX in self.kinds}:
                got = self.gradient(i, complex_)
                if got and got != "pass":
                    need.update(u for u in got[1] if u < self.nin)
                    out |= self.nin + 1 in got[1]
        self._needs = frozenset(need), out

    @property
    def saves(self):
        if self._needs is None:
            self._find_needs()
        return self._needs[0]

    @saves.setter
    def saves(self, value):
        pass

    @property
    def saves_output(self):
        if self._needs is None:
            self._find_needs()
        return self._needs[1]

    @saves_output.setter
    def saves_output(self, value):
        pass

    def reads(self, i, edges):
        """Does the gradient of one of the operands with an edge read operand i (-1: the result)?"""
        key = (i, *[e is not None for e in edges])
        known = self._reads.get(key)
        if known is None:
            i = self.nin + 1 if i < 0 else i
            live = [k for k, e in enumerate(edges) if e is not None]
            got = [self.gradient(k, c) for k in live for c in {False, COMPLEX in self.kinds}]
            known = self._reads[key] = any(g and g != "pass" and i in g[1] for g in got)
        return known

    # ---- running it ----
    def plan(self, arrays):
        """The compiled form for these operands' types: (kernel, number type)."""
        key = tuple([
            (x.dtype, x.ndim == 0) if isinstance(x, np.ndarray) else x.__class__ for x in arrays
        ])
        p = self._plans.get(key)
        if p is None:
            p = self._plans[key] = self._make_plan(arrays)
        return p

    def compute_type(self, arrays):
        """The dtype that the operands meet in."""
        dims, zeros, numbers = [], [], []
        for i, x in enumerate(arrays):
            if i in self.keep:
                continue
            if isinstance(x, np.ndarray):
                (dims if x.ndim else zeros).append(FROM_NUMPY[x.dtype])
            else:
                numbers.append(dtypes.of_number(x))
        return self.promotion.of(dtypes.result_of(dims, zeros, numbers))

    def _make_plan(self, arrays):
        s = scalar()
        t = self.compute_type(arrays)
        if not any(isinstance(x, np.ndarray) for x in arrays):
            raise TypeError(
                f"{self.name}(): argument '{self.params[0].name}' (position 1) must be Tensor, "
                f"not {arrays[0].__class__.__name__}")
        # a number beside them does not make floats of whole numbers
        alone = t if self.kinds & {BOOL, INT} else self.compute_type(
            [x if isinstance(x, np.ndarray) else False for x in arrays])
        if not {t.category, alone.category} <= self.kinds:
            raise NotImplementedError(f"\"{self.name}\" not implemented for '{alone.letter}'")
        if self.one_type and len({x.dtype for x in arrays if isinstance(x, np.ndarray)}) > 1:
            raise RuntimeError(
                f"{self.name}: expected tensors of one dtype, but got "
                f"{', '.join([str(x.dtype) for x in arrays if isinstance(x, np.ndarray)])}")
        number = t.short if t.short not in ("f16", "bf16") else "f32"
        wide = "f64" if self.wide and t.short == "f32" else number
        by = {}
        for i, x in enumerate(arrays):
            if i in self.keep or self.promotion is Promotion.NONE:
                continue
            if (FROM_NUMPY[x.dtype].short if isinstance(x, np.ndarray) else number) != wide:
                by[i] = s.cast(s.arg(i), wide)
        root = self._expression(t.category == COMPLEX)
        root = s.substitute(root, by) if by else root
        if self.gives_real and t.category == COMPLEX:
            root = s.cast(root, t.to_real().short)
        elif self.result is not None and not self.gives_real:
            if s.typeof(root, {i: wide for i in range(self.nin)}) != self.result:
                root = s.cast(root, self.result)
        elif wide != t.short and s.typeof(root, {i: wide for i in range(self.nin)}) == wide:
            root = s.cast(root, t.short)
        kernel = Pointwise(self.name, (root,), self.nin)
        return kernel, dtypes.SHORT[number].np.type, t

    def forward(self, *arrays, out=None):
        kernel, number, t = self.plan(arrays)
        xs = [x if isinstance(x, np.ndarray) else self._number(x, number, t) for x in arrays]
        for i, x in enumerate(arrays):
            if not isinstance(x, np.ndarray):
                taped_launches.number(i, xs[i])
        try:
            return kernel(xs, None if out is None else [out])[0]
        except ValueError:
            raise _misfit(xs) from None

    kernels_take_numbers = True

    def on_device(self, arrays, attrs, index):
        """The expression, lowered for the device."""
        from ..cuda import pointwise
        try:
            return pointwise.run(self, arrays, index)
        except ValueError:
            raise _misfit([x for x in arrays if hasattr(x, "shape")]) from None

    def write_on_device(self, arrays, attrs):
        """The result in the first operand's place, where it fits there."""
        from ..cuda import pointwise
        return pointwise.run_into(self, arrays, arrays[0])

    def onnx(self, b, *operands):
        """A node for each operation of the expression, or the operator of the standard that
        `standard` names. Where it is a function it may give nothing: then the expression says
        it."""
        own = self.standard
        made = own and (b.named(own, *operands) if isinstance(own, str) else own(b, *operands))
        return made or b.pointwise(self, operands)

    def onnx_complex(self, b, *operands):
        """The expression, of the parts of complex numbers."""
        return b.pointwise(self, operands)

    def batch(self, n, inputs, batched, attrs):
        """One dimension more; operands of fewer dimensions get theirs behind it."""
        ndim = max([example_ndim(x, b) for x, b in zip(inputs, batched) if registry.is_tensor(x)])
        xs = self._promoted_apart(inputs, batched)
        return apply(self,
                     tuple([aligned(x, ndim) if b else x for x, b in zip(xs, batched)]),
                     attrs)

    def _promoted_apart(self, inputs, batched):
        """The operands, where needed in the type that they meet in: a number of each example
        counts as one there, and as a vector here."""
        numbers = [i for i, (x, b) in enumerate(zip(inputs, batched))
                   if b and x._array.ndim == 1 and i not in self.keep]
        types = {x._array.dtype for i, x in enumerate(inputs)
                 if registry.is_tensor(x) and i not in self.keep}
        if not numbers or len(types) == 1 or self.promotion is Promotion.NONE:
            return inputs
        t = self.compute_type([
            x._array[0, ...] if b else x._array if registry.is_tensor(x) else x
            for x, b in zip(inputs, batched)])
        return [
            x if not registry.is_tensor(x) or i in self.keep else x.to(t)
            for i, x in enumerate(inputs)]

    def jvp(self, inputs, tangents, outs, attrs):
        """The derivative of the expression by each operand, times its tangent."""
        complex_ = outs.dtype.category == COMPLEX
        if outs.dtype.category < FLOAT:
            return None
        if self.gives_real or complex_ and self.complex_vjp:
            return super().jvp(inputs, tangents, outs, attrs)
        total = None
        for i, t in enumerate(tangents):
            got = None if t is None else self.gradient(i, complex_)
            if got is None:
                continue
            if got != "pass":
                op, used = got
                t = apply(op,
                          tuple([t if u == self.nin else outs if u == self.nin + 1 else inputs[u]
                                 for u in used]), NO_ATTRS)
            total = t if total is None else total + t
        if total is None:
            return None
        if total._array.shape != outs._array.shape:
            total = total.expand(outs.shape)
        return total if total.dtype is outs.dtype else total.to(outs.dtype)

    def _number(self, x, number, t):
        # whole numbers wrap around
        if t.category == INT and not dtypes.iinfo(t).min <= x <= dtypes.iinfo(t).max:
            if not -1 << 63 <= x < 1 << 64:
                raise OverflowError(f"{self.name}: int too big to convert: {x}")
            return np.asarray(int(x)
                              & ((1 << (8 * t.itemsize)) - 1)).astype(f"u{t.itemsize}").view(number)
        if type(x) in SYMBOLIC:
            return numeral(x, number)
        try:
            # infinite in the narrower type, as intended
            if type(x) is float and not -6e4 < x < 6e4:
                with np.errstate(over="ignore"):
                    return np.asarray(x, number)
            return np.asarray(x, number)
        except OverflowError:
            raise RuntimeError(
                f"{self.name}: value cannot be converted to type {t.name} without overflow: {x}"
            ) from None

    # ---- backward ----
    def backward(self, node, g, needs=None):
        xs = node.saved_inputs()
        edges = node.edges if needs is None else [
            e if needed else None for e, needed in zip(node.edges, needs, strict=True)]
        y = node.saved_outputs()[0] if self.saves_output else None
        if (g._array.dtype.kind == "c" or self.gives_real
                and any((registry.is_tensor(x) or isinstance(x, Shape))
                        and x.dtype.category == COMPLEX for x in xs)):
            return self._complex_backward(edges, g, y, xs)
        nin, out = self.nin, []
        for i, e in enumerate(edges):
            if e is None:
                out.append(None)
                continue
            got = self._grads[i] if i in self._grads else self.gradient(i)
            if got is None:
                out.append(_zeros(xs[i], g))
                continue
            if got == "pass":
                r = g
            else:
                op, used = got
                r = apply(op,
                          tuple([xs[u] if u < nin else g if u == nin else y for u in used]),
                          NO_ATTRS)
            x = xs[i]
            if isinstance(x, Shape):
                shape, dtype = x.shape, x.dtype.np
            else:
                shape, dtype = x._array.shape, x._array.dtype
            a = r._array
            if a.shape != shape:
                r = r.sum_to_size(shape)
            if a.dtype is not dtype:
                r = cast_gradient(r, x)
            out.append(r)
        return out

    def _complex_backward(self, edges, g, y, xs):
        """The gradient of a function with a complex derivative: g times its conjugate; else as
        the op states it."""
        out, holomorphic = [], not self.complex_vjp
        for i, e in enumerate(edges):
            got = None if e is None else self.gradient(i, True)
            if got is None:
                out.append(None if e is None else _zeros(xs[i], g))
                continue
            r = g
            if got != "pass":
                op, used = got
                h = g.conj() if holomorphic else g
                r = op(*[h if u == self.nin else y if u == self.nin + 1 else xs[u] for u in used])
                r = r.conj() if holomorphic else r
            if tuple(r.shape) != tuple(xs[i].shape):
                r = r.sum_to_size(xs[i].shape)
            out.append(cast_gradient(r, xs[i]))
        return out


def of_expression(name, expression, operands, **facts):
    """An op of an expression whose arguments have these names; it is not in the registry."""
    lines = compile(f"def fn({', '.join(operands)}): return expression", "<whet>", "exec")
    fn = declared_for_tracing.run(lines, {"expression": expression})["fn"]
    return PointwiseOp(name, fn, register=False, **facts)


def _misfit(xs):
    """The error of shapes that do not broadcast; names the first dimension that does not fit."""
    shapes = [x.shape for x in xs if x.ndim]
    have = shapes[0]
    for other in shapes[1:]:
        for k in range(-1, -min(len(have), len(other)) - 1, -1):
            if have[k] != other[k] and 1 not in (have[k], other[k]):
                return RuntimeError(
                    f"The size of tensor a ({have[k]}) must match the size of tensor b "
                    f"({other[k]}) at non-singleton dimension {max(len(have), len(other)) + k}")
        have = np.broadcast_shapes(have, other)
    return RuntimeError(f"shapes do not fit: {[list(s) for s in shapes]}")


NO_ATTRS: dict = {}


def _zeros(x, g):
    """A gradient of zero for an input, beside the gradient of the result."""
    there = devices.is_elsewhere(g._array)
    if there and not modes.state.observers:
        return wrap(devices.beyond.filled(g._array.index, x.shape, x.dtype.np, 0))
    zeros = apply_without_operands(REGISTRY["zeros"], {"size": x.shape, "dtype": x.dtype})
    return zeros.to(g.device) if there else zeros


# ---- calling conventions -------------------------------------------------------------------------
def call(op, args, out=None):
    """Run a pointwise op for a user: `out=` and foreign operands are dealt with here."""
    if out is not None:
        return write_out(op, args, out)
    return registry.apply(op, args, {})


def write_out(op, args, out, out_type=None):
    """The `out=` form of any op: the result is put into `out`, which is resized if its shape
    differs."""
    if not registry.is_tensor(out):
        raise TypeError(f"{op.name}(): argument 'out' must be Tensor, not {out.__class__.__name__}")
    if isinstance(op, PointwiseOp) and takes_as_it_is(out, args) and (
            op.result != "bool" or op.out_type is OutType.CASTS):
        return inplace(op.into_out, out, args)
    if modes.state.flags & modes.GRAD and any(
            registry.is_tensor(x) and x._rg & tensor_base.REQUIRES_GRAD
            for x in ((out, *args) if op.differentiable else (out,))):
        raise RuntimeError(
            f"{op.name}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad.")
    r = registry.apply(op, args, {})
    if r.dtype is not out.dtype and isinstance(op, PointwiseOp) and not is_cast(
            op, args, r.dtype, out.dtype, out_type):
        raise RuntimeError(f"Found dtype {out.dtype.letter} but expected {r.dtype.letter}")
    return put_out(op.name, r, out, args)


def inplace(op, t, args, attrs=None):
    """`t = op(t, *args)`, written into t's memory and history."""
    if not registry.is_tensor(t):
        raise TypeError(
            f"{op.name}_(): the first argument must be a Tensor, not {t.__class__.__name__}")
    if modes.state.observers:
        return modes.state.observers[-1].inplace(op, t, args, attrs or {})
    write = tensor_base.native_write
    if write is not None and (known := op.writes) is not None:
        written = write(known, (t, *args), attrs or NO_ATTRS, op.writer)
        if written is not None:
            return written
    return inplace_now(op, t, args, attrs or NO_ATTRS, ip)


def inplace_now(op, t, args, attrs, ip, level=None):
    """`t = op(t, *args)`, written into t's memory and history, unseen by observers. Where `t` is a
    tensor of a level, the history is that of the level's tensors alone."""
    name, inputs = op.writer, (t, *args)
    owned = registry.is_tensor if level is None else level.owns
    wanted = modes.state.flags & modes.GRAD and any(
        owned(x) and (x._rg & tensor_base.REQUIRES_GRAD or x._base is not None and x.requires_grad)
        for x in (inputs if op.differentiable else (t,)))
    recording = wanted and op.differentiable
    ip.check_writable(t, name)
    if t.dtype.category == COMPLEX and getattr(op, "result", None) == "real":
        raise RuntimeError(f"In-place {op.name} is not supported for complex tensors.")
    if wanted and t._base is not None:
        ip.check_view_for_history(t, name)
    if recording:
        if t.dtype.category < FLOAT:
            raise RuntimeError(
                f"{name}: a tensor of type {t.dtype} cannot hold a result that requires grad")
        edges = tuple([registry.edge_of(x) if owned(x) else None for x in inputs])
        node = Node(op, edges, attrs)
        # the backward reads what is about to be overwritten
        before = _before(t) if op.saves is None or 0 in op.saves else t
        node.save_inputs((before, *[without_write(x) if x is t else x for x in args]), op)
    if level is not None:
        level.write(op, t, args, attrs)
    else:
        _write_elements(op, t, inputs, attrs, recording)
    t._bump(name)
    if recording:
        node.save_outputs(t, op)
        ip.adopt(t, node, node)
    elif wanted:
        ip.adopt_constant(t)
    return t


def _write_elements(op, t, inputs, attrs, recording):
    """Compute an op of a tensor and other operands into the tensor's memory. `recording`: the call
    becomes a part of its history, so machine code does not make the next ones."""
    name = op.writer
    if any([devices.is_elsewhere(x._array) for x in inputs if registry.is_tensor(x)]):
        devices.beyond.called_in_place(op, inputs, registry.arrays_of(op, inputs), attrs,
                                       lambda made: check_fits(made, t, name), recording)
    elif isinstance(op, PointwiseOp):
        if not recording and tensor_base.native_apply is not None:
            repeated_calls.learn(op, inputs, attrs)     # the next such call is made by machine code
        _write_pointwise(op, t, registry.arrays_of(op, inputs), name)
    elif op.write is not None:
        if (recording or tensor_base.native_apply is None
                or not repeated_calls.written(op, inputs, attrs)):
            op.write(*registry.arrays_of(op, inputs), **attrs)
    else:
        r = op.forward(*registry.arrays_of(op, inputs), **attrs)
        check_fits(r, t, name)
        np.copyto(t._array, r, casting="unsafe")


def _before(t):
    """The tensor's present value with its present history."""
    old = t._without_history().clone()
    old._rg = t._rg & tensor_base.REQUIRES_GRAD
    e = registry.edge_of(t)
    old._node = None if e is None or registry.is_tensor(e) else e
    return old


def check_fits(r, t, name):
    """Raise where an array cannot be put into `t` in place."""
    rd = FROM_NUMPY[r.dtype]
    if not dtypes.can_cast(rd, t.dtype):
        raise RuntimeError(
            f"{name}: result type {rd.letter} can't be cast to the desired output type "
            f"{t.dtype.letter}")
    if r.shape != t._array.shape and not broadcasts_to(r.shape, t._array.shape):
        raise RuntimeError(
            f"{name}: output with shape {list(t._array.shape)} doesn't match the broadcast "
            f"shape {list(r.shape)}")


def _write_pointwise(op, t, arrays, name):
    a = t._array
    same = all(not isinstance(x, np.ndarray) or x.dtype == a.dtype for x in arrays)
    small = all(not isinstance(x, np.ndarray) or x.shape == a.shape or x.ndim == 0 for x in arrays)
    if same and small and op.result is None and not any(
            isinstance(x, np.ndarray) and x is not a and np.may_share_memory(x, a)
            for x in arrays[1:]):
        kernel, number, ty = op.plan(arrays)
        if ty is t.dtype:
            kernel([x if isinstance(x, np.ndarray) else op._number(x, number, ty) for x in arrays],
                   [a])
            return
    r = op.forward(*arrays)
    check_fits(r, t, name)
    np.copyto(a, r, casting="unsafe")
