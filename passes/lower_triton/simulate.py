"""A Source on NumPy arrays, without a GPU: through Triton's interpreter, in the process that
compiles too.

    run(source, [x, y, out], {"n": x.size})

Programs run one after the other. The interpreter as it comes wants torch tensors and a variable set
before `import triton`; here pointers are addresses with a type, and what is patched for a run is
taken back after it. It is also put right: halves are rounded to nearest even, products of matrices
are chains of fused multiply-adds, and every address is checked against the arrays given."""
from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import random
import sys
import threading
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import simulate_libdevice

if TYPE_CHECKING:
    from .source import Programs, Source

_lock = threading.RLock()           # the interpreter's state is global
_numpy_types: dict[str, Any] = {}   # of Triton's types, by their names


class OutOfBounds(RuntimeError):
    """A kernel touched memory that is not an operand's."""


class Pointer:
    """An address as the interpreter takes it."""

    def __init__(self, address: int, dtype: str) -> None:
        self.address, self.dtype = address, dtype

    def data_ptr(self) -> int:
        return self.address


def run(source: Source, arrays: Sequence[np.ndarray[Any, Any]],
        numbers: Mapping[str, float]) -> None:
    """Run all programs of a kernel, the last one first: `arrays` for its pointers in order,
    `numbers` by name."""
    remaining = iter(arrays)
    starts = {name: _start(next(remaining)) for name, ty in source.parameters if ty[0] == "*"}
    regions = [(_start(a) + _reach(a)[0], _start(a) + _reach(a)[1]) for a in arrays]
    run_at(source, {**numbers, **starts}, regions, source.programs(numbers))


def run_at(source: Source, arguments: Mapping[str, float], regions: Sequence[tuple[int, int]],
           programs: Programs, seed: int | None = None) -> None:
    """Run so many programs of a kernel: the last one first, or in an order that a seed gives.
    `arguments` has numbers and addresses by name; `regions` is what it may touch."""
    x, y, z = programs if isinstance(programs, tuple) else (programs, 1, 1)
    order = list(itertools.product(reversed(range(z)), reversed(range(y)), reversed(range(x))))
    if seed is not None:
        random.Random(seed).shuffle(order)
    with _lock, _simulation(regions) as ti, np.errstate(all="ignore"):
        body, builder = _rewritten(_function(source).fn), ti.interpreter_builder
        args = {name: ti._implicit_cvt(Pointer(int(arguments[name]), ty[1:])) if ty[0] == "*"
                else _number(ti, ty, arguments[name]) for name, ty in source.parameters}
        args |= source.constants()
        builder.set_grid_dim(x, y, z)
        for k, j, i in order:
            builder.set_grid_idx(i, j, k)
            body(**args)


def _number(ti: Any, ty: str, value: float) -> Any:
    """A number in the type of its parameter."""
    import triton.language as tl
    own, numpy = {"i32": (tl.int32, "i4"), "i64": (tl.int64, "i8"), "fp32": (tl.float32, "f4"),
                  "fp64": (tl.float64, "f8"), "u32": (tl.uint32, "u4"), "u64": (tl.uint64, "u8"),
                  "i1": (tl.int1, "?")}[ty]
    return tl.tensor(ti.TensorHandle(np.array([value], numpy), own), own)


def _start(a: np.ndarray[Any, Any]) -> int:
    address: int = a.__array_interface__["data"][0]
    return address


def _reach(a: np.ndarray[Any, Any]) -> tuple[int, int]:
    """Bytes before and behind the first element that an array occupies."""
    ends = [(n - 1) * s for n, s in zip(a.shape, a.strides, strict=True)] if a.size else []
    return (sum(min(e, 0) for e in ends),
            sum(max(e, 0) for e in ends) + (a.itemsize if a.size else 0))


@functools.lru_cache(256)
def _function(source: Source) -> Any:
    return source.function()


