"""Contractions: matmul and everything that is one. Sums run in the canonical order of
`cpu.gemm`."""
import math

import numpy as np

from ..autograd import modes
from ..cpu import gemm
from ..cpu.rows import contiguous
from ..dtypes import BOOL, COMPLEX
from . import dims as check
from .arithmetic import as_operand, is_foreign
from .batching import aligned, example_ndim
from .half_precision import wide
from .onnx import products as in_onnx
from .out_arguments import give_out
from .out_types import OutType
from .pointwise_family import NO_ATTRS
from .reduce import sum_op
from .registry import REGISTRY, Op, apply, check_tensors, is_tensor
from .sample_inputs import Sample
from .surface import function, method
from .view import squeeze_op, transpose_op, unsqueeze_op


def _h(x):
    """The transpose (conjugated) of the last two dimensions."""
    return x.mT.conj() if x.dtype.category == COMPLEX else x.mT


def _matmul_vjp(g, _y, a, b, *, needs):
    ga = gb = None
    if needs[0]:
        ga = matmul(g, _h(b)) if g._array.ndim == 1 else matmul_op(g, _h(b))
        ga = ga if ga._array.shape == a.shape else ga.sum_to_size(a.shape)
    if needs[1]:
        if a._array.ndim == 1:               # one of many: see `matmul`
            a, g = a.unsqueeze(0), g.unsqueeze(0)
        gb = matmul_op(_h(a), g)
        gb = gb if gb._array.shape == b.shape else gb.sum_to_size(b.shape)
    return [ga, gb]


def _matmul_each(op, n, inputs, batched, attrs):
    """A product of all rows at once where the matrices are the same for all examples, else the
    dimension in front is one more to go over."""
    a, b = inputs
    if not batched[1] and b._array.ndim == 2:
        return matmul(a, b) if op is matmul_op else apply(op, (a, b), attrs)
    one = example_ndim(a, batched[0]) == 1
    a = a.unsqueeze(-2) if one else a
    ndim = max(example_ndim(a, batched[0]), example_ndim(b, batched[1]))
    r = apply(op, (aligned(a, ndim) if batched[0] else a, aligned(b, ndim) if batched[1] else b),
              attrs)
    return r.squeeze(-2) if one else r


def _linear_each(op, n, inputs, batched, attrs):
    x, w, bias = (*inputs, None)[:3]
    if not any(batched[1:]):
        return apply(op, inputs, attrs)
    dtype = x.dtype
    if bias is not None:                # rounded once, as without a batch
        x, w, bias = wide(x), wide(w), wide(bias)
    if batched[0]:
        ndim = max(x._array.ndim - 1, 2)
        r = (matmul(aligned(x, ndim),
                    aligned(w, ndim).mT) if batched[1] else apply(op, (x, w), attrs))
        r = r.reshape((*x._array.shape[:-1], r._array.shape[-1]))
    elif batched[1]:
        r = linear(x, w.reshape((n * w._array.shape[-2], w._array.shape[-1])))
        r = r.reshape((*r._array.shape[:-1], n, w._array.shape[-2])).movedim(-2, 0)
    else:
        r = linear(x, w).unsqueeze(0)
    if bias is None:
        return r
    r = r + (aligned(bias, r._array.ndim - 1) if batched[2] else bias)
    return r.to(dtype)


def _matmul_samples(make):
    yield Sample(make(3, 4), make(4, 5))
    yield Sample(make(2, 3, 4), make(2, 4, 5))
    yield Sample(make(2, 1, 3, 4), make(5, 4, 2))
    yield Sample(make(3, 0), make(0, 5))
    yield Sample(make(1, 300), make(300, 1))
    yield Sample(make(33, 17), make(17, 47))


def _as_attention_or_product(b, x, y):
    names = "softmax", "add", "where", "any", "tril", "full", "matmul", "mul", "transpose"
    ops = {name: REGISTRY[name] for name in names}
    return in_onnx.attention(b, x, y, ops) or in_onnx.product(b, x, y)


