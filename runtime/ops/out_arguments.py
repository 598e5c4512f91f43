"""`out=`: results that are put into tensors that there are."""
import functools

from .. import dtypes
from ..function_protocol import MINE, speakers
from . import registry
from .argument_guards import guard
from .declared_signatures import and_keyword, declare
from .out_memory import put_out
from .out_types import OutType
from .public_functions import PUBLIC, asked


def with_out(fn, name=None, types=OutType.RESULT):
    """A function that takes `out=` too: the result, or each of several, is put there,
    which has one of these types.
    """
    inner, name = guard(fn), name or fn.__name__

    @functools.wraps(fn)
    def call(*args, out=None, **kwargs):
        if speakers and out is not None:
            said = asked(call, args, {**kwargs, "out": out})
            if said is not MINE:
                return said
        if registry.is_tensor(out):
            if types is OutType.DECIDES:
                kwargs["dtype"] = type_to_make(kwargs.get("dtype"), out)
            else:
                type_to_make(kwargs.get("dtype"), out)
        r = inner(*args, **kwargs)
        if out is None:
            return r
        return give_out(name, r, out, (*args, *kwargs.values()), types=types)
    call.guarded = True
    PUBLIC[inner] = call
    call.adds_out = True
    return declare(call, fn, and_keyword("out"))


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


def give_out(name, r, out, operands=(), warn=True, types=OutType.RESULT):
    """Put a result, or a tuple of results, that is made of these operands into `out=`, which has
    one of these types."""
    r = types.fit(name, r, out)
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
