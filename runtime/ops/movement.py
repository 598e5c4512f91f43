"""Ops that move elements without computing: joining, repeating, rolling, padding, triangles and diagonals."""
import builtins
import itertools

import numpy as np

from .. import dtypes, indexing
from ..indexing import as_int, sizes
from . import dims
from .batching import by_rows, native, shifted
from .creation import empty_array, literal, zeros
from .pointwise_family import inplace
from .registry import MoveOp, Op, apply, check_tensors, is_tensor
from .samples import Sample
from .split import split_op, unbind_op
from .strided import as_strided, diagonal, undiagonal_op
from .surface import FUNCTIONS, METHODS, function, give_out, method
from .view import atleast_1d, atleast_2d, atleast_3d, numpy_index, reshape, select, slice_along, slice_each, slice_op


# ---- joining ---------------------------------------------------------------------------------------------------------
def _cat(*arrays, dim):
    first = arrays[0]
    n = sum([a.shape[dim] for a in arrays])
    out = empty_array((*first.shape[:dim], n, *first.shape[dim + 1:]), first.dtype)
    return np.concatenate(arrays, dim, out=out)


def _side_by_side(out, *arrays, dim):
    ends = list(itertools.accumulate([a.shape[dim] for a in arrays]))
    return [(out[(builtins.slice(None),) * dim + (builtins.slice(end - a.shape[dim], end),)], a) for a, end in zip(arrays, ends)]


def _cat_vjp(g, _y, *_xs, dim):
    parts = apply(split_op, (g,), {"sizes": tuple([x.shape[dim] for x in _xs]), "dim": dim})
    return list(parts)


cat_op = Op("cat", _cat, _cat_vjp, samples=lambda make: [
    Sample(make(2, 3), make(1, 3), dim=0), Sample(make(2, 3), make(2, 0), make(2, 1), dim=1), Sample(make(3), dim=0)],
    linear=range(1 << 20), batch=shifted("dim"))
cat_op.total, cat_op.moves = True, _side_by_side


def _list(tensors, op):
    if is_tensor(tensors) or not isinstance(tensors, tuple | list):
        if is_tensor(tensors):
            return tensors.unbind(0) if op != "cat" else _not_a_list(tensors, op)
        tensors = tuple(tensors) if hasattr(tensors, "__iter__") else _not_a_list(tensors, op)
    for i, t in enumerate(tensors):
        if not is_tensor(t):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
    return tensors


def _not_a_list(tensors, op):
    raise TypeError(f"{op}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}")


def common_type(tensors):
    """The tensors converted to their common type."""
    d = tensors[0].dtype
    for t in tensors:
        if t.dtype is not d:
            d = dtypes.result_of([x.dtype for x in tensors if x._array.ndim], [x.dtype for x in tensors if not x._array.ndim], [])
            return [x if x.dtype is d else x.to(d) for x in tensors]
    return tensors


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
    for i, t in enumerate(tensors):
        if not t._array.ndim:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    tensors = common_type(tensors)
    kept = [t for t in tensors if t._array.shape != (0,)] or tensors[:1]      # empty vectors join with anything
    n = kept[0]._array.ndim
    d = dims.one(dim, n)
    want = kept[0]._array.shape
    for i, t in enumerate(kept):
        s = t._array.shape
        if len(s) != n:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {n} and {len(s)}")
        if s[:d] != want[:d] or s[d + 1:] != want[d + 1:]:
            e = next(k for k in range(n) if k != d and s[k] != want[k])
            raise RuntimeError(f"Sizes of tensors must match except in dimension {d}. Expected size {want[e]} but got size {s[e]} "
                               f"for tensor number {i} in the list.")
    r = apply(cat_op, tuple(kept), {"dim": d})
    return r if out is None else give_out("cat", r, out)


def _stack(*arrays, dim):
    first = arrays[0]
    out = empty_array((*first.shape[:dim], len(arrays), *first.shape[dim:]), first.dtype)
    if dim == 0 and len(arrays) > 4:
        return np.stack(arrays, 0, out=out)
    for part, a in _stacked(out, *arrays, dim=dim):
        part[...] = a
    return out


