"""Distributions, factors of matrices, pieces, and functions of `math` that take a size."""
import math

import whet as T
from whet import distributions as laws

from .common import D, rows, takes


@takes(rows)
def normal(x):
    return laws.Normal(x, 1.0).log_prob(x * 2)


@takes(rows)
def normal_drawn(x):
    return laws.Normal(x, T.ones_like(x)).rsample()


@takes(rows)
def divergence(x):
    return laws.kl_divergence(laws.Normal(x, 1.0), laws.Normal(x * 2, 0.5)).sum(1)


@takes(rows)
def of_several(x):
    return laws.MultivariateNormal(x, T.eye(D)).log_prob(x + 1)


@takes(rows)
def as_wide_as_long(x):
    return laws.Normal(x, float(len(x))).log_prob(x)


@takes(rows)
def boxes(x):
    return laws.Uniform(-x.abs() - 1, 1.0).log_prob(x * 0.1)


@takes(rows)
def halves(x):
    return [a.sum() + b.mean() for a, b in [x.chunk(2)]][0]


@takes(rows)
def thirds(x):
    return T.stack([part.sum(0) for part in x.chunk(3)])


@takes(rows)
def guided(x):
    with_text, without = T.cat([x, x * 2]).chunk(2)
    return without + 3 * (with_text - without)


@takes(rows)
def first_and_rest(x):
    first, rest = x.split([1, len(x) - 1])
    return rest - first


@takes(rows)
def bins(x):
    return T.bucketize(x, T.linspace(-1, 1, 9)) + T.searchsorted(T.arange(9.0), x)


@takes(rows)
def histogram(x):
    return T.histc(x, 10, -2, 2)


@takes(rows)
def members(x):
    return T.isin((x * 3).long(), T.arange(4)).float()


@takes(rows)
def singular_values(x):
    return T.linalg.svd(x, full_matrices=False).S + T.linalg.svdvals(x)


@takes(rows)
def triangles(x):
    return T.linalg.qr(x).R.abs()


@takes(rows)
def spectrum(x):
    return T.linalg.eigvalsh(x @ x.T + T.eye(len(x)))


@takes(rows)
def root(x):
    return x / math.sqrt(len(x)) + math.log(x.shape[0])


@takes(rows)
def curvature(x):
    return T.func.hessian(lambda y: (y ** 3).sum())(x[:, 0])


@takes(rows)
def slopes(x):
    return T.func.jacfwd(lambda y: y ** 3)(x[:, 0]) + T.func.jacrev(T.sin)(x[:, 0])


@takes(rows)
def bessel(x):
    return T.special.bessel_j0(x) + T.special.ndtri(x.sigmoid())
