"""Tensors joined: cat, stack and their kin."""

import builtins
import itertools

import numpy as np

from .. import dtypes
from . import dims, docstrings
from .batching import shifted
from .creation import empty_array
from .onnx import shapes as in_onnx
from .out_arguments import give_out
from .out_types import OutType
from .registry import Op, apply, is_tensor
from .sample_inputs import Sample
from .split import unbind_op, unjoin_op
from .surface import FUNCTIONS, function
from .view import atleast_1d, atleast_2d, atleast_3d
from .zero_gradients import attached


def _cat_shape(*arrays, dim):
    first = arrays[0]
    n = sum([a.shape[dim] for a in arrays])
    return *first.shape[:dim], n, *first.shape[dim + 1 :]


def _cat(*arrays, dim):
    out = empty_array(_cat_shape(*arrays, dim=dim), arrays[0].dtype)
    return np.concatenate(arrays, dim, out=out)


def _side_by_side(out, *arrays, dim):
    ends = list(itertools.accumulate([a.shape[dim] for a in arrays]))
    return [
        (out[(builtins.slice(None),) * dim + (builtins.slice(end - a.shape[dim], end),)], a)
        for a, end in zip(arrays, ends)
    ]


def _cat_vjp(g, _y, *_xs, dim):
    parts = apply(unjoin_op, (g,), {"sizes": tuple([x.shape[dim] for x in _xs]), "dim": dim})
    return list(parts)


cat_op = Op(
    "cat",
    _cat,
    _cat_vjp,
    samples=lambda make: [
        Sample(make(2, 3), make(1, 3), dim=0),
        Sample(make(2, 3), make(2, 0), make(2, 1), dim=1),
        Sample(make(3), dim=0),
    ],
    linear=range(1 << 20),
    batch=shifted("dim"),
    onnx=in_onnx.joined,
)
cat_op.any_sizes = True
cat_op.total, cat_op.moves, cat_op.shape = True, _side_by_side, _cat_shape


def _list(tensors, op):
    if is_tensor(tensors) or not isinstance(tensors, tuple | list):
        if is_tensor(tensors):
            return tensors.unbind(0) if op != "cat" else _not_a_list(tensors, op)
        tensors = tuple(tensors) if hasattr(tensors, "__iter__") else _not_a_list(tensors, op)
    for i, t in enumerate(tensors):
        if not is_tensor(t):
            raise TypeError(
                f"expected Tensor as element {i} in argument 0, but got {t.__class__.__name__}"
            )
    return tensors


def _not_a_list(tensors, op):
    raise TypeError(
        f"{op}(): argument 'tensors' (position 1) must be tuple of Tensors, not "
        f"{tensors.__class__.__name__}")


def _alike(tensors):
    """Are all of one shape and type?"""
    first = tensors[0]._array
    shape, dtype = first.shape, first.dtype
    for t in tensors:
        a = t._array
        if a.shape != shape or a.dtype is not dtype:
            return False
    return True


def common_type(tensors):
    """The tensors converted to their common type."""
    d = tensors[0].dtype
    for t in tensors:
        if t.dtype is not d:
            d = dtypes.result_of(
                [x.dtype for x in tensors if x._array.ndim],
                [x.dtype for x in tensors if not x._array.ndim],
                [],
            )
            return [x if x.dtype is d else x.to(d) for x in tensors]
    return tensors


def _fitting(tensors, dim):
    """Tensors of their common type, those of them that are joined, and the dimension they are
    joined along."""
    for i, t in enumerate(tensors):
        if not t._array.ndim:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    tensors = common_type(tensors)
    kept = [t for t in tensors if t._array.shape != (0,)] or tensors[
        :1
    ]  # empty vectors join with anything
    n = kept[0]._array.ndim
    want = kept[0]._array.shape
    d = 0 if want == (0,) and len(kept) < len(tensors) else dims.one(dim, n)
    for i, t in enumerate(kept):
        s = t._array.shape
        if len(s) != n:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {n} and {len(s)}")
        if s[:d] != want[:d] or s[d + 1 :] != want[d + 1 :]:
            e = next(k for k in range(n) if k != d and s[k] != want[k])
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {d}. Expected size {want[e]} "
                f"but got size {s[e]} for tensor number {i} in the list.")
    return tensors, kept, d


def _put(name, r, out, tensors):
    """The joined tensors in `out=`, of any type that theirs goes into."""
    if is_tensor(out) and not dtypes.can_cast(r.dtype, out.dtype):
        raise TypeError(f"{name}(): input types can't be cast to the desired output type "
                        f"{out.dtype.letter}")
    return give_out(name, r, out, tensors, types=OutType.CASTS)


