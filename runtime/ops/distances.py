"""Distances between rows: `cdist`, `pdist` and their gradients; what is like them of pairs of
vectors."""
import numpy as np

from ..cpu import distances
from ..dtypes import FLOAT, float32, float64
from .autocast_to_float32 import precise
from .batching import native
from .join import common_type
from .registry import Op, apply, check_one_type
from .sample_inputs import Sample
from .surface import FUNCTIONS as F
from .surface import function
from .vector_norm import vector_norm


def _samples(make):
    yield Sample(make(3, 4), make(5, 4))
    yield Sample(make(2, 9, 2), make(2, 3, 2))


def _in_onnx(b, x, y):
    d = b.Sub(b.unsqueeze(x, (-2,)), b.unsqueeze(y, (-3,)))
    return b.Sqrt(b.reduce("ReduceSum", b.Mul(d, d), (-1,), keepdim=False))


def _pairs_in_onnx(b, x):
    n, = b.static(x.shape[-2])
    first, second = (b.Gather(x, b.constant(i, "rows"), axis=-2) for i in np.triu_indices(n, 1))
    d = b.Sub(first, second)
    return b.Sqrt(b.reduce("ReduceSum", b.Mul(d, d), (-1,), keepdim=False))


def _weighted_in_onnx(b, w, x, y):
    d = b.Sub(b.unsqueeze(x, (-2,)), b.unsqueeze(y, (-3,)))
    return b.reduce("ReduceSum", b.Mul(b.unsqueeze(w, (-1,)), d), (-2,), keepdim=False)


def _weights(g, y):
    """What differences are multiplied by in a gradient; none where rows are equal."""
    return F["where"](y == 0, 0.0, g / y)


def _gradients(w, x, y):
    return [apply(weighted_op, (w, x, y), {}), apply(weighted_op, (w.mT, y, x), {})]


def _weighted_vjp(g, _r, w, x, y):
    products = (g * x).sum(-1, keepdim=True) - g @ y.mT
    return [products, g * w.sum(-1, keepdim=True), -(w.mT @ g)]


def _of_pairs(w, n):
    """The symmetric matrix of what belongs to each pair."""
    i, j = F["triu_indices"](n, n, 1, device=w.device)
    half = w.new_zeros((*w.shape[:-1], n * n)).index_copy(-1, i * n + j, w)
    half = half.reshape(*w.shape[:-1], n, n)
    return half + half.mT


weighted_op = Op("weighted_differences", distances.weighted, _weighted_vjp, batch=native,
                 onnx=_weighted_in_onnx,
                 samples=lambda make: [Sample(make(3, 5), make(3, 4), make(5, 4)),
                                       Sample(make(2, 3, 3), make(2, 3, 2), make(2, 3, 2))])
distances_op = Op("distances", distances.distances,
                  lambda g, r, x, y: _gradients(_weights(g, r), x, y), samples=_samples,
                  batch=native, onnx=_in_onnx)
pairs_op = Op("distances_of_pairs", distances.pairs,
              lambda g, r, x: [apply(weighted_op, (_of_pairs(_weights(g, r), x.shape[-2]), x, x),
                                     {})],
              samples=lambda make: [Sample(make(5, 3)), Sample(make(2, 4, 1))],
              batch=native, onnx=_pairs_in_onnx)
for _o in (weighted_op, distances_op, pairs_op):
    _o.family, _o.launches, _o.any_sizes = "contract", True, True


def _by_kernels(p, *tensors):
    """Do kernels know the norm and the types?"""
    return (p == 2 and all(x.device.type == "cpu" for x in tensors)
            and len({x.dtype for x in tensors}) == 1 and tensors[0].dtype in (float32, float64))


def _floating(name, **operands):
    for what, x in operands.items():
        if x.dtype.category != FLOAT:
            raise RuntimeError(f"{name} only supports floating-point dtypes, {what} got: {x.dtype}")


def _no_less_than_zero(name, p):
    if p < 0:
        raise RuntimeError(f"{name} only supports non-negative p values, got {p}")


# How PyTorch may compute the distances: here they are computed in one way.
COMPUTE_MODES = frozenset((
    "use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist"))


@function(method=False)
@precise
def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """p-norm distances between all pairs of rows.

    >>> import whet
    >>> whet.cdist(whet.tensor([[0., 0.], [3., 4.]]), whet.zeros(1, 2))
    tensor([[0.],
            [5.]])
    """
    if compute_mode not in COMPUTE_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    if min(x1.ndim, x2.ndim) < 2:
        raise RuntimeError("cdist only supports at least 2D tensors, got "
                           f"{x1.ndim}D and {x2.ndim}D")
    _floating("cdist", x1=x1, x2=x2)
    _no_less_than_zero("cdist", p)
    check_one_type("cdist", x1=x1, x2=x2)
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"cdist: X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: "
            f"{x2.shape[-1]}")
    if not _by_kernels(p, x1, x2):
        return _lengths(x1.unsqueeze(-2) - x2.unsqueeze(-3), p)
    if x1.shape[:-2] != x2.shape[:-2]:
        batch = F["broadcast_shapes"](x1.shape[:-2], x2.shape[:-2])
        x1, x2 = (x.expand(*batch, *x.shape[-2:]) for x in (x1, x2))
    return apply(distances_op, (x1, x2), {})


def _lengths(x, p):
    """Norms along the last dimension: points of no coordinates are the same point."""
    return vector_norm(x, p, -1) if x.shape[-1] else x.sum(-1)


@function(method=False)
def pdist(input, p=2):
    """p-norm distances between the rows, each pair once.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.pdist(whet.tensor([[0., 0.], [3., 4.], [0., 1.]]))
    tensor([5.0000, 1.0000, 4.2426])
    """
    _floating("pdist", input=input)
    _no_less_than_zero("pdist", p)
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if _by_kernels(p, input):
        return apply(pairs_op, (input,), {})
    n = input.shape[0]
    i, j = F["triu_indices"](n, n, 1)
    return _lengths(input[i] - input[j], p)


@function("cosine_similarity", method=False)
def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle between vectors along `dim`.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.cosine_similarity(whet.tensor([1., 0.]), whet.tensor([1., 1.]), dim=0)
    tensor(0.7071)
    """
    if max(x1.dtype.category, x2.dtype.category) != FLOAT:
        raise RuntimeError(
            "expected common dtype to be floating point, yet common dtype is integral")
    if dim is None:
        raise TypeError("cosine_similarity(): argument 'dim' must be int, not NoneType")
    x1, x2 = F["broadcast_tensors"](*common_type([x1, x2]))
    n1, n2 = (vector_norm(x1, 2, dim, True).clamp_min(eps),
              vector_norm(x2, 2, dim, True).clamp_min(eps))
    return ((x1 / n1) * (x2 / n2)).sum(dim)


@function(method=False)
def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The p-norm of x1 - x2 + eps along the last dimension.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.pairwise_distance(whet.tensor([[0., 0.]]), whet.tensor([[3., 4.]]))
    tensor([5.0000])
    """
    return vector_norm(x1 - x2 + eps, p, -1, keepdim)