class ProductOp(Op):
    """A product of matrices: `by_products(products, *arrays)` computes it on a
    device, where `products` is `whet.cuda.products`."""
    family = "contract"
    any_sizes = is_repeatable = product = True

    def __init__(self, name, forward, vjp, by_products, **kw):
        self.by_products = by_products
        super().__init__(name, forward, vjp, **kw)

    def on_device(self, arrays, attrs, index):
        """The product on a device: the CPU's order of sums, lowered for it."""
        from ..cuda import products
        return self.by_products(products, *arrays)


matmul_op = ProductOp(
    "matmul", gemm.matmul, _matmul_vjp, lambda products, a, b: products.of_matrices((a, b)),
    samples=_matmul_samples, batch=_matmul_each, onnx=_as_attention_or_product)


def _unrounded(a, b):
    return gemm.matmul(a, b, epilogue=gemm.SUM)


def _unrounded_vjp(g, y, a, b, *, needs):
    return _matmul_vjp(g.to(a.dtype), y, a, b, needs=needs)


# The product of 16-bit floats in float32, for what is rounded once after it. Of all other types it
# is `matmul`.
unrounded_matmul_op = ProductOp(
    "unrounded_matmul", _unrounded, _unrounded_vjp,
    lambda products, a, b: products.of_matrices((a, b), gemm.SUM),
    samples=_matmul_samples, batch=_matmul_each, onnx=in_onnx.unrounded_product)


COLUMNS, SWAP = {"dim": (0,), "keepdim": False}, {"dim0": 0, "dim1": 1}


def _as_matrix(x):
    """The rows of all dimensions but the last, one after the other."""
    if x._array.ndim == 2:
        return x
    # Of no elements no number of rows can be told from the rest.
    return x.reshape(-1 if x._array.size else math.prod(x.shape[:-1]), x.shape[-1])


def linear_vjp(g, _y, x, w, bias=None, *, needs):
    gx = gw = gb = None
    # from a sum: products and sums of it are quicker in real memory
    if 0 in g._array.strides:
        g = g.contiguous()
    if needs[0]:
        w = w.conj() if w.dtype.category == COMPLEX else w
        gx = matmul(g, w) if g._array.ndim == 1 else apply(matmul_op, (g, w), NO_ATTRS)
    if not any(needs[1:]):
        return [gx, gw, gb][:len(needs)]
    g2 = _as_matrix(g)
    if needs[1]:
        x = x.conj() if x.dtype.category == COMPLEX else x
        gw = apply(matmul_op, (apply(transpose_op, (g2,), SWAP), _as_matrix(x)), NO_ATTRS)
    if len(needs) > 2 and needs[2]:
        gb = apply(sum_op, (g2,), COLUMNS)
    return [gx, gw, gb][:len(needs)]


def _linear_samples(make):
    yield Sample(make(3, 4), make(5, 4), make(5))
    yield Sample(make(2, 3, 4), make(5, 4), None)
    yield Sample(make(1, 4), make(5, 4), make(5))


def _linear(x, w, bias=None):
    return gemm.linear(x, w, None if bias is None else contiguous(bias))


linear_op = ProductOp("linear", _linear, linear_vjp,
                      lambda products, x, w, bias=None: products.linear(x, w, bias),
                      samples=_linear_samples, batch=_linear_each, onnx=in_onnx.linear)
matmul_op.cast_product = linear_op.cast_product = unrounded_matmul_op.cast_product = True
matmul_op.onnx_complex, linear_op.onnx_complex = in_onnx.complex_product, in_onnx.complex_linear


def _check(name, a, b):
    check_tensors(name, 2, input=a, other=b)
    if a.dtype is not b.dtype and modes.state.autocast is None:
        raise RuntimeError(
            f"{name}: expected both operands to have the same dtype, but got: {a.dtype} and "
            f"{b.dtype}")
    if a.dtype.category == BOOL:
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'")


def _by(shape):
    return "x".join(map(str, shape))


