"""Distributions of vectors and matrices."""
import math

import numpy as np
import whet

from ..ops.registry import check_tensors
from . import constraints as c
from .dirichlet import Beta
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .sampling import standard_gamma
from .utils import broadcast_all, lazy_property, randn

FORMS = ("covariance_matrix", "precision_matrix", "scale_tril")


def _batch_mv(matrix, vector):
    """matrix @ vector of each."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(lower, x):
    """|L^-1 x|^2 of each vector."""
    return (_solved(lower, x.unsqueeze(-1)).squeeze(-1) ** 2).sum(-1)


def _precision_to_scale_tril(precision):
    """The Cholesky factor of the inverse: turned around twice, no inverse is taken."""
    turned = whet.linalg.cholesky(precision.flip(-2, -1)).flip(-2, -1).mT
    eye = whet.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return whet.linalg.solve_triangular(turned, eye.expand(turned.shape), upper=False)


def _solved(lower, x):
    """L^-1 @ x, for batches of any shape."""
    shape = np.broadcast_shapes(lower.shape[:-2], x.shape[:-2])
    return whet.linalg.solve_triangular(
        lower.expand(*shape, *lower.shape[-2:]), x.expand(*shape, *x.shape[-2:]), upper=False)


def _sum_of_squares(x):
    return (x ** 2).flatten(-2).sum(-1)


def _half_log_det(lower):
    """Half the logarithm of the determinant of L @ L.T."""
    return lower.diagonal(0, -2, -1).log().sum(-1)


class _OfCovariance(Distribution):
    """A covariance that is given as such, by its inverse, or by its Cholesky factor; the factor is
    what is computed with. It has the batch dimensions that it was given with."""
    _state: dict = {"_unbroadcasted_scale_tril": None}

    def _take(self, forms, batch_of_others):
        """Keep the form that is given, for the whole batch, whose shape is returned."""
        named = {name: m for name, m in zip(FORMS, forms) if m is not None}
        if len(named) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril "
                             "may be specified.")
        (name, m), = named.items()
        check_tensors(type(self).__name__, **named)
        if m.ndim < 2:
            raise ValueError(
                f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        batch = whet.broadcast_shapes(m.shape[:-2], batch_of_others)
        setattr(self, name, m.expand(*batch, *m.shape[-2:]))
        return batch, (name, m)

    def _factorise(self, name, m):
        """The factor of the form that was given, once that was checked."""
        self._unbroadcasted_scale_tril = (
            m if name == "scale_tril" else whet.linalg.cholesky(m) if name == "covariance_matrix"
            else _precision_to_scale_tril(m))

    def _whole(self, m):
        """A matrix for the whole batch."""
        return m.expand(*self._batch_shape, *m.shape[-2:])

    @lazy_property
    def covariance_matrix(self):
        """The covariance."""
        lower = self._unbroadcasted_scale_tril
        return self._whole(lower @ lower.mT)

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance."""
        return self._whole(whet.cholesky_inverse(self._unbroadcasted_scale_tril))

    @lazy_property
    def scale_tril(self):
        """The Cholesky factor of the covariance."""
        return self._whole(self._unbroadcasted_scale_tril)


class MultivariateNormal(_OfCovariance):
    """Normal vectors, of a covariance that is given as such, by its inverse, or by its Cholesky
    factor.

    >>> import whet
    >>> m = whet.distributions.MultivariateNormal(whet.zeros(2), scale_tril=whet.eye(2) * 2)
    >>> m.precision_matrix
    tensor([[0.2500, 0.0000],
            [0.0000, 0.2500]])
    """
    arg_constraints = {
        "loc": c.real_vector, "covariance_matrix": c.positive_definite,
        "precision_matrix": c.positive_definite, "scale_tril": c.lower_cholesky}
    support = c.real_vector
    has_rsample = True

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None,
                 validate_args=None):
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        batch, form = self._take((covariance_matrix, precision_matrix, scale_tril), loc.shape[:-1])
        self.loc = loc.expand(*batch, loc.shape[-1])
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        self._factorise(*form)

    mean = mode = property(lambda self: self.loc)

    @property
    def variance(self):
        variance = (self._unbroadcasted_scale_tril ** 2).sum(-1)
        return variance.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=()):
        noise = randn(self._extended_shape(sample_shape), self.loc)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value):
        self._validate_sample(value)
        lower = self._unbroadcasted_scale_tril
        return (-0.5 * (self._event_shape[0] * math.log(2 * math.pi)
                        + _batch_mahalanobis(lower, value - self.loc)) - _half_log_det(lower))

    def entropy(self):
        entropy = (0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi))
                   + _half_log_det(self._unbroadcasted_scale_tril))
        return entropy.expand(self._batch_shape)

    # for divergences
    def _log_det(self):
        return 2 * _half_log_det(self._unbroadcasted_scale_tril)

    def _root(self):
        """A matrix of which the product with its transpose is the covariance."""
        return self._unbroadcasted_scale_tril

    def _squared_by_precision(self, x):
        """The trace of x.T @ precision @ x."""
        return _sum_of_squares(_solved(self._unbroadcasted_scale_tril, x))