def _stacked(out, *arrays, dim):
    return [(out[(builtins.slice(None),) * dim + (i, ...)], a) for i, a in enumerate(arrays)]


stack_op = Op("stack", _stack, lambda g, _y, *_xs, dim: list(apply(unbind_op, (g,), {"dim": dim})), samples=lambda make: [
    Sample(make(2, 3), make(2, 3), dim=0), Sample(make(2, 3), make(2, 3), dim=2), Sample(make(), make(), dim=0),
    Sample(make(0), dim=1)], linear=range(1 << 20), batch=shifted("dim", least=0))
stack_op.total, stack_op.moves = True, _stacked


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
    for i, t in enumerate(tensors):
        if t._array.shape != want:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(want)} at entry 0 and "
                               f"{list(t._array.shape)} at entry {i}")
    r = apply(stack_op, tuple(common_type(tensors)), {"dim": dims.one(dim, len(want) + 1)})
    return r if out is None else give_out("stack", r, out)


def _join(name, grow, doc):
    def join(tensors):
        tensors = _list(tensors, name)
        if not tensors:
            raise RuntimeError(f"{name} expects a non-empty TensorList")
        grown = [grow(t) for t in tensors]
        return cat(grown, {"hstack": 0 if grown[0].ndim == 1 else 1, "vstack": 0, "dstack": 2, "column_stack": 1}[name])
    join.__name__ = join.__qualname__ = name
    join.__doc__ = doc
    return function(method=False, out=True)(join)


hstack = _join("hstack", atleast_1d, "Tensors joined side by side.")
vstack = _join("vstack", atleast_2d, "Tensors joined as rows.")
dstack = _join("dstack", atleast_3d, "Tensors joined along the third dimension.")
column_stack = _join("column_stack", lambda t: t.reshape(-1, 1) if t.ndim < 2 else t, "1-d tensors joined as columns, others side "
                                                                                      "by side.")
FUNCTIONS["row_stack"] = FUNCTIONS["vstack"]


# ---- repeating -------------------------------------------------------------------------------------------------------
def _repeat_shape(input, repeats, op):
    n = input._array.ndim
    if len(repeats) < n:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if any(r < 0 for r in repeats):
        raise RuntimeError(f"{op}: repeats must be non-negative, got {list(repeats)}")
    return (1,) * (len(repeats) - n) + input._array.shape


def _repeated(input, repeats, op="repeat"):
    shape = _repeat_shape(input, repeats, op)
    split = tuple([k for r, s in zip(repeats, shape) for k in (1, s)])
    wide = tuple([k for r, s in zip(repeats, shape) for k in (r, s)])
    r = input.reshape(split).expand(wide)
    final = tuple([r * s for r, s in zip(repeats, shape)])
    return reshape(r, final) if any(k != 1 for k in repeats) else reshape(r, final).clone()