def _has_others(vector):
    """Does a transform, now or later, take vectors of many examples as the rows of a matrix?"""
    return vector._is_one_of_many or modes.deferred(()) is not None


@function(out=True)
def matmul(input, other):
    """The matrix product, with NumPy's rules for vectors and batches.

    >>> import whet
    >>> whet.matmul(whet.ones(2, 3), whet.ones(3))
    tensor([3., 3.])
    """
    _check("matmul", input, other)
    m, n = input._array.ndim, other._array.ndim
    if m == 0 or n == 0:
        raise RuntimeError(
            f"matmul: both arguments need at least 1 dimension, but they are {m}D and {n}D")
    ka, kb = input._array.shape[-1], other._array.shape[-2 if n > 1 else -1]
    if ka != kb:
        raise RuntimeError(
            f"matmul: inner sizes differ, shapes cannot be multiplied ({_by(input.shape)} and "
            f"{_by(other.shape)})")
    if m > 1 and n > 1:
        if m > 2 and n > 2:
            try:
                np.broadcast_shapes(input._array.shape[:-2], other._array.shape[:-2])
            except ValueError:
                raise RuntimeError(
                    f"matmul: batch sizes do not broadcast: {tuple(input.shape)} @ "
                    f"{tuple(other.shape)}") from None
        # one large product instead of many small ones: same bits
        if n == 2 and m > 2 and input._array.flags.c_contiguous:
            lead = input._array.shape[:-1]
            return apply(matmul_op, (input.reshape(math.prod(lead), ka), other),
                         {}).reshape(*lead, other._array.shape[1])
        return apply(matmul_op, (input, other), {})
    if m == 1 and n == 1:
        return _inner(input, other)
    if m == 1 and n == 2 and _has_others(input):
        return apply(matmul_op, (input, other), {})      # all of them are rows of one matrix
    if m == 1:
        return _without(apply(matmul_op, (_with(input, 0), other), {}), n - 2)
    return _without(apply(matmul_op, (input, _with(other, 1)), {}), m - 1)


def _with(x, dim):
    """A vector as a matrix of one row or one column."""
    return apply(unsqueeze_op, (x,), {"dim": dim})


def _without(x, *dims):
    """A product without dimensions of size one."""
    return apply(squeeze_op, (x,), {"dim": dims})


def _inner(a, b):
    """The product of two vectors."""
    return _without(apply(matmul_op, (_with(a, 0), _with(b, 1)), {}), 0, 1)


def check_dims(name, a, na, b, nb):
    _check(name, a, b)
    if a._array.ndim != na:
        raise RuntimeError(
            f"{name}: expected the first operand to have {na} dimensions, got {tuple(a.shape)}")
    if b._array.ndim != nb:
        raise RuntimeError(
            f"{name}: expected the second operand to have {nb} dimensions, got {tuple(b.shape)}")
    ka, kb = a._array.shape[-1], b._array.shape[-2 if nb > 1 else 0]
    if ka != kb:
        raise RuntimeError(
            f"{name}: inner sizes differ, shapes cannot be multiplied ({_by(a.shape)} and "
            f"{_by(b.shape)})")


def _in_own_types(product, a, b):
    """A product with a vector, which `autocast` leaves alone."""
    if not modes.state.flags & modes.CASTS:
        return product(a, b)
    with modes.own_types():
        return product(a, b)


@function(out=True)
def mm(input, mat2):
    """The product of two matrices.

    >>> import whet
    >>> whet.mm(whet.tensor([[1., 2.]]), whet.tensor([[3.], [4.]]))
    tensor([[11.]])
    """
    return product_of_matrices(input, mat2)


def product_of_matrices(a, b, op=matmul_op):
    """`mm` by an op."""
    check_dims("mm", a, 2, b, 2)
    return apply(op, (a, b), {})


@function(out=True)
def bmm(input, mat2):
    """The products of two batches of matrices.

    >>> import whet
    >>> whet.bmm(whet.ones(2, 3, 4), whet.ones(2, 4, 5)).shape
    whet.Size([2, 3, 5])
    """
    return product_of_batches(input, mat2)


