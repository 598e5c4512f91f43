"""Distributions of vectors and matrices, and those made of others."""
import math

import numpy as np
import whet

from ..ops.registry import check_tensors
from . import constraints as c
from .base import Distribution, ExponentialFamily, Size, randn, sum_rightmost
from .discrete import Categorical
from .sampling import standard_gamma
from .univariate import Beta


class Dirichlet(ExponentialFamily):
    """Fractions that sum up to 1: gamma numbers over their sum."""
    arg_constraints = {"concentration": c.independent(c.positive, 1)}
    support = c.simplex
    has_rsample = True

    def __init__(self, concentration, validate_args=None):
        if concentration.ndim < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1],
                         concentration.shape[-1:],
                         validate_args=validate_args)

    _total = property(lambda self: self.concentration.sum(-1, keepdim=True))
    mean = property(lambda self: self.concentration / self._total)

    @property
    def mode(self):
        a = (self.concentration - 1).clamp(min=0)
        mode = a / a.sum(-1, keepdim=True)
        top = whet.nn.functional.one_hot(mode.nan_to_num().argmax(-1), a.shape[-1]).to(mode.dtype)
        return whet.where((self.concentration < 1).all(-1, keepdim=True), top, mode)

    @property
    def variance(self):
        t = self._total
        return self.concentration * (t - self.concentration) / (t ** 2 * (t + 1))

    def rsample(self, sample_shape=()):
        x = standard_gamma(self.concentration.expand(self._extended_shape(sample_shape)))
        return x / x.sum(-1, keepdim=True)

    def log_prob(self, value):
        self._validate_sample(value)
        a = self.concentration
        return whet.xlogy(a - 1, value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self):
        a, k = self.concentration, self.concentration.shape[-1]
        t = a.sum(-1)
        return (a.lgamma().sum(-1) - t.lgamma() - (k - t) * t.digamma() -
                ((a - 1) * a.digamma()).sum(-1))


def _times(matrix, vector):
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def _mahalanobis(lower, x):
    """|L^-1 x|^2 of each vector."""
    shape = np.broadcast_shapes(lower.shape[:-2], x.shape[:-1])
    lower, x = lower.expand(*shape, *lower.shape[-2:]), x.expand(*shape, x.shape[-1])
    return (whet.linalg.solve_triangular(lower, x.unsqueeze(-1),
                                         upper=False).squeeze(-1) ** 2).sum(-1)


class MultivariateNormal(Distribution):
    """Normal vectors, of a covariance that is given as such, by its inverse, or by its Cholesky
    factor."""
    arg_constraints = {
        "loc": c.real_vector, "covariance_matrix": c.positive_definite,
        "precision_matrix": c.positive_definite, "scale_tril": c.lower_cholesky}
    support = c.real_vector
    has_rsample = True
    _event_dims = {"_tril": 2}

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None,
                 validate_args=None):
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {
            n: m for n, m in (("covariance_matrix", covariance_matrix),
                              ("precision_matrix", precision_matrix), ("scale_tril", scale_tril))
            if m is not None}
        if len(given) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                "specified.")
        (name, m), = given.items()
        if m.ndim < 2:
            raise ValueError(
                f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        batch = np.broadcast_shapes(m.shape[:-2], loc.shape[:-1])
        setattr(self, name, m.expand(*batch, *m.shape[-2:]))
        self.loc = loc.expand(*batch, loc.shape[-1])
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._tril = self.scale_tril
        elif name == "covariance_matrix":
            self._tril = whet.linalg.cholesky(self.covariance_matrix)
        else:
            self._tril = whet.linalg.cholesky(whet.linalg.inv(self.precision_matrix))

    def __getattr__(self, name):
        """The covariance in the forms in which it was not given."""
        if name == "scale_tril":
            return self._tril
        if name == "covariance_matrix":
            return self._tril @ self._tril.mT
        if name == "precision_matrix":
            return whet.cholesky_inverse(self._tril)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: (self._tril ** 2).sum(-1))

    def rsample(self, sample_shape=()):
        return self.loc + _times(self._tril, randn(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value):
        self._validate_sample(value)
        half = self._tril.diagonal(0, -2, -1).log().sum(-1)
        return (-0.5 * (self._event_shape[0] * math.log(2 * math.pi)
                        + _mahalanobis(self._tril, value - self.loc)) - half)

    def entropy(self):
        half = self._tril.diagonal(0, -2, -1).log().sum(-1)
        return 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi)) + half