@method()
def repeat(self, *repeats):
    """The tensor repeated along each dimension, copied.

    >>> import whet
    >>> whet.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    r = _repeated(self, sizes(repeats, "repeat", "repeats"))
    return r.clone() if np.may_share_memory(r._array, self._array) else r


@function()
def tile(input, dims):
    """`repeat`, where missing repeats of leading dimensions are one."""
    reps = sizes((dims,), "tile", "dims")
    reps = (1,) * (input._array.ndim - len(reps)) + reps
    return repeat(input, *reps)


METHODS["tile"] = lambda self, *dims: tile(self, dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims)


def _repeat_each(a, repeats, dim):
    return np.repeat(a, repeats, dim)


def _repeat_each_vjp(g, _y, _x, repeats, dim):
    if isinstance(repeats, int):
        shape = tuple(_x.shape)
        return [g.reshape(*shape[:dim + 1], repeats, *shape[dim + 1:]).sum(dim + 1)]
    index = literal(np.repeat(np.arange(len(repeats)), repeats))
    return [zeros(_x.shape, dtype=g.dtype).index_add(dim, index, g)]


repeat_interleave_op = Op("repeat_interleave", _repeat_each, _repeat_each_vjp, samples=lambda make: [
    Sample(make(2, 3), repeats=2, dim=1), Sample(make(3, 2), repeats=(2, 0, 1), dim=0), Sample(make(3), repeats=0, dim=0)],
    linear=(0,), batch=shifted("dim"))


def _check_length(have, n, dim):
    if have != n:
        raise RuntimeError(f"repeats must have the same size as input along dim, but got repeats.size(0) = {have} and input.size({dim}) = {n}")


def _check_repeats(total, shape, dim, output_size):
    indexing.checked_size((*shape[:dim], total, *shape[dim + 1:]), "repeat_interleave")
    if output_size is not None and output_size != total:
        raise RuntimeError(f"repeat_interleave: allocated size {output_size} does not match the required size {total}")


def _repeated_places(repeats, shape, dim, output_size):
    if repeats.size and repeats.min() < 0:
        raise RuntimeError("repeats can not be negative")
    _check_repeats(sum(repeats.tolist()), shape, dim, output_size)
    return np.repeat(np.arange(repeats.size), repeats)


repeated_places_op = Op("repeated_places", _repeated_places, samples=lambda make: [
    Sample(literal(np.array([2, 0, 1])), shape=(3, 2), dim=0, output_size=3)])
by_rows(repeated_places_op)


def repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    """Each element repeated, along one dimension or (with none) of the flattened tensor.

    >>> import whet
    >>> whet.repeat_interleave(whet.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    if repeats is None:
        from .sequences import arange
        return repeat_interleave(arange(input.numel()), input, 0, output_size=output_size)
    if dim is None:
        input, dim = input.reshape(-1), 0
    d = dims.one(dim, input._array.ndim)
    n = input._array.shape[d]
    if is_tensor(repeats):
        if repeats.dtype not in (dtypes.int32, dtypes.int64):
            raise RuntimeError("repeats has to be Long or Int tensor")
        if repeats.ndim > 1:
            raise RuntimeError("repeat_interleave only accept 0D or 1D vector as repeat")
        if repeats.numel() != 1:
            _check_length(repeats.numel(), n, d)
            index = apply(repeated_places_op, (repeats,), {"shape": input._array.shape, "dim": d, "output_size": output_size})
            return FUNCTIONS["index_select"](input, d, index)
        repeats = repeats.reshape(()).item()
    if isinstance(repeats, int):
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
    else:
        repeats = tuple(repeats)
        _check_length(len(repeats), n, d)
        if any(r < 0 for r in repeats):
            raise RuntimeError("repeats can not be negative")
    total = n * repeats if isinstance(repeats, int) else sum(repeats)
    _check_repeats(total, input._array.shape, d, output_size)
    return apply(repeat_interleave_op, (input,), {"repeats": repeats, "dim": d})


repeat_interleave.__module__ = "whet"
FUNCTIONS["repeat_interleave"] = METHODS["repeat_interleave"] = repeat_interleave


# ---- rolling and turning ---------------------------------------------------------------------------------------------
def _rolled(out, a, shifts, dims):
    """Each dimension is cut in two, which change places."""
    parts = [[(builtins.slice(None),) * 2] for _ in a.shape]
    for d in set(dims):
        n = a.shape[d]
        k = sum([s for s, e in zip(shifts, dims) if e == d]) % n if n else 0
        if k:
            parts[d] = [(builtins.slice(k, None), builtins.slice(None, n - k)), (builtins.slice(None, k), builtins.slice(n - k, None))]
    return [(out[(*[p[0] for p in part], ...)], a[(*[p[1] for p in part], ...)]) for part in itertools.product(*parts)]


roll_op = MoveOp("roll", lambda a, **kw: a.shape, _rolled,
                 lambda g, _y, _x, shifts, dims: [apply(roll_op, (g,), {"shifts": tuple([-s for s in shifts]), "dims": dims})],
                 samples=lambda make: [Sample(make(4, 3), shifts=(1,), dims=(0,)), Sample(make(2, 3), shifts=(-1, 5), dims=(0, 1)),
                                   Sample(make(0, 3), shifts=(1,), dims=(0,))], batch=shifted("dims"))


@function()
def roll(input, shifts, dims=None):
    """Elements moved along dimensions; what leaves at one end comes in at the other.

    >>> import whet
    >>> whet.arange(4).roll(1)
    tensor([3, 0, 1, 2])
    """
    shifts = sizes((shifts,), "roll", "shifts")
    if dims is None or isinstance(dims, tuple | list) and not dims:
        if len(shifts) != 1:
            raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:0")
        return reshape(roll(reshape(input, (-1,)), shifts, (0,)), input._array.shape)
    dims = sizes((dims,), "roll", "dims")
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    return apply(roll_op, (input,), {"shifts": shifts, "dims": tuple([_dim(d, input._array.ndim) for d in dims])})


_dim = dims.one
def _flipped(out, a, dims):
    return [(out, a[(*[builtins.slice(None, None, -1 if d in dims else 1) for d in range(a.ndim)], ...)])]


flip_op = MoveOp("flip", lambda a, dims: a.shape, _flipped,
                 lambda g, _y, _x, dims: [apply(flip_op, (g,), {"dims": dims})], samples=lambda make: [
    Sample(make(2, 3), dims=(0,)), Sample(make(2, 3, 2), dims=(0, 2)), Sample(make(), dims=()), Sample(make(0, 2), dims=(0,))],
    batch=shifted("dims", least=0))


@function()
def flip(input, dims):
    """The elements in reverse order along the given dimensions, copied."""
    dims = tuple([_dim(d, input._array.ndim) for d in sizes((dims,), "flip", "dims")])
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"dim {next(d for d in dims if dims.count(d) > 1)} appears multiple times in the list of dims")
    return apply(flip_op, (input,), {"dims": dims if input._array.ndim else ()})