@function("concat", "concatenate", method=False)
def cat(tensors, dim=0, *, axis=None, out=None):
    """Tensors joined along a dimension.

    >>> import whet
    >>> whet.cat([whet.tensor([1, 2]), whet.tensor([3])])
    tensor([1, 2, 3])
    """
    tensors = _list(tensors, "cat")
    if not tensors:
        raise ValueError("cat(): expected a non-empty list of Tensors")
    if axis is not None:
        dim = axis
    shape = tensors[0]._array.shape
    if shape not in ((), (0,)) and _alike(tensors):
        kept, d = tensors, dims.one(dim, len(shape))
    else:
        tensors, kept, d = _fitting(tensors, dim)
    r = apply(cat_op, tuple(kept), {"dim": d})
    if len(kept) < len(tensors):
        r = attached(r, *[t for t in tensors if t._array.shape == (0,)])
    return r if out is None else _put("cat", r, out, tensors)


def _stack_shape(*arrays, dim):
    shape = arrays[0].shape
    return *shape[:dim], len(arrays), *shape[dim:]


def _stack(*arrays, dim):
    out = empty_array(_stack_shape(*arrays, dim=dim), arrays[0].dtype)
    if dim == 0 and len(arrays) > 4 and arrays[0].ndim:
        first = arrays[0].shape
        np.concatenate(arrays, 0, out=out.reshape(len(arrays) * first[0], *first[1:]))
        return out
    for part, a in _stacked(out, *arrays, dim=dim):
        part[...] = a
    return out


def _stacked(out, *arrays, dim):
    return [(out[(builtins.slice(None),) * dim + (i, ...)], a) for i, a in enumerate(arrays)]


stack_op = Op(
    "stack",
    _stack,
    lambda g, _y, *_xs, dim: list(apply(unbind_op, (g,), {"dim": dim})),
    samples=lambda make: [
        Sample(make(2, 3), make(2, 3), dim=0),
        Sample(make(2, 3), make(2, 3), dim=2),
        Sample(make(), make(), dim=0),
        Sample(make(0), dim=1),
    ],
    linear=range(1 << 20),
    batch=shifted("dim", least=0),
    onnx=in_onnx.stacked,
)
stack_op.any_sizes = True
stack_op.total, stack_op.moves, stack_op.shape = True, _stacked, _stack_shape


@function(method=False)
def stack(tensors, dim=0, *, axis=None, out=None):
    """Tensors of one shape joined along a new dimension.

    >>> import whet
    >>> whet.stack([whet.tensor([1, 2]), whet.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    tensors = _list(tensors, "stack")
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    if axis is not None:
        dim = axis
    want = tensors[0]._array.shape
    if not _alike(tensors):
        for i, t in enumerate(tensors):
            if t._array.shape != want:
                raise RuntimeError(
                    f"stack expects each tensor to be equal size, but got {list(want)} at entry 0 "
                    f"and {list(t._array.shape)} at entry {i}"
                )
        tensors = common_type(tensors)
    r = apply(stack_op, tuple(tensors), {"dim": dims.one(dim, len(want) + 1)})
    return r if out is None else _put("stack", r, out, tensors)


def _join(name, grow, doc):
    def join(tensors, *, out=None):
        tensors = _list(tensors, name)
        if not tensors:
            raise RuntimeError(f"{name} expects a non-empty TensorList")
        grown = [grow(t) for t in tensors]
        along = {"hstack": 0 if grown[0].ndim == 1 else 1, "vstack": 0, "dstack": 2,
                 "column_stack": 1}[name]
        return cat(grown, along, out=out)

    join.__name__ = join.__qualname__ = name
    join.__doc__ = doc
    return function(method=False)(join)


_PAIR = "([whet.tensor([1, 2]), whet.tensor([3, 4])])"
hstack = _join("hstack", atleast_1d, docstrings.with_example(
    "Tensors joined side by side.", f"whet.hstack{_PAIR}", "tensor([1, 2, 3, 4])"))
vstack = _join("vstack", atleast_2d, docstrings.with_example(
    "Tensors joined as rows.", f"whet.vstack{_PAIR}.tolist()", "[[1, 2], [3, 4]]"))
dstack = _join("dstack", atleast_3d, docstrings.with_example(
    "Tensors joined along the third dimension.", f"whet.dstack{_PAIR}.tolist()",
    "[[[1, 3], [2, 4]]]"))
column_stack = _join(
    "column_stack",
    lambda t: t.reshape(-1, 1) if t.ndim < 2 else t,
    docstrings.with_example("1-d tensors joined as columns, others side by side.",
                            f"whet.column_stack{_PAIR}.tolist()", "[[1, 3], [2, 4]]"),
)
FUNCTIONS["row_stack"] = FUNCTIONS["vstack"]
