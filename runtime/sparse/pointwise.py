"""Functions of single elements, and arithmetic."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops.registry import is_tensor
from ..ops.surface import ELEMENTWISE, METHODS
from ..ops.surface import FUNCTIONS as F
from ..tensor import wrap
from .convert import is_sparse, sparse_mask
from .rules import rule
from .tensor import CooTensor, SparseTensor, flat_places, places_of, refusal, sparse_coo


# ---- of one operand ------------------------------------------------------------------------------
@functools.lru_cache(1024)
def _keeps_zero(name: str, dtype: Any, args: Any, kwargs: Any) -> bool:
    """Is the function zero at zero? Its formula says so."""
    zero = wrap(np.zeros((), dtype))
    op, operands = ELEMENTWISE[name](zero, *args, **dict(kwargs))
    at = [x._array if is_tensor(x) else x for x in operands]
    with np.errstate(all="ignore"):
        return bool((np.asarray(op.forward(*at)) == 0).all())


def of_values(name: str) -> Callable[..., Any] | None:
    """The rule of a function of single elements that keeps zero; None where it is of others."""
    plain = name.removesuffix("_") if name not in ELEMENTWISE else name
    if plain not in ELEMENTWISE:
        return None

    def run(x: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_sparse(x) or any(map(is_tensor, (*args, *kwargs.values()))):
            raise refusal(name, "sparse")
        if not _keeps_zero(plain, x._held._array.dtype, args, tuple(kwargs.items())):
            raise refusal(name, f"{x.layout} (it is not zero at zero)")
        if name != plain:
            if isinstance(x, CooTensor) and not x._is_coalesced:
                raise RuntimeError(f"{name}: in-place on uncoalesced tensors is not supported")
            METHODS[name](x._held, *args, **kwargs)
            return x
        if isinstance(x, CooTensor):
            x = x.coalesce()
        return x._with(F[name](x._held, *args, **kwargs))
    return run


SparseTensor._function_of_values = staticmethod(of_values)


@rule("neg", "negative", "__neg__")
def neg(input: Any) -> Any:
    """Each element with the other sign."""
    return input._with(-input._held)


@rule("neg_", "negative_")
def neg_(self: Any) -> Any:
    """The sign of each element changed in place. It is the sum of places that are named twice
    that changes its sign, too."""
    self._held.neg_()
    return self


@rule("round")
def round(input: Any, *, decimals: int = 0) -> Any:  # noqa: A001
    """The nearest whole numbers (of `decimals` digits behind the point)."""
    input = input.coalesce() if isinstance(input, CooTensor) else input
    return input._with(F["round"](input._held, decimals=decimals))


@rule("round_")
def round_(self: Any, *, decimals: int = 0) -> Any:
    """The nearest whole numbers (of `decimals` digits behind the point), in place."""
    if isinstance(self, CooTensor) and not self._is_coalesced:
        raise RuntimeError("round_: in-place on uncoalesced tensors is not supported")
    self._held.round_(decimals=decimals)
    return self


@rule("__pos__", "positive")
def positive(input: Any) -> Any:
    """The tensor itself."""
    return input


@rule("pow", "__pow__")
def pow(input: Any, exponent: Any) -> Any:  # noqa: A001
    """Each element to a power that is not zero."""
    if not is_sparse(input) or is_sparse(exponent):
        raise refusal("pow", "sparse exponents")
    if isinstance(exponent, int | float) and exponent == 0:
        raise RuntimeError(
            "pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor "
            "dense")
    powered = of_values("pow")
    assert powered is not None
    return powered(input, exponent)


@rule("dropout")
def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Some of the values dropped, the others scaled."""
    from ..ops.dropout import dropout as of_dense
    return input._with(of_dense(input._held, p, training))


# ---- of two --------------------------------------------------------------------------------------
def _is_number(x: Any) -> bool:
    return isinstance(x, int | float | complex) or is_tensor(x) and not x.ndim


def _same_sizes(name: str, a: Any, b: Any) -> None:
    if tuple(a.shape) != tuple(b.shape):
        raise RuntimeError(f"{name}: Expected 'self' and 'other' to have same size, but self has "
                           f"size {list(a.shape)} while other has size {list(b.shape)} "
                           "(sparse tensors do not broadcast)")


def _joined(a: Any, b: Any, scaled: Any) -> Any:
    """Two sparse tensors' sum; `scaled` are the values of the second."""
    _same_sizes("add", a, b)
    back, b = a, b._with(scaled)
    one, other = a._as_coo(), b._as_coo()
    if one.sparse_dim() != other.sparse_dim():
        raise RuntimeError(
            f"add: the tensors have {one.sparse_dim()} and {other.sparse_dim()} sparse dimensions")
    x, y = one._held, other._held
    common = F["result_type"](x, y)
    held = F["cat"]([x.to(common), y.to(common)])
    sum_ = CooTensor(F["cat"]([one._places, other._places], 1), held, one._sizes)
    if back.layout is not sparse_coo or one._is_coalesced and other._is_coalesced:
        sum_ = sum_.coalesce()
    return back._back(sum_)


@rule("add", "__add__")
def add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """The sum of sparse tensors, or of a dense one and a sparse one."""
    if not is_sparse(other):
        if not is_tensor(other):
            raise refusal("add", f"{input.layout} and numbers")
        return add(other if alpha == 1 else other * alpha, input)
    scaled = other._held if alpha == 1 else other._held * alpha
    if is_sparse(input):
        return _joined(input, other, scaled)
    if not is_tensor(input):
        raise refusal("add", f"numbers and {other.layout}")
    _same_sizes("add", input, other)
    coo = other._with(scaled)._as_coo()
    n = coo.sparse_dim()
    common = F["result_type"](input, coo._held)
    flat = input.to(common).reshape(-1, *coo._sizes[n:])
    return flat.index_add(0, flat_places(coo._places, coo._sizes[:n]),
                          coo._held.to(common)).reshape(coo._sizes)


