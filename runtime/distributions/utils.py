"""What distributions are written with: parameters of one shape, probabilities and their logarithms,
attributes that are worked out when they are first asked for."""
from numbers import Number

import whet

Size, Tensor = whet.Size, whet.Tensor

__all__ = ["broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits",
           "tril_matrix_to_vec", "vec_to_tril_matrix"]


def broadcast_all(*values):
    """Numbers and tensors as tensors of one shape (and the tensors' type).

    >>> import whet
    >>> whet.distributions.utils.broadcast_all(whet.zeros(2), 1.0)
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    for v in values:
        if not isinstance(v, Tensor | Number):
            raise ValueError(
                "Input arguments must all be instances of Number, Tensor or objects implementing "
                f"__torch_function__, got {type(v)}.")
    like = next((v for v in values if isinstance(v, Tensor)), None)
    dtype, device = whet.get_default_dtype(), None
    if like is not None:
        dtype, device = like.dtype if like.is_floating_point() else dtype, like.device
    return whet.broadcast_tensors(*[
        v if isinstance(v, Tensor) else whet.tensor(v, dtype=dtype, device=device)
        for v in values])


def clamp_probs(probs):
    """Probabilities that are neither 0 nor 1."""
    eps = whet.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits, is_binary=False):
    """The probabilities of log-odds, or of logarithms up to a constant."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def probs_to_logits(probs, is_binary=False):
    """Log-odds, or logarithms, of probabilities.

    >>> import whet
    >>> whet.distributions.utils.probs_to_logits(whet.tensor([0.5]), is_binary=True)
    tensor([0.])
    """
    p = clamp_probs(probs)
    return p.log() - (-p).log1p() if is_binary else p.log()


def tril_matrix_to_vec(mat, diag=0):
    """The entries of matrices on and below a diagonal, row by row.

    >>> import whet
    >>> whet.distributions.utils.tril_matrix_to_vec(whet.tensor([[1, 2], [3, 4]]))
    tensor([1, 3, 4])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = whet.tril_indices(n, n, diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec, diag=0):
    """The matrices with these entries on and below a diagonal, and 0 above it.

    >>> import whet
    >>> whet.distributions.utils.vec_to_tril_matrix(whet.tensor([1, 3, 4]))
    tensor([[1, 0],
            [3, 4]])
    """
    # n (n + 1) / 2 entries on and below the main diagonal, about n more for each diagonal above it
    more = 1 + 2 * diag
    n = ((more ** 2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5 - more) / 2
    size = round(n)
    if n != size:
        raise ValueError(f"The size of last dimension is {vec.shape[-1]} which cannot be expressed "
                         "as the lower triangular part of a square D x D matrix.")
    rows, columns = whet.tril_indices(size, size, diag)
    flat = vec.new_zeros((*vec.shape[:-1], size * size)).index_copy(-1, rows * size + columns, vec)
    return flat.reshape(*vec.shape[:-1], size, size)


def sum_rightmost(value, dims):
    """The sum over the last dimensions."""
    return value if dims == 0 else value.reshape(*value.shape[:value.ndim - dims], -1).sum(-1)


_sum_rightmost = sum_rightmost


def _standard_normal(shape, dtype, device):
    """Numbers that are normally distributed around 0, with deviation 1."""
    return whet.randn(shape, dtype=dtype, device=device)


class lazy_property:
    """An attribute that is worked out when it is first asked for.

    >>> import whet
    >>> class Circle:
    ...     radius = 2
    ...     @whet.distributions.utils.lazy_property
    ...     def area(self):
    ...         return 3 * self.radius ** 2
    >>> circle = Circle()
    >>> circle.area, vars(circle)
    (12, {'area': 12})
    """

    def __init__(self, wrapped):
        self.wrapped, self.__doc__, self.__name__ = wrapped, wrapped.__doc__, wrapped.__name__

    def __get__(self, instance, owner=None):
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with whet.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):
    """A lazy property as its class shows it: a property, with the same documentation."""

    def __init__(self, wrapped):
        property.__init__(self, wrapped)


def rand(shape, like):
    """Uniform numbers in (0, 1), as precise as a tensor."""
    eps = whet.finfo(like.dtype).tiny
    return whet.rand(shape, dtype=like.dtype, device=like.device).clamp(min=eps)


def randn(shape, like):
    """Normal numbers, as precise as a tensor."""
    return whet.randn(shape, dtype=like.dtype, device=like.device)
