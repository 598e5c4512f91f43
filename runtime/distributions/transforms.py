"""Functions of which the inverse and the change of volume are known, and the distributions that they make of others."""
import math

import whet

from ..ops.surface import guard
from . import constraints as c
from .base import Distribution, Size, broadcast_all, sum_rightmost
from .univariate import EULER, Cauchy, Exponential, Gamma, Normal, Uniform

__all__ = ["AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform", "CumulativeDistributionTransform",
           "ExpTransform", "IndependentTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform",
           "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform",
           "identity_transform"]


class Transform:
    """y = f(x) with an inverse. With `cache_size=1` the last pair is remembered, so that `inv(f(x))` is x itself."""
    bijective = False
    domain = codomain = c.real
    sign = 1

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls) and cls.__module__.startswith("whet."):
            cls.__init__ = guard(cls.__init__)

    def __init__(self, cache_size=0):
        if type(cache_size) is not int or cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size, self._pair = cache_size, (None, None)

    def __call__(self, x):
        """f(x)"""
        if self._cache_size == 0:
            return self._call(x)
        if self._pair[0] is not x:
            self._pair = x, self._call(x)
        return self._pair[1]

    def _back(self, y):
        if self._cache_size == 0:
            return self._inverse(y)
        if self._pair[1] is not y:
            self._pair = self._inverse(y), y
        return self._pair[0]

    @property
    def inv(self):
        """The inverse, a transform as well."""
        return _Inverse(self)

    def with_cache(self, cache_size=1):
        """The same with another cache."""
        if cache_size == self._cache_size:
            return self
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__, _cache_size=cache_size, _pair=(None, None))
        return new

    def _call(self, x):
        raise NotImplementedError

    def _inverse(self, y):
        raise NotImplementedError

    def log_abs_det_jacobian(self, x, y):
        """log |dy / dx|"""
        raise NotImplementedError

    def forward_shape(self, shape):
        """The shape of f(x)."""
        return shape

    def inverse_shape(self, shape):
        """The shape of x."""
        return shape

    def __eq__(self, other):
        return type(self) is type(other) and not any(
            not bool((a == b).all()) if isinstance(a, whet.Tensor) else a != b
            for a, b in ((v, other.__dict__.get(k)) for k, v in self.__dict__.items() if k not in ("_pair", "_cache_size")))

    __hash__ = object.__hash__

    def __repr__(self):
        return type(self).__name__ + "()"


class _Inverse(Transform):
    def __init__(self, transform):
        super().__init__()
        self._inv = transform
        self.bijective = transform.bijective

    domain = property(lambda self: self._inv.codomain)
    codomain = property(lambda self: self._inv.domain)
    sign = property(lambda self: self._inv.sign)
    inv = property(lambda self: self._inv)

    def with_cache(self, cache_size=1):
        return self._inv.with_cache(cache_size).inv

    def __call__(self, x):
        return self._inv._back(x)

    def _back(self, y):
        return self._inv(y)

    def log_abs_det_jacobian(self, x, y):
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._inv.forward_shape(shape)

    def __repr__(self):
        return f"_InverseTransform({self._inv!r})"


