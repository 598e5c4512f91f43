"""Tensors with a mask: `whet.masked.MaskedTensor`.

Elements for which the mask does not hold count for nothing: reductions leave them out, and no
gradient comes of them. What functions do is in tables by their names: those of single elements
keep the mask, movements move it along, two operands must have the same mask.
"""
from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from . import dtypes, masked_reductions
from .composite_tensor import CompositeTensor, let_say, own_function
from .layouts import strided
from .ops.registry import is_tensor
from .ops.surface import FUNCTIONS

TYPES = frozenset((dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bool_, dtypes.int8,
                   dtypes.int16, dtypes.int32, dtypes.int64))
# functions of single elements: the mask stays
UNARY = frozenset("""abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan
arctan atanh arctanh bitwise_not ceil clamp clip conj_physical cos cosh deg2rad digamma erf erfc
erfinv exp exp2 expm1 fix floor frac lgamma log log10 log1p log2 logit i0 isnan nan_to_num neg
negative positive pow rad2deg reciprocal round rsqrt sigmoid sign sgn signbit sin sinc sinh sqrt
square tan tanh trunc __neg__ __pos__ __abs__ __invert__ __pow__ detach clone contiguous ones_like
to half float double int long short bool""".split())
# of two operands, of which one may be an ordinary tensor or a number
BINARY = frozenset("""add atan2 arctan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift
bitwise_right_shift div divide floor_divide fmod logaddexp logaddexp2 mul multiply nextafter
remainder sub subtract true_divide eq ne le ge greater greater_equal gt less_equal lt less maximum
minimum fmax fmin not_equal rsub __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__
__rtruediv__ __floordiv__ __rfloordiv__ __mod__ __rmod__ __and__ __rand__ __or__ __ror__ __xor__
__rxor__ __lshift__ __rshift__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__""".split())
IN_PLACE = frozenset(
    [f"{name}_" for name in (UNARY | BINARY) if not name.startswith("_")]
    + [f"__i{name}__" for name in "add sub mul truediv floordiv mod and or xor pow".split()])
# the data and the mask are moved alike
MOVES = frozenset("""select transpose split chunk t narrow __getitem__ expand view reshape flatten
cat stack unsqueeze squeeze permute movedim unbind unfold expand_as view_as swapaxes""".split())
REDUCTIONS = frozenset("sum mean amin amax argmin argmax prod all norm var std".split())
NORMALISED = frozenset("softmax log_softmax".split())


