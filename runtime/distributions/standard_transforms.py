"""The transforms that have a name: exp, power, affine, softmax, and those onto simplices and
matrices."""
import math

import whet

from . import constraints as c
from .transform import Transform, check_dims
from .utils import Size, broadcast_all, sum_rightmost, tril_matrix_to_vec, vec_to_tril_matrix


class _Increasing(Transform):
    """A one-to-one function of a number that grows with it, and has no parameters."""
    domain, bijective, sign, _equal_by = c.real, True, 1, ()


class ExpTransform(_Increasing):
    """y = exp(x)

    >>> import whet
    >>> whet.distributions.ExpTransform().inv(whet.tensor(1.0))
    tensor(0.)
    """
    codomain = c.positive

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class PowerTransform(Transform):
    """y = x ** exponent

    >>> import whet
    >>> whet.distributions.PowerTransform(2.)(whet.tensor([3.]))
    tensor([9.])
    """
    domain = codomain = c.positive
    bijective, _equal_by = True, ("exponent",)

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size)
        self.exponent, = broadcast_all(exponent)

    sign = property(lambda self: self.exponent.sign())

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        return whet.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


def _clipped_sigmoid(x):
    """1 / (1 + exp(-x)), neither 0 nor 1."""
    info = whet.finfo(x.dtype)
    return x.sigmoid().clamp(min=info.tiny, max=1 - info.eps)