class ComposeTransform(Transform):
    """Transforms one after the other."""

    def __init__(self, parts, cache_size=0):
        super().__init__(cache_size)
        self.parts = [p.with_cache(cache_size) if cache_size else p for p in parts]

    @property
    def domain(self):
        if not self.parts:
            return c.real
        need = self.parts[-1].codomain.event_dim
        for p in reversed(self.parts):
            need = max(need + p.domain.event_dim - p.codomain.event_dim, p.domain.event_dim)
        d = self.parts[0].domain
        return c.independent(d, need - d.event_dim) if need > d.event_dim else d

    @property
    def codomain(self):
        if not self.parts:
            return c.real
        need = self.parts[0].domain.event_dim
        for p in self.parts:
            need = max(need + p.codomain.event_dim - p.domain.event_dim, p.codomain.event_dim)
        d = self.parts[-1].codomain
        return c.independent(d, need - d.event_dim) if need > d.event_dim else d

    bijective = property(lambda self: all(p.bijective for p in self.parts))
    sign = property(lambda self: math.prod(p.sign for p in self.parts))

    def _call(self, x):
        for p in self.parts:
            x = p(x)
        return x

    def _inverse(self, y):
        for p in reversed(self.parts):
            y = p._back(y)
        return y

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return whet.zeros_like(x)
        total, event_dim = 0, self.domain.event_dim
        for i, p in enumerate(self.parts):
            z = y if i + 1 == len(self.parts) else p(x)
            total = total + sum_rightmost(p.log_abs_det_jacobian(x, z), event_dim - p.domain.event_dim)
            event_dim += p.codomain.event_dim - p.domain.event_dim
            x = z
        return total

    def forward_shape(self, shape):
        for p in self.parts:
            shape = p.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        for p in reversed(self.parts):
            shape = p.inverse_shape(shape)
        return shape


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform of which the last dimensions count as part of one value."""

    def __init__(self, base_transform, reinterpreted_batch_ndims, cache_size=0):
        super().__init__(cache_size)
        self.base_transform, self.reinterpreted_batch_ndims = base_transform.with_cache(cache_size), reinterpreted_batch_ndims

    domain = property(lambda self: c.independent(self.base_transform.domain, self.reinterpreted_batch_ndims))
    codomain = property(lambda self: c.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims))
    bijective = property(lambda self: self.base_transform.bijective)
    sign = property(lambda self: self.base_transform.sign)

    def _call(self, x):
        return self.base_transform(x)

    def _inverse(self, y):
        return self.base_transform._back(y)

    def log_abs_det_jacobian(self, x, y):
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)


class ReshapeTransform(Transform):
    """Values in another shape."""
    bijective = True

    def __init__(self, in_shape, out_shape, cache_size=0):
        super().__init__(cache_size)
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if math.prod(in_shape) != math.prod(out_shape):
            raise ValueError("in_shape, out_shape have different numbers of elements")

    domain = property(lambda self: c.independent(c.real, len(self.in_shape)))
    codomain = property(lambda self: c.independent(c.real, len(self.out_shape)))

    def _call(self, x):
        return x.reshape(x.shape[:x.ndim - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y):
        return y.reshape(y.shape[:y.ndim - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x, y):
        return x.new_zeros(x.shape[:x.ndim - len(self.in_shape)])

    def forward_shape(self, shape):
        return Size(shape)[:len(shape) - len(self.in_shape)] + self.out_shape

    def inverse_shape(self, shape):
        return Size(shape)[:len(shape) - len(self.out_shape)] + self.in_shape


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


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x))"""
    codomain, bijective = c.unit_interval, True

    def _call(self, x):
        info = whet.finfo(x.dtype)
        return x.sigmoid().clamp(min=info.tiny, max=1 - info.eps)

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

    domain = codomain = property(lambda self: c.independent(c.real, self.event_dim) if self.event_dim else c.real)

    @property
    def sign(self):
        return self.scale.sign() if isinstance(self.scale, whet.Tensor) else (self.scale > 0) - (self.scale < 0)

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        if isinstance(self.scale, whet.Tensor):
            r = self.scale.abs().log().expand(x.shape) if self.scale.ndim <= x.ndim else self.scale.abs().log()
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
        return (x.shape[-1] - whet.arange(x.shape[-1], dtype=x.dtype)).log()

    def _call(self, x):
        z = (x - self._offset(x)).sigmoid()
        left = (1 - z).cumprod(-1)
        return whet.nn.functional.pad(z, (0, 1), value=1.0) * whet.nn.functional.pad(left, (1, 0), value=1.0)

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
        r = r + whet.eye(r.shape[-1], dtype=r.dtype)
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
        return self._join([t.log_abs_det_jacobian(a, b) for t, a, b in zip(self.transforms, self._parts(x), self._parts(y))])