@dataclass(eq=False, repr=False, init=False)
class MaskedTensor(CompositeTensor):
    """Data, and a mask of the same shape that says which elements count. Both are copied; it is a
    leaf.

    >>> import whet
    >>> data, mask = whet.tensor([1., 2., 4.]), whet.tensor([True, False, True])
    >>> x = whet.masked.masked_tensor(data, mask, requires_grad=True)
    >>> x + 1
    MaskedTensor(
      [  2.0000,       --,   5.0000]
    )
    >>> x.square().sum().backward()
    >>> x.grad.to_tensor(0)
    tensor([2., 0., 8.])
    """
    _held: Any
    _mask: Any
    layout = strided
    _kind = "masked"
    is_nested = is_sparse = is_sparse_csr = False

    def __init__(self, data: Any, mask: Any, requires_grad: bool = False) -> None:
        _check(data, mask)
        if data.requires_grad:
            warnings.warn("It is not recommended to create a MaskedTensor with a tensor that "
                          "requires_grad. To avoid this, you can use data.detach().clone()",
                          UserWarning, stacklevel=2)
        self._held = data.detach().clone().requires_grad_(requires_grad)
        self._mask = mask.clone()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _of, (self._held, self._mask)

    def _with(self, values: Any) -> MaskedTensor:
        return _of(values, self._mask)

    def _values_of(self, gradient: Any) -> Any:
        return gradient._held if is_masked_tensor(gradient) else gradient

    @property
    def shape(self) -> Any:
        """The sizes."""
        return self._held.shape

    def numel(self) -> int:
        """The number of elements, those that do not count included."""
        return int(self._held.numel())

    nelement = numel
    nbytes = property(lambda self: self._held.nbytes)

    def stride(self, dim: int | None = None) -> Any:
        """Steps in the memory of the data."""
        return self._held.stride() if dim is None else self._held.stride(dim)

    def is_contiguous(self, *args: Any, **kwargs: Any) -> bool:
        """Do the data lie row by row?"""
        return bool(self._held.is_contiguous(*args, **kwargs))

    def is_same_size(self, other: Any) -> bool:
        """Have both the same shape?"""
        return tuple(self.shape) == tuple(other.shape)

    def type(self, dtype: Any = None) -> Any:
        """The name of the data's type; with an argument, the tensor in that type."""
        return self._held.type() if dtype is None else self._with(self._held.type(dtype))

    def get_data(self) -> Any:
        """The data, those included that do not count."""
        return self._held

    def get_mask(self) -> Any:
        """Which elements count?"""
        return self._mask

    def to_tensor(self, value: Any) -> Any:
        """An ordinary tensor, with a value where the mask does not hold."""
        return self._held.masked_fill(~self._mask, value)

    def item(self) -> Any:
        """The single element as a Python number."""
        if self.numel() == 1 and not bool(self._mask.item()):
            raise ValueError("item: the element is masked out")
        return self._held.item()

    def numpy(self, *, force: bool = False) -> Any:
        """There is no array of a masked tensor."""
        raise RuntimeError(".numpy() is not supported for masked tensors: use to_tensor(value)")

    def tolist(self) -> Any:
        """There is no list of a masked tensor."""
        raise RuntimeError(".tolist() is not supported for masked tensors: use to_tensor(value)")

    def __iter__(self) -> Any:
        return iter(_moved("unbind", FUNCTIONS["unbind"], (self,), {}))

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        if not self.dim():
            shown = _shown(self._held.item()) if self._mask.item() else "--"
            return f"MaskedTensor({shown}, {self._mask.item()})"
        lines = _text(self._held.tolist(), self._mask.tolist()).split("\n")
        return "MaskedTensor(\n" + "\n".join("  " + line for line in lines) + "\n)"


def _of(held: Any, mask: Any) -> MaskedTensor:
    """A masked tensor of these very tensors, with the history of the data."""
    made = object.__new__(MaskedTensor)
    made._held, made._mask = held, mask
    return made


def _check(data: Any, mask: Any) -> None:
    for name, x in (("data", data), ("mask", mask)):
        if is_masked_tensor(x) or not is_tensor(x):
            raise TypeError(f"{name} must be a Tensor")
    if mask.dtype is not dtypes.bool_:
        raise TypeError("mask must have dtype bool.")
    if data.dtype not in TYPES:
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
    if data.dim() != mask.dim():
        raise ValueError("data.dim() must equal mask.dim()")
    if data.shape != mask.shape:
        raise ValueError("data.size() must equal mask.size()")


def _shown(x: Any) -> str:
    return f"{x:8.4f}" if isinstance(x, float) else str(x)


def _text(values: Any, mask: Any) -> str:
    """The elements, row by row, with dashes for those that do not count."""
    if values and isinstance(values[0], list):
        inner = [_text(v, m).split("\n") for v, m in zip(values, mask)]
        return "[\n" + ",\n".join("\n".join("  " + line for line in x) for x in inner) + "\n]"
    texts = list(map(_shown, values))
    width = max((len(t) if m else 8 for t, m in zip(texts, mask)), default=0)
    return "[" + ", ".join(t if m else "--".rjust(width) for t, m in zip(texts, mask)) + "]"


