"""Sums and the like: over trailing dimensions, over the ragged one, over everything."""
from __future__ import annotations

import math
from functools import partial
from typing import Any

from .. import dtypes
from ..ops.registry import is_tensor
from ..ops.surface import FUNCTIONS as F
from .padding import (
    have_same_parts,
    lengths_of,
    padded,
    parts_of_rows,
    rows,
    unpadded,
    with_rows,
    without_gaps,
)
from .pointwise import beside, of_elements
from .rules import family, rule
from .tensor import NestedTensor, is_nested, refusal

# the parameters of each behind the tensor, in order
PARAMETERS = {
    **dict.fromkeys("sum nansum mean nanmean prod amax amin any all logsumexp argmax argmin max "
                    "min median nanmedian".split(), ("dim", "keepdim")),
    "count_nonzero": ("dim",), "norm": ("p", "dim", "keepdim", "dtype"),
    **dict.fromkeys(("var", "std"), ("dim", "unbiased", "keepdim"))}
NAMES_OF_NUMPY = {"axis": "dim", "keepdims": "keepdim"}
# what parts are filled up with where a function of padded ones is what it is of the parts
LEAST, MOST, ONE, ZERO = "least", "most", "one", "zero"
NEUTRAL = {"prod": ONE, "amax": LEAST, "max": LEAST, "argmax": LEAST, "amin": MOST, "min": MOST,
           "argmin": MOST, "logsumexp": LEAST, "any": ZERO, "all": ONE, "count_nonzero": ZERO,
           "norm": ZERO, "nansum": ZERO}


def _neutral(kind: str, dtype: Any) -> Any:
    if kind in (ZERO, ONE):
        return int(kind == ONE)
    if dtype.category == dtypes.FLOAT:
        return -math.inf if kind == LEAST else math.inf
    if dtype.category == dtypes.BOOL:
        return kind == MOST
    return getattr(dtypes.iinfo(dtype), "min" if kind == LEAST else "max")


def wrapped(found: Any, wrap: Any) -> Any:
    """A result, or each of several, as a nested tensor."""
    if not isinstance(found, tuple):
        return wrap(found)
    made = [wrap(x) for x in found]
    return found._make(made) if hasattr(found, "_make") else type(found)(made)