@rule("__radd__")
def _radd(self: Any, other: Any) -> Any:
    return add(other, self)


@rule("sub", "subtract", "__sub__")
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """The difference of sparse tensors, or of a dense one and a sparse one."""
    return add(input, other, alpha=-alpha)


@rule("__rsub__")
def _rsub(self: Any, other: Any) -> Any:
    return sub(other, self)


@rule("add_", "__iadd__")
def add_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """The sum, in place."""
    if is_sparse(self):
        if not is_sparse(other):
            raise refusal("add_", f"{self.layout} and strided")
        return _become(self, add(self, other, alpha=alpha))
    _same_sizes("add_", self, other)
    coo = other._as_coo()
    n = coo.sparse_dim()
    if self.is_contiguous():
        held = coo._held if alpha == 1 else coo._held * alpha
        self.view(-1, *coo._sizes[n:]).index_add_(
            0, flat_places(coo._places, coo._sizes[:n]), held.to(self.dtype))
        return self
    return self.copy_(add(self, other, alpha=alpha))


@rule("sub_", "__isub__")
def sub_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """The difference, in place."""
    return add_(self, other, alpha=-alpha)


def _become(self: Any, other: Any) -> Any:
    """Let a sparse tensor be what another one is."""
    if self.requires_grad and self.is_leaf:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation.")
    for name, x in vars(other).items():
        setattr(self, name, x)
    return self


@rule("mul", "multiply", "__mul__", "__rmul__")
def mul(input: Any, other: Any) -> Any:
    """The product: of a number, where both have entries, or of a dense tensor at the entries."""
    if not is_sparse(input):
        input, other = other, input
    if _is_number(other) and not is_sparse(other):
        return input._with(input._held * other)
    if is_sparse(other):
        _same_sizes("mul", input, other)
        return input._back(_common(input._as_coo().coalesce(), other._as_coo().coalesce()))
    if not is_tensor(other):
        raise refusal("mul", f"{input.layout} and {other.__class__.__name__}")
    if tuple(other.shape) != tuple(input.shape):
        other = other.expand(input.shape)
    mask = sparse_mask(other, input.coalesce() if isinstance(input, CooTensor) else input)
    coalesced = input.coalesce() if isinstance(input, CooTensor) else input
    return coalesced._with(coalesced._held * mask._held)


def _common(a: CooTensor, b: CooTensor) -> CooTensor:
    """The products where both have entries."""
    n = a.sparse_dim()
    mine, theirs = (flat_places(x._places, x._sizes[:n]) for x in (a, b))
    if not theirs.shape[0] or not mine.shape[0]:
        none = F["zeros"](0, dtype=mine.dtype)
        return CooTensor(places_of(none, a._sizes[:n]), (a._held[:0] * b._held[:0]), a._sizes, True)
    at = F["searchsorted"](theirs, mine).clamp(max=theirs.shape[0] - 1)
    both = (theirs.index_select(0, at) == mine).nonzero().reshape(-1)
    held = a._held.index_select(0, both) * b._held.index_select(0, at.index_select(0, both))
    return CooTensor(a._places.index_select(1, both), held, a._sizes, True)


@rule("div", "divide", "true_divide", "__truediv__")
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """The quotient of a sparse tensor and a number."""
    if not is_sparse(input) or is_sparse(other) or not _is_number(other):
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{list(getattr(other, 'shape', []))} for divisor)")
    return input._with(F["div"](input._held, other, rounding_mode=rounding_mode))


@rule("floor_divide", "__floordiv__")
def floor_divide(input: Any, other: Any) -> Any:
    """The quotient of a sparse tensor and a number, rounded down."""
    return div(input, other, rounding_mode="floor")


@rule("result_type")
def result_type(tensor: Any, other: Any) -> Any:
    """The type that an operation of two gives."""
    return F["result_type"](*(F["empty"](x._sizes[:1], dtype=x.dtype) if is_sparse(x) else x
                              for x in (tensor, other)))


@rule("mul_", "__imul__")
def mul_(self: Any, other: Any) -> Any:
    """The product, in place."""
    if not is_sparse(self):
        raise refusal("mul_", "strided and sparse")
    if _is_number(other):
        self._held.mul_(other)
        return self
    return _become(self, mul(self, other))


@rule("div_", "__itruediv__")
def div_(self: Any, other: Any) -> Any:
    """The quotient, in place."""
    if not is_sparse(self) or not _is_number(other):
        return div(self, other)
    self._held.div_(other)
    return self


@rule("__rtruediv__")
def _rdiv(self: Any, other: Any) -> Any:
    raise refusal("reciprocal", str(self.layout))


@rule("zero_")
def zero_(self: Any) -> Any:
    """No entries are left."""
    none = self._as_coo()
    empty = CooTensor(none._places[:, :0], none._held.detach()[:0], none._sizes, True)
    return _become(self, self._back(empty))


@rule("copy_")
def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """The entries of another sparse tensor."""
    if not is_sparse(self) or not is_sparse(src):
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self type = "
            f"{self.layout} and src type = {src.layout}")
    _same_sizes("copy_", self, src)
    return _become(self, self._back(src._as_coo()).to(self.dtype))


def _none(name: str) -> Callable[..., Any]:
    def refuse(self: Any, other: Any) -> Any:
        raise refusal(name, str(self.layout))
    return refuse


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(SparseTensor, f"__{_name}__", _none(_name))
for _name in ("abs",):
    setattr(SparseTensor, f"__{_name}__", lambda self: of_values("abs")(self))  # type: ignore[misc]