def product_of_batches(a, b, op=matmul_op):
    """`bmm` by an op."""
    check_dims("bmm", a, 3, b, 3)
    if a.shape[0] != b.shape[0]:
        raise RuntimeError(f"bmm: batch sizes differ: {tuple(a.shape)} @ {tuple(b.shape)}")
    return apply(op, (a, b), {})


@function(out=True)
def mv(input, vec):
    """A matrix times a vector.

    >>> import whet
    >>> whet.mv(whet.tensor([[1., 2.], [3., 4.]]), whet.tensor([1., 1.]))
    tensor([3., 7.])
    """
    check_dims("mv", input, 2, vec, 1)
    return _in_own_types(matmul, input, vec)


@function(out=True)
def dot(input, tensor):
    """The inner product of two vectors.

    >>> import whet
    >>> whet.dot(whet.tensor([1., 2.]), whet.tensor([3., 4.]))
    tensor(11.)
    """
    check_dims("dot", input, 1, tensor, 1)
    return _in_own_types(_inner, input, tensor)


@function(out=True)
def vdot(input, other):
    """The inner product of two vectors, the first conjugated.

    >>> import whet
    >>> whet.vdot(whet.tensor([1j, 2.]), whet.tensor([1j, 1.]))
    tensor(3.+0.j)
    """
    check_dims("vdot", input, 1, other, 1)
    return _in_own_types(_inner, input.conj(), other)


@function(out=True)
def inner(input, other):
    """Sums of products over the last dimension of both.

    >>> import whet
    >>> whet.inner(whet.tensor([1., 2.]), whet.tensor([[1., 0.], [1., 1.]]))
    tensor([1., 3.])
    """
    check_tensors("inner", input=input, other=other)
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            f"inner: the last sizes differ: {tuple(input.shape)} and {tuple(other.shape)}")
    return tensordot(input, other, ([-1], [-1]))