@family(*PARAMETERS)
def reduced(func: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
    """A function that leaves out dimensions."""
    name = func.__name__
    if args and is_tensor(args[0]) or any(map(is_nested, (*args, *kwargs.values()))):
        return of_elements(func, input, *args, **kwargs)     # the larger of two
    if kwargs.get("out") is not None:
        raise refusal(f"{name}(out=...)")
    options = dict(zip(PARAMETERS[name], args, strict=False))
    options |= {NAMES_OF_NUMPY.get(k, k): v for k, v in kwargs.items()}
    if isinstance(options.get("dim"), bool) and name in ("var", "std"):
        options["unbiased"] = options.pop("dim")
    dim, keepdim = options.pop("dim", None), options.pop("keepdim", False)
    if dim is None or isinstance(dim, list | tuple) and not dim:
        if name.startswith("arg"):
            raise refusal(name, "places among all parts have no number; name a dimension")
        return func(without_gaps(input)._held, **options)
    if keepdim:
        options["keepdim"] = True
    dims = {input._dim(d) for d in (dim if isinstance(dim, list | tuple) else (dim,))}
    if dims == {input._ragged}:
        return _over_the_ragged(func, input, options)
    if 0 in dims or input._ragged in dims:
        return _over_the_batch(func, input, dims, options)
    return _over_trailing(func, input, dims, options, type(dim))


def _over_trailing(func: Any, input: NestedTensor, dims: Any, options: Any, kind: Any) -> Any:
    inner = [d - 1 for d in sorted(dims)]
    found = func(input._held, dim=inner[0] if kind is int else inner, **options)
    gone = 0 if options.get("keepdim") else sum(d < input._ragged for d in dims)
    return wrapped(found, lambda y: input._with(y, input._ragged - gone))


def _over_the_batch(func: Any, input: NestedTensor, dims: Any, options: Any) -> Any:
    """Over all parts and all their rows, and dimensions behind them."""
    name = func.__name__
    if input._ragged not in dims:
        raise RuntimeError(f"{name}(): reducing along the batch dimension but not the ragged "
                           "dimension is not supported for nested tensors")
    if 0 not in dims:
        raise RuntimeError(f"{name}(): reducing along a ragged and non-batch dimension is not "
                           "supported for nested tensors")
    held = without_gaps(input)._held
    found = func(held, dim=[d - 1 for d in sorted(dims) if d], **options)
    return found.unsqueeze(0) if options.get("keepdim") else found


def _over_the_ragged(func: Any, input: NestedTensor, options: Any) -> Any:
    """For each part a dense row."""
    name, ragged = func.__name__, input._ragged
    x = without_gaps(input)
    if name in OF_ROWS:
        keepdim = options.pop("keepdim", False)
        found = OF_ROWS[name](x, **options)
        return found.unsqueeze(ragged) if keepdim else found
    if name not in NEUTRAL:
        raise refusal(name, "along the ragged dimension there is no such function")
    if name == "norm" and (options.get("p") in (0, -math.inf, "nuc") or _below_zero(options)):
        raise refusal(name, f"along the ragged dimension there is no norm of p={options['p']}")
    return func(padded(x, _neutral(NEUTRAL[name], x.dtype)), dim=ragged, **options)


def _below_zero(options: Any) -> bool:
    p = options.get("p")
    return isinstance(p, int | float) and p < 0


# ---- over the ragged dimension -------------------------------------------------------------------
def _sum(x: NestedTensor, dtype: Any = None) -> Any:
    of_rows = rows(x)
    if dtype is not None:
        of_rows = of_rows.to(dtype)
    elif of_rows.dtype.category < dtypes.FLOAT:
        of_rows = of_rows.to(dtypes.int64)
    none = F["zeros"]((x.shape[0], *of_rows.shape[1:]), dtype=of_rows.dtype, device=x.device)
    return none.index_add(0, parts_of_rows(x), of_rows)


def _counts(x: NestedTensor, like: Any, less: int = 0) -> Any:
    counts = (lengths_of(x) - less).to(like.dtype)
    return counts.reshape(-1, *[1] * (like.ndim - 1))


def _mean(x: NestedTensor, dtype: Any = None) -> Any:
    if (dtype or x.dtype).category < dtypes.FLOAT:
        raise RuntimeError("mean(): could not infer output dtype. Input dtype must be either a "
                           f"floating point or complex dtype. Got: {x.dtype.letter}")
    total = _sum(x, dtype)
    return total / _counts(x, total)


def _var(x: NestedTensor, unbiased: bool = True, correction: Any = None) -> Any:
    less = int(unbiased) if correction is None else correction
    mean = _mean(x)
    moved = rows(x) - mean.index_select(0, parts_of_rows(x))
    total = _sum(with_rows(x, moved.square()))
    return total / _counts(x, total, less).clamp(min=0)


def _std(x: NestedTensor, **options: Any) -> Any:
    return _var(x, **options).sqrt()


def _extreme(name: str, x: NestedTensor) -> Any:
    of_rows = rows(x)
    start = F["full"]((x.shape[0], *of_rows.shape[1:]), _neutral(NEUTRAL[name], x.dtype),
                      dtype=x.dtype, device=x.device)
    part = parts_of_rows(x).reshape(-1, *[1] * (of_rows.ndim - 1)).expand(of_rows.shape)
    return start.scatter_reduce(0, part, of_rows, name)


OF_ROWS: dict[str, Any] = {"sum": _sum, "mean": _mean, "var": _var, "std": _std,
                           "amax": partial(_extreme, "amax"), "amin": partial(_extreme, "amin")}


# ---- softmax -------------------------------------------------------------------------------------
@family("softmax", "log_softmax", "softmin")
def softmax(func: Any, input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """Along a trailing dimension, or over the rows of each part."""
    name = func.__name__
    if dim is None:
        raise refusal(name, "a dimension must be named")
    d = input._dim(dim)
    if not d:
        raise RuntimeError(f"{name}(): not supported when reducing across the batch dimension for "
                           "NestedTensor")
    if d != input._ragged:
        return input._with(func(input._held, d - 1, dtype=dtype))
    x: Any = without_gaps(input)
    x = x if dtype is None else x.to(dtype)
    x = -x if name == "softmin" else x
    part, of_rows = parts_of_rows(x), rows(x)
    largest = _extreme("amax", x.detach())
    largest = F["where"](largest == -math.inf, 0.0, largest)
    moved = of_rows - largest.index_select(0, part)
    powers = moved.exp()
    total = _sum(with_rows(x, powers)).index_select(0, part)
    return with_rows(x, moved - total.log() if name == "log_softmax" else powers / total)


@family("cumsum", "cumprod", "logcumsumexp")
def cumulated(func: Any, input: Any, dim: int, **kwargs: Any) -> Any:
    """From row to row of each part, or along a trailing dimension."""
    d = input._dim(dim)
    if not d:
        raise RuntimeError(f"{func.__name__}(): not supported for NestedTensor on dim=0")
    if d != input._ragged:
        return input._with(func(input._held, d - 1, **kwargs))
    x = without_gaps(input)
    return unpadded(func(padded(x, 0), d, **kwargs), x)


# ---- of two --------------------------------------------------------------------------------------
@family("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy",
        "binary_cross_entropy_with_logits", "soft_margin_loss", "poisson_nll_loss")
def loss(func: Any, *args: Any, reduction: str = "mean", **kwargs: Any) -> Any:
    """A loss that is a function of single elements, and its sum or mean over all parts."""
    like, held, named = beside(func.__name__, args, kwargs)
    if reduction != "none" and like._lengths is None:
        return func(*held, reduction=reduction, **named)
    each = like._with(func(*held, reduction="none", **named))
    return each if reduction == "none" else each.sum() if reduction == "sum" else each.mean()


@family("equal", "allclose")
def equal(func: Any, input: Any, other: Any, *args: Any, **kwargs: Any) -> bool:
    """Have both the same parts, with equal elements?"""
    if not is_nested(input) or not is_nested(other):
        return False
    a, b = without_gaps(input), without_gaps(other)
    return have_same_parts(a, b) and func(a._held, b._held, *args, **kwargs)


@rule("is_nonzero")
def is_nonzero(input: Any) -> bool:
    """Is the one element not zero?"""
    return bool(input)