class LowRankMultivariateNormal(Distribution):
    """Normal vectors of covariance W @ W.T + D, with few columns in W and a diagonal D."""
    arg_constraints = {
        "loc": c.real_vector,
        "cov_factor": c.independent(c.real, 2),
        "cov_diag": c.independent(c.positive, 1)}
    support = c.real_vector
    has_rsample = True

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        batch = np.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        if cov_factor.shape[-2] != loc.shape[-1] or cov_diag.shape[-1] != loc.shape[-1]:
            raise ValueError(
                f"cov_factor and cov_diag must have {loc.shape[-1]} rows, as loc has numbers")
        self.loc, self.cov_diag = (loc.expand(*batch, loc.shape[-1]),
                                   cov_diag.expand(*batch, loc.shape[-1]))
        self.cov_factor = cov_factor.expand(*batch, *cov_factor.shape[-2:])
        super().__init__(batch, loc.shape[-1:], validate_args=validate_args)

    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: (self.cov_factor ** 2).sum(-1) + self.cov_diag)
    covariance_matrix = property(lambda self: self.cov_factor @ self.cov_factor.mT + self.cov_diag.
                                 diag_embed())
    scale_tril = property(lambda self: whet.linalg.cholesky(self.covariance_matrix))
    precision_matrix = property(lambda self: whet.linalg.inv(self.covariance_matrix))

    def _capacitance(self):
        """The Cholesky factor of I + W.T @ D^-1 @ W."""
        w = self.cov_factor
        return whet.linalg.cholesky(w.mT @ (w / self.cov_diag.unsqueeze(-1))
                                    + whet.eye(w.shape[-1], dtype=w.dtype, device=w.device))

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        few = randn((*shape[:-1], self.cov_factor.shape[-1]), self.loc)
        return (self.loc + _times(self.cov_factor, few)
                + self.cov_diag.sqrt() * randn(shape, self.loc))

    def _log_det(self, factor):
        return 2 * factor.diagonal(0, -2, -1).log().sum(-1) + self.cov_diag.log().sum(-1)

    def log_prob(self, value):
        self._validate_sample(value)
        d, factor = value - self.loc, self._capacitance()
        part = _times((self.cov_factor / self.cov_diag.unsqueeze(-1)).mT, d)
        m = (d ** 2 / self.cov_diag).sum(-1) - _mahalanobis(factor, part)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det(factor) + m)

    def entropy(self):
        return (0.5 * (self._event_shape[0] *
                       (1 + math.log(2 * math.pi)) + self._log_det(self._capacitance())))