@function("ger", out=True, out_type=OutType.CASTS)
def outer(input, vec2):
    """All products of the elements of two vectors.

    >>> import whet
    >>> whet.outer(whet.tensor([1., 2.]), whet.tensor([3., 4.]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    if input.ndim != 1 or vec2.ndim != 1:
        raise RuntimeError(
            f"outer: Expected 1-D arguments, got {tuple(input.shape)} and {tuple(vec2.shape)}")
    return input.unsqueeze(1) * vec2


def linear(input, weight, bias=None, *, out=None):
    """input @ weight.T + bias

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.linear(whet.ones(1, 2), whet.ones(3, 2))
    tensor([[2., 2., 2.]])
    """
    try:
        a, w = input._array, weight._array
    except AttributeError:
        check_tensors("linear", input=input, weight=weight)
        raise
    if out is not None:
        return give_out("linear", linear(input, weight, bias), out, (input, weight, bias))
    if ((a.dtype != w.dtype or bias is not None and bias._array.dtype != a.dtype)
            and modes.state.autocast is None):
        raise RuntimeError(
            "linear: expected input, weight and bias to have the same dtype, but got: "
            f"{input.dtype}, {weight.dtype}"
            + (f" and {bias.dtype}" if bias is not None else ""))
    if a.ndim == 0 or w.ndim not in (1, 2) or a.shape[-1] != w.shape[-1]:
        wants = f"the weight is for {w.shape[-1]}: " if a.ndim and w.ndim in (1, 2) else ""
        raise RuntimeError(
            f"linear: the input has {a.shape[-1] if a.ndim else 'no'} features, {wants}mat1 and "
            f"mat2 shapes cannot be multiplied ({_by(a.shape)} and {_by(w.shape[::-1])})")
    if bias is not None and w.ndim == 2 and bias._array.shape not in ((w.shape[0],), (1,), ()):
        raise RuntimeError(
            f"linear: the bias must have shape ({w.shape[0]},), got {bias._array.shape}")
    if w.ndim == 1:
        if bias is None:
            return matmul(input, weight)
        return (matmul(wide(input), wide(weight)) + wide(bias)).to(input.dtype)
    if a.ndim == 1 and not _has_others(input):
        return linear(input.unsqueeze(0), weight, bias).squeeze(0)
    if bias is not None and bias._array.shape != (w.shape[0],):
        bias = bias.expand(w.shape[0])
    return apply(linear_op, (input, weight, bias) if bias is not None else (input, weight), {})


@function(method=False, out=True)
def tensordot(a, b, dims=2):
    """Sum products over pairs of dimensions: the last `dims` of a with the first of b, or two
    lists.

    >>> import whet
    >>> whet.tensordot(whet.ones(2, 3, 4), whet.ones(4, 3), dims=([1, 2], [1, 0]))
    tensor([12., 12.])
    """
    of_a, of_b = _summed_dims(a, b, dims)
    a, b = _of_equal_sizes(a, of_a, b, of_b)
    kept_a = [i for i in range(a.ndim) if i not in of_a]
    kept_b = [i for i in range(b.ndim) if i not in of_b]
    k = _size(a, of_a)
    rows = -1 if a.numel() and k else _size(a, kept_a)
    columns = -1 if b.numel() and k else _size(b, kept_b)
    left = a.permute(kept_a + of_a).reshape(rows, k)
    right = b.permute(of_b + kept_b).reshape(k, columns)
    return mm(left, right).reshape([a.shape[i] for i in kept_a] + [b.shape[i] for i in kept_b])


def _summed_dims(a, b, dims):
    """The dimensions of both operands that products are summed over, in pairs."""
    if is_tensor(dims):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        of_a, of_b = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    elif isinstance(dims, list | tuple) and len(dims) == 2:
        of_a, of_b = ([d] if isinstance(d, int) else list(d) for d in dims)
    else:
        raise RuntimeError("tensordot expects dims to be int or two lists of ints, but got "
                           f"dims={dims}")
    of_a, of_b = [check.one(d, a.ndim) for d in of_a], [check.one(d, b.ndim) for d in of_b]
    if len(of_a) != len(of_b):
        raise RuntimeError(
            f"both dimension lists should have same length, got {len(of_a)} and {len(of_b)}")
    return of_a, of_b


def _of_equal_sizes(a, of_a, b, of_b):
    """The operands with equal sizes in the dimensions that are summed over. One element meets all
    of the other's, so it is a factor of their sum."""
    for i, j in zip(of_a, of_b):
        if a.shape[i] == 1 != b.shape[j]:
            b = b.sum(j, keepdim=True, dtype=b.dtype)
        elif b.shape[j] == 1 != a.shape[i]:
            a = a.sum(i, keepdim=True, dtype=a.dtype)
        if a.shape[i] != b.shape[j]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} "
                f"and second has size {b.shape[j]} in dim {j}")
    return a, b


def _size(x, dims):
    """The product of some sizes."""
    return int(np.prod([x.shape[i] for i in dims], dtype=np.int64)) if dims else 1


@function(method=False)
def chain_matmul(*matrices, out=None):
    """The product of several matrices.

    >>> import whet
    >>> whet.chain_matmul(whet.ones(2, 3), whet.ones(3, 4), whet.ones(4, 5)).shape
    whet.Size([2, 5])
    """
    r = matrices[0]
    for m in matrices[1:]:
        r = mm(r, m)
    return r if out is None else give_out("chain_matmul", r, out, matrices)


# ---- operators -----------------------------------------------------------------------------------
@method("__matmul__")
def __matmul__(self, other):
    if not is_tensor(other):
        if is_foreign(other) or isinstance(other, int | float | complex):
            return NotImplemented
        other = as_operand(other)
    return matmul(self, other)


@method("__rmatmul__")
def __rmatmul__(self, other):
    if is_foreign(other) or isinstance(other, int | float | complex):
        return NotImplemented
    return matmul(as_operand(other), self)


@method("__imatmul__")
def __imatmul__(self, other):
    return self.copy_(matmul(self, other))