def _batch_capacitance_tril(factor, diagonal):
    """The Cholesky factor of I + W.T @ D^-1 @ W."""
    eye = whet.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
    return whet.linalg.cholesky(factor.mT @ (factor / diagonal.unsqueeze(-1)) + eye)


def _batch_lowrank_logdet(factor, diagonal, capacitance_tril):
    """log |W @ W.T + D|, by the determinant of the capacitance."""
    return 2 * _half_log_det(capacitance_tril) + diagonal.log().sum(-1)


def _batch_lowrank_mahalanobis(factor, diagonal, x, capacitance_tril):
    """x.T @ (W @ W.T + D)^-1 @ x, by Woodbury's formula."""
    part = _batch_mv((factor / diagonal.unsqueeze(-1)).mT, x)
    return (x ** 2 / diagonal).sum(-1) - _batch_mahalanobis(capacitance_tril, part)


class LowRankMultivariateNormal(Distribution):
    """Normal vectors of covariance W @ W.T + D, with few columns in W and a diagonal D.

    >>> import whet
    >>> from whet.distributions import LowRankMultivariateNormal
    >>> d = LowRankMultivariateNormal(whet.zeros(2), whet.ones(2, 1), whet.ones(2))
    >>> d.covariance_matrix
    tensor([[2., 1.],
            [1., 2.]])
    """
    arg_constraints = {
        "loc": c.real_vector,
        "cov_factor": c.independent(c.real, 2),
        "cov_diag": c.independent(c.positive, 1)}
    support = c.real_vector
    has_rsample = True
    _state = dict.fromkeys(
        ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"))

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        n = loc.shape[-1]
        if cov_factor.ndim < 2 or cov_factor.shape[-2] != n:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {n} x m")
        if cov_diag.shape[-1:] != (n,):
            raise ValueError(f"cov_diag must be a batch of vectors with shape {n}")
        try:
            batch = np.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except ValueError:
            raise ValueError(f"Incompatible batch shapes: loc {loc.shape}, cov_factor "
                             f"{cov_factor.shape}, cov_diag {cov_diag.shape}") from None
        self.loc, self.cov_diag = loc.expand(*batch, n), cov_diag.expand(*batch, n)
        self.cov_factor = cov_factor.expand(*batch, *cov_factor.shape[-2:])
        super().__init__(batch, (n,), validate_args=validate_args)
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)

    mean = mode = property(lambda self: self.loc)

    def _whole(self, x, event_dims):
        """A part of the covariance for the whole batch."""
        return x.expand(self._batch_shape + self._event_shape * event_dims)

    def _covariance(self):
        factor, diagonal = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        return factor @ factor.mT + diagonal.diag_embed()

    @lazy_property
    def variance(self):
        squares = (self._unbroadcasted_cov_factor ** 2).sum(-1)
        return self._whole(squares + self._unbroadcasted_cov_diag, 1)

    @lazy_property
    def covariance_matrix(self):
        """W @ W.T + D"""
        return self._whole(self._covariance(), 2)

    @lazy_property
    def scale_tril(self):
        """The Cholesky factor of the covariance."""
        return self._whole(whet.linalg.cholesky(self._covariance()), 2)

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance, by Woodbury's formula."""
        inverse = self._unbroadcasted_cov_diag.reciprocal()
        right = self._unbroadcasted_cov_factor.mT * inverse.unsqueeze(-2)
        inner = _solved(self._capacitance_tril, right)
        return self._whole(inverse.diag_embed() - inner.mT @ inner, 2)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        few = randn((*shape[:-1], self.cov_factor.shape[-1]), self.loc)
        return (self.loc + _batch_mv(self._unbroadcasted_cov_factor, few)
                + self._unbroadcasted_cov_diag.sqrt() * randn(shape, self.loc))

    def log_prob(self, value):
        self._validate_sample(value)
        d, lower = value - self.loc, self._capacitance_tril
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi)
                       + self._log_det()
                       + _batch_lowrank_mahalanobis(self._unbroadcasted_cov_factor,
                                                    self._unbroadcasted_cov_diag, d, lower))

    def entropy(self):
        entropy = 0.5 * (self._event_shape[0] * (1 + math.log(2 * math.pi)) + self._log_det())
        return entropy.expand(self._batch_shape)

    # for divergences
    def _log_det(self):
        return _batch_lowrank_logdet(self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag,
                                     self._capacitance_tril)

    def _root(self):
        """A matrix of which the product with its transpose is the covariance."""
        parts = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag.sqrt().diag_embed()
        shape = np.broadcast_shapes(*(x.shape[:-2] for x in parts))
        return whet.cat([x.expand(*shape, *x.shape[-2:]) for x in parts], -1)

    def _squared_by_precision(self, x):
        """The trace of x.T @ precision @ x, by Woodbury's formula."""
        factor, diagonal = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        part = (factor / diagonal.unsqueeze(-1)).mT @ x
        return (_sum_of_squares(x / diagonal.sqrt().unsqueeze(-1))
                - _sum_of_squares(_solved(self._capacitance_tril, part)))