class SigmoidTransform(_Increasing):
    """y = 1 / (1 + exp(-x))

    >>> import whet
    >>> whet.distributions.SigmoidTransform()(whet.tensor([0.]))
    tensor([0.5000])
    """
    codomain = c.unit_interval

    def _call(self, x):
        return _clipped_sigmoid(x)

    def _inverse(self, y):
        info = whet.finfo(y.dtype)
        y = y.clamp(min=info.tiny, max=1 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -whet.nn.functional.softplus(-x) - whet.nn.functional.softplus(x)


class SoftplusTransform(_Increasing):
    """y = log(1 + exp(x))

    >>> import whet
    >>> whet.distributions.SoftplusTransform()(whet.tensor([0.]))
    tensor([0.6931])
    """
    codomain = c.positive

    def _call(self, x):
        return whet.nn.functional.softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        return -whet.nn.functional.softplus(-x)


class TanhTransform(_Increasing):
    """y = tanh(x)

    >>> import whet
    >>> whet.distributions.TanhTransform()(whet.tensor([1.]))
    tensor([0.7616])
    """
    codomain = c.interval(-1.0, 1.0)

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def log_abs_det_jacobian(self, x, y):
        return 2.0 * (math.log(2.0) - x - whet.nn.functional.softplus(-2.0 * x))


class AbsTransform(Transform):
    """y = |x|

    >>> import whet
    >>> whet.distributions.AbsTransform()(whet.tensor([-1., 2.]))
    tensor([1., 2.])
    """
    domain, codomain, _equal_by = c.real, c.positive, ()

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


def _shape_of(x):
    return getattr(x, "shape", ())


class AffineTransform(Transform):
    """y = loc + scale * x

    >>> import whet
    >>> t = whet.distributions.AffineTransform(1.0, -2.0)
    >>> t(whet.tensor(3.0)), t.sign
    (tensor(-5.), -1)
    """
    bijective, _equal_by = True, ("loc", "scale")

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    event_dim = property(lambda self: self._event_dim)

    @c.dependent_property(is_discrete=False)
    def domain(self):
        return c.independent(c.real, self.event_dim) if self.event_dim else c.real

    @c.dependent_property(is_discrete=False)
    def codomain(self):
        return c.independent(c.real, self.event_dim) if self.event_dim else c.real

    def forward_shape(self, shape):
        return whet.broadcast_shapes(shape, _shape_of(self.loc), _shape_of(self.scale))

    inverse_shape = forward_shape

    @property
    def sign(self):
        return (self.scale.sign() if isinstance(self.scale, whet.Tensor) else (self.scale > 0) -
                (self.scale < 0))

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        if isinstance(self.scale, whet.Tensor):
            r = (self.scale.abs().log().expand(x.shape)
                 if self.scale.ndim <= x.ndim else self.scale.abs().log())
        else:
            r = whet.full_like(x, math.log(abs(self.scale)))
        return sum_rightmost(r, self.event_dim)


class SoftmaxTransform(Transform):
    """Vectors as fractions; of many vectors one.

    >>> import whet
    >>> whet.distributions.SoftmaxTransform()(whet.zeros(2))
    tensor([0.5000, 0.5000])
    """
    domain, codomain, _equal_by = c.real_vector, c.simplex, ()

    def _call(self, x):
        e = (x - x.amax(-1, keepdim=True)).exp()
        return e / e.sum(-1, keepdim=True)

    def _inverse(self, y):
        return y.log()

    def forward_shape(self, shape):
        check_dims(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Transform):
    """Vectors as fractions of what those before them left, with one number more.

    >>> import whet
    >>> whet.distributions.StickBreakingTransform()(whet.zeros(2))
    tensor([0.3333, 0.3333, 0.3333])
    """
    domain, codomain, bijective, _equal_by = c.real_vector, c.simplex, True, ()

    @staticmethod
    def _offset(x):
        return (x.shape[-1] - whet.arange(x.shape[-1], dtype=x.dtype, device=x.device)).log()

    def _call(self, x):
        z = _clipped_sigmoid(x - self._offset(x))
        left = (1 - z).cumprod(-1)
        return (whet.nn.functional.pad(z, (0, 1), value=1.0)
                * whet.nn.functional.pad(left, (1, 0), value=1.0))

    def _inverse(self, y):
        crop = y[..., :-1]
        left = (1 - crop.cumsum(-1)).clamp(min=whet.finfo(y.dtype).tiny)
        return crop.log() - left.log() + self._offset(crop)

    def log_abs_det_jacobian(self, x, y):
        x = x - self._offset(x)
        return (-x + whet.nn.functional.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape):
        check_dims(shape, 1)
        return Size(shape[:-1]) + (shape[-1] + 1,)

    def inverse_shape(self, shape):
        check_dims(shape, 1)
        return Size(shape[:-1]) + (shape[-1] - 1,)


# ---- matrices ------------------------------------------------------------------------------------
def _check_square(shape):
    check_dims(shape, 2)
    if shape[-2] != shape[-1]:
        raise ValueError("Input is not square")


class CorrCholeskyTransform(Transform):
    """Vectors as Cholesky factors of correlation matrices: each row is a stick of length 1, of
    which the entries break parts off.

    >>> import whet
    >>> whet.distributions.CorrCholeskyTransform()(whet.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """
    domain, codomain, bijective, _equal_by = c.real_vector, c.corr_cholesky, True, ()

    def _call(self, x):
        eps = whet.finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), -1)
        left = (1 - r ** 2).sqrt().cumprod(-1)
        r = r + whet.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * whet.nn.functional.pad(left[..., :-1], (1, 0), value=1.0)

    def _inverse(self, y):
        left = whet.nn.functional.pad((1 - (y * y).cumsum(-1))[..., :-1], (1, 0), value=1.0)
        return (tril_matrix_to_vec(y, -1) / tril_matrix_to_vec(left, -1).sqrt()).atanh()

    def log_abs_det_jacobian(self, x, y):
        # what is left of the sticks, before each entry but the first of its row
        left = 1 - (y * y).cumsum(-1)
        stick = (0.5 * tril_matrix_to_vec(left, -2).log().sum(-1) if y.shape[-1] > 2
                 else x.new_zeros(x.shape[:-1]))
        return stick - 2 * (x + whet.nn.functional.softplus(-2 * x) - math.log(2)).sum(-1)

    def forward_shape(self, shape):
        check_dims(shape, 1)
        n = round((math.sqrt(1 + 8 * shape[-1]) + 1) / 2)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return Size(shape[:-1]) + (n, n)

    def inverse_shape(self, shape):
        _check_square(shape)
        return Size(shape[:-2]) + (shape[-1] * (shape[-1] - 1) // 2,)


class LowerCholeskyTransform(Transform):
    """Matrices as lower triangles of a positive diagonal.

    >>> import whet
    >>> whet.distributions.LowerCholeskyTransform()(whet.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    domain, codomain, _equal_by = c.independent(c.real, 2), c.lower_cholesky, ()

    def _call(self, x):
        return x.tril(-1) + x.diagonal(0, -2, -1).exp().diag_embed()

    def _inverse(self, y):
        return y.tril(-1) + y.diagonal(0, -2, -1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Matrices as positive definite ones.

    >>> import whet
    >>> whet.distributions.PositiveDefiniteTransform()(whet.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    domain, codomain, _equal_by = c.independent(c.real, 2), c.positive_definite, ()

    def _call(self, x):
        x = LowerCholeskyTransform()(x)
        return x @ x.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(whet.linalg.cholesky(y))


# ---- of parts, of distributions ------------------------------------------------------------------
class _OfParts(Transform):
    """Transforms of the parts of a value along a dimension. A class says how to part a value
    (`_parts`) and how to make one of parts (`_join`)."""
    _equal_by: tuple[str, ...] | None = ("transforms", "dim")

    def __init__(self, tseq, dim=0, cache_size=0):
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size)
        self.transforms, self.dim = [t.with_cache(cache_size) for t in tseq], dim

    bijective = property(lambda self: all(t.bijective for t in self.transforms))

    def _pairs(self, *values):
        """(transform, its part of each value)"""
        for x in values:
            if not -x.ndim <= self.dim < x.ndim:
                raise AssertionError(f"dim {self.dim} is none of a value of {x.ndim} dimensions")
        return zip(self.transforms, *map(self._parts, values), strict=True)

    def _call(self, x):
        return self._join([t(part) for t, part in self._pairs(x)], self.dim)

    def _inverse(self, y):
        return self._join([t.inv(part) for t, part in self._pairs(y)], self.dim)


class CatTransform(_OfParts):
    """Transforms of parts beside each other along a dimension, `lengths` long.

    >>> import whet
    >>> d = whet.distributions
    >>> d.CatTransform([d.ExpTransform(), d.AffineTransform(0.0, 2.0)], lengths=[1, 2])(
    ...     whet.tensor([0.0, 1.0, 2.0]))
    tensor([1., 2., 4.])
    """
    _equal_by = ("transforms", "dim", "lengths")
    _join = staticmethod(whet.cat)

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"{len(self.transforms)} transforms, {len(self.lengths)} lengths")

    event_dim = property(lambda self: max(t.event_dim for t in self.transforms))
    length = property(lambda self: sum(self.lengths))

    @c.dependent_property
    def domain(self):
        return c.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @c.dependent_property
    def codomain(self):
        return c.cat([t.codomain for t in self.transforms], self.dim, self.lengths)

    def _parts(self, x):
        if x.shape[self.dim] != self.length:
            raise AssertionError(f"the lengths sum up to {self.length}, not {x.shape[self.dim]}")
        return x.split(self.lengths, self.dim)

    def log_abs_det_jacobian(self, x, y):
        parts = [
            sum_rightmost(t.log_abs_det_jacobian(a, b), self.event_dim - t.event_dim)
            for t, a, b in self._pairs(x, y)]
        # the dimension counted from the right, among those that do not belong to one value
        dim = (self.dim if self.dim < 0 else self.dim - x.ndim) + self.event_dim
        return whet.cat(parts, dim) if dim < 0 else sum(parts)


class StackTransform(_OfParts):
    """Transforms of the slices along a dimension.

    >>> import whet
    >>> from whet.distributions import AbsTransform, ExpTransform
    >>> t = whet.distributions.StackTransform([AbsTransform(), ExpTransform()])
    >>> t(whet.tensor([-1., 0.]))
    tensor([1., 1.])
    """
    _join = staticmethod(whet.stack)

    @c.dependent_property
    def domain(self):
        return c.stack([t.domain for t in self.transforms], self.dim)

    @c.dependent_property
    def codomain(self):
        return c.stack([t.codomain for t in self.transforms], self.dim)

    def _parts(self, x):
        if x.shape[self.dim] != len(self.transforms):
            raise AssertionError(f"{len(self.transforms)} transforms, {x.shape[self.dim]} slices")
        return x.unbind(self.dim)

    def log_abs_det_jacobian(self, x, y):
        return whet.stack(
            [t.log_abs_det_jacobian(a, b) for t, a, b in self._pairs(x, y)], self.dim)


class CumulativeDistributionTransform(Transform):
    """The distribution function of a distribution.

    >>> import whet
    >>> d = whet.distributions
    >>> d.CumulativeDistributionTransform(d.Uniform(0.0, 4.0))(whet.tensor(1.0))
    tensor(0.2500)
    """
    codomain, bijective, sign = c.unit_interval, True, 1

    def __init__(self, distribution, cache_size=0):
        super().__init__(cache_size)
        self.distribution = distribution

    domain = property(lambda self: self.distribution.support)

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)