@functools.lru_cache(4096)
def _rewritten(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A Python function as the interpreter wants it."""
    from triton.runtime import interpreter as ti
    rewritten: Callable[..., Any] = ti.InterpretedFunction(fn).rewrite()
    return rewritten


def _to_f32(u: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return (np.ascontiguousarray(u).astype(np.uint32)
            << np.uint32(16)).view(np.float32).reshape(np.shape(u))


def _to_bf16(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """To nearest even; NaN stays NaN."""
    x = np.ascontiguousarray(x, np.float32)
    b = x.view(np.uint32)
    near = (b + np.uint32(0x7FFF) + (b >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(x), b >> np.uint32(16) | np.uint32(0x40),
                    near).astype(np.uint16).reshape(np.shape(x))


def _rounding_cast(cast: Callable[..., Any]) -> Callable[..., Any]:
    """A cast of the builder's, with halves rounded to nearest even."""
    import triton.language as tl
    from triton.runtime import interpreter as ti

    def new(self: Any, src: Any, dst: Any, *rest: Any) -> Any:
        s, d = src.dtype.scalar, dst.scalar
        if s == tl.bfloat16 and d != tl.bfloat16:
            return ti.TensorHandle(_to_f32(src.data).astype(ti._get_np_dtype(d)), d)
        if d == tl.bfloat16 and s != tl.bfloat16:
            return ti.TensorHandle(_to_bf16(src.data.astype(np.float32)), d)
        if tl.float16 in (s, d) and s.is_floating() and d.is_floating():
            return ti.TensorHandle(src.data.astype(ti._get_np_dtype(d)), d)
        return cast(self, src, dst, *rest)
    return new


def _through_f32(compute: Callable[..., Any], operands: int) -> Callable[..., Any]:
    """An operation of the builder's that computes with bfloat16 in f32, and rounds. The
    interpreter takes the bits for whole numbers."""
    import triton.language as tl
    from triton.runtime import interpreter as ti

    def new(self: Any, *args: Any) -> Any:
        given = args[:operands]
        if args[-1] is np.where or not any(x.dtype.scalar == tl.bfloat16 for x in given):
            return compute(self, *args)
        wide = [ti.TensorHandle(_to_f32(x.data), tl.float32) if x.dtype.scalar == tl.bfloat16
                else x for x in given]
        made = compute(self, *wide, *args[operands:])
        if made.data.dtype == np.float32:
            return ti.TensorHandle(_to_bf16(made.data), tl.bfloat16)
        return made
    return new


def _fused(data: np.ndarray[Any, Any]) -> Callable[..., Any] | None:
    """The interpreter's multiply-add that rounds once, for arrays of one shape like this one;
    None for types of which it makes others."""
    from triton.runtime import interpreter as ti
    names = {"float32": "fma_fp32", "float64": "fma_fp64"}
    found: Callable[..., Any] | None = getattr(
        ti._interpreter, names.get(data.dtype.name, ""), None)
    return found


def _fma_without_broadcasts(fma: Callable[..., Any]) -> Callable[..., Any]:
    """A multiply-add of the builder's. What has one shape already is not broadcast again, which
    takes longer than the sums."""
    from triton.runtime import interpreter as ti

    def new(self: Any, x: Any, y: Any, z: Any) -> Any:
        at_once = _fused(z.data)
        if at_once is None or not np.shape(x.data) == np.shape(y.data) == np.shape(z.data):
            return fma(self, x, y, z)
        return ti.TensorHandle(at_once(x.data, y.data, z.data), z.dtype.scalar)
    return new


def _fused_dot(self: Any, a: Any, b: Any, d: Any, *rest: Any) -> Any:
    """A product of matrices as chains of fused multiply-adds, for a builder."""
    import triton.language as tl
    from triton.runtime import interpreter as ti
    x, y = (_to_f32(h.data) if h.dtype.scalar == tl.bfloat16 else h.data.astype(d.data.dtype)
            for h in (a, b))
    steps = (x.shape[-1], *np.shape(d.data))
    xs, ys = (np.ascontiguousarray(np.broadcast_to(v, steps))
              for v in (np.moveaxis(x, -1, 0)[..., None], np.moveaxis(y, -2, 0)[..., None, :]))
    acc, at_once, ty = d, _fused(d.data), d.dtype.scalar
    if at_once is not None:
        data = d.data
        for k in range(len(xs)):
            data = at_once(xs[k], ys[k], data)
        return ti.TensorHandle(data, ty)
    for k in range(len(xs)):
        acc = self.create_fma(ti.TensorHandle(xs[k], ty), ti.TensorHandle(ys[k], ty), acc)
    return acc


def _remembered(find: Callable[..., Any]) -> Callable[..., Any]:
    """What finds NumPy's type for one of Triton's, which makes a table of all of them at each
    call."""
    def new(ty: Any) -> Any:
        name = ty.scalar.name
        if name not in _numpy_types:
            _numpy_types[name] = find(ty)
        return _numpy_types[name]
    return new


def _splat(self: Any, ty: Any, x: Any) -> Any:
    """A comparison of scalars says that it has the type of what is compared: the type wanted is
    right."""
    from triton.runtime import interpreter as ti
    value = np.asarray(x.data).reshape(-1)[0]
    return ti.TensorHandle(np.full(ty.shape, value, ti._get_np_dtype(ty.scalar)), ty.scalar)


def _reduce_in_order(self: Any, input: Sequence[Any]) -> tuple[Any]:
    """A reduction element by element along the axis, all rows at once."""
    rows = [np.moveaxis(x.handle.data, self.axis, 0) for x in input]

    def elements(i: int) -> tuple[Any, ...]:
        return tuple(self.to_tensor(r[i], x.dtype) for r, x in zip(rows, input, strict=True))
    acc = elements(0)
    for i in range(1, len(rows[0])):
        acc = self.combine_fn(*acc, *elements(i))
        acc = acc if isinstance(acc, tuple) else (acc,)
    return acc


def _checked_access(access: Callable[..., Any], what: str, mask_at: int,
                    check: Callable[..., Any]) -> Callable[..., Any]:
    """A load or store of the builder's, with its addresses checked. `mask_at`: which argument
    after the pointer is the mask."""
    def new(self: Any, pointer: Any, *args: Any, **named: Any) -> Any:
        check(what, pointer.data, args[mask_at].data,
              max(1, pointer.get_element_ty().primitive_bitwidth // 8))
        return access(self, pointer, *args, **named)
    return new


@contextlib.contextmanager
def _simulation(regions: Sequence[tuple[int, int]]) -> Iterator[Any]:
    """The interpreter with our patches, which are all taken back."""
    from triton import knobs
    from triton.runtime import interpreter as ti
    undo, knob = [], knobs.runtime.interpret
    _running.check, before = _checked(regions), _running.check
    try:
        for where, name, value in _patches("triton.language.extra.libdevice" in sys.modules):
            undo.append((where, name, vars(where).get(name, _ABSENT)))
            setattr(where, name, value)
        knobs.runtime.interpret = True
        yield ti
    finally:
        knobs.runtime.interpret, _running.check = knob, before
        for where, name, value in reversed(undo):
            delattr(where, name) if value is _ABSENT else setattr(where, name, value)


class _Running:
    """What the program that runs now may touch: `check` raises an error where it does more."""
    check: Callable[..., Any]

    def __init__(self) -> None:
        self.check = lambda *args: None

    def __call__(self, *args: Any) -> None:
        self.check(*args)


_running, _ABSENT = _Running(), object()


@functools.lru_cache(2)
def _patches(has_libdevice: bool) -> list[tuple[Any, str, Any]]:
    """All that a run patches: (where, name, value). Triton looks for what it patches in all that
    its language has, which takes longer than a small kernel. So it does it once."""
    # it keeps what is patched below, so it must be loaded before
    import triton.compiler.code_generator  # noqa: F401
    import triton.language as tl
    from triton.runtime import interpreter as ti
    found: dict[tuple[int, str], tuple[Any, str, Any]] = {}

    def put(where: Any, name: str, value: Any) -> None:
        found[id(where), name] = where, name, value
    _patch_builder(put)
    if has_libdevice:
        simulate_libdevice.patch(put, sys.modules["triton.language.extra.libdevice"])
    scope = ti._patch_lang(types.SimpleNamespace(__globals__={"tl": tl, "core": tl.core}))
    for where, name, _ in scope._changes:
        put(where, name, vars(where)[name])
    scope.restore()
    return list(found.values())


def _patch_builder(put: Callable[[Any, str, Any], None]) -> None:
    """What the interpreter computes otherwise here."""
    from triton.runtime import interpreter as ti
    from triton.runtime.jit import JITFunction
    B, builder = ti.InterpreterBuilder, ti.interpreter_builder
    # Whether integers overflow is computed for each of their sums, and reported in debugging alone.
    put(builder, "options",
        dataclasses.replace(builder.options, sanitize_overflow=builder.options.debug))
    put(ti, "_get_np_dtype", _remembered(ti._get_np_dtype))
    put(B, "cast_impl", _rounding_cast(B.cast_impl))
    put(B, "create_fp_to_fp", _rounding_cast(B.create_fp_to_fp))
    for name, operands in (("binary_op", 2), ("unary_op", 1), ("ternary_op", 3)):
        put(B, name, _through_f32(getattr(B, name), operands))
    put(B, "create_fma", _through_f32(_fma_without_broadcasts(B.create_fma), 3))
    put(B, "create_dot", _fused_dot)
    put(B, "create_splat", _splat)
    put(ti.ReduceOps, "generic_reduce", _reduce_in_order)
    put(JITFunction, "__call__", lambda self, *args, **kwargs: _rewritten(self.fn)(*args, **kwargs))
    put(B, "create_atomic_rmw", _checked_update(B.create_atomic_rmw, _running))
    put(B, "create_masked_load", _checked_access(B.create_masked_load, "load", 0, _running))
    put(B, "create_masked_store", _checked_access(B.create_masked_store, "store", 1, _running))


def _checked_update(update: Callable[..., Any], check: Callable[..., Any]) -> Callable[..., Any]:
    def new(self: Any, kind: Any, pointer: Any, value: Any, mask: Any, *rest: Any) -> Any:
        check("update", pointer.data, mask.data,
              max(1, pointer.get_element_ty().primitive_bitwidth // 8))
        return update(self, kind, pointer, value, mask, *rest)
    return new


def _checked(regions: Sequence[tuple[int, int]]) -> Callable[..., Any]:
    starts, ends = (np.array([r[i] for r in regions], np.uint64) for i in (0, 1))

    def check(what: str, pointers: np.ndarray[Any, Any], mask: np.ndarray[Any, Any],
              size: int) -> None:
        shape = np.broadcast_shapes(np.shape(pointers), np.shape(mask))
        p = np.broadcast_to(pointers, shape)[np.broadcast_to(mask, shape)].ravel()
        inside = np.zeros(p.shape, bool)
        for a, b in zip(starts, ends, strict=True):
            inside |= (p >= a) & (p + np.uint64(size) <= b)
        if not inside.all():
            raise OutOfBounds(f"{what} of {size} bytes outside of all operands "
                              f"({int((~inside).sum())} of {p.size} elements)")
    return check