@method("flip")
def _flip(self, *numbers, dims=None):
    """See `whet.flip`."""
    return flip(self, dims if dims is not None else numbers[0] if len(numbers) == 1 and not isinstance(numbers[0], int) else numbers)


@function()
def fliplr(input):
    """The columns in reverse order."""
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, (1,))


@function()
def flipud(input):
    """The rows in reverse order."""
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, (0,))


@function()
def rot90(input, k=1, dims=(0, 1)):
    """Two dimensions turned by k quarters, from the first towards the second."""
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    a, b = (_dim(d, input.ndim) for d in dims)
    if a == b:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    k = as_int(k, "rot90", "k") % 4
    if k == 0:
        return input.clone()
    if k == 2:
        return flip(input, (a, b))
    return flip(input, (b,)).transpose(a, b) if k == 1 else flip(input, (a,)).transpose(a, b)


# ---- triangles -------------------------------------------------------------------------------------------------------
def _triangular(name, keep):
    def forward(a, diagonal):
        mask = keep(np.arange(a.shape[-1])[None, :] - np.arange(a.shape[-2])[:, None], diagonal)
        return np.where(mask, a, np.zeros((), a.dtype))

    op = Op(name, forward, lambda g, _y, _x, diagonal: [apply(op, (g,), {"diagonal": diagonal})], samples=lambda make: [
        Sample(make(3, 4), diagonal=0), Sample(make(2, 3, 3), diagonal=-1), Sample(make(3, 2), diagonal=1),
        Sample(make(0, 2), diagonal=0)], linear=(0,), batch=native)

    def check(input):
        if input._array.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")

    def triangle(input, diagonal=0):
        check(input)
        return apply(op, (input,), {"diagonal": as_int(diagonal, name, "diagonal")})

    def triangle_(self, diagonal=0):
        check(self)
        return inplace(op, self, (), {"diagonal": as_int(diagonal, name, "diagonal")})
    triangle.__name__ = triangle.__qualname__ = name
    triangle.__doc__ = f"Matrices with zeros {'above' if name == 'tril' else 'below'} the given diagonal."
    triangle_.__name__, triangle_.__doc__ = name + "_", f"`{name}`, in place."
    METHODS[name + "_"] = triangle_
    return function(out=True)(triangle)


tril = _triangular("tril", lambda above, k: above <= k)
triu = _triangular("triu", lambda above, k: above >= k)


# ---- diagonals -------------------------------------------------------------------------------------------------------
@function()
def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """The last dimension as a diagonal of two new ones, zeros elsewhere."""
    n = input._array.ndim + 1
    d1, d2 = dims.one(dim1, n), dims.one(dim2, n)
    if d1 == d2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if not input._array.ndim:
        raise RuntimeError("diag_embed: the input must have at least one dimension")
    m = input._array.shape[-1] + abs(offset)
    size = list(input._array.shape[:-1])
    for d in sorted((d1, d2)):
        size.insert(d, m)
    return apply(undiagonal_op, (input,), {"size": tuple(size), "offset": offset, "dim1": d1, "dim2": d2})


