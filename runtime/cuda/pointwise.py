"""Pointwise expressions on devices: planned as on the CPU, lowered to Triton."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..cpu.pointwise import Typed, common_shape, result_layouts
from ..dtypes import FLOAT, FROM_NUMPY, SHORT
from ..ir import kernel as K
from ..ir import scalar as S
from ..ir.memory_spans import span
from . import plan_recorder
from .arrays import DeviceArray, empty
from .errors import NoForm
from .launch import launch
from .transfers import to_device

NARROW = 1 << 31                    # places below this are computed in 32 bits


class Expressions:
    """Scalar expressions of a number of operands, with a name for error messages."""
    __slots__ = ("name", "roots")

    def __init__(self, name: str, roots: Sequence[Any]) -> None:
        self.name, self.roots = name, tuple(roots)


def compute(op: Any, inputs: Sequence[Any], index: int,
            outs: Sequence[DeviceArray] | None = None) -> list[DeviceArray]:
    """The results of expressions (`op` has `name` and `roots`) of arrays of a device and arrays of
    no dimension of the host, which go as numbers. `outs` must not overlap an input in part."""
    places = [x.geometry if type(x) is DeviceArray else x for x in inputs]
    typed = Typed(op, places, None if outs is None else [o.geometry for o in outs])
    if outs is None:
        shape = common_shape(places)
        news, _ = result_layouts(shape, places, typed.dtypes)
        outs = [empty(index, *new) for new in news]
    shape = outs[0].shape
    if None in typed.names:
        raise NoForm(f"{op.name}: no form of it for CUDA devices yet, for this type")
    if outs[0].size:
        _run(typed, inputs, places, outs, shape, index, op.name)
    return list(outs)


def is_half(a: DeviceArray) -> bool:
    """Is it of a half type?"""
    return FROM_NUMPY[a.dtype].category == FLOAT and a.itemsize == 2


def through_floats(roots: Sequence[S.Expr], count: int, like: DeviceArray) -> list[S.Expr]:
    """Expressions whose first `count` arguments are halves, computed as floats and rounded."""
    wide = {i: S.cast(S.arg(i), "f32") for i in range(count)}
    return [S.cast(S.substitute(r, wide), FROM_NUMPY[like.dtype].short) for r in roots]


def _run(typed: Any, inputs: Sequence[Any], places: list[np.ndarray], outs: Sequence[DeviceArray],
         shape: tuple[int, ...], index: int, name: str) -> None:
    from ..passes.lower_triton import pointwise as lower
    everything = [*places, *(o.geometry for o in outs)]
    strides = [K.spread(a, shape) if a.shape != shape else a.strides for a in everything]
    walk = K.plan(shape, strides, typed.sizes, len(inputs))
    numbers = [type(x) is not DeviceArray for x in inputs] + [False] * len(outs)
    access = "".join(lower.NUMBER if n else a for n, a in zip(numbers, walk.access, strict=True))
    walk = K.Walk(walk.space, access, walk.shape, walk.strides)
    kernel = K.Pointwise(typed.roots, typed.names,
                         tuple(FROM_NUMPY[t].short for t in typed.dtypes), walk.space, access)
    source = _lowered(kernel, len(walk.shape), is_wide(everything), name)
    arrays, values = {}, lower.numbers(kernel, walk, typed.sizes)
    for (parameter, _, a), place in zip(lower.operands(kernel), everything, strict=True):
        if a == lower.NUMBER:
            values[parameter] = plan_recorder.parameter(place, _value)
        else:
            arrays[parameter] = place
    launch(index, source, arrays, values)


def _value(a: np.ndarray) -> Any:
    """A number as a kernel's parameter. One that does not fit a signed integer is passed by its
    bits."""
    value = a.item() if FROM_NUMPY[a.dtype].short != "bf16" else float(a)
    return value - (1 << 64) if type(value) is int and value >= 1 << 63 else value


def is_wide(places: Sequence[np.ndarray]) -> bool:
    """Does the place of any element need more than 32 bits?"""
    return any(a.size >= NARROW or a.size and span(a)[1] - span(a)[0] >= NARROW for a in places)


_sources: dict[Any, Any] = {}       # by what describes a kernel completely


def _lowered(kernel: K.Pointwise, dims: int, wide: bool, name: str) -> Any:
    """The Triton source of a kernel."""
    key = kernel.key, dims, wide
    found = _sources.get(key)
    if found is None:
        from ..passes.lower_triton import pointwise as lower
        from ..passes.lower_triton.scalar import Unsupported
        try:
            found = _sources[key] = lower.lower(kernel, dims, wide)
        except Unsupported as error:
            raise NoForm(f"{name}: no form of it for CUDA devices yet, for this "
                                      f"type ({error.args[0]})") from None
    return found


# ---- ops -----------------------------------------------------------------------------------------
def run(op: Any, arrays: Sequence[Any], index: int) -> DeviceArray:
    """A pointwise op on operands of a device and numbers."""
    made, = compute(*_planned(op, arrays), index)
    return made


def _planned(op: Any, arrays: Sequence[Any]) -> tuple[Any, list[Any]]:
    """(the op's expression for these types, its operands)"""
    places = [x.geometry if type(x) is DeviceArray else x for x in arrays]
    kernel, number, t = op.plan(places)
    def to_number(x: Any) -> Any:
        return x if isinstance(x, np.ndarray) else op._number(x, number, t)
    return kernel, with_numbers(arrays, to_number)


def with_numbers(operands: Sequence[Any], to_number: Callable[[Any], Any]) -> list[Any]:
    """Operands whose numbers are arrays without dimensions, passed again at each call of a plan."""
    return [x if type(x) is DeviceArray else plan_recorder.number(i, to_number(x), to_number)
            for i, x in enumerate(operands)]


def run_into(op: Any, arrays: Sequence[Any], out: DeviceArray) -> bool:
    """Compute an op of single elements, written over the first operand. False where the result has
    another type or shape, or an operand overlaps it: then nothing was done."""
    kernel, xs = _planned(op, arrays)
    typed = Typed(kernel, [x.geometry if type(x) is DeviceArray else x for x in xs], None)
    if typed.dtypes[0] != out.dtype or common_shape(
            [x.geometry if type(x) is DeviceArray else x for x in xs]) != out.shape:
        return False
    if any(type(x) is DeviceArray and overlaps(x, out) for x in xs):
        return False
    compute(kernel, xs, out.index, [out])
    return True


def overlaps(a: DeviceArray, b: DeviceArray) -> bool:
    """Do two arrays share memory without being the same elements?"""
    if (a.address, a.shape, a.strides) == (b.address, b.shape, b.strides):
        return False
    (low, high), (start, end) = a.span, b.span
    return low < end and start < high


# ---- copies and fills ----------------------------------------------------------------------------
_CASTS = {t: Expressions(f"copy to {t}", (S.cast(S.arg(0), t),)) for t in SHORT}
_BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_MOVE = Expressions("copy", (S.arg(0),))
WORDS = np.dtype([("first", np.uint64), ("second", np.uint64)])      # of a complex128


def copy_into(to: DeviceArray, source: Any) -> None:
    """Write elements of the same device, or a number, broadcast and converted, into others."""
    if type(source) is DeviceArray and overlaps(source, to):
        source = copied(source)
    if to.dtype != source.dtype:
        compute(_CASTS[FROM_NUMPY[to.dtype].short], [source], to.index, [to])
    elif to.itemsize in _BITS:
        bits = _BITS[to.itemsize]
        compute(_MOVE, [_seen_as(source, bits)], to.index, [to.view(bits)])
    else:
        for word in WORDS.fields or ():
            copy_into(_word(to, word), _word(source, word))


def _seen_as(a: Any, bits: Any) -> Any:
    """An array, or a number, as another type of the same size."""
    if type(a) is DeviceArray:
        return a.view(bits)
    return plan_recorder.seen_as(a, a.view(bits), lambda x: x.view(bits))


def _word(a: Any, word: str) -> Any:
    """One word of each element that is two."""
    if type(a) is DeviceArray:
        return a.view_as(a.geometry.view(WORDS)[word])
    return plan_recorder.seen_as(a, a.view(WORDS)[word], lambda x: x.view(WORDS)[word])


def copied(a: DeviceArray) -> DeviceArray:
    """The elements in new memory, row by row."""
    made = empty(a.index, a.shape, a.dtype)
    if a.size:
        copy_into(made, a)
    return made


def fill(to: DeviceArray, value: Any) -> None:
    """Write a number everywhere."""
    copy_into(to, value if isinstance(value, np.ndarray) else np.asarray(value, to.dtype))


def triangle(a: DeviceArray, keep: Any, diagonal: int) -> DeviceArray:
    """The elements of matrices where `keep(column - row, diagonal)`, zeros elsewhere."""
    if a.itemsize not in _BITS:
        raise NoForm(a.dtype.name)
    bits = _BITS[a.itemsize]
    rows, columns = (to_device(np.arange(n), a.index) for n in a.shape[-2:])
    x, row, column = S.args(3)
    out = empty(a.index, a.shape, a.dtype)
    if a.size:
        compute(Expressions("triangle", (S.where(keep(column - row, diagonal), x, 0),)),
                [a.view(bits), rows.reshape(-1, 1), columns], a.index, [out.view(bits)])
    return out
