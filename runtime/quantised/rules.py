"""What is done with tensors of quantised types, by the names of public functions and methods.

- Movements and choices of elements, and what goes by their order alone, are done to the integers.
- Functions of real numbers whose results have the same scale are computed of those, and rounded.
- Comparisons are those of the real numbers.

All else is refused: `dequantize()` gives real numbers, of which there is everything."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..composite_tensor import let_say, operators, own_function, registers
from ..dtypes import dtype, float32
from ..ops.registry import is_tensor
from ..ops.surface import FUNCTIONS as F
from .make import RANGES, integers
from .tensor import QuantizedTensor, refusal

# name -> what is done: a function of the public function and the arguments of a call
RULES: dict[str, Callable[..., Any]] = {}
rule = registers(RULES)

# of the integers, for any scheme
SAME = "clone detach contiguous cpu cuda"
# of the integers, where all have one scale
MOVED = """view view_as reshape flatten unflatten permute transpose t movedim moveaxis swapaxes
    swapdims unsqueeze squeeze select narrow index_select expand expand_as chunk split unbind
    tensor_split flip roll repeat tile gather masked_select take diagonal cat concat stack hstack
    vstack __getitem__ max min amax amin sort topk kthvalue median max_pool1d max_pool2d
    max_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d"""
# of the real numbers, rounded to the same scale
ROUNDED = """relu relu6 clamp clip hardtanh leaky_relu threshold mean avg_pool1d avg_pool2d
    avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d interpolate upsample pad
    pixel_shuffle channel_shuffle"""
COMPARED = "eq ne lt le gt ge __eq__ __ne__ __lt__ __le__ __gt__ __ge__ isnan isinf isfinite"
# functions whose results lie in a known range: (the scale, what the lowest integer stands for)
RANGED = {"sigmoid": (1 / 256, 0.0), "tanh": (2 / 256, -1.0)}


def is_quantised(x: Any) -> bool:
    """Is it a tensor of a quantised type?"""
    return issubclass(type(x), QuantizedTensor)


def _each(x: Any, change: Callable[[Any], Any]) -> Any:
    """An argument whose tensors of quantised types are changed, also those in a list."""
    if isinstance(x, list | tuple):
        return type(x)([_each(y, change) for y in x]) if any(map(is_quantised, x)) else x
    return change(x) if is_quantised(x) else x


def _changed(args: Any, kwargs: Any, change: Callable[[Any], Any]) -> tuple[Any, Any]:
    return ([_each(x, change) for x in args], {k: _each(x, change) for k, x in kwargs.items()})


def _real(x: Any) -> Any:
    return x.dequantize()


def _operands(args: Any, kwargs: Any) -> list[Any]:
    """The tensors of quantised types among arguments, and in their lists."""
    found = []
    for x in (*args, *kwargs.values()):
        found += [y for y in (x if isinstance(x, list | tuple) else (x,)) if is_quantised(y)]
    return found


def _of_one_scale(func: Any, q: Any) -> None:
    if q._axis is not None:
        raise RuntimeError(f"{func.__name__}: it is possible only on uniformly quantized tensors, "
                           "which have one scale for all")


def as_scheme_of(first: Any, q: Any) -> Any:
    """The integers of a tensor by the scale and the zero point of another one."""
    if (q._scale, q._zero, q._held.dtype) == (first._scale, first._zero, first._held.dtype):
        return q._held
    return integers(q.dequantize(), first._scale, first._zero, first._held.dtype)


def _wrapped(first: Any, result: Any) -> Any:
    """Results that are integers of a scheme as tensors of it; indices stay what they are."""
    if isinstance(result, list | tuple):
        parts = [_wrapped(first, x) for x in result]
        return result._make(parts) if hasattr(result, "_make") else type(result)(parts)
    is_part = is_tensor(result) and result.dtype is first._held.dtype
    return first._with(result) if is_part else result


@rule(*SAME.split())
def same(func: Any, q: Any, *args: Any, **kwargs: Any) -> Any:
    """The integers in another memory."""
    return q._with(func(q._held, *args, **kwargs))


@rule(*MOVED.split())
def moved(func: Any, *args: Any, **kwargs: Any) -> Any:
    """Integers in other places, or some of them."""
    found = _operands(args, kwargs)
    for q in found:
        if q._axis is not None and func.__name__ in ("select", "__getitem__"):
            return _channel(func, *args, **kwargs)
        _of_one_scale(func, q)
    if any(isinstance(x, dtype) for x in args):
        raise refusal(func.__name__)
    args, kwargs = _changed(args, kwargs, partial(as_scheme_of, found[0]))
    return _wrapped(found[0], func(*args, **kwargs))


def _channel(func: Any, q: Any, *at: Any) -> Any:
    """One place along the axis of a tensor that has a scale for each."""
    dim, index = at if func.__name__ == "select" else (0, *at)
    if not isinstance(index, int) or q._dim(dim) != q._axis:
        _of_one_scale(func, q)
    return QuantizedTensor(q._held.select(dim, index), q._scale[index].item(),
                           q._zero[index].item())


@rule(*ROUNDED.split())
def rounded(func: Any, *args: Any, **kwargs: Any) -> Any:
    """What a function gives of the real numbers, by the first operand's scale and zero point."""
    q = _operands(args, kwargs)[0]
    _of_one_scale(func, q)
    args, kwargs = _changed(args, kwargs, _real)
    result = func(*args, **kwargs)
    return q._with(integers(result, q._scale, q._zero, q._held.dtype))