@function(out=True)
def diag(input, diagonal=0):
    """A vector as a diagonal matrix, or the diagonal of a matrix (copied)."""
    if input._array.ndim == 1:
        return diag_embed(input, diagonal)
    if input._array.ndim == 2:
        return _diagonal_of(input, diagonal).clone()
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input._array.ndim}D")


_diagonal_of = diagonal


@function()
def diagflat(input, offset=0):
    """The flattened tensor as a diagonal matrix."""
    return diag_embed(reshape(input, (-1,)), offset)


# ---- a part replaced -------------------------------------------------------------------------------------------------
def _put_slice(out, a, src, index):
    return [(out, a), (out[numpy_index(index)], src)]


def _put_slice_vjp(g, _y, _x, _src, index, needs):
    gx = None
    if needs[0]:
        zero = zeros(_src.shape, dtype=g.dtype)
        gx = apply(slice_scatter_op, (g, zero), {"index": index})
    return [gx, apply(slice_op, (g,), {"index": index}) if needs[1] else None]


slice_scatter_op = MoveOp("slice_scatter", lambda a, src, index: a.shape, _put_slice, _put_slice_vjp, samples=lambda make: [
    Sample(make(3, 4), make(2, 4), index=((0, 2, 1),)), Sample(make(3, 4), make(3), index=((0, 3, 1), 1)),
    Sample(make(5), make(2), index=((1, 5, 2),)), Sample(make(3), make(0), index=((1, 1, 1),))], batch=slice_each)


def _put(input, src, part, index, op):
    want = part._array.shape
    if src._array.shape != want:
        raise RuntimeError(f"{op}: expected src to have a size equal to the slice of self. src size = {list(src._array.shape)}, "
                           f"slice size = {list(want)}")
    return apply(slice_scatter_op, (input, src.to(input.dtype)), {"index": index})


@function(out=True)
def slice_scatter(input, src, dim=0, start=None, end=None, step=1):
    """A copy of `input` with input[start:end:step] along `dim` replaced by `src`."""
    d = dims.one(dim, input._array.ndim)
    part = slice_along(input.detach(), d, start, end, step)
    n = input._array.shape[d]
    return _put(input, src, part, ((None, None, None),) * d + ((*indexing.bound(start, end, step, n), step),), "slice_scatter")


@function()
def select_scatter(input, src, dim, index):
    """A copy of `input` with one place of a dimension replaced by `src`."""
    d = dims.one(dim, input._array.ndim)
    part = select(input.detach(), d, index)
    return _put(input, src, part, ((None, None, None),) * d + (index % input._array.shape[d],), "select_scatter")


@function()
def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1):
    """A copy of `input` with a diagonal replaced by `src`."""
    want = diagonal(input.detach(), offset, dim1, dim2)._array.shape
    if src._array.shape != want:
        raise RuntimeError(f"expected src to have a size equal to the slice of self. src size = {list(src._array.shape)}, slice "
                           f"size = {list(want)}")
    n = input._array.ndim
    kw = {"offset": offset, "dim1": dims.one(dim1, n), "dim2": dims.one(dim2, n)}
    return apply(diagonal_scatter_op, (input, src.to(input.dtype)), kw)


def _put_diagonal(out, a, src, offset, dim1, dim2):
    d = out.diagonal(offset, dim1, dim2)
    d.flags.writeable = True
    return [(out, a), (d, src)]


def _put_diagonal_vjp(g, _y, _x, _src, offset, dim1, dim2):
    kw = {"offset": offset, "dim1": dim1, "dim2": dim2}
    return [apply(diagonal_scatter_op, (g, zeros(_src.shape, dtype=g.dtype)), kw), diagonal(g, **kw)]


