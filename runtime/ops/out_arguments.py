"""`out=`: results that are put into tensors that there are."""
import functools

from .. import dtypes
from ..function_protocol import MINE, speakers
from . import registry
from .argument_guards import guard
from .declared_signatures import and_keyword, declare
from .out_memory import put_out
from .public_functions import PUBLIC, asked


def with_out(fn, name=None, casts=False, decides=False):
    """A function that takes `out=` too: the result, or each of several, is put there. Where it
    `casts`, that may have another type; where that `decides`, its type is the function's `dtype`.
    """
    inner, name = guard(fn), name or fn.__name__

    @functools.wraps(fn)
    def call(*args, out=None, **kwargs):
        if speakers and out is not None:
            said = asked(call, args, {**kwargs, "out": out})
            if said is not MINE:
                return said
        if decides and registry.is_tensor(out):
            kwargs["dtype"] = type_to_make(kwargs.get("dtype"), out)
        r = inner(*args, **kwargs)
        if out is None:
            return r
        return give_out(name, r, out, (*args, *kwargs.values()), casts=casts)
    call.guarded = True
    PUBLIC[inner] = call
    call.adds_out = True
    return declare(call, fn, and_keyword("out"))


def check_out_types(r, out):
    """Raise where a result, or one of several, is of another type than its `out=`."""
    for a, b in zip(r, out) if isinstance(r, tuple) else [(r, out)]:
        if registry.is_tensor(b) and a.dtype is not b.dtype:
            raise RuntimeError(
                f"Expected out tensor to have dtype {a.dtype.letter}, but got {b.dtype.letter} "
                "instead")


def type_to_make(dtype, out):
    """The type that is asked of a constructor: that of `out=` where there is one. Raise where
    another one is asked for, too."""
    if out is None:
        return dtype
    if dtype is not None and dtypes.as_dtype(dtype) is not out.dtype:
        raise RuntimeError(f"dtype {dtypes.as_dtype(dtype).letter} does not match dtype of out "
                           f"parameter ({out.dtype.letter})")
    return out.dtype


_NO_HISTORY = (
    "{}(): functions with out=... arguments don't support automatic differentiation, but one of "
    "the arguments requires grad.")


def give_out(name, r, out, operands=(), warn=True, casts=False):
    """Put a result, or a tuple of results, that is made of these operands into `out=`, which has
    the type of the result, or any that this goes into where the function `casts`."""
    if not casts:
        check_out_types(r, out)
    if isinstance(r, tuple):
        if not isinstance(out, tuple | list) or len(out) != len(r):
            raise TypeError(
                f"{name}(): argument 'out' must be tuple of {len(r)} Tensors, not "
                f"{out.__class__.__name__}")
        if not all(map(registry.is_tensor, out)):
            raise TypeError(
                f"{name}(): argument 'out' must be tuple of {len(r)} Tensors, not of "
                f"{[x.__class__.__name__ for x in out]}")
        if any(x.requires_grad for x in (*r, *out)):
            raise RuntimeError(_NO_HISTORY.format(name))
        for a, b in zip(r, out):
            put_out(name, a, b, operands)
        return type(r)(*out) if hasattr(r, "_fields") else tuple(out)
    if not registry.is_tensor(out):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {out.__class__.__name__}")
    if r.requires_grad or out.requires_grad:
        raise RuntimeError(_NO_HISTORY.format(name))
    return put_out(name, r, out, operands, warn)