class CatTransform(_Parts):
    """Transforms of parts beside each other along a dimension, `lengths` long."""

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        super().__init__(tseq, dim, cache_size)
        self.lengths = list(lengths or [1] * len(self.transforms))

    domain = property(lambda self: c.cat([t.domain for t in self.transforms], self.dim, self.lengths))
    codomain = property(lambda self: c.cat([t.codomain for t in self.transforms], self.dim, self.lengths))

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


# ---- distributions made by transforms --------------------------------------------------------------------------------------
class TransformedDistribution(Distribution):
    """The distribution of f(x), x being of `base_distribution`.

    >>> import whet
    >>> d = whet.distributions
    >>> d.TransformedDistribution(d.Normal(0.0, 1.0), [d.ExpTransform()]).log_prob(whet.tensor(1.0))
    tensor(-0.9189)
    """

    def __init__(self, base_distribution, transforms, validate_args=None):
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        if not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError(f"transforms must be a Transform or a list, but was {transforms}")
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        whole = ComposeTransform(self.transforms)
        if len(base_shape) < whole.domain.event_dim:
            raise ValueError(f"base_distribution needs to have shape with size at least {whole.domain.event_dim}, but got {tuple(base_shape)}.")
        shape = Size(whole.forward_shape(base_shape))
        need = whole.domain.event_dim - len(base_distribution.event_shape)
        if need > 0:
            from .multivariate import Independent
            base_distribution = Independent(base_distribution, need)
        self.base_dist = base_distribution
        event_dim = whole.codomain.event_dim + max(len(base_distribution.event_shape) - whole.domain.event_dim, 0)
        super().__init__(shape[:len(shape) - event_dim], shape[len(shape) - event_dim:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        base = self.base_dist
        inner = base.batch_shape[len(self._batch_shape):]
        new = object.__new__(type(self)) if _instance is None else _instance
        new.__dict__.update(self.__dict__)
        new.base_dist, new._batch_shape = base.expand(Size(batch_shape) + inner), Size(batch_shape)
        return new

    has_rsample = property(lambda self: self.base_dist.has_rsample)

    @c.dependent_property
    def support(self):
        if not self.transforms:
            return self.base_dist.support
        s = self.transforms[-1].codomain
        more = len(self._event_shape) - s.event_dim
        return c.independent(s, more) if more > 0 else s

    def sample(self, sample_shape=()):
        with whet.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=()):
        return self._forward(self.base_dist.rsample(sample_shape))

    def _forward(self, x):
        for t in self.transforms:
            x = t(x)
        return x

    def log_prob(self, value):
        self._validate_sample(value)
        y, total, event_dim = value, 0, len(self._event_shape)
        for t in reversed(self.transforms):
            x = t._back(y)
            event_dim += t.domain.event_dim - t.codomain.event_dim
            total = total - sum_rightmost(t.log_abs_det_jacobian(x, y), event_dim - t.domain.event_dim)
            y = x
        return total + sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _monotone(self, value):
        sign = 1
        for t in self.transforms:
            sign = sign * t.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value):
        for t in reversed(self.transforms):
            value = t._back(value)
        return self._monotone(self.base_dist.cdf(value))

    def icdf(self, value):
        return self._forward(self.base_dist.icdf(self._monotone(value)))


class _Made(TransformedDistribution):
    """A distribution with parameters of its own, made of another by transforms."""
    has_rsample = True

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        for name in self.arg_constraints:
            if name in self.__dict__:
                setattr(new, name, getattr(self, name).expand(batch_shape))
        return new