diagonal_scatter_op = MoveOp("diagonal_scatter", lambda a, src, **kw: a.shape, _put_diagonal, _put_diagonal_vjp, samples=lambda make: [
    Sample(make(3, 3), make(3), offset=0, dim1=0, dim2=1), Sample(make(2, 3, 4), make(2, 3), offset=1, dim1=1, dim2=2)],
    batch=shifted("dim1", "dim2"))


@function()
def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """A copy of `input` with the region that `as_strided` gives replaced by `src`."""
    if tuple(src._array.shape) != sizes((size,), "as_strided_scatter"):
        raise RuntimeError(f"expected src to have a size equal to the slice of self. src size = {list(src._array.shape)}, slice "
                           f"size = {list(size)}")
    offset = None if storage_offset is None else storage_offset - input.storage_offset()
    out = input.contiguous().clone() if input.is_contiguous() else input.clone()
    as_strided(out, size, stride, offset).copy_(src)
    return out


# ---- padding ---------------------------------------------------------------------------------------------------------
def _pad_parts(shape, pads):
    """For constant padding that may also cut: (new shape, where the old values go, which old values)."""
    new, to, of = [], [], []
    for n, (before, after) in zip(shape, pads):
        new.append(n + before + after)
        lo, hi = max(-before, 0), n - max(-after, 0)
        of.append((lo, max(hi, lo), 1))
        to.append((max(before, 0), max(before, 0) + max(hi - lo, 0), 1))
    return tuple(new), tuple(to), tuple(of)


def _pad(out, a, pads, value):
    _, to, of = _pad_parts(a.shape, pads)
    return [(out, value), (out[numpy_index(to)], a[numpy_index(of)])]


def _pad_vjp(g, _y, _x, pads, value):
    return [apply(pad_op, (g,), {"pads": tuple([(-b, -a) for b, a in pads]), "value": 0})]


def _pad_each(op, n, inputs, batched, attrs):
    attrs = {**attrs, "pads": ((0, 0), *attrs["pads"])}
    if "shape" in attrs:
        attrs["shape"] = (n, *attrs["shape"])
    return apply(op, inputs, attrs)


pad_op = MoveOp("pad", lambda a, pads, value: _pad_parts(a.shape, pads)[0], _pad, _pad_vjp, samples=lambda make: [
    Sample(make(2, 3), pads=((0, 0), (1, 2)), value=0.5), Sample(make(3, 4), pads=((1, -1), (-2, 1)), value=0.0),
    Sample(make(0, 2), pads=((1, 1), (0, 0)), value=1.0)], batch=_pad_each)
pad_op.jvp = lambda inputs, tangents, outs, attrs: apply(pad_op, tangents, {**attrs, "value": 0})
pad_op.doc = "Constant padding: `pads` has (before, after) for each dimension, negative to cut."


def pad_sources(n, before, after, mode):
    """For each place of a padded dimension, the place of the input that it shows."""
    k = np.arange(-before, n + after)
    if mode == "replicate":
        return k.clip(0, n - 1)
    if mode == "circular":                                    # of what is left after cutting
        cut = max(-before, 0)
        left = n - cut - max(-after, 0)
        return np.arange(-max(before, 0), left + max(after, 0)) % left + cut
    period = 2 * (n - 1) or 1
    k = np.abs(k) % period
    return np.where(k >= n, period - k, k)


def _pad_by_index(a, pads, mode):
    for d, (before, after) in enumerate(pads):
        if before or after:
            a = a.take(pad_sources(a.shape[d], before, after, mode), d)
    return a


def _unpad_by_index(g, shape, pads, mode):
    for d in range(len(shape) - 1, -1, -1):
        before, after = pads[d]
        if not (before or after):
            continue
        src = pad_sources(shape[d], before, after, mode)
        out = np.zeros((*g.shape[:d], shape[d], *g.shape[d + 1:]), g.dtype)
        at = (builtins.slice(None),) * d
        lo, hi = max(before, 0), max(before, 0) + min(shape[d], shape[d] + min(before, 0), shape[d] + min(after, 0), len(src))
        for i in [*range(0, lo), *range(hi, len(src))]:
            out[(*at, src[i])] += g[(*at, i)]
        if hi > lo:
            out[(*at, builtins.slice(src[lo], src[lo] + hi - lo))] += g[(*at, builtins.slice(lo, hi))]
        g = out
    return g