class Wishart(_OfCovariance, ExponentialFamily):
    """Covariances of `df` normal vectors, times `df`.

    >>> import whet
    >>> whet.distributions.Wishart(whet.tensor(3.), whet.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """
    arg_constraints = property(lambda self: {
        "covariance_matrix": c.positive_definite,
        "precision_matrix": c.positive_definite,
        "scale_tril": c.lower_cholesky,
        "df": c.greater_than(self._event_shape[-1] - 1)})
    support = c.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None,
                 validate_args=None):
        forms = (covariance_matrix, precision_matrix, scale_tril)
        like = next((m for m in forms if isinstance(m, whet.Tensor)), None)
        if like is not None and not isinstance(df, whet.Tensor):
            df = like.new_tensor(float(df))
        batch, form = self._take(forms, getattr(df, "shape", ()))
        self.df, event = df.expand(*batch), form[1].shape[-2:]
        if not bool((self.df > event[-1] - 1).all()):
            raise ValueError(
                f"Value of df={df} expected to be greater than ndim - 1 = {event[-1] - 1}.")
        super().__init__(batch, event, validate_args=validate_args)
        self._factorise(*form)

    mean = property(lambda self: self.df[..., None, None] * self.covariance_matrix)

    @property
    def variance(self):
        v = self.covariance_matrix
        d = v.diagonal(0, -2, -1)
        return self.df[..., None, None] * (v ** 2 + d.unsqueeze(-1) * d.unsqueeze(-2))

    @property
    def mode(self):
        factor = self.df - self._event_shape[-1] - 1
        factor = whet.where(factor > 0, factor, math.nan)
        return factor[..., None, None] * self.covariance_matrix

    @property
    def _natural_params(self):
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y):
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return half * (p * math.log(2) - whet.linalg.slogdet(-2 * x).logabsdet) + half.mvlgamma(p)

    def rsample(self, sample_shape=()):
        shape, p = self._extended_shape(sample_shape), self._event_shape[-1]
        df = self.df.unsqueeze(-1) - whet.arange(p, dtype=self.df.dtype, device=self.df.device)
        diagonal = (2 * standard_gamma((df / 2).expand(*shape[:-1]))).sqrt()
        noise = randn(shape, self._unbroadcasted_scale_tril).tril(-1) + diagonal.diag_embed()
        chol = self._unbroadcasted_scale_tril @ noise
        return chol @ chol.mT

    def log_prob(self, value):
        self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        half = _half_log_det(self._unbroadcasted_scale_tril)
        inverse = whet.cholesky_solve(value, self._unbroadcasted_scale_tril.expand(value.shape))
        return (-nu * (p * math.log(2) / 2 + half) - (nu / 2).mvlgamma(p) +
                (nu - p - 1) / 2 * whet.linalg.slogdet(value).logabsdet
                - inverse.diagonal(0, -2, -1).sum(-1) / 2)

    def entropy(self):
        nu, p = self.df, self._event_shape[-1]
        half = _half_log_det(self._unbroadcasted_scale_tril)
        psi = sum(((nu - i) / 2).digamma() for i in range(p))
        return ((p + 1) * (p * math.log(2) / 2 + half) + (nu / 2).mvlgamma(p) -
                (nu - p - 1) / 2 * psi + nu * p / 2)


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices; likely ones are near the identity where
    `concentration` is large.

    >>> import whet
    >>> whet.distributions.LKJCholesky(3, 1.).sample().shape
    whet.Size([3, 3])
    """
    arg_constraints = {"concentration": c.positive}
    support = c.corr_cholesky
    _state = {"dim": None, "_beta": None}

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim, (self.concentration,) = dim, broadcast_all(concentration)
        # of the rows' squared lengths without the diagonal, but for the first, which has none
        at = whet.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        at = whet.cat([at.new_zeros(1), at])
        self._beta = Beta(at + 0.5, self.concentration.unsqueeze(-1) + 0.5 * (dim - 2 - at))
        super().__init__(self.concentration.shape, (dim, dim), validate_args=validate_args)

    def sample(self, sample_shape=()):
        """The onion method: a row at a time, its length a beta number and its direction uniform."""
        with whet.no_grad():
            shape = self._extended_shape(sample_shape)
            y = self._beta.sample(sample_shape).unsqueeze(-1)
            normal = randn(shape, self.concentration).tril(-1)
            sphere = normal / normal.norm(dim=-1, keepdim=True)
            row = whet.arange(self.dim, device=sphere.device).unsqueeze(-1)
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