class LogNormal(_Made):
    """exp of a normal number."""
    arg_constraints = {"loc": c.real, "scale": c.positive}
    support = c.positive

    def __init__(self, loc, scale, validate_args=None):
        super().__init__(Normal(loc, scale, validate_args=validate_args), ExpTransform(), validate_args=validate_args)

    loc = property(lambda self: self.base_dist.loc)
    scale = property(lambda self: self.base_dist.scale)
    mean = property(lambda self: (self.loc + self.scale ** 2 / 2).exp())
    mode = property(lambda self: (self.loc - self.scale ** 2).exp())
    variance = property(lambda self: (self.scale ** 2).expm1() * (2 * self.loc + self.scale ** 2).exp())

    def entropy(self):
        return self.base_dist.entropy() + self.loc


class _Half(_Made):
    """The absolute value of a symmetric number."""
    arg_constraints = {"scale": c.positive}
    support = c.nonnegative

    def __init__(self, scale, validate_args=None):
        super().__init__(self._base(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    scale = property(lambda self: self.base_dist.scale)
    mode = property(lambda self: whet.zeros_like(self.scale))

    def log_prob(self, value):
        self._validate_sample(value)
        return whet.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value):
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """The absolute value of a normal number."""
    _base = Normal
    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale ** 2 * (1 - 2 / math.pi))


class HalfCauchy(_Half):
    """The absolute value of a Cauchy number."""
    _base = Cauchy
    mean = property(lambda self: whet.full_like(self.scale, math.inf))
    variance = property(lambda self: self.base_dist.variance)


class Pareto(_Made):
    """scale * exp(x / alpha), x being exponential."""
    arg_constraints = {"alpha": c.positive, "scale": c.positive}

    def __init__(self, scale, alpha, validate_args=None):
        self.scale, self.alpha = broadcast_all(scale, alpha)
        super().__init__(Exponential(self.alpha, validate_args=validate_args), [ExpTransform(), AffineTransform(0, self.scale)], validate_args)

    mean = property(lambda self: whet.where(self.alpha <= 1, math.inf, self.alpha * self.scale / (self.alpha - 1)))
    mode = property(lambda self: self.scale)

    @property
    def variance(self):
        a = self.alpha
        return whet.where(a <= 2, math.inf, self.scale ** 2 * a / ((a - 1) ** 2 * (a - 2)))

    support = c.dependent_property(lambda self: c.greater_than_eq(self.scale))

    def entropy(self):
        return (self.scale / self.alpha).log() + 1 + 1 / self.alpha


class Weibull(_Made):
    """A power of an exponential number, scaled."""
    arg_constraints = {"scale": c.positive, "concentration": c.positive}
    support = c.positive

    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        super().__init__(Exponential(whet.ones_like(self.scale), validate_args=validate_args),
                         [PowerTransform(1 / self.concentration), AffineTransform(0, self.scale)], validate_args)

    def _moment(self, n):
        return (1 + n / self.concentration).lgamma()

    mean = property(lambda self: self.scale * self._moment(1).exp())
    mode = property(lambda self: self.scale * ((self.concentration - 1) / self.concentration) ** (1 / self.concentration))
    variance = property(lambda self: self.scale ** 2 * (self._moment(2).exp() - (2 * self._moment(1)).exp()))

    def entropy(self):
        return EULER * (1 - 1 / self.concentration) + (self.scale / self.concentration).log() + 1