def _pad_by_index_vjp(g, _y, _x, pads, mode):
    return [apply(unpad_by_index_op, (g,), {"shape": tuple(_x.shape), "pads": pads, "mode": mode})]


def _mode_samples(make, inner):
    for mode in ("reflect", "replicate", "circular"):
        for shape, pads in (((2, 4), ((0, 0), (2, 3))), ((3, 4), ((1, 2), (3, 0))), ((2, 5), ((0, 0), (-1, 2)))):
            if inner:
                yield Sample(make(*[n + b + a for n, (b, a) in zip(shape, pads)]), shape=shape, pads=pads, mode=mode)
            else:
                yield Sample(make(*shape), pads=pads, mode=mode)


pad_by_index_op = Op("pad_by_index", _pad_by_index, _pad_by_index_vjp, samples=lambda make: _mode_samples(make, False), linear=(0,), batch=_pad_each)
unpad_by_index_op = Op("unpad_by_index", _unpad_by_index, lambda g, _y, _x, shape, pads, mode: [
    apply(pad_by_index_op, (g,), {"pads": pads, "mode": mode})], samples=lambda make: _mode_samples(make, True), linear=(0,), batch=_pad_each)


def pad(input, pad, mode="constant", value=None):
    """Dimensions lengthened (or, by negative amounts, cut), given from the last one backwards: (before, after, before, ...)."""
    check_tensors("pad", input=input)
    amounts = sizes((pad,), "pad", "pad")
    n = input._array.ndim
    if len(amounts) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(amounts) // 2 > n:
        raise RuntimeError(f"Padding length should be less than or equal to two times the input dimension but got padding length "
                           f"{len(amounts)} and input of dimension {n}")
    k = len(amounts) // 2
    pads = ((0, 0),) * (n - k) + tuple([(amounts[2 * i], amounts[2 * i + 1]) for i in range(k - 1, -1, -1)])
    shape = input._array.shape
    for d, (before, after) in enumerate(pads):
        if shape[d] + before + after < 0:
            raise RuntimeError(f"The input size {shape[d]}, plus negative padding {before} and {after}, resulted in a negative "
                               f"output size, which is invalid. Check dimension {d} of your input.")
    if mode == "constant":
        return apply(pad_op, (input,), {"pads": pads, "value": 0 if value is None else value})
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value:
        raise ValueError(f"Padding mode \"{mode}\" doesn't take in value argument")
    if not (k == 1 and n in (2, 3) or k == 2 and n in (3, 4) or k == 3 and n in (4, 5)):
        raise NotImplementedError("Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now")
    for d, (before, after) in enumerate(pads):
        if before == after == 0:
            continue
        if mode == "reflect" and (before >= shape[d] or after >= shape[d]):
            raise RuntimeError("Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                               f"({before}, {after}) at dimension {d} of input {list(shape)}")
        if mode == "circular" and (before > shape[d] or after > shape[d]):
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if not shape[d]:
            raise RuntimeError(f"pad: Expected a non-empty dimension {d} for mode '{mode}', got input of shape {list(shape)}")
        if shape[d] + before + after < 1:
            raise RuntimeError(f"pad: the output of dimension {d} would be empty: input {list(shape)}, padding ({before}, {after})")
    return apply(pad_by_index_op, (input,), {"pads": pads, "mode": mode})


# ---- products of shapes ----------------------------------------------------------------------------------------------
@function(out=True)
def kron(input, other):
    """The Kronecker product: each element of `input` times all of `other`, as blocks."""
    n = max(input.ndim, other.ndim)
    a = (1,) * (n - input.ndim) + tuple(input.shape)
    b = (1,) * (n - other.ndim) + tuple(other.shape)
    left = input.reshape([k for s in a for k in (s, 1)])
    right = other.reshape([k for s in b for k in (1, s)])
    return (left * right).reshape([s * t for s, t in zip(a, b)])


@function()
def channel_shuffle(input, groups):
    """Channels dealt out over the groups."""
    if input.ndim < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    c = input.shape[1]
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if c % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    x = input.reshape(input.shape[0], groups, c // groups, *input.shape[2:])
    return x.transpose(1, 2).reshape(input.shape)