class Wishart(ExponentialFamily):
    """Covariances of `df` normal vectors, times `df`."""
    arg_constraints = {
        "covariance_matrix": c.positive_definite,
        "precision_matrix": c.positive_definite,
        "scale_tril": c.lower_cholesky,
        "df": c.greater_than(0)}
    support = c.positive_definite
    has_rsample = True
    _event_dims = {"_tril": 2}

    def __init__(self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None,
                 validate_args=None):
        given = [m for m in (covariance_matrix, precision_matrix, scale_tril) if m is not None]
        if len(given) != 1:
            raise ValueError(
                "Wishart: exactly one of covariance_matrix or precision_matrix or scale_tril must "
                "be specified")
        check_tensors("Wishart", matrix=given[0])
        mean = whet.zeros(given[0].shape[-1], device=given[0].device)
        normal = MultivariateNormal(mean, covariance_matrix, precision_matrix, scale_tril,
                                    validate_args=False)
        df = df if isinstance(df, whet.Tensor) else normal._tril.new_tensor(float(df))
        batch = np.broadcast_shapes(df.shape, normal.batch_shape)
        self._tril, self.df = (normal._tril.expand(*batch,
                                                   *normal._tril.shape[-2:]), df.expand(*batch))
        super().__init__(batch, self._tril.shape[-2:], validate_args=validate_args)
        if not bool((self.df > self._event_shape[-1] - 1).all()):
            raise ValueError(
                f"Value of df={df} expected to be greater than ndim - 1 = "
                f"{self._event_shape[-1] - 1}.")

    scale_tril = property(lambda self: self._tril)
    covariance_matrix = property(lambda self: self._tril @ self._tril.mT)
    precision_matrix = property(lambda self: whet.cholesky_inverse(self._tril))
    mean = property(lambda self: self.df[..., None, None] * self.covariance_matrix)

    @property
    def variance(self):
        v = self.covariance_matrix
        d = v.diagonal(0, -2, -1)
        return self.df[..., None, None] * (v ** 2 + d.unsqueeze(-1) * d.unsqueeze(-2))

    def rsample(self, sample_shape=()):
        shape, p = self._extended_shape(sample_shape), self._event_shape[-1]
        df = self.df.unsqueeze(-1) - whet.arange(p, dtype=self.df.dtype, device=self.df.device)
        diagonal = (2 * standard_gamma((df / 2).expand(*shape[:-1]))).sqrt()
        noise = randn(shape, self._tril).tril(-1) + diagonal.diag_embed()
        chol = self._tril @ noise
        return chol @ chol.mT

    def log_prob(self, value):
        self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        half = self._tril.diagonal(0, -2, -1).log().sum(-1)
        inverse = whet.cholesky_solve(value, self._tril.expand(value.shape))
        return (-nu * (p * math.log(2) / 2 + half) - (nu / 2).mvlgamma(p) +
                (nu - p - 1) / 2 * whet.linalg.slogdet(value).logabsdet
                - inverse.diagonal(0, -2, -1).sum(-1) / 2)

    def entropy(self):
        nu, p = self.df, self._event_shape[-1]
        half = self._tril.diagonal(0, -2, -1).log().sum(-1)
        psi = sum(((nu - i) / 2).digamma() for i in range(p))
        return ((p + 1) * (p * math.log(2) / 2 + half) + (nu / 2).mvlgamma(p) -
                (nu - p - 1) / 2 * psi + nu * p / 2)


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices; likely ones are near the identity where
    `concentration` is large."""
    arg_constraints = {"concentration": c.positive}
    support = c.corr_cholesky

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim, self.concentration = (dim,
                                        whet.as_tensor(
                                            concentration, dtype=None if isinstance(
                                                concentration, whet.Tensor) else whet.float32))
        super().__init__(self.concentration.shape, (dim, dim), validate_args=validate_args)

    def sample(self, sample_shape=()):
        """The onion method: a row at a time, its length a beta number and its direction uniform."""
        with whet.no_grad():
            shape, k = self._extended_shape(sample_shape), self.dim
            at = whet.arange(k - 1, dtype=self.concentration.dtype,
                             device=self.concentration.device)
            marginal = self.concentration.unsqueeze(-1) + 0.5 * (k - 2)
            y = Beta(
                whet.cat([at.new_zeros(1), at + 0.5]).clamp(min=0.5).expand(*self._batch_shape, k),
                whet.cat([marginal, marginal - 0.5 * at], -1)).sample(
                    Size(shape[:len(shape) - 2 - len(self._batch_shape)])).unsqueeze(-1)
            normal = randn(shape, self.concentration).tril(-1)
            sphere = normal / normal.norm(dim=-1, keepdim=True)
            row = whet.arange(k, device=sphere.device).unsqueeze(-1)
            sphere = whet.where(row == 0, 0.0, sphere)
            w = y.sqrt() * sphere
            return (w + (1 -
                         (w ** 2).sum(-1)).clamp(min=whet.finfo(w.dtype).tiny).sqrt().diag_embed())

    def log_prob(self, value):
        self._validate_sample(value)
        k, eta = self.dim, self.concentration
        diagonal = value.diagonal(0, -2, -1)[..., 1:]
        order = 2 * (eta - 1).unsqueeze(-1) + k - whet.arange(2, k + 1, device=eta.device)
        alpha = eta + 0.5 * (k - 1)
        norm = (0.5 * (k - 1) * math.log(math.pi) + (alpha - 0.5).mvlgamma(k - 1) - alpha.lgamma() *
                (k - 1))
        return (order * diagonal.log()).sum(-1) - norm


# ---- made of others ------------------------------------------------------------------------------
class Independent(Distribution):
    """A distribution whose last batch dimensions count as part of one value."""

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        n = reinterpreted_batch_ndims
        if n > len(base_distribution.batch_shape):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {n} vs {len(base_distribution.batch_shape)}")
        shape = base_distribution.batch_shape
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, n
        super().__init__(shape[:len(shape) - n],
                         shape[len(shape) - n:] + base_distribution.event_shape,
                         validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        n = self.reinterpreted_batch_ndims
        return Independent(self.base_dist.expand(Size(batch_shape) + self._event_shape[:n]),
                           n,
                           validate_args=False)

    has_rsample = property(lambda self: self.base_dist.has_rsample)
    has_enumerate_support = property(lambda self: self.reinterpreted_batch_ndims == 0 and self.
                                     base_dist.has_enumerate_support)
    mean = property(lambda self: self.base_dist.mean)
    mode = property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    @c.dependent_property
    def support(self):
        n = self.reinterpreted_batch_ndims
        return c.independent(self.base_dist.support, n) if n else self.base_dist.support

    def sample(self, sample_shape=()):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self):
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand=True):
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self):
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamily(Distribution):
    """One of several distributions of a kind (along the last batch dimension), chosen by a
    `Categorical`."""

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an instance of "
                "torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution need to be an instance of "
                "torch.distributions.Distribution")
        k = component_distribution.batch_shape[-1]
        if mixture_distribution.logits.shape[-1] != k:
            raise ValueError(
                f"`mixture_distribution component` ({mixture_distribution.logits.shape[-1]}) does "
                f"not equal `component_distribution.batch_shape[-1]` ({k})")
        self.mixture_distribution = mixture_distribution
        self.component_distribution = component_distribution
        super().__init__(component_distribution.batch_shape[:-1],
                         component_distribution.event_shape,
                         validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        shape = Size(batch_shape)
        k = self.component_distribution.batch_shape[-1:]
        return MixtureSameFamily(self.mixture_distribution.expand(shape),
                                 self.component_distribution.expand(shape + k),
                                 validate_args=False)

    support = c.dependent_property(lambda self: self.component_distribution.support)

    def _weights(self):
        p = self.mixture_distribution.probs
        return p.reshape(*p.shape, *(1,) * len(self._event_shape))

    @property
    def mean(self):
        return (self._weights() * self.component_distribution.mean).sum(-1 - len(self._event_shape))

    @property
    def variance(self):
        d = -1 - len(self._event_shape)
        w = self._weights()
        return ((w * self.component_distribution.variance).sum(d) +
                (w * (self.component_distribution.mean - self.mean.unsqueeze(d)) ** 2).sum(d))

    def log_prob(self, value):
        self._validate_sample(value)
        lp = self.component_distribution.log_prob(value.unsqueeze(-1 - len(self._event_shape)))
        return (lp + self.mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def cdf(self, value):
        return (self.component_distribution.cdf(value.unsqueeze(-1 - len(self._event_shape)))
                * self.mixture_distribution.probs).sum(-1)

    def sample(self, sample_shape=()):
        with whet.no_grad():
            which, samples = (self.mixture_distribution.sample(sample_shape),
                              self.component_distribution.sample(sample_shape))
            at = which.ndim
            which = which.reshape(*which.shape, *(1,) * (1 + len(self._event_shape)))
            which = which.expand(*which.shape[:at], 1, *self._event_shape)
            return samples.gather(at, which).squeeze(at)