class InverseGamma(_Made):
    """1 / a gamma number."""
    arg_constraints = {"concentration": c.positive, "rate": c.positive}
    support = c.positive

    def __init__(self, concentration, rate, validate_args=None):
        super().__init__(Gamma(concentration, rate, validate_args=validate_args), PowerTransform(-1.0), validate_args)

    concentration = property(lambda self: self.base_dist.concentration)
    rate = property(lambda self: self.base_dist.rate)
    mean = property(lambda self: whet.where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf))
    mode = property(lambda self: self.rate / (self.concentration + 1))

    @property
    def variance(self):
        a = self.concentration
        return whet.where(a > 2, self.rate ** 2 / ((a - 1) ** 2 * (a - 2)), math.inf)

    def entropy(self):
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class Kumaraswamy(_Made):
    """Like a beta distribution, with a distribution function that is a formula."""
    arg_constraints = {"concentration1": c.positive, "concentration0": c.positive}
    support = c.unit_interval

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        one = whet.ones_like(self.concentration1)
        super().__init__(Uniform(one * 0, one, validate_args=False),
                         [PowerTransform(1 / self.concentration0), AffineTransform(1.0, -1.0), PowerTransform(1 / self.concentration1)],
                         validate_args)

    def _moment(self, n):
        a, b = self.concentration1, self.concentration0
        return (b.log() + (1 + n / a).lgamma() + b.lgamma() - (1 + n / a + b).lgamma()).exp()

    mean = property(lambda self: self._moment(1))
    variance = property(lambda self: self._moment(2) - self._moment(1) ** 2)

    def entropy(self):
        a, b = self.concentration1, self.concentration0
        return (1 - 1 / b) + (1 - 1 / a) * ((b + 1).digamma() + EULER) - a.log() - b.log()


class LogisticNormal(_Made):
    """Fractions that are a normal vector, broken off a stick."""
    arg_constraints = {"loc": c.real, "scale": c.positive}
    support = c.simplex

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args)

    loc = property(lambda self: self.base_dist.base_dist.loc)
    scale = property(lambda self: self.base_dist.base_dist.scale)


class RelaxedBernoulli(_Made):
    """A Bernoulli number that is not quite 0 or 1, so that gradients flow."""
    arg_constraints = {"probs": c.unit_interval, "logits": c.real}
    support = c.unit_interval

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        from .discrete import LogitRelaxedBernoulli
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args)

    temperature = property(lambda self: self.base_dist.temperature)
    probs = property(lambda self: self.base_dist.probs)
    logits = property(lambda self: self.base_dist.logits)


class RelaxedOneHotCategorical(_Made):
    """A one-hot vector that is not quite one, so that gradients flow."""
    arg_constraints = {"probs": c.simplex, "logits": c.real_vector}
    support = c.simplex

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        from .discrete import ExpRelaxedCategorical
        super().__init__(ExpRelaxedCategorical(temperature, probs, logits, validate_args), ExpTransform(), validate_args)

    temperature = property(lambda self: self.base_dist.temperature)
    probs = property(lambda self: self.base_dist.probs)
    logits = property(lambda self: self.base_dist.logits)


# ---- transforms for regions ------------------------------------------------------------------------------------------------
def transform_to(constraint):
    """A transform from all real numbers (or vectors) to a region."""
    if isinstance(constraint, c.independent):
        return IndependentTransform(transform_to(constraint.base_constraint), constraint.reinterpreted_batch_ndims)
    known = {id(c.real): identity_transform, id(c.simplex): SoftmaxTransform(), id(c.lower_cholesky): LowerCholeskyTransform(),
             id(c.corr_cholesky): CorrCholeskyTransform(), id(c.positive_definite): PositiveDefiniteTransform(),
             id(c.positive_semidefinite): PositiveDefiniteTransform(), id(c.unit_interval): SigmoidTransform()}
    found = known.get(id(constraint))
    if found is not None:
        return found
    low, high = getattr(constraint, "lower_bound", None), getattr(constraint, "upper_bound", None)
    if constraint.is_discrete or low is None and high is None:
        raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
    if low is not None and high is not None:
        return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])
    if high is not None:
        return ComposeTransform([ExpTransform(), AffineTransform(high, -1)])
    plain = isinstance(low, int | float) and low == 0
    return ExpTransform() if plain else ComposeTransform([ExpTransform(), AffineTransform(low, 1)])


def biject_to(constraint):
    """The same, the transform being one to one."""
    if constraint is c.simplex:
        return StickBreakingTransform()
    if constraint in (c.positive_definite, c.positive_semidefinite):
        return PositiveDefiniteTransform()
    return transform_to(constraint)