@rule("relu_", "clamp_", "clip_", "hardtanh_", "leaky_relu_")
def rounded_in_place(func: Any, q: Any, *args: Any, **kwargs: Any) -> Any:
    """What a function gives of the real numbers, by the first operand's scale and zero point,
    written over it."""
    _of_one_scale(func, q)
    result = func(q.dequantize(), *args, **kwargs)
    q._held.copy_(integers(result, q._scale, q._zero, q._held.dtype))
    return q


@rule(*RANGED)
def ranged(func: Any, q: Any) -> Any:
    """What a function gives of the real numbers, by a scale that fits all that it can give."""
    of = q._held.dtype
    if of.itemsize > 1:
        raise refusal(func.__name__)
    scale, least = RANGED[func.__name__]
    zero = RANGES[of][0] - round(least / scale)
    return QuantizedTensor(integers(func(q.dequantize()), scale, zero, of), scale, zero)


@rule(*COMPARED.split())
def compared(func: Any, *args: Any, **kwargs: Any) -> Any:
    """A comparison of the real numbers."""
    args, kwargs = _changed(args, kwargs, _real)
    return func(*args, **kwargs)


@rule("equal")
def equal(func: Any, input: Any, other: Any) -> bool:
    """Have both the same scheme and the same integers?"""
    if not (is_quantised(input) and is_quantised(other) and input.dtype is other.dtype
            and input._axis == other._axis):
        return False
    one = [is_tensor(x) for x in (input._scale, other._scale)]
    pairs = ((input._scale, other._scale), (input._zero, other._zero))
    alike = all(F["equal"](a, b) if one[0] else a == b for a, b in pairs)
    return alike and bool(F["equal"](input._held, other._held))


# ---- in place ------------------------------------------------------------------------------------
def _integers_for(q: Any, value: Any) -> Any:
    """Real numbers, or those of a tensor of a quantised type, as integers of a scheme."""
    _of_one_scale(RULES["copy_"], q)
    real = _real(value) if is_quantised(value) else F["as_tensor"](value, dtype=float32)
    return integers(real, q._scale, q._zero, q._held.dtype)


@rule("copy_", "fill_")
def copy_(func: Any, q: Any, value: Any, non_blocking: bool = False) -> Any:
    """Take real numbers, rounded to the tensor's scale."""
    if not is_quantised(q):
        return q.copy_(value.dequantize())
    q._held.copy_(_integers_for(q, value))
    return q


@rule("__setitem__")
def set_items(func: Any, q: Any, at: Any, value: Any) -> None:
    """Real numbers at some places, rounded to the tensor's scale."""
    q._held[at] = _integers_for(q, value)


@rule("to")
def to(func: Any, q: Any, *args: Any, **kwargs: Any) -> Any:
    """The tensor on another device; it is not converted to other types."""
    if any(isinstance(x, dtype) for x in (*args, *kwargs.values())):
        raise RuntimeError("to: tensors of quantised types are converted to no other types. Use "
                           "dequantize() first.")
    return q._with(q._held.to(*args, **kwargs))


# ---- calls ---------------------------------------------------------------------------------------
OPERATORS = frozenset(operators("add sub mul truediv floordiv mod pow matmul and or xor",
                                "eq ne lt le gt ge neg abs invert getitem setitem"))


def call(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """A public function of operands some of which are of quantised types."""
    name, kwargs = func.__name__, kwargs or {}
    if name in RULES:
        return RULES[name](func, *args, **kwargs)
    own = None if name in OPERATORS else own_function(QuantizedTensor, name)
    if own is None:
        raise refusal(name)
    return own(*args, **kwargs)


let_say(QuantizedTensor, call, OPERATORS)
