"""The transforms that have a name: exp, power, affine, softmax, and those onto simplices and
matrices."""
import math

import whet

from . import constraints as c
from .base import Size, sum_rightmost
from .transform import Transform


class ExpTransform(Transform):
    """y = exp(x)"""
    codomain, bijective = c.positive, True

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class PowerTransform(Transform):
    """y = x ** exponent"""
    domain = codomain = c.positive
    bijective = True

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size)
        self.exponent = whet.as_tensor(exponent)

    sign = property(lambda self: self.exponent.sign())

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()


def _clipped_sigmoid(x):
    """1 / (1 + exp(-x)), neither 0 nor 1."""
    info = whet.finfo(x.dtype)
    return x.sigmoid().clamp(min=info.tiny, max=1 - info.eps)


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x))"""
    codomain, bijective = c.unit_interval, True

    def _call(self, x):
        return _clipped_sigmoid(x)

    def _inverse(self, y):
        info = whet.finfo(y.dtype)
        y = y.clamp(min=info.tiny, max=1 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -whet.nn.functional.softplus(-x) - whet.nn.functional.softplus(x)


class SoftplusTransform(Transform):
    """y = log(1 + exp(x))"""
    codomain, bijective = c.positive, True

    def _call(self, x):
        return whet.nn.functional.softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        return -whet.nn.functional.softplus(-x)


class TanhTransform(Transform):
    """y = tanh(x)"""
    codomain, bijective = c.interval(-1.0, 1.0), True

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def log_abs_det_jacobian(self, x, y):
        return 2.0 * (math.log(2.0) - x - whet.nn.functional.softplus(-2.0 * x))


class AbsTransform(Transform):
    """y = |x|"""
    codomain = c.positive

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class AffineTransform(Transform):
    """y = loc + scale * x"""
    bijective = True

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size)
        self.loc, self.scale, self.event_dim = loc, scale, event_dim

    domain = codomain = property(lambda self: c.independent(c.real, self.event_dim)
                                 if self.event_dim else c.real)

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
    """Vectors as fractions; of many vectors one."""
    domain, codomain = c.real_vector, c.simplex

    def _call(self, x):
        e = (x - x.amax(-1, keepdim=True)).exp()
        return e / e.sum(-1, keepdim=True)

    def _inverse(self, y):
        return y.log()


class StickBreakingTransform(Transform):
    """Vectors as fractions of what those before them left, with one number more."""
    domain, codomain, bijective = c.real_vector, c.simplex, True

    @staticmethod
    def _offset(x):
        return (x.shape[-1] - whet.arange(x.shape[-1], dtype=x.dtype, device=x.device)).log()

    def _call(self, x):
        z = (x - self._offset(x)).sigmoid()
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
        return Size(shape[:-1]) + (shape[-1] + 1,)

    def inverse_shape(self, shape):
        return Size(shape[:-1]) + (shape[-1] - 1,)


class CorrCholeskyTransform(Transform):
    """Vectors as Cholesky factors of correlation matrices."""
    domain, codomain, bijective = c.real_vector, c.corr_cholesky, True

    @staticmethod
    def _lower(x, diagonal):
        n = round((math.sqrt(1 + 8 * x.shape[-1]) - 1) / 2) + (1 if diagonal < 0 else 0)
        i, j = whet.tril_indices(n, n, diagonal)
        m = x.new_zeros((*x.shape[:-1], n * n)).index_copy(-1, i * n + j, x)
        return m.reshape(*x.shape[:-1], n, n)

    def _call(self, x):
        eps = whet.finfo(x.dtype).eps
        r = self._lower(x.tanh().clamp(min=-1 + eps, max=1 - eps), -1)
        left = (1 - r ** 2).sqrt().cumprod(-1)
        r = r + whet.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * whet.nn.functional.pad(left[..., :-1], (1, 0), value=1.0)

    def _inverse(self, y):
        left = whet.nn.functional.pad((1 - (y * y).cumsum(-1))[..., :-1], (1, 0), value=1.0)
        n = y.shape[-1]
        i, j = whet.tril_indices(n, n, -1)
        t = y[..., i, j] / left[..., i, j].sqrt()
        return t.atanh()

    def log_abs_det_jacobian(self, x, y):
        left = 1 - (y * y).cumsum(-1)
        n = y.shape[-1]
        i, j = whet.tril_indices(n, n, -2) if n > 2 else (None, None)
        stick = 0.5 * left[..., i, j].log().sum(-1) if n > 2 else x.new_zeros(x.shape[:-1])
        return stick - 2 * (x + whet.nn.functional.softplus(-2 * x) - math.log(2)).sum(-1)

    def forward_shape(self, shape):
        n = round((math.sqrt(1 + 8 * shape[-1]) + 1) / 2)
        return Size(shape[:-1]) + (n, n)

    def inverse_shape(self, shape):
        return Size(shape[:-2]) + (shape[-1] * (shape[-1] - 1) // 2,)


class LowerCholeskyTransform(Transform):
    """Matrices as lower triangles of a positive diagonal."""
    domain, codomain = c.independent(c.real, 2), c.lower_cholesky

    def _call(self, x):
        return x.tril(-1) + x.diagonal(0, -2, -1).exp().diag_embed()

    def _inverse(self, y):
        return y.tril(-1) + y.diagonal(0, -2, -1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Matrices as positive definite ones."""
    domain, codomain = c.independent(c.real, 2), c.positive_definite

    def _call(self, x):
        x = LowerCholeskyTransform()(x)
        return x @ x.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(whet.linalg.cholesky(y))


class _Parts(Transform):
    """Transforms of the parts of a value."""

    def __init__(self, tseq, dim=0, cache_size=0):
        super().__init__(cache_size)
        self.transforms, self.dim = [t.with_cache(cache_size) for t in tseq], dim

    bijective = property(lambda self: all(t.bijective for t in self.transforms))

    def _call(self, x):
        return self._join([t(v) for t, v in zip(self.transforms, self._parts(x))])

    def _inverse(self, y):
        return self._join([t._back(v) for t, v in zip(self.transforms, self._parts(y))])

    def log_abs_det_jacobian(self, x, y):
        return self._join([
            t.log_abs_det_jacobian(a, b)
            for t, a, b in zip(self.transforms, self._parts(x), self._parts(y))])


class CatTransform(_Parts):
    """Transforms of parts beside each other along a dimension, `lengths` long."""

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        super().__init__(tseq, dim, cache_size)
        self.lengths = list(lengths or [1] * len(self.transforms))

    domain = property(lambda self: c.cat([t.domain for t in self.transforms], self.dim, self.lengths
                                         ))
    codomain = property(lambda self: c.cat([t.codomain for t in self.transforms], self.dim, self.
                                           lengths))

    def _parts(self, x):
        return x.split(self.lengths, self.dim)

    def _join(self, parts):
        return whet.cat(parts, self.dim)


class StackTransform(_Parts):
    """Transforms of the slices along a dimension."""
    domain = property(lambda self: c.stack([t.domain for t in self.transforms], self.dim))
    codomain = property(lambda self: c.stack([t.codomain for t in self.transforms], self.dim))

    def _parts(self, x):
        return x.unbind(self.dim)

    def _join(self, parts):
        return whet.stack(parts, self.dim)


class CumulativeDistributionTransform(Transform):
    """The distribution function of a distribution."""
    codomain, bijective = c.unit_interval, True

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