def is_masked_tensor(obj: Any, /) -> bool:
    """Is it a masked tensor?

    >>> import whet
    >>> whet.masked.is_masked_tensor(whet.ones(2))
    False
    """
    return issubclass(type(obj), MaskedTensor)


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
    """A leaf: copies of data and of a mask that says which elements count (see `MaskedTensor`).

    >>> import whet
    >>> x = whet.masked.masked_tensor(whet.tensor([1., 2.]), whet.tensor([True, False]))
    >>> x.sum()
    MaskedTensor(  1.0000, True)
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Any, mask: Any) -> MaskedTensor:
    """A masked tensor with the history of the data, whose gradient is zero where the mask does not
    hold.

    >>> import whet
    >>> x = whet.zeros(2, requires_grad=True)
    >>> y = whet.masked.as_masked_tensor(x, whet.tensor([True, False]))
    >>> (1 / y).exp().sum().isnan(), y.cos().sum().requires_grad
    (MaskedTensor(False, True), True)
    """
    _check(data, mask)
    # `where` lets no gradient through, not even one that is no number
    held = FUNCTIONS["where"](mask, data, data.detach()) if data.requires_grad else data.clone()
    return _of(held, mask.clone())


# ---- what functions do ---------------------------------------------------------------------------
def _map(x: Any, part: str) -> Any:
    """An argument with the data, or the mask, in the place of each masked tensor."""
    if is_masked_tensor(x):
        return getattr(x, part)
    if type(x) in (list, tuple):
        return type(x)([_map(y, part) for y in x])
    return x


def _on(part: str, func: Any, args: Any, kwargs: Any) -> Any:
    return func(*_map(args, part), **{k: _map(x, part) for k, x in kwargs.items()})


def _unary(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    if any(is_tensor(x) for x in args[1:]) and name != "to":
        raise TypeError("MaskedTensor unary ops do not support additional Tensor arguments")
    return _of(_on("_held", func, args, kwargs), args[0]._mask)


def _common_mask(args: Any) -> Any:
    masks = [x._mask for x in args[:2] if is_masked_tensor(x)]
    if len(masks) == 2 and masks[0] is not masks[1] and not (
            masks[0].shape == masks[1].shape and bool((masks[0] == masks[1]).all())):
        raise ValueError("Input masks must match. If you need support for this, please open an "
                         "issue on Github.")
    return masks[0]


def _binary(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    mask = _common_mask(args)
    held = _on("_held", func, args, kwargs)
    return held if held is NotImplemented else _of(held, mask.expand_as(held))


def _in_place(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    _common_mask(args)
    _on("_held", func, args, kwargs)
    return args[0]


def _moved(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    data, mask = (_on(part, func, args, kwargs) for part in ("_held", "_mask"))
    return _of(data, mask) if is_tensor(data) else tuple(map(_of, data, mask))


def _reduced(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    self, *rest = args
    names = ("ord", "dim") if name == "norm" else ("dim", "keepdim", "dtype")
    options = dict(zip(names, rest)) | kwargs
    mask = self._mask
    if name == "all":
        filled = self._held.masked_fill(~mask, True)
        dim = options.get("dim")
        held = filled.all() if dim is None else filled.all(dim, options.get("keepdim", False))
    else:
        held = getattr(masked_reductions, name)(self._held, **options, mask=mask)
    dim = options.get("dim")
    counted = mask.any() if dim is None else mask.any(dim, options.get("keepdim", False))
    return _of(held, counted)


def _normalised(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    self, *rest = args
    options = dict(zip(("dim", "dtype"), rest)) | kwargs
    return _of(getattr(masked_reductions, name)(self._held, **options, mask=self._mask), self._mask)


def _where(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    condition, *both = args if name == "where" and not is_masked_tensor(args[0]) else (
        args[1], args[0], *args[2:])
    masks = [x._mask if is_masked_tensor(x) else FUNCTIONS["ones_like"](x, dtype=dtypes.bool_)
             for x in both]
    choose = FUNCTIONS["where"]
    return _of(choose(condition, *_map(both, "_held")), choose(condition, *masks))


RULES: dict[str, Any] = {
    **dict.fromkeys(UNARY, _unary), **dict.fromkeys(BINARY, _binary),
    **dict.fromkeys(IN_PLACE, _in_place), **dict.fromkeys(MOVES, _moved),
    **dict.fromkeys(REDUCTIONS, _reduced), **dict.fromkeys(NORMALISED, _normalised),
    "where": _where}


def call(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """What a public function is of operands some of which are masked."""
    name, kwargs = func.__name__, kwargs or {}
    rule = RULES.get(name)
    if rule is not None:
        return rule(name, func, args, kwargs)
    own = own_function(MaskedTensor, name)
    if own is None:
        raise TypeError(f"{name} is not implemented for masked tensors: use get_data() and "
                        "get_mask(), or to_tensor(value)")
    return own(*args, **kwargs)


let_say(MaskedTensor, call, [name for name in RULES if name.startswith("__")])
